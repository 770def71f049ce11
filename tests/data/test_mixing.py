"""How often pairs are seen is exact, and a pure function of the sizes, the seed and the epoch."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.batches import Pairs, Sequences, repeated_rows
from nmt.data.mixing import Mixture, even_out, mixture_of, whole_numbers
from nmt.data.sections import Section

ONE = Section("de-en", "de", "en")


def numbered(portion_N: torch.Tensor) -> Pairs:
    """Pairs of these portions, without text."""
    texts = Sequences.of([[]] * len(portion_N))
    return Pairs(texts, texts, portion_N=portion_N)


def rows_of(mixture: Mixture, seed: int, epoch: int) -> torch.Tensor:
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
    mixtures: Any = (mixture_of(numbered(portion_N), portions, temperature) for temperature in (1, 1e9))
    kept, even = mixtures
    assert kept.amounts == [8, 2, 6, 3]
    assert sum(even.amounts) == 19
    assert abs(even.amounts[0] + even.amounts[2] - 9.5) <= 1
    only: Any = mixture_of(numbered(torch.tensor([0] * 5 + [1] * 5)), [ONE, replace(ONE, weight=0.5)], temperature=5)
    assert sum(only.amounts) == 8  # 7.5, rounded to the even number


def test_a_corpus_of_weight_0_is_left_out_and_an_empty_epoch_is_refused() -> None:
    portion_N, none = torch.tensor([0, 0, 1, 1, 1]), replace(ONE, weight=0)
    mixture = mixture_of(numbered(portion_N), [none, ONE], temperature=1)
    assert mixture
    assert rows_of(mixture, 1, 5).tolist() == [2, 3, 4]
    with pytest.raises(ValueError, match="the weights leave no pair for an epoch"):
        mixture_of(numbered(portion_N), [none, none], temperature=1)


@given(st.lists(st.tuples(st.integers(1, 7), st.integers(0, 20)), max_size=3), st.integers(0, 2**31), st.integers(1, 4))
def test_pairs_of_a_portion_are_seen_equally_often(portions: list[tuple[int, int]], seed: int, epochs: int) -> None:
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
