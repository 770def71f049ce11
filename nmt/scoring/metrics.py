"""Corpus scores: translations and references flow in; BLEU, chrF, exact matches and TER flow out, with signatures.

BLEU, chrF and TER are sacreBLEU's (Post 2018): detokenised, cased; BLEU (Papineni et al. 2002) with the 13a
tokenisation, chrF2 (Popović 2015), TER (Snover et al. 2006). An exact match is a translation that is equal to a
reference: it still tells systems apart where BLEU is near 100. To add a metric, extend `Metric` and `score`, and add an
option like --ter to `nmt.evaluate`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from nmt.fields import require

Metric = Literal["bleu", "chrf", "exact", "ter"]
USUAL_METRICS: tuple[Metric, ...] = ("bleu", "chrf", "exact")


@dataclass(frozen=True)
class Score:
    """A corpus score."""

    name: str
    """BLEU, chrF, exact or TER."""

    value: float
    """From 0 to 100; TER may be above. Higher is better, but for TER lower."""

    signature: str
    """The record, in sacreBLEU's form, of everything that the value depends on."""


def score(
    hypotheses: Sequence[str], *references: Sequence[str], metrics: Sequence[Metric] = USUAL_METRICS
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
    for metric in metrics:
        if metric == "exact":
            matches = sum(line in each for line, *each in zip(hypotheses, *references, strict=True))
            scores.append(Score("exact", 100 * matches / n, f"exact|nrefs:{len(references)}|case:mixed|tok:none"))
            continue
        name, scorer = scorers[metric]
        result = scorer.corpus_score(hypotheses, references)
        scores.append(Score(name, result.score, f"{result.name}|{scorer.get_signature()}"))
    return scores
