"""The loop of reading: texts go through steps to the model, and what it writes goes back through them to the user.

    „Wo ist <b>{name}</b>?“      mark-up, edges, items …    →    Wo ist ⟨1⟩?    →    model
    “Where is <b>{name}</b>?”    … items, edges, mark-up    ←    Where is ⟨1⟩?  ←

A step looks at a reading and leaves it alone (None), or takes something from it: then it says how to go on with the
readings that it made (parts of the text, or the text changed), and how their translations become translations of the
text. All leaves, the readings that no step takes anything from, are searched in one call.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.surfaces import BYTE_PIECE
from nmt.reading.request import NO_CONSTRAINTS, Constraints, Lists, Places, Request, Translation, join, ranks
from nmt.text.edits import Edit, apply
from nmt.text.markup import Mode, Segment
from nmt.text.normalise import require_string
from nmt.text.user_items import NO_USER_ITEMS, UserItems
from nmt.text.words import Spellings
from nmt.vocabulary import SPACE

LONGEST_COMPARED = 200  # characters of a word: comparing two words takes quadratic time
LOOK_AHEAD = 8  # characters of a text that may be missing in its pieces
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
    user_items: UserItems = NO_USER_ITEMS
    segment: Segment | None = None
    """The segment of mark-up that the text is, if its tags are still in it."""
    ids: tuple[int, ...] | None = None
    """The ids of the text, without EOS, if it is to be searched as it is."""
    aligned: bool = False
    """Whether its translation is aligned with it, to put back what was taken out."""
    number: int = 0
    """Of a part of a line, among the parts that are searched alone."""

    @classmethod
    def of(cls, request: Request) -> "Reading":
        text = request.text
        require_string(text)
        return cls(text, text, range(len(text) + 1), request.constraints, request.user_items)

    @property
    def request(self) -> Request:
        return Request(self.text, self.constraints, self.user_items)

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

    def remapped(self, text: str, places: Sequence[int], *, aligned: bool = False) -> "Reading":
        """The reading with another text; `places`: where each of its characters begins in the present one."""
        now, aligned = self.places, aligned or self.aligned
        places = (*(now[place] for place in places), now[-1])
        return replace(self, text=text, places=places, segment=None, aligned=aligned)

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
    if len(old) == len(new) and old.lower() == new.lower():
        return range(len(new))
    if max(len(old), len(new)) > LONGEST_COMPARED:
        return [place * len(old) // len(new) for place in range(len(new))]
    places = list[int]()
    for _, start, stop, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        places += [min(start + k, max(start, stop - 1), len(old) - 1) for k in range(last - first)]
    return places


def piece_places(pieces: Sequence[str], text: str) -> list[list[int]]:
    """For each piece the places of its characters in the text, without blanks. Text and pieces may differ a little."""
    visible = [place for place, character in enumerate(text) if not character.isspace()]
    position, found = 0, list[list[int]]()
    for surface in surfaces(pieces):
        places = list[int]()
        for character in surface.replace(SPACE, ""):
            ahead = [text[place] for place in visible[position : position + LOOK_AHEAD]]
            if character in ahead:
                position += ahead.index(character) + 1
                places.append(visible[position - 1])
        found.append(places)
    return found


def surfaces(pieces: Sequence[str]) -> list[str]:
    """The text of each piece; a character that is spelled as bytes belongs to its first byte."""
    found: list[str] = []
    spelled, first = bytearray(), 0
    for n, piece in enumerate([*pieces, ""]):
        byte = BYTE_PIECE.fullmatch(piece)
        if byte:
            first = first if spelled else n
            spelled.append(int(byte[1], 16))
        elif spelled:
            for character in spelled.decode("utf-8", "replace"):
                found[min(first, len(found) - 1)] = character
                first += len(character.encode())
            spelled.clear()
        found.append("" if byte else piece)
    return found[: len(pieces)]


@dataclass(frozen=True)
class Limits:
    """When a line is cut."""

    pieces: int
    """The most pieces of a span."""
    split_above: int
    """A line of more pieces is cut between its sentences."""
    sentences: float = math.inf
    """A line of more sentences is cut between them."""


Token = tuple[int, bool]
"""Where a token begins, and whether it is a word or a sign."""
Link = tuple[int, int]


@dataclass(frozen=True)
class Context:
    """What steps know besides the reading."""

    tokenizer: Tokenizer
    search: SearchConfig
    limits: Limits
    """When lines are cut."""
    links: Callable[[Translation, Sequence[Token], Sequence[Token]], list[Link]]
    quotes: tuple[str, str] | None = None
    """Of the target language."""
    spellings: Spellings = field(default_factory=dict)
    """Of the source language."""
    final_mark: str = ""
    """The mark that lines without one get."""
    mode: Mode = "none"
    """Which texts are mark-up."""
    language: str = ""
    """Of the translation."""


@dataclass(frozen=True)
class Taken:
    """What a step took from a reading. By itself, it goes on with other readings, and changes no translation."""

    readings: tuple[Reading, ...]
    written: Callable[[str], str] = field(default=str, kw_only=True)
    """What the model must have written, as its only text, for a translation of the text."""

    def back(self, lists: Sequence[list[Translation]]) -> list[Translation]:
        """The n-best list of the text, from those of `readings`; empty if these don't do."""
        return [self.put_back(chosen) for chosen in ranks(lists)] if all(lists) else []

    def put_back(self, chosen: Sequence[Translation]) -> Translation:
        """A translation of the text, from one of each reading."""
        return chosen[0]

    def targets(self, text: str) -> Iterator[tuple[str, ...]]:
        """All texts, one for each reading, that `put_back` may have made this translation of."""
        yield (self.written(text),)


