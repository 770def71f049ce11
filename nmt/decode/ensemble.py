"""Several models as one: the probability of a piece is the mean of the models' probabilities. They may differ in size.

Shapes: N sentences, W rows of each, V target vocabulary; see `nmt.model.cache`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from nmt.fields import require
from nmt.model.cache import Cache, SourceWeights
from nmt.model.contract import Decoder


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
    """A `Decoder` made of several models with one vocabulary."""

    def __init__(self, models: Sequence[Decoder]) -> None:
        """Raises ValueError if their vocabularies differ in size."""
        sizes = [model.vocab_size for model in models]
        require(len(set(sizes)) == 1, f"an ensemble needs models with one tokenizer; these have {sizes} pieces")
        self.models, self.vocab_size = models, sizes[0]
        self.longest_source = least(model.longest_source for model in models)

    def longest_target(self, n_source: int) -> int | None:
        return least(model.longest_target(n_source) for model in self.models)

    def restricted(self, pieces_L: Tensor) -> "Ensemble":
        return Ensemble([model.restricted(pieces_L) for model in self.models])

    def start(
        self, src_BS: Tensor, src_mask_BS: Tensor, max_length: int, width: int = 1, *, separate: bool = False
    ) -> EnsembleCache:
        caches = (model.start(src_BS, src_mask_BS, max_length, width, separate=separate) for model in self.models)
        return EnsembleCache([*caches])

    def step(self, tokens_NW: Tensor, cache: Cache, source_weights: SourceWeights = None) -> Tensor:
        """The logarithm (N, W, V) of the mean probability."""
        assert isinstance(cache, EnsembleCache), "the cache must come from `Ensemble.start`"
        pairs = zip(self.models, cache.caches, strict=True)
        log_probs = (model.step(tokens_NW, part, source_weights).log_softmax(-1) for model, part in pairs)
        return reduce(torch.logaddexp, log_probs) - math.log(len(self.models))
