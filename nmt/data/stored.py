"""Training pairs whose ids are on the disk: files of `nmt.data.store.ids` flow in; pairs for batches flow out.

Shapes: N pairs, B batch, L positions.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from nmt.data.batches import Pairs, Sequences
from nmt.data.store.ids import Array, Shard
from nmt.vocabulary import PAD


class StoredSequences(Sequences):
    """Id sequences in the files of a store: `Sequences` whose ids are read from the disk when they are needed."""

    def __init__(self, parts: Sequence[Array], lengths: Sequence[Array]) -> None:
        """`parts`: the ids of each file; `lengths`: those of the sequences of each file."""
        self.lengths_N = torch.from_numpy(np.concatenate(lengths).astype(np.int64))
        self.starts_N = self.lengths_N.cumsum(0) - self.lengths_N
        self.parts = [torch.from_numpy(part) for part in parts]
        self.ends = torch.tensor([len(part) for part in parts]).cumsum(0)  # of each part, among all ids

    def ids_at(self, where_BL: Tensor) -> Tensor:
        if not self.ends[-1]:  # no sequence has any
            return torch.full_like(where_BL, PAD)
        where_BL = where_BL.clamp_(0, int(self.ends[-1]) - 1)
        if len(self.parts) == 1:
            return self.parts[0][where_BL].long()
        ids_BL, part_BL = torch.empty_like(where_BL), torch.bucketize(where_BL, self.ends, right=True)
        for n in part_BL.unique().tolist():
            chosen = part_BL == n
            start = int(self.ends[n - 1]) if n else 0
            ids_BL[chosen] = self.parts[n][where_BL[chosen] - start].long()
        return ids_BL

    def ids(self, n: int) -> Tensor:
        start, length = int(self.starts_N[n]), int(self.lengths_N[n])
        part = int(torch.searchsorted(self.ends, start, right=True)) if length else 0
        start -= int(self.ends[part - 1]) if part else 0
        return self.parts[part][start : start + length].long()

    def counts(self, vocab_size: int) -> Tensor:
        empty = torch.zeros(vocab_size, dtype=torch.int64)
        return sum((torch.bincount(part.long(), minlength=vocab_size) for part in self.parts), empty)

    @property
    def in_memory(self) -> bool:
        return False


def load_store(files: Sequence[Path]) -> tuple[Pairs, Tensor, Tensor | None]:
    """The pairs in the files of a store, the number of each pair's corpus (int64, N) and its weight (fp32, N), None if
    the pairs have none."""
    shards = [Shard.read(file) for file in files]
    source = StoredSequences([s.source for s in shards], [s.source_lengths for s in shards])
    target = StoredSequences([s.target for s in shards], [s.target_lengths for s in shards])
    corpus_N = torch.from_numpy(np.concatenate([s.corpora for s in shards]).astype(np.int64))
    weights = [s.weights for s in shards if s.weights is not None]
    return Pairs(source, target), corpus_N, torch.from_numpy(np.concatenate(weights)) if weights else None
