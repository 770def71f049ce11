"""Finding phrases in text that is written piece by piece: an automaton over bytes, whose states are made when needed.

One word can be spelled by many sequences of pieces, so the automaton reads the UTF-8 bytes that each piece adds to the
text: all segmentations of a text lead to the same state. A run of spaces is read as one; a no-break space isn't a
space. A forbidden phrase, or bytes that aren't UTF-8, lead to the state DEAD.

Whether a letter follows a phrase is known only a character later: at the end of "the house", the phrase "house" is
complete but not final. "wife" would undo it; a space or the end of the text makes it final.

Shapes: V vocabulary, N prefixes of pieces that have the same length.
Sources: search for several patterns at once, Aho and Corasick 1975; rows of pieces from an automaton over characters,
Willard and Louf 2023.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt.decode.surfaces import FINISHED, LETTER, OTHER, SPACE, Ints, Surfaces, may_be_letter, missing_bytes, read_byte
from nmt.text.scripts import Phrase, is_letter

DEAD = 0  # the error state: no text leads out of it
UNKNOWN = -1  # in `ByteAutomaton.table`: a transition that isn't computed yet


class State(NamedTuple):
    """What a state of `ByteAutomaton` says of the text that was read."""

    char: bytes  # its last character (see `nmt.decode.surfaces.FINISHED`)
    # Phrases at the end of the text, in part, or complete if a letter may still undo them: (index, bytes matched).
    begun: frozenset[tuple[int, int]]
    met: int  # bit k: constraint k is met for good; its phrases are no longer searched for


class ByteAutomaton:
    """A deterministic automaton over bytes that finds phrases. A state is an index of `states`.

    `start` is the state before the first byte, as after a space. `settled` is the same, but with all constraints met: a
    text in this state has begun no forbidden phrase either.
    """

    def __init__(self, surfaces: Surfaces, phrases: Sequence[Phrase], constraints: Sequence[int]) -> None:
        """`constraints`: for each phrase, 1 << k if it meets constraint k, or 0 if it is forbidden."""
        self.surfaces, self.phrases, self.constraints = surfaces, phrases, constraints
        self.by_first_byte: dict[int, list[int]] = {}
        for p, phrase in enumerate(phrases):
            self.by_first_byte.setdefault(phrase.utf8[0], []).append(p)
        self.own = {byte for phrase in phrases for byte in phrase.utf8}
        # Bytes of no phrase lead to the same state if they make the same last character after a finished one: a new row
        # takes four fifths of the time with them.
        alike = dict[bytes | None, list[int]]()
        for byte in {*range(256)} - self.own:
            alike.setdefault(read_byte(OTHER, byte), []).append(byte)
        self.alike = {char: np.array(found) for char, found in alike.items()}
        self.all_met = sum(set(constraints))
        empty = State(SPACE, frozenset(), 0)
        self.states, self.numbers = [empty], dict[State, int]()
        self.table = np.full(64 * 256, UNKNOWN, dtype=np.intp)  # the state after state * 256 + byte
        self.table[:256] = DEAD
        self.start, self.settled = self.number(empty), self.number(empty._replace(met=self.all_met))
        self.to_settle: dict[tuple[int, bool], float] = {}

    def number(self, state: State) -> int:
        """The number of a state, which is added if it is new."""
        if state not in self.numbers:
            self.numbers[state] = len(self.states)
            self.states.append(state)
            if len(self.states) * 256 > len(self.table):
                self.table = np.concatenate([self.table, np.full_like(self.table, UNKNOWN)])
        return self.numbers[state]

    def read(self, state: int, text: bytes) -> int:
        """The state after more bytes; DEAD if they complete a forbidden phrase or aren't UTF-8."""
        for byte in text:
            after = int(self.table[state * 256 + byte])
            state = self.learn(state, byte) if after == UNKNOWN else after
        return state

    def row(self, state: int) -> Ints:
        """The state (V,) after each piece; DEAD where a piece isn't allowed. Pieces without bytes keep the state."""
        states_N = np.array([state])
        reached = [states_N]
        for parent_N, byte_N in self.surfaces.columns:
            places_N = states_N[parent_N] * 256 + byte_N
            states_N = self.table[places_N]
            if states_N.min() == UNKNOWN:
                for place in places_N[states_N == UNKNOWN].tolist():
                    if self.table[place] == UNKNOWN:
                        self.learn(*divmod(place, 256))
                states_N = self.table[places_N]
            reached.append(states_N)
        return np.concatenate(reached)[self.surfaces.nodes_V]

    def complete(self, state: int) -> list[int]:
        """Indices of the phrases that are complete but not final: they occur if the text ends here."""
        return [p for p, i in self.states[state].begun if i == len(self.phrases[p].utf8)]

    def learn(self, state: int, byte: int) -> int:
        """Fill in the table for a byte, and for the bytes that are known to lead to the same state."""
        before = self.states[state].char
        char = read_byte(before, byte)
        after = DEAD if char is None else self.step(state, byte, char)
        alike = self.alike[char] if before in FINISHED and byte not in self.own else byte
        self.table[state * 256 + alike] = after
        return after

    def step(self, state: int, byte: int, char: bytes) -> int:
        """The state after a byte, with which the last character is `char`."""
        before = self.states[state]
        if char == before.char == SPACE:
            return state
        met, going = before.met, list[tuple[int, int]]()
        beginning = ((p, 0) for p in self.by_first_byte.get(byte, ()))
        for p, i in (*before.begun, *beginning):
            phrase = self.phrases[p]
            if i == 0 and (before.met & self.constraints[p] or (phrase.left and before.char == LETTER)):
                continue  # its constraint is met, or this is not the beginning of a word
            if i < len(phrase.utf8):
                if phrase.utf8[i] != byte:
                    continue
                i += 1
                final = i == len(phrase.utf8) and not phrase.right
            elif char == LETTER:
                continue
            else:
                final = not may_be_letter(char)
            if not final:
                going.append((p, i))
            elif not self.constraints[p]:
                return DEAD
            else:
                met |= self.constraints[p]
        begun = frozenset((p, i) for p, i in going if not met & self.constraints[p])
        return self.number(State(char, begun, met))

    def pieces_to_settle(self, state: int, separated: bool = False) -> float:
        """The fewest pieces after which no forbidden phrase that has begun can be completed: a space leads to
        `settled`. inf if no pieces do that. Required phrases are ignored.

        `separated`: the first of these pieces must not begin with a letter, so that the last word stays as it is.
        """
        if (state, separated) not in self.to_settle:
            char, begun, _ = self.states[state]
            forbidden = frozenset((p, i) for p, i in begun if not self.constraints[p])
            without = self.number(State(char, forbidden, self.all_met))
            pieces = self.search(state, separated) if without == state else self.pieces_to_settle(without, separated)
            self.to_settle[state, separated] = pieces
        return self.to_settle[state, separated]

    def search(self, state: int, separated: bool) -> float:
        """Breadth-first search, after two quick checks: finish the character, or write a piece of a single byte."""
        if self.is_settled(state):
            return 0
        missing = missing_bytes(self.states[state].char)
        if missing and separated:
            return math.inf
        if missing and self.surfaces.completing:  # every byte that may follow is a piece
            least = math.inf
            for byte in range(0x80, 0xC0):
                after = self.read(state, bytes([byte]))
                if after != DEAD:
                    least = min(least, 1 + self.pieces_to_settle(after))
                if least == missing:
                    break
            return least
        single = (b for b in self.surfaces.single_bytes if not separated or not is_letter(b.decode(errors="replace")))
        if any(self.is_settled(self.read(state, byte)) for byte in single):
            return 1
        row_V = self.row(state)
        frontier = distinct(row_V[self.surfaces.separating_V] if separated else row_V)
        seen, n = {DEAD}, 1
        while frontier := frontier - seen:
            if any(map(self.is_settled, frontier)):
                return n
            seen |= frontier
            frontier = set().union(*(distinct(self.row(state)) for state in frontier))
            n += 1
        return math.inf

    def is_settled(self, state: int) -> bool:
        return self.read(state, b" ") == self.settled


def distinct(states_V: NDArray[np.signedinteger[Any]]) -> set[int]:
    return set(np.flatnonzero(np.bincount(states_V)).tolist())
