"""Training pairs whose ids are on the disk: files of `nmt.data.store.ids` flow in; pairs in memory flow out by parts.

A process keeps no number for each pair. Files are open only while they are read, and processes of one machine share
the pages of the files that the system keeps in memory.

Shapes: N pairs of a file, P pairs that are read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nmt.data import batches
from nmt.data.batches import Columns, Pairs, Sequences
from nmt.data.store.ids import Shard


class StoredPairs:
    """The pairs in the files of a store."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files
        self.ends = np.cumsum([0, *(len(Shard.read(file).corpora) for file in files)])

    def __len__(self) -> int:
        return int(self.ends[-1])

    def chosen(self, index_P: Tensor) -> Pairs:
        """The pairs with these indices (int64, rising), without portions."""
        index = index_P.numpy()
        sides: tuple[list[Any], list[Any]] = [], []  # ids and lengths of each file
        bounds = np.searchsorted(index, self.ends)
        for n in np.flatnonzero(np.diff(bounds)).tolist():
            shard = Shard.read(self.files[n])
            kept_N = np.zeros(len(shard.corpora), np.bool_)
            kept_N[index[bounds[n] : bounds[n + 1]] - self.ends[n]] = True
            both = (shard.source, shard.source_lengths), (shard.target, shard.target_lengths)
            for parts, (ids, lengths_N) in zip(sides, both, strict=True):
                parts.append((ids[np.repeat(kept_N, lengths_N)], lengths_N[kept_N].astype(np.int64)))
        # NumPy's type for ids of two and of four bytes together is int32.
        source, target = (map(np.concatenate, zip(*parts, strict=True)) for parts in sides)
        return Pairs(Sequences(*map(torch.from_numpy, source)), Sequences(*map(torch.from_numpy, target)))

    def columns(self) -> Iterator[Columns]:
        """What is known of all pairs besides their ids, file by file."""
        for shard in map(Shard.read, self.files):
            numbers = shard.source_lengths, shard.target_lengths, shard.corpora
            source_N, target_N, portion_N = (torch.from_numpy(column.astype(np.int64)) for column in numbers)
            yield source_N, target_N, portion_N


def read_store(files: Sequence[Path]) -> Pairs | StoredPairs:
    """The pairs in the files of a store: in memory, unless they are more than a window (see `nmt.data.batches`)."""
    stored = StoredPairs(files)
    if len(stored) > batches.WINDOW:
        return stored
    _, _, portions = zip(*stored.columns(), strict=True)
    return replace(stored.chosen(torch.arange(len(stored))), portion_N=torch.cat(portions))
