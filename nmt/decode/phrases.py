"""Lexical constraints for search: phrases that an output must have, and phrases that it must not, as an automaton.

A tokenizer's pieces and the phrases flow in; for each state out come the next state for every piece, whether the output
may end there, and which pieces lead to where it may. One word can be spelled by many sequences of pieces, so the
automaton reads the surface: the UTF-8 bytes that each piece adds to the text. All segmentations of a text therefore
meet the same fate, and a state knows nothing of pieces. States and transitions are made when they are first reached.

A phrase matches whole words: no letter may stand before its first letter, or after its last one. Whether one stands
after is known only a character later, so "house" is complete, but not yet certain, at the end of "the house": "wife"
would undo it, a space or the end of the text makes it certain. A run of spaces reads as one; a no-break space is not
a space. A piece that breaks a character's UTF-8 is forbidden, and no text ends inside a character.

Shapes: V vocabulary, N prefixes of pieces that have the same length.
Source: several patterns at once, Aho and Corasick 1975; constraints as a finite-state machine in beam search, Anderson
et al. 2017; a table from states to pieces made from an automaton over characters, Willard and Louf 2023.
"""

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt.vocabulary import FIRST_PIECE

Ints = NDArray[np.intp]

BYTE_PIECE = re.compile("<0x([0-9A-F]{2})>")

# What the text ends with, for the reader: an example of its last character's kind, or else an unfinished character.
SPACE, OTHER, LETTER = b" ", b".", b"a"
FINISHED = (SPACE, OTHER, LETTER)

# Within words though no letters, marks or numbers: low line, soft hyphen, zero-width non-joiner and joiner.
JOINERS = "_\u00ad\u200c\u200d"
# Scripts that are written without spaces: Thai, Lao and Tibetan; Burmese; Khmer; Tai Le to Khmer symbols; Tai Tham;
# Balinese; Han, kana and bopomofo, up to Hangul, which has spaces; Javanese and more Burmese; and the rest of Han and
# kana. Variation selectors (U+FE00 to U+FE0F) are marks that follow emoji.
NOT_PARTED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f\u2e80-\u312f"
    "\u3190-\u4dbf\u4e00-\u9fff\ua980-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\ufe00-\ufe0f"
    "\uff66-\uff9f\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
# From here on, planes are unassigned or private, but for tags and variation selectors, which follow no letter.
LETTERS_END = 0x40000

DEAD = 0  # the state of `Reader` from which nothing leads away
UNKNOWN = -1  # in its table: not worked out yet
FORBIDDEN = -1  # in a row of `Automaton`
FOUND, LOST = -1, -2  # of a phrase, instead of how many of its bytes are matched


def is_letter(character: str) -> bool:
    """Whether it is part of a word that ends only where no letter follows: letters, marks and numbers are, but not
    those of scripts without spaces, which part words no more than signs do.
    """
    if ord(character) >= LETTERS_END or NOT_PARTED.match(character):
        return False
    return unicodedata.category(character)[0] in "LMN" or character in JOINERS


@cache
def read_byte(char: bytes, byte: int) -> tuple[bytes, bool | None] | None:
    """Read one byte after what the text ends with: SPACE, OTHER, LETTER, or the bytes of an unfinished character.

    Unfinished characters that can't become a letter are all alike: OTHER, and once more for each byte to come.

    Returns:
        What the text ends with then, and whether the character now read is no letter (None: not known yet); or None
        if the bytes are no UTF-8.
    """
    if char not in FINISHED and byte & 0xC0 != 0x80:
        return None
    if char[:1] == OTHER != char:
        return char[1:], True
    if char in FINISHED and byte < 0x80:
        letter = is_letter(chr(byte))
        return SPACE if byte == 0x20 else LETTER if letter else OTHER, not letter
    return _read_wide(bytes([byte]) if char in FINISHED else char + bytes([byte]))


def _read_wide(prefix: bytes) -> tuple[bytes, bool | None] | None:
    """`read_byte` where these are the first bytes of a character that has two to four."""
    codes = _code_points(prefix)
    if not codes:
        return None
    missing = bytes_to_come(prefix)
    letters = any(is_letter(chr(code)) for code in codes[: max(0, LETTERS_END - codes.start)])
    if missing == 0:
        return (LETTER, False) if letters else (OTHER, True)
    alike = not letters and len(codes) == 64**missing
    return OTHER * (1 + missing) if alike else prefix, None if letters else True


