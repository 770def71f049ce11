"""How often pairs are seen is exact, and a pure function of the sizes, the seed and the epoch."""

import math
from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.batches import Pairs, Sequences, repeated_rows
from nmt.data.mixing import Mixture, WeightedPairs, even_out, mixture_of, whole_numbers
from nmt.data.sections import Section

ONE = Section("de-en", "de", "en")


def numbered(portion_N: torch.Tensor, weight_N: torch.Tensor | None = None) -> Pairs:
    """Pairs of these portions and weights, without text."""
    texts = Sequences.of([[]] * len(portion_N))
    return Pairs(texts, texts, portion_N=portion_N, weight_N=weight_N)


def rows_of(mixture: Mixture | WeightedPairs, seed: int, epoch: int) -> torch.Tensor:
    """The numbers of the pairs that an epoch takes, each as often as it is taken."""
    times_N = mixture.times(seed, epoch)
    return repeated_rows(times_N, 0, int(times_N.sum()))


THERE_AND_BACK = [ONE, Section("en-de", "en", "de")]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=9))
def test_whole_numbers_are_near_and_have_the_same_sum(amounts: list[float]) -> None:
    numbers = whole_numbers(amounts)
    assert sum(numbers) == round(sum(amounts))
    assert all(abs(number - amount) <= 1 for number, amount in zip(numbers, amounts, strict=True))


def test_a_temperature_evens_out_the_shares_and_keeps_the_sum() -> None:
    assert even_out([900, 100], 1) == pytest.approx([900, 100])
    assert even_out([900, 100], 2) == pytest.approx([750, 250])
    assert even_out([900, 100], 1e9) == pytest.approx([500, 500])


def test_portions_of_equal_size_are_seen_as_they_are() -> None:
    """Then an epoch is planned as without portions, bit for bit."""
    assert mixture_of(numbered(torch.tensor([0, 1, 0, 1])), THERE_AND_BACK, temperature=5) is None
    assert mixture_of(numbered(torch.tensor([0, 1, 1, 1])), THERE_AND_BACK, temperature=1) is None


def test_weights_multiply_the_pairs_of_a_corpus_and_a_temperature_evens_out_directions_alone() -> None:
    """Two directions of 8 + 2 and 2 + 1 pairs, of corpora with the weights 1 and 3: 14 and 5 pairs."""
    portions = [*THERE_AND_BACK, *(replace(portion, weight=3) for portion in THERE_AND_BACK)]
    portion_N = torch.tensor([0] * 8 + [1] * 2 + [2] * 2 + [3] * 1)
    kept, even = (mixture_of(numbered(portion_N), portions, temperature) for temperature in (1, 1e9))
    assert isinstance(kept, Mixture)
    assert isinstance(even, Mixture)
    assert kept.amounts == [8, 2, 6, 3]
    assert sum(even.amounts) == 19
    assert abs(even.amounts[0] + even.amounts[2] - 9.5) <= 1
    only = mixture_of(numbered(torch.tensor([0] * 5 + [1] * 5)), [ONE, replace(ONE, weight=0.5)], temperature=5)
    assert isinstance(only, Mixture)
    assert sum(only.amounts) == 8  # 7.5, rounded to the even number


def test_a_corpus_of_weight_0_is_left_out_and_an_empty_epoch_is_refused() -> None:
    portion_N, none = torch.tensor([0, 0, 1, 1, 1]), replace(ONE, weight=0)
    mixture = mixture_of(numbered(portion_N), [none, ONE], temperature=1)
    assert mixture
    assert rows_of(mixture, 1, 5).tolist() == [2, 3, 4]
    with pytest.raises(ValueError, match="the weights leave no pair for an epoch"):
        mixture_of(numbered(portion_N), [none, none], temperature=1)


