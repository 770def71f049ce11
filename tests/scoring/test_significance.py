"""A difference is real if neither the sentences that are drawn nor the seeds decide which system is better."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from sacrebleu.metrics.base import Metric as Base
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result

from nmt.scoring.metrics import Metric, measure, score
from nmt.scoring.significance import FEWEST, RESAMPLES, compare, resample

METRICS: tuple[Metric, ...] = ("bleu", "chrf", "exact", "ter")
WORDS = [*"abcdefghij", "the", "dog", "runs", "sleeps", "under", "trees"]


def text(seed: int, lines: int = 40) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(4, 12))) for _ in range(lines)]


def spoiled(lines: list[str], share: float, seed: int) -> list[str]:
    """The lines with another word in place of this share of their words."""
    rng = random.Random(seed)
    return [" ".join("other" if rng.random() < share else word for word in line.split()) for line in lines]


@given(seed=integers(0, 2**16))
@settings(max_examples=5, deadline=None)
def test_equal_systems_are_never_different(seed: int) -> None:
    reference = text(seed)
    seeds = [spoiled(reference, 0.1 * n, seed + n) for n in (1, 2, 3)]
    for a, b in (([seeds[0]], [seeds[0]]), (seeds, seeds[::-1])):
        found = compare(a, b, [reference], METRICS)
        assert found.verdict == "There is no difference at all between A and B."
        assert all((s.better, *s.interval) == ("", 0, 0) for s in found.scores)
        assert [s.difference for s in found.scores] == pytest.approx([0] * 4)


@given(seed=integers(0, 2**16))
@settings(max_examples=5, deadline=None)
def test_a_system_that_is_better_in_every_line_is_better(seed: int) -> None:
    reference = text(seed)
    worse = [line + " and more of it" for line in reference]
    found = compare([reference], [worse], [reference], METRICS)
    assert [s.better for s in found.scores] == ["A"] * 4
    assert found.verdict.startswith("The difference is real: A is better (BLEU, chrF, exact, TER); the random start of")


@given(seed=integers(0, 2**16))
@settings(max_examples=5, deadline=None)
def test_swapping_both_swaps_the_sign_and_nothing_is_left_to_chance(seed: int) -> None:
    reference = text(seed)
    a, b = ([spoiled(reference, share, seed + n) for n in range(2)] for share in (0.2, 0.3))
    found, swapped = compare(a, b, [reference], METRICS), compare(b, a, [reference], METRICS)
    assert found == compare(a, b, [reference], METRICS)
    for one, other in zip(found.scores, swapped.scores, strict=True):
        assert (one.a, one.b) == (other.b, other.a)
        assert (one.difference, *one.interval) == pytest.approx(
            (-other.difference, *(-x for x in other.interval[::-1]))
        )
        assert (one.better, other.better) in (("A", "B"), ("B", "A"), ("", ""))
        assert one.seeds_overlap == other.seeds_overlap


def test_resamples_are_those_of_sacrebleu_s_paired_test() -> None:
    reference = text(1, 200)
    named: list[tuple[str, Sequence[str]]] = [
        ("baseline", spoiled(reference, 0.2, 2)),
        ("system", spoiled(reference, 0.22, 3)),
    ]
    theirs: dict[str, Base] = {"BLEU": BLEU(force=True), "chrF2": CHRF(), "TER": TER()}
    _, rows = PairedTest(named, theirs, [reference], "bs", RESAMPLES)()
    (_, a), (_, b) = named
    metrics: tuple[Metric, ...] = ("bleu", "chrf", "ter")
    seeds = [measure(lines, reference, metrics=metrics, language="") for lines in (a, b)]
    found = compare([a], [b], [reference], metrics)
    for name, both, ours in zip(theirs, zip(*seeds, strict=True), found.scores, strict=True):
        _, of_b = rows[name]
        assert isinstance(of_b, Result)
        assert of_b.p_value is not None
        sampled_SR = resample(both)
        lower, *_, upper = np.sort(sampled_SR[1])[25:975]
        assert (sampled_SR[1].mean(), (upper - lower) / 2) == pytest.approx((of_b.mean, of_b.ci)), name
        difference_R = abs(sampled_SR[0] - sampled_SR[1])
        beyond = (difference_R - difference_R.mean() > abs(ours.difference)).sum()
        assert of_b.p_value == pytest.approx((beyond + 1) / (RESAMPLES + 1)), name
        assert bool(ours.better) == (of_b.p_value < 0.05), name


def test_scores_of_seeds_are_those_of_each_and_their_ranges_may_overlap() -> None:
    reference = text(1, 200)
    good, same, bad, worse = (spoiled(reference, share, 4) for share in (0.1, 0.1, 0.3, 0.5))
    apart = compare([good, bad], [worse], [reference], ["bleu"])
    assert apart.scores[0].a == [score(lines, reference)[0].value for lines in (good, bad)]
    assert (apart.scores[0].better, apart.scores[0].seeds_overlap) == ("A", False)
    assert apart.verdict.startswith("The difference is real: A is better (BLEU); the random start")
    both = compare([worse, bad], [bad, good], [reference], ["bleu", "chrf"])
    assert [(s.better, s.seeds_overlap) for s in both.scores] == [("B", True)] * 2
    assert both.verdict == "The difference may be chance; the seeds of A and B overlap (BLEU, chrF)."
    clear = compare([good, same], [bad, worse], [reference], ["bleu"])
    assert clear.verdict == "The difference is real: A is better (BLEU)."


def test_metrics_may_disagree() -> None:
    reference = text(3)
    a = reference[:20] + [""] * 20
    b = [line + "s" for line in reference]
    assert "A is better (exact) but B is better (chrF)" in compare([a], [b], [reference], ["exact", "chrf"]).verdict


def test_few_sentences_show_nothing() -> None:
    reference = text(1, FEWEST - 1)
    found = compare([reference], [spoiled(reference, 1, 1)], [reference])
    assert found.verdict == "There are too few sentences to tell A and B apart: 29, not 30."
