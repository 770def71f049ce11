"""Items pass through a model as placeholders: a line flows in, the line with placeholders flows out, and back.

For models that have learned to copy placeholders (`data.placeholders`): each item becomes one character, and the model
decides where it stands in the translation. What was right beside the item stays with it, as in `nmt.text.restore`:
brackets, quotes and signs. Blanks separate a placeholder from words; where there was none in the line, there will be
none in the translation. Tags have no placeholders: the word alignment places them better.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nmt.text.restore import CLOSES, GROUP, MARK, OPENS, flatten, widen
from nmt.text.tokens import is_spaced
from nmt.text.user_items import NO_USER_ITEMS, UserItems
from nmt.vocabulary import ITEMS, PLACEHOLDERS

PLACEHOLDER = re.compile(f"[{''.join(PLACEHOLDERS)}]")


@dataclass(frozen=True)
class Mark:
    """What a placeholder stands for."""

    text: str
    touches: Sequence[bool]
    """Whether a word or another mark is right before it, and right after it."""


@dataclass(frozen=True)
class Marked:
    """A line with placeholders."""

    text: str
    places: list[int]
    """Where each character of `text` begins in the line."""
    marks: dict[str, Mark]
    """By their placeholders, in the order of the line."""

    def restore(self, translation: str) -> tuple[str, list[int]] | None:
        """The translation with the items in place of their placeholders, and where each of its characters is then; None
        if a placeholder is missing or occurs twice."""
        if sorted(PLACEHOLDER.findall(translation)) != sorted(self.marks):
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
                written = character
            places.append(length + len(written) - len(written.lstrip(" ")))
            text.append(written)
            length += len(written)
        return "".join(text), places


def mark(line: str, user_items: UserItems = NO_USER_ITEMS) -> Marked | None:
    """The line with placeholders. None if it has no items or nothing else, pairs of tags, more items than there are
    placeholders, or characters that are placeholders."""
    flat = flatten(line, user_items)
    groups = [*GROUP.finditer(flat.text)] if flat.has_marks and {OPENS, CLOSES}.isdisjoint(flat.text) else []
    if not (0 < len(groups) <= len(ITEMS) and any(map(str.isalpha, flat.text))) or PLACEHOLDER.search(line):
        return None
    text, places, marks, position = "", list[int](), dict[str, Mark](), 0
    for group, placeholder in zip(groups, ITEMS, strict=False):
        start, end = widen(flat.text, *group.span(), position)
        touches = [beside.isalnum() or bool(MARK.match(beside)) for beside in neighbours(flat.text, start, end)]
        before, after = (" " if touching else "" for touching in touches)
        text += flat.text[position:start]
        before = "" if text.endswith(" ") else before
        text += before + placeholder + after
        places += [*flat.places[position:start], *[flat.places[start]] * len(before + placeholder)]
        places += [flat.places[end]] * len(after)
        marks[placeholder], position = Mark(flat.raw(start, end), touches), end
    return Marked(text + flat.text[position:], [*places, *flat.places[position:-1]], marks)


def neighbours(text: str, start: int, end: int) -> tuple[str, str]:
    return text[max(0, start - 1) : start], text[end : end + 1]
