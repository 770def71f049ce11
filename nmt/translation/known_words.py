"""Lines are read in words that the model knows (see `nmt.text.words`); their translations get the case of the lines."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from nmt.text.items import outside_items
from nmt.text.normalise import tidy
from nmt.text.words import Words, casing_of
from nmt.translation.request import Moved, Request, Translate, Translation, with_flag

WORD_START = re.compile(r"(?<![\w'’])[^\W\d_]")


def initials(text: str) -> str:
    """The text with a capital at the start of each word."""
    return WORD_START.sub(lambda letter: letter[0].upper(), text)


CASINGS: dict[Callable[[str], str] | None, Callable[[str], str]] = {str.upper: str.upper, str.title: initials}


@dataclass(frozen=True)
class Read:
    """A line as a model reads it."""

    line: str
    text: str
    casing: Callable[[str], str] = str
    """How the translation is written."""
    other: str = ""
    """The line with words in another usual case of theirs ("Sie" and "sie"); empty if it has none."""


def translate_known(requests: Sequence[Request], words: Words | None, translate: Translate) -> list[list[Translation]]:
    """As `translate`, which gets the lines in known words. If the case of words leaves two readings, and they have
    different translations, the flag "unsure" is set."""
    if words is None:
        return translate(requests)
    read = [read_line(request, words) for request in requests]
    pairs = list(zip(requests, read, strict=True))
    inner = [r.inside(one.text, partial(put_back, read=one, request=r)) if one else r for r, one in pairs]
    n_best = translate(inner)
    two = {n: one.other for n, one in enumerate(read) if one and one.other}
    others = translate([replace(inner[n], text=other) for n, other in two.items()]) if two else []
    for n, other in zip(two, others, strict=True):
        n_best[n] = [with_flag(t, "unsure") if t.text.casefold() != other[0].text.casefold() else t for t in n_best[n]]
    return [
        [put_back(t, one, request) for t in row] if one else row
        for row, (request, one) in zip(n_best, pairs, strict=True)
    ]


def read_line(request: Request, words: Words) -> Read | None:
    """The line in known words; None if it has them already. Constraints are in the case that the user wrote, and so
    such a line keeps its own."""
    line = tidy(request.text)[0]
    if "\t" in request.text:
        return None
    recased = line if request.constraints else words.recased(line)
    text = words.respelled(recased)
    if text == line:
        return None
    casing = CASINGS.get(casing_of(line), str) if recased != line else str
    other = words.respelled(words.recased(line, second=True)) if recased != line else text
    return Read(line, text, casing, other if other != text else "")


def put_back(translation: Translation, read: Read, request: Request) -> Translation:
    """The translation in the case of the line; its alignment counts the words of the line."""
    text = outside_items(translation.text, read.casing, request.own)
    moved = translation.moved
    if len(read.line.split()) != len(read.text.split()):
        moved = Moved(read.line, read.text, source_places(read), text, text, range(len(text))).around(moved)
    return replace(translation, text=text, moved=moved)


def source_places(read: Read) -> list[int]:
    """For the start of each word of the text, where it begins in the line: some words of the line were joined."""
    places, own = [0] * len(read.text), list(re.finditer(r"\S+", read.line))
    n = 0
    for word in re.finditer(r"\S+", read.text):
        places[word.start()] = own[min(n, len(own) - 1)].start()
        joined = n < len(own) - 1 and own[n][0][-1] in "-\u00ac\u2010" and word[0][-1] not in "-\u00ac\u2010"
        n += 1 + joined
    return places
