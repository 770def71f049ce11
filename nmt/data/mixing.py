"""How often pairs are seen: sizes and weights flow in; how often an epoch takes each pair flows out.

All is a pure function of the sizes, the weights, the seed and the epoch, so that a run can resume anywhere.

Shapes: N pairs, P of them (of one portion, or of one file), R portions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.data.batches import Pairs
from nmt.data.sections import Section
from nmt.data.stored import StoredPairs
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
    """The number of pairs of each portion."""
    amounts: Sequence[int]

    def times(self, seed: int, epoch: int) -> Tensor:
        """How often an epoch takes each pair (int32, N)."""
        taken = [self.times_of(number, seed, epoch) for number in range(len(self.sizes))]
        times_N, start = torch.empty(len(self.pairs), dtype=torch.int32), 0
        for _, _, portion_N, _ in self.pairs.columns():
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
                order_P = torch.randperm(size, generator=generator(seed, number, n), dtype=torch.int32)
                times_P[order_P[max(0, start - n * size) : stop - n * size]] += 1
        return times_P


@dataclass(frozen=True)
class WeightedPairs:
    """Pairs that have weights of their own: how often an epoch takes each."""

    pairs: Pairs | StoredPairs
    factors: Sequence[float]
    """What the weights of each portion are multiplied by."""

    def times(self, seed: int, epoch: int) -> Tensor:
        """How often an epoch takes each pair (int32, N). A pair of weight w occurs floor((e + 1) w + u) - floor(e w +
        u) times in epoch e (systematic sampling): after E epochs it was seen E w times, less than once more or less.
        The offsets u of all pairs are evenly spread over [0, 1), so that epochs have nearly the same size."""
        size, start = len(self.pairs), 0
        times_N = torch.randperm(size, generator=generator(seed, size, 0), dtype=torch.int32)  # the offsets, at first
        factors = torch.tensor(self.factors, dtype=torch.float64)
        for _, _, portion_P, weight_P in self.pairs.columns():
            assert portion_P is not None
            assert weight_P is not None
            weight_P, times_P = factors[portion_P] * weight_P, times_N[start : start + len(portion_P)]
            offset_P = (times_P.double() + 0.5) / size
            times_P.copy_((weight_P * (epoch + 1) + offset_P).floor() - (weight_P * epoch + offset_P).floor())
            start += len(portion_P)
        return times_N


def generator(*numbers: int) -> torch.Generator:
    seed = 0
    for number in numbers:
        seed = (seed * 1_000_003 + number) % 2**63
    return torch.Generator().manual_seed(seed)


def mixture_of(
    pairs: Pairs | StoredPairs, sections: Sequence[Section], temperature: float
) -> Mixture | WeightedPairs | None:
    """How pairs of these sections are mixed; None if an epoch takes each pair once. The weights are those of the
    sections and of the pairs; the temperature evens out the directions."""
    sizes_R, weighted = torch.zeros(len(sections), dtype=torch.float64), False
    for _, _, portion_N, weight_N in pairs.columns():
        assert portion_N is not None
        weighted = weight_N is not None
        ones_N = torch.ones(len(portion_N), dtype=torch.float64)
        sizes_R.index_add_(0, portion_N, ones_N if weight_N is None else weight_N.double())
    sizes = sizes_R.tolist()
    amounts = [size * section.weight for size, section in zip(sizes, sections, strict=True)]
    directions = [section.direction for section in sections]
    totals = dict.fromkeys(directions, 0.0)
    for direction, amount in zip(directions, amounts, strict=True):
        totals[direction] += amount
    wanted = dict(zip(totals, even_out(list(totals.values()), temperature), strict=True))
    shares = [wanted[d] * amount / totals[d] if amount else 0.0 for d, amount in zip(directions, amounts, strict=True)]
    numbers = whole_numbers(shares)
    require(
        sum(numbers) > 0, "the weights leave no pair for an epoch: raise those of pairs, data.more and training.stages"
    )
    if weighted:
        return WeightedPairs(pairs, [a / b if b else 0.0 for a, b in zip(shares, sizes, strict=True)])
    return None if numbers == sizes else Mixture(pairs, [int(size) for size in sizes], numbers)
