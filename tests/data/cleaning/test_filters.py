"""Promises of the filters that read the text of a pair."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import CleaningConfig
from nmt.data.cleaning.filters import (
    HeldOut,
    addresses_differ,
    alike,
    alike_key,
    few_letters,
    in_other_language,
    longest_word,
    make_filters,
    numbers_differ,
)

texts = st.text(st.characters(codec="utf-8"), max_size=40)


@pytest.mark.parametrize(
    ("source", "target", "least", "differ"),
    [
        ("1.234,50 Euro", "1,234.50 euros", 1, False),
        ("am 24.12.2023", "on December 24, 2023", 0.5, False),
        ("am 24.12.2023", "on December 24, 2023", 1, True),
        ("dreißig Tage", "30 days", 0.5, False),
        ("dreißig Tage", "30 days", 1, True),
        ("2 Tage", "two days", 1, False),
        ("1200 Tage", "1300 days", 0.5, True),
        ("300 Tage", "days", 0.5, True),
        ("在１９９８年", "In 1998", 1, False),
        ("वर्ष १९९८ में", "in 1999", 0.5, True),
        ("عام ١٩٩٨ و ٢٥ شخصا", "in 1998 and 25 people", 1, False),
        ("15万人", "150,000 people", 1, False),
        ("140 करोड़ लोग", "1.4 billion people", 1, False),
        ("۱۲٬۳۴۵ نفر و 1,00,000", "12,345 people and 100,000", 1, False),
    ],
)
def test_numbers(source: str, target: str, least: float, differ: bool) -> None:
    assert numbers_differ(source, target, least) == numbers_differ(target, source, least) == differ


def test_addresses() -> None:
    assert addresses_differ("Siehe https://example.org.", "See example")
    assert not addresses_differ("Siehe https://example.org.", "See HTTPS://EXAMPLE.ORG, please")
    assert addresses_differ("a@example.org", "b@example.org")


def test_long_words_are_those_of_text_with_blanks() -> None:
    assert longest_word("Das " + "x" * 70) == 70
    assert longest_word("Siehe https://example.org/" + "x" * 70) == 5
    assert longest_word("東" * 70) == 0


def test_letters() -> None:
    assert few_letters("12:30 !", 0.5)
    assert not few_letters("ab 12", 0.5)
    assert not few_letters("नमस्ते", 0.9), "vowel signs count"


def test_other_languages_are_dropped_only_for_sure() -> None:
    pytest.importorskip("eldc")
    assert in_other_language("This is plainly an English sentence, no doubt.", "de")
    assert not in_other_language("Das ist ganz klar ein deutscher Satz.", "de-AT")
    assert in_other_language("This is plainly an English sentence, no doubt.", "ger")
    assert not in_other_language("Where is this", "de"), "11 letters are in no language for sure"
    assert in_other_language("You were there", "de")
    assert not in_other_language("This is plainly an English sentence, no doubt.", "tlh")


def test_texts_that_differ_in_case_digits_and_punctuation_are_alike() -> None:
    assert alike("Hallo, Welt 12!") == alike("hallo welt 34")
    assert alike("Hallo") != alike("Halle")
    assert alike("!!!") != alike("???")
    assert alike("लड़का यहाँ है।") != alike("लड़की यहाँ है।"), "boy and girl differ in a vowel sign"
    assert alike_key(("a b", "c")) == alike_key(("A, b", "C!")) != alike_key(("a", "bc"))


def test_held_out_text_is_found_on_either_side() -> None:
    words = [f"w{chr(97 + n)}" for n in range(20)]
    held_out = HeldOut({"val": [("Kurz", "Short one")], "test": [(" ".join(words), "Long")]})
    assert held_out.all.find(("Lang", "short ONE!")) == "nearly in val"
    assert held_out.all.find(("x " + " ".join(words[2:15]), "y")) == "13 words of test"
    assert held_out.all.find(("x " + " ".join(words[2:14]), "y")) == ""
    assert HeldOut({}).all.find(("a", "b")) == ""


@given(texts, texts, st.sampled_from(["gentle", "crawled", "strict"]))
def test_filters_judge_any_text_and_only_by_itself(source: str, target: str, profile: str) -> None:
    config = CleaningConfig(profile=profile, unicode=False, language=False)  # type: ignore[arg-type]
    filters = make_filters(config, ("de", "en"))
    assert [bad(source, target) for bad in filters.values()] == [bad(source, target) for bad in filters.values()]
    alone = make_filters(config, ())
    assert "other numbers" not in alone or not alone["other numbers"]("", target)


def test_a_setting_replaces_that_of_the_profile() -> None:
    values = CleaningConfig(profile="crawled", copies="keep", language=False, words=7).values
    assert values["words"] == 7
    assert {"copies", "language"}.isdisjoint(values)
    assert CleaningConfig(numbers=0.7).values == {"numbers": 0.7}