Step = Callable[[Reading, Context], Taken | None]
Leaves = Callable[[Sequence[Reading]], Lists]
"""The n-best lists of readings that go to the model."""


@dataclass(frozen=True)
class Tree:
    """A reading, with what the first step that takes something takes from it, and the trees of what is left."""

    reading: Reading
    taken: Taken | None
    branches: "tuple[Tree, ...]"

    def leaves(self) -> Iterator[Reading]:
        if self.taken is None:
            yield self.reading
        for branch in self.branches:
            yield from branch.leaves()

    def back(self, found: Iterator[list[Translation]]) -> list[Translation]:
        """The n-best list of the reading; `found`: those of its leaves, in order."""
        return self.taken.back([branch.back(found) for branch in self.branches]) if self.taken else next(found)


def grow(reading: Reading, steps: Sequence[Step], context: Context) -> Tree:
    for n, step in enumerate(steps):
        if taken := step(reading, context):
            return Tree(reading, taken, tuple(grow(part, steps[n + 1 :], context) for part in taken.readings))
    return Tree(reading, None, ())


def translate(readings: Sequence[Reading], steps: Sequence[Step], context: Context, leaves: Leaves) -> Lists:
    """The n-best list of each reading, by these steps; an empty one where a step can't put back what it took."""
    trees = [grow(reading, steps, context) for reading in readings]
    found = iter(leaves([leaf for tree in trees for leaf in tree.leaves()]))
    return [tree.back(found) for tree in trees]


Given = Sequence[tuple[Reading, str]]
"""Readings, each with a given translation."""
Scored = Sequence[Translation | None]
"""Translations with the model's scores; None if it can't read or write so much, or can't have written it."""


def force(pairs: Given, steps: Sequence[Step], context: Context, scores: Callable[[Given], Scored]) -> Scored:
    """Of each reading the given translation, with the score of what the model must have written for it: of several
    such texts, the most probable one."""
    asked = list[tuple[Reading, str]]()
    ways = [ask(grow(reading, steps, context), text, asked) for reading, text in pairs]
    scored = scores(asked)
    return [way(scored) for way in ways]


def ask(tree: Tree, text: str, asked: list[tuple[Reading, str]]) -> Callable[[Scored], Translation | None]:
    """Ask for the scores of what a given translation of a tree needs, and return what finds its best one in them."""
    if tree.taken is None:
        n = len(asked)
        asked.append((tree.reading, text))
        return lambda scored: scored[n]
    pairs = [zip(tree.branches, row, strict=True) for row in tree.taken.targets(text)]
    rows = [[ask(branch, part, asked) for branch, part in row] for row in pairs]

    def best(scored: Scored) -> Translation | None:
        found = ([way(scored) for way in row] for row in rows)
        joined = [join(parts) for row in found if len(parts := [part for part in row if part]) == len(row)]
        return max(joined, key=lambda translation: translation.score, default=None)

    return best
