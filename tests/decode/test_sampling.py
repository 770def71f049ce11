"""Samples follow the model's distribution, whatever the batch, and come again with the same seed."""

from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from nmt.config import SearchConfig
from nmt.decode import sampling
from nmt.decode.beam import force_score
from nmt.decode.hypothesis import FORBIDDEN_IDS
from nmt.decode.sampling import sample, sample_pieces
from nmt.vocabulary import EOS
from tests.decode.families import batch, random_model

pytestmark = pytest.mark.usefixtures("family")
seeds = st.integers(0, 2**16)
many = settings(max_examples=15, deadline=None, derandomize=True)


SOURCES = [[5, 6, 7, 8, 9], [4], [20, 21, 22], [9, 9, 9, 9], [11, 12]]


@many
@given(seed=seeds, order=st.permutations(range(5)), size=st.integers(1, 5), temperature=st.sampled_from([0.5, 1.5]))
def test_samples_are_the_same_in_every_batch(seed: int, order: list[int], size: int, temperature: float) -> None:
    model = random_model(seed, all_weights=1.0)
    options = SearchConfig(samples=3, temperature=temperature, seed=seed)
    together = sample(model, *batch(SOURCES), options)
    for part in (order[i : i + size] for i in range(0, 5, size)):
        for i, apart in zip(part, sample(model, *batch([SOURCES[i] for i in part]), options), strict=True):
            assert [h.ids for h in apart] == [h.ids for h in together[i]]


def test_many_long_samples_are_taken_in_parts_and_stay_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model, options = random_model(1, all_weights=1.0), SearchConfig(samples=7)
    whole, rows, step = sample(model, *batch(SOURCES[:1]), options), list[int](), model.step

    def noted(tokens_NW: Tensor, cache: Any) -> Tensor:
        rows.append(tokens_NW.size(1))
        return step(tokens_NW, cache)

    monkeypatch.setattr(model, "step", noted)
    monkeypatch.setattr(sampling, "MAX_SLOTS", 3 * 21)
    parts = sample(model, *batch(SOURCES[:1]), options)
    assert [[h.ids for h in found] for found in parts] == [[h.ids for h in found] for found in whole]
    assert set(rows) == {3, 1}


@many
@given(seed=seeds, top_k=st.sampled_from([0, 3]), top_p=st.sampled_from([1.0, 0.7]))
@torch.no_grad()
def test_a_sample_has_the_score_that_the_model_gives_it_when_forced(seed: int, top_k: int, top_p: float) -> None:
    model = random_model(seed, all_weights=1.0)
    options = SearchConfig(samples=4, top_k=top_k, top_p=top_p, temperature=0.8)
    for found, source in zip(sample(model, *batch(SOURCES), options), SOURCES, strict=True):
        limit = 2 * len(source) + 10
        for h in found:
            assert not {*h.ids} & {*FORBIDDEN_IDS, EOS}
            assert len(h.ids) <= limit
            assert h.finished == (len(h.ids) < limit)
            forced_T = force_score(model, *batch([source]), *batch([h.ids]))[0].tolist()
            assert h.token_log_probs == pytest.approx(forced_T, abs=1e-4)


@many
@given(seed=seeds, min_length=st.integers(0, 5), extra=st.integers(0, 4))
def test_samples_keep_to_their_lengths(seed: int, min_length: int, extra: int) -> None:
    options = SearchConfig(samples=5, min_length=min_length, max_length=min_length + extra or 1)
    for found in sample(random_model(seed, all_weights=1.0), *batch(SOURCES), options):
        assert all(min_length <= len(h.ids) <= options.max_length for h in found)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (SearchConfig(), [0.4, 0.3, 0.2, 0.1]),
        (SearchConfig(top_k=2), [4 / 7, 3 / 7, 0, 0]),
        (SearchConfig(top_p=0.69), [4 / 7, 3 / 7, 0, 0]),
        (SearchConfig(top_p=0.71), [4 / 9, 3 / 9, 2 / 9, 0]),
        (SearchConfig(min_p=0.45), [4 / 9, 3 / 9, 2 / 9, 0]),
        (SearchConfig(temperature=0.5), [16 / 30, 9 / 30, 4 / 30, 1 / 30]),
        (SearchConfig(top_k=3, top_p=0.6, temperature=1.0), [4 / 7, 3 / 7, 0, 0]),
    ],
)
def test_pieces_are_sampled_as_often_as_they_are_likely(options: SearchConfig, expected: list[float]) -> None:
    order = [2, 0, 3, 1]
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()[torch.tensor(order)]
    numbers = (torch.arange(10_000, dtype=torch.float64) + 0.5) / 10_000
    sampled = sample_pieces(logits.expand(1, 10_000, 4), numbers[None], options)[0].tolist()
    counts = Counter(order[i] for i in sampled)
    assert [counts[i] / 10_000 for i in range(4)] == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("number", [0.0, 1 - 2**-53])
def test_what_is_forbidden_is_never_sampled(number: float) -> None:
    logits = torch.tensor([[[-torch.inf, 1.0, -torch.inf, 0.0, -torch.inf]]])
    for options in (SearchConfig(), SearchConfig(top_k=4), SearchConfig(top_p=0.999), SearchConfig(min_p=0.1)):
        assert int(sample_pieces(logits, torch.tensor([[number]], dtype=torch.float64), options)) in (1, 3)


def test_broken_weights_are_named() -> None:
    model = random_model(1, all_weights=1.0)
    with torch.no_grad():
        model.output.weight.fill_(torch.nan)
    with pytest.raises(ValueError, match="not numbers"):
        sample(model, *batch([[4]]), SearchConfig(samples=2))
