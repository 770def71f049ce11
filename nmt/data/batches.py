"""Batches: id sequences flow in, from memory or disk; the plan of an epoch, and padded batches, flow out.

Shapes: N pairs, P pairs that are chosen, B batch, S source length, T target length; padding comes last. A plan depends
only on the lengths, the budget, the seed and the epoch: to resume, compute it again and continue at a batch number.
"""

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from nmt.data.store.ids import read_shard
from nmt.vocabulary import BOS, EOS, PAD

WINDOW = 1 << 20  # pairs of a large corpus that are planned at once
SIDES = ("source", "source_lengths", "target", "target_lengths")  # of a shard
Plan = list[Tensor]  # for each batch of an epoch, the indices of its pairs


class Sequences:
    """Many id sequences in one flat tensor: a tenth of the memory of lists, and padded without a Python loop."""

    def __init__(self, flat: Tensor, lengths_N: Tensor) -> None:
        """`flat`: the ids of all sequences, one after another (int32 or uint16); `lengths_N`: their lengths (int64)."""
        self.flat = torch.cat([flat, torch.tensor([PAD], dtype=flat.dtype)])
        self.lengths_N = lengths_N
        self.starts_N = lengths_N.cumsum(0) - lengths_N

    @classmethod
    def of(cls, sequences: Iterable[list[int]]) -> "Sequences":
        flat, lengths = array("i", [PAD]), array("q", [0])  # not empty: torch.frombuffer refuses that
        for ids in sequences:
            flat.extend(ids)
            lengths.append(len(ids))
        return cls(torch.frombuffer(flat, dtype=torch.int32)[1:], torch.frombuffer(lengths, dtype=torch.int64)[1:])

    def __len__(self) -> int:
        return self.lengths_N.size(0)

    def chosen(self, index_B: Tensor) -> "Sequences":
        """Sequences `index_B`, as others."""
        lengths_B = self.lengths_N[index_B]
        shift_B = self.starts_N[index_B] - (lengths_B.cumsum(0) - lengths_B)
        shift = shift_B.repeat_interleave(lengths_B)
        return Sequences(self.flat[shift.add_(torch.arange(len(shift)))], lengths_B)

    def padded(self, index_B: Tensor, *, bos: bool = False, eos: bool = False) -> tuple[Tensor, Tensor]:
        """Sequences `index_B`, with BOS before or EOS after each: ids (B, L) int64, and a mask, False at padding."""
        lengths_B1 = self.lengths_N[index_B, None]
        position_L = torch.arange(int(lengths_B1.max()) + bos + eos) - int(bos)
        inside = (position_L >= 0) & (position_L < lengths_B1)
        where_BL = (self.starts_N[index_B, None] + position_L).clamp_(0, self.flat.size(0) - 1)
        ids = torch.where(inside, self.flat[where_BL].long(), PAD)
        if bos:
            ids[:, 0] = BOS
        if eos:
            ids.scatter_(1, lengths_B1 + bos, EOS)
        return ids, position_L < lengths_B1 + eos

    def rows(self, index_B: Tensor) -> list[list[int]]:
        """Sequences `index_B` as lists."""
        ids, _ = self.padded(index_B)
        return [row[:n] for row, n in zip(ids.tolist(), self.lengths_N[index_B].tolist(), strict=True)]


def join(*parts: Sequences | int) -> Sequences:
    """Sequence n of the result has sequence n of each part, one after another; an id is the same in all of them."""
    sizes = [p.lengths_N for p in parts if isinstance(p, Sequences)]
    lengths_N = sum(sizes, torch.full_like(sizes[0], len(parts) - len(sizes)))
    flat, at_N = torch.empty(int(lengths_N.sum()), dtype=torch.int32), lengths_N.cumsum(0) - lengths_N
    for part in parts:
        if isinstance(part, int):
            flat[at_N] = part
            at_N = at_N + 1
        else:
            shift = (at_N - part.starts_N).repeat_interleave(part.lengths_N)
            flat[shift.add_(torch.arange(len(shift)))] = part.flat[:-1].int()
            at_N = at_N + part.lengths_N
    return Sequences(flat, lengths_N)


Columns = tuple[Tensor, Tensor, Tensor | None]
"""What is known of pairs besides their ids: the number of pieces of each source and target, and `portion_N`."""


@dataclass(frozen=True)
class Pairs:
    """The two sides of a corpus as ids; pair n is source n and target n."""

    source: Sequences
    target: Sequences
    target_only: bool = field(default=False, kw_only=True)
    """Whether the model reads no sources, not even an EOS in their place. All sources are empty then."""
    portion_N: Tensor | None = field(default=None, kw_only=True)
    """Number of the portion of each pair (int64), see `portions_of`; None if it isn't known."""

    def __post_init__(self) -> None:
        assert len(self.source) == len(self.target), "each source needs one target"

    def __len__(self) -> int:
        return len(self.source)

    def chosen(self, index_P: Tensor) -> "Pairs":
        """The pairs with these indices (int64), without portions."""
        source, target = self.source.chosen(index_P), self.target.chosen(index_P)
        return Pairs(source, target, target_only=self.target_only)

    def columns(self) -> Iterator[Columns]:
        """What is known of all pairs besides their ids, in parts that follow one another."""
        yield self.source.lengths_N, self.target.lengths_N, self.portion_N

    @property
    def lengths(self) -> tuple[Tensor, Tensor]:
        """Number of positions of each source with its EOS, and of each target with its BOS (int64, N)."""
        return self.source.lengths_N + (not self.target_only), self.target.lengths_N + 1


