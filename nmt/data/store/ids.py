"""Ids of training pairs on the disk: encoded once when a corpus is prepared, read in parts for training.

A shard is one safetensors file with the ids of its sources one after another, their lengths, the same of its targets,
and the number of each pair's corpus. Ids and lengths take two bytes each, or four where a value needs them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from nmt.data.copies.lexicon import Ids

Array = NDArray[np.integer]


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


def read_shard(file: Path, *names: str) -> list[Array]:
    """Members of a shard; of the others, nothing is read. ValueError if the file is no shard."""
    try:
        with safe_open(file, framework="numpy") as shard:
            return [shard.get_tensor(name) for name in names]
    except SafetensorError as error:
        raise ValueError(f"{file} is damaged: {error!r}. Delete the run folder and prepare again") from error


def joined(parts: Sequence[Ids]) -> tuple[Array, Array]:
    """The ids of all parts one after another, and the length of each text, in the smallest type that holds them."""
    return small(np.concatenate([p.flat for p in parts])), small(np.concatenate([p.lengths_N for p in parts]))


def small(values: Array) -> Array:
    return values.astype(np.uint16 if not len(values) or values.max() < 1 << 16 else np.int32)
