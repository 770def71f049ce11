"""Packing (Raffel et al. 2020, section 3.1.2): lengths of pairs flow in; batches of one shape flow out.

    padded batch: any shape         packed batch: always R rows of L positions, on both sides
    a a a a a - -                   a a a a a d d d d -
    b b b - - - -                   b b b c c c c c c c
    c c c c c c c                   ...
    d d d d - - -

A GPU needs one shape: the program that it runs is recorded, or compiled, once. A row of the target has the same pairs
in the same order as the row of the source. On Multi30k, 97% and 94% of the positions are real.

Shapes: N pairs, B pairs of a batch, S source length, T target length; R rows of L positions.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmt.data.batches import Batch, Plan
from nmt.vocabulary import PAD

LEAST_ROW = 128  # positions of a row, if no sequence is longer
LONGEST_ROW = 512  # attention in a row takes time and memory that grow with the square of its length
OPEN_ROWS = 4  # rows that wait for a pair that fits; with one, 5% fewer positions are real, with eight 0.3% more


class RowShape(NamedTuple):
    """The shape of all packed batches of a run."""

    rows: int
    length: int

    @classmethod
    def of(cls, longest: int, budget: int) -> "RowShape | None":
        """None if rows would be too long. The most positions: `longest` of a sequence, `budget` of a batch's side."""
        length = max(LEAST_ROW, -(-longest // 64) * 64)
        return cls(budget // length, length) if length <= min(budget, LONGEST_ROW) else None


@dataclass(frozen=True)
class PackedBatch(Batch):
    """Rows of several pairs: B and S or T are those of a `RowShape`."""

    src_place_BS: Tensor
    """The position of each id in its own sequence (int64); 0 at padding."""
    tgt_place_BT: Tensor

    def positions(self, lengths: Sequence[Tensor]) -> int:
        return self.src_BS.numel() + self.tgt_in_BT.numel()

    @cached_property
    def sentences(self) -> int:
        return int((self.tgt_mask_BT & (self.tgt_place_BT == 0)).sum())


def plan_rows(lengths: Sequence[Tensor], shape: RowShape, seed: int, epoch: int) -> Plan:
    """The indices of the pairs in each batch of an epoch, row by row, in random order. `lengths`: of sources with EOS
    and of targets with BOS (int64, N)."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    order_N = torch.randperm(len(lengths[0]), generator=generator)
    sources, targets = (lengths_N[order_N].tolist() for lengths_N in lengths)
    rows: list[list[int]] = []
    waiting: list[tuple[int, int, list[int]]] = []  # the room that is left on both sides, and the pairs
    for n, source, target in zip(order_N.tolist(), sources, targets, strict=True):
        for i, (of_source, of_target, pairs) in enumerate(waiting):
            if source <= of_source and target <= of_target:
                pairs.append(n)
                waiting[i] = of_source - source, of_target - target, pairs
                break
        else:
            if len(waiting) == OPEN_ROWS:
                fullest = min(range(OPEN_ROWS), key=lambda i: min(waiting[i][:2]))
                rows.append(waiting.pop(fullest)[2])
            waiting.append((shape.length - source, shape.length - target, [n]))
    rows += [pairs for _, _, pairs in waiting]
    batches = [rows[start : start + shape.rows] for start in range(0, len(rows), shape.rows)]
    return [torch.tensor([n for row in batch for n in row]) for batch in batches]


def pack(batch: Batch, shape: RowShape) -> PackedBatch:
    """A padded batch, with pairs in the order of `plan_rows`, in rows: one ends where the next pair doesn't fit."""
    before = [pad(lengths_B.cumsum(0), (1, 0)) for lengths_B in batch.lengths]  # positions before pair 0, 1, …, B
    ends, firsts = [before_B.tolist() for before_B in before], [0]
    while firsts[-1] < len(ends[0]) - 1:
        firsts.append(min(bisect_right(end_B, end_B[firsts[-1]] + shape.length) - 1 for end_B in ends))
    assert len(firsts) - 1 <= shape.rows, "the pairs are not in the order of a plan"
    first_R = torch.tensor(firsts)
    row_B = torch.arange(len(firsts) - 1).repeat_interleave(first_R.diff())
    sides = []
    for mask_BL, before_B, ids in (
        (batch.src_mask_BS, before[0], [batch.src_BS]),
        (batch.tgt_mask_BT, before[1], [batch.tgt_in_BT, batch.tgt_out_BT]),
    ):
        starts_B = row_B * shape.length + before_B[:-1] - before_B[first_R[row_B]]
        place_BL = torch.arange(mask_BL.size(1)).expand(mask_BL.shape)
        where_X = (starts_B[:, None] + place_BL)[mask_BL]
        laid = [in_rows(ids_BL[mask_BL], where_X, shape, PAD) for ids_BL in ids]
        sides.append((*laid, in_rows(mask_BL[mask_BL], where_X, shape), in_rows(place_BL[mask_BL], where_X, shape)))
    (source, source_mask, source_place), (target_in, target_out, target_mask, target_place) = sides
    return PackedBatch(source, source_mask, target_in, target_out, target_mask, source_place, target_place)


def in_rows(values_X: Tensor, where_X: Tensor, shape: RowShape, padding: int = 0) -> Tensor:
    """What stands at the real positions of a padded batch, in rows (R, L). `where_X`: their places in all rows."""
    rows = torch.full((shape.rows * shape.length,), padding, dtype=values_X.dtype)
    rows[where_X] = values_X
    return rows.view(shape)
