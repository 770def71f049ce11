"""Corpus scores: translations and references in; BLEU, chrF and TER out, each with the signature to repeat it by.

All are sacreBLEU's (Post 2018): detokenised, cased; BLEU (Papineni et al. 2002) with the 13a tokenisation, chrF2
(Popović 2015), TER (Snover et al. 2006). Never scores of pieces or of lower-cased text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from nmt.config import require

Metric = Literal["bleu", "chrf", "ter"]

NAMES: dict[Metric, str] = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}


@dataclass(frozen=True)
class Score:
    """A corpus score."""

    name: str
    """As it is written: BLEU, chrF, TER."""

    value: float
    """From 0 to 100; TER may be above. Higher is better for BLEU and chrF, lower for TER."""

    signature: str
    """sacreBLEU's record of everything that the value depends on."""


def score(
    hypotheses: Sequence[str], *references: Sequence[str], metrics: Sequence[Metric] = ("bleu", "chrf")
) -> list[Score]:
    """Score a corpus of translations against one or more references for each, a score for each of `metrics`.

    Raises:
        ValueError: there is nothing to score, or the numbers of lines differ.
    """
    require(len(references) > 0, "scoring needs a reference")
    for lines in references:
        require(
            len(lines) == len(hypotheses),
            f"{len(hypotheses):,} translations but {len(lines):,} references: each line needs its own",
        )
    require(len(hypotheses) > 0, "there are no lines to score")
    return [score_one(metric, hypotheses, references) for metric in metrics]


def score_one(metric: Metric, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    # force: no warning about text that looks tokenised, which the translations of early steps often do.
    scorer = {"bleu": BLEU(tokenize="13a", force=True), "chrf": CHRF(), "ter": TER()}[metric]
    result = scorer.corpus_score(hypotheses, references)
    return Score(NAMES[metric], result.score, f"{result.name}|{scorer.get_signature()}")
