"""From lists of piece ids to padded batches, and the plan of which pairs go together.

Shapes: N pairs, B batch, S source length, T target length; real positions come first, padding after them. A plan is a
pure function of (lengths, budget, seed, epoch): to resume is to compute it again and go on at a batch's number.
"""

import hashlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nmt.vocabulary import BOS, EOS, PAD, UNK

Plan = list[Tensor]


class Sequences:
    """Many id sequences in one flat tensor: a tenth of the memory of lists, and padded without a Python loop."""

    def __init__(self, flat: Tensor, lengths_N: Tensor) -> None:
        """Args:
        flat: the ids of all sequences, one after another.
        lengths_N: how many of them each sequence has (int64).
        """
        self.flat = torch.cat([flat.to(torch.int32), torch.tensor([PAD], dtype=torch.int32)])
        self.lengths_N = lengths_N
        self.starts_N = lengths_N.cumsum(0) - lengths_N

    @classmethod
    def of(cls, sequences: Iterable[list[int]]) -> "Sequences":
        flat, lengths = array("i", [PAD]), array("q", [0])  # never empty: a buffer of no bytes is refused
        for ids in sequences:
            flat.extend(ids)
            lengths.append(len(ids))
        return cls(torch.frombuffer(flat, dtype=torch.int32)[1:], torch.frombuffer(lengths, dtype=torch.int64)[1:])

    def __len__(self) -> int:
        return self.lengths_N.size(0)

    def padded(
        self, index_B: Tensor, before: tuple[int, ...] = (), after: tuple[int, ...] = ()
    ) -> tuple[Tensor, Tensor]:
        """Rows `index_B`, each between the ids `before` and `after`: ids (B, L) int64, and True (bool) where real."""
        lengths_B1 = self.lengths_N[index_B, None]
        position_L = torch.arange(int(lengths_B1.max()) + len(before) + len(after)) - len(before)
        inside = (position_L >= 0) & (position_L < lengths_B1)
        where = (self.starts_N[index_B, None] + position_L).clamp_(0, self.flat.size(0) - 1)
        ids = torch.where(inside, self.flat[where].long(), PAD)
        for i, token in enumerate(before):
            ids[:, i] = token
        for i, token in enumerate(after):
            ids.scatter_(1, lengths_B1 + len(before) + i, token)
        return ids, position_L < lengths_B1 + len(after)


@dataclass(frozen=True)
class Pairs:
    """The two sides of a corpus as ids; pair n is source n and target n."""

    source: Sequences
    target: Sequences

    def __post_init__(self) -> None:
        assert len(self.source) == len(self.target), "one target for each source"

    @property
    def longest(self) -> int:
        """Pieces of the longest sentence, of either side."""
        return max((int(side.lengths_N.max()) for side in (self.source, self.target) if len(side)), default=0)


@dataclass(frozen=True)
class Batch:
    """Padded pairs, ready for the model. Ids are int64, masks bool and True at real positions.

    With the lengths in `tgt_mask_BT` the decoder makes its sequence mask: position t sees real positions 0 to t.
    """

    src_BS: Tensor
    """Source pieces, then EOS."""
    src_mask_BS: Tensor
    tgt_in_BT: Tensor
    """BOS, then target pieces: what the decoder reads."""
    tgt_out_BT: Tensor
    """Target pieces, then EOS: what it must say at each position."""
    tgt_mask_BT: Tensor

    def repeated(self, times: int) -> "Batch":
        """The batch, so many times one below the other."""
        return Batch(*(t.repeat(times, 1) for t in vars(self).values())) if times > 1 else self

    def to(self, device: torch.device) -> "Batch":
        return Batch(*(t.to(device, non_blocking=True) for t in vars(self).values()))

    @property
    def target_tokens(self) -> int:
        """Real target positions."""
        return int(self.tgt_mask_BT.sum())

    @property
    def source_tokens(self) -> int:
        """Real source positions."""
        return int(self.src_mask_BS.sum())

    @property
    def positions(self) -> int:
        """Positions on both sides, padding counted."""
        return self.src_BS.numel() + self.tgt_in_BT.numel()


