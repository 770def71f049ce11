"""A vocabulary shortlist: the target pieces that the translations of a batch are likely to need.

The output layer takes a large part of a step, and a batch needs few of its pieces. A shortlist holds the most probable
translations of each source piece, learned from the training text. A search uses only the translations of its source
pieces, the most frequent target pieces, and the source pieces themselves if both languages share a vocabulary;
log-probabilities are relative to these pieces.

Shapes: B sentences, S source length, U source vocabulary, V target vocabulary, C candidates of a source piece,
F frequent pieces, L listed pieces.

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

# Candidates of each source piece, and frequent pieces, which are on every list. With 2,000 frequent pieces and 8
# candidates, 98% of translations have all their pieces on the list (Multi30k, batches of 64, 8,000 pieces); with 256
# and 48, a list of the same length, 94%.
CANDIDATES, FREQUENT = 16, 2000
# In the order of the corpus, a pair is used if it has a source piece that fewer than 100 chosen pairs have (fewer than
# 30 if those are too many, and so on). The limit on cells (see `model_1`) means a minute and 2 gigabytes.
ENOUGH, MOST_CELLS = (100, 30, 10, 3, 1), 40_000_000
ROUNDS = 5
CONTROLS = (UNK, BOS, EOS, PAD)


@dataclass(frozen=True)
class Shortlist:
    """Target pieces by source piece. Rows are padded with piece 0, which is on every list."""

    candidates_UC: Tensor  # int32, best first
    frequent_F: Tensor  # int32

    def pieces(self, src_BS: Tensor, candidates: int, *, own: bool) -> Tensor:
        """Return the pieces (L, int64, rising, control pieces first) that the translations of a batch may use:
        `candidates` for each source piece, at most C, and with `own` the source pieces (int64) themselves."""
        sources = src_BS.unique().to(self.candidates_UC.device)
        parts = [torch.tensor(CONTROLS), self.frequent_F, self.candidates_UC[sources, :candidates].flatten(), sources]
        return torch.cat([part.long() for part in (parts if own else parts[:-1])]).unique()


def learn_shortlist(pairs: Pairs, src_vocab_size: int, tgt_vocab_size: int) -> Shortlist:
    """Learn a shortlist from a corpus of ids."""
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
    """Return source pieces, target pieces that occur in a pair with them, and the probabilities of these translations.

    Expectation maximisation from equal probabilities. A cell is a source position and a target position of one pair.
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
    """Return the indices of pairs to learn from: with each source piece as often as MOST_CELLS allows (see ENOUGH)."""
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
    """Return source × V + target for each cell, and the number of cells of each target position, in the same order."""
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
