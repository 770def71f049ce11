"""A lexicon: which target piece (or word) translates which source piece, learned from a corpus of ids.

Shape: U source vocabulary, V target vocabulary. Source: IBM model 1, Brown et al. 1993, section 4.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Places = NDArray[np.int32]  # of cells, of which there are many

# In the order of the corpus, a pair is used if it has a source piece that fewer than 100 chosen pairs have (fewer than
# 30 if those are too many, and so on). The limit on cells (see `Lexicon`) means half a minute and 1.5 gigabytes.
ENOUGH, MOST_CELLS = (100, 30, 10, 3, 1), 40_000_000
MOST_PAIRS = 2_000_000  # of a larger corpus, the first ones are looked at: each takes microseconds in each round
ROUNDS = 5
AT_ONCE = 1 << 14  # cells


@dataclass(frozen=True)
class Ids:
    """The ids of one side of the pairs of a corpus, without PyTorch: its import takes seconds in each process."""

    flat: NDArray[np.integer[Any]]
    lengths_N: Ints

    @classmethod
    def of(cls, texts: Sequence[Sequence[int]]) -> "Ids":
        lengths_N = np.fromiter(map(len, texts), np.int64, len(texts))
        return cls(np.fromiter(chain.from_iterable(texts), np.int32, lengths_N.sum()), lengths_N)

    def chosen(self, index_B: Ints) -> "Ids":
        lengths_B = self.lengths_N[index_B]
        starts_B = (self.lengths_N.cumsum() - self.lengths_N)[index_B]
        return Ids(self.flat[runs(starts_B, lengths_B)], lengths_B)


def unique(keys: Ints) -> tuple[Ints, Ints]:
    """The different keys in their order, and the place of each key among them. `keys` is overwritten: keys with their
    numbers in the low bits are sorted in less time and memory than `np.unique` takes."""
    bits = len(keys).bit_length()
    if keys.max(initial=0) >> 63 - bits:  # only of vocabularies of half a million pieces
        return np.unique(keys, return_inverse=True)
    keys <<= bits
    keys |= np.arange(len(keys))
    keys.sort()
    order = np.empty(len(keys), np.int32)
    np.bitwise_and(keys, (1 << bits) - 1, out=order, casting="unsafe")
    keys >>= bits
    is_first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    keys, ranks = keys[is_first], is_first.cumsum(dtype=np.int32)
    ranks -= 1
    places = np.empty(len(order), np.int64)  # as `np.bincount` takes them: of other types it makes a copy
    places[order] = ranks
    return keys, places


def runs(starts: Ints, lengths: Ints) -> Places:
    """Places that rise by 1 in runs with these starts and lengths."""
    places: Places = np.repeat((starts - (lengths.cumsum() - lengths)).astype(np.int32), lengths)
    places += np.arange(len(places), dtype=np.int32)
    return places


class Lexicon:
    """Source and target pieces that occur in a pair of texts, and how likely they translate each other. A cell is a
    source and a target position of one pair."""

    def __init__(self, source: Ids, target: Ids, src_vocab_size: int, tgt_vocab_size: int) -> None:
        index_B = np.array(choose_pairs(source, target.lengths_N, src_vocab_size), np.int64)
        source, target = source.chosen(index_B), target.chosen(index_B)
        ends_N = (source.lengths_N * target.lengths_N).cumsum()
        ends = [0, *ends_N[np.flatnonzero(np.diff(ends_N // AT_ONCE, append=-1))].tolist()]
        self.blocks = [*map(slice, ends, ends[1:])]
        """Cells of some pairs together: what is computed for a block takes little memory."""
        # Each target position has a cell with each position of its source.
        starts_N = source.lengths_N.cumsum() - source.lengths_N
        lengths, starts = (np.repeat(each_N, target.lengths_N) for each_N in (source.lengths_N, starts_N))
        sources, targets = runs(starts, lengths), np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        self.positions = sources, targets
        keys = np.multiply(source.flat[sources], tgt_vocab_size, dtype=np.int64)  # NumPy 1 would keep the narrower type
        keys += target.flat[targets]
        self.keys, self.places = unique(keys)
        self.sides = np.divmod(self.keys, tgt_vocab_size)

    def probabilities(self, given: Literal[0, 1] = 0) -> NDArray[np.float64]:
        """The probability of each pair of pieces (`keys`: source × V + target), given its source piece (0) or its
        target piece (1): by expectation maximisation from equal probabilities."""
        probability, words, positions = np.ones(len(self.keys)), self.sides[given], self.positions[1 - given]
        shares = np.empty(len(self.places))
        for _ in range(ROUNDS if len(self.keys) else 0):
            for block in self.blocks:
                part, there = probability[self.places[block]], positions[block] - positions[block.start]
                shares[block] = part / np.bincount(there, part)[there]
            counts = np.bincount(self.places, shares, minlength=len(self.keys))
            probability = counts / np.bincount(words, counts)[words]
        return probability


def choose_pairs(source: Ids, target_lengths_N: Ints, src_vocab_size: int) -> list[int]:
    """Return the indices of pairs to learn from: with each source piece as often as MOST_CELLS allows (see ENOUGH)."""
    lengths_N = source.lengths_N[:MOST_PAIRS]
    ends, sizes = (each.tolist() for each in (lengths_N.cumsum(), lengths_N * target_lengths_N[:MOST_PAIRS]))
    chosen: list[int] = []
    for enough in ENOUGH:
        chosen, left, seen_U = [], MOST_CELLS, np.zeros(src_vocab_size, dtype=np.int64)
        for n, (start, end, size) in enumerate(zip([0, *ends], ends, sizes, strict=False)):
            ids = source.flat[start:end]
            if size and seen_U[ids].min() < enough:
                left -= size
                if left < 0:
                    break
                chosen.append(n)
                seen_U[ids] += 1
        else:
            break
    return chosen