def bytes_to_come(char: bytes) -> int:
    """How many bytes the character that the text ends with lacks."""
    if char in FINISHED:
        return 0
    width = 2 if char[0] < 0xE0 else 3 if char[0] < 0xF0 else 4
    return len(char) - 1 if char[:1] == OTHER else width - len(char)


def _code_points(prefix: bytes) -> range:
    """The characters whose UTF-8 begins so; none if it is no UTF-8. Surrogates are there only beside others."""
    if not 0xC2 <= prefix[0] <= 0xF4:
        return range(0)
    missing = bytes_to_come(prefix)
    width = len(prefix) + missing
    code = prefix[0] & (0x7F >> width)
    for byte in prefix[1:]:
        code = code << 6 | byte & 0x3F
    size = 64**missing
    codes = range(max(code * size, (0x80, 0x800, 0x10000)[width - 2]), min((code + 1) * size, 0x110000))
    return range(0) if codes and codes[0] >= 0xD800 and codes[-1] <= 0xDFFF else codes


@dataclass(frozen=True)
class Phrase:
    """Words to be found in a text."""

    written: str
    """As the user wrote it: `house`, `New York`, `hous*` (with any ending), `*haus` (with any beginning)."""

    text: bytes
    """What is looked for, in UTF-8: composed to NFC, with one space where there is white space."""

    left: bool
    """Whether no letter may stand before it."""

    right: bool
    """Whether no letter may stand after it."""

    meets: int
    """Bit k: it meets constraint k; 0: it is forbidden."""

    @classmethod
    def parse(cls, written: str, meets: int = 0) -> "Phrase":
        """Raises:
        ValueError: there is nothing to look for, or it is no text.
        """
        core = written.strip()
        text = " ".join(unicodedata.normalize("NFC", core.strip("*")).split())
        if not text:
            raise ValueError(
                f"{'must' if meets else 'must_not'} has the phrase {written!r}, which is "
                "empty: a phrase needs a character other than blanks and the * at its ends"
            )
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ValueError(f"the phrase {written!r} has half a surrogate pair, which is no text")
        return cls(
            written,
            text.encode(),
            left=not core.startswith("*") and is_letter(text[0]),
            right=not core.endswith("*") and is_letter(text[-1]),
            meets=meets,
        )


