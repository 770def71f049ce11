"""The loop of reading: texts go through steps to the model, and what it writes goes back through them to the user.

    „Wo ist <b>{name}</b>?“      mark-up, edges, items …    →    Wo ist ⟨1⟩?    →    model
    “Where is <b>{name}</b>?”    … items, edges, mark-up    ←    Where is ⟨1⟩?  ←

A step looks at a reading and leaves it alone (None), or takes something from it: then it says how to go on with the
readings that it made (parts of the text, or the text changed), and how their translations become translations of the
text. All leaves, the readings that no step takes anything from, are searched in one call.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.reading.reading import Reading
from nmt.reading.request import Translation, join, ranks
from nmt.text.markup import Mode
from nmt.text.words import Spellings


@dataclass(frozen=True)
class Limits:
    """When a line is cut."""

    pieces: int
    """The most pieces of a span."""
    split_above: int
    """A line of more pieces is cut between its sentences."""
    sentences: float = math.inf
    """A line of more sentences is cut between them."""


class Links(Protocol):
    """Word alignment, as steps need it."""

    def __call__(
        self, translation: Translation, source: Sequence[tuple[int, bool]], target: Sequence[tuple[int, bool]]
    ) -> list[tuple[int, int]]:
        """Link tokens of a line and of its translation (of each: where it begins, and whether it is a word)."""


@dataclass(frozen=True)
class Context:
    """What steps know besides the reading."""

    tokenizer: Tokenizer
    search: SearchConfig
    limits: Limits
    """When lines are cut."""
    links: Links
    quotes: tuple[str, str] | None = None
    """Of the target language."""
    spellings: Spellings = field(default_factory=dict)
    """Of the source language."""
    final_mark: str = ""
    """The mark that lines without one get."""
    mode: Mode = "none"
    """Which texts are mark-up."""


@dataclass(frozen=True)
class Taken:
    """What a step took from a reading. By itself, it goes on with other readings, and changes no translation."""

    readings: tuple[Reading, ...]

    def back(self, lists: Sequence[list[Translation]]) -> list[Translation]:
        """The n-best list of the text, from those of `readings`; empty if these don't do."""
        return [self.put_back(chosen) for chosen in ranks(lists)] if all(lists) else []

    def put_back(self, chosen: Sequence[Translation]) -> Translation:
        """A translation of the text, from one of each reading."""
        return chosen[0]

    def targets(self, text: str) -> Iterator[tuple[str, ...]]:
        """All texts, one for each reading, that `put_back` may have made this translation of."""
        yield (text,)


Step = Callable[[Reading, Context], Taken | None]
Leaves = Callable[[Sequence[Reading]], Sequence[list[Translation]]]
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


def translate(
    readings: Sequence[Reading], steps: Sequence[Step], context: Context, leaves: Leaves
) -> list[list[Translation]]:
    """The n-best list of each reading, by these steps; an empty one where a step can't put back what it took."""
    trees = [grow(reading, steps, context) for reading in readings]
    found = iter(leaves([leaf for tree in trees for leaf in tree.leaves()]))
    return [tree.back(found) for tree in trees]


Scores = Callable[[Sequence[tuple[Reading, str]]], Sequence[Translation | None]]
"""The translations of readings by given texts, with the model's scores; None if it can't read or write so much."""


def force(
    pairs: Sequence[tuple[Reading, str]], steps: Sequence[Step], context: Context, scores: Scores
) -> list[Translation | None]:
    """Of each reading the given translation, with the score of what the model must have written for it: of several
    such texts, the most probable one. None if it can't have written it."""
    asked = list[tuple[Reading, str]]()
    ways = [ask(grow(reading, steps, context), text, asked) for reading, text in pairs]
    scored = scores(asked)
    return [best(way, scored) for way in ways]


@dataclass(frozen=True)
class Way:
    """What a given translation asks of a tree: the number of a leaf's text, or rows of ways, one of which will do."""

    number: int
    rows: "tuple[tuple[Way, ...], ...]" = ()


def ask(tree: Tree, text: str, asked: list[tuple[Reading, str]]) -> Way:
    if tree.taken is None:
        asked.append((tree.reading, text))
        return Way(len(asked) - 1)
    targets = tree.taken.targets(text)
    # Of readings that compete, a row asks only the first.
    rows = [[ask(*pair, asked) for pair in zip(tree.branches, row, strict=False)] for row in targets]
    return Way(-1, tuple(map(tuple, rows)))


def best(way: Way, scored: Sequence[Translation | None]) -> Translation | None:
    if way.number >= 0:
        return scored[way.number]
    found = ([best(branch, scored) for branch in row] for row in way.rows)
    joined = [join(row) for chosen in found if len(row := [one for one in chosen if one]) == len(chosen)]
    return max(joined, key=lambda translation: translation.score, default=None)
