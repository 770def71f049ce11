"""The utilities of minimum Bayes risk decoding are sacreBLEU's, and the choice is what most candidates are like."""

import math
from collections.abc import Sequence
from itertools import permutations

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from torch import Tensor

from nmt.translation import mbr
from nmt.translation.mbr import Metric, choose, expected_utilities, pairwise_bleu, pairwise_chrf

LIKE = [
    "The small dog runs across the meadow.",
    "A small dog runs across the meadow.",
    "The little dog runs across the meadow.",
    "The small dog is running across the meadow.",
]
OUTLIER = "Two men drink a coffee in front of the house!"
ODD = [
    "",
    " ",
    "a",
    "A",
    ".",
    "ab",
    "a b",
    "aaaaaaaaaa",
    "a a a a a",
    "a\tb\nc",
    "👍",
    "👩‍👩‍👧 👍👍",
    "小狗跑过草地。",
    "小狗 跑过 草地",
    "the the the the",
    "the the",
    "1,000.5 - 2-3",
    "(a) [b] {c}",
    "\x00",
    "&quot;a&quot; &amp; <skipped>b",
    "line-\nbreak",
    "end-\n",
    "end",
    "e\u0301",
    "\u00e9",
    "\u00a0x\u3000y\u200bz",
]
METRICS: list[Metric] = ["chrf", "bleu"]

few = settings(max_examples=25, deadline=None, derandomize=True)
both = pytest.mark.parametrize("metric", METRICS)
words = st.lists(st.sampled_from(["the", "dog", "dogs", "runs", ".", ",", "a", "小", "👍"]), max_size=9).map(" ".join)
texts = words | st.text("ab .", max_size=12) | st.text(max_size=8) | st.sampled_from(ODD)
candidate_lists = st.lists(texts, max_size=7)


def pairwise(metric: Metric, candidates: Sequence[str]) -> Tensor:
    return pairwise_chrf(candidates) if metric == "chrf" else pairwise_bleu(candidates)


def reference(metric: Metric, candidates: Sequence[str]) -> Tensor:
    scorer = CHRF() if metric == "chrf" else BLEU(effective_order=True, tokenize="13a")
    scores = [scorer.sentence_score(hypothesis, [other]).score for hypothesis in candidates for other in candidates]
    return torch.tensor(scores, dtype=torch.float64).view(len(candidates), len(candidates))


def assert_agrees_with_sacrebleu(metric: Metric, candidates: Sequence[str]) -> None:
    torch.testing.assert_close(pairwise(metric, candidates), reference(metric, candidates), atol=1e-6, rtol=0)


@both
def test_scores_of_all_pairs_are_sacrebleu_s(metric: Metric) -> None:
    assert_agrees_with_sacrebleu(metric, [*LIKE, OUTLIER, *ODD, LIKE[1], ""])


@both
@few
@given(candidates=candidate_lists)
@example(candidates=[])
@example(candidates=["", ""])
def test_scores_of_any_text_are_sacrebleu_s(metric: Metric, candidates: list[str]) -> None:
    assert_agrees_with_sacrebleu(metric, candidates)


