"""A reading: a text on its way from the user to the model, which knows where each character stands in the line.

Every step of reading (`nmt.reading.loop`) makes readings from a reading: parts of its text, or the text changed.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from nmt.reading.request import NO_CONSTRAINTS, Constraints, Places, Request, Translation
from nmt.text.edits import Edit, apply
from nmt.text.items import NO_OWN
from nmt.text.markup import Segment
from nmt.text.normalise import require_string
from nmt.text.own_items import OwnItems

LONGEST_COMPARED = 200  # characters of a word: comparing two words takes quadratic time
WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Reading:
    """A text on its way to the model."""

    text: str
    line: str
    """The whole text of the request, as the user wrote it."""
    places: Places
    """For each character of `text`, and for its end, where it begins in the line."""
    constraints: Constraints = NO_CONSTRAINTS
    own: OwnItems = NO_OWN
    segment: Segment | None = None
    """The segment of mark-up that the text is, if its tags are still in it."""
    ids: tuple[int, ...] | None = None
    """The ids of the text, without EOS, if it is to be searched as it is."""
    number: int = 0
    """Of a part of a line, among the parts that are searched alone."""

    @classmethod
    def of(cls, request: Request) -> "Reading":
        text = request.text
        require_string(text)
        return cls(text, text, range(len(text) + 1), request.constraints, request.own)

    @property
    def request(self) -> Request:
        """A request for the text alone."""
        return Request(self.text, self.constraints, self.own)

    def of_line(self, translation: Translation) -> Translation:
        """A translation of `request` as one of this part of the line."""
        parts = [
            replace(part, source_places=tuple(self.places[place] for place in part.source_places))
            for part in translation.parts
        ]
        links = tuple((self.places[i], j) for i, j in translation.links)
        return replace(translation, parts=tuple(parts), links=links)

    def written(self, start: int, end: int) -> str:
        """The part of the line that `text[start:end]` was made of."""
        return self.line[self.places[start] : self.places[end]]

    def part(self, start: int, end: int, constraints: Constraints | None = None) -> "Reading":
        kept = self.constraints if constraints is None else constraints
        return replace(self, text=self.text[start:end], places=self.places[start : end + 1], constraints=kept)

    def remapped(self, text: str, places: Sequence[int]) -> "Reading":
        """The reading with another text; `places`: where each of its characters begins in the present one."""
        own = self.places
        return replace(self, text=text, places=(*(own[place] for place in places), own[-1]), segment=None)

    def edited(self, edits: Sequence[Edit]) -> "Reading":
        """The reading where parts of the text (in order, without overlaps) are replaced. A replacement that is longer
        than its part stands where the part ends."""
        places, end = list[int](), 0
        for start, stop, new in edits:
            last = max(start, stop - 1)
            places += [*range(end, start), *(min(start + k, last) for k in range(len(new)))]
            end = stop
        return self.remapped(apply(self.text, edits), [*places, *range(end, len(self.text))])

    def respelled(self, text: str, reads: Callable[[str], str] = str) -> "Reading":
        """The reading with the same words in other characters. `reads`: what becomes of a word alone; words of which
        nothing stays are left out."""
        if text == self.text:
            return self
        words, places = list(WORD.finditer(text)), list[int]()
        kept = [word for word in WORD.finditer(self.text) if reads(word[0])] or list(WORD.finditer(self.text))
        for n, word in enumerate(words):
            old = kept[min(n, len(kept) - 1)]
            places += [max(0, old.start() - 1)] * (word.start() - len(places))
            places += [old.start() + place for place in same_places(old[0], word[0])]
        return self.remapped(text, places + [len(self.text)] * (len(text) - len(places)))


def same_places(old: str, new: str) -> Places:
    """For each character of a word its place in another spelling of the word."""
    if len(old) == len(new):
        return range(len(new))
    if max(len(old), len(new)) > LONGEST_COMPARED:
        return [place * len(old) // len(new) for place in range(len(new))]
    places = list[int]()
    for _, start, stop, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        places += [min(start + k, max(start, stop - 1), len(old) - 1) for k in range(last - first)]
    return places