class Surfaces:
    """The bytes that each piece of a vocabulary adds to the text. Made once for a tokenizer; never changes.

    Attributes:
        known: the bytes of all pieces that add any.
        controls: ids of those that add nothing, and are never allowed: unk, bos, eos, pad, and empty pieces.
        parting_V: True for pieces that begin with a character that is no letter.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        """Args:
        pieces: all pieces in the order of their ids, as SentencePiece writes them: ▁ is a space, <0xC3> a byte.
        """
        surfaces = [b"" if i < FIRST_PIECE else _surface(piece) for i, piece in enumerate(pieces)]
        self.longest = max(map(len, surfaces), default=0)
        self.controls = np.flatnonzero([not surface for surface in surfaces])
        texts = [surface.decode(errors="ignore") for surface in surfaces]
        self.parting_V = np.array([text != "" and not is_letter(text[0]) for text in texts])
        self.known = frozenset(surfaces) - {b""}
        self.singles = [surface for surface in sorted(self.known) if len(surface) == 1]
        self.finishes = self.known.issuperset(bytes([byte]) for byte in range(0x80, 0xC0))
        self.columns, self.nodes_V = _trie(surfaces)

    def pieces_needed(self, text: bytes) -> list[float]:
        """The fewest pieces that spell text[i:], for each i from 0 to its length; inf where none do."""
        needed = [math.inf] * len(text) + [0.0]
        for start in range(len(text) - 1, -1, -1):
            ends = range(start + 1, min(start + self.longest, len(text)) + 1)
            needed[start] = min((1 + needed[end] for end in ends if text[start:end] in self.known), default=math.inf)
        return needed


def _surface(piece: str) -> bytes:
    if byte := BYTE_PIECE.fullmatch(piece):
        return bytes([int(byte[1], 16)])
    return piece.replace("▁", " ").encode()


def _trie(surfaces: Sequence[bytes]) -> tuple[list[tuple[Ints, Ints]], Ints]:
    """The prefixes of all surfaces, a third of their bytes, by length: for each of length 1, of length 2 and so on its
    parent's place among those one byte shorter, and its last byte; and for each surface its place among all prefixes,
    of which the empty one is first.
    """
    columns, nodes, before = [], {b"": 0}, {b"": 0}
    for length in range(1, max(map(len, surfaces), default=0) + 1):
        prefixes = sorted({surface[:length] for surface in surfaces if len(surface) >= length})
        columns.append(
            (np.array([before[prefix[:-1]] for prefix in prefixes]), np.array([prefix[-1] for prefix in prefixes]))
        )
        before = {prefix: i for i, prefix in enumerate(prefixes)}
        nodes.update(zip(prefixes, range(len(nodes), len(nodes) + len(prefixes)), strict=True))
    return columns, np.array([nodes[surface] for surface in surfaces])


class Reading(NamedTuple):
    """What is to be known of a text to read on: a state of `Reader`."""

    char: bytes
    """What it ends with (see `read_byte`)."""

    begun: frozenset[tuple[int, int]]
    """Phrases that it ends in the midst of, or at the end of if no letter may follow: (index, bytes read)."""

    met: int
    """Bit k: constraint k is met for good; its phrases are no longer looked for."""


class Reader:
    """A deterministic automaton over bytes that finds phrases. DEAD, from which nothing leads away, is state 0."""

    def __init__(self, surfaces: Surfaces, phrases: Sequence[Phrase]) -> None:
        self.surfaces, self.phrases = surfaces, phrases
        self.beginning: dict[int, list[int]] = {}
        for p, phrase in enumerate(phrases):
            self.beginning.setdefault(phrase.text[0], []).append(p)
        nothing = Reading(SPACE, frozenset(), 0)
        self.states = [nothing]
        self.numbers: dict[Reading, int] = {}
        self.alike = self._alike()
        self.table = np.full(64 * 256, UNKNOWN, dtype=np.intp)  # the state after state * 256 + byte
        self.table[:256] = DEAD
        self.start = self.number(nothing)

    def _alike(self) -> list[list[int]]:
        """For each byte those that lead from any state, if no character is unfinished, to where it leads.

        No phrase has them, and they say the same of their character: with them, a new state's row takes half the time.
        """
        in_phrases = {byte for phrase in self.phrases for byte in phrase.text}
        kinds = [(read_byte(OTHER, byte), byte if byte in in_phrases else None) for byte in range(256)]
        groups: dict[object, list[int]] = {}
        for byte, kind in enumerate(kinds):
            groups.setdefault(kind, []).append(byte)
        return [groups[kind] for kind in kinds]

    def number(self, reading: Reading) -> int:
        """The state's number; a new one for a new state."""
        if reading not in self.numbers:
            self.numbers[reading] = len(self.states)
            self.states.append(reading)
            if len(self.states) * 256 > len(self.table):
                self.table = np.concatenate([self.table, np.full_like(self.table, UNKNOWN)])
        return self.numbers[reading]

    def read(self, state: int, text: bytes) -> int:
        """The state after the bytes; DEAD if they complete a forbidden phrase, or are no UTF-8."""
        for byte in text:
            after = int(self.table[state * 256 + byte])
            state = self._learn(state, byte) if after == UNKNOWN else after
        return state

    def row(self, state: int) -> Ints:
        """The state (V,) after each piece, DEAD where there is none; pieces that add nothing leave it."""
        states_N = np.array([state])
        reached = [states_N]
        for parent_N, byte_N in self.surfaces.columns:
            places_N = states_N[parent_N] * 256 + byte_N
            states_N = self.table[places_N]
            if states_N.min() == UNKNOWN:
                for place in places_N[states_N == UNKNOWN].tolist():
                    if self.table[place] == UNKNOWN:
                        self._learn(*divmod(place, 256))
                states_N = self.table[places_N]
            reached.append(states_N)
        return np.concatenate(reached)[self.surfaces.nodes_V]

    def standing(self, state: int) -> list[Phrase]:
        """The phrases that are complete if the text ends here, and may be undone if it goes on."""
        return [self.phrases[p] for p, i in self.states[state].begun if i == len(self.phrases[p].text)]

    def _learn(self, state: int, byte: int) -> int:
        """Fill the place of the table for this byte, and for those that are known to lead to the same state."""
        char = self.states[state].char
        read = read_byte(char, byte)
        after = DEAD if read is None else self._step(state, byte, *read)
        for other in self.alike[byte] if char in FINISHED else (byte,):
            self.table[state * 256 + other] = after
        return after

    def _step(self, state: int, byte: int, char: bytes, parted: bool | None) -> int:
        before = self.states[state]
        if char == before.char == SPACE:
            return state
        met = before.met
        going = []
        for p, i in (*before.begun, *self._beginnings(before, byte)):
            phrase = self.phrases[p]
            matched = _matched(phrase, i, byte, parted)
            if matched == FOUND and not phrase.meets:
                return DEAD
            if matched == FOUND:
                met |= phrase.meets
            elif matched != LOST:
                going.append((p, matched))
        begun = frozenset((p, i) for p, i in going if not met & self.phrases[p].meets)
        return self.number(Reading(char, begun, met))

    def _beginnings(self, reading: Reading, byte: int) -> Iterator[tuple[int, int]]:
        """Phrases that may begin with this byte."""
        for p in self.beginning.get(byte, ()):
            phrase = self.phrases[p]
            if not reading.met & phrase.meets and not (phrase.left and reading.char == LETTER):
                yield p, 0


