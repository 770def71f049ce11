"""Promises about letters, and about where a phrase that a user wrote is found."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.text.scripts import ASIAN, EAST_ASIAN, UNSPACED, Phrase, is_letter, without_signs
from nmt.text.tokens import tokenize

many = settings(max_examples=100, deadline=None, derandomize=True)


@pytest.mark.parametrize("character", "aZüßж1٣²\u0301_\u00ad\u200d한ﾡנन１")
def test_letters_marks_numbers_and_joiners_continue_a_word(character: str) -> None:
    assert is_letter(character)


@pytest.mark.parametrize("character", " .-'’«😀€\u00a0\ufe0f\U000e0100日かカｶﾞกཀက\u0e31、")
def test_signs_and_the_letters_of_scripts_without_spaces_do_not(character: str) -> None:
    assert not is_letter(character)


@pytest.mark.parametrize(("ranges", "found"), [(UNSPACED, "日ｶกꦲ"), (EAST_ASIAN, "日ｶ한Ａ"), (ASIAN, "日ｶกꦲ한Ａ")])
def test_korean_has_spaces_thai_an_alphabet(ranges: str, found: str) -> None:
    assert "".join(re.findall(f"[{ranges}]", "日ｶกꦲ한Ａaन")) == found


@pytest.mark.parametrize(
    ("written", "text", "places"),
    [
        ("house", "house, warehouse, house", [(0, 5), (18, 23)]),
        ("hous*", "housing, warehouse", [(0, 4)]),
        ("*house", "warehouse, houses", [(4, 9)]),
        (" New \t York ", "New  York, New York's", [(0, 9), (11, 19)]),
        ("New York", "New\u00a0York", []),
        ("a a", "ba a a", [(3, 6)]),
        ("a a", "a a a", [(0, 3), (2, 5)]),
        ("ｶﾒﾗ", "デジｶﾒﾗ", [(2, 5)]),
        ("한국", "한국은 한국", [(4, 6)]),
        ("u\u0308ber", "über", [(0, 4)]),
        ("C++", "C++11", [(0, 3)]),
        ("5 * 3*", "5 * 35", [(0, 5)]),
        ("Hund", "HUND", []),
    ],
)
def test_a_phrase_is_found_where_words_begin_and_end(written: str, text: str, places: list[tuple[int, int]]) -> None:
    assert list(Phrase.parse(written).find(text)) == places


@many
@given(word=st.text("ab", min_size=1, max_size=3), text=st.text("ab .-", max_size=12))
def test_a_word_is_found_where_a_regular_expression_finds_it(word: str, text: str) -> None:
    places = [match.span() for match in re.finditer(rf"\b{word}\b", text)]
    assert list(Phrase.parse(word).find(text)) == places


@pytest.mark.parametrize("written", ["", " ", "*", "** *", "\u3000*"])
def test_an_empty_phrase_is_an_error(written: str) -> None:
    with pytest.raises(ValueError, match=r"the phrase .* is empty: write a character"):
        Phrase.parse(written)


def test_time_is_linear_in_the_length_of_the_text() -> None:
    begin = time.process_time()
    for text in ("a" * 100_000, "a " * 50_000, "a" + " " * 100_000):
        assert list(Phrase.parse("a b").find(text)) == []
    assert time.process_time() - begin < 2  # milliseconds; quadratic time is minutes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("वह लड़की है।", "वहलड़कीहै"),
        ("Ọmọdé náà ń ka ìwé, ẹ̀kọ́!", "Ọmọdénáàńkaìwéẹ̀kọ́"),
        ("วันนี้ดี 5 ๕", "วันนี้ดี5๕"),
        ("a_b-c ❤\ufe0f 5\ufe0f\u20e3", "abc5"),
    ],
)
def test_combining_marks_are_parts_of_words(text: str, expected: str) -> None:
    """For Python's `re` and `str.isalpha` they are none: "boy" and "girl" of Hindi were the same word."""
    assert without_signs(text) == expected


def test_a_mark_is_in_the_token_of_the_character_before_it() -> None:
    found = {
        text: [text[start:end] for start, end in tokenize(text)]
        for text in ("ก็ดี", "か\u3099 く", "a(b", "\u0301a", "ខ្ញុំ", "ဗုဒ္ဓ")
    }
    wanted = [["ก็", "ดี"], ["か\u3099", "く"], ["a", "(", "b"], ["\u0301a"], ["ខ្ញុំ"], ["ဗု", "ဒ္ဓ"]]
    assert [*found.values()] == wanted
