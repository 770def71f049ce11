"""Shallow fusion: a language model has a say in which piece follows (Gülçehre et al. 2015, section 4.1).

Shapes: N sentences in the batch, K hypotheses of each (1 at the first step), V target vocabulary.
"""

import torch
from torch import Tensor

from nmt.decode.rules import Rule
from nmt.model.cache import SourceWeights
from nmt.model.contract import Decoder
from nmt.vocabulary import BOS


def without_sources(n: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The sources (n, 0) and their mask, for `Decoder.start`, of n texts that have no source."""
    return torch.zeros(n, 0, dtype=torch.int64, device=device), torch.zeros(n, 0, dtype=torch.bool, device=device)


class Fusion(Rule):
    """Adds the log-probabilities of a language model, times a weight, to those of the translation model.

    The language model reads each hypothesis as a text of its own, without the source.
    """

    def __init__(self, model: Decoder, weight: float, cache_size: tuple[int, int, int], device: torch.device) -> None:
        """`cache_size`: the numbers of sentences, of steps and of hypotheses."""
        n_sentences, n_steps, beam_size = cache_size
        self.model, self.weight = model, weight
        self.cache = model.start(*without_sources(n_sentences, device), n_steps, beam_size)
        self.tokens_NK = torch.full((n_sentences, 1), BOS, device=device)

    def combine(self, log_probs_NKV: Tensor, source_weights: SourceWeights) -> Tensor:
        return log_probs_NKV + self.weight * self.model.step(self.tokens_NK, self.cache).log_softmax(-1)

    def advance(self, parents_NK: Tensor, tokens_NK: Tensor) -> None:
        self.cache.reorder(parents_NK)
        self.tokens_NK = tokens_NK

    def keep(self, index: Tensor) -> None:
        self.cache.keep(index)
        self.tokens_NK = self.tokens_NK[index]