def _matched(phrase: Phrase, i: int, byte: int, parted: bool | None) -> int:
    """How many of the phrase's bytes stand after one more byte, if i did before it; or FOUND, or LOST."""
    if i == len(phrase.text):
        return i if parted is None else FOUND if parted else LOST
    if phrase.text[i] != byte:
        return LOST
    return i + 1 if i + 1 < len(phrase.text) or phrase.right else FOUND


class Bans(Reader):
    """Forbidden phrases alone: whether a text may end, and how to get away from one that it ends in the midst of.

    A text is settled if its last character is finished and a space after it leads to where reading started: nothing
    that is then written can complete a forbidden phrase with what stands before.
    """

    def __init__(self, surfaces: Surfaces, phrases: Sequence[Phrase]) -> None:
        super().__init__(surfaces, phrases)
        self.escapes: dict[tuple[int, bool], float] = {}

    def escape(self, state: int, parting: bool = False) -> float:
        """The fewest pieces after which the text is settled; inf if no pieces can do that.

        Args:
            parting: the first of them, if any, begins with no letter: what stands at the end stays a whole word.
        """
        if (state, parting) not in self.escapes:
            self.escapes[state, parting] = self._search(state, parting)
        return self.escapes[state, parting]

    def _search(self, state: int, parting: bool) -> float:
        """Breadth first, where the quick ways fail: to finish the character, or to write one of a single byte."""
        if self._is_settled(state):
            return 0
        missing = bytes_to_come(self.states[state].char)
        if missing and parting:
            return math.inf
        if missing and self.surfaces.finishes:
            return self._finish(state, missing)
        if any(
            self._is_settled(self.read(state, single))
            for single in self.surfaces.singles
            if not parting or not is_letter(single.decode(errors="replace"))
        ):
            return 1
        row_V = self.row(state)
        frontier = _distinct(row_V[self.surfaces.parting_V] if parting else row_V)
        seen, n = {DEAD}, 1
        while frontier := frontier - seen:
            if any(map(self._is_settled, frontier)):
                return n
            seen |= frontier
            frontier = set().union(*(_distinct(self.row(s)) for s in frontier))
            n += 1
        return math.inf

    def _finish(self, state: int, missing: int) -> float:
        least = math.inf
        for byte in range(0x80, 0xC0):
            after = self.read(state, bytes([byte]))
            if after != DEAD:
                least = min(least, 1 + self.escape(after))
            if least == missing:
                break
        return least

    def _is_settled(self, state: int) -> bool:
        return self.read(state, b" ") == self.start


