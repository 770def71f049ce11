"""Lines of text flow in, their translations flow out; used by all commands and by validation.

The stages: tidy a line like training text, cut it into spans of pieces, a sentence each (`nmt.translation.spans`),
search the spans in batches (`nmt.translation.span_search`), decode and join the hypotheses of the spans of each line,
and retry translations that look wrong (`nmt.translation.repair`).
"""

import copy
import heapq
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from nmt.config import Backend, DecodingPrecision, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.engine import Engine
from nmt.decode.hypothesis import Hypothesis
from nmt.decode.pytorch import TorchEngine
from nmt.decode.shortlist import Shortlist
from nmt.decode.stop import Stop
from nmt.fields import require
from nmt.files import model_in
from nmt.model.contract import GenerativeModel
from nmt.model.device import choose_device, describe, keep_freed_memory
from nmt.text.characters import respelled
from nmt.text.edges import quotes_of
from nmt.text.normalise import tidy
from nmt.text.sentences import joint
from nmt.translation.adapter import add_adapter
from nmt.translation.alignment import Aligner
from nmt.translation.constraints import Automata, ConstraintCompiler
from nmt.translation.exported import load_exported
from nmt.translation.forced import ForcedScorer
from nmt.translation.hints import check_terms, give_hints, without_hints
from nmt.translation.known_words import translate_known
from nmt.translation.language_model import LanguageModel
from nmt.translation.line_edges import translate_inside
from nmt.translation.mbr import expected_utilities
from nmt.translation.model_folder import (
    Facts,
    ModelInfo,
    licence_sentence,
    load_model,
    load_shortlist,
    read_info,
    require_model,
    require_translator,
)
from nmt.translation.placeholders import mark_request, name_request, translate_marked, without_others
from nmt.translation.quotes import translate_quoted
from nmt.translation.repair import repair
from nmt.translation.request import Part, Request, Translation
from nmt.translation.span_search import SpanSearch
from nmt.translation.spans import Cut, Limits, Span, cut_lines
from nmt.translation.text_lines import translate_lines

Reranker = Callable[[str, Sequence[Translation]], Sequence[float]]
"""Maps a source line and its candidate translations to values, one for each; higher is better."""

SpanLists = list[list[Hypothesis]]
"""For each span of a line its hypotheses, best first."""


def find_model(folder: str | None, objective: str | None = "translation") -> Path:
    """The model folder that is given, of a run folder that is given, or (None) of the newest finished run with this
    objective (None: any), with a note.

    ValueError if there is no such run.
    """
    if folder is not None:
        return model_in(Path(folder))
    reports = Path("runs").glob("*/report.json")
    files = {report: report.parent / "model" / "config.json" for report in reports}
    configs = {report: read_config(file) for report, file in files.items() if file.is_file()}
    # A file that can't be read counts as a translator's, so that loading tells what is wrong with it.
    finished = [r for r, c in configs.items() if objective in (None, c.get("objective", "translation"))]
    hint = "give one with --model DIR, or train one with python -m nmt.train"
    kind = f" with training.objective {objective}" if objective else ""
    require(bool(finished), f"no model is given and runs/ has no finished run{kind}: {hint}")
    newest = max(finished, key=lambda report: report.stat().st_mtime)
    languages = dict.fromkeys(str(configs[newest].get(side, "?")) for side in ("source", "target"))
    print(f"Model: {newest.parent / 'model'} ({' to '.join(languages)})", file=sys.stderr)
    return newest.parent / "model"


