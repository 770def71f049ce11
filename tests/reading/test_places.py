"""The one map of places: whatever is done to a text, each character knows where it stands in the line as written."""

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt.reading.loop import Reading
from nmt.reading.request import Part, Request, Translation, join
from tests.reading.pretended import SURE

many = settings(max_examples=100, deadline=None, derandomize=True)
texts = st.text("abc. \u00a0üß{}\t", min_size=1, max_size=25)
numbers = st.lists(st.integers(0, 30), min_size=6, max_size=6)


def edits_of(text: str, spots: list[int], new: str) -> list[tuple[int, int, str]]:
    """Up to three parts of a text, in order, in whose place another text stands."""
    ends = sorted(min(spot, len(text)) for spot in spots)
    return [(start, end, new) for start, end in zip(ends[::2], ends[1::2], strict=True) if start < end]


def changed(reading: Reading, way: str, spots: list[int], new: str) -> Reading:
    text, start, end = reading.text, min(spots), max(spots)
    if way == "part":
        return reading.part(min(start, len(text)), min(end, len(text)))
    if way == "edited":
        return reading.edited(edits_of(text, spots, new))
    if way == "respelled":
        change = lambda word: word.replace("ü", "ue").replace("ß", "ss").replace(".", "")  # noqa: E731
        return reading.respelled(" ".join(filter(None, map(change, text.split()))), change)
    kept = [n for n, character in enumerate(text) if character not in "{}"]
    return reading.remapped("".join(text[n] for n in kept), kept)


@many
@example(".aß", [("respelled", [0] * 6, "")])  # to "ass", which has as many characters
@given(
    texts, st.lists(st.tuples(st.sampled_from(["part", "edited", "respelled", "remapped"]), numbers, texts), max_size=4)
)
def test_places_of_a_reading_rise_and_unchanged_ones_stay(line: str, changes: list[tuple[str, list[int], str]]) -> None:
    reading = Reading.of(Request(line))
    for way, spots, new in changes:
        reading = changed(reading, way, spots, new.upper().replace("SS", "T"))
    places = [*reading.places]
    assert len(places) == len(reading.text) + 1
    assert places == sorted(places)
    assert all(0 <= place <= len(line) for place in places)
    letters = [(c, line[place]) for c, place in zip(reading.text, places, strict=False) if c in "abc"]
    assert all(c == old for c, old in letters)


def test_the_characters_of_a_replacement_stand_beside_those_that_they_replace() -> None:
    reading = Reading.of(Request("ab cd ef"))
    assert [*reading.edited([(3, 5, "XY"), (6, 8, "LONG")]).places] == [0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 8]
    assert [*reading.edited([(0, 2, "")]).places] == [2, 3, 4, 5, 6, 7, 8]


def test_a_part_of_a_translation_of_a_part_of_a_line_knows_its_place_in_the_line() -> None:
    part = Reading.of(Request("ab cab")).part(3, 6)
    translation = part.of_line(translation_of(part.text))
    assert [*translation.parts[0].source_places] == [3, 4, 5]
    assert translation.links == ((4, 1),)


def translation_of(text: str) -> Translation:
    part = Part((5,), SURE, text, text, range(len(text)), range(len(text)))
    links = ((letter.start(), letter.start()) for letter in re.finditer("a", text))
    return Translation(text, -1.0, (part,), links=tuple(links))


@many
@given(st.lists(st.tuples(texts, numbers, texts) | texts, min_size=1, max_size=4))
def test_parts_keep_places_when_texts_are_edited_and_joined(pieces: list[tuple[str, list[int], str] | str]) -> None:
    """What is put in has capitals, so that the letters of parts are known again."""
    edited = [
        translation_of(p[0]).edited(edits_of(p[0], p[1], p[2].upper())) if isinstance(p, tuple) else p.upper()
        for p in pieces
    ]
    whole = join(edited)
    assert whole.text == "".join(p if isinstance(p, str) else p.text for p in edited)
    assert len(whole.parts) == sum(isinstance(p, tuple) for p in pieces)
    for part in whole.parts:
        assert [*part.target_places] == sorted(part.target_places)
        for character, place in zip(part.written, part.target_places, strict=True):
            assert 0 <= place <= len(whole.text)
            found = whole.text[place : place + 1]
            assert found == character or found == found.upper()
    for _, j in whole.links:
        assert whole.text[j : j + 1] in ("a", whole.text[j : j + 1].upper())