@given(
    st.lists(st.tuples(st.integers(1, 7), st.integers(0, 20)), max_size=3), st.integers(0, 2**32 - 1), st.integers(1, 4)
)
def test_after_any_number_of_epochs_each_pair_of_a_portion_was_seen_equally_often(
    portions: list[tuple[int, int]], seed: int, epochs: int
) -> None:
    """As far as possible: once more or less."""
    sizes, amounts = zip(*portions, (3, 2), strict=True)
    portion_N = torch.tensor([n for n, size in enumerate(sizes) for _ in range(size)])
    portion_N = portion_N[torch.randperm(len(portion_N))]
    mixture = Mixture(numbered(portion_N), sizes, amounts)
    seen: Counter[int] = Counter()
    for epoch in range(epochs):
        index_N = rows_of(mixture, seed, epoch)
        assert torch.equal(index_N, rows_of(mixture, seed, epoch))
        assert torch.bincount(portion_N[index_N], minlength=len(sizes)).tolist() == list(amounts)
        seen.update(index_N.tolist())
    for number in range(len(sizes)):
        counts = {seen[n] for n in (portion_N == number).nonzero().flatten().tolist()}
        assert max(counts) - min(counts) <= 1


@given(
    st.lists(st.tuples(st.sampled_from([0, 0.25, 1 / 3, 0.5, 1, 1.7, 2, 100]), st.integers(0, 1)), min_size=1),
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
)
def test_a_pair_is_seen_as_often_as_its_weights_add_up_to(
    pairs: list[tuple[float, int]], seed: int, epochs: int
) -> None:
    """Rounded down or up; whole weights and 0 exactly."""
    weights, portions = zip(*pairs, strict=True)
    mixture = WeightedPairs(numbered(torch.tensor(portions), torch.tensor(weights)), [1, 0.5])
    seen: Counter[int] = Counter()
    for epoch in range(epochs):
        index_N = rows_of(mixture, seed, epoch)
        assert torch.equal(index_N, rows_of(mixture, seed, epoch)), "a run resumes without the epochs before"
        assert torch.equal(index_N, index_N.sort().values)
        seen.update(index_N.tolist())
    for n, weight in enumerate(torch.tensor(weights).tolist()):
        wanted = epochs * weight * mixture.factors[portions[n]]
        assert math.floor(wanted - 1e-5) <= seen[n] <= math.ceil(wanted + 1e-5)
        if wanted == round(wanted):
            assert seen[n] == wanted


def test_epochs_of_pairs_with_weights_have_nearly_the_same_size_and_other_pairs() -> None:
    weight_N = torch.rand(10_000, generator=torch.Generator().manual_seed(1))
    mixture = WeightedPairs(numbered(torch.zeros(10_000, dtype=torch.int64), weight_N), [1])
    taken = [rows_of(mixture, 1, epoch) for epoch in range(6)]
    assert all(abs(len(index_N) - float(weight_N.sum())) < 100 for index_N in taken)
    assert len({tuple(index_N.tolist()) for index_N in taken}) == 6
    assert not torch.equal(taken[0], rows_of(mixture, 2, 0))
    half = WeightedPairs(numbered(torch.zeros(1000, dtype=torch.int64), torch.full([1000], 0.5)), [1])
    first, second = rows_of(half, 1, 0), rows_of(half, 1, 1)
    assert len(first) == len(second) == 500
    assert torch.equal(torch.cat([first, second]).sort().values, torch.arange(1000))


def test_weights_of_pairs_multiply_those_of_corpora_and_a_temperature_evens_out_directions() -> None:
    """Directions of 4 pairs with the weights 3, 1, 0, 0 and 2 pairs with 0.5, whose corpus has weight 4: 4 and 4."""
    portion_N, weight_N = torch.tensor([0, 0, 0, 0, 1, 1]), torch.tensor([3, 1, 0, 0, 0.5, 0.5])
    portions = [ONE, replace(THERE_AND_BACK[1], weight=4)]
    mixture = mixture_of(numbered(portion_N, weight_N), portions, 1)
    assert mixture
    assert rows_of(mixture, 1, 0).tolist() == [0, 0, 0, 1, 4, 4, 5, 5]
    light = mixture_of(numbered(portion_N, weight_N), [ONE, replace(portions[1], weight=1)], 1e9)
    assert isinstance(light, WeightedPairs)
    assert light.factors == pytest.approx([2.5 / 4, 2.5])
    with pytest.raises(ValueError, match="the weights leave no pair for an epoch: raise those of pairs"):
        mixture_of(numbered(portion_N, torch.zeros(6)), portions, 1)
