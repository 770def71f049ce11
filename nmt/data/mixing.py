"""How often pairs are seen: sizes and weights flow in; how often an epoch takes each pair flows out.

Shapes: N pairs, P of them (of one portion, or of one file), R portions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.data.batches import Pairs, StoredPairs
from nmt.data.sections import Section
from nmt.fields import require


def even_out(sizes: Sequence[float], temperature: float) -> list[float]:
    """Sizes with the same sum, but proportional to their powers of 1 / temperature."""
    powers = [size ** (1 / temperature) for size in sizes]
    return [power * sum(sizes) / (sum(powers) or 1) for power in powers]


def whole_numbers(amounts: Sequence[float]) -> list[int]:
    """Whole numbers near the amounts, whose sum is that of the amounts, rounded: by largest remainder."""
    floors = [int(amount) for amount in amounts]
    missing = round(sum(amounts)) - sum(floors)
    by_remainder = sorted(range(len(amounts)), key=lambda n: floors[n] - amounts[n])
    return [floor + (n in by_remainder[:missing]) for n, floor in enumerate(floors)]


@dataclass(frozen=True)
class Mixture:
    """Pairs of several portions, and how many of each an epoch takes.

    Each portion is an endless sequence of its pairs, shuffled anew each time that all were taken; an epoch takes the
    next ones. So no pair is taken twice before each other one of its portion was taken once.
    """

    pairs: Pairs | StoredPairs
    sizes: Sequence[int]
    amounts: Sequence[int]

    def times(self, seed: int, epoch: int) -> Tensor:
        """How often an epoch takes each pair (int32, N)."""
        taken = [self.times_of(number, seed, epoch) for number in range(len(self.sizes))]
        times_N, start = torch.empty(len(self.pairs), dtype=torch.int32), 0
        for _, _, portion_N in self.pairs.columns():
            assert portion_N is not None
            here_N = times_N[start : start + len(portion_N)]
            for number in portion_N.unique().tolist():
                is_here_N = portion_N == number
                n = int(is_here_N.sum())
                here_N[is_here_N], taken[number] = taken[number][:n], taken[number][n:]
            start += len(portion_N)
        return times_N

    def times_of(self, number: int, seed: int, epoch: int) -> Tensor:
        """How often an epoch takes each pair of a portion (int32, P)."""
        size, start, stop = self.sizes[number], epoch * self.amounts[number], (epoch + 1) * self.amounts[number]
        times_P = torch.zeros(size, dtype=torch.int32)
        for n in range(start // size, -(-stop // size)) if size else ():
            if start <= n * size and (n + 1) * size <= stop:
                times_P += 1
            else:
                of_turn = ((seed * 1_000_003 + number) * 1_000_003 + n) % 2**63
                generator = torch.Generator().manual_seed(of_turn)
                order_P = torch.randperm(size, generator=generator, dtype=torch.int32)
                times_P[order_P[max(0, start - n * size) : stop - n * size]] += 1
        return times_P


def mixture_of(pairs: Pairs | StoredPairs, sections: Sequence[Section], temperature: float) -> Mixture | None:
    """How sections are mixed, by their weights and with even directions; None if an epoch takes each pair once."""
    sizes_R = torch.zeros(len(sections), dtype=torch.int64)
    for _, _, portion_N in pairs.columns():
        assert portion_N is not None
        sizes_R += portion_N.bincount(minlength=len(sections))
    sizes = sizes_R.tolist()
    amounts = [size * section.weight for size, section in zip(sizes, sections, strict=True)]
    directions = [section.direction for section in sections]
    totals = dict.fromkeys(directions, 0.0)
    for direction, amount in zip(directions, amounts, strict=True):
        totals[direction] += amount
    wanted = dict(zip(totals, even_out(list(totals.values()), temperature), strict=True))
    shares = [wanted[d] * amount / totals[d] if amount else 0.0 for d, amount in zip(directions, amounts, strict=True)]
    numbers = whole_numbers(shares)
    require(sum(numbers) > 0, "the weights leave no pair for an epoch: raise those of data.more")
    return None if numbers == sizes else Mixture(pairs, sizes, numbers)
