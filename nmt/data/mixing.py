"""How often pairs are seen: sizes and weights flow in; the pairs that an epoch takes flow out.

All is a pure function of the sizes, the weights, the seed and the epoch, so that a run can resume anywhere.

Shapes: N pairs, P pairs of one portion.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

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
    """Pairs of several portions, and how many of each an epoch takes."""

    portion_N: Tensor
    """The number of the portion of each pair."""
    amounts: Sequence[int]

    def pairs(self, seed: int, epoch: int) -> Tensor:
        """The indices of the pairs that an epoch takes, in rising order; a pair can occur several times.

        Each portion is an endless sequence of its pairs, shuffled anew each time that all were taken; an epoch takes
        the next ones. So no pair is taken twice before each other one of its portion was taken once.
        """
        taken = []
        for number, amount in enumerate(self.amounts):
            index_P = (self.portion_N == number).nonzero().flatten()
            size, start = len(index_P), epoch * amount
            rounds = range(start // size, -(-(start + amount) // size)) if size else range(0)
            orders = [index_P[torch.randperm(size, generator=generator(seed, number, n))] for n in rounds]
            taken += [torch.cat(orders)[start - rounds[0] * size :][:amount]] if orders else []
        return torch.cat(taken).sort().values


@dataclass(frozen=True)
class WeightedPairs:
    """Pairs that have weights of their own: how often an epoch takes each."""

    portion_N: Tensor
    """The number of the portion of each pair."""
    factors: Sequence[float]
    """What the weights of each portion are multiplied by."""
    weight_N: Tensor

    def pairs(self, seed: int, epoch: int) -> Tensor:
        """As of a `Mixture`. A pair of weight w occurs floor((e + 1) w + u) - floor(e w + u) times in epoch e
        (systematic sampling): after E epochs it was seen E w times, less than once more or less. The offsets u of all
        pairs are evenly spread over [0, 1), so that epochs have nearly the same size."""
        size = len(self.weight_N)
        weight_N = torch.tensor(self.factors, dtype=torch.float64)[self.portion_N] * self.weight_N
        offset_N = (torch.randperm(size, generator=generator(seed, size, 0)).double() + 0.5) / size
        times_N = (weight_N * (epoch + 1) + offset_N).floor() - (weight_N * epoch + offset_N).floor()
        return torch.arange(size).repeat_interleave(times_N.long())


def generator(*numbers: int) -> torch.Generator:
    seed = 0
    for number in numbers:
        seed = (seed * 1_000_003 + number) % 2**63
    return torch.Generator().manual_seed(seed)


def mixture_of(
    portion_N: Tensor, sections: Sequence[Section], temperature: float, weight_N: Tensor | None = None
) -> Mixture | WeightedPairs | None:
    """How pairs of these sections are mixed; None if an epoch takes each pair once. The weights are those of the
    sections, and `weight_N` those of the pairs; the temperature evens out the directions."""
    of_pairs = None if weight_N is None else weight_N.double()
    sizes = torch.bincount(portion_N, of_pairs, minlength=len(sections)).tolist()
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
    if weight_N is not None:
        return WeightedPairs(portion_N, [a / b if b else 0.0 for a, b in zip(shares, sizes, strict=True)], weight_N)
    return None if numbers == sizes else Mixture(portion_N, numbers)
