"""Promises about the scripts of languages."""

import pytest

from nmt.text.languages import scripts_of, share_in


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
    ],
)
def test_the_share_of_letters_in_the_scripts_of_a_language(text: str, language: str, share: float) -> None:
    assert share_in(text, scripts_of(language)) == share
