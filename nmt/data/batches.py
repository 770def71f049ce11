"""Batches: id sequences flow in; a plan of the batches of an epoch, and padded batches, flow out.

Shapes: N pairs, B batch, S source length, T target length; padding comes last. A plan depends only on the
lengths, the budget, the seed and the epoch: to resume, compute it again and continue at a batch number.
"""

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from nmt.vocabulary import BOS, EOS, PAD, UNK

WINDOW = 1 << 20  # pairs of a large corpus that are planned at once
Plan = list[Tensor]  # for each batch of an epoch, the indices of its pairs


class Sequences:
    """Many id sequences in one flat tensor: a tenth of the memory of lists, and padded without a Python loop."""

    def __init__(self, flat: Tensor, lengths_N: Tensor) -> None:
        """`flat`: the ids of all sequences, one after another; `lengths_N`: the length of each (int64)."""
        self.flat = torch.cat([flat.to(torch.int32), torch.tensor([PAD], dtype=torch.int32)])
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

    @property
    def in_memory(self) -> bool:
        """Whether all ids are in memory, and not on the disk."""
        return True

    def ids_at(self, where_BL: Tensor) -> Tensor:
        """The ids at these places among all ids (int64), and any ids where a place is before the first or after the
        last one. Changes `where_BL`."""
        return self.flat[where_BL.clamp_(0, self.flat.size(0) - 1)].long()

    def counts(self, vocab_size: int) -> Tensor:
        """How often each id of a vocabulary of this size occurs (int64)."""
        return torch.bincount(self.flat[:-1].long(), minlength=vocab_size)

    def ids(self, n: int) -> Tensor:
        """The ids of sequence n (int64)."""
        start = int(self.starts_N[n])
        return self.flat[start : start + int(self.lengths_N[n])].long()

    def chosen(self, index_B: Tensor) -> "Sequences":
        """Sequences `index_B`, in memory."""
        ids, mask = self.padded(index_B)
        return Sequences(ids[mask], self.lengths_N[index_B])

    def part(self, rows: range) -> "Sequences":
        """Sequences that follow one another, in memory."""
        return self.chosen(torch.arange(rows.start, rows.stop))

    def padded(self, index_B: Tensor, *, bos: bool = False, eos: bool = False) -> tuple[Tensor, Tensor]:
        """Sequences `index_B`, with BOS before or EOS after each: ids (B, L) int64, and a mask, False at padding."""
        lengths_B1 = self.lengths_N[index_B, None]
        position_L = torch.arange(int(lengths_B1.max()) + bos + eos) - int(bos)
        inside = (position_L >= 0) & (position_L < lengths_B1)
        ids = torch.where(inside, self.ids_at(self.starts_N[index_B, None] + position_L), PAD)
        if bos:
            ids[:, 0] = BOS
        if eos:
            ids.scatter_(1, lengths_B1 + bos, EOS)
        return ids, position_L < lengths_B1 + eos

    def rows(self, index_B: Tensor) -> list[list[int]]:
        """Sequences `index_B` as lists."""
        ids, _ = self.padded(index_B)
        return [row[:n] for row, n in zip(ids.tolist(), self.lengths_N[index_B].tolist(), strict=True)]


class Joined(Sequences):
    """Sequences that are joined from their parts when they are needed (see `join`)."""

    def __init__(self, parts: tuple[Sequences | int, ...]) -> None:
        self.parts = parts
        sizes = [p.lengths_N for p in parts if isinstance(p, Sequences)]
        self.lengths_N = sum(sizes, torch.full_like(sizes[0], len(parts) - len(sizes)))

    @property
    def in_memory(self) -> bool:
        return False

    def chosen(self, index_B: Tensor) -> Sequences:
        return join(*(part if isinstance(part, int) else part.chosen(index_B) for part in self.parts))

    def padded(self, index_B: Tensor, *, bos: bool = False, eos: bool = False) -> tuple[Tensor, Tensor]:
        return self.chosen(index_B).padded(torch.arange(len(index_B)), bos=bos, eos=eos)


def join(*parts: Sequences | int) -> Sequences:
    """Sequence n of the result has sequence n of each part, one after another; an id is the same in all of them."""
    if not all(isinstance(part, int) or part.in_memory for part in parts):
        return Joined(parts)
    sizes = [p.lengths_N for p in parts if isinstance(p, Sequences)]
    lengths_N = sum(sizes, torch.full_like(sizes[0], len(parts) - len(sizes)))
    flat, at_N = torch.empty(int(lengths_N.sum()), dtype=torch.int32), lengths_N.cumsum(0) - lengths_N
    for part in parts:
        if isinstance(part, int):
            flat[at_N] = part
            at_N = at_N + 1
        else:
            shift = (at_N - part.starts_N).repeat_interleave(part.lengths_N)
            flat[shift.add_(torch.arange(len(shift)))] = part.flat[:-1]
            at_N = at_N + part.lengths_N
    return Sequences(flat, lengths_N)


