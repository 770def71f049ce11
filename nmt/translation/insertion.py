"""Terms that a translation lacks are put into it: translations flow in, those with terms flow out.

A term stands where the model finds its first piece most probable. What is before it stays; what follows is searched
again. So terms are put in from left to right, mostly one in a round, and all sentences share the rounds. On captions
this takes a fifth of the time of constrained search (`nmt.decode.rules.Phrases`), and the model finds the result more
probable. Where a term can't be put in so, as one that its neighbours change, constrained search must do it.

Shapes: P phrases, T target pieces.
"""

from dataclasses import dataclass, field, replace

from torch import Tensor

from nmt.config import SearchConfig
from nmt.decode.hypothesis import CompiledConstraints, Hypothesis
from nmt.decode.phrases import Automaton

FAILURES = 2  # in a row, before constrained search does it
ROUNDS = 3  # with more terms than rounds, the first round puts in several
# Constrained search takes memory for each combination of terms that are met. With more terms, those that can't be put
# in otherwise stand at the end.
MOST_TERMS = 4
SCORED = 32  # translations whose places are compared together: the logits of all of them take memory


def narrower(search: SearchConfig) -> SearchConfig:
    """The settings for what follows a term: half the beam gives as good translations, in three quarters of the time."""
    return replace(search, beam_size=(search.beam_size + 1) // 2)


@dataclass
class Draft:
    """The best translation of a sentence so far, which lacks terms."""

    constraints: CompiledConstraints
    phrases: Automaton
    found: Hypothesis
    n_fixed: int = 0
    """The pieces that stay: all up to the newest term."""
    n_started: int = 0
    trying: set[int] = field(default_factory=set)
    """The phrases that are being put in."""
    failures: int = 0
    """Trials since the newest term that brought nothing."""

    def __post_init__(self) -> None:
        self.lacking = self.phrases.lacking(self.found.ids)

    @property
    def is_done(self) -> bool:
        return self.lacking == []

    @property
    def goes_on(self) -> bool:
        """Whether terms can be put in."""
        possible = self.failures < FAILURES and not self.constraints.prefix and bool(self.lacking)
        return possible and all(self.constraints.spelled[p] for p in self.lacking or ())

    @property
    def n_terms(self) -> int:
        return self.phrases.all_met.bit_count()

    @property
    def longest_start(self) -> list[int]:
        """A beginning that is as long as those that `start` makes."""
        return [*self.found.ids, *max((self.constraints.spelled[p] for p in self.lacking or ()), key=len)]

    @property
    def firsts(self) -> list[int]:
        """The first piece of each phrase that is lacking."""
        return [self.constraints.spelled[p][0] for p in self.lacking or ()]

    def start(self, log_probs_PT: Tensor) -> CompiledConstraints:
        """The beginning to try: up to the leftmost of the best places of all terms. `log_probs_PT`: of `firsts`."""
        ids, separating_V = self.found.ids, self.phrases.reader.surfaces.separating_V
        places = [i for i in range(self.n_fixed, len(ids) + 1) if i == len(ids) or separating_V[ids[i]]]
        # If the model made the term a part of a longer word, the word that stood there must follow it.
        places = places[:-1] if self.failures and len(places) > 1 else places
        best: dict[int, tuple[float, int, int]] = {}  # of each term, by its constraint
        for p, log_probs_T in zip(self.lacking or (), log_probs_PT.tolist(), strict=True):
            term = self.phrases.reader.constraints[p]
            found = max((log_probs_T[i], i, p) for i in places)
            best[term] = max(found, best.get(term, found))
        ranked = sorted((place, p) for _, place, p in best.values())
        prefix, done = list[int](), 0
        self.trying = set()
        for place, p in ranked[: max(1, len(ranked) - ROUNDS + 1)]:
            prefix += [*ids[done:place], *self.constraints.spelled[p]]
            self.trying.add(p)
            done = place
        prefix += ids[done : done + 1] if self.failures else ()
        self.n_started = len(prefix)
        return CompiledConstraints(prefix=tuple(prefix))

    def ended(self) -> list[int]:
        """The pieces with all terms that are lacking at the end."""
        missing = {self.phrases.reader.constraints[p]: self.constraints.spelled[p] for p in self.lacking or ()}
        return [*self.found.ids, *(piece for pieces in missing.values() for piece in pieces)]

    def take(self, found: Hypothesis) -> None:
        """Go on from the translation that was found for `start`, if it has the terms."""
        lacking = self.phrases.lacking(found.ids)
        if lacking is None or self.trying <= set(lacking):
            self.failures += 1
        else:
            self.found, self.lacking, self.n_fixed, self.failures = found, lacking, self.n_started, 0
