"""Corpus scores: translations and references flow in; BLEU, chrF, exact matches and TER flow out, with signatures.

BLEU, chrF and TER are sacreBLEU's (Post 2018) on detokenised text in NFC, cased but for TER: BLEU (Papineni et al.
2002) with the tokenisation of the target language, chrF2 (Popović 2015), TER (Snover et al. 2006). An exact match is a
translation that is equal to a reference: it still tells systems apart where BLEU is near 100.

Shapes: N sentences; D what a sentence adds, such as its words.
"""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from nmt.extras import install
from nmt.fields import read_value, require, texts_of
from nmt.messages import say
from nmt.text.languages import scripts_of, short_code

Metric = Literal["bleu", "chrf", "exact", "ter"]
Scorer = BLEU | CHRF | TER
USUAL_METRICS: tuple[Metric, ...] = ("bleu", "chrf", "exact")


@dataclass(frozen=True)
class Score:
    """A corpus score."""

    name: str
    value: float
    """From 0 to 100; TER may be above. Higher is better, but for TER lower."""
    signature: str
    """The record, in sacreBLEU's form, of everything that the value depends on."""


# By a script of the target language, the first that fits: sacreBLEU's tokenizer for BLEU. Others have 13a, which
# splits at spaces and punctuation, and so takes a whole sentence of these for a word.
TOKENIZERS = {"HIRAGANA": "ja-mecab", "HANGUL": "ko-mecab", "CJK": "zh"}
TOKENIZERS |= dict.fromkeys(("THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"), "char")


@cache
def bleu_tokenizer(language: str) -> str:
    """sacreBLEU's tokenizer for a target language, by its code; char, with a message, if a package is missing."""
    scripts = scripts_of(language)
    name = next((tokenizer for script, tokenizer in TOKENIZERS.items() if script in scripts), "13a")
    try:
        BLEU(tokenize=name)
    except RuntimeError:
        problem = f"BLEU of {language} is computed on characters, because the tokenizer {name} is not installed"
        say(f"{problem}; for words: {install(short_code(language))}")
        return "char"
    return name


@dataclass(frozen=True)
class Statistics:
    """What a score is computed from: the sum of the rows of all sentences."""

    name: str
    signature: str
    rows_ND: NDArray[np.float64]
    scorer: Scorer | None  # None: the first number as a percentage of the second

    def value(self, sums_D: NDArray[np.float64]) -> float:
        """The score of sentences with these sums."""
        sums: list[Any] = sums_D.tolist()
        value = self.scorer._compute_score_from_stats(sums).score if self.scorer else 100 * sums[0] / sums[1]
        return 100.0 if math.isclose(value, 100) else value  # sacreBLEU gives a perfect BLEU 100.00000000000004


def score(
    hypotheses: Sequence[str], *references: Sequence[str], metrics: Sequence[Metric] = USUAL_METRICS, language: str = ""
) -> list[Score]:
    """Score a corpus against one or more references; ValueError if it is empty, or the numbers of lines differ.
    `language`: the code of the target language, which decides BLEU's tokenizer."""
    found = measure(hypotheses, *references, metrics=metrics, language=language)
    return [Score(s.name, s.value(s.rows_ND.sum(0)), s.signature) for s in found]


def check_lines(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], metrics: Sequence[Metric]
) -> tuple[list[tuple[str, ...]], list[Metric]]:
    """Hypotheses and references, and the metrics. TypeError for other than lists of strings, ValueError for others."""
    texts = [texts_of(hypotheses, "the list of lines"), *(texts_of(lines, "a reference") for lines in references)]
    n = len(texts[0])
    require(len(references) > 0, "scoring needs a reference")
    for lines in texts:
        require(len(lines) == n, f"{n:,} translations but {len(lines):,} references: each line needs its own")
    require(n > 0, "there are no lines to score")
    return texts, [read_value(metric, Metric, "a metric") for metric in texts_of(metrics, "metrics")]


def measure(
    hypotheses: Sequence[str], *references: Sequence[str], metrics: Sequence[Metric], language: str
) -> list[Statistics]:
    """The statistics of each sentence, for each metric; arguments and errors as of `score`."""
    sides, metrics = check_lines(hypotheses, references, metrics)
    # Translations are in NFC: a reference with marks apart from its letters (NFD) has the same letters.
    texts = [[unicodedata.normalize("NFC", line) for line in side] for side in sides]
    # force: no warning about text that looks tokenised, which the translations of early steps often do.
    bleu = BLEU(tokenize=bleu_tokenizer(language), force=True)
    scripts = scripts_of(language)
    unspaced = "CJK" in scripts and "HANGUL" not in scripts  # else a whole sentence is one word
    ter = TER(normalized=unspaced, asian_support=unspaced)
    scorers: dict[str, tuple[str, Scorer]] = {"bleu": ("BLEU", bleu), "chrf": ("chrF", CHRF()), "ter": ("TER", ter)}
    found = []
    for metric in metrics:
        if metric == "exact":
            rows = [[line in each, 1] for line, *each in zip(*texts, strict=True)]
            signature = f"exact|nrefs:{len(references)}|case:mixed|tok:none"
            found.append(Statistics("exact", signature, np.array(rows, float), None))
            continue
        name, scorer = scorers[metric]
        rows_ND = np.array(scorer._extract_corpus_statistics(texts[0], texts[1:]), float)
        total = scorer._compute_score_from_stats(rows_ND.sum(0).tolist())
        found.append(Statistics(name, f"{total.name}|{scorer.get_signature()}", rows_ND, scorer))
    return found
