"""A translator that CTranslate2 runs: ids flow in; hypotheses, log-probabilities and attention flow out.

CTranslate2 searches by itself, nearly as `nmt.decode.beam` does. Its beam search ends as soon as it has as many
finished hypotheses as the beam has slots, and pieces that must not be written are left out before the probabilities are
computed, not after it. The log-probabilities of hypotheses are then computed again, as `force_score` does.

Shapes: T target pieces, S source pieces, both without EOS.
"""

import copy
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from nmt.config import ModelConfig, SearchConfig
from nmt.decode.hypothesis import (
    BAD_LOGITS,
    AllConstraints,
    CompiledConstraints,
    Hypothesis,
    forbidden_ids,
    length_divisor,
    longest_output,
)
from nmt.fields import require
from nmt.model.positions import SINUSOIDAL

POSITIONS = 4096  # rows of the tables of sinusoidal positions, which CTranslate2 can't make longer
SCORED = 32  # translations that are scored together: the logits of all of their positions take memory
UNABLE = {  # settings of a search that CTranslate2 can't do as nmt does, and their values that change nothing
    "length_norm": "average",
    "coverage_penalty": 0.0,
    "repetition_penalty": 1.0,
    "samples": 0,
    "shortlist": 0,
}

Ids = Sequence[int]


def longest_sequence(config: ModelConfig) -> int | None:
    """The longest sequence that the exported model can read; None: no limit."""
    limits = dict.fromkeys(SINUSOIDAL, POSITIONS) | {"learned": config.max_positions}
    return limits.get(config.positions)


class CTranslate2Model:
    """The translator, with the names of the pieces of both vocabularies, in the order of their ids."""

    def __init__(self, translator: Any, source: Sequence[str], target: Sequence[str], positions: int | None) -> None:
        """`translator`: a `ctranslate2.Translator`; `positions`: the longest sequence that it can read."""
        self.translator, self.source, self.target = translator, source, target
        self.number = {piece: i for i, piece in enumerate(target)}
        self.positions = positions
        self.before: tuple[Ids, Ids] = (), ()  # pieces before each source, and each target: see `begun`
        self.device, self.precision = torch.device(translator.device), str(translator.compute_type)

    def begun(self, source: Ids, target: Ids) -> "CTranslate2Model":
        """This model, with pieces before each source and each target, such as codes of languages, which callers don't
        see."""
        other = copy.copy(self)
        other.before = source, target
        return other

    @property
    def longest_source(self) -> int | None:
        return None if self.positions is None else self.positions - 1 - len(self.before[0])

    def longest_target(self, n_source: int) -> int | None:
        return None if self.positions is None else self.positions - 1 - len(self.before[1])

    def names(self, side: int, ids: Ids) -> list[str]:
        """The names of a source's (side 0) or target's pieces, with those before them."""
        return [(self.source, self.target)[side][i] for i in (*self.before[side], *ids)]

    def check(self, search: SearchConfig) -> None:
        """Raise ValueError for the first setting that CTranslate2 can't follow."""
        for name, value in UNABLE.items():
            given = getattr(search, name)
            require(given == value, f"search.{name} is {given}, and CTranslate2 can't do that: take {value}")

    def search(
        self, sources: Sequence[Ids], options: SearchConfig, constraints: AllConstraints
    ) -> list[list[Hypothesis]]:
        """As `nmt.decode.beam.search`; of constraints, only prefixes are possible, with fixed pieces."""
        limits = [self.limit(*sentence, options) for sentence in zip(sources, constraints, strict=True)]
        found = self.find(sources, options, constraints, max(limits))
        # The library has one limit for a batch. The few sentences that go beyond their own limit are searched again.
        for n, limit in enumerate(limits):
            if limit < max(map(len, found[n]), default=0):
                found[n] = self.find(sources[n : n + 1], options, constraints[n : n + 1], limit)[0]
        pairs = [(source, ids) for source, n_best in zip(sources, found, strict=True) for ids in n_best]
        log_probs = iter(self.force_score(pairs))
        ranked = []
        for n_best, limit in zip(found, limits, strict=True):
            hypotheses = [make_hypothesis(ids, next(log_probs), limit, options) for ids in n_best]
            ranked.append(sorted(hypotheses, key=lambda hypothesis: -hypothesis.score))
        return ranked

    def limit(self, source: Ids, constraints: CompiledConstraints, options: SearchConfig) -> int:
        return longest_output(len(source), options, self.longest_target(len(source)), constraints)

    def find(
        self, sources: Sequence[Ids], options: SearchConfig, constraints: AllConstraints, limit: int
    ) -> list[list[list[int]]]:
        """The ids of the best hypotheses of each sentence, with at most `limit` pieces."""
        first = len(self.before[1])
        results = self.translator.translate_batch(
            [self.names(0, ids) for ids in sources],
            target_prefix=[self.names(1, c.prefix) for c in constraints],
            beam_size=options.beam_size,
            num_hypotheses=options.n_best,
            length_penalty=options.length_penalty,
            no_repeat_ngram_size=options.no_repeat_ngram,
            min_decoding_length=options.min_length + first if options.min_length else 0,
            max_decoding_length=limit + first,
            max_input_length=0,
            suppress_sequences=[[self.target[i]] for i in forbidden_ids(options)],
        )
        return [[[self.number[piece] for piece in one[first:]] for one in result.hypotheses] for result in results]

    def force_score(self, pairs: Sequence[tuple[Ids, Ids]]) -> list[list[float]]:
        """The log-probability of each piece of given translations, and of EOS."""
        results = self.translator.score_batch(
            [self.names(0, source) for source, _ in pairs],
            [self.names(1, target) for _, target in pairs],
            max_input_length=0,
            max_batch_size=SCORED,
        )
        log_probs = [list(result.log_probs)[len(self.before[1]) :] for result in results]
        require(all(map(math.isfinite, (x for row in log_probs for x in row))), BAD_LOGITS)
        return log_probs

    def cross_attention(self, source: Ids, target: Ids) -> Tensor:
        """Attention weights (T, S), from the steps that write the target to the source: the mean of all heads of the
        last layer, where EOS of the source has no column."""
        if not target:
            return torch.zeros(0, len(source))
        [result] = self.translator.translate_batch(
            [self.names(0, source)],
            target_prefix=[self.names(1, target)],
            beam_size=1,
            max_decoding_length=len(self.before[1]) + len(target),
            max_input_length=0,
            return_attention=True,
        )
        return torch.tensor(result.attention[0])[len(self.before[1]) :, len(self.before[0]) :]


def make_hypothesis(ids: list[int], log_probs: list[float], limit: int, options: SearchConfig) -> Hypothesis:
    log_prob = math.fsum(log_probs)
    score = log_prob / float(length_divisor(len(log_probs), options))
    return Hypothesis(ids, score, log_prob, log_probs, finished=len(ids) < limit)
