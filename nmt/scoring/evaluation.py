"""How good a model is on a test set: sources and references in, translations and their scores out."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from nmt.scoring.metrics import Metric, Score, score
from nmt.translation.translator import Translator


@dataclass(frozen=True)
class HeldOut:
    """Text to translate and what it should become, in one version or several."""

    name: str
    sources: list[str]
    references: list[list[str]]


@dataclass(frozen=True)
class Evaluation:
    """How well a test set was translated."""

    scores: list[Score]
    translations: list[str]
    seconds: float
    """For translating; 0 if the translations were given."""


def evaluate(
    translator: Translator,
    sources: Sequence[str],
    *references: Sequence[str],
    metrics: Sequence[Metric] = ("bleu", "chrf"),
) -> Evaluation:
    """Translate and score.

    Raises:
        ValueError: the numbers of lines differ.
    """
    for lines in references:
        require_as_many(len(sources), "sources", len(lines), "references")
    started = time.perf_counter()
    translations = translator.translate(list(sources))
    seconds = time.perf_counter() - started
    return Evaluation(score(translations, *references, metrics=metrics), translations, seconds)


def require_as_many(n: int, what: str, m: int, other: str) -> None:
    if n != m:
        raise ValueError(f"{n:,} {what} but {m:,} {other}: each line needs its own")
