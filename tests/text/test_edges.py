"""Marks around a text are taken off, and come back around its translation; what may be part of the text stays."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.text.edges import Edges, quotes_of, take_off
from nmt.text.own_items import OwnItems

many = settings(max_examples=500, deadline=None, derandomize=True)


def knows(text: str) -> bool:
    return text in ("das", "ein", "-", ".", ",", "!", "?", "'")


@pytest.mark.parametrize(
    ("line", "lead", "text", "trail"),
    [
        ("- Das Haus.", "- ", "Das Haus.", ""),
        ("•\u00a0Das Haus.", "•\u00a0", "Das Haus.", ""),
        ("- [x] Das Haus.", "- [x] ", "Das Haus.", ""),
        ("## Das Haus", "## ", "Das Haus", ""),
        ("> > 2) Das Haus", "> > 2) ", "Das Haus", ""),
        ("(a) Das Haus", "(a) ", "Das Haus", ""),
        ("1. Das Haus", "1. ", "Das Haus", ""),
        ("1.2 Das Haus", "1.2 ", "Das Haus", ""),
        ("[1] Das Haus", "[1] ", "Das Haus", ""),
        ("Das Haus.[1][22]", "", "Das Haus.", "[1][22]"),
        ("Das Haus :-) [3]", "", "Das Haus", " :-) [3]"),
        ("😀 Das Haus. 👍\U0001f3fd🎸", "😀 ", "Das Haus.", " 👍\U0001f3fd🎸"),
        ("„Das Haus.“", "„", "Das Haus.", "“"),
        ("*(Das Haus)*", "*(", "Das Haus", ")*"),
        # What may be part of the text.
        ("1. Anna geht nach Hause.", "1. ", "Anna geht nach Hause.", ""),
        ("1. Liga im Fußball", "", "1. Liga im Fußball", ""),
        ("1. Mai ist heute ein Feiertag.", "", "1. Mai ist heute ein Feiertag.", ""),
        ("1. anna geht nach Hause.", "", "1. anna geht nach Hause.", ""),
        ("3.5 Prozent", "", "3.5 Prozent", ""),
        ("-5 Grad", "", "-5 Grad", ""),
        ("A. Meier", "", "A. Meier", ""),
        ("'Das Haus'", "", "'Das Haus'", ""),
        ("(Das) alte (Haus)", "", "(Das) alte (Haus)", ""),
        ("{name}", "", "{name}", ""),
        ("[[x]]", "", "[[x]]", ""),
        ("- ", "", "- ", ""),
        ("* 12 *", "", "* 12 *", ""),
    ],
)
def test_marks_around_a_text_are_taken_off(line: str, lead: str, text: str, trail: str) -> None:
    edges = take_off(line, knows)
    assert edges == Edges(lead, text, trail)
    assert bool(edges) == (line != text)
    assert edges.put_back(text) == line


@pytest.mark.parametrize(
    ("line", "text", "translation", "expected"),
    [
        ("Das Haus…", "Das Haus.", "The house.", "The house…"),
        ("Das Haus ...", "Das Haus.", "The house", "The house ..."),
        ("Ja!!!", "Ja!", "Yes!", "Yes!!!"),
        ("(Was?!)", "Was?", "What？", "(What?!)"),
    ],
)
def test_stops_without_a_piece_are_one_mark_for_the_model(
    line: str, text: str, translation: str, expected: str
) -> None:
    edges = take_off(line, knows)
    assert edges.text == text
    assert edges.put_back(translation) == expected


@pytest.mark.parametrize(
    ("line", "translation", "expected"),
    [
        ("Das Haus", "The house.", "The house"),
        ("# Das Haus", "The house", "# The house"),
        ("Die USA", "The U.S.", "The U.S."),
        ("Das Haus [1]", "家。", "家 [1]"),
        ("Das Haus", "", ""),
    ],
)
def test_a_text_without_a_final_mark_gets_one_and_the_translation_has_none(
    line: str, translation: str, expected: str
) -> None:
    edges = take_off(line, knows, final=".")
    assert edges.text.endswith(".")
    assert edges.put_back(translation) == expected


def test_typographic_quotes_become_those_of_the_target_language() -> None:
    assert take_off("„Das Haus.“", knows, quotes_of("fr")).put_back("La maison.") == "«La maison.»"
    assert take_off('"Das Haus."', knows, quotes_of("fr")).put_back("La maison.") == '"La maison."'
    assert quotes_of("pt-BR") == ("«", "»")
    assert quotes_of("en") == ("“", "”")


def test_quotes_of_an_item_of_the_user_stay() -> None:
    own = OwnItems.parse(["„[A-Z]+“"])
    assert take_off("„ABC“", lambda _: False, ("“", "”"))
    assert not take_off("„ABC“", lambda _: False, ("“", "”"), own)


def test_words_around_the_text_are_counted() -> None:
    lines = ("- [ ] „Das Haus“", "„Das Haus“", "2) Das [1]", "Das Haus[1] :-) :-)")
    assert [take_off(line, knows).words_around for line in lines] == [(3, 0), (0, 0), (1, 1), (0, 2)]


@many
@given(st.text(alphabet="ab ->#*•.!?…[](){}1:;„“\"'D\u00a0", max_size=60))
def test_an_unchanged_text_gives_the_line(line: str) -> None:
    edges = take_off(line, knows)
    if edges:
        assert edges.put_back(edges.text) == line
        assert any(map(str.isalpha, edges.text))
        assert edges.lead + edges.text + edges.trail == line or edges.stop
    else:
        assert edges.text == line


def test_a_long_line_takes_no_longer() -> None:
    for line in ("> " * 50_000 + "a", "a" + " :)" * 50_000, "(" * 50_000 + "a" + ")" * 50_000, "a" + "!" * 100_000):
        assert take_off(line, knows).put_back(take_off(line, knows).text) == line
