"""Items pass through a model as placeholders: a line flows in, the line with placeholders flows out, and back.

For models that have learned to copy placeholders (`data.placeholders`): each item or tag becomes one character, and the
model decides where it stands in the translation. What was right beside the item stays with it, as in
`nmt.text.restore`: brackets, quotes and signs. Blanks separate a placeholder from words; where there was none in the
line, there will be none in the translation.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from nmt.text.items import NO_OWN, find_items
from nmt.text.own_items import OwnItems
from nmt.text.restore import CLOSES, GROUP, MARK, OPENS, SINGLE, Flat, Spell, widen, wordless_pairs
from nmt.text.tokens import is_spaced
from nmt.vocabulary import CLOSINGS, ITEMS, OPENINGS, PLACEHOLDERS

PLACEHOLDER = re.compile(f"[{''.join(PLACEHOLDERS)}]")
PARTNERS = dict(zip(CLOSINGS, OPENINGS, strict=True))  # of the placeholders of tags
MARKS = re.compile(f"[{OPENS}{CLOSES}]|{GROUP.pattern}")


@dataclass(frozen=True)
class Mark:
    """What a placeholder stands for."""

    text: str
    sign: str
    """SINGLE, OPENS or CLOSES."""
    touches: tuple[bool, bool]
    """Whether a word or another mark is right before it, and right after it."""


@dataclass(frozen=True)
class Marked:
    """A line with placeholders."""

    line: str
    text: str
    places: list[int]
    """Where each character of `text` begins in the line."""
    marks: dict[str, Mark]
    """By their placeholders, in the order of the line."""

    def restore(self, translation: str, spell: Spell = str) -> "Unmarked | None":
        """The translation with the items in place of their placeholders; `spell`: how its characters are written.

        None if a placeholder is missing or occurs twice, or if tags enclose nothing or cross each other.
        """
        found = PLACEHOLDER.findall(translation)
        if sorted(found) != sorted(self.marks) or not nests(translation):
            return None
        text, places, length = list[str](), list[int](), 0
        for n, character in enumerate(translation):
            mark, (before, after) = self.marks.get(character), neighbours(translation, n, n + 1)
            left, right = self.marks.get(before), self.marks.get(after)
            if mark:
                lead = " " if is_spaced(before) and not mark.touches[0] else ""
                tail = " " if is_spaced(after) and not mark.touches[1] else ""
                written = f"{lead}{mark.text}{tail}"
            elif character == " " and ((left and left.touches[1]) or (right and right.touches[0])):
                written = ""  # the blank only separates a placeholder from what its item touches
            else:
                written = spell(character)
            places.append(length + len(written) - len(written.lstrip(" ")))
            text.append(written)
            length += len(written)
        return Unmarked("".join(text), places)


@dataclass(frozen=True)
class Unmarked:
    """A translation with its items."""

    text: str
    places: list[int]
    """Where each character of the translation with placeholders is in `text`."""


def nests(translation: str) -> bool:
    """Whether each pair of tags encloses something, and the pairs don't cross."""
    opened = list[tuple[str, int]]()
    for n, character in enumerate(re.sub(r"\s", "", translation)):
        if character in OPENINGS:
            opened.append((character, n))
        elif character in CLOSINGS:
            opening, start = opened.pop() if opened else ("", n)
            if opening != PARTNERS[character] or n - start == 1:
                return False
    return True


def mark(flat: Flat, own: OwnItems = NO_OWN) -> Marked | None:
    """The line with placeholders. None if it has no items or nothing else, more items than there are placeholders, a
    tag inside a word or without its partner, or characters that are placeholders."""
    if PLACEHOLDER.search(flat.line):
        return None
    flat = replace(flat)  # a copy, in which items become marks too
    items = (item for item in find_items(flat.text, own) if item.kind != "number" and not MARK.search(item.text))
    flat.collapse([(item.start, item.end) for item in items])
    flat.collapse(list(wordless_pairs(flat.text)))
    found = list(find_marks(flat))
    if not found or not suits(flat, found):
        return None
    placeholders = [*choose([one.sign for _, _, one in found])]
    if len(placeholders) < len(found):
        return None
    text, places, marks, position = "", list[int](), dict[str, Mark](), 0
    for (start, end, one), placeholder in zip(found, placeholders, strict=True):
        before, after = (" " if touching else "" for touching in one.touches)
        text += flat.text[position:start]
        before = "" if text.endswith(" ") else before
        text += before + placeholder + after
        places += [*flat.places[position:start], *[flat.places[start]] * len(before + placeholder)]
        places += [flat.places[end]] * len(after)
        marks[placeholder], position = one, end
    return Marked(flat.line, text + flat.text[position:], [*places, *flat.places[position:-1]], marks)


def choose(signs: Sequence[str]) -> Iterator[str]:
    """A placeholder for each sign; ends with the first for which there is none. The tags must be in pairs."""
    free, tags, opened = iter(ITEMS), iter(range(len(OPENINGS))), list[int]()
    for sign in signs:
        if sign == OPENS:
            opened.append(next(tags, -1))
            found = OPENINGS[opened[-1]] if opened[-1] >= 0 else None
        else:
            found = CLOSINGS[opened.pop()] if sign == CLOSES else next(free, None)
        if found is None:
            return
        yield found


def find_marks(flat: Flat) -> Iterator[tuple[int, int, Mark]]:
    """Start, end and mark of each item of the text."""
    position = 0
    for match in MARKS.finditer(flat.text):
        sign = match[0][0]
        start, end = widen(flat.text, *match.span(), position) if sign == SINGLE else match.span()
        before, after = neighbours(flat.text, start, end)
        touches = before.isalnum() or bool(MARK.match(before)), after.isalnum() or bool(MARK.match(after))
        yield start, end, Mark(flat.raw(start, end), sign, touches)
        position = end


def neighbours(text: str, start: int, end: int) -> tuple[str, str]:
    return text[max(0, start - 1) : start], text[end : end + 1]


def suits(flat: Flat, found: list[tuple[int, int, Mark]]) -> bool:
    """Whether the line has words, no mark is inside a word, and each tag has its partner."""
    depths = [*accumulate((item.sign == OPENS) - (item.sign == CLOSES) for _, _, item in found)]
    inside = any(
        all(map(str.isalnum, neighbours(flat.text, start, end)))
        for start, end, item in found
        if item.sign != SINGLE or flat.rendered
    )
    in_pairs = min(depths) >= 0 and not depths[-1]
    return in_pairs and not inside and any(map(str.isalpha, flat.text))
