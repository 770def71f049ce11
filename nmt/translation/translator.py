"""Lines of text flow in, their translations flow out; used by all commands and by validation.

A translator is loaded here, and asked here; `nmt.translation.repair` has the way of a call.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import get_args

import torch

from nmt.config import Backend, DecodingPrecision, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.data.tokenizer.tokenizer import LANGUAGES
from nmt.decode.ctranslate2 import CTranslate2Engine
from nmt.decode.engine import Engine
from nmt.decode.pytorch import Once, TorchEngine
from nmt.decode.shortlist import Shortlist
from nmt.decode.stop import Stop
from nmt.extras import typed
from nmt.fields import read_value, require, texts_of
from nmt.files import model_in
from nmt.messages import print_to_stderr
from nmt.model.contract import GenerativeModel
from nmt.model.device import choose_device, describe, keep_freed_memory
from nmt.model.lora import with_adapter
from nmt.reading.loop import Context, Limits
from nmt.reading.request import Lists, Request, Translation
from nmt.text.edges import quotes_of
from nmt.text.languages import require_pair
from nmt.text.markup import Mode
from nmt.text.words import Spellings, spellings_of
from nmt.translation.adapter import add_adapter, read_adapter
from nmt.translation.alignment import Aligner
from nmt.translation.constraints import Automata, ConstraintCompiler
from nmt.translation.exported import load_exported, plain_engine
from nmt.translation.forced import ForcedScorer, known_of
from nmt.translation.model_folder import (
    Facts,
    ModelInfo,
    licence_sentence,
    load_model,
    load_shortlist,
    open_model,
    read_config,
    require_objective,
)
from nmt.translation.readers import Readers
from nmt.translation.repair import Call
from nmt.translation.span_search import SpanSearch


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
    hint = f"give one with --model DIR, or train one: {typed('train')}"
    kind = f" with training.objective {objective}" if objective else ""
    require(bool(finished), f"no model is given and runs/ has no finished run{kind}: {hint}")
    newest = max(finished, key=lambda report: report.stat().st_mtime)
    model, pair = files[newest].parent, (str(configs[newest].get(side, "?")) for side in ("source", "target"))
    several = read_config(model / LANGUAGES).get("before_target")
    codes = ", ".join(several if isinstance(several, dict) else ()) or " to ".join(dict.fromkeys(pair))
    print_to_stderr(f"Model: {model} ({codes})")
    return model


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
        self.source = self.language = ""  # codes of the lines' and the translations' languages, if they are known
        self.spellings: Spellings = {}  # of the lines' language
        self.quotes: tuple[str, str] | None = None  # of the translations' language
        self.automata = Automata(tokenizer)
        # A model itself may be in training, whose validations shouldn't start processes.
        self.reads_apart = not isinstance(model, GenerativeModel | Sequence)
        if isinstance(model, GenerativeModel | Sequence):
            models = [model] if isinstance(model, GenerativeModel) else model
            model = TorchEngine.make(models, precision, shortlist)
        self.use(model, tokenizer)

    def use(self, engine: Engine, tokenizer: Tokenizer) -> None:
        """Take an engine and a tokenizer (of the same pieces), with the pieces that it begins texts with."""
        self.engine, self.tokenizer = engine.begun(*tokenizer.starts()), tokenizer
        self.languages_chosen = tokenizer.languages.chosen
        self.compiler = ConstraintCompiler(tokenizer, self.engine, self.automata)
        self.spans = SpanSearch(self.engine, self.compiler)
        self.aligner = Aligner(self.engine, tokenizer)
        on_gpu = isinstance(self.engine, TorchEngine) and self.engine.recorded
        self.readers = Readers(self.engine) if on_gpu and self.reads_apart else None

    def between(self, source: str = "", target: str = "") -> "Translator":
        """This translator for other languages, by their codes, if the model knows several: with the same weights in
        memory. Empty keeps the present choice. ValueError for an unknown code, with near ones, and for other languages
        than those of a model for one pair."""
        if self.language and not self.tokenizer.languages.several:
            require_pair((self.source, self.language), (source, target))
            return self
        other = copy.copy(self)
        other.use(self.engine, self.tokenizer.between(source, target))
        other.name_languages(source, target)
        return other

    def name_languages(self, source: str, target: str) -> None:
        """Tell the languages of the lines and of the translations, by their codes. Empty changes nothing."""
        if source:
            self.source, self.spellings = source, spellings_of(source)
        if target:
            self.language, self.quotes = target, quotes_of(target)

    @classmethod
    def load(
        cls,
        folder: Path | str | Sequence[Path | str],
        device: str | torch.device = "auto",
        search: SearchConfig | None = None,
        precision: DecodingPrecision = "auto",
        backend: Backend = "auto",
        adapter: Path | str | None = None,
    ) -> "Translator":
        """Load a model folder (or a run folder), or several as an ensemble; by default with the first one's settings.

        `backend`: as the option of nmt.translate. `adapter`: the folder (or run folder) of an adapter that is added to
        the weights. ValueError if a folder is not a whole model folder, the device or precision is missing, or
        tokenizers differ.
        """
        folders = [model_in(Path(path)) for path in ([folder] if isinstance(folder, Path | str) else folder)]
        require(bool(folders), "the list of model folders is empty")
        precision = read_value(precision, DecodingPrecision, "precision")
        backend = read_value(backend, Backend, "backend")
        if backend == "ctranslate2":
            require(adapter is None, "CTranslate2 adds no adapter: export the model folder of the adapter's run")
            require(len(folders) == 1, f"{len(folders)} models are given, but CTranslate2 runs no ensembles: give one")
            engine, tokenizer, info = load_exported(folders[0], str(device), precision)
        else:
            engine, tokenizer, info = load_own(folders, str(device), precision, adapter, backend)
        translator = cls(engine, tokenizer, search or info.search, facts=info.facts)
        translator.name_languages(info.source, info.target)
        return translator

    def with_adapters(self, base: Path, folders: Mapping[str, Path]) -> "dict[str, Translator]":
        """For each name a translator with the adapter in that folder, computed beside the weights of this one, which
        are in memory once. `base`: the model folder of this translator, whose own weights may be rounded. Raises as
        `read_adapter`."""
        model, _, _ = load_model(base)
        assert isinstance(self.engine, TorchEngine), "adapters are for models of PyTorch"
        found: dict[str, Translator] = {}
        for name, folder in folders.items():
            factors = {
                layer: (a_RI, scale * b_OR) for layer, (a_RI, b_OR, scale) in read_adapter(model, folder).items()
            }
            other = copy.copy(self)
            other.use(self.engine.with_models([with_adapter(self.model, factors)]), self.tokenizer)
            found[name] = other
        return found

    def check(self, search: SearchConfig) -> None:
        """Raise ValueError if the engine can't follow these settings of a call, or if languages aren't chosen."""
        if not self.languages_chosen:
            self.tokenizer.languages.require_chosen()
        self.engine.check(search)

    @property
    def model(self) -> GenerativeModel:
        """The model, or the first of an ensemble, of PyTorch."""
        if isinstance(self.engine, TorchEngine):
            self.engine.load()
        return self.engine.models[0]

    @property
    def plain(self) -> CTranslate2Engine | None:
        """What does plain searches in place of PyTorch, if something does."""
        return self.engine.plain if isinstance(self.engine, TorchEngine) else None

    @property
    def plain_searches(self) -> str:
        return f"CTranslate2, {self.plain.precision}" if self.plain else ""

    @property
    def precision(self) -> str:
        return self.engine.precision

    @property
    def device(self) -> torch.device:
        return self.engine.device

    def describe(self) -> str:
        """Device, precision and threads, for the user."""
        with_library = f"; plain searches: {self.plain_searches}" if self.plain else ""
        return describe(self.precision, self.device) + with_library

    def translate(
        self,
        lines: Sequence[str | Request],
        search: SearchConfig | None = None,
        *,
        to: str = "",
        markup: Mode = "auto",
        stop: Stop | None = None,
    ) -> list[str]:
        """The best translation of each line; empty for a blank one. See `translate_n_best`. `to`: the target language,
        if the model knows several; `between` chooses for more than one call."""
        is_chosen = self.languages_chosen and to == self.language
        translator = self.between(target=to) if to and not is_chosen else self
        if translator is not self:
            translator.readers = None  # which would start processes in each call
        return [best.text for best, *_ in translator.translate_n_best(lines, search, markup=markup, stop=stop)]

    def translate_n_best(
        self,
        lines: Sequence[str | Request],
        search: SearchConfig | None = None,
        *,
        markup: Mode = "auto",
        stop: Stop | None = None,
    ) -> Lists:
        """At most `search.n_best` translations of each line, best first; for a blank line a single, empty one.

        A text of several lines is translated line by line, and keeps its line breaks.

        Args:
            lines: text, or requests with constraints; ValueError if these can't be met (`ConstraintCompiler.problem`).
            search: the settings of this call; by default the model's own.
            markup: which lines are read as HTML or XML: those that look like it (auto), all (html), or none.
            stop: ends the call before it is done, by the exception Stopped (`nmt.decode.stop`).
        """
        search = search or self.search
        if not isinstance(search, SearchConfig) or not isinstance(stop, Stop | None):
            raise TypeError("search must be a SearchConfig (of nmt.config), and stop a Stop (of nmt.decode.stop)")
        self.check(search)
        requests = [line if isinstance(line, Request) else Request(line) for line in lines]
        if isinstance(lines, str) or not all(isinstance(request.text, str) for request in requests):
            texts_of(lines if isinstance(lines, str) else [request.text for request in requests], "lines")
        call = self.call(search, markup, stop)
        if stop or self.engine.leaves_python:
            return call.in_portions(requests)
        if self.readers:
            return self.readers.translate(self, requests, search, markup)
        return call.translate(requests)

    def call(self, search: SearchConfig, markup: Mode, stop: Stop | None = None) -> Call:
        return Call(self.context(search, markup), self.facts, self.spans, stop)

    def context(self, search: SearchConfig, markup: Mode) -> Context:
        if markup not in get_args(Mode):
            read_value(markup, Mode, "markup")  # which says what it may be
        # `search.split_above` replaces what was usual in training.
        usual = (search.split_above,) if search.split_above else (self.facts.longest_source, self.facts.usual_sentences)
        limits = Limits(min(search.span_pieces, self.engine.longest_source or search.span_pieces), *usual)
        tokenizer, links, mark = self.tokenizer, self.aligner.links, self.facts.final_mark
        return Context(tokenizer, search, limits, links, self.quotes, self.spellings, mark, markup, self.language)

    def align(self, line: str, translation: Translation) -> list[tuple[int, int]]:
        """Pairs (word of the line, word of its translation) of numbers from 0. Words are what stands between blanks;
        one that disappears in reading, such as a soft hyphen, has no link. TypeError for a translation that is only a
        text."""
        if not isinstance(translation, Translation):
            raise TypeError("align needs a Translation, as translate_n_best gives it")
        return self.aligner.align(line, translation)

    def scorer(self, search: SearchConfig | None = None, markup: Mode = "auto") -> ForcedScorer:
        """A scorer of given translations, with the same engine."""
        self.tokenizer.languages.require_chosen()
        return ForcedScorer(self.engine, self.context(search or self.search, markup))

    def with_forced_scores(
        self, requests: Sequence[Request], n_best: Lists, search: SearchConfig, markup: Mode = "auto"
    ) -> Lists:
        """The translations with the scores that `scorer` gives them. Scores that the search knows are not computed."""
        pairs = [(request, t) for request, found in zip(requests, n_best, strict=True) for t in found]
        asked = {n: (request, t) for n, (request, t) in enumerate(pairs) if t.parts and t.text}
        texts = [(Request(request.text, user_items=request.user_items), t.text) for request, t in asked.values()]
        # Given translations are scored in fp32, and so are those that int8 found.
        is_rounded = self.plain is not None and "int8" in self.plain.precision
        known = {} if is_rounded else known_of([t for _, t in asked.values()], search)
        scores = dict(zip(asked, self.scorer(search, markup).score(texts, known=known), strict=True))
        new = (replace(t, score=forced.score) if (forced := scores.get(n)) else t for n, (_, t) in enumerate(pairs))
        return [list(islice(new, len(found))) for found in n_best]


def load_own(
    folders: Sequence[Path], where: str, precision: DecodingPrecision, adapter: Path | str | None, backend: Backend
) -> tuple[Engine, Tokenizer, ModelInfo]:
    """Load model folders of ours, with what the first one's config.json says. `where`: the device."""
    keep_freed_memory()
    opened, device = [open_model(path) for path in folders], choose_device(where)
    _, tokenizer, info, load_weights = opened[0]
    models = list[GenerativeModel]()
    for path, (model, other, its_info, _) in zip(folders, opened, strict=True):
        require_objective(its_info, path)
        problem = f"{path} has another tokenizer than {folders[0]}: an ensemble needs models with the same one"
        require(tokenizer.same_as(other), problem)
        assert isinstance(model, GenerativeModel)
        models.append(model)
    for licence in {info.licence for _, _, info, _ in opened if "-nc" in info.licence.lower()}:
        print_to_stderr(licence_sentence(licence))
    is_alone = backend == "auto" and len(opened) == 1 and adapter is None and device.type == "cpu"
    plain = plain_engine(folders[0], tokenizer, info, precision) if is_alone else None
    if plain is None:
        for model, _, _, load in opened:
            load(model)
            model.to(device)
    if adapter is not None:
        require(len(opened) == 1, f"{len(opened)} models are given with an adapter: give the one that it fits")
        add_adapter(models[0], Path(adapter))
    problem = "precision int8 is for searches by CTranslate2, which doesn't do them here: take auto, fp32 or bf16"
    require(plain is not None or precision != "int8", problem)
    engine = TorchEngine.make(models, precision, load_shortlist(folders[0], tokenizer))
    if plain:
        engine = replace(engine, plain=plain, load=Once(partial(load_weights, engine.models[0])))
    return engine, tokenizer, info
