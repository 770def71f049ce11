"""Decoders made of others: several models as one, and a model whose sources and targets begin with fixed pieces.

Shapes: B batch, S source length, T target length; N sentences, W rows of each, V target vocabulary; see
`nmt.model.cache`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmt.fields import require
from nmt.model.cache import Cache, SourceWeights
from nmt.model.contract import Decoder, GenerativeModel
from nmt.vocabulary import BOS


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


def least(limits: Iterable[int | None]) -> int | None:
    """The least limit; None if there is no limit."""
    return min((limit for limit in limits if limit is not None), default=None)


class Ensemble:
    """A `Decoder` made of several models with one vocabulary, which may differ in size: the probability of a piece is
    the mean of the models' probabilities."""

    def __init__(self, models: Sequence[Decoder]) -> None:
        """Raises ValueError if their vocabularies differ in size."""
        sizes = [model.vocab_size for model in models]
        require(len(set(sizes)) == 1, f"an ensemble needs models with one tokenizer; these have {sizes} pieces")
        self.models, self.vocab_size = models, sizes[0]
        self.longest_source = least(model.longest_source for model in models)

    def longest_target(self, n_source: int) -> int | None:
        return least(model.longest_target(n_source) for model in self.models)

    def start(
        self, src_BS: Tensor, src_mask_BS: Tensor, max_length: int, width: int = 1, *, separate: bool = False
    ) -> EnsembleCache:
        caches = (model.start(src_BS, src_mask_BS, max_length, width, separate=separate) for model in self.models)
        return EnsembleCache([*caches])

    def step(self, tokens_NW: Tensor, cache: Cache) -> Tensor:
        """The logarithm (N, W, V) of the mean probability."""
        assert isinstance(cache, EnsembleCache), "the cache must come from `Ensemble.start`"
        pairs = zip(self.models, cache.caches, strict=True)
        log_probs = (model.step(tokens_NW, part).log_softmax(-1) for model, part in pairs)
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
        return torch.cat([first, src_BS], dim=1), pad(src_mask_BS, (first.size(1), 0), value=True)

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
