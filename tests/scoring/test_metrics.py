"""Scores are sacreBLEU's own, with what is needed to repeat them, and never of corpora that don't match."""

import unicodedata
from typing import Any

import pytest
from sacrebleu import corpus_bleu, corpus_chrf, corpus_ter
from sacrebleu.metrics.bleu import BLEU

from nmt.extras import install
from nmt.scoring.metrics import USUAL_METRICS, bleu_tokenizer, score

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


def test_letters_with_marks_apart_are_the_same_letters() -> None:
    composed = ["Ọ̀rẹ́ mi ń kọ́ ẹ̀kọ́ rẹ̀.", "Wọ́n ti dé sí ilé ìwé náà."]
    apart = [unicodedata.normalize("NFD", line) for line in composed]
    assert apart != composed
    for pair in [(composed, apart), (apart, composed)]:
        assert [s.value for s in score(*pair)] == [s.value for s in score(composed, composed)]


def test_signatures_say_that_text_is_cased_and_detokenised() -> None:
    bleu, chrf, exact = score(TRANSLATIONS, REFERENCES)
    assert [bleu.name, chrf.name, exact.name] == ["BLEU", "chrF", "exact"]
    assert bleu.signature.startswith("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert chrf.signature.startswith("chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")
    lower = [line.lower() for line in TRANSLATIONS]
    assert score(lower, REFERENCES)[0].value < bleu.value
    assert score(iter(TRANSLATIONS), iter(REFERENCES), metrics=iter(USUAL_METRICS)) == [bleu, chrf, exact]  # type: ignore[arg-type]


def test_unequal_corpora_are_an_error_with_both_numbers() -> None:
    with pytest.raises(ValueError, match="3 translations but 2 references"):
        score(TRANSLATIONS, REFERENCES[:2])
    with pytest.raises(ValueError, match="3 translations but 4 references"):
        score(TRANSLATIONS, REFERENCES, [*OTHERS, "More."])
    with pytest.raises(ValueError, match="no lines"):
        score([], [])
    with pytest.raises(ValueError, match="needs a reference"):
        score(TRANSLATIONS)


def test_what_is_no_list_of_strings_is_no_corpus() -> None:
    metrics: Any = ["bleu", "foo"]
    for corpora, chosen, problem in (
        (("abc", "abc"), USUAL_METRICS, "the list of lines is the string 'abc': give a list of strings"),
        ((["a"], "a"), USUAL_METRICS, "a reference is the string"),
        (([None], ["a"]), USUAL_METRICS, "the list of lines has null, but a text must be a string"),
        ((["a"], ["a"]), "bleu", "metrics is the string"),
    ):
        with pytest.raises(TypeError, match=problem):
            score(*corpora, metrics=chosen)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a metric is 'foo': it must be one of bleu, chrf, exact, ter"):
        score(["a"], ["a"], metrics=metrics)


def test_an_exact_match_is_equal_to_any_reference() -> None:
    [exact] = score(["a b", "c", "D"], ["a b", "x", "d"], ["z", "c", "d"], metrics=("exact",))
    assert exact.value == pytest.approx(200 / 3)
    assert exact.signature == "exact|nrefs:2|case:mixed|tok:none"


@pytest.mark.parametrize(
    ("languages", "tokenizer"),
    [
        ("zh zh-TW zh_Hans zho_Hant cmn yue wuu", "zh"),
        ("th tha_Thai lo lao_Laoo km khm_Khmr my mya_Mymr bo bod_Tibt dz", "char"),
        ("en de-AT eng_Latn ar hi yor chr gn vi zh-Latn und", "13a"),
    ],
)
def test_bleu_is_computed_on_the_words_of_the_target_language(languages: str, tokenizer: str) -> None:
    for language in (*languages.split(), *([""] if tokenizer == "13a" else [])):
        bleu, chrf, _ = score(TRANSLATIONS, REFERENCES, language=language)
        assert bleu.value == corpus_bleu(TRANSLATIONS, [REFERENCES], tokenize=tokenizer).score
        assert f"|tok:{tokenizer}|" in bleu.signature, language
        assert chrf.value == corpus_chrf(TRANSLATIONS, [REFERENCES]).score


@pytest.mark.parametrize("language", ["zh-TW", "jpn", "ko", "en"])
def test_ter_of_text_without_blanks_counts_characters(language: str) -> None:
    hypotheses, references = ["我今天买了一本书。", "a b"], ["我昨天买了一本书。", "a c"]
    [found] = score(hypotheses, references, metrics=["ter"], language=language)
    unspaced = language in ("zh-TW", "jpn")
    expected = corpus_ter(hypotheses, [references], normalized=unspaced, asian_support=unspaced)
    assert found.value == expected.score
    assert f"asian:{'yes' if unspaced else 'no'}" in found.signature


@pytest.mark.parametrize(("language", "name"), [("ja", "ja-mecab"), ("ja_JP", "ja-mecab"), ("kor_Hang", "ko-mecab")])
@pytest.mark.parametrize("installed", [True, False])
def test_words_of_japanese_and_korean_need_a_package_or_the_user_is_told_once(
    language: str, name: str, installed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def make(tokenize: str, force: bool = False) -> BLEU:
        if tokenize == name and not installed:
            raise RuntimeError("not installed")
        return BLEU(tokenize="none" if tokenize == name else tokenize, force=force)

    monkeypatch.setattr("nmt.scoring.metrics.BLEU", make)
    bleu_tokenizer.cache_clear()
    signatures = [score(TRANSLATIONS, REFERENCES, language=language)[0].signature for _ in range(2)]
    bleu_tokenizer.cache_clear()
    assert all(f"|tok:{'none' if installed else 'char'}|" in signature for signature in signatures)
    told = capsys.readouterr().err
    assert told.count(install(language[:2])) == (0 if installed else 1)


def test_japanese_is_split_into_words() -> None:
    pytest.importorskip("ipadic")
    bleu = score(["私は本を読みます。"], ["私は本を読みました。"], language="ja")[0]
    assert "|tok:ja-mecab-" in bleu.signature
    assert bleu.value == corpus_bleu(["私は本を読みます。"], [["私は本を読みました。"]], tokenize="ja-mecab").score
