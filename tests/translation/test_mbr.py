"""Utilities in minimum Bayes risk decoding are sacreBLEU's chrF; what most candidates are like has the highest."""

from collections.abc import Sequence

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF
from torch import Tensor

from nmt.translation import mbr
from nmt.translation.mbr import expected_utilities, pairwise_chrf

LIKE = [
    "The small dog runs across the meadow.",
    "A small dog runs across the meadow.",
    "The little dog runs across the meadow.",
    "The small dog is running across the meadow.",
]
OUTLIER = "Two men drink a coffee in front of the house!"
ODD = [
    "", " ", "a", "A", ".", "ab", "a b", "aaaaaaaaaa", "a a a a a", "a\tb\nc", "👍", "👩‍👩‍👧 👍👍", "小狗跑过草地。",
    "小狗 跑过 草地", "the the the the", "the the", "1,000.5 - 2-3", "(a) [b] {c}", "\x00",
    "&quot;a&quot; &amp; <skipped>b", "line-\nbreak", "end-\n", "end", "e\u0301", "\u00e9", "\u00a0x\u3000y\u200bz",
]  # fmt: skip

few = settings(max_examples=25, deadline=None, derandomize=True)
words = st.lists(st.sampled_from(["the", "dog", "dogs", "runs", ".", ",", "a", "小", "👍"]), max_size=9).map(" ".join)
texts = words | st.text("ab .", max_size=12) | st.text(max_size=8) | st.sampled_from(ODD)
candidate_lists = st.lists(texts, max_size=7)


def best(candidates: Sequence[str], log_probs: Sequence[float] | None = None) -> int:
    """The first of the candidates with the highest utility, which `Translator` returns."""
    utilities = expected_utilities(candidates, log_probs)
    return utilities.index(max(utilities))


def reference(candidates: Sequence[str]) -> Tensor:
    scores = [CHRF().sentence_score(hypothesis, [other]).score for hypothesis in candidates for other in candidates]
    return torch.tensor(scores, dtype=torch.float64).view(len(candidates), len(candidates))


@few
@given(candidates=candidate_lists)
@example(candidates=[])
@example(candidates=["", ""])
@example(candidates=[*LIKE, OUTLIER, *ODD, LIKE[1], ""])
def test_scores_of_any_text_are_sacrebleu_s(candidates: list[str]) -> None:
    torch.testing.assert_close(pairwise_chrf(candidates), reference(candidates), atol=1e-6, rtol=0)


@pytest.mark.parametrize("size", [1, 100, 1000])
def test_what_is_too_wide_for_memory_is_counted_in_parts(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = [*LIKE, OUTLIER, "the the the the", "the the"]
    whole = pairwise_chrf(candidates)
    monkeypatch.setattr(mbr, "MATRIX_SIZE", size)
    assert torch.equal(pairwise_chrf(candidates), whole)


def test_each_different_text_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted, count_matches = [], mbr.count_matches

    def count(texts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        counted.append(len(texts))
        return count_matches(texts)

    monkeypatch.setattr(mbr, "count_matches", count)
    assert pairwise_chrf([*LIKE, *LIKE, *LIKE]).shape == (12, 12)
    assert counted == [4]


@few
@given(candidates=candidate_lists, weighted=st.booleans(), turn=st.integers(1, 16))
@example(candidates=["the " * i for i in range(10)], weighted=False, turn=8)
def test_a_candidate_has_the_very_same_utility_in_any_order(candidates: list[str], weighted: bool, turn: int) -> None:
    moved = candidates[turn:] + candidates[:turn]
    utilities, after = (
        expected_utilities(texts, [-len(text) / 7 for text in texts] if weighted else None)
        for texts in (candidates, moved)
    )
    assert dict(zip(moved, after, strict=True)) == dict(zip(candidates, utilities, strict=True))


def test_utilities_are_means_of_scores_weighted_by_probability() -> None:
    candidates, probs = [*LIKE, OUTLIER], torch.tensor([0.02, 0.05, 0.01, 0.3, 0.12], dtype=torch.float64)
    scores = reference(candidates)
    assert expected_utilities(candidates, probs.log().tolist()) == pytest.approx(
        (scores @ (probs / probs.sum())).tolist()
    )
    assert expected_utilities(candidates) == pytest.approx(scores.mean(1).tolist())


def test_log_probabilities_far_below_zero_still_count() -> None:
    candidates = [*LIKE, OUTLIER]
    near = expected_utilities(candidates, [-1.0, -2.0, -3.0, -4.0, -5.0])
    assert expected_utilities(candidates, [-9001.0, -9002.0, -9003.0, -9004.0, -9005.0]) == near


def test_empty_candidates_are_worth_nothing_and_break_nothing() -> None:
    assert expected_utilities([]) == []
    assert expected_utilities(["", " ", ""], [-1.0, -2.0, -3.0]) == [0, 0, 0]
    assert best(["", ""]) == 0
    assert expected_utilities(["", LIKE[0]]) == pytest.approx([0, 50])
    assert best(["", "", "", LIKE[0]]) == 3