def _distinct(states_V: Ints) -> set[int]:
    return set(np.flatnonzero(np.bincount(states_V)).tolist())


class Automaton:
    """What an output must and must not have, as states numbered from `start` as they are found; pieces lead on.

    Not for several threads at once; `Surfaces` is.

    Attributes:
        start: the state before the first piece, as after a space.
    """

    def __init__(self, surfaces: Surfaces, must: Sequence[Sequence[str]], must_not: Sequence[str]) -> None:
        """Args:
            surfaces: the vocabulary of the outputs.
            must: constraints, each a list of phrases of which at least one must occur (see `Phrase.written`).
            must_not: phrases of which none may occur.

        Raises:
            ValueError: a phrase is empty, a constraint has none, no pieces spell a phrase that must occur, or it
                contains a forbidden one or can't be followed by anything without one.
        """
        if [] in [list(phrases) for phrases in must]:
            raise ValueError("must has a constraint without phrases: give it one, or leave it out")
        required = [Phrase.parse(written, 1 << k) for k, phrases in enumerate(must) for written in phrases]
        forbidden = [Phrase.parse(written) for written in must_not]
        self.surfaces, self.required = surfaces, required
        self.everything = (1 << len(must)) - 1
        self.reader = Reader(surfaces, [*required, *forbidden])
        self.bans = Bans(surfaces, forbidden)
        self.start = self.reader.start
        self.needed = [surfaces.pieces_needed(b" " + phrase.text) for phrase in required]
        self.prices = [
            min(self._price(p) for p, phrase in enumerate(required) if phrase.meets == 1 << k) for k in range(len(must))
        ]
        self.rows: dict[int, NDArray[np.int32]] = {}
        self.leads: dict[int, Ints] = {}
        self.distances: dict[int, float] = {}
        self.ban_states: dict[int, int] = {}

    def row(self, state: int) -> NDArray[np.int32]:
        """The next state (V,) for each piece, or -1 where it is forbidden: because it adds nothing (so for EOS; ask
        `may_end`), completes a forbidden phrase, breaks a character, or leads to where no output can end any more.
        """
        if state not in self.rows:
            row_V = self.reader.row(state)
            reached = _distinct(row_V)
            allowed = np.arange(max(reached) + 1, dtype=np.int32)
            allowed[[s for s in reached if s == DEAD or self._is_hopeless(s)]] = FORBIDDEN
            self.rows[state] = allowed[row_V]
            self.rows[state][self.surfaces.controls] = FORBIDDEN
        return self.rows[state]

    def may_end(self, state: int) -> bool:
        """Whether EOS is allowed: every constraint is met, no forbidden phrase stands at the end, and no character
        is unfinished.
        """
        return (
            self.reader.states[state].char in FINISHED
            and self._met(state) == self.everything
            and all(phrase.meets for phrase in self.reader.standing(state))
        )

    def met(self, state: int) -> int:
        """How many constraints are met: for good, or by a phrase that is complete if the text ends here."""
        return self._met(state).bit_count()

    def progress(self, state: int) -> float:
        """`met`, and of the phrase that is nearest to its end the share of its bytes that is there, below 1."""
        met = self._met(state)
        shares = (
            i / len(self.required[p].text)
            for p, i in self.reader.states[state].begun
            if p < len(self.required) and not met & self.required[p].meets
        )
        return met.bit_count() + max(shares, default=0.0)

    def distance(self, state: int) -> int:
        """The number of further pieces within which `advance` leads to where the output may end; 0 if it is there.

        It is the least number if the phrase begun is finished, and the others are then written one by one, each after
        a space; where a forbidden phrase is in the way, pieces that lead round it are counted too.
        """
        distance = self._distance(state)
        assert distance < math.inf, "a row allows only pieces after which an output can end"
        return int(distance)

    def advance(self, state: int) -> Ints:
        """The ids (int64, rising) of all pieces after which `distance` is less; none exactly where it is 0."""
        if state not in self.leads:
            row_V, distance = self.row(state), self.distance(state)
            nearer = [s for s in _distinct(row_V[row_V != FORBIDDEN]) if self._distance(s) < distance]
            self.leads[state] = np.flatnonzero(np.isin(row_V, nearer))
        return self.leads[state]

    def _price(self, p: int) -> float:
        """The fewest pieces that write the phrase after a settled text (see `Bans`) and settle the text again.

        Only after a phrase that ends with the first words of a forbidden one, as "New York" does with those of "York
        house", are there any more to settle it. Raises ValueError if it can't be written.
        """
        phrase = self.required[p]
        end = self.bans.read(self.bans.start, phrase.text)
        if end == DEAD or self.bans.standing(end):
            found = next(ban for ban in self.bans.phrases if _contains(phrase, ban, self.surfaces))
            raise ValueError(
                f"must has {phrase.written!r}, and must_not has {found.written!r}, which it contains: "
                "remove one of them"
            )
        if self.needed[p][0] == math.inf:
            raise ValueError(
                f"must has {phrase.written!r}, which no pieces of the vocabulary spell: it takes a "
                "tokenizer with byte_fallback to write any text"
            )
        price = self.needed[p][0] + self.bans.escape(end, parting=True)
        if price == math.inf:
            raise ValueError(
                f"must has {phrase.written!r}, after which must_not allows no pieces to go on with: forbid less"
            )
        return price

    def _met(self, state: int) -> int:
        """The bits of the constraints that are met if the text ends here."""
        met = self.reader.states[state].met
        for phrase in self.reader.standing(state):
            met |= phrase.meets
        return met

    def _distance(self, state: int) -> float:
        if state not in self.distances:
            self.distances[state] = 0 if self.may_end(state) else min(self._ways(state))
        return self.distances[state]

    def _ways(self, state: int) -> Iterator[float]:
        """The pieces that some ways to an end take: writing a phrase now, or first settling the text.

        No piece along a way leads to where that way is longer than what is left of it: hence `advance`.
        """
        yield self._rest(state)
        yield self.bans.escape(self._ban_state(state)) + self._cost(self.reader.states[state].met)
        for p, i in self._writable(state):
            if self.needed[p][i] < math.inf:
                yield self.needed[p][i] + self._rest(self.reader.read(state, (b" " + self.required[p].text)[i:]))

    def _rest(self, state: int) -> float:
        """Pieces to an end if what stands complete at the end of the text is kept."""
        if state == DEAD:
            return math.inf
        if self.may_end(state):
            return 0
        return self.bans.escape(self._ban_state(state), parting=True) + self._cost(self._met(state))

    def _cost(self, met: int) -> float:
        return sum(price for k, price in enumerate(self.prices) if not met >> k & 1)

    def _writable(self, state: int) -> Iterator[tuple[int, int]]:
        """Phrases to go on with: which, and how many bytes of it and the space before it not to write (again).

        Of those not begun, the alternatives of the first open constraint only: one is enough for a way.
        """
        char, begun, _ = self.reader.states[state]
        for p, i in begun:
            if p < len(self.required) and i < len(self.required[p].text):
                yield p, i + 1
        unmet = self.everything & ~self._met(state)
        for p, phrase in enumerate(self.required):
            if phrase.meets == unmet & -unmet:
                yield p, 0
                if char == SPACE or not phrase.left:
                    yield p, 1

    def _is_hopeless(self, state: int) -> bool:
        """Whether the output can't end any more. Where no forbidden phrase is begun, it always can."""
        first = len(self.required)
        if self.surfaces.finishes and all(p < first for p, _ in self.reader.states[state].begun):
            return False
        return self.bans.escape(self._ban_state(state)) == math.inf == self._distance(state)

    def _ban_state(self, state: int) -> int:
        """The state of `bans` after the same text."""
        if state not in self.ban_states:
            char, begun, _ = self.reader.states[state]
            first = len(self.required)
            begun = frozenset((p - first, i) for p, i in begun if p >= first)
            self.ban_states[state] = self.bans.number(Reading(char, begun, 0))
        return self.ban_states[state]


def _contains(phrase: Phrase, ban: Phrase, surfaces: Surfaces) -> bool:
    bans = Bans(surfaces, [ban])
    end = bans.read(bans.start, phrase.text)
    return end == DEAD or bool(bans.standing(end))