def read_config(file: Path) -> dict[str, Any]:
    """A model folder's config.json; empty if it can't be read."""
    try:
        config = json.loads(file.read_text(encoding="utf8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


class Translator:
    """An engine with its tokenizer. Calls leave no state in it: threads may share it."""

    def __init__(
        self,
        model: GenerativeModel | Sequence[GenerativeModel] | Engine,
        tokenizer: Tokenizer,
        search: SearchConfig | None = None,
        precision: DecodingPrecision = "fp32",
        facts: Facts | None = None,
        shortlist: Shortlist | None = None,
    ) -> None:
        """`model`: an engine, or what PyTorch's is made of: a model, or several as an ensemble, with `precision` and
        `shortlist`. `search`: the default settings of calls.

        ValueError if the device can't compute in this precision, or if the models have different vocabularies.
        """
        self.search, self.facts = search or SearchConfig(), facts or Facts()
        self.language = ""  # that of the translations, if it is known
        self.quotes: tuple[str, str] | None = None  # of this language
        self.lm: LanguageModel | None = None
        self.automata = Automata(tokenizer)
        if isinstance(model, GenerativeModel | Sequence):
            models = [model] if isinstance(model, GenerativeModel) else model
            model = TorchEngine.make(models, precision, self.facts.input_ranges, shortlist, joint=tokenizer.joint)
        self.use(model, tokenizer)

    def use(self, engine: Engine, tokenizer: Tokenizer) -> None:
        """Take an engine and a tokenizer (of the same pieces), with the pieces that it begins texts with."""
        self.engine, self.tokenizer = engine.begun(*tokenizer.starts()), tokenizer
        self.has_placeholders = tokenizer.has_placeholders
        self.compiler = ConstraintCompiler(tokenizer, self.engine, self.automata)
        self.spans = SpanSearch(self.engine, self.compiler)
        self.aligner = Aligner(self.engine, tokenizer, self.engine.shortlist)

    def between(self, source: str = "", target: str = "") -> "Translator":
        """This translator for other languages, by their codes, if the model knows several: with the same weights in
        memory. Empty keeps the present choice. ValueError for an unknown code, with near ones."""
        other = copy.copy(self)
        other.use(self.engine, self.tokenizer.between(source, target))
        if target:
            other.quotes, other.language = quotes_of(target), target
        return other

    @classmethod
    def load(
        cls,
        folder: Path | str | Sequence[Path | str],
        device: str | torch.device = "auto",
        search: SearchConfig | None = None,
        precision: DecodingPrecision = "auto",
        backend: Backend = "pytorch",
        adapter: Path | str | None = None,
    ) -> "Translator":
        """Load a model folder (or a run folder), or several as an ensemble; by default with the first one's settings.

        `backend`: ctranslate2 takes a folder that nmt.export wrote for CTranslate2, which then runs the model;
        `adapter`: the adapter folder (or run folder) of an adapter that is added to the weights.
        ValueError if a folder is not a whole model folder, the device or precision is missing, or tokenizers differ.
        """
        folders = [model_in(Path(path)) for path in ([folder] if isinstance(folder, Path | str) else folder)]
        if backend == "ctranslate2":
            require(adapter is None, "CTranslate2 adds no adapter: export the model folder of the adapter's run")
            require(len(folders) == 1, f"{len(folders)} models are given, but CTranslate2 runs no ensembles: give one")
            engine, tokenizer, info = load_exported(folders[0], str(device), precision)
            translator = cls(engine, tokenizer, search or info.search, facts=info.facts)
        else:
            translator, info = cls.load_own(folders, device, search, precision, adapter)
        translator.quotes, translator.language = quotes_of(info.target), info.target
        return translator

    @classmethod
    def load_own(
        cls,
        folders: Sequence[Path],
        device: str | torch.device,
        search: SearchConfig | None,
        precision: DecodingPrecision,
        adapter: Path | str | None,
    ) -> "tuple[Translator, ModelInfo]":
        """Load model folders of ours; also what the first one's config.json says."""
        keep_freed_memory()
        loaded = [load_model(path, choose_device(str(device))) for path in folders]
        _, tokenizer, info = loaded[0]
        for licence in {info.licence for _, _, info in loaded if "-nc" in info.licence.lower()}:
            print(licence_sentence(licence), file=sys.stderr)
        for path, (_, other, _) in zip(folders, loaded, strict=True):
            is_same = tokenizer.same_as(other)
            require(
                is_same, f"{path} has another tokenizer than {folders[0]}: an ensemble needs models with the same one"
            )
        if adapter is not None:
            require(len(loaded) == 1, f"{len(loaded)} models are given with an adapter: give the one that it fits")
            add_adapter(loaded[0][0], Path(adapter))
        models = [require_translator(model, info, path) for path, (model, _, info) in zip(folders, loaded, strict=True)]
        shortlist = load_shortlist(folders[0], tokenizer)
        return cls(models, tokenizer, search or info.search, precision, info.facts, shortlist), info

    def load_language_model(self, folder: Path | str, precision: DecodingPrecision = "auto") -> None:
        """Load the language model in a model folder, which calls use as `search.lm_weight` and `search.lm_mode` say.
        ValueError if it has not learned the language of the translations."""
        info, _ = read_info(require_model(Path(folder)) / "config.json")
        known = info.source, info.target
        problem = f"the language model in {folder} has learned {' and '.join(dict.fromkeys(known))}"
        require(self.language in known, f"{problem}, but the translations are in {self.language}")
        self.use_language_model(LanguageModel.load(folder, self.device, precision=precision))

    def use_language_model(self, lm: LanguageModel) -> None:
        """Use a language model, on the same device, in all calls whose `search.lm_weight` is above 0."""
        self.lm, fuses = lm, self.tokenizer.same_target_as(lm.tokenizer)
        self.use(self.engine.fused(lm.model if fuses else None), self.tokenizer)

    def check(self, search: SearchConfig) -> None:
        """Raise ValueError if the engine can't follow these settings of a call, or if languages aren't chosen."""
        self.tokenizer.languages.require_chosen()
        check_terms(search, self.tokenizer)
        self.engine.check(search if self.lm else replace(search, lm_weight=0.0))

    @property
    def model(self) -> GenerativeModel:
        """The model, or the first of an ensemble, of PyTorch."""
        return self.engine.models[0]

    @property
    def shortlist(self) -> Shortlist | None:
        return self.engine.shortlist

    @property
    def precision(self) -> str:
        return self.engine.precision

    @property
    def device(self) -> torch.device:
        return self.engine.device

    def describe(self) -> str:
        """Device, precision and threads, for the user."""
        return describe(self.precision, self.device)

    def translate(
        self,
        lines: Sequence[str | Request],
        search: SearchConfig | None = None,
        *,
        to: str = "",
        stop: Stop | None = None,
    ) -> list[str]:
        """The best translation of each line; empty for a blank one. See `translate_n_best`.

        `to`: the code of the target language, if the model knows several; `between` chooses for more than one call.
        """
        translator = self.between(target=to) if to else self
        return [best.text for best, *_ in translator.translate_n_best(lines, search, stop=stop)]

    def translate_n_best(
        self,
        lines: Sequence[str | Request],
        search: SearchConfig | None = None,
        rerank: Reranker | None = None,
        *,
        stop: Stop | None = None,
    ) -> list[list[Translation]]:
        """At most `search.n_best` translations of each line, best first; for a blank line a single, empty one.

        A text of several lines is translated line by line, and keeps its line breaks.

        Args:
            lines: text, or requests with constraints; ValueError if these can't be met (`ConstraintCompiler.problem`).
            search: the settings of this call; by default the model's own.
            rerank: orders the hypotheses of the beam, or the samples, of each line, in place of a language model.
            stop: ends the call before it is done, by the exception Stopped (`nmt.decode.stop`).
        """
        if isinstance(lines, str):
            raise TypeError(f"lines is the string {lines[:20]!r}: give a list of strings")
        search = search or self.search
        self.check(search)

        def search_all(requests: Sequence[Request]) -> list[list[Translation]]:
            n_best = self.attempt(requests, search, rerank, stop=stop)
            return repair(self, search, requests, n_best, stop) if search.guard else n_best

        def translate_items(requests: Sequence[Request]) -> list[list[Translation]]:
            to_mark = mark_request if self.has_placeholders else name_request
            marked = [to_mark(request, self.tokenizer) for request in requests]
            return translate_marked(requests, marked, search_all, whole_lists=bool(search.samples))

        def translate_words(requests: Sequence[Request]) -> list[list[Translation]]:
            return translate_known(requests, self.tokenizer.words, translate_items)

        def translate_quotes(requests: Sequence[Request]) -> list[list[Translation]]:
            return translate_quoted(requests, self.aligner, self.quotes, translate_words)

        def translate_text(requests: Sequence[Request]) -> list[list[Translation]]:
            return translate_inside(requests, self.tokenizer, self.quotes, self.facts.final_mark, translate_quotes)

        requests = [line if isinstance(line, Request) else Request(line) for line in lines]
        return translate_lines(requests, self.aligner, translate_text)

    def attempt(
        self,
        requests: Sequence[Request],
        search: SearchConfig,
        rerank: Reranker | None = None,
        *,
        cut: Cut = "usual",
        stop: Stop | None = None,
    ) -> list[list[Translation]]:
        """As `translate_n_best`, without the guard."""
        read, hints = give_hints(requests, self.tokenizer)
        spans_of = self.spans.place_terms(cut_lines(read, self.tokenizer, self.limits(search), cut), search, stop)
        # Minimum Bayes risk and rerankers choose among all hypotheses of the beam, or all samples.
        lm = self.lm if search.lm_weight and search.lm_mode == "rerank" else None
        choose_later = search.mbr != "none" or rerank is not None or lm is not None
        wide = replace(search, n_best=search.samples or search.beam_size) if choose_later else search
        hypotheses = self.spans.find((span for spans in spans_of for span in spans), wide, stop)
        candidates = [self.candidates(spans, [hypotheses[span] for span in spans], wide) for spans in spans_of]
        candidates = [self.finish(request, some) for request, some in zip(requests, candidates, strict=True)]
        candidates = without_hints(candidates, hints)
        if rerank:
            candidates = [rerank_seen(rerank, r, some) for r, some in zip(requests, candidates, strict=True)]
        elif lm:
            candidates = rerank_with(lm, search.lm_weight, candidates, stop)
        lines = list(zip(requests, candidates, strict=True))
        return [self.checked(request, translations)[: search.n_best] for request, translations in lines]

    def limits(self, search: SearchConfig) -> Limits:
        """When lines are cut: `search.split_above` replaces what was usual in training."""
        pieces = min(search.span_pieces, self.engine.longest_source or search.span_pieces)
        if search.split_above:
            return Limits(pieces, search.split_above)
        return Limits(pieces, self.facts.longest_source, self.facts.usual_sentences)

    def candidates(self, spans: list[Span], lists: SpanLists, search: SearchConfig) -> list[Translation]:
        """The translations of a line, best first, from the hypotheses of its spans (`lists`)."""
        if not spans:
            return [Translation("", 0.0, ())]
        joined = [list(h) for h in zip(*lists, strict=True)] if search.samples else best_joins(lists, search.n_best)
        translations = [self.join(spans, hypotheses) for hypotheses in joined]
        if search.mbr == "chrf":
            log_probs = None if search.samples else [translation.log_prob for translation in translations]
            translations = best_first(translations, expected_utilities([t.text for t in translations], log_probs))
        return translations

    def finish(self, request: Request, translations: list[Translation]) -> list[Translation]:
        """The translations of a line with the accents of its names, without placeholders that the line doesn't have."""
        line = tidy(request.text)[0]
        if self.has_placeholders:
            translations = [replace(t, text=without_others(t.text, line)) for t in translations]
        if not line.isascii() and (readable := self.tokenizer.readable(line)) != line:
            translations = [replace(t, text=respelled(t.text, line, readable)) for t in translations]
        return translations

    def checked(self, request: Request, translations: list[Translation]) -> list[Translation]:
        """The translations of a line, with a flag if the first one doesn't meet the constraints."""
        blank = not translations[0].parts
        if not blank and request.constraints and not self.compiler.are_met(request.constraints, translations[0].text):
            return [replace(translation, flags=("constraints",)) for translation in translations]
        return translations

    def join(self, spans: list[Span], hypotheses: list[Hypothesis]) -> Translation:
        texts = [tidy(text)[0] for text in self.tokenizer.decode_target([h.ids for h in hypotheses])]
        joined, parts, left, before = list[str](), list[Part](), "", None
        for span, hypothesis, text in zip(spans, hypotheses, texts, strict=True):
            gap = joint(left, text, before.blank, amid=not before.ends_sentence) if before and left and text else ""
            touches = before is not None and not before.blank, bool(left) and not gap
            between = (n_dashes(before.blank), n_dashes(gap)) if before else (0, 0)
            parts.append(Part(span.ids, hypothesis, touches, between))
            joined += [gap, text]
            left, before = text or left, span
        score = sum(h.score for h in hypotheses) / len(hypotheses)
        return Translation("".join(joined), score, tuple(parts))

    def align(self, line: str, translation: Translation) -> list[tuple[int, int]]:
        """Pairs (word of the line, word of its translation) of numbers from 0. Words are what stands between blanks,
        no-break spaces included; a word that disappears in reading, such as a soft hyphen, has no link."""
        read = [i for i, word in enumerate(line.split()) if self.tokenizer.readable(tidy(word)[0])]
        n = len(translation.text.split())
        return [(read[i], j) for i, j in self.aligner.align(translation) if i < len(read) and j < n]

    def scorer(self, search: SearchConfig | None = None) -> ForcedScorer:
        """A scorer of given translations, with the same engine."""
        search = search or self.search
        self.tokenizer.languages.require_chosen()
        return ForcedScorer(self.engine, self.tokenizer, search, self.limits(search))


def n_dashes(gap: str) -> int:
    """The words between two parts: dashes; a semicolon belongs to the word before it."""
    return len(gap.split()) if gap[:1].isspace() else 0


def best_joins(lists: SpanLists, n_best: int) -> list[list[Hypothesis]]:
    """The n_best ways, best mean score first, to choose a hypothesis for each span. Takes linear time."""
    totals, steps = [0.0], list[list[tuple[int, int]]]()
    for hypotheses in lists:
        # Both lists fall, so way i with hypothesis j has (i + 1) * (j + 1) - 1 others before it that are as good.
        pairs = ((i, j) for i in range(len(totals)) for j in range(min(len(hypotheses), n_best // (i + 1))))
        longer = ((totals[i] + hypotheses[j].score, (i, j)) for i, j in pairs)
        best = heapq.nlargest(n_best, longer, key=lambda item: item[0])
        totals = [total for total, _ in best]
        steps.append([pair for _, pair in best])

    def chosen(way: int) -> Iterator[Hypothesis]:
        """The hypotheses of a way, from the last span to the first."""
        for hypotheses, pairs in zip(reversed(lists), reversed(steps), strict=True):
            way, place = pairs[way]
            yield hypotheses[place]

    return [[*chosen(way)][::-1] for way in range(len(totals))]


def best_first(translations: Sequence[Translation], values: Sequence[float]) -> list[Translation]:
    """The translations in falling order of their values; equal ones stay as they were."""
    return [translations[i] for i in sorted(range(len(values)), key=lambda i: -values[i])]


def rerank_seen(rerank: Reranker, request: Request, translations: list[Translation]) -> list[Translation]:
    """A list in the order of a reranker, which sees line and translations as the user does."""
    if not translations[0].parts:
        return translations
    seen = [request.whole(one) for one in translations] if request.whole else translations
    return best_first(translations, rerank(request.line or request.text, seen))


def rerank_with(
    lm: LanguageModel, weight: float, n_best: list[list[Translation]], stop: Stop | None
) -> list[list[Translation]]:
    """Each list in falling order of the score plus `weight` times the language model's mean log-probability of a piece.
    Translations that are too long for the language model come last."""
    scores = iter(lm.score([translation.text for translations in n_best for translation in translations], stop=stop))
    means = [[score.mean if (score := next(scores)) else -math.inf for _ in translations] for translations in n_best]
    return [
        best_first(translations, [t.score + weight * mean for t, mean in zip(translations, row, strict=True)])
        for translations, row in zip(n_best, means, strict=True)
    ]
