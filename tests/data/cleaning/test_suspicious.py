"""Promises about corpora that look bad: what is unlike the others is told, and what is usual is not."""

from collections import Counter

import pytest

from nmt.config import CleaningConfig
from nmt.data.cleaning.cleaner import Ledger
from nmt.data.cleaning.filters import make_filters
from nmt.data.cleaning.suspicious import FEWEST, MISTAKES, length_ratios, suspicions
from nmt.data.sections import Section

PORTIONS = [Section("a", "de", "en"), Section("b", "de", "en"), Section("c", "en", "de")]


def told(dropped: dict[str, int], ratios: dict[str, float], read: int = 1000) -> list[tuple[str, str]]:
    """What is told of the corpus a, of which this was dropped, beside two of which 2% are repeated."""
    others = {name: Ledger(read=1000, dropped=Counter(repeated=20)) for name in "bc"}
    return [*suspicions({"a": Ledger(read=read, dropped=Counter(dropped)), **others}, ratios, PORTIONS)]


@pytest.mark.parametrize(
    ("dropped", "reasons"),
    [
        ({"repeated": 40}, []),
        ({"repeated": 60}, []),
        ({"repeated": 61}, ["6% of its pairs were dropped; of the others, 2%"]),
        ({"a copy": 40}, []),
        ({"a copy": 55}, ["6% of its pairs were dropped: a copy"]),
        ({"held out for val": 500}, []),
        (dict.fromkeys(["source occurs in val", "target occurs in val", "nearly in val", "13 words of test"], 200), []),
    ],
)
def test_corpora_that_lose_much_are_told(dropped: dict[str, int], reasons: list[str]) -> None:
    assert told(dropped, {}) == [("a", reason) for reason in reasons]


def test_a_small_corpus_tells_nothing() -> None:
    assert told({"a copy": FEWEST - 1}, {}, read=FEWEST - 1) == []


@pytest.mark.parametrize(("ratio", "is_told"), [(0.5, True), (0.7, False), (1.3, False), (1.4, True)])
def test_lengths_are_compared_with_those_of_the_same_direction(ratio: float, is_told: bool) -> None:
    reasons = dict(told({}, {"a": ratio, "b": 0.9, "c": 2.0}))
    assert ("a" in reasons) == is_told
    assert "c" not in reasons
    if is_told:
        lengths = f"a target has {ratio:.2f} characters for one of its source"
        assert reasons["a"] == f"{lengths}; in the other corpora of this direction it has 0.90"


def test_ratios_are_those_of_all_characters() -> None:
    pairs = [("ab", "a"), ("abcd", "ab")] * FEWEST + [("", "text")] * FEWEST + [("a", "b")]
    numbers = [0, 0] * FEWEST + [1] * FEWEST + [2]
    assert length_ratios(pairs, numbers, PORTIONS) == {"a": 0.5}


def test_mistakes_are_causes_of_filters() -> None:
    pytest.importorskip("eldc")
    settings = (CleaningConfig(profile="strict", copies="long"), CleaningConfig(profile="strict", copies="all"))
    assert set(MISTAKES) <= {cause for chosen in settings for cause in make_filters(chosen, ("de", "en"))}
