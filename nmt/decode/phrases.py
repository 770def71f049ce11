"""Lexical constraints for search, as an automaton: phrases that an output must have, and phrases that it must not have.

For each state the automaton gives the next state for every piece, whether the output may end there, and which pieces
lead nearer to an allowed end. The segmentation of a text into pieces doesn't matter (see `nmt.decode.byte_automaton`).
Phrases match whole words (see `nmt.text.scripts.Phrase`). A piece that breaks a character's UTF-8 is forbidden, and no
output ends inside a character.

Shapes: V vocabulary.
Source: constraints as a finite-state machine in beam search, Anderson et al. 2017.
"""

from collections.abc import Iterator, Sequence
from math import inf
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from nmt.decode.byte_automaton import DEAD, ByteAutomaton, distinct
from nmt.decode.surfaces import FINISHED, SPACE, Ints, Surfaces
from nmt.fields import require
from nmt.text.scripts import Phrase
from nmt.vocabulary import EOS


class Automaton:
    """The constraints of an output. States are numbers, made when they are first reached. Threads may share them.

    `start` is the state before the first piece, as after a space. In the state DEAD, the output has broken its
    constraints, and can't end.
    """

    def __init__(self, surfaces: Surfaces, must: Sequence[Sequence[str]], must_not: Sequence[str]) -> None:
        """Args:
            must: constraints, each a list of phrases; at least one of them must occur.
            must_not: phrases that may not occur.

        Raises:
            ValueError: a phrase is empty, a constraint has no phrases, or a required phrase can't be spelled by the
                pieces, contains a forbidden phrase, or can't be followed by anything without a forbidden phrase.
        """
        require(all(must), "must has a constraint without phrases: add one, or remove the constraint")
        self.required = [parse("must", written) for phrases in must for written in phrases]
        forbidden = [parse("must_not", written) for written in must_not]
        bits = [1 << k for k, phrases in enumerate(must) for _ in phrases]
        self.reader = ByteAutomaton(surfaces, [*self.required, *forbidden], [*bits, *[0] * len(forbidden)])
        self.start, self.all_met = self.reader.start, self.reader.all_met
        self.needed = [surfaces.pieces_needed(b" " + phrase.utf8) for phrase in self.required]
        self.costs = [min(self.cost(p) for p, bit in enumerate(bits) if bit == 1 << k) for k in range(len(must))]
        self.lock = RLock()  # of the reader, whose tables grow
        self.rows: dict[int, NDArray[np.int32]] = {}
        self.distances_V: dict[int, tuple[NDArray[np.float32], float]] = {}
        self.advances: dict[int, Ints] = {}
        self.distances: dict[int, float] = {}

    def row(self, state: int) -> NDArray[np.int32]:
        """The next state (V,) for each piece, or DEAD if the piece adds nothing (such as EOS, see `may_end`),
        completes a forbidden phrase, breaks a character, or leads to a state from which no output can end."""
        if state not in self.rows:
            with self.lock:
                row_V = self.reader.row(state)
                hopeless = [after for after in distinct(row_V) if after != DEAD and self.is_hopeless(after)]
                row_V[np.isin(row_V, hopeless)] = DEAD
                row_V[self.reader.surfaces.controls] = DEAD
                self.rows[state] = row_V.astype(np.int32)
        return self.rows[state]

    def distances_after(self, state: int) -> tuple[NDArray[np.float32], float]:
        """For each piece (V,) how many more are needed before the output may end, inf if it is forbidden; and the
        largest that is finite: with more room, no piece is forbidden for its distance."""
        if state not in self.distances_V:
            states, index_V = np.unique(self.row(state), return_inverse=True)
            distances = [inf if s == DEAD else self.distance(s) for s in states.tolist()]
            farthest = max((distance for distance in distances if distance < inf), default=0.0)
            self.distances_V[state] = np.array(distances, dtype=np.float32)[index_V], farthest
        return self.distances_V[state]

    def forbidden(self, state: int, room: float) -> NDArray[np.bool_]:
        """The pieces (V,), with EOS, that are forbidden if the output may have so many more."""
        forbidden_V = self.distances_after(state)[0] >= room
        forbidden_V[EOS] = not self.may_end(state)
        return forbidden_V

    def may_end(self, state: int) -> bool:
        """Whether EOS is allowed: every constraint is met, no forbidden phrase is at the end, and the last character is
        finished."""
        if state == DEAD or self.reader.states[state].char not in FINISHED:
            return False
        return self.met(state) == self.all_met and all(self.reader.constraints[p] for p in self.reader.complete(state))

    def lacking(self, pieces: Sequence[int]) -> list[int] | None:
        """The required phrases, as indices in `required`, whose constraints whole output doesn't meet; None if it has a
        forbidden phrase, or is no text."""
        text = b"".join(self.reader.surfaces.surfaces[piece] for piece in pieces)
        with self.lock:
            state = self.reader.read(self.start, text)
        if state == DEAD or any(not self.reader.constraints[p] for p in self.reader.complete(state)):
            return None
        met = self.met(state)
        return [p for p in range(len(self.required)) if not self.reader.constraints[p] & met]

    def distance(self, state: int) -> float:
        """The most pieces after which `advance` has led to an allowed end; 0 if the output may end here. It is finite
        for all states of a `row`.

        This is the least number if first the phrase that has begun is finished, and then the other phrases are written
        one by one, each after a space. Pieces that are needed to avoid a forbidden phrase are counted too.
        """
        if state not in self.distances:
            with self.lock:
                self.distances[state] = 0 if self.may_end(state) else min(self.path_lengths(state))
        return self.distances[state]

    def advance(self, state: int) -> Ints:
        """The ids (int64, rising) of all pieces after which `distance` is less; none only if it is 0."""
        if state not in self.advances:
            row_V, distance = self.row(state), self.distance(state)
            nearer = [s for s in distinct(row_V) if s != DEAD and self.distance(s) < distance]
            self.advances[state] = np.flatnonzero(np.isin(row_V, nearer))
        return self.advances[state]

    def cost(self, p: int) -> float:
        """The fewest pieces that write a required phrase after a settled text (see `ByteAutomaton`) and settle the text
        again. Raises ValueError if it can't be written.

        Settling needs pieces only if a forbidden phrase begins as this phrase ends: "New York" and "York house".
        """
        phrase = self.required[p]
        if not allows(self.reader, phrase):
            all_forbidden = self.reader.phrases[len(self.required) :]
            forbidden = next(
                f for f in all_forbidden if not allows(ByteAutomaton(self.reader.surfaces, [f], [0]), phrase)
            )
            raise ValueError(f"must has {phrase.written!r}, and must_not has {forbidden.written!r}: remove one of them")
        needed, must = self.needed[p][0], f"must has {phrase.written!r},"
        require(needed < inf, f"{must} which no pieces of the vocabulary spell: use a tokenizer with byte_fallback")
        end = self.reader.read(self.reader.settled, phrase.utf8)
        cost = needed + self.reader.pieces_to_settle(end, separated=True)
        require(cost < inf, f"{must} after which must_not allows no pieces: forbid less")
        return cost

    def met(self, state: int) -> int:
        """The constraints, as bits, that are met if the output ends here."""
        met = self.reader.states[state].met
        for p in self.reader.complete(state):
            met |= self.reader.constraints[p]
        return met

    def path_lengths(self, state: int) -> Iterator[float]:
        """Yield the lengths, in pieces, of some paths to an end: settle the text first, or write a phrase now.

        From every state of a path there is a path that is no longer than the rest of it: `advance` relies on that.
        """
        yield self.length_after_word(state)
        yield self.reader.pieces_to_settle(state) + self.cost_of_unmet(self.reader.states[state].met)
        for p, i in self.writable(state):
            if self.needed[p][i] < inf:
                after = self.reader.read(state, (b" " + self.required[p].utf8)[i:])
                yield self.needed[p][i] + self.length_after_word(after)

    def length_after_word(self, state: int) -> float:
        """The pieces to an end if no letter follows, so that complete phrases stay complete."""
        if state == DEAD:
            return inf
        if self.may_end(state):
            return 0
        return self.reader.pieces_to_settle(state, separated=True) + self.cost_of_unmet(self.met(state))

    def cost_of_unmet(self, met: int) -> float:
        return sum(cost for k, cost in enumerate(self.costs) if not met >> k & 1)

    def writable(self, state: int) -> Iterator[tuple[int, int]]:
        """Yield phrases to write next: the index, and how many bytes of a space and the phrase are already there.

        Of the phrases that haven't begun, only those of the first unmet constraint: one is enough for a path.
        """
        char, begun, _ = self.reader.states[state]
        for p, i in begun:
            if p < len(self.required) and i < len(self.required[p].utf8):
                yield p, i + 1
        unmet = self.all_met & ~self.met(state)
        for p, phrase in enumerate(self.required):
            if self.reader.constraints[p] == unmet & -unmet:
                yield p, 0
                if char == SPACE or not phrase.left:
                    yield p, 1

    def is_hopeless(self, state: int) -> bool:
        """Whether the output can't end any more. If no forbidden phrase has begun, it always can."""
        if self.reader.surfaces.completing and all(p < len(self.required) for p, _ in self.reader.states[state].begun):
            return False
        return self.reader.pieces_to_settle(state) == inf == self.distance(state)


def allows(reader: ByteAutomaton, phrase: Phrase) -> bool:
    """Whether a text that is just the phrase has no forbidden phrase."""
    end = reader.read(reader.settled, phrase.utf8)
    return end != DEAD and not reader.complete(end)


def parse(option: str, written: str) -> Phrase:
    try:
        return Phrase.parse(written)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None
