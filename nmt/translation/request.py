"""Input and output of a translator: a line with its constraints, and a translation with its scores and flags."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from nmt.decode.hypothesis import Hypothesis
from nmt.text.items import NO_OWN
from nmt.text.own_items import OwnItems
from nmt.text.suspicions import Flag
from nmt.text.tokens import Links, word_links


@dataclass(frozen=True)
class Term:
    """Alternative words or phrases: a translation must contain one (matched as `nmt.text.scripts.Phrase` says)."""

    targets: tuple[str, ...]
    source: str = ""
    """The words of the line that the term translates. The span with these words must contain it; if they are not given,
    the span that it makes least improbable."""


@dataclass(frozen=True)
class Constraints:
    """The text that a translation begins with, terms that it must contain (in any order), forbidden phrases, and terms
    that are only shown to the model (see `nmt.translation.hints`)."""

    prefix: str = ""
    must: tuple[Term, ...] = ()
    must_not: tuple[str, ...] = ()
    hints: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.prefix or self.must or self.must_not or self.hints)

    def joined(self, others: "Constraints") -> "Constraints":
        prefix = self.prefix or others.prefix
        must, must_not = self.must + others.must, self.must_not + others.must_not
        return Constraints(prefix, must, must_not, self.hints + others.hints)


NO_CONSTRAINTS = Constraints()


@dataclass(frozen=True)
class Request:
    """A line to translate."""

    text: str
    constraints: Constraints = NO_CONSTRAINTS
    own: OwnItems = NO_OWN
    """Items that the user describes."""
    line: str = ""
    """The line that the user sees, if `text` is only a part or another form of it."""
    whole: "Callable[[Translation], Translation] | None" = field(default=None, compare=False)
    """Makes a translation of that line from one of `text`."""

    def inside(self, text: str, put_back: "Callable[[Translation], Translation]") -> "Request":
        """A request for a part, or another form, of this one's text; `put_back`: makes a translation of this text from
        one of that."""
        outer = self.whole
        whole = (lambda translation: outer(put_back(translation))) if outer else put_back
        return replace(self, text=text, line=self.line or self.text, whole=whole)


@dataclass(frozen=True)
class Part:
    """The source ids of one span of a line, and the hypothesis that was chosen for it."""

    source: tuple[int, ...]
    hypothesis: Hypothesis
    touches: tuple[bool, bool] = (False, False)
    """Whether no blank separates it from the part before it: in the source, and in the translation."""
    between: tuple[int, int] = (0, 0)
    """Words (dashes) between it and the part before it: in the source, and in the translation."""


@dataclass(frozen=True)
class Moved:
    """Where the words of a line with placeholders, and of its translation, are in the texts with items."""

    line: str
    """The line with items."""
    source: str
    source_places: Sequence[int]
    translation: str
    """The translation with items."""
    target: str
    target_places: Sequence[int]
    skipped: int = 0
    """Words of `source`, and of `target`, before the text that was translated (`Translation.words_around`)."""

    def around(self, inner: "Moved | None") -> "Moved":
        """This one, if words were moved inside of `source` and `target` too."""
        same = inner and (len(inner.line), len(inner.translation)) == (len(self.source), len(self.target))
        if not (inner and same):
            return self
        sources = [self.source_places[place] for place in inner.source_places]
        targets = [self.target_places[place] for place in inner.target_places]
        return replace(self, source=inner.source, source_places=sources, target=inner.target, target_places=targets)

    def links(self, links: Links) -> list[tuple[int, int]]:
        """Links of the words of the line and its translation with items, from those with placeholders."""
        starts, ends = ([word.start() for word in re.finditer(r"\S+", text)] for text in (self.source, self.target))
        links = [(i + self.skipped, j + self.skipped) for i, j in links]
        known = [(i, j) for i, j in links if i < len(starts) and j < len(ends)]
        places = [(self.source_places[starts[i]], self.target_places[ends[j]]) for i, j in known]
        return word_links(places, self.line, self.translation)


@dataclass(frozen=True)
class Translation:
    """One translation of a line."""

    text: str
    """The translation, with the line breaks inside the source; empty for a blank line. Tabs only where they separated
    sentences."""

    score: float
    """Length-normalised log-probability (see `nmt.decode.beam`); for a line cut into spans, their mean; 0 if blank."""

    parts: tuple[Part, ...]
    """One part for each span that the line was cut into; none if it is blank."""

    flags: tuple[Flag, ...] = ()
    """What looks wrong with the translation (see `nmt.text.suspicions`), after all attempts."""

    fallback: str = ""
    """The retry that made the translation (see `nmt.translation.repair`); empty for the first attempt."""

    links: tuple[tuple[int, int], ...] | None = None
    """Word alignment if items were put back: then `parts` are of the line without items. Else None."""

    words_around: tuple[int, int] = (0, 0)
    """Words before and after the text that was translated, such as a list mark: the same in line and translation."""

    moved: Moved | None = None
    """Where words are, if placeholders stood for items in the line that the parts are of."""

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
        log_probs = self.token_log_probs
        return math.exp(math.fsum(log_probs) / len(log_probs)) if log_probs else 1.0

    @property
    def finished(self) -> bool:
        """False if a part reached the length limit: it is probably incomplete or a loop."""
        return all(part.hypothesis.finished for part in self.parts)


def with_flag(translation: Translation, flag: Flag) -> Translation:
    flags = {*translation.flags, flag}
    return replace(translation, flags=tuple(one for one in get_args(Flag) if one in flags))


def ranks(n_best: Sequence[Sequence[Translation]]) -> list[list[Translation]]:
    """The best translation of each part of a text, the second ones …; where a part has fewer, its last is repeated."""
    return [[some[min(k, len(some) - 1)] for some in n_best] for k in range(max(map(len, n_best)))]


def combined(
    text: str, translations: Sequence[Translation], links: tuple[tuple[int, int], ...] | None = None
) -> Translation:
    """The translation `text`, made of these of its parts. Its score is the mean of those that aren't blank."""
    scores = [one.score for one in translations if one.parts] or [0.0]
    flags = {flag for one in translations for flag in one.flags}
    return Translation(
        text,
        sum(scores) / len(scores),
        parts=tuple(part for one in translations for part in one.parts),
        flags=tuple(flag for flag in get_args(Flag) if flag in flags),
        fallback=", ".join(dict.fromkeys(one.fallback for one in translations if one.fallback)),
        links=links,
    )


Translate = Callable[[Sequence[Request]], list[list[Translation]]]
"""Lines to their n-best lists."""
