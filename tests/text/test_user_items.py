"""Users describe items by regular expressions, which can't make translation hang."""

import time

import pytest

from nmt.text.items import find_items
from nmt.text.user_items import LONGEST, UserItems


def test_what_the_expressions_match_is_an_item_unless_an_item_began_before_it() -> None:
    user_items = UserItems.parse([r"[A-Z]+-\d+", "Foo", "Foobar"])
    found = find_items("Foobar ABC-123 https://x.de/ABC-1 {ABC-1} Foo", user_items)
    assert [(item.kind, item.text) for item in found] == [
        ("own", "Foo"),
        ("own", "ABC-123"),
        ("url", "https://x.de/ABC-1"),
        ("placeholder", "{ABC-1}"),
        ("own", "Foo"),
    ]


@pytest.mark.parametrize("expression", [r"(?:ab)+", r"(?:a+)*+b", r"[(a+)]+", r"\(a+\)+", r"(?:A{2})+", r"x(?:a|b)?"])
def test_ordinary_expressions_are_taken(expression: str) -> None:
    assert UserItems.parse([expression]).patterns


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("(", "is no regular expression: missing"),
        ("a*", "matches an empty text"),
        ("(a+)+", "repeats a group"),
        ("x(a|ab)*", "repeats a group"),
    ],
)
def test_wrong_and_slow_expressions_are_refused(expression: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        UserItems.parse([expression])


def test_items_of_long_lines_are_found_in_linear_time() -> None:
    user_items = UserItems.parse([r"\w+#", "X-[0-9]+"])
    line = "ein Wort X-12 " * LONGEST + "a" * 100_000
    begin = time.process_time()
    assert len(user_items.find(line)) == LONGEST
    assert time.process_time() - begin < 4  # 0.4 s; without parts, a minute


def test_a_string_is_no_list_of_expressions() -> None:
    with pytest.raises(TypeError, match="give a list of strings"):
        UserItems.parse("[A-Z]+")
