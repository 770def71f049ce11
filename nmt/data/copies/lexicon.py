"""A lexicon: which target piece (or word) translates which source piece, learned from a corpus of ids.

Shape: U source vocabulary, V target vocabulary. Source: IBM model 1, Brown et al. 1993, section 4.2.
"""

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from nmt.data.batches import Pairs

Ints = NDArray[np.int64]

# In the order of the corpus, a pair is used if it has a source piece that fewer than 100 chosen pairs have (fewer than
# 30 if those are too many, and so on). The limit on cells (see `Lexicon`) means half a minute and 2 gigabytes.
ENOUGH, MOST_CELLS = (100, 30, 10, 3, 1), 40_000_000
MOST_PAIRS = 2_000_000  # of a larger corpus, the first ones are looked at: each takes microseconds in each round
ROUNDS = 5


class Lexicon:
    """The pairs of a source and a target piece that occur in a pair of texts together, and how likely each translates
    the other. A cell is a source and a target position of one pair."""

    def __init__(self, pairs: Pairs, src_vocab_size: int, tgt_vocab_size: int) -> None:
        keys, self.positions = cells(pairs, choose_pairs(pairs, src_vocab_size), tgt_vocab_size)
        # torch.unique takes a quarter of the time of np.unique.
        self.keys, self.places = (each.numpy() for each in torch.unique(torch.from_numpy(keys), return_inverse=True))
        self.sides = np.divmod(self.keys, tgt_vocab_size)

    def probabilities(self, given: Literal[0, 1] = 0) -> NDArray[np.float64]:
        """The probability of each pair of pieces (`keys`: source × V + target), given its source piece (0) or its
        target piece (1): by expectation maximisation from equal probabilities."""
        probability, words, positions = np.ones(len(self.keys)), self.sides[given], self.positions[1 - given]
        for _ in range(ROUNDS if len(self.keys) else 0):
            shares = probability[self.places]
            shares /= np.bincount(positions, shares)[positions]
            counts = np.bincount(self.places, shares, minlength=len(self.keys))
            probability = counts / np.bincount(words, counts)[words]
        return probability


def choose_pairs(pairs: Pairs, src_vocab_size: int) -> list[int]:
    """Return the indices of pairs to learn from: with each source piece as often as MOST_CELLS allows (see ENOUGH)."""
    ids, lengths_N = pairs.source.flat.numpy(), pairs.source.lengths_N[:MOST_PAIRS]
    ends, sizes = (each.tolist() for each in (lengths_N.cumsum(0), lengths_N * pairs.target.lengths_N[:MOST_PAIRS]))
    chosen: list[int] = []
    for enough in ENOUGH:
        chosen, left, seen_U = [], MOST_CELLS, np.zeros(src_vocab_size, dtype=np.int64)
        for n, (start, end, size) in enumerate(zip([0, *ends], ends, sizes, strict=False)):
            source = ids[start:end]
            if size and seen_U[source].min() < enough:
                left -= size
                if left < 0:
                    break
                chosen.append(n)
                seen_U[source] += 1
        else:
            break
    return chosen


def cells(pairs: Pairs, chosen: list[int], tgt_vocab_size: int) -> tuple[Ints, tuple[Ints, Ints]]:
    """Return source × V + target for each cell, and its source and its target position among those of all pairs."""
    index = torch.tensor(chosen, dtype=torch.int64)
    source, target = pairs.source.chosen(index), pairs.target.chosen(index)
    lengths, starts = (np.repeat(each.numpy(), target.lengths_N) for each in (source.lengths_N, source.starts_N))
    # Each target position has a cell with each position of its source.
    sources = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    sources += np.arange(len(sources))
    targets = np.repeat(np.arange(len(lengths)), lengths)
    keys = source.flat.numpy()[sources].astype(np.int64)
    keys *= tgt_vocab_size
    keys += target.flat.numpy()[targets]
    return keys, (sources, targets)
