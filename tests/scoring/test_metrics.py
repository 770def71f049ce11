"""Scores are sacreBLEU's own, with what is needed to repeat them, and never of corpora that don't match."""

import pytest
from sacrebleu import corpus_bleu, corpus_chrf, corpus_ter

from nmt.scoring.metrics import score

TRANSLATIONS = ["The dog runs across the meadow.", "Two men drink a coffee.", "It is over there !"]
REFERENCES = ["The little dog runs across the meadow.", "Two men are drinking coffee.", "It is over there!"]
OTHERS = ["A small dog is running on the meadow.", "Two men drink coffee.", "It's there!"]


def test_scores_are_sacrebleu_s_for_one_and_for_several_references() -> None:
    for references in ([REFERENCES], [REFERENCES, OTHERS]):
        bleu, chrf, ter = score(TRANSLATIONS, *references, metrics=("bleu", "chrf", "ter"))
        assert bleu.value == pytest.approx(corpus_bleu(TRANSLATIONS, references).score)
        assert chrf.value == pytest.approx(corpus_chrf(TRANSLATIONS, references).score)
        assert ter.value == pytest.approx(corpus_ter(TRANSLATIONS, references).score)
        assert f"nrefs:{len(references)}" in bleu.signature


def test_signatures_say_that_text_is_cased_and_detokenised() -> None:
    bleu, chrf, exact = score(TRANSLATIONS, REFERENCES)
    assert [bleu.name, chrf.name, exact.name] == ["BLEU", "chrF", "exact"]
    assert bleu.signature.startswith("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert chrf.signature.startswith("chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")
    lower = [line.lower() for line in TRANSLATIONS]
    assert score(lower, REFERENCES)[0].value < bleu.value


def test_perfect_translations_score_full_marks_and_empty_ones_none() -> None:
    perfect = score(REFERENCES, REFERENCES, metrics=("bleu", "chrf", "ter"))
    assert [s.value for s in perfect] == pytest.approx([100, 100, 0])
    assert [s.value for s in score([""] * 3, REFERENCES)] == [0, 0, 0]


def test_unequal_corpora_are_an_error_with_both_numbers() -> None:
    with pytest.raises(ValueError, match="3 translations but 2 references"):
        score(TRANSLATIONS, REFERENCES[:2])
    with pytest.raises(ValueError, match="3 translations but 4 references"):
        score(TRANSLATIONS, REFERENCES, [*OTHERS, "More."])
    with pytest.raises(ValueError, match="no lines"):
        score([], [])
    with pytest.raises(ValueError, match="needs a reference"):
        score(TRANSLATIONS)


def test_an_exact_match_is_equal_to_any_reference() -> None:
    [exact] = score(["a b", "c", "D"], ["a b", "x", "d"], ["z", "c", "d"], metrics=("exact",))
    assert exact.value == pytest.approx(200 / 3)
    assert exact.signature == "exact|nrefs:2|case:mixed|tok:none"
