"""A vocabulary shortlist: the target pieces that the translations of a batch are likely to need.

The output layer takes a large part of a step, and a batch needs few of its pieces. A shortlist holds the most probable
translations of each source piece, learned from the training text. A search uses only the translations of its source
pieces, the most frequent target pieces, and the source pieces themselves if both languages share a vocabulary;
log-probabilities are relative to these pieces.

Shapes: B sentences, S source length, U source vocabulary, V target vocabulary, C candidates of a source piece,
F frequent pieces, L listed pieces.

Source: Jean et al. 2015, section 3.3.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nmt.data.batches import Pairs
from nmt.data.lexicon import model_1
from nmt.vocabulary import BOS, EOS, PAD, UNK

# Candidates of each source piece, and frequent pieces, which are on every list. With 2,000 frequent pieces and 8
# candidates, 98% of translations have all their pieces on the list (Multi30k, batches of 64, 8,000 pieces); with 256
# and 48, a list of the same length, 94%.
CANDIDATES, FREQUENT = 16, 2000
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
    frequency_V = pairs.target.counts(tgt_vocab_size)
    frequent_F = frequency_V.argsort(descending=True, stable=True)[:FREQUENT]
    source, target, probability = model_1(pairs, src_vocab_size, tgt_vocab_size)
    order = np.lexsort((-probability, source))
    source, target = source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)
    kept = rank < CANDIDATES
    candidates_UC = np.zeros((src_vocab_size, CANDIDATES), dtype=np.int32)
    candidates_UC[source[kept], rank[kept]] = target[kept]
    return Shortlist(torch.from_numpy(candidates_UC), frequent_F.int())
