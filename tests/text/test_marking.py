"""Items come back from behind their placeholders, each once and whole, wherever the placeholders went."""

import pytest
from hypothesis import given, settings

from nmt.text.marking import Marked, mark
from nmt.vocabulary import ITEMS
from tests.text.test_markup import texts

many = settings(max_examples=100, deadline=None, derandomize=True)


NAMES = {character: f"[{n}]" for n, character in enumerate(ITEMS)}  # how placeholders are written here


def numbered(text: str) -> str:
    """The text with the numbers of its placeholders."""
    return "".join(NAMES.get(c, c) for c in text)


def placed(text: str) -> str:
    for placeholder, name in NAMES.items():
        text = text.replace(name, placeholder)
    return text


def marked(line: str) -> Marked:
    found = mark(line)
    assert found
    return found


@pytest.mark.parametrize(
    ("line", "with_placeholders", "translation", "expected"),
    [
        ("Hallo {name}, wer?", "Hallo [0], wer?", "Hello [0], who?", "Hello {name}, who?"),
        ('Das Haus ({x}) ist "%s".', "Das Haus [0] ist [1].", "The [1] house [0].", 'The "%s" house ({x}).'),
        ("Siehe https://x.org da 😀!", "Siehe [0] da [1]!", "See there [0] [1]!", "See there https://x.org 😀!"),
        ("Ein<br/>Hut", "Ein [0] Hut", "A [0] hat", "A<br/>hat"),
        ("Das {x} da", "Das [0] da", "This[0]there", "This {x} there"),
    ],
)
def test_items_stand_where_placeholders_do(line: str, with_placeholders: str, translation: str, expected: str) -> None:
    found = marked(line)
    assert numbered(found.text) == with_placeholders
    unmarked = found.restore(placed(translation))
    assert unmarked
    text, places = unmarked
    assert text == expected
    assert len(places) == len(placed(translation))


@pytest.mark.parametrize(
    "line",
    [
        *("Ein Hut", "{a} {b}", "12 Hüte", "Ein <b>roter</b> {x}", "Ein \ue000 {x} Hut", "Ein \ue00d {x} Hut"),
        "".join(f"{{x{n}}} und " for n in range(len(ITEMS) + 1)),
    ],
)
def test_lines_that_placeholders_do_not_suit_have_none(line: str) -> None:
    assert mark(line) is None


@pytest.mark.parametrize("translation", ["A red hat", "[0] red [0] hat", "A [1] hat", "A [0] hat [1]"])
def test_a_translation_that_lost_repeated_or_invented_placeholders_is_not_restored(translation: str) -> None:
    assert marked("Ein {x} Hut").restore(placed(translation)) is None


@many
@given(texts)
def test_an_unchanged_line_comes_back_as_it_was(line: str) -> None:
    line = " ".join(line.split())
    found = mark(line)
    if found:
        unmarked = found.restore(found.text)
        assert unmarked
        assert unmarked[0] == line
        assert len(found.places) == len(found.text)
        assert all(found.text[n] == line[place] for n, place in enumerate(found.places) if found.text[n].isalnum())