@dataclass(frozen=True)
class PlannedBatch:
    """A batch that is not made yet: which pairs, and its place in the run."""

    pairs: Pairs
    index_B: Tensor
    epoch: int
    number: int
    """In the plan of its epoch."""
    part: int = 0
    """0: all of it. The halves of part n are 2n + 1 and 2n + 2."""

    @property
    def target_tokens(self) -> int:
        """Real target positions, as the batch will have."""
        return int(self.pairs.target.lengths_N[self.index_B].sum()) + len(self.index_B)

    def make(self) -> Batch:
        return make_batch(self.pairs, self.index_B)

    def halves(self) -> "tuple[PlannedBatch, PlannedBatch]":
        middle = len(self.index_B) // 2
        return (
            replace(self, index_B=self.index_B[:middle], part=2 * self.part + 1),
            replace(self, index_B=self.index_B[middle:], part=2 * self.part + 2),
        )

    def seed(self, seed: int) -> int:
        """Of what is drawn at random for this batch alone: a pure function of the run's seed and the batch's place."""
        place = f"{seed} {self.epoch} {self.number} {self.part}"
        return int.from_bytes(hashlib.sha256(place.encode()).digest()[:4])

    def __str__(self) -> str:
        lines = ", ".join(str(i + 1) for i in sorted(self.index_B.tolist())[:10])
        more = f" and {len(self.index_B) - 10} more" if len(self.index_B) > 10 else ""
        return f"batch {self.number + 1} of epoch {self.epoch + 1} (lines {lines}{more} of the training text)"


def make_batch(pairs: Pairs, index_B: Tensor) -> Batch:
    """Pad the pairs `index_B` (int64)."""
    src, src_mask = pairs.source.padded(index_B, after=(EOS,))
    tgt_in, tgt_mask = pairs.target.padded(index_B, before=(BOS,))
    tgt_out, _ = pairs.target.padded(index_B, after=(EOS,))
    return Batch(src, src_mask, tgt_in, tgt_out, tgt_mask)


def hide_pieces(batch: Batch, probability: float) -> Batch:
    """The batch with some of the pieces that the model reads replaced by unk, at random: not EOS, BOS or padding, and
    not the targets (word dropout, Gal and Ghahramani 2016, section 4.2; here each occurrence by itself)."""
    if not probability:
        return batch

    def hidden(ids: Tensor) -> Tensor:
        chosen = (torch.rand(ids.shape) < probability) & (ids != BOS) & (ids != EOS) & (ids != PAD)
        return ids.masked_fill(chosen, UNK)

    return replace(batch, src_BS=hidden(batch.src_BS), tgt_in_BT=hidden(batch.tgt_in_BT))


def plan_batches(pairs: Pairs, batch_tokens: int, seed: int, epoch: int) -> Plan:
    """Which pairs make up each batch of an epoch, in order: shuffled, of similar lengths, within the budget.

    Neither side of a batch has more than `batch_tokens` positions, padding counted. Equal lengths are shuffled anew in
    every epoch, and so is the order of batches.

    Raises:
        ValueError: a pair alone is over the budget.
    """
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    order_N = torch.randperm(len(pairs.source), generator=generator)
    for side in (pairs.source, pairs.target):  # sorted by target length, and by source length where that is equal
        order_N = order_N[side.lengths_N[order_N].argsort(stable=True)]
    batches = list(cut(order_N, pairs, batch_tokens))
    return [batches[i] for i in torch.randperm(len(batches), generator=generator)]


def cut(order_N: Tensor, pairs: Pairs, batch_tokens: int) -> Iterator[Tensor]:
    """Cut an order of pairs into the longest runs that keep to the budget."""
    lengths_N = torch.maximum(pairs.source.lengths_N, pairs.target.lengths_N)[order_N].tolist()
    start, longest = 0, 0
    for i, length in enumerate(lengths_N):
        if length >= batch_tokens:
            raise ValueError(
                f"a training pair has {length + 1} pieces, more than training.batch_tokens, "
                f"{batch_tokens}: raise that, or lower data.max_pieces"
            )
        longest = max(longest, length + 1)
        if longest * (i + 1 - start) > batch_tokens:
            yield order_N[start:i]
            start, longest = i, length + 1
    if start < len(lengths_N):
        yield order_N[start:]
