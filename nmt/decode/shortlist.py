"""A vocabulary shortlist: the target pieces that the translations of a batch are likely to need.

The output layer is a large part of a step, and most of its pieces have nothing to do with the sources at hand. A
shortlist gives each source piece its most probable translations, learned from the training text; a batch is then
searched among those of all its source pieces, the most frequent target pieces, and, where both languages share a
vocabulary, the sources' own. What is not on the list can't be written, and log-probabilities are of the list's pieces.

Shapes: U source vocabulary, V target vocabulary, C candidates of a source piece, F frequent pieces, L pieces listed.

Source: Jean et al. 2015, section 3.3; translation probabilities by IBM model 1, Brown et al. 1993, section 4.2.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nmt.data.batches import Pairs, Sequences
from nmt.vocabulary import BOS, EOS, PAD, UNK

Ints = NDArray[np.int64]

# Candidates that are kept of each source piece, and frequent pieces that are on every list. A list of 2,000 frequent
# pieces and 8 candidates each holds all pieces of 98% of translations (Multi30k, batches of 64, 8,000 pieces), one as
# long of 256 and 48 those of 94%.
CANDIDATES, FREQUENT = 16, 2000
# Translations are learned from the pairs, in the order of the corpus, that have a source piece not seen so often yet
# (the first number that there is room for); cells (see `model_1`) are so many at most, for a minute and two gigabytes.
ENOUGH, MOST_CELLS = (100, 30, 10, 3, 1), 40_000_000
ROUNDS = 5
CONTROLS = (UNK, BOS, EOS, PAD)


@dataclass(frozen=True)
class Shortlist:
    """What each source piece may become. Padded with piece 0, which is on every list."""

    candidates_UC: Tensor
    """int32, best first."""

    frequent_F: Tensor
    """int32."""

    def pieces(self, src_BS: Tensor, candidates: int, *, own: bool) -> Tensor:
        """The pieces L (int64, rising; control pieces first) for the sources of a batch.

        Args:
            src_BS: source ids, int64.
            candidates: of each source piece, up to C.
            own: whether the source pieces themselves are listed.
        """
        sources = src_BS.unique().to(self.candidates_UC.device)
        parts = [torch.tensor(CONTROLS), self.frequent_F, self.candidates_UC[sources, :candidates].flatten()]
        return torch.cat([part.long() for part in (*parts, *([sources] if own else []))]).unique()


def learn_shortlist(pairs: Pairs, src_vocab_size: int, tgt_vocab_size: int) -> Shortlist:
    """Of a corpus in pieces."""
    frequency_V = torch.bincount(pairs.target.flat[:-1].long(), minlength=tgt_vocab_size)
    frequent_F = frequency_V.argsort(descending=True, stable=True)[:FREQUENT]
    source, target, probability = model_1(pairs, src_vocab_size, tgt_vocab_size)
    order = np.lexsort((-probability, source))
    source, target = source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)
    kept = rank < CANDIDATES
    candidates_UC = np.zeros((src_vocab_size, CANDIDATES), dtype=np.int32)
    candidates_UC[source[kept], rank[kept]] = target[kept]
    return Shortlist(torch.from_numpy(candidates_UC), frequent_F.int())


def model_1(pairs: Pairs, src_vocab_size: int, tgt_vocab_size: int) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """Source pieces, target pieces, and the probability that the first become the second, of all that occur together.

    Expectation maximisation from equal probabilities. A cell is a source and a target position of one pair.
    """
    keys, widths = cells(pairs, choose_pairs(pairs, src_vocab_size), tgt_vocab_size)
    distinct, place = np.unique(keys, return_inverse=True)
    source, target = np.divmod(distinct, tgt_vocab_size)
    starts = np.cumsum(widths) - widths
    probability = np.ones(len(distinct))
    for _ in range(ROUNDS if len(keys) else 0):
        shares = probability[place]
        shares /= np.repeat(np.add.reduceat(shares, starts), widths)
        counts = np.bincount(place, shares, minlength=len(distinct))
        probability = counts / np.bincount(source, counts)[source]
    return source, target, probability


def choose_pairs(pairs: Pairs, src_vocab_size: int) -> list[int]:
    """Enough pairs to learn from: all source pieces as often as may be, in MOST_CELLS."""
    sizes = (pairs.source.lengths_N * pairs.target.lengths_N).tolist()
    chosen: list[int] = []
    for enough in ENOUGH:
        chosen, left, seen_U = [], MOST_CELLS, np.zeros(src_vocab_size, dtype=np.int64)
        for n, size in enumerate(sizes):
            source = ids_of(pairs.source, n)
            if size and seen_U[source].min() < enough:
                left -= size
                if left < 0:
                    break
                chosen.append(n)
                seen_U[source] += 1
        else:
            break
    return chosen


def cells(pairs: Pairs, chosen: list[int], tgt_vocab_size: int) -> tuple[Ints, Ints]:
    """For each cell source × V + target, and how many there are for each target position, which follow one another."""
    keys, widths = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for n in chosen:
        source, target = ids_of(pairs.source, n), ids_of(pairs.target, n)
        keys.append((target[:, None] + source * tgt_vocab_size).ravel())
        widths.append(np.full(len(target), len(source)))
    return np.concatenate(keys), np.concatenate(widths)


def ids_of(sequences: Sequences, n: int) -> Ints:
    start = int(sequences.starts_N[n])
    ids: Ints = sequences.flat[start : start + int(sequences.lengths_N[n])].numpy().astype(np.int64)
    return ids
