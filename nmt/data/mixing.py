"""How often the pairs of each portion are seen: sizes flow in; the pairs that an epoch takes flow out.

All is a pure function of the sizes, the seed and the epoch, so that a run can resume anywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.data.portions import Portion
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


def generator(*numbers: int) -> torch.Generator:
    seed = 0
    for number in numbers:
        seed = (seed * 1_000_003 + number) % 2**63
    return torch.Generator().manual_seed(seed)


def mixture_of(portion_N: Tensor, portions: Sequence[Portion], temperature: float) -> Mixture | None:
    """How pairs of these portions are mixed; None if an epoch takes each pair once. The weights are those of the
    portions; the temperature evens out the directions."""
    sizes = torch.bincount(portion_N, minlength=len(portions)).tolist()
    amounts = [size * portion.weight for size, portion in zip(sizes, portions, strict=True)]
    directions = [(portion.source, portion.target) for portion in portions]
    totals = dict.fromkeys(directions, 0.0)
    for direction, amount in zip(directions, amounts, strict=True):
        totals[direction] += amount
    wanted = dict(zip(totals, even_out(list(totals.values()), temperature), strict=True))
    shares = [wanted[d] * amount / totals[d] if amount else 0.0 for d, amount in zip(directions, amounts, strict=True)]
    numbers = whole_numbers(shares)
    require(sum(numbers) > 0, "the weights leave no pair for an epoch: raise those of data.more and training.stages")
    return None if numbers == sizes else Mixture(portion_N, numbers)
