"""Corpus scores: translations and references flow in; BLEU, chrF and TER flow out, with sacreBLEU signatures.

All are sacreBLEU's (Post 2018): detokenised, cased; BLEU (Papineni et al. 2002) with the 13a tokenisation, chrF2
(Popović 2015), TER (Snover et al. 2006). To add a metric, extend `Metric` and `score`, and add an option like --ter to
`nmt.evaluate`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from nmt.fields import require

Metric = Literal["bleu", "chrf", "ter"]


@dataclass(frozen=True)
class Score:
    """A corpus score."""

    name: str
    """BLEU, chrF or TER."""

    value: float
    """From 0 to 100; TER may be above. Higher is better for BLEU and chrF, lower for TER."""

    signature: str
    """sacreBLEU's record of everything that the value depends on."""


def score(
    hypotheses: Sequence[str], *references: Sequence[str], metrics: Sequence[Metric] = ("bleu", "chrf")
) -> list[Score]:
    """Score a corpus against one or more references; ValueError if it is empty, or the numbers of lines differ."""
    n = len(hypotheses)
    require(len(references) > 0, "scoring needs a reference")
    for lines in references:
        require(len(lines) == n, f"{n:,} translations but {len(lines):,} references: each line needs its own")
    require(n > 0, "there are no lines to score")
    # force: no warning about text that looks tokenised, which the translations of early steps often do.
    scorers = {"bleu": ("BLEU", BLEU(tokenize="13a", force=True)), "chrf": ("chrF", CHRF()), "ter": ("TER", TER())}
    scores = []
    for name, scorer in (scorers[metric] for metric in metrics):
        result = scorer.corpus_score(hypotheses, references)
        scores.append(Score(name, result.score, f"{result.name}|{scorer.get_signature()}"))
    return scores
