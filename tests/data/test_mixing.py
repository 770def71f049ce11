"""How often pairs are seen is exact, and a pure function of the sizes, the seed and the epoch."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.mixing import Mixture, even_out, mixture_of, whole_numbers


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
    assert mixture_of(torch.tensor([0, 1, 0, 1]), 2, temperature=5) is None
    assert mixture_of(torch.tensor([0, 1, 1, 1]), 2, temperature=1) is None


@given(
    st.lists(st.tuples(st.integers(1, 7), st.integers(0, 20)), max_size=3), st.integers(0, 2**32 - 1), st.integers(1, 4)
)
def test_after_any_number_of_epochs_each_pair_of_a_portion_was_seen_equally_often(
    portions: list[tuple[int, int]], seed: int, epochs: int
) -> None:
    """As far as possible: once more or less."""
    sizes, amounts = zip(*portions, (3, 2), strict=True)
    portion_N = torch.tensor([n for n, size in enumerate(sizes) for _ in range(size)])
    mixture = Mixture(portion_N[torch.randperm(len(portion_N))], amounts)
    seen: Counter[int] = Counter()
    for epoch in range(epochs):
        index_N = mixture.pairs(seed, epoch)
        assert torch.equal(index_N, mixture.pairs(seed, epoch))
        assert torch.bincount(mixture.portion_N[index_N], minlength=len(sizes)).tolist() == list(amounts)
        seen.update(index_N.tolist())
    for number in range(len(sizes)):
        counts = {seen[n] for n in (mixture.portion_N == number).nonzero().flatten().tolist()}
        assert max(counts) - min(counts) <= 1
