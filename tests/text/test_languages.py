"""Promises about the scripts of languages."""

import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from nmt.config import CleaningConfig
from nmt.data.cleaning.filters import in_other_language, make_filters
from nmt.server.codes import detect, find_code, name_of
from nmt.text.languages import base_code, identifier, is_from_right, scripts_of, share_in, short_code


@pytest.mark.parametrize(
    ("text", "language", "share"),
    [
        ("Guten Tag, 12 Äpfel", "de", 1),
        ("Доброе утро", "ru", 1),
        ("Доброе утро", "de", 0),
        ("abc где", "ru", 0.5),
        ("こんにちは、世界", "ja", 1),
        ("中文", "zh-Hant", 1),
        ("ＡＢＣ", "en", 1),
        ("Dobar dan", "sr-Latn", 1),
        ("Добар дан", "sr", 1),
        ("안녕하세요", "ko", 1),
        ("12:30", "ru", 1),
        ("ﺍﻟﺴﻼﻡ", "ar", 1),
        ("Доброе утро", "rus", 1),
        ("中文", "zho_Hant", 1),
        ("Доброе утро", "ceb", 0),
        ("Good morning", "src", 1),
        ("ꯃꯤꯇꯩꯂ ᱥᱟᱱ", "mni-Mtei", 0.5),
        ("Добро", "bs", 1),
        ("ᎦᎵᏦᏕ", "chr", 1),
        ("ᠮᠣᠩᠭᠣᠯ", "mn", 1),
        ("Tâi-oân-lâng", "nan", 1),
    ],
)
def test_the_share_of_letters_in_the_scripts_of_a_language(text: str, language: str, share: float) -> None:
    assert share_in(text, scripts_of(language)) == share


def test_languages_are_from_right_to_left_by_their_script() -> None:
    assert all(map(is_from_right, ("ar", "he", "dv", "syr", "nqo", "ff-Adlm", "az_Arab", "prs", "azb", "iw")))
    assert not any(map(is_from_right, ("de", "ff", "zh", "he-Latn", "xyz")))


def test_codes_of_three_letters_are_those_of_two() -> None:
    codes = ["deu", "ger", "de-AT", "FRE", "zho_Hans", "pes", "tlh", "de", "iw", "in_ID"]
    assert [short_code(code) for code in codes] == ["de", "de", "de", "fr", "zh", "fa", "tlh", "de", "he", "id"]
    assert [base_code(code) for code in ("de-AT", "zh_Hans", "nb", "yue")] == ["de", "zh", "no", "zh"]
    pairs = [("deu", "de"), ("en", "eng_Latn"), ("eng_Latn", "en"), ("zh-TW", "zho_Hant"), ("heb", "iw"), ("tl", "fil")]
    assert [find_code(code, ["xx", known]) for code, known in pairs] == [known for _, known in pairs]
    assert [name_of(code) for code in ("tsn_Latn", "chr", "xx")] == ["Tswana", "Cherokee", "xx"]


GERMAN, ENGLISH = "Das ist ein deutscher Satz.", "This is an English sentence."
UNSURE = "Hamburg, Berlin, London"


class StandIn:
    """As much of py3langid's identifier as is used."""

    nb_classes = ("de", "en", "nn", "zxx")

    def rank(self, text: str) -> list[tuple[str, float]]:
        known = {GERMAN: [("de", 0.9), ("en", 0.1)], ENGLISH: [("en", 0.9), ("de", 0.1)], "12 34": [("zxx", 0.9)]}
        return known.get(text, [("en", 0.4), ("de", 0.3)])

    def classify(self, text: str) -> tuple[str, float]:
        return self.rank(text)[0]

    @classmethod
    def from_model_file(cls, file: str, norm_probs: bool) -> "StandIn":
        assert file == "model"
        assert norm_probs  # else they are no probabilities
        return cls()


@pytest.fixture
def without_eldc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Neither eldc nor py3langid can be imported."""
    for name in ("eldc", "py3langid", "py3langid.langid"):
        monkeypatch.setitem(sys.modules, name, None)
    identifier.cache_clear()
    yield
    identifier.cache_clear()


@pytest.fixture
def py3langid(without_eldc: None, monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(LanguageIdentifier=StandIn, MODEL_FILE="model")
    monkeypatch.setitem(sys.modules, "py3langid", SimpleNamespace(langid=module))
    monkeypatch.setitem(sys.modules, "py3langid.langid", module)


@pytest.mark.usefixtures("py3langid")
def test_without_eldc_both_take_py3langid() -> None:
    filters = make_filters(CleaningConfig(language=True), ("de", "en-GB"))
    [is_bad] = filters.values()
    assert not is_bad(GERMAN, ENGLISH)
    assert is_bad(ENGLISH, ENGLISH)
    assert is_bad(GERMAN, GERMAN)
    assert detect(GERMAN, ["en", "de"]) == [("de", 0.9), ("en", 0.1)]


@pytest.mark.usefixtures("py3langid")
def test_only_sure_languages_that_are_known_count() -> None:
    assert not in_other_language(UNSURE, "fr")  # not known
    assert not in_other_language(UNSURE, "de")  # not sure
    assert not in_other_language(ENGLISH, "tlh")
    assert in_other_language(ENGLISH, "nb")  # known as nn
    assert (found := identifier())
    assert not found.in_other("12 34", "de")  # no language


@pytest.mark.usefixtures("without_eldc")
def test_without_a_package_cleaning_says_what_to_install_and_the_service_looks_at_scripts() -> None:
    with pytest.raises(ValueError, match=r"cleaning\.language needs the package eldc or py3langid.*'\.\[langid\]'"):
        make_filters(CleaningConfig(language=True), ("de", "en"))
    assert detect(GERMAN, ["ru", "de"]) == [("de", 1.0)]


def test_eldc_comes_first() -> None:
    pytest.importorskip("eldc")
    found = identifier()
    assert found
    assert found.in_other(ENGLISH, "de")
    assert not found.in_other(ENGLISH, "en-GB")
    assert found.rank(GERMAN)[0][0] == "de"
    assert detect("ᎦᎵᏦᏕ ᎡᏆ", ["en", "chr"]) == [("chr", 1.0)]  # unknown to it
    assert detect(GERMAN, ["eng_Latn", "deu_Latn"])[0][0] == "deu_Latn"
