"""Answers keep the style of their source where they can, and another parser reads them as they are."""

import pytest
import yaml
from ruamel.yaml import YAML

from tests.documents.samples import translated

TEXT = "a: Der Hund # x\nb: 'ein'\nc: \"zwei\"\nd: |\n  drei\n  vier\ne: >-\n  fünf\n  sechs\nf: [sieben]\n"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("the dog", "a: the dog # x\nb: 'the dog'\nc: \"the dog\"\nd: |\n  the dog\ne: >-\n  the dog\nf: [the dog]\n"),
        (
            "a's: b",
            "a: \"a's: b\" # x\nb: 'a''s: b'\nc: \"a's: b\"\nd: |\n  a's: b\ne: >-\n  a's: b\nf: [\"a's: b\"]\n",
        ),
        ("no", 'a: "no" # x\nb: \'no\'\nc: "no"\nd: |\n  no\ne: >-\n  no\nf: ["no"]\n'),
        ("x\ny", 'a: "x\\ny" # x\nb: "x\\ny"\nc: "x\\ny"\nd: |\n  x\n  y\ne: >-\n  x\n\n  y\nf: ["x\\ny"]\n'),
        ("x?", 'a: x? # x\nb: \'x?\'\nc: "x?"\nd: |\n  x?\ne: >-\n  x?\nf: ["x?"]\n'),
        ("x #, ]", 'a: "x #, ]" # x\nb: \'x #, ]\'\nc: "x #, ]"\nd: |\n  x #, ]\ne: >-\n  x #, ]\nf: ["x #, ]"]\n'),
    ],
)
def test_answers_keep_their_style(answer: str, expected: str) -> None:
    _, joined = translated(TEXT, "yaml", *[answer] * 6)
    assert joined == expected
    for parsed in (YAML(typ="safe").load(joined), yaml.safe_load(joined)):
        assert [*map(str.strip, [*map(parsed.get, "abcde"), *parsed["f"]])] == [answer] * 6


@pytest.mark.parametrize("answer", ["a dog", "a\ndog", "a\n\ndog\n\n\nbarks"])
def test_a_folded_text_has_as_many_line_breaks_as_its_answer(answer: str) -> None:
    assert yaml.safe_load(translated("a: >-\n  ein\n  Hund\n", "yaml", answer)[1]) == {"a": answer}


def test_symbols_of_ruby_are_read_in_brackets_and_are_no_text() -> None:
    text = 'order: [ :year, :month, {"a":"Tag", b: :day} ]\nlist:\n- :day\n'
    assert translated(text, "yaml", "day") == (["Tag"], text.replace("Tag", "day"))


def test_a_text_that_ends_with_a_line_separator_stays_alone() -> None:
    _, joined = translated("a: |+\n  da\n\u2028b: 1\n", "yaml", "there")
    assert yaml.safe_load(joined) == {"a": "there\n\u2028", "b": 1}
