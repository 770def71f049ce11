"""Promises of the rules that every line goes through."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.text.normalise import INVALID, tidy

# What files hold at worst: letters in composed and other forms, blanks, separators, controls, marks, surrogates, emoji.
odd_characters = (
    "aZé e\u0301\u030a ក\xad\u200b\u2060 \t\r\n\x00\x0b\x1c\x7f\x85\xa0\u2028\u2029\ufeff\ufffd\ud83d\udc80日😀"
)
odd_text = st.text(st.sampled_from(odd_characters))

INVISIBLE = "soft hyphens and zero-width characters removed"
BLANKS, SPACED = "blanks at the ends removed", "tabs and separators made spaces"
CONTROLS, RETURN, COMPOSED = "control characters removed", "carriage return at the end removed", "composed to NFC"


@pytest.mark.parametrize(
    ("raw", "tidied", "causes"),
    [
        ("  zwei  Blanks", "zwei  Blanks", [BLANKS]),
        ("\u3000全角\u3000", "全角", [BLANKS]),
        ("Windows\r", "Windows", [RETURN]),
        ("a\rb", "a b", [SPACED]),
        ("a\tb\u2028c\x85d\x0be", "a b c d e", [SPACED]),
        ("N\x00U\x07L\x7f\x80", "NUL", [CONTROLS]),
        ("u\u0308ber", "über", [COMPOSED]),
        ("u\x00\u0308ber", "über", [CONTROLS, COMPOSED]),
        ("Z\udcfcrich", "Z\ufffdrich", [INVALID]),
        ("\t\r", "", [RETURN, SPACED, BLANKS]),
        ("\ufeffRat\xadhaus\u200b und\u2060 Park", "Rathaus und Park", [INVISIBLE]),
        ("e\xad\u0301", "é", [INVISIBLE, COMPOSED]),
        ("ខ្ញុំ\u200bស្រលាញ់ a\u200bb", "ខ្ញុំ\u200bស្រលាញ់ ab", [INVISIBLE]),
        ("می\u200cخواهم क्\u200dष", "می\u200cخواهم क्\u200dष", []),
        ("12\xa0Euro", "12\xa0Euro", []),
    ],
)
def test_text_rules(raw: str, tidied: str, causes: list[str]) -> None:
    found = list[str]()
    assert (tidy(raw, found), found) == (tidied, causes)


@given(st.text() | odd_text)
def test_tidy_text_is_one_line_of_nfc_without_controls_and_tidying_it_again_changes_nothing(raw: str) -> None:
    text = tidy(raw)
    assert not {"Cc", "Cs", "Zl", "Zp"} & {unicodedata.category(character) for character in text}
    assert unicodedata.is_normalized("NFC", text)
    assert len(text.splitlines()) <= 1
    assert text == text.strip()
    text.encode()
    causes = list[str]()
    assert tidy(text, causes) == text
    assert not causes


@given(st.text() | odd_text)
def test_a_text_is_changed_if_and_only_if_a_cause_is_named(raw: str) -> None:
    causes = list[str]()
    text = tidy(raw, causes)
    assert (text != raw) == bool(causes)
    assert len(set(causes)) == len(causes)


@pytest.mark.parametrize("text", [None, 7, b"Hund", ["Hund"]])
def test_what_is_no_string_is_refused_with_a_sentence(text: object) -> None:
    with pytest.raises(TypeError, match=r"is of type .*, but a text must be a string"):
        tidy(text)  # type: ignore[arg-type]
