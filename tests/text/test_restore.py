"""Items come back whole, once each and in their places, wherever the words beside them went."""

import re
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nmt.text.items import find_items, tag_pairs
from nmt.text.restore import Restored, lift, restore
from nmt.text.tokens import tokenize


def put_back(line: str, translation: str, links: str) -> Restored:
    """Restore the items of a line; `links` are of words and signs."""
    return restore(translation, lift(line), [(int(i), int(j)) for i, j in (link.split("-") for link in links.split())])


@pytest.mark.parametrize(
    ("line", "without", "translation", "links", "expected"),
    [
        ("Hallo {name}.", "Hallo.", "Hello.", "0-0 1-1", "Hello {name}."),
        ("Ein <b>roter</b> Hut", "Ein roter Hut", "A red hat", "0-0 1-1 2-2", "A <b>red</b> hat"),
        ("Ein <b>roter</b> Hut.", "Ein roter Hut.", "Un chapeau rouge.", "0-0 2-1 1-2", "Un chapeau <b>rouge</b>."),
        ("Ein <b>roter</b> <i>Hut</i>", "Ein roter Hut", "Un bob vif", "0-0 2-1 1-2", "Un <i>bob</i> <b>vif</b>"),
        ("Er <a>steht <b>da</b></a>.", "Er steht da.", "Here he is.", "2-0 0-1 1-2", "<a><b>Here</b> he is</a>."),
        ("Ein <b>roter</b> Mann geht", "Ein roter Mann geht", "A man walks", "0-0 2-1 3-2", "A <b></b> man walks"),
        ("😀Ja {x} geht.", "Ja geht.", "Walks.", "1-0 2-1", "😀 {x} Walks."),
        ("😀", "", "", "", "😀"),
        ("{name} lacht", "lacht", "laughs", "0-0", "{name} laughs"),
        ("Er lacht 😀!", "Er lacht!", "He laughs!", "0-0 1-1 2-2", "He laughs 😀!"),
        ("Drei Hunde", "Drei Hunde", "Three dogs", "0-0 1-1", "Three dogs"),
        # What stands beside an item comes with it.
        ("Das Haus ({x}) brennt.", "Das Haus brennt.", "The house burns.", "1-1 2-2 3-3", "The house ({x}) burns."),
        ("Oft las er ihn ({x}).", "Oft las er ihn.", "He read it often.", "2-0 1-1 3-2 0-3", "He read it ({x}) often."),
        ("Oft las er ihn {x}.", "Oft las er ihn.", "He read it often.", "2-0 1-1 3-2 0-3", "He read it often {x}."),
        ("Haus (https://x.de) brennt", "Haus brennt", "Burns, house", "1-0 0-2", "Burns, house (https://x.de)"),
        ("Seite {a} / {b} fehlt", "Seite fehlt", "Page is missing", "0-0 1-1 1-2", "Page {a} / {b} is missing"),
        ("Hallo, {name}!", "Hallo!", "Hello!", "0-0 1-1", "Hello, {name}!"),
        ("{name}: nicht da", "nicht da", "not there", "0-0 1-1", "{name}: not there"),
        ("Die {n}km Straße", "Die Straße", "The road", "0-0 1-1", "The {n}km road"),
        ("Da (mit {x}) geht", "Da (mit) geht", "There (with) goes", "0-0 2-2 1-1 3-3 4-4", "There (with {x}) goes"),
        ("<p>Eins.</p><p>Zwei.</p>", "Eins. Zwei.", "One. Two.", "0-0 1-1 2-2 3-3", "<p>One.</p> <p>Two.</p>"),
        ("<b>Er geht da</b>!", "Er geht da!", "There he goes!", "1-2", "<b>There he goes</b>!"),
        ("– „<b>Er geht da</b>“!", "– „Er geht da“!", "– “There he goes”!", "4-4 5-5 6-6", "– “<b>There he goes</b>”!"),
        # Words that nothing links, at the start of a sentence, belong to the pair that begins there.
        ("<b>Er geht</b>, nie", "Er geht, nie", "There he goes, no", "0-1 1-2 2-3 3-4", "<b>There he goes</b>, no"),
        ("Ja. <b>Er geht</b>", "Ja. Er geht", "No. There he goes", "0-0 1-1 2-3 3-4", "No. <b>There he goes</b>"),
        ("Nie <b>Er geht</b>", "Nie Er geht", "Never there he goes", "0-0 1-2 2-3", "Never there <b>he goes</b>"),
        ("Er <b>geht {x} weg</b>.", "Er geht weg.", "Away he goes.", "2-0 0-1 1-2", "<b>Away he goes {x}</b>."),
        # Scripts without spaces.
        ("Click {x} to see.", "Click to see.", "点击查看。", "", "{x}点击查看。"),
        ("请点击{x}查看。", "请点击查看。", "Click to see.", "0-0 1-1 2-2 3-2 5-3", "Click to see {x}."),
        # No-break spaces stay.
        ("Ein {x} Hut !", "Ein Hut !", "Un\u00a0chapeau\u202f!", "0-0 0-1 1-0 1-1", "Un\u00a0chapeau {x}\u202f!"),
    ],
)  # fmt: skip
def test_items_come_back_at_their_words(line: str, without: str, translation: str, links: str, expected: str) -> None:
    assert lift(line).text == without
    assert put_back(line, translation, links).text == expected


