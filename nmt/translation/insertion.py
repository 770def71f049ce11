"""Terms that a translation lacks are put into it: translations flow in, those with terms flow out.

A term stands where the model finds its first piece most probable. What is before the last term stays; what follows is
searched again. If the model then makes a term a part of a longer word, or loses another one, nothing is searched again,
and the terms stand between the words of the translation as it was. All sentences share these steps. On captions this
takes a fifth of the time of constrained search (`nmt.decode.rules.Phrases`), and the model finds the result more
probable. Where a term can't be put in so, as one that its neighbours change, constrained search must do it.

Shapes: P phrases, T target pieces.
"""

from dataclasses import dataclass, field
from math import inf

from torch import Tensor

from nmt.decode.engine import Ids
from nmt.decode.hypothesis import CompiledConstraints, Hypothesis
from nmt.decode.phrases import Automaton

# Constrained search takes memory for each combination of terms that are met. With more terms, those that can't be put
# in otherwise stand at the end.
MOST_TERMS = 4
SCORED = 32  # translations whose places are compared together: the logits of all of them take memory


@dataclass(eq=False)
class Draft:
    """The best translation of a sentence so far, which lacks terms."""

    source: Ids
    constraints: CompiledConstraints
    phrases: Automaton
    found: Hypothesis
    places: dict[int, tuple[float, int, int]] = field(default_factory=dict)
    """Of each term that is lacking, by its constraint: the best place, as log-probability, place and phrase."""

    def __post_init__(self) -> None:
        self.lacking = self.phrases.lacking(self.found.ids)

    @property
    def n_lacking(self) -> float:
        """How many phrases are lacking; infinite if a forbidden one is there."""
        return inf if self.lacking is None else len(self.lacking)

    @property
    def writable(self) -> list[int]:
        """The phrases that are lacking and can follow any word."""
        return [p for p in self.lacking or () if self.constraints.spelled[p]]

    @property
    def n_terms(self) -> int:
        return self.phrases.all_met.bit_count()

    def weigh(self, log_probs_PT: Tensor) -> None:
        """Find the best places of terms. `log_probs_PT`: of the first pieces of `writable`."""
        ids, separating_V = self.found.ids, self.phrases.reader.surfaces.separating_V
        places = [i for i in range(len(ids) + 1) if i == len(ids) or separating_V[ids[i]]]
        self.places = {}
        for p, log_probs_T in zip(self.writable, log_probs_PT.tolist(), strict=True):
            term = self.phrases.reader.constraints[p]
            found = max((log_probs_T[i], i, p) for i in places)
            self.places[term] = max(found, self.places.get(term, found))

    def value(self, term: int) -> float:
        """How well a term fits: the log-probability of its best place; infinite if it is there already."""
        if self.lacking is not None and all(self.phrases.reader.constraints[p] != term for p in self.lacking):
            return inf
        return self.places[term][0] if term in self.places else -inf

    def start(self, *, whole: bool = False) -> tuple[int, ...]:
        """The pieces up to the last of the terms, all at their best places; `whole`: and the rest as it is."""
        ids, pieces, done = self.found.ids, list[int](), 0
        found = sorted((place, p) for _, place, p in self.places.values())
        for place, spelled in dict.fromkeys((place, self.constraints.spelled[p]) for place, p in found):
            pieces += [*ids[done:place], *spelled]
            done = place
        return (*pieces, *(ids[done:] if whole else ()))

    def ended(self) -> list[int]:
        """The pieces with all terms that are lacking at the end, in their longest forms."""
        forms = ((self.constraints.spelled[p], self.phrases.reader.constraints[p]) for p in self.writable)
        longest = {term: pieces for pieces, term in sorted(forms, key=lambda form: len(form[0]))}
        return [*self.found.ids, *(piece for pieces in dict.fromkeys(longest.values()) for piece in pieces)]

    def take(self, found: Hypothesis) -> None:
        """Go on from another translation, if it lacks less."""
        lacking = self.phrases.lacking(found.ids)
        if lacking is not None and len(lacking) < len(self.lacking or ()):
            self.found, self.lacking = found, lacking
