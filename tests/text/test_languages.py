"""Promises about the scripts of languages."""

import pytest

from nmt.text.languages import KNOWN, TWO_LETTERS, scripts_of, share_in, short_code


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
        ("नमस्ते", "hi", 1),
        ("12:30", "ru", 1),
        ("ﺍﻟﺴﻼﻡ", "ar", 1),
        ("Доброе утро", "rus", 1),
        ("Καλημέρα", "gre", 1),
        ("Καλημέρα", "ell", 1),
        ("Доброе утро", "ger", 0),
        ("中文", "zho_Hant", 1),
        ("中文", "cmn", 1),
        ("Доброе утро", "ceb", 0),
        ("Доброе утро", "xyz", 1),
        ("Good morning", "src", 1),
    ],
)
def test_the_share_of_letters_in_the_scripts_of_a_language(text: str, language: str, share: float) -> None:
    assert share_in(text, scripts_of(language)) == share


def test_codes_of_three_letters_are_those_of_two() -> None:
    codes = ["deu", "ger", "de-AT", "FRE", "zho_Hans", "pes", "tlh", "de"]
    assert [short_code(code) for code in codes] == ["de", "de", "de", "fr", "zh", "fa", "tlh", "de"]
    assert all(len(code) == 3 for code in TWO_LETTERS)
    assert all(len(code) == 2 for code in KNOWN)
