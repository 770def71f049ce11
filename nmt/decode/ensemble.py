"""Several models as one: the probability of each piece is the mean of theirs (also of different architectures).

Shapes: N sentences, W rows of each, V target vocabulary; see `nmt.model.cache`.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from nmt.config import require
from nmt.model.cache import DecoderCache
from nmt.model.incremental import IncrementalDecoder


class EnsembleCache(DecoderCache):
    """The models' own caches, moved together."""

    def __init__(self, caches: Sequence[DecoderCache]) -> None:
        self.caches = caches

    def reorder(self, parents_NW: Tensor) -> None:
        for cache in self.caches:
            cache.reorder(parents_NW)

    def keep(self, sentences: Tensor) -> None:
        for cache in self.caches:
            cache.keep(sentences)


class Ensemble:
    """A `nmt.decode.hypothesis.Decoder` of several models with one vocabulary."""

    def __init__(self, models: Sequence[IncrementalDecoder]) -> None:
        """Raises ValueError if their vocabularies differ in size."""
        sizes = [model.vocab_size for model in models]
        require(
            len(set(sizes)) == 1,
            f"the models' vocabularies have {', '.join(map(str, sizes))} pieces: an ensemble "
            "needs models that share one tokenizer",
        )
        self.models, self.vocab_size = models, sizes[0]
        limits = [model.max_positions for model in models if model.max_positions is not None]
        self.max_positions = min(limits, default=None)

    def restricted(self, pieces_L: Tensor) -> "Ensemble":
        return Ensemble([model.restricted(pieces_L) for model in self.models])

    def start(self, src_BS: Tensor, src_mask_BS: Tensor, max_length: int, width: int = 1) -> EnsembleCache:
        return EnsembleCache([model.start(src_BS, src_mask_BS, max_length, width) for model in self.models])

    def step(self, tokens_NW: Tensor, cache: DecoderCache, cross_weights: list[Tensor] | None = None) -> Tensor:
        """The logarithm (N, W, V) of the mean probability."""
        assert isinstance(cache, EnsembleCache), "the cache that `start` made"
        total_NWV: Tensor | None = None
        for model, own in zip(self.models, cache.caches, strict=True):
            log_probs_NWV = model.step(tokens_NW, own, cross_weights).log_softmax(-1)
            total_NWV = log_probs_NWV if total_NWV is None else torch.logaddexp(total_NWV, log_probs_NWV)
        assert total_NWV is not None, "an ensemble has models"
        return total_NWV - math.log(len(self.models))
