"""What is asked for and what is found: a line with its demands, and a translation with all that is known of it."""

import math
from dataclasses import dataclass

from nmt.decode.hypothesis import Hypothesis
from nmt.text.suspicions import Flag


@dataclass(frozen=True)
class Term:
    """Words or phrases of which a translation must hold one (see `nmt.decode.phrases` for how they match)."""

    targets: tuple[str, ...]
    source: str = ""
    """What it translates, as the line has it: of several spans, the one with this must hold the term; empty: the first.
    """


@dataclass(frozen=True)
class Request:
    """A line, and what its translation must be like."""

    text: str
    prefix: str = ""
    """The translation begins with this (see `SearchConfig.prefix_bias`)."""
    must: tuple[Term, ...] = ()
    must_not: tuple[str, ...] = ()
    """Words and phrases that must not occur."""

    @property
    def demanding(self) -> bool:
        return bool(self.prefix or self.must or self.must_not)


@dataclass(frozen=True)
class Part:
    """What was found for one span of a line."""

    source: tuple[int, ...]
    hypothesis: Hypothesis


@dataclass(frozen=True)
class Translation:
    """One translation of a line."""

    text: str
    """Without line breaks; empty for a blank line."""

    score: float
    """Length-normalised log-probability (see `nmt.decode.beam`); of a line cut into spans, their mean; 0 if blank."""

    parts: tuple[Part, ...]
    """One for each span that the line was cut into; none if it is blank."""

    flags: tuple[Flag, ...] = ()
    """What looks wrong with it (see `nmt.text.suspicions`), after all that was tried."""

    fallback: str = ""
    """How it was found, if the first translation looked wrong."""

    links: tuple[tuple[int, int], ...] | None = None
    """Its word alignment, if items were put back into it: then `parts` are those of the line without them."""

    @property
    def log_prob(self) -> float:
        """Natural logarithm of the probability of its pieces."""
        return math.fsum(part.hypothesis.log_prob for part in self.parts)

    @property
    def token_log_probs(self) -> list[float]:
        """Of each piece, and of the EOS of each part."""
        return [log_prob for part in self.parts for log_prob in part.hypothesis.token_log_probs]

    @property
    def confidence(self) -> float:
        """Geometric mean of the probabilities of its pieces: 1 is certain; of a blank line 1."""
        log_probs = self.token_log_probs
        return math.exp(math.fsum(log_probs) / len(log_probs)) if log_probs else 1.0

    @property
    def finished(self) -> bool:
        """False: some part is as long as was allowed, and probably incomplete or a loop."""
        return all(part.hypothesis.finished for part in self.parts)