@both
@pytest.mark.parametrize("size", [1, 100, 1000])
def test_what_is_too_wide_for_memory_is_counted_in_parts(
    metric: Metric, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates = [*LIKE, OUTLIER, "the the the the", "the the"]
    whole = pairwise(metric, candidates)
    monkeypatch.setattr(mbr, "MATRIX_SIZE", size)
    assert torch.equal(pairwise(metric, candidates), whole)


@both
def test_each_different_text_is_counted_once(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, count_matches = [], mbr.count_matches

    def count(sequences: Sequence[Sequence[int]], max_order: int) -> tuple[Tensor, Tensor]:
        counted.append(len(sequences))
        return count_matches(sequences, max_order)

    monkeypatch.setattr(mbr, "count_matches", count)
    assert pairwise(metric, [*LIKE, *LIKE, *LIKE]).shape == (12, 12)
    assert counted == [4]


@both
@few
@given(candidates=candidate_lists, weighted=st.booleans(), turn=st.integers(1, 16))
@example(candidates=["the " * i for i in range(10)], weighted=False, turn=8)
def test_a_candidate_has_the_very_same_utility_in_any_order(
    metric: Metric, candidates: list[str], weighted: bool, turn: int
) -> None:
    moved = candidates[turn:] + candidates[:turn]
    utilities, after = (
        expected_utilities(texts, [-len(text) / 7 for text in texts] if weighted else None, metric)
        for texts in (candidates, moved)
    )
    assert dict(zip(moved, after, strict=True)) == dict(zip(candidates, utilities, strict=True))


@both
def test_the_order_of_candidates_does_not_alter_the_choice(metric: Metric) -> None:
    chosen = {order[choose(order, None, metric)] for order in permutations([*LIKE[:3], OUTLIER])}
    assert len(chosen) == 1


@both
def test_what_most_candidates_are_like_beats_an_outlier_wherever_it_is(metric: Metric) -> None:
    for place in range(len(LIKE) + 1):
        candidates = [*LIKE[:place], OUTLIER, *LIKE[place:]]
        utilities = expected_utilities(candidates, None, metric)
        assert min(utilities) == utilities[place]
        assert candidates[choose(candidates, None, metric)] in LIKE


@both
def test_utilities_are_means_of_scores_weighted_by_probability(metric: Metric) -> None:
    candidates, probs = [*LIKE, OUTLIER], torch.tensor([0.02, 0.05, 0.01, 0.3, 0.12], dtype=torch.float64)
    scores = reference(metric, candidates)
    assert expected_utilities(candidates, probs.log().tolist(), metric) == pytest.approx(
        (scores @ (probs / probs.sum())).tolist()
    )
    assert expected_utilities(candidates, None, metric) == pytest.approx(scores.mean(1).tolist())


@both
def test_an_outlier_that_is_probable_enough_is_chosen(metric: Metric) -> None:
    candidates = [*LIKE, OUTLIER]
    assert choose(candidates, [math.log(0.025)] * 4 + [math.log(0.9)], metric) == 4
    assert choose(candidates, [math.log(0.2)] * 5, metric) == choose(candidates, None, metric) != 4


@both
def test_log_probabilities_far_below_zero_still_count(metric: Metric) -> None:
    candidates = [*LIKE, OUTLIER]
    near = expected_utilities(candidates, [-1.0, -2.0, -3.0, -4.0, -5.0], metric)
    assert expected_utilities(candidates, [-9001.0, -9002.0, -9003.0, -9004.0, -9005.0], metric) == near


@both
def test_duplicates_count_as_often_as_they_occur(metric: Metric) -> None:
    once = expected_utilities([LIKE[0], OUTLIER, LIKE[1]], [0.0, math.log(3), 0.0], metric)
    often = expected_utilities([LIKE[0], OUTLIER, OUTLIER, LIKE[1], OUTLIER], None, metric)
    assert often == pytest.approx([once[0], once[1], once[1], once[2], once[1]])
    assert choose([LIKE[0], OUTLIER, LIKE[1]], None, metric) != 1
    assert choose([LIKE[0], OUTLIER, OUTLIER, LIKE[1], OUTLIER], None, metric) == 1


@both
def test_of_equals_the_first_is_chosen(metric: Metric) -> None:
    assert choose([OUTLIER, *LIKE[:1] * 3, OUTLIER], None, metric) == 1
    assert choose(["one word", "other text"], None, "bleu") == 0
    assert choose([OUTLIER], [-7.5], metric) == 0


@both
def test_empty_candidates_are_worth_nothing_and_break_nothing(metric: Metric) -> None:
    assert expected_utilities([], None, metric) == []
    assert expected_utilities(["", " ", ""], [-1.0, -2.0, -3.0], metric) == [0, 0, 0]
    assert choose(["", ""], None, metric) == 0
    assert expected_utilities(["", LIKE[0]], None, metric) == pytest.approx([0, 50])
    assert choose(["", "", "", LIKE[0]], None, metric) == 3


@both
def test_each_candidate_needs_its_probability(metric: Metric) -> None:
    with pytest.raises(ValueError, match="shorter"):
        expected_utilities(LIKE, [-1.0] * 3, metric)
