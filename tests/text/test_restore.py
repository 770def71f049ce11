"""Items come back whole, once each and in their places, wherever the words beside them went."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.text.restore import lift, relink, restore


@pytest.mark.parametrize(
    ("line", "without", "translation", "links", "expected"),
    [
        ("Hallo {name}.", "Hallo.", "Hello.", "0-0", "Hello {name}."),
        (
            "Hallo {name}, wie geht es?",
            "Hallo, wie geht es?",
            "Hello, how are you?",
            "0-0 1-1 2-2 3-3",
            "Hello {name}, how are you?",
        ),
        ("Ein <b>roter</b> Hut", "Ein roter Hut", "A red hat", "0-0 1-1 2-2", "A <b>red</b> hat"),
        ("Ein <b>roter</b> Hut.", "Ein roter Hut.", "Un chapeau rouge.", "0-0 2-1 1-2", "Un chapeau <b>rouge</b>."),
        ("<b>Rot</b>", "Rot", "Red", "0-0", "<b>Red</b>"),
        (
            "Ein <b>roter</b> <i>Hut</i>",
            "Ein roter Hut",
            "Un chapeau rouge",
            "0-0 2-1 1-2",
            "Un <i>chapeau</i> <b>rouge</b>",
        ),
        (
            "Er <a>steht <b>hier</b></a>.",
            "Er steht hier.",
            "Here he stands.",
            "2-0 0-1 1-2",
            "<a><b>Here</b> he stands</a>.",
        ),
        ("Ein <b>roter</b> Mann geht.", "Ein roter Mann geht.", "A man walks.", "0-0 2-1 3-2", "A <b></b> man walks."),
        ("😀Ja {x} geht.", "Ja geht.", "Walks.", "1-0", "😀 {x} Walks."),
        ("Ein<br/>Hut<b></b>", "Ein Hut", "A hat", "0-0 1-1", "A<br/> hat<b></b>"),
        ("😀", "", "", "", "😀"),
        ("{a} {b}", "", "", "", "{a} {b}"),
        ("Siehe https://x.org heute", "Siehe heute", "See today", "0-0 1-1", "See https://x.org today"),
        ("{name} lacht", "lacht", "laughs", "0-0", "{name} laughs"),
        ("Er lacht 😀", "Er lacht", "He laughs", "0-0 1-1", "He laughs 😀"),
        ("Er lacht 😀!", "Er lacht!", "He laughs!", "0-0 1-1", "He laughs 😀!"),
        ("Drei Hunde", "Drei Hunde", "Three dogs", "0-0 1-1", "Three dogs"),
    ],
)
def test_items_are_put_back_beside_the_words_they_stood_at(
    line: str, without: str, translation: str, links: str, expected: str
) -> None:
    text, lifted = lift(line)
    assert text == without
    pairs = [(int(i), int(j)) for i, j in (link.split("-") for link in links.split())]
    assert restore(translation, lifted, pairs, len(text.split())) == expected


pieces = st.sampled_from(
    ["Hund", "{name}", "%s", " ", " ", ".", ",", "<b>", "</b>", "😀", "a@b.org", "https://x.org/y"]
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    line=st.lists(pieces, max_size=12).map("".join),
    links=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 5))),
    words=st.lists(st.sampled_from(["dog", "runs", "it."]), max_size=6),
)
def test_every_item_comes_back_whatever_the_alignment(
    line: str, words: list[str], links: list[tuple[int, int]]
) -> None:
    text, lifted = lift(line)
    restored = restore(" ".join(words), lifted, [(i, j) for i, j in links if j < len(words)], len(text.split()))
    assert all(item.text in restored for item in lifted)
    for item in lifted:
        restored = restored.replace(item.text, " ", 1)
    assert "".join(restored.split()) == "".join(words)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    line=st.lists(pieces, max_size=12).map("".join),
    links=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 5))),
    words=st.lists(st.sampled_from(["dog", "runs", "it.", "a\u2003b"]), max_size=6),
)
def test_links_with_items_are_between_words_that_are_there(
    line: str, words: list[str], links: list[tuple[int, int]]
) -> None:
    text, lifted = lift(line)
    translation = " ".join(words)
    restored = restore(translation, lifted, links, len(text.split()))
    found = relink(links, (line, text), (restored, translation))
    assert all(i < len(line.split()) and j < len(restored.split()) for i, j in found)


def test_links_are_those_of_the_visible_words() -> None:
    found = relink(
        [(0, 0), (1, 2), (2, 1)], ("Ein {x} roter Hut 😀", "Ein roter Hut"), ("A hat {x} red 😀", "A hat red")
    )
    assert found == [(0, 0), (3, 1), (1, 2), (2, 3), (4, 4)]
