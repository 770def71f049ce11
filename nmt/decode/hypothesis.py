"""What all ways of decoding share: the ids that mean something, what may be asked of a translation, and what is found.

Shapes: N sentences, W rows of each, S source length, V target vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from nmt.config import SearchConfig
from nmt.decode.phrases import Automaton
from nmt.model.cache import DecoderCache
from nmt.vocabulary import BOS, PAD, UNK

# Never written: unknown text is no text, and with byte fallback every character has pieces.
FORBIDDEN = (UNK, BOS, PAD)
# A hypothesis that leaves a phrase half-written may first have to end a character and part a word.
REGRESS = 6


class Decoder(Protocol):
    """A model that writes token by token: `nmt.model.incremental.IncrementalDecoder`, or several as one."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def max_positions(self) -> int | None: ...

    def restricted(self, pieces_L: Tensor) -> "Decoder":
        """The same with a smaller vocabulary, whose piece i is piece `pieces_L[i]` (int64) of this one's."""
        ...

    def start(self, src_BS: Tensor, src_mask_BS: Tensor, max_length: int, width: int = 1) -> DecoderCache: ...

    def step(self, tokens_NW: Tensor, cache: DecoderCache, cross_weights: list[Tensor] | None = None) -> Tensor: ...


@dataclass(frozen=True)
class Demands:
    """What one sentence's translation must be like, besides likely."""

    prefix: tuple[int, ...] = ()
    """Pieces that it begins with (see `SearchConfig.prefix_bias`)."""

    phrases: Automaton | None = None
    """What must occur in it, and what must not."""


@dataclass(frozen=True)
class Hypothesis:
    """One translation in ids."""

    ids: list[int]
    """Without BOS and EOS."""

    score: float
    """What it is ranked by: log_prob / length ** length_penalty, EOS counted, if no other setting says more."""

    log_prob: float
    """Natural logarithm of the probability that the model gives to the ids and EOS."""

    token_log_probs: list[float]
    """Its parts: one for each id, and the last for EOS."""

    finished: bool
    """False: it is as long as was allowed, so that EOS was its only choice."""


def length_divisor(length: int | Tensor, options: SearchConfig) -> float | Tensor:
    """What a log-probability is divided by for ranking: never less than for a shorter translation."""
    return (length if options.length_norm == "average" else (5 + length) / 6) ** options.length_penalty


def most_distance(phrases: Automaton) -> int:
    """Pieces that are enough, from any state, to bring what is missing: all of it anew, and what begins it."""
    return 0 if phrases.may_end(phrases.start) else phrases.distance(phrases.start) + REGRESS


def demanded(demands: Demands) -> int:
    """Pieces that are enough for all that is demanded."""
    return len(demands.prefix) + (most_distance(demands.phrases) if demands.phrases else 0)


def longest_output(n_pieces: int, options: SearchConfig, max_positions: int | None, demands: Demands) -> int:
    """Most pieces, EOS not counted, that a source of `n_pieces` may become; what is demanded has room besides.

    Raises:
        ValueError: the model has no positions for what is demanded.
    """
    needed = demanded(demands)
    limit = int(options.max_length_ratio * n_pieces) + 10
    if options.max_length:
        limit = min(limit, options.max_length)
    limit = max(limit, options.min_length) + needed
    if max_positions is not None:
        if needed >= max_positions:
            raise ValueError(
                f"what the translation must contain takes {needed} pieces: this model's positions end "
                f"at {max_positions}"
            )
        limit = min(limit, max_positions - 1)
    return limit


def demands_of(demands: Sequence[Demands], n_sentences: int) -> Sequence[Demands]:
    """One for each sentence, if there are any."""
    assert len(demands) in (0, n_sentences), "each sentence has its own demands"
    return demands or [Demands()] * n_sentences