def test_a_pair_of_tags_that_encloses_nothing_any_more_is_told() -> None:
    assert not put_back("Ein <b>roter</b> Mann", "A man", "0-0 2-1").is_whole
    assert put_back("Ein <b></b> Mann", "A man", "0-0 1-1").is_whole


pieces = st.sampled_from(
    ["Hund", "{name}", "%s", " ", " ", *'.,()"-', "<b>", "</b>", "<i>", "</i>", "😀", "a@b.org", "日本"]
)  # fmt: skip
some_links = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 5)))
some_words = st.lists(st.sampled_from(["dog", "runs", "it.", "(so)", "日本", "a\u2003b"]), max_size=6)
many = settings(max_examples=100, deadline=None, derandomize=True)


@many
@given(line=st.lists(pieces, max_size=14).map("".join), words=some_words, links=some_links)
def test_every_item_comes_back_in_any_alignment(line: str, words: list[str], links: list[tuple[int, int]]) -> None:
    line = line.strip()
    restored = restore(" ".join(words), lift(line), links).text
    items = [item for item in find_items(line) if item.kind != "number"]
    found = [item for item in find_items(restored) if item.kind != "number"]
    assert sorted(item.text for item in items) == sorted(item.text for item in found)
    assert len(tag_pairs(found)) >= len(tag_pairs(items))
    for item in items:
        restored = restored.replace(item.text, " ", 1)
    rest = iter(re.sub(r"[^\w]", "", restored))
    assert all(character in rest for word in words for character in re.sub(r"[^\w]", "", word))


@many
@given(line=st.lists(pieces, max_size=14).map("".join))
def test_without_a_translation_the_words_and_items_of_a_line_stay_as_they_are(line: str) -> None:
    lifted = lift(line.strip())
    assume(lifted.tokens == tokenize(lifted.text))  # else an item is inside one, as in Hund{name}.Hund
    links = [(i, i) for i in range(len(lifted.tokens))]
    restored = restore(lifted.text, lifted, links)
    assert re.findall(r"[^\s]", restored.text) == re.findall(r"[^\s]", line)


def test_links_are_those_of_the_words_of_items() -> None:
    line = "Ein {x} roter Hut 😀"
    restored = put_back(line, "A hat red", "0-0 1-2 2-1")
    assert restored.text == "A {x} hat red 😀"
    assert [(line[i], restored.text[j]) for i, j in restored.links] == [("{", "{"), ("😀", "😀")]
    assert [restored.text[restored.place(place)] for place in (0, 2, 6)] == ["A", "h", "r"]


@pytest.mark.parametrize(
    "unit",
    ["{a} ", "{a}", "Wort {a} ", "Wort{a}", "<b>Größe</b> ", "({a}) und ", "<b><i>x</i></b>", "({x}", "</b>",
     "<b>Wort |</b>"],
)  # fmt: skip
def test_thousands_of_items_take_linear_time(unit: str) -> None:
    line = "".join(part * 5_000 for part in unit.split("|")).strip()
    begin = time.process_time()
    lifted = lift(line)
    restore(lifted.text, lifted, [(i, i) for i in range(len(lifted.tokens))])
    assert time.process_time() - begin < 3  # 0.03 to 0.6 s; quadratic time is 4 s to minutes