class StoredPairs:
    """The pairs in the files of a store. No process keeps a number for each of them; files are open only while they are
    read."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files
        self.ends = np.cumsum([0, *(len(read_shard(file, "corpora")[0]) for file in files)])

    def __len__(self) -> int:
        return int(self.ends[-1])

    def chosen(self, index_P: Tensor) -> Pairs:
        """The pairs with these indices (int64, rising), without portions."""
        index = index_P.numpy()
        sides: tuple[list[Any], list[Any]] = [], []  # ids and lengths of each file
        bounds = np.searchsorted(index, self.ends)
        for n in np.flatnonzero(np.diff(bounds)).tolist():
            source, source_N, target, target_N = read_shard(self.files[n], *SIDES)
            kept_N = np.zeros(len(source_N), np.bool_)
            kept_N[index[bounds[n] : bounds[n + 1]] - self.ends[n]] = True
            for parts, (ids, lengths_N) in zip(sides, ((source, source_N), (target, target_N)), strict=True):
                parts.append((ids[np.repeat(kept_N, lengths_N)], lengths_N[kept_N].astype(np.int64)))
        # NumPy's type for ids of two and of four bytes together is int32.
        joined = (map(np.concatenate, zip(*parts, strict=True)) for parts in sides)
        return Pairs(*(Sequences(*map(torch.from_numpy, side)) for side in joined))

    def columns(self) -> Iterator[Columns]:
        for file in self.files:
            numbers = read_shard(file, "source_lengths", "target_lengths", "corpora")
            source_N, target_N, portion_N = (torch.from_numpy(column.astype(np.int64)) for column in numbers)
            yield source_N, target_N, portion_N


def read_store(files: Sequence[Path]) -> Pairs | StoredPairs:
    """The pairs in the files of a store: in memory, unless they are more than a window."""
    stored = StoredPairs(files)
    if len(stored) > WINDOW:
        return stored
    _, _, portions = zip(*stored.columns(), strict=True)
    return replace(stored.chosen(torch.arange(len(stored))), portion_N=torch.cat(portions))


@dataclass(frozen=True)
class Batch:
    """Padded pairs, ready for the model. Ids are int64; masks are bool, and False at padding."""

    src_BS: Tensor
    """Source pieces, then EOS."""
    src_mask_BS: Tensor
    tgt_in_BT: Tensor
    """BOS, then target pieces: what the decoder reads."""
    tgt_out_BT: Tensor
    """Target pieces, then EOS: what the decoder must predict at each position."""
    tgt_mask_BT: Tensor

    def repeated(self, times: int) -> Self:
        """The batch repeated `times` times along the batch dimension."""
        return type(self)(*(t.repeat(times, 1) for t in self.tensors())) if times > 1 else self

    def tensors(self) -> list[Tensor]:
        return [getattr(self, tensor.name) for tensor in fields(self)]

    @cached_property
    def target_tokens(self) -> int:
        """Number of target positions without padding."""
        return int(self.tgt_mask_BT.sum())

    @cached_property
    def lengths(self) -> tuple[Tensor, Tensor]:
        """Number of positions of each source and target, without padding (int64, B)."""
        return self.src_mask_BS.sum(1), self.tgt_mask_BT.sum(1)

    def positions(self, lengths: Sequence[Tensor]) -> int:
        """Number of positions, with padding, for the lengths that `Model.sequence_lengths` gives."""
        return sum(len(lengths_B) * int(lengths_B.max()) for lengths_B in lengths)

    @cached_property
    def sentences(self) -> int:
        """Number of pairs."""
        return self.src_BS.size(0)


AnyBatch = TypeVar("AnyBatch", bound=Batch)


@dataclass(frozen=True)
class PlannedBatch:
    """A batch before its tensors are made: the indices of its pairs, and its place in the run."""

    pairs: Pairs
    index_B: Tensor
    epoch: int
    number: int
    """Index in the plan of its epoch."""
    part: int = 0
    """0: the whole batch. The halves of part n are parts 2n + 1 and 2n + 2."""
    after: tuple[int, int] = (0, 0)
    """Epoch and number of the batch with which a run goes on after this one."""
    rows_N: Tensor | None = None
    """The numbers of `pairs` in the training text; None: they are all of it."""
    denoises: bool = False
    """Whether it is for one of the first steps, in which texts are restored: see `training.denoise_steps`."""

    def halves(self) -> "tuple[PlannedBatch, PlannedBatch]":
        middle = len(self.index_B) // 2
        first_B, second_B = self.index_B[:middle], self.index_B[middle:]
        part = 2 * self.part + 1
        return replace(self, index_B=first_B, part=part), replace(self, index_B=second_B, part=part + 1)

    def seed(self, seed: int, purpose: str = "") -> int:
        """Seed of the random numbers for this batch: depends on the run's seed and the batch's place alone."""
        place = f"{seed} {self.epoch} {self.number} {self.part}{purpose}"
        return int.from_bytes(hashlib.sha256(place.encode()).digest()[:4])

    def generator(self, seed: int) -> torch.Generator:
        """Random numbers for the noise of this batch; others than those of dropout, which `seed` starts."""
        return torch.Generator().manual_seed(self.seed(seed, " noise"))

    def __str__(self) -> str:
        rows_B = self.index_B if self.rows_N is None else self.rows_N[self.index_B]
        numbers = ", ".join(str(i + 1) for i in sorted(rows_B.tolist())[:10])
        more = f" and {len(self.index_B) - 10} more" if len(self.index_B) > 10 else ""
        return f"batch {self.number + 1} of epoch {self.epoch + 1} (pairs {numbers}{more} of the training text)"


def make_batch(pairs: Pairs, index_B: Tensor) -> Batch:
    """Make the padded batch of the pairs with these indices (B, int64), on the CPU."""
    src, src_mask = pairs.source.padded(index_B, eos=not pairs.target_only)
    tgt_in, tgt_mask = pairs.target.padded(index_B, bos=True)
    tgt_out, _ = pairs.target.padded(index_B, eos=True)
    return Batch(src, src_mask, tgt_in, tgt_out, tgt_mask)


def plan_batches(lengths: Sequence[Tensor], budget: int, seed: int, epoch: int) -> Plan:
    """The indices of the pairs in each batch of an epoch: shuffled batches of pairs of similar lengths.

    `lengths`: see `Model.sequence_lengths`; `budget`: the most positions of each sequence in a batch, with padding.
    Each epoch shuffles the batches, and pairs of equal lengths, anew. Raises ValueError if one pair is longer.
    """
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    order_N = torch.randperm(len(lengths[0]), generator=generator)
    longest_N = torch.stack(list(lengths)).amax(0)
    order_N = order_N[sort_key(lengths, longest_N)[order_N].argsort(stable=True)]
    batches = list(cut(order_N, longest_N, budget))
    return [batches[i] for i in torch.randperm(len(batches), generator=generator)]


def sort_key(lengths: Sequence[Tensor], longest_N: Tensor) -> Tensor:
    """The number (int64, N) by which pairs are sorted into batches: by the length of the longer side, then by the
    difference of the sides, which rises and falls in turn. So neither side has much padding."""
    difference_N = lengths[-1] - lengths[0]
    return (longest_N << 32) + torch.where(longest_N % 2 == 0, difference_N, -difference_N)


def window_starts(n_pairs: int, seed: int, epoch: int) -> list[int]:
    """Where the windows of an epoch of so many pairs begin, in the order in which they are read.

    The pairs of a window follow one another, and have a plan of their own, so that memory and the time to resume don't
    grow with the corpus. This suits pairs that are in a random order, as those of a store. Batch k of the w-th window
    has number w * WINDOW + k; a window has fewer batches.
    """
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    return (torch.randperm(-(-n_pairs // WINDOW), generator=generator) * WINDOW).tolist()


def repeated_rows(times_N: Tensor, start: int, stop: int) -> Tensor:
    """The entries, one or more, from `start` up to `stop` of a list (int64) with row n `times_N[n]` times."""
    size = 1 << 16  # rows that are counted together
    blocks = times_N.split(size)
    ends = torch.stack([times.sum() for times in blocks]).cumsum(0)
    first, last = torch.searchsorted(ends, torch.tensor([start, stop - 1]), right=True).tolist()
    before = int(ends[first - 1]) if first else 0
    rows = torch.arange(first * size, min((last + 1) * size, len(times_N)))
    return rows.repeat_interleave(torch.cat(blocks[first : last + 1]))[start - before : stop - before]


def cut(order_N: Tensor, lengths_N: Tensor, budget: int) -> Iterator[Tensor]:
    """Cut a sequence of pairs into batches, each of at most `budget` positions."""
    start, longest = 0, 0
    for i, length in enumerate(lengths_N[order_N].tolist()):
        if length > budget:
            problem = f"a training sequence takes {length} positions, and a batch has room for {budget}"
            raise ValueError(f"{problem}: raise training.batch_tokens, or lower data.max_pieces")
        longest = max(longest, length)
        if longest * (i + 1 - start) > budget:
            yield order_N[start:i]
            start, longest = i, length
    if start < len(order_N):
        yield order_N[start:]
