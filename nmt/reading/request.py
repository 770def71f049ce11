"""What goes into a translator, and what comes out: a line with its constraints, and a translation with its parts.

Places are offsets of characters (code points). A part of a translation knows for each of its characters where it stands
in the line as the user wrote it, and in the translation as the user reads it: the one map that word alignment, tags and
glossaries use.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from torch import Tensor

from nmt.decode.hypothesis import Hypothesis
from nmt.fields import shown, texts_of
from nmt.text.edits import Edit, apply, shifts
from nmt.text.suspicions import Flag
from nmt.text.user_items import NO_USER_ITEMS, UserItems

Places = Sequence[int]
"""Offsets in another text, one for each character."""


@dataclass(frozen=True)
class Term:
    """Alternative words or phrases: a translation must contain one (matched as `nmt.text.scripts.Phrase` says)."""

    targets: tuple[str, ...]
    source: str = ""
    """The words of the line that the term translates. The span with these words must contain it; if they are not given,
    the span whose translation has it, or else where the model finds its first piece most probable."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "targets", texts_of(self.targets, "targets"))


@dataclass(frozen=True)
class Constraints:
    """The text that a translation begins with, terms that it must contain (in any order), and forbidden phrases."""

    prefix: str = ""
    must: tuple[Term, ...] = ()
    must_not: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "must", tuple(self.must))
        object.__setattr__(self, "must_not", texts_of(self.must_not, "must_not"))
        if wrong := [term for term in self.must if not isinstance(term, Term)]:
            raise TypeError(f"must has {shown(wrong[0])}: give a Term, such as Term(('house', 'home'))")

    def __bool__(self) -> bool:
        return bool(self.prefix or self.must or self.must_not)

    def joined(self, others: "Constraints") -> "Constraints":
        prefix = self.prefix or others.prefix
        return Constraints(prefix, self.must + others.must, self.must_not + others.must_not)


NO_CONSTRAINTS = Constraints()


@dataclass(frozen=True)
class Request:
    """A text to translate."""

    text: str
    constraints: Constraints = NO_CONSTRAINTS
    user_items: UserItems = NO_USER_ITEMS
    """Items that the user describes."""


@dataclass(frozen=True)
class Part:
    """A text that the model read at once, and what it wrote."""

    source: tuple[int, ...]
    """The source ids, without EOS."""
    hypothesis: Hypothesis
    read: str = ""
    """The text that the model read."""
    written: str = ""
    """The text that it wrote."""
    source_places: Places = ()
    """For each character of `read`, where it begins in the line."""
    target_places: Places = ()
    """For each character of `written`, where it begins in the translation."""
    attention_TS: Tensor | None = field(default=None, compare=False, repr=False)
    """From the pieces of the hypothesis to those of the source, if the text was read to be aligned."""


@dataclass(frozen=True)
class Translation:
    """One translation of a line."""

    text: str
    """The translation, with the line breaks and tabs inside the source; empty for a blank line."""

    score: float
    """Length-normalised log-probability (see `nmt.decode.beam`); for a line cut into spans, their mean; 0 if blank."""

    parts: tuple[Part, ...]
    """One part for each span that the line was cut into; none if it is blank."""

    flags: tuple[Flag, ...] = ()
    """What looks wrong with the translation (see `nmt.text.suspicions`), after all attempts."""

    fallback: str = ""
    """The retry that made the translation (see `nmt.translation.repair`); empty for the first attempt."""

    links: tuple[tuple[int, int], ...] = ()
    """Places, in the line and in the translation, of what was put back, such as tags."""

    quality: float | None = None
    """The probability that source and translation belong together, by a pair scorer (see
    `nmt.translation.pair_scorer`); None without one, or if they are too long."""

    @property
    def log_prob(self) -> float:
        """Natural logarithm of the probability of all pieces."""
        return math.fsum(part.hypothesis.log_prob for part in self.parts)

    @property
    def token_log_probs(self) -> list[float]:
        """Log-probability of each piece, and of the EOS of each part."""
        return [log_prob for part in self.parts for log_prob in part.hypothesis.token_log_probs]

    @property
    def confidence(self) -> float:
        """Geometric mean of the probabilities of the pieces: 1 is certain; 1 for a blank line."""
        length = sum(len(part.hypothesis.token_log_probs) for part in self.parts)
        return math.exp(self.log_prob / length) if length else 1.0

    @property
    def finished(self) -> bool:
        """False if a part reached the length limit: it is probably incomplete or a loop."""
        return all(part.hypothesis.finished for part in self.parts)

    def flagged(self, *flags: Flag) -> "Translation":
        return replace(self, flags=ordered({*self.flags, *flags}))

    def edited(self, edits: Sequence[Edit]) -> "Translation":
        """The translation where parts of its text (in order, without overlaps) are replaced."""
        return self.moved(apply(self.text, edits), shifts(edits)) if edits else self

    def moved(self, text: str, place: Callable[[int], int], links: Iterable[tuple[int, int]] = ()) -> "Translation":
        """The translation with another text; `place`: where each place of the present one is in that text. `links`: of
        what is put back."""
        parts = tuple(replace(part, target_places=tuple(map(place, part.target_places))) for part in self.parts)
        return replace(self, text=text, parts=parts, links=(*((i, place(j)) for i, j in self.links), *links))


Lists = list[list[Translation]]
"""The n-best list of each text."""
BLANK = Translation("", 0.0, ())


def ordered(flags: set[Flag]) -> tuple[Flag, ...]:
    return tuple(flag for flag in get_args(Flag) if flag in flags)


def join(pieces: Sequence["str | Translation"]) -> Translation:
    """One translation of texts and translations side by side. Its score is the mean of those that aren't blank."""
    text, length = list[str](), 0
    parts, links = list[Part](), list[tuple[int, int]]()
    for piece in pieces:
        new = piece if isinstance(piece, str) else piece.text
        if isinstance(piece, Translation):
            for part in piece.parts:
                places = part.target_places
                parts.append(replace(part, target_places=shifted(places, length)) if length else part)
            links += [(i, j + length) for i, j in piece.links]
        text.append(new)
        length += len(new)
    found = [piece for piece in pieces if isinstance(piece, Translation)]
    scores = [translation.score for translation in found if translation.parts] or [0.0]
    return Translation(
        "".join(text),
        sum(scores) / len(scores),
        tuple(parts),
        ordered({flag for translation in found for flag in translation.flags}),
        ", ".join(dict.fromkeys(translation.fallback for translation in found if translation.fallback)),
        tuple(links),
    )


def shifted(places: Places, length: int) -> Places:
    """The places, that many characters later."""
    return tuple(place + length for place in places)


def ranks(n_best: Sequence[Sequence[Translation]]) -> Lists:
    """The best translation of each part of a text, the second ones …; where a part has fewer, its last is repeated."""
    return [
        [translations[min(k, len(translations) - 1)] for translations in n_best] for k in range(max(map(len, n_best)))
    ]