@dataclass(frozen=True)
class Pairs:
    """The two sides of a corpus as ids; pair n is source n and target n."""

    source: Sequences
    target: Sequences
    target_only: bool = field(default=False, kw_only=True)
    """Whether the model reads no sources, not even an EOS in their place. All sources are empty then."""

    def __post_init__(self) -> None:
        assert len(self.source) == len(self.target), "each source needs one target"

    def part(self, rows: range) -> "Pairs":
        """Pairs that follow one another, in memory."""
        return replace(self, source=self.source.part(rows), target=self.target.part(rows))

    @property
    def lengths(self) -> tuple[Tensor, Tensor]:
        """Number of positions of each source with its EOS, and of each target with its BOS (int64, N)."""
        return self.source.lengths_N + (not self.target_only), self.target.lengths_N + 1


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

    def repeated(self, times: int) -> "Batch":
        """The batch repeated `times` times along the batch dimension."""
        return Batch(*(t.repeat(times, 1) for t in vars(self).values())) if times > 1 else self

    @property
    def target_tokens(self) -> int:
        """Number of target positions without padding."""
        return int(self.tgt_mask_BT.sum())

    @property
    def lengths(self) -> tuple[Tensor, Tensor]:
        """Number of positions of each source and target, without padding (int64, B)."""
        return self.src_mask_BS.sum(1), self.tgt_mask_BT.sum(1)


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
        numbers = ", ".join(str(i + 1) for i in sorted(self.index_B.tolist())[:10])
        more = f" and {len(self.index_B) - 10} more" if len(self.index_B) > 10 else ""
        return f"batch {self.number + 1} of epoch {self.epoch + 1} (pairs {numbers}{more} of the training text)"


def make_batch(pairs: Pairs, index_B: Tensor) -> Batch:
    """Make the padded batch of the pairs with these indices (B, int64), on the CPU."""
    src, src_mask = pairs.source.padded(index_B, eos=not pairs.target_only)
    tgt_in, tgt_mask = pairs.target.padded(index_B, bos=True)
    tgt_out, _ = pairs.target.padded(index_B, eos=True)
    return Batch(src, src_mask, tgt_in, tgt_out, tgt_mask)


def hide_pieces(batch: Batch, probability: float) -> Batch:
    """The batch with random input pieces (not EOS, BOS, padding or `tgt_out_BT`) replaced by unk: word dropout (Gal and
    Ghahramani 2016, section 4.2), but sampled for each occurrence of a piece."""

    def hidden(ids: Tensor) -> Tensor:
        chosen = (torch.rand(ids.shape) < probability) & (ids != BOS) & (ids != EOS) & (ids != PAD)
        return ids.masked_fill(chosen, UNK)

    return replace(batch, src_BS=hidden(batch.src_BS), tgt_in_BT=hidden(batch.tgt_in_BT)) if probability else batch


def plan_batches(lengths: Sequence[Tensor], budget: int, seed: int, epoch: int) -> Plan:
    """The indices of the pairs in each batch of an epoch: shuffled batches of pairs of similar lengths.

    `lengths`: see `Model.sequence_lengths`; `budget`: the most positions of each sequence in a batch, with padding.
    Each epoch shuffles the batches, and pairs of equal lengths, anew. Raises ValueError if one pair is longer.
    """
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    order_N = torch.randperm(len(lengths[0]), generator=generator)
    longest_N = torch.stack(list(lengths)).amax(0)
    for key_N in sort_keys(lengths, longest_N):
        order_N = order_N[key_N[order_N].argsort(stable=True)]
    batches = list(cut(order_N, longest_N, budget))
    return [batches[i] for i in torch.randperm(len(batches), generator=generator)]


def sort_keys(lengths: Sequence[Tensor], longest_N: Tensor) -> list[Tensor]:
    """Numbers by which pairs are sorted into batches, the most important one last: the length of the longer side, then
    the difference of the sides. So neither side has much padding. The difference rises and falls in turn, so that the
    last pair of one length resembles the first of the next."""
    difference_N = lengths[-1] - lengths[0]
    return [torch.where(longest_N % 2 == 0, difference_N, -difference_N), longest_N]


def epoch_batches(
    lengths: Sequence[Tensor], budget: int, seed: int, epoch: int, first: int = 0, *, windows: bool = False
) -> Iterator[tuple[int, Tensor]]:
    """The batches of an epoch with their numbers, from number `first` on: those of `plan_batches`.

    With `windows`, each WINDOW pairs one after another have a plan of their own, so that memory and the time to resume
    don't grow with the corpus; the windows come in a random order. This suits pairs that are in a random order, as
    those of a store. Batch k of the w-th window has number w * WINDOW + k; a window has fewer batches.
    """
    n_pairs = len(lengths[0])
    size = WINDOW if windows else max(n_pairs, WINDOW)
    order = torch.randperm(-(-n_pairs // size), generator=torch.Generator().manual_seed(seed * 1_000_003 + epoch))
    place, skipped = divmod(first, WINDOW) if len(order) > 1 else (0, first)
    for turn, start in enumerate((order * size).tolist()[place:], start=place):
        plan = plan_batches([lengths_N[start : start + size] for lengths_N in lengths], budget, seed, epoch)
        for number in range(skipped if turn == place else 0, len(plan)):
            yield turn * WINDOW + number, plan[number] + start


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
