"""The engine of PyTorch: a model, or several as one, with fixed first pieces, recorded steps, and CTranslate2 for plain
searches.

Shapes: B sentences, S source length, T target length, V target vocabulary; N sentences, W rows of each; see
`nmt.model.cache`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from threading import Lock
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from nmt.config import DecodingPrecision, SearchConfig
from nmt.decode.beam import force_score, search
from nmt.decode.ctranslate2 import CTranslate2Engine
from nmt.decode.engine import IdPair, Ids, fits
from nmt.decode.graphs import RecordedBeams, RecordedModel, record_models
from nmt.decode.hypothesis import BAD_LOGITS, NO_CONSTRAINTS, UNSEARCHED, AllConstraints, Hypothesis
from nmt.decode.sampling import sample
from nmt.decode.shortlist import Shortlist
from nmt.decode.stop import Stop
from nmt.fields import require
from nmt.model.build import with_precision
from nmt.model.cache import Cache, SourceWeights
from nmt.model.contract import Decoder, GenerativeModel, without_sources
from nmt.vocabulary import BOS, EOS, PAD


def pad(sentences: Iterable[Iterable[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids (B, S), each sentence with EOS, and the mask (B, S) that is True at real positions."""
    ids_BS = pad_sequence([torch.tensor([*ids, EOS]) for ids in sentences], batch_first=True, padding_value=PAD)
    ids_BS = ids_BS.to(device)
    return ids_BS, ids_BS != PAD


WAIT = 0.05  # seconds between two looks at the time of a search that waits for another


class Once:
    """Calls a function once, when it is first asked to. Threads wait for it."""

    def __init__(self, function: Callable[[], None]) -> None:
        self.function: Callable[[], None] | None = function
        self.lock = Lock()

    def __call__(self) -> None:
        with self.lock, torch.inference_mode(False):  # weights may be trained, or saved
            if self.function:
                self.function()
                self.function = None


@dataclass(frozen=True)
class EnsembleCache:
    """The caches of all models."""

    caches: Sequence[Cache]

    def reorder(self, parents_NW: Tensor) -> None:
        for cache in self.caches:
            cache.reorder(parents_NW)

    def keep(self, sentences: Tensor) -> None:
        for cache in self.caches:
            cache.keep(sentences)


class Ensemble:
    """A `Decoder` made of several models with one vocabulary, which may differ in size: the probability of a piece is
    the mean of the models' probabilities."""

    def __init__(self, models: Sequence[Decoder]) -> None:
        """Raises ValueError if their vocabularies differ in size."""
        sizes = [model.vocab_size for model in models]
        require(len(set(sizes)) == 1, f"an ensemble needs models with one tokenizer; these have {sizes} pieces")
        self.models, self.vocab_size = models, sizes[0]
        limits = [model.longest_source for model in models if model.longest_source is not None]
        self.longest_source = min(limits, default=None)

    def longest_target(self, n_source: int) -> int | None:
        limits = [model.longest_target(n_source) for model in self.models]
        return min((limit for limit in limits if limit is not None), default=None)

    def start(
        self, src_BS: Tensor, src_mask_BS: Tensor, max_length: int, width: int = 1, *, separate: bool = False
    ) -> EnsembleCache:
        caches = (model.start(src_BS, src_mask_BS, max_length, width, separate=separate) for model in self.models)
        return EnsembleCache([*caches])

    def step(self, tokens_NW: Tensor, cache: Cache) -> Tensor:
        """The logarithm (N, W, V) of the mean probability."""
        assert isinstance(cache, EnsembleCache), "the cache must come from `Ensemble.start`"
        pairs = zip(self.models, cache.caches, strict=True)
        return self.mean(model.step(tokens_NW, part) for model, part in pairs)

    def __call__(self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, weights: SourceWeights = None) -> Tensor:
        """As `GenerativeModel.forward`, with the logarithms of the mean probabilities; `weights`: of the first model.
        The models must be such models, or `Begun`."""
        readers = cast(Sequence[Callable[..., Tensor]], self.models)
        batch = src_BS, src_mask_BS, tgt_BT
        return self.mean(reader(*batch, weights if n == 0 else None) for n, reader in enumerate(readers))

    def mean(self, logits: Iterable[Tensor]) -> Tensor:
        log_probs = (each.log_softmax(-1) for each in logits)
        return reduce(torch.logaddexp, log_probs) - math.log(len(self.models))


