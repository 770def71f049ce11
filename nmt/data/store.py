"""Ids of training pairs on the disk: encoded once when a corpus is prepared, mapped into memory for training.

A shard is one safetensors file with the ids of its sources one after another, their lengths, the same of its targets,
and the number of each pair's corpus. Ids and lengths take two bytes each, or four where a value needs them. Processes
that train on one machine share the mapped pages, and only those pages are in memory that were read lately.

Shapes: N pairs, B batch, L positions.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import save
from torch import Tensor

from nmt.data.batches import Pairs, Sequences
from nmt.fields import require
from nmt.files import whole_file
from nmt.vocabulary import PAD

Array = NDArray[np.integer]
TYPES: dict[str, np.dtype[Any]] = {"U16": np.dtype(np.uint16), "I32": np.dtype(np.int32)}  # of tensors in a file


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

    def counts(self, vocab_size: int) -> Tensor:
        empty = torch.zeros(vocab_size, dtype=torch.int64)
        return sum((torch.bincount(part.long(), minlength=vocab_size) for part in self.parts), empty)

    @property
    def in_memory(self) -> bool:
        return False


@dataclass(frozen=True)
class Shard:
    """A file of a store."""

    source: Array
    source_lengths: Array
    target: Array
    target_lengths: Array
    corpora: Array
    """Number of the corpus of each pair."""

    def write(self, file: Path) -> None:
        with whole_file(file) as opened:
            opened.write(save(vars(self)))

    @classmethod
    def read(cls, file: Path) -> "Shard":
        """Map a file into memory. ValueError if it is no such file."""
        try:
            with file.open("rb") as opened:
                size = int.from_bytes(opened.read(8), "little")
                require(0 < size < 1 << 16, f"its header has {size} bytes")
                header = json.loads(opened.read(size))
            return cls(**{name: mapped(file, 8 + size, header[name]) for name in cls.__annotations__})
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{file} is damaged: {error!r}. Delete the run folder and prepare again") from error


def mapped(file: Path, start: int, entry: dict[str, Any]) -> Array:
    (begin, end), kind = entry["data_offsets"], TYPES[entry["dtype"]]
    if begin == end:  # an empty file can't be mapped
        return np.zeros(0, kind)
    # Copy on write, which never happens: PyTorch warns of arrays that can't be written to.
    return np.memmap(file, kind, "c", start + begin, ((end - begin) // kind.itemsize,))


def flat(sequences: Iterable[Sequence[int]]) -> tuple[Array, Array]:
    """The ids of sequences one after another, and their lengths, in the smallest type that holds them."""
    lengths, parts = list[int](), list[Array]()
    for ids in sequences:
        lengths.append(len(ids))
        parts.append(np.array(ids, np.int32))
    return small(np.concatenate([np.zeros(0, np.int32), *parts])), small(np.array(lengths, np.int32))


def small(values: Array) -> Array:
    return values.astype(np.uint16 if not len(values) or values.max() < 1 << 16 else np.int32)


def load_store(files: Sequence[Path]) -> tuple[Pairs, Tensor]:
    """The pairs in the files of a store, and the number of each pair's corpus (int64, N)."""
    shards = [Shard.read(file) for file in files]
    source = StoredSequences([s.source for s in shards], [s.source_lengths for s in shards])
    target = StoredSequences([s.target for s in shards], [s.target_lengths for s in shards])
    return Pairs(source, target), torch.from_numpy(np.concatenate([s.corpora for s in shards]).astype(np.int64))
