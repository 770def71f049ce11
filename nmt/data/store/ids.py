"""Ids of training pairs on the disk: encoded once when a corpus is prepared, mapped into memory for training.

A shard is one safetensors file with the ids of its sources one after another, their lengths, the same of its targets,
and the number of each pair's corpus. Ids and lengths take two bytes each, or four where a value needs them. Processes
that train on one machine share the mapped pages, and only those pages are in memory that were read lately.
PyTorch is imported only to read: `nmt.data.batches` makes tensors of these files.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from nmt.data.copies.lexicon import Ids
from nmt.fields import require

Array = NDArray[np.integer]
TYPES: dict[str, np.dtype[Any]] = {"U16": np.dtype(np.uint16), "I32": np.dtype(np.int32)}  # in a file


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
        file.write_bytes(save(vars(self)))

    @classmethod
    def read(cls, file: Path) -> "Shard":
        """Map a file into memory. ValueError if it is no such file."""
        try:
            with file.open("rb") as opened:
                size = int.from_bytes(opened.read(8), "little")
                require(0 < size < 1 << 16, f"its header has {size} bytes")
                header = json.loads(opened.read(size))
            content = mapped(file)[8 + size :]
            return cls(**{name: array_in(content, header[name]) for name in cls.__annotations__})
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{file} is damaged: {error!r}. Delete the run folder and prepare again") from error


def mapped(file: Path) -> NDArray[np.uint8]:
    """The bytes of a file, mapped into memory. NumPy's map would keep the file open: a process may have some 1,000."""
    import torch

    return torch.from_file(str(file), size=file.stat().st_size, dtype=torch.uint8).numpy()


def array_in(content: NDArray[np.uint8], entry: dict[str, Any]) -> NDArray[Any]:
    begin, end = entry["data_offsets"]
    kind = TYPES[entry["dtype"]]
    return np.frombuffer(content, kind, (end - begin) // kind.itemsize, begin)


def joined(parts: Sequence[Ids]) -> tuple[Array, Array]:
    """The ids of all parts one after another, and the length of each text, in the smallest type that holds them."""
    return small(np.concatenate([p.flat for p in parts])), small(np.concatenate([p.lengths_N for p in parts]))


def small(values: Array) -> Array:
    return values.astype(np.uint16 if not len(values) or values.max() < 1 << 16 else np.int32)
