"""Text in, text out: the one path from lines to translations, for every command, for validation and for servers.

Lines are tidied as training text was, and become pieces; over-long ones are cut into spans; spans of like length are
searched together; what is found is joined to text again, in the order of the lines; and what then looks wrong is tried
again in other ways, and marked.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from nmt.config import DecodingConfig, DecodingPrecision, require
from nmt.data.cleaning import tidy
from nmt.data.tokenizer import Tokenizer
from nmt.decode.alignment import attention, n_words, word_links
from nmt.decode.constraints import Automaton, Surfaces
from nmt.decode.ensemble import Ensemble
from nmt.decode.folder import load_model
from nmt.decode.guard import Flag, suspicions
from nmt.decode.hypothesis import Decoder, Demands, Hypothesis, length_divisor, longest_output
from nmt.decode.mbr import expected_utilities
from nmt.decode.parallel import map_batches
from nmt.decode.restore import lift, restore
from nmt.decode.sampling import sample
from nmt.decode.search import force_score, search
from nmt.decode.spans import Span, cut_points, make_batches, pad
from nmt.model.device import choose_device, keep_freed_memory
from nmt.model.incremental import IncrementalDecoder
from nmt.model.precision import with_precision
from nmt.model.transformer import Transformer

# Lines that `stream` reads ahead, for each of `batch_size`: enough to batch lines of like length.
BATCHES_AHEAD = 16
# The most that a beam is widened by to hold phrases half-written.
MOST_STAGES = 40
# The guard's second look is not in spans shorter than this.
SHORTEST_SPAN = 8


@dataclass(frozen=True)
class Term:
    """Words or phrases of which a translation must hold one (see `nmt.decode.constraints` for how they match)."""

    targets: tuple[str, ...]
    source: str = ""
    """What it translates: of a line in several spans, the one that has this must hold the term; empty: the first."""


@dataclass(frozen=True)
class Request:
    """A line, and what its translation must be like."""

    text: str
    prefix: str = ""
    """The translation begins with this (see `DecodingConfig.prefix_bias`)."""
    must: tuple[Term, ...] = ()
    must_not: tuple[str, ...] = ()
    """Words and phrases that must not occur."""


@dataclass(frozen=True)
class Part:
    """What was found for one span of a line."""

    source: tuple[int, ...]
    hypothesis: Hypothesis


@dataclass(frozen=True)
class Translation:
    """One translation of a line."""

    text: str
    """Without line breaks; empty for a blank line."""

    score: float
    """Length-normalised log-probability (see `nmt.decode.search`); of a line cut into spans, their mean; 0 if blank."""

    parts: tuple[Part, ...]
    """One for each span that the line was cut into; none if it is blank."""

    flags: tuple[Flag, ...] = ()
    """What looks wrong with it (see `nmt.decode.guard`), after all that was tried."""

    fallback: str = ""
    """How it was found, if the first translation looked wrong."""

    @property
    def log_prob(self) -> float:
        """Natural logarithm of the probability of its pieces."""
        return math.fsum(part.hypothesis.log_prob for part in self.parts)

    @property
    def token_log_probs(self) -> list[float]:
        """Of each piece, and of the EOS of each part."""
        return [log_prob for part in self.parts for log_prob in part.hypothesis.token_log_probs]

    @property
    def confidence(self) -> float:
        """Geometric mean of the probabilities of its pieces: 1 is certain; of a blank line 1."""
        log_probs = self.token_log_probs
        return math.exp(math.fsum(log_probs) / len(log_probs)) if log_probs else 1.0

    @property
    def finished(self) -> bool:
        """False: some part is as long as was allowed, and probably incomplete or a loop."""
        return all(part.hypothesis.finished for part in self.parts)


Reranker = Callable[[str, Sequence[Translation]], Sequence[float]]
"""From a source line and its possible translations to a value for each; the highest is taken."""


def find_model(folder: str | None, runs: Path = Path("runs")) -> Path:
    """The model folder that is meant: `folder` itself, that of a run folder, or (None) of the newest finished run.

    Raises:
        ValueError: none is given and there is no finished run.
    """
    if folder is not None:
        return Path(folder, "model") if Path(folder, "model").is_dir() else Path(folder)
    finished = [report for report in runs.glob("*/report.json") if (report.parent / "model" / "config.json").is_file()]
    require(bool(finished), f"no model is given and {runs}/ has no finished run: "
                            "give one with --model DIR, or train one with python -m nmt.train")
    return max(finished, key=lambda report: report.stat().st_mtime).parent / "model"


def best_joins(found: list[list[Hypothesis]], n_best: int) -> list[list[Hypothesis]]:
    """The n_best ways, best mean score first, to choose a hypothesis for each span."""
    best: list[tuple[float, list[Hypothesis]]] = [(0.0, [])]
    for hypotheses in found:
        longer = ((total + h.score, [*chosen, h]) for total, chosen in best for h in hypotheses)
        best = heapq.nlargest(n_best, longer, key=lambda item: item[0])
    return [chosen for _, chosen in best]


def best_first(translations: Sequence[Translation], values: Sequence[float]) -> list[Translation]:
    """In falling order of their values; equal ones stay as they were."""
    return [translations[i] for i in sorted(range(len(values)), key=lambda i: -values[i])]


class Translator:
    """A model, or several as one, with the tokenizer. May be used by several threads at once."""

    def __init__(self, model: Transformer | Sequence[Transformer], tokenizer: Tokenizer,
                 decoding: DecodingConfig | None = None, precision: DecodingPrecision = "fp32") -> None:
        """Args:
            model: is put into evaluation mode; several make an ensemble.
            tokenizer: the one that the model was trained with.
            decoding: the defaults of `DecodingConfig` if not given.
            precision: fp32, bf16, int8 or auto (see `nmt.model.precision`).

        Raises:
            ValueError: the device hasn't the precision, or the models have different vocabularies.
        """
        given = [model] if isinstance(model, Transformer) else model
        chosen = [with_precision(one.eval(), precision) for one in given]
        self.models, self.precision = [one for one, _ in chosen], chosen[0][1]
        decoders = [IncrementalDecoder(one) for one in self.models]
        self.decoder: Decoder = decoders[0] if len(decoders) == 1 else Ensemble(decoders)
        self.tokenizer = tokenizer
        self.decoding = decoding or DecodingConfig()
        self.reranker: Reranker | None = None
        """If set, orders the hypotheses of the beam, or the samples, of each line."""

    @classmethod
    def load(cls, folder: Path | str | Sequence[Path | str], device: str | torch.device = "auto",
             decoding: DecodingConfig | None = None, precision: DecodingPrecision = "auto") -> "Translator":
        """From a model folder, or several; with the decoding settings stored (in the first), unless others are given.

        Raises:
            ValueError: it is no whole model folder, the device or precision isn't there, or the models of several
                folders were not trained with one tokenizer.
        """
        keep_freed_memory()
        folders = [Path(one) for one in ([folder] if isinstance(folder, Path | str) else folder)]
        loaded = [load_model(one, choose_device(str(device))) for one in folders]
        _, tokenizer, info = loaded[0]
        for other, (_, others, _) in zip(folders, loaded, strict=True):
            require(tokenizer.same_as(others), f"{other} has another tokenizer than {folders[0]}: models translate "
                                               "together only if they were trained with the same")
        return cls([model for model, _, _ in loaded], tokenizer, decoding or info.decoding, precision)

    @property
    def model(self) -> Transformer:
        """The model, or the first of an ensemble."""
        return self.models[0]

    def describe(self) -> str:
        """Where and how precisely it computes."""
        threads = f", {torch.get_num_threads()} threads" if self.device.type == "cpu" else ""
        return f"{self.precision} on {self.device}{threads}"

    @property
    def device(self) -> torch.device:
        return self.model.tgt_embedding.weight.device

    def translate(self, lines: Sequence[str | Request]) -> list[str]:
        """The best translation of each line; empty for a blank one."""
        return [best[0].text for best in self.translate_n_best(lines)]

    def translate_n_best(self, lines: Sequence[str | Request]) -> list[list[Translation]]:
        """The `decoding.n_best` best translations of each line, best first; of a blank line, as many empty ones.

        Raises:
            ValueError: phrases that are demanded are empty, can't be spelled, or contradict one another.
        """
        requests = [line if isinstance(line, Request) else Request(line) for line in lines]
        found = self.attempt(requests, self.decoding)
        return self.repair(requests, found) if self.decoding.guard else found

    def stream(self, lines: Iterable[str]) -> Iterator[str]:
        """The best translation of each line, in order, reading only some batches ahead."""
        rest = iter(lines)
        while chunk := list(islice(rest, self.decoding.batch_size * BATCHES_AHEAD)):
            yield from self.translate(chunk)

    def attempt(self, requests: Sequence[Request], decoding: DecodingConfig) -> list[list[Translation]]:
        """Translations as they are found, whatever they look like."""
        all_ids = self.tokenizer.encode_source([tidy(request.text)[0] for request in requests])
        spans_of = [self.spans(ids, request, decoding) for ids, request in zip(all_ids, requests, strict=True)]
        found: dict[Span, list[Hypothesis]] = {}
        # A dict, not a set, so that batches are the same in every process; a repeated span is searched once.
        distinct = dict.fromkeys(span for spans in spans_of for span in spans)
        kinds = [span for span in distinct if not span.must], [span for span in distinct if span.must]
        batches = [batch for kind in kinds for batch in make_batches(kind, decoding.batch_size)]
        for batch, hypotheses in zip(batches, map_batches(partial(self.find, decoding), batches, self.device),
                                     strict=True):
            found.update(zip(batch, hypotheses, strict=True))
        return [self.join(request.text, spans, [found[span] for span in spans], decoding)
                for request, spans in zip(requests, spans_of, strict=True)]

    def spans(self, ids: list[int], request: Request, decoding: DecodingConfig) -> list[Span]:
        """The parts that a source is translated in; none if it is blank."""
        if not ids:
            return []
        limit = min(decoding.span_pieces, (self.decoder.max_positions or decoding.span_pieces + 1) - 1)
        ends = [len(ids)]
        if len(ids) > min(limit, decoding.split_above):
            ends = cut_points(self.tokenizer.source_pieces(ids), limit, decoding.split_above)
        parts = [tuple(ids[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
        if not (request.prefix or request.must or request.must_not):
            return [Span(part) for part in parts]
        texts = self.tokenizer.decode_source(parts)
        must: list[list[tuple[str, ...]]] = [[] for _ in parts]
        for term in request.must:
            must[next((i for i, text in enumerate(texts) if term.source in text), 0)].append(term.targets)
        prefix = tuple(self.tokenizer.encode_target([tidy(request.prefix)[0]])[0])
        return [Span(part, () if i else prefix, tuple(must[i]), request.must_not) for i, part in enumerate(parts)]

    def find(self, decoding: DecodingConfig, batch: list[Span]) -> list[list[Hypothesis]]:
        """Hypotheses for each span, as many as there is to choose from."""
        src_BS, src_mask_BS = pad([span.ids for span in batch], self.device)
        if decoding.samples:
            return sample(self.decoder, src_BS, src_mask_BS, decoding)
        decoding = replace(decoding, n_best=self.n_candidates(decoding))
        demands = [self.demands(span) for span in batch]
        # A beam has to hold hypotheses at every stage of writing what is demanded.
        if stages := max(demand.phrases.distance(demand.phrases.start) if demand.phrases else 0 for demand in demands):
            decoding = replace(decoding, beam_size=decoding.beam_size + min(stages, MOST_STAGES), beam_groups=1)
        return search(self.decoder, src_BS, src_mask_BS, decoding, demands)

    def demands(self, span: Span) -> Demands:
        phrases = Automaton(self.surfaces, span.must, span.must_not) if span.must or span.must_not else None
        return Demands(span.prefix, phrases)

    def problem(self, request: Request) -> str:
        """Why what a request demands can't be had, for the user; empty if it can."""
        if not (request.prefix or request.must or request.must_not):
            return ""
        prefix = tuple(self.tokenizer.encode_target([tidy(request.prefix)[0]])[0])
        span = Span((), prefix, tuple(term.targets for term in request.must), request.must_not)
        if self.decoding.samples:
            return "prefixes and phrases are searched for: they don't go with decoding.samples"
        try:
            longest_output(0, self.decoding, self.decoder.max_positions, self.demands(span))
        except ValueError as error:
            return str(error)
        return ""

    @cached_property
    def surfaces(self) -> Surfaces:
        return Surfaces(self.tokenizer.target_pieces(range(self.tokenizer.tgt_vocab_size)))

    def n_candidates(self, decoding: DecodingConfig) -> int:
        """How many translations of a line there are to choose from."""
        return decoding.beam_size if decoding.mbr != "none" or self.reranker else decoding.n_best

    def join(self, source: str, spans: list[Span], found: list[list[Hypothesis]],
             decoding: DecodingConfig) -> list[Translation]:
        """The n_best translations of a line from the hypotheses of its spans."""
        if not found:
            return [Translation("", 0.0, ())] * decoding.n_best
        if decoding.samples:  # in the order drawn
            joined = [list(chosen) for chosen in zip(*found, strict=True)]
        else:
            joined = best_joins(found, self.n_candidates(decoding))
        translations = [self.translation(spans, chosen) for chosen in joined]
        if decoding.mbr != "none":
            log_probs = None if decoding.samples else [t.log_prob for t in translations]
            translations = best_first(
                translations, expected_utilities([t.text for t in translations], log_probs, decoding.mbr))
        if self.reranker:
            translations = best_first(translations, self.reranker(source, translations))
        return translations[:decoding.n_best]

    def translation(self, spans: list[Span], chosen: list[Hypothesis]) -> Translation:
        texts = self.tokenizer.decode_target([h.ids for h in chosen])
        return Translation(
            text=" ".join(filter(None, (tidy(text)[0] for text in texts))),
            score=sum(h.score for h in chosen) / len(chosen),
            parts=tuple(Part(span.ids, h) for span, h in zip(spans, chosen, strict=True)))

    def repair(self, requests: list[Request], found: list[list[Translation]]) -> list[list[Translation]]:
        """Translate again, in other ways, what looks wrong; what looks less wrong then is taken, and marked.

        First without the items that got lost, which are put back; then without repeated n-grams, in a beam; then in
        shorter spans.
        """
        texts = [tidy(request.text)[0] for request in requests]
        flags = [suspicions(text, answers[0].text, finished=answers[0].finished)
                 for text, answers in zip(texts, found, strict=True)]
        loses = ["items" in wrong for wrong in flags]
        beam = max(5, self.decoding.beam_size, self.decoding.n_best)
        strict = replace(self.decoding, beam_size=beam, beam_groups=1, samples=0, mbr="none", no_repeat_ngram=3,
                         min_length=max(1, self.decoding.min_length))
        longest = max((len(part.source) for answers in found for part in answers[0].parts), default=0)
        shorter = replace(strict, split_above=1, span_pieces=max(SHORTEST_SPAN, longest // 2))
        for name, decoding in (("items", self.decoding), ("no repeats", strict), ("shorter spans", shorter)):
            wrong = [i for i in range(len(found)) if flags[i] and (name != "items" or loses[i])]
            if not wrong:
                continue
            lifted = [lift(texts[i]) if loses[i] else (texts[i], []) for i in wrong]
            again = self.attempt([replace(requests[i], text=text) for i, (text, _) in zip(wrong, lifted, strict=True)],
                                 decoding)
            for i, (text, items), answers in zip(wrong, lifted, again, strict=True):
                if items:
                    answers = [replace(answer, text=restore(answer.text, items, self.align(answer), len(text.split())))
                               for answer in answers]
                still = suspicions(texts[i], answers[0].text, finished=answers[0].finished)
                if len(still) < len(flags[i]):
                    flags[i], found[i] = still, [replace(answer, fallback=name) for answer in answers]
        return [[replace(answer, flags=tuple(wrong)) for answer in answers] if wrong else answers
                for answers, wrong in zip(found, flags, strict=True)]

    @torch.inference_mode()
    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Translation]:
        """Given translations (source, translation), with what the model gives them. Each is read whole, however long.

        Raises:
            ValueError: a sentence is longer than the model's positions.
        """
        sources = self.tokenizer.encode_source([tidy(source)[0] for source, _ in pairs])
        targets = self.tokenizer.encode_target([tidy(target)[0] for _, target in pairs])
        scored: list[Translation | None] = [None] * len(pairs)
        order = sorted(range(len(pairs)), key=lambda i: -len(sources[i]) - len(targets[i]))
        for start in range(0, len(order), self.decoding.batch_size):
            rows = order[start:start + self.decoding.batch_size]
            log_probs_BT = self.forced([sources[i] for i in rows], [targets[i] for i in rows])
            for i, log_probs in zip(rows, log_probs_BT.tolist(), strict=True):
                length = len(targets[i]) + 1
                total = math.fsum(log_probs[:length])
                score = total / float(length_divisor(length, self.decoding))
                found = Hypothesis(targets[i], score, total, log_probs[:length], finished=True)
                scored[i] = Translation(tidy(pairs[i][1])[0], score, (Part(tuple(sources[i]), found),))
        return [one for one in scored if one is not None]

    @torch.inference_mode()
    def align(self, translation: Translation) -> list[tuple[int, int]]:
        """Which source word each word was written from, as (source, target) places from 0; by cross-attention."""
        links: list[tuple[int, int]] = []
        n_source = n_target = 0
        for part in translation.parts:
            source = self.tokenizer.source_pieces(part.source)
            target = self.tokenizer.target_pieces(part.hypothesis.ids)
            if target:
                weights_TS = attention(self.model, part.source, part.hypothesis.ids)
                links += [(n_source + i, n_target + j) for i, j in word_links(weights_TS, source, target)]
            n_source, n_target = n_source + n_words(source), n_target + n_words(target)
        return links

    def forced(self, sources: list[list[int]], targets: list[list[int]]) -> Tensor:
        """Log-probabilities (B, T) of given ids; of an ensemble, of its mean probabilities."""
        batch = *pad(sources, self.device), *pad(targets, self.device)
        log_probs_XBT = torch.stack([force_score(model, *batch) for model in self.models])
        return log_probs_XBT.logsumexp(0) - math.log(len(self.models))
