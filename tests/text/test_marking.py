"""Items come back from behind their placeholders, each once and whole, wherever the placeholders went."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.text.items import find_items
from nmt.text.marking import Marked, mark
from nmt.text.restore import flatten
from nmt.vocabulary import CLOSINGS, ITEMS, OPENINGS
from tests.text.test_markup import texts

many = settings(max_examples=100, deadline=None, derandomize=True)


# How placeholders are written here: [0] an item, [<0] the beginning of a tag, and [0>] its end.
NAMES = (
    {c: f"[{n}]" for n, c in enumerate(ITEMS)}
    | {c: f"[<{n}]" for n, c in enumerate(OPENINGS)}
    | {c: f"[{n}>]" for n, c in enumerate(CLOSINGS)}
)


def numbered(text: str) -> str:
    """The text with the numbers of its placeholders."""
    return "".join(NAMES.get(c, c) for c in text)


def placed(text: str) -> str:
    for placeholder, name in NAMES.items():
        text = text.replace(name, placeholder)
    return text


def marked(line: str) -> Marked:
    found = mark(flatten(line))
    assert found
    return found


@pytest.mark.parametrize(
    ("line", "with_placeholders", "translation", "expected"),
    [
        ("Hallo {name}, wer?", "Hallo [0], wer?", "Hello [0], who?", "Hello {name}, who?"),
        (
            "Ein <b>roter</b> Hut.",
            "Ein [<0] roter [0>] Hut.",
            "Un chapeau [<0] rouge [0>].",
            "Un chapeau <b>rouge</b>.",
        ),
        ('Das Haus ({x}) ist "%s".', "Das Haus [0] ist [1].", "The [1] house [0].", 'The "%s" house ({x}).'),
        ("Siehe https://x.org da 😀!", "Siehe [0] da [1]!", "See there [0] [1]!", "See there https://x.org 😀!"),
        ("Ein<br/>Hut", "Ein [0] Hut", "A [0] hat", "A<br/>hat"),
        ("<i>Ein</i><b>Hut</b>", "[<0] Ein [0>] [<1] Hut [1>]", "[<0] A [0>] [<1] hat [1>]", "<i>A</i><b>hat</b>"),
        (
            "Ein <b>Hut <i>aus</i> Stroh</b> da",
            "Ein [<0] Hut [<1] aus [1>] Stroh [0>] da",
            "There [<0] a straw [<1] made [1>] hat [0>]",
            "There <b>a straw <i>made</i> hat</b>",
        ),
        ("Das {x} da", "Das [0] da", "This[0]there", "This {x} there"),
        ("<a><b>{x}</b></a> da", "[0] da", "There [0]", "There <a><b>{x}</b></a>"),
    ],
)
def test_items_stand_where_placeholders_do(line: str, with_placeholders: str, translation: str, expected: str) -> None:
    found = marked(line)
    assert numbered(found.text) == with_placeholders
    unmarked = found.restore(placed(translation))
    assert unmarked
    assert unmarked.text == expected
    assert len(unmarked.places) == len(placed(translation))


@pytest.mark.parametrize(
    "line",
    [
        "Ein Hut",
        "{a} {b}",
        "12 Hüte",
        "R<b>o</b>t",
        "".join(f"{{x{n}}} und " for n in range(len(ITEMS) + 1)),
        "und ".join(f"<b>Hut</b> {n} " for n in range(len(OPENINGS) + 1)),
        "Ein \ue000 {x} Hut",
        "Ein \ue00d {x} Hut",
    ],
)
def test_lines_that_placeholders_do_not_suit_have_none(line: str) -> None:
    assert mark(flatten(line)) is None


@pytest.mark.parametrize(
    "translation",
    ["A red hat", "[<0] red hat", "[<0] red [0>] hat [<0]", "[0>] red [<0] hat", "A [<0] [0>] red hat", "[<0][0>][0]"],
)
def test_a_translation_that_lost_mixed_up_or_emptied_tags_is_not_restored(translation: str) -> None:
    assert marked("Ein <b>roter</b> Hut").restore(placed(translation)) is None


def test_tags_that_cross_each_other_are_not_restored() -> None:
    line = marked("<b>Ein</b> <i>Hut</i>")
    assert line.restore(placed("[<0] a [0>] [<1] hat [1>]"))
    assert line.restore(placed("[<1] hat [1>] [<0] a [0>]"))
    assert line.restore(placed("[<0] a [<1] hat [0>] [1>]")) is None


@many
@given(texts)
def test_an_unchanged_line_comes_back_as_it_was(line: str) -> None:
    line = " ".join(line.split())
    found = mark(flatten(line))
    if found:
        unmarked = found.restore(found.text)
        assert unmarked
        assert unmarked.text == line
        assert len(found.places) == len(found.text)
        assert all(found.text[n] == line[place] for n, place in enumerate(found.places) if found.text[n].isalnum())


@many
@given(st.permutations(range(4)))
def test_every_order_of_items_keeps_each_of_them(order: list[int]) -> None:
    line = marked("Eins {a} zwei %s drei https://x.org vier 😀 fünf")
    unmarked = line.restore(placed(" word ".join(f"[{n}]" for n in order)))
    assert unmarked
    assert [item.text for item in find_items(unmarked.text)] == [["{a}", "%s", "https://x.org", "😀"][n] for n in order]