class Begun:
    """A `Decoder` that puts pieces before each source, and has written pieces before each target, such as codes of
    languages, which callers don't see."""

    def __init__(self, model: Decoder, source: Sequence[int], target: Sequence[int]) -> None:
        self.model, self.source, self.target = model, list(source), list(target)
        self.vocab_size = model.vocab_size
        longest = model.longest_source
        self.longest_source = None if longest is None else longest - len(self.source)

    def longest_target(self, n_source: int) -> int | None:
        longest = self.model.longest_target(n_source + len(self.source))
        return None if longest is None else longest - len(self.target)

    def start(
        self, src_BS: Tensor, src_mask_BS: Tensor, max_length: int, width: int = 1, *, separate: bool = False
    ) -> Cache:
        n_steps = max_length + len(self.target)
        cache = self.model.start(*self.begin_source(src_BS, src_mask_BS), n_steps, width, separate=separate)
        rows = width if separate else 1
        for piece in [BOS, *self.target][: len(self.target)]:
            self.model.step(torch.full((src_BS.size(0), rows), piece, device=src_BS.device), cache)
        return cache

    def step(self, tokens_NW: Tensor, cache: Cache) -> Tensor:
        if self.target:  # BOS is only the first token: the last of the fixed pieces takes its place
            tokens_NW = tokens_NW.masked_fill(tokens_NW == BOS, self.target[-1])
        return self.model.step(tokens_NW, cache)

    def begin_source(self, src_BS: Tensor, src_mask_BS: Tensor) -> tuple[Tensor, Tensor]:
        first = torch.tensor(self.source, dtype=torch.int64, device=src_BS.device).expand(src_BS.size(0), -1)
        return torch.cat([first, src_BS], dim=1), F.pad(src_mask_BS, (first.size(1), 0), value=True)

    def __call__(self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, weights: SourceWeights = None) -> Tensor:
        """As `GenerativeModel.forward`, of which the model must be one."""
        assert isinstance(self.model, GenerativeModel)
        first = torch.tensor(self.target, dtype=torch.int64, device=tgt_BT.device).expand(tgt_BT.size(0), -1)
        seen: SourceWeights = None if weights is None else []
        target_BT = torch.cat([tgt_BT[:, :1], first, tgt_BT[:, 1:]], dim=1)
        logits_BTV = self.model(*self.begin_source(src_BS, src_mask_BS), target_BT, seen)
        if weights is not None:
            weights += [part[..., len(self.target) :, len(self.source) :] for part in seen or []]
        return logits_BTV[:, len(self.target) :]


