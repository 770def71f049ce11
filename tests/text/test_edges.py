"""Marks around a text are taken off, and come back around its translation; what may be part of the text stays."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.text.edges import quotes_of, take_off
from nmt.text.user_items import UserItems

many = settings(max_examples=100, deadline=None, derandomize=True)
lines = st.text(alphabet="ab ->#*•.!?…[](){}1:;„“\"'D\u00a0", max_size=60)
# Of those, hardly any has marks around a text.
MARKS = ["- ", "> ", "1. ", "5.2 ", "a) ", "[x] ", "## ", "(", ")", "„", "“", "*", ".", "…", "!!!", "[1]", " :-)"]
marks = st.lists(st.sampled_from(MARKS), max_size=3).map("".join)
lines |= st.tuples(marks, st.sampled_from(["Das Haus", "Das Haus.", "ein D"]), marks).map("".join)


def knows(text: str) -> bool:
    return text in ("das", "ein", "-", ".", ",", "!", "?", "'")


@pytest.mark.parametrize(
    ("line", "lead", "text", "trail"),
    [
        ("- Das Haus.", "- ", "Das Haus.", ""),
        ("•\u00a0Das Haus.", "•\u00a0", "Das Haus.", ""),
        ("[x] [ ] Das Haus.", "[x] [ ] ", "Das Haus.", ""),
        ("## Das Haus", "## ", "Das Haus", ""),
        ("> > 2) Das Haus", "> > 2) ", "Das Haus", ""),
        ("(a) Das Haus", "(a) ", "Das Haus", ""),
        ("1. iPhone laden", "1. ", "iPhone laden", ""),
        ("Das Haus.[1][22]", "", "Das Haus.", "[1][22]"),
        ("Das Haus :-) [3]", "", "Das Haus", " :-) [3]"),
        ("😀 Das Haus. 👍\U0001f3fd🎸", "😀 ", "Das Haus.", " 👍\U0001f3fd🎸"),
        ("„Das Haus.“", "„", "Das Haus.", "“"),
        ("*(Das Haus)*", "*(", "Das Haus", ")*"),
        # Scripts without capitals, or without blanks.
        ("1. ᎤᏓᎴᏨ ᎨᏎ ᎱᎷᏨᎢ", "1. ", "ᎤᏓᎴᏨ ᎨᏎ ᎱᎷᏨᎢ", ""),
        ("1.家は大きい。", "1.", "家は大きい。", ""),
        ("（12）家は大きい。", "（12）", "家は大きい。", ""),
        ("※①\u3000家は大きい", "※①\u3000", "家は大きい", ""),
        ("「家は大きい。」", "「", "家は大きい。", "」"),
        ("1.5倍の家", "", "1.5倍の家", ""),
        # What may be part of the text.
        ("1. anna geht nach Hause.", "", "1. anna geht nach Hause.", ""),
        ("1.2.3 Haus und Hof sind verkauft.", "1.2.3 ", "Haus und Hof sind verkauft.", ""),
        ("3.5 Millionen Menschen leben hier.", "", "3.5 Millionen Menschen leben hier.", ""),
        ("2.5 مليون شخص يعيشون هنا.", "", "2.5 مليون شخص يعيشون هنا.", ""),
        ("5.18 민주화운동은 광주에서 시작됐다.", "", "5.18 민주화운동은 광주에서 시작됐다.", ""),
        ("-5 Grad", "", "-5 Grad", ""),
        ("(Das) alte (Haus)", "", "(Das) alte (Haus)", ""),
        ("[[x]]", "", "[[x]]", ""),
        ("* 12 *", "", "* 12 *", ""),
    ],
)
def test_marks_around_a_text_are_taken_off(line: str, lead: str, text: str, trail: str) -> None:
    edges = take_off(line, knows)
    assert (edges.lead, edges.text, edges.trail) == (lead, text, trail)
    assert bool(edges) == (line != text)


def test_typographic_quotes_become_those_of_the_target_language() -> None:
    edges = take_off("„Das Haus.“", knows, quotes_of("fr"))
    assert (edges.lead, edges.trail) == ("«", "»")
    assert [quotes_of(code) for code in ("pt_BR", "por", "zho_Hant", "zh-Hant-MO", "zh", "sr")] == [
        *map(tuple, ("“”", "«»", "「」", "「」", "“”", "„“"))
    ]
    assert quotes_of("en") == ("“", "”")


def test_quotes_of_an_item_of_the_user_stay() -> None:
    user_items = UserItems.parse(["„[A-Z]+“"])
    assert take_off("„ABC“", lambda _: False, ("“", "”"))
    assert not take_off("„ABC“", lambda _: False, ("“", "”"), user_items)


def test_edges_and_text_make_up_the_line() -> None:
    found = Counter[bool]()

    @many
    @given(lines)
    def check(line: str) -> None:
        edges = take_off(line, knows)
        found[bool(edges)] += 1
        if edges:
            assert any(map(str.isalpha, edges.text))
            assert line[edges.start : edges.end].startswith(edges.text[:-1])
            assert edges.lead + edges.text + edges.trail == line or edges.stop
        else:
            assert edges.text == line

    check()
    assert min(found[True], found[False]) > 20
