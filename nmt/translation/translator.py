"""Text in, text out: the one path from lines to translations, for every command, for validation and for servers.

Lines are tidied as training text was, and become pieces; over-long ones are cut into spans; spans of like length are
searched together; what is found is joined to text again, in the order of the lines; and what then looks wrong is given
to `nmt.translation.repair`.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from nmt.config import MOST_HYPOTHESES, DecodingPrecision, SearchConfig, require
from nmt.data.tokenizer import Tokenizer
from nmt.decode.beam import force_score, search
from nmt.decode.ensemble import Ensemble
from nmt.decode.hypothesis import Decoder, Demands, Hypothesis, demanded, length_divisor, longest_output
from nmt.decode.parallel import map_batches
from nmt.decode.phrases import DEAD, Automaton, Surfaces
from nmt.decode.sampling import sample
from nmt.decode.shortlist import Shortlist
from nmt.model.device import choose_device, keep_freed_memory
from nmt.model.encoder_decoder import Transformer
from nmt.model.incremental import IncrementalDecoder
from nmt.model.precision import with_precision
from nmt.text.normalise import tidy
from nmt.translation.alignment import attention, n_words, word_links
from nmt.translation.mbr import expected_utilities
from nmt.translation.model_folder import load_model, load_shortlist
from nmt.translation.repair import repair
from nmt.translation.request import Part, Request, Translation
from nmt.translation.spans import Span, cut_points, make_batches, pad, place_of
from nmt.vocabulary import UNK

# Lines that `stream` reads ahead, for each of `batch_size`: enough to batch lines of like length.
BATCHES_AHEAD = 16
# A beam is widened in such steps, and by this at most, to hold phrases half-written.
STAGES, MOST_STAGES = 4, 40
# Most hypotheses, or samples, that are searched for together: memory stays bounded.
MOST_ROWS = 4096
# Most pieces that may be demanded of a translation: there is room for them besides the usual, in a whole batch.
MOST_DEMANDED = 500
# Halved spans are no shorter than this.
SHORTEST_SPAN = 8
# Longest sentence, in pieces, that is scored as it is: attention takes memory by the square of it.
LONGEST_SCORED = 4000


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
    require(
        bool(finished),
        f"no model is given and {runs}/ has no finished run: "
        "give one with --model DIR, or train one with python -m nmt.train",
    )
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

    def __init__(
        self,
        model: Transformer | Sequence[Transformer],
        tokenizer: Tokenizer,
        decoding: SearchConfig | None = None,
        precision: DecodingPrecision = "fp32",
    ) -> None:
        """Args:
            model: is put into evaluation mode; several make an ensemble.
            tokenizer: the one that the model was trained with.
            decoding: the defaults of `SearchConfig` if not given.
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
        self.decoding = decoding or SearchConfig()
        self.languages = ("", "")
        """From which to which it translates, as its model folder tells."""
        self.shortlist: Shortlist | None = None
        """What `SearchConfig.shortlist` needs."""
        self.reranker: Reranker | None = None
        """If set, orders the hypotheses of the beam, or the samples, of each line."""

    @classmethod
    def load(
        cls,
        folder: Path | str | Sequence[Path | str],
        device: str | torch.device = "auto",
        decoding: SearchConfig | None = None,
        precision: DecodingPrecision = "auto",
    ) -> "Translator":
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
            require(
                tokenizer.same_as(others),
                f"{other} has another tokenizer than {folders[0]}: models translate "
                "together only if they were trained with the same",
            )
        translator = cls([model for model, _, _ in loaded], tokenizer, decoding or info.decoding, precision)
        translator.languages = (info.source, info.target)
        translator.shortlist = load_shortlist(folders[0], tokenizer)
        return translator

    @property
    def model(self) -> Transformer:
        """The model, or the first of an ensemble."""
        return self.models[0]

    def describe(self) -> str:
        """Where and how precisely it computes."""
        threads = f", {torch.get_num_threads()} threads" if self.device.type == "cpu" else ""
        listed = f", shortlist {self.decoding.shortlist}" if self.decoding.shortlist else ""
        return f"{self.precision} on {self.device}{threads}{listed}"

    @property
    def device(self) -> torch.device:
        return self.model.tgt_embedding.weight.device

    def translate(self, lines: Sequence[str | Request]) -> list[str]:
        """The best translation of each line; empty for a blank one."""
        return [best[0].text for best in self.translate_n_best(lines)]

    def translate_n_best(self, lines: Sequence[str | Request]) -> list[list[Translation]]:
        """The up to `decoding.n_best` best translations of each line, best first; of a blank line a single, empty one.

        Fewer are there if the settings leave fewer, or the groups of a beam find the same.

        Raises:
            ValueError: what is demanded can't be had (see `problem`).
        """
        if isinstance(lines, str):
            raise TypeError(f"lines is the string {lines[:20]!r}: give a list of strings")
        requests = [line if isinstance(line, Request) else Request(line) for line in lines]
        found = self.attempt(requests, self.decoding)
        return repair(self, self.decoding, requests, found) if self.decoding.guard else found

    def stream(self, lines: Iterable[str]) -> Iterator[str]:
        """The best translation of each line, in order, reading only some batches ahead."""
        rest = iter(lines)
        while chunk := list(islice(rest, self.decoding.batch_size * BATCHES_AHEAD)):
            yield from self.translate(chunk)

    def attempt(
        self, requests: Sequence[Request], decoding: SearchConfig, *, halved: bool = False
    ) -> list[list[Translation]]:
        """Translations as they are found, whatever they look like; of lines cut into shorter spans, if `halved`."""
        all_ids = self.tokenizer.encode_source([tidy(request.text)[0] for request in requests])
        spans_of = [self.spans(ids, request, decoding, halved) for ids, request in zip(all_ids, requests, strict=True)]
        # A dict, not a set, so that batches are the same in every process; a repeated span is searched once.
        distinct = dict.fromkeys(span for spans in spans_of for span in spans)
        demands = {span: self.demands(span, decoding) for span in distinct if span.demanding}
        # The spans that are searched in beams of one width: what a span demands changes nothing for the others.
        plain = self.settings(decoding, None)
        kinds: dict[SearchConfig, list[Span]] = {}
        for span in distinct:
            settings = self.settings(decoding, demands[span]) if span in demands else plain
            kinds.setdefault(settings, []).append(span)
        batches = [
            (settings, batch)
            for settings, spans in kinds.items()
            for batch in make_batches(spans, self.batch_size(settings), len)
        ]
        found: dict[Span, list[Hypothesis]] = {}
        for (_, batch), hypotheses in zip(
            batches, map_batches(partial(self.find, demands), batches, self.device), strict=True
        ):
            found.update(zip(batch, hypotheses, strict=True))
        return [
            self.join(request.text, spans, [found[span] for span in spans], decoding)
            for request, spans in zip(requests, spans_of, strict=True)
        ]

    def spans(self, ids: list[int], request: Request, decoding: SearchConfig, halved: bool = False) -> list[Span]:
        """The parts that a source is translated in; none if it is blank."""
        if not ids:
            return []
        limit = min(decoding.span_pieces, (self.decoder.max_positions or decoding.span_pieces + 1) - 1)
        ends = [len(ids)]
        if halved or len(ids) > min(limit, decoding.split_above):
            pieces = self.tokenizer.source_pieces(ids)
            ends = cut_points(pieces, limit, decoding.split_above)
            if halved:
                longest = max(end - start for start, end in zip([0, *ends], ends, strict=False))
                ends = cut_points(pieces, min(limit, max(SHORTEST_SPAN, longest // 2)), split_above=1)
        parts = [tuple(ids[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
        if not request.demanding:
            return [Span(part) for part in parts]
        texts = self.tokenizer.decode_source(parts)
        must: list[list[tuple[str, ...]]] = [[] for _ in parts]
        for term in request.must:
            must[place_of(term.source, texts)].append(term.targets)
        prefix = self.prefix(request)
        return [Span(part, () if i else prefix, tuple(must[i]), request.must_not) for i, part in enumerate(parts)]

    def prefix(self, request: Request) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode_target([tidy(request.prefix)[0]])[0])

    def settings(self, decoding: SearchConfig, demands: Demands | None) -> SearchConfig:
        """What a span is searched with: how many there are to choose from; how wide a beam brings what is demanded, and
        that it may be any piece.
        """
        decoding = replace(decoding, n_best=self.n_candidates(decoding), shortlist=0 if demands else decoding.shortlist)
        if demands is None or demands.phrases is None:
            return decoding
        # A beam has to hold hypotheses at every stage of writing what is demanded.
        stages = math.ceil(demands.phrases.distance(demands.phrases.start) / STAGES) * STAGES
        width = min(MOST_HYPOTHESES, decoding.beam_size + min(stages, MOST_STAGES))
        return replace(
            decoding,
            beam_size=width,
            beam_groups=1,
            batch_size=max(1, decoding.batch_size * decoding.beam_size // width),
        )

    def batch_size(self, settings: SearchConfig) -> int:
        """Sentences of a batch: fewer if there are many rows of each."""
        return min(settings.batch_size, max(1, MOST_ROWS // (settings.samples or settings.beam_size)))

    def find(self, demands: dict[Span, Demands], work: tuple[SearchConfig, list[Span]]) -> list[list[Hypothesis]]:
        """Hypotheses for each span of a batch, as many as there is to choose from."""
        settings, batch = work
        src_BS, src_mask_BS = pad([span.ids for span in batch], self.device)
        if settings.samples:
            return sample(self.decoder, src_BS, src_mask_BS, settings)
        if settings.shortlist:
            return self.find_listed(src_BS, src_mask_BS, settings)
        return search(self.decoder, src_BS, src_mask_BS, settings, [demands.get(span, Demands()) for span in batch])

    def find_listed(self, src_BS: Tensor, src_mask_BS: Tensor, settings: SearchConfig) -> list[list[Hypothesis]]:
        """Hypotheses of listed pieces only."""
        require(
            self.shortlist is not None,
            f"decoding.shortlist is {settings.shortlist}: this model has none, which "
            "training writes into its folder as shortlist.safetensors",
        )
        assert self.shortlist is not None
        pieces_L = self.shortlist.pieces(src_BS, settings.shortlist, own=self.tokenizer.joint)
        found = search(self.decoder.restricted(pieces_L.to(self.device)), src_BS, src_mask_BS, settings)
        pieces = pieces_L.tolist()
        return [[replace(one, ids=[pieces[i] for i in one.ids]) for one in some] for some in found]

    def demands(self, span: Span, decoding: SearchConfig) -> Demands:
        """Raises ValueError, for the user, if they can't be met."""
        require(not decoding.samples, "prefixes and phrases are searched for: they don't go with decoding.samples")
        phrases = Automaton(self.surfaces, span.must, span.must_not) if span.must or span.must_not else None
        demands = Demands(span.prefix, phrases)
        require(
            demanded(demands) <= MOST_DEMANDED,
            f"what the translation must contain takes {demanded(demands)} pieces: {MOST_DEMANDED} are the most",
        )
        require(UNK not in span.prefix, "the prefix has characters that no pieces of the vocabulary spell")
        if phrases and decoding.prefix_bias == 1:
            state = phrases.start
            for piece in span.prefix:
                state = int(phrases.row(state)[piece])
                require(state >= 0, "the prefix contains, or leads to, what must_not forbids")
        longest_output(len(span.ids), decoding, self.decoder.max_positions, demands)
        return demands

    def problem(self, request: Request) -> str:
        """Why what a request demands can't be had, for the user; empty if it can."""
        if not request.demanding:
            return ""
        must = tuple(term.targets for term in request.must)
        try:
            self.demands(Span((), self.prefix(request), must, request.must_not), self.decoding)
        except ValueError as error:
            return str(error)
        return ""

    def meets(self, request: Request, text: str) -> bool:
        """Whether a translation has what is demanded of it: spans were searched apart, and items put back after."""
        if request.must or request.must_not:
            phrases = Automaton(self.surfaces, [term.targets for term in request.must], request.must_not)
            state = phrases.reader.read(phrases.start, text.encode("utf-8", "replace"))
            if state == DEAD or not phrases.may_end(state):
                return False
        text, prefix = (" ".join(one.split()) for one in (text, tidy(request.prefix)[0]))
        return self.decoding.prefix_bias < 1 or text.startswith(prefix)

    @cached_property
    def surfaces(self) -> Surfaces:
        return Surfaces(self.tokenizer.target_pieces(range(self.tokenizer.tgt_vocab_size)))

    def n_candidates(self, decoding: SearchConfig) -> int:
        """How many translations of a line there are to choose from."""
        found = decoding.samples or decoding.beam_size
        return found if decoding.mbr != "none" or self.reranker else decoding.n_best

    def join(
        self, source: str, spans: list[Span], found: list[list[Hypothesis]], decoding: SearchConfig
    ) -> list[Translation]:
        """The n_best translations of a line from the hypotheses of its spans."""
        if not found:
            return [Translation("", 0.0, ())]
        if decoding.samples:  # in the order drawn
            joined = [list(chosen) for chosen in zip(*found, strict=True)]
        else:
            joined = best_joins(found, self.n_candidates(decoding))
        translations = [self.translation(spans, chosen) for chosen in joined]
        if decoding.mbr != "none":
            log_probs = None if decoding.samples else [t.log_prob for t in translations]
            translations = best_first(
                translations, expected_utilities([t.text for t in translations], log_probs, decoding.mbr)
            )
        if self.reranker:
            translations = best_first(translations, self.reranker(source, translations))
        return translations[: decoding.n_best]

    def translation(self, spans: list[Span], chosen: list[Hypothesis]) -> Translation:
        texts = self.tokenizer.decode_target([h.ids for h in chosen])
        return Translation(
            text=" ".join(filter(None, (tidy(text)[0] for text in texts))),
            score=sum(h.score for h in chosen) / len(chosen),
            parts=tuple(Part(span.ids, h) for span, h in zip(spans, chosen, strict=True)),
        )

    @torch.inference_mode()
    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Translation]:
        """Given translations (source, translation), with what the model gives them. Each is read whole, so that memory
        grows with the square of its length: ask `too_long` first.

        Raises:
            ValueError: a sentence is longer than the model's positions.
        """
        sources, targets = self.encode_pairs(pairs)
        scored: list[Translation | None] = [None] * len(pairs)
        for rows in make_batches(
            range(len(pairs)), self.decoding.batch_size, lambda i: max(len(sources[i]), len(targets[i]))
        ):
            log_probs_BT = self.forced([sources[i] for i in rows], [targets[i] for i in rows])
            for i, log_probs in zip(rows, log_probs_BT.tolist(), strict=True):
                length = len(targets[i]) + 1
                total = math.fsum(log_probs[:length])
                score = total / float(length_divisor(length, self.decoding))
                found = Hypothesis(targets[i], score, total, log_probs[:length], finished=True)
                scored[i] = Translation(tidy(pairs[i][1])[0], score, (Part(tuple(sources[i]), found),))
        return [one for one in scored if one is not None]

    def too_long(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """Which pairs have a sentence that is too long to be scored as it is."""
        limit = min(LONGEST_SCORED, (self.decoder.max_positions or LONGEST_SCORED + 1) - 1)
        return [max(len(source), len(target)) > limit for source, target in zip(*self.encode_pairs(pairs), strict=True)]

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> tuple[list[list[int]], list[list[int]]]:
        return (
            self.tokenizer.encode_source([tidy(source)[0] for source, _ in pairs]),
            self.tokenizer.encode_target([tidy(target)[0] for _, target in pairs]),
        )

    def align(self, translation: Translation) -> list[tuple[int, int]]:
        """Which source word each word was written from, as (source, target) places from 0; by cross-attention."""
        if translation.links is not None:
            return list(translation.links)
        links: list[tuple[int, int]] = []
        n_source = n_target = 0
        for weights_TS, source, target in self.attention(translation):
            if target:
                links += [(n_source + i, n_target + j) for i, j in word_links(weights_TS, source, target)]
            n_source, n_target = n_source + n_words(source), n_target + n_words(target)
        return links

    @torch.inference_mode()
    def attention(self, translation: Translation) -> Iterator[tuple[Tensor, list[str], list[str]]]:
        """Of each part the cross-attention (T, S) of its pieces on those of its source, and the pieces of both."""
        for part in translation.parts:
            source, target = part.source, part.hypothesis.ids
            yield (
                attention(self.model, source, target),
                self.tokenizer.source_pieces(source),
                self.tokenizer.target_pieces(target),
            )

    def forced(self, sources: list[list[int]], targets: list[list[int]]) -> Tensor:
        """Log-probabilities (B, T) of given ids; of an ensemble, of its mean probabilities."""
        batch = *pad(sources, self.device), *pad(targets, self.device)
        log_probs_XBT = torch.stack([force_score(model, *batch) for model in self.models])
        return log_probs_XBT.logsumexp(0) - math.log(len(self.models))
