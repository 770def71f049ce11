"""Comparison of two systems: translations by the seeds of both flow in; whether one is really better flows out.

Sentences are drawn again and again, with replacement, the same ones for both (paired bootstrap: Koehn 2004): the 95%
interval of the difference of the means over seeds says how much it depends on them. N sentences, S seeds, R resamples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from nmt.scoring.metrics import USUAL_METRICS, Metric, Statistics, measure

RESAMPLES, SEED = 1000, 12345  # sacreBLEU's: its test draws the same sentences
FEWEST = 30  # sentences: resamples of fewer are too much alike, and those of a single one are all the same


@dataclass(frozen=True)
class Difference:
    """How far two systems are apart in a metric."""

    name: str
    signature: str
    a: list[float]  # the scores of its seeds
    b: list[float]
    difference: float  # the mean of A less that of B
    interval: tuple[float, float]
    better: str  # A or B, if 0 is outside the interval; else empty
    seeds_overlap: bool  # the ranges of A and B do; never if each has one seed


@dataclass(frozen=True)
class Comparison:
    """How far two systems are apart on a test set, and a sentence that says whether the difference is real."""

    sentences: int
    scores: list[Difference]
    verdict: str


def compare(
    a: Sequence[Sequence[str]],
    b: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    metrics: Sequence[Metric] = USUAL_METRICS,
    language: str = "",
) -> Comparison:
    """Compare the translations by each seed of system A with those by each seed of B. Errors are those of `score`."""
    measured = [measure(lines, *references, metrics=metrics, language=language) for lines in (*a, *b)]
    scores = [find_difference(seeds[: len(a)], seeds[len(a) :]) for seeds in zip(*measured, strict=True)]
    return Comparison(len(references[0]), scores, judge(len(references[0]), scores))


def find_difference(a: Sequence[Statistics], b: Sequence[Statistics]) -> Difference:
    values_a, values_b = ([each.value(each.rows_ND.sum(0)) for each in seeds] for seeds in (a, b))
    sampled_SR = resample([*a, *b])
    # Rounded: the order of seeds may change the last bits of a mean.
    difference_R = (sampled_SR[: len(a)].mean(0) - sampled_SR[len(a) :].mean(0)).round(9)
    low, high = np.quantile(difference_R, [0.025, 0.975]).tolist()
    better = "" if low <= 0 <= high else "A" if (low > 0) != (a[0].name == "TER") else "B"
    overlap = len(a) + len(b) > 2 and max(values_a) >= min(values_b) and max(values_b) >= min(values_a)
    value = fmean(values_a) - fmean(values_b)
    return Difference(a[0].name, a[0].signature, values_a, values_b, value, (low, high), better, overlap)


def resample(seeds: Sequence[Statistics]) -> NDArray[np.float64]:
    """The scores of each seed on sentences that are drawn with replacement, always the same ones, shape (S, R)."""
    rng, n = np.random.default_rng(SEED), len(seeds[0].rows_ND)
    sampled_SR = np.empty((len(seeds), RESAMPLES))
    for r in range(RESAMPLES):
        times_N = np.bincount(rng.integers(n, size=n), minlength=n).astype(float)
        sampled_SR[:, r] = [each.value(times_N @ each.rows_ND) for each in seeds]
    return sampled_SR


def judge(sentences: int, scores: Sequence[Difference]) -> str:
    if sentences < FEWEST:
        return f"There are too few sentences to tell A and B apart: {sentences}, not {FEWEST}."
    if not any(end for each in scores for end in each.interval):
        return "There is no difference at all between A and B."
    real = {name: ", ".join(s.name for s in scores if s.better == name and not s.seeds_overlap) for name in "AB"}
    claims = " but ".join(f"{name} is better ({metrics})" for name, metrics in real.items() if metrics)
    overlap = ", ".join(s.name for s in scores if s.better and s.seeds_overlap)
    parts = [f"The difference is real: {claims}" if claims else "The difference may be chance"]
    parts += [f"the seeds of A and B overlap ({overlap})"] if overlap else []
    alone = min(len(scores[0].a), len(scores[0].b)) == 1
    parts += ["the random start of training isn't covered, which needs several seeds of both"] if alone else []
    return "; ".join(parts) + "."


def print_comparisons(found: Mapping[str, Comparison]) -> None:
    """Print a row for each test set and metric, then the verdicts and the signatures."""
    table = Table("test", "score", "A", "B", "A − B", "95% interval")
    console = Console(markup=False, highlight=False)  # names of files may have brackets
    for name, comparison in found.items():
        for s in comparison.scores:
            interval = "{:+.2f} to {:+.2f}".format(*s.interval)
            table.add_row(name, s.name, show_seeds(s.a), show_seeds(s.b), f"{s.difference:+.2f}", interval)
    console.print(table)
    signatures = [s.signature for s in next(iter(found.values())).scores]
    for line in [*(f"{name}: {comparison.verdict}" for name, comparison in found.items()), *signatures]:
        console.print(line, soft_wrap=True)


def show_seeds(scores: Sequence[float]) -> str:
    """Their mean; of several, also their range."""
    return f"{fmean(scores):.2f}" + (f" ({min(scores):.2f} to {max(scores):.2f})" if len(scores) > 1 else "")