@dataclass(frozen=True)
class TorchEngine:
    """An `Engine` that searches with models in evaluation mode; see `make`."""

    models: tuple[GenerativeModel, ...]
    precision: DecodingPrecision
    shortlist: Shortlist | None = None
    before: tuple[Ids, Ids] = ((), ())
    """Pieces before each source, and each target."""
    recorded: tuple[RecordedModel, ...] = ()
    """The models, if a GPU can record their steps."""
    plain: CTranslate2Engine | None = None
    """A faster engine with the same weights, for the searches that it does as this one does."""
    load: Callable[[], None] = lambda: None
    """Gives the models their weights, which take memory, when they are first needed."""
    turn: Lock = field(default_factory=Lock, compare=False)

    takes_phrases = True

    @classmethod
    def make(
        cls,
        models: Sequence[GenerativeModel],
        precision: DecodingPrecision = "fp32",
        shortlist: Shortlist | None = None,
    ) -> "TorchEngine":
        """Set models to evaluation mode, and convert them to the precision. ValueError if vocabularies differ in
        size."""
        # Each step has products of new shapes, whose code takes long to make in bfloat16 (`nmt.model.layers`): single
        # sentences took twice the time of float32, and batches of narrow models as long.
        if precision in ("auto", "int8") and models[0].device.type != "cuda":  # "meta": not read yet
            precision = "fp32"
        converted, precisions = zip(*(with_precision(model.eval(), precision) for model in models), strict=True)
        engine = cls(converted, precisions[0], shortlist, recorded=record_models(converted))
        assert engine.decoder, "made to see that vocabularies are of one size"
        return engine

    def with_models(self, models: Sequence[GenerativeModel]) -> "TorchEngine":
        """This engine with other models, of the same kind and precision."""
        return replace(self, models=tuple(models), recorded=record_models(models), plain=None, load=lambda: None)

    def begun(self, source: Ids, target: Ids) -> "TorchEngine":
        return replace(self, before=(source, target), plain=self.plain and self.plain.begun(source, target))

    @cached_property
    def decoder(self) -> "Reader":
        return together(self.models, self.before)

    @cached_property
    def recorded_decoder(self) -> Decoder:
        """The same, with recorded steps."""
        return together(self.recorded, self.before)

    @property
    def leaves_python(self) -> bool:
        return self.plain is not None

    @property
    def device(self) -> torch.device:
        return torch.device("cpu") if self.plain else self.models[0].device

    @property
    def longest_source(self) -> int | None:
        return self.decoder.longest_source

    def longest_target(self, n_source: int) -> int | None:
        return self.decoder.longest_target(n_source)

    def check(self, search: SearchConfig) -> None:
        """Any can be followed."""

    @torch.inference_mode()
    def search(
        self, sources: Sequence[Ids], options: SearchConfig, constraints: AllConstraints = (), stop: Stop | None = None
    ) -> list[list[Hypothesis]]:
        is_free = constraints.count(NO_CONSTRAINTS) == len(constraints)
        if self.plain and is_free and self.plain.is_plain(sources, options):
            return self.plain.search(sources, options, (), stop)
        while not (stop and stop.is_late()):
            if self.recorded and not self.turn.acquire(timeout=WAIT):  # a GPU does one search at a time
                continue
            try:
                self.load()
                batch = pad(sources, self.device)
                if options.samples:
                    return sample(self.decoder, *batch, options, stop)
                if not self.recorded:
                    return search(self.decoder, *batch, options, constraints, stop)
                beams = RecordedBeams(self.recorded_decoder, *batch, options, constraints)
                beams.run(stop)
            finally:
                if self.recorded:
                    self.turn.release()
            return beams.hypotheses()
        return [[UNSEARCHED] * max(1, options.samples) for _ in sources]

    def rest(
        self, sources: Sequence[Ids], options: SearchConfig, starts: AllConstraints, stop: Stop | None = None
    ) -> list[list[Hypothesis]]:
        if self.plain and self.plain.is_plain(sources, options, starts):
            return self.plain.search(sources, options, starts, stop)
        return self.search(sources, options, starts, stop)

    def score(self, pairs: Sequence[IdPair], stop: Stop | None = None) -> list[list[float]]:
        return self.score_after(pad((source for source, _ in pairs), self.device), [ids for _, ids in pairs], stop)

    def score_texts(self, texts: Sequence[Ids], stop: Stop | None = None) -> list[list[float]]:
        """As `score`, of texts without sources, by language models."""
        return self.score_after(without_sources(len(texts), self.device), texts, stop)

    @torch.inference_mode()
    def score_after(
        self, sources: tuple[Tensor, Tensor], targets: Sequence[Ids], stop: Stop | None
    ) -> list[list[float]]:
        if stop:
            stop.check()
        self.load()
        batch = *sources, *pad(targets, self.device)
        log_probs_BT = force_score(self.decoder, *batch)
        require(bool(log_probs_BT.isfinite().all()), BAD_LOGITS)
        return [row[: len(ids) + 1] for row, ids in zip(log_probs_BT.tolist(), targets, strict=True)]

    def started(self, pairs: Sequence[IdPair]) -> tuple[Tensor, Tensor, Tensor]:
        """A batch of sources, their mask, and targets after BOS."""
        target_BT = pad_sequence([torch.tensor([BOS, *target]) for _, target in pairs], batch_first=True)
        return *pad((source for source, _ in pairs), self.device), target_BT.to(self.device)

    @torch.inference_mode()
    def log_probs_of(self, pairs: Sequence[IdPair], pieces: Sequence[Ids]) -> list[Tensor]:
        self.load()
        logits_BTV = self.decoder(*self.started(pairs))
        rows = zip(logits_BTV, logits_BTV.logsumexp(2), pairs, pieces, strict=True)
        return [(logits_TV[:, ids].T - total_T)[:, : len(t) + 1].cpu() for logits_TV, total_T, (_, t), ids in rows]

    @torch.inference_mode()
    def attention(self, pairs: Sequence[IdPair]) -> list[Tensor]:
        if self.plain and all(fits(self.plain, *pair) for pair in pairs):
            return self.plain.attention(pairs)
        self.load()
        weights: list[Tensor] = []
        self.decoder(*self.started(pairs), weights)
        mean_BTS = weights[-1].float().mean(1).cpu()
        return [mean_TS[: len(t), : len(s)].clone() for mean_TS, (s, t) in zip(mean_BTS, pairs, strict=True)]

    @torch.inference_mode()
    def next_log_probs(self, source: Ids, targets: Sequence[Ids]) -> Tensor:
        """For beginnings of equal length."""
        self.load()
        target_BT = torch.tensor([[BOS, *target] for target in targets], device=self.device)
        return self.decoder(*pad([source] * len(targets), self.device), target_BT)[:, -1].log_softmax(-1)


Reader = GenerativeModel | Begun | Ensemble


def together(models: Sequence[Any], before: tuple[Ids, Ids]) -> Any:
    """A model, or an ensemble of several, with the pieces before each text."""
    begun = [Begun(model, *before) for model in models] if any(before) else models
    return begun[0] if len(begun) == 1 else Ensemble(begun)
