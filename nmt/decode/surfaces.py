"""Output text byte by byte: the bytes that each piece of a vocabulary adds, the characters that bytes make up, and
words that a prefix leaves unfinished.

Shapes: V vocabulary, N prefixes of pieces that have the same length.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from nmt.text.scripts import is_letter
from nmt.vocabulary import EOS, FIRST_PIECE

Ints = NDArray[np.intp]

BYTE_PIECE = re.compile("<0x([0-9A-F]{2})>")

# The last character of a text: its kind, if it is finished; otherwise its first bytes.
SPACE, OTHER, LETTER = b" ", b".", b"a"
FINISHED = (SPACE, OTHER, LETTER)


@cache
def read_byte(char: bytes, byte: int) -> bytes | None:
    """The last character of a text (see FINISHED) after one more byte; None if the bytes aren't UTF-8."""
    text = (b"" if char in FINISHED else char) + bytes([byte])
    try:
        character = text.decode()
    except UnicodeDecodeError as error:
        return text if error.reason == "unexpected end of data" else None
    if character == " ":
        return SPACE
    return LETTER if is_letter(character) else OTHER


@cache
def may_be_letter(char: bytes) -> bool:
    """Whether the last character of a text (see FINISHED) is a letter, or its next bytes can make it one."""
    if char in FINISHED:
        return char == LETTER
    after = (read_byte(char, byte) for byte in range(0x80, 0xC0))
    return char[0] <= 0xF0 and any(may_be_letter(each) for each in after if each)  # see LETTERS_END


def missing_bytes(char: bytes) -> int:
    """The number of bytes that the last character of a text (see FINISHED) lacks."""
    if char in FINISHED:
        return 0
    return (2 if char[0] < 0xE0 else 3 if char[0] < 0xF0 else 4) - len(char)


class Surfaces:
    """The bytes that each piece of a vocabulary adds to the text. Made once for a tokenizer; never changes.

    Attributes:
        surfaces: the bytes of each piece.
        known: the bytes of all pieces that add any.
        controls: ids of pieces that add no bytes and are never allowed: unk, bos, eos, pad, and empty pieces.
        separating_V: True for pieces whose first character isn't a letter.
        completing: whether each byte that continues a character is a piece.
        columns: the trie of all pieces, level by level: for the prefixes of length 1, 2 and so on, the index of their
            parent in the level above, and their last byte.
        nodes_V: the node of each piece in the trie; nodes are numbered level by level, and the root is 0.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        """`pieces`: in the order of their ids, as SentencePiece writes them: ▁ is a space, <0xC3> a byte."""
        surfaces = [b"" if i < FIRST_PIECE else surface(piece) for i, piece in enumerate(pieces)]
        self.surfaces, self.longest = surfaces, max(map(len, surfaces), default=0)
        self.controls = np.flatnonzero([not added for added in surfaces])
        texts = [added.decode(errors="ignore") for added in surfaces]
        self.separating_V = np.array([text != "" and not is_letter(text[0]) for text in texts])
        self.known = frozenset(surfaces) - {b""}
        self.single_bytes = sorted(added for added in self.known if len(added) == 1)
        self.completing = self.known.issuperset(bytes([byte]) for byte in range(0x80, 0xC0))
        self.columns = list[tuple[Ints, Ints]]()
        nodes, above = {b"": 0}, {b"": 0}
        for length in range(1, self.longest + 1):
            prefixes = sorted({added[:length] for added in surfaces if len(added) >= length})
            parents, last_bytes = [above[prefix[:-1]] for prefix in prefixes], [prefix[-1] for prefix in prefixes]
            self.columns.append((np.array(parents), np.array(last_bytes)))
            above = {prefix: i for i, prefix in enumerate(prefixes)}
            nodes |= {prefix: len(nodes) + i for prefix, i in above.items()}
        self.nodes_V = np.array([nodes[added] for added in surfaces])

    @cached_property
    def in_order(self) -> list[tuple[bytes, int]]:
        """The bytes and the id of each piece, in the order of the bytes."""
        return sorted((added, piece) for piece, added in enumerate(self.surfaces))

    def between(self, first: bytes, end: bytes) -> list[int]:
        """The pieces whose bytes are `first` or later in the order of bytes, and before `end`."""
        start, stop = (bisect_left(self.in_order, (bound,)) for bound in (first, end))
        return [piece for _, piece in self.in_order[start:stop]]

    def pieces_needed(self, text: bytes) -> list[float]:
        """The fewest pieces that spell text[i:], for each i from 0 to its length; inf if no pieces do."""
        needed = [math.inf] * len(text) + [0.0]
        for start in range(len(text) - 1, -1, -1):
            ends = range(start + 1, min(start + self.longest, len(text)) + 1)
            needed[start] = min((1 + needed[end] for end in ends if text[start:end] in self.known), default=math.inf)
        return needed


def surface(piece: str) -> bytes:
    byte = BYTE_PIECE.fullmatch(piece)
    return bytes([int(byte[1], 16)]) if byte else piece.replace("▁", " ").encode()


class UnfinishedWord:
    """The end of a prefix, which may be the beginning of a longer word: the pieces that may write its text, however
    they divide it. Its states are numbers of bytes written.

    After "a do", the word "dog" may follow, but its pieces needn't begin with those of "do". Only the pieces before the
    last word of a prefix are therefore fixed. Each piece after them writes a part of what is left of the prefix, or all
    of it and more.
    """

    def __init__(self, surfaces: Surfaces, n_before: int, text: bytes, *, ended: bool = False) -> None:
        """`n_before`: the number of pieces of the prefix before `text`, whose pieces are not fixed; `ended`: whether
        another word must follow, or the end."""
        text = text + b" " if ended else text
        self.n_before, self.end = n_before, len(text)
        # For each state: the state after each piece that writes only this text, and the pieces that write more.
        self.inside = [dict[int, int]() for _ in range(self.end)]
        for state, after in enumerate(self.inside):
            for new in range(state + 1, min(state + surfaces.longest, self.end) + 1):
                after |= dict.fromkeys(surfaces.between(text[state:new], text[state:new] + b"\0"), new)
        rests = [text[state:] for state in range(self.end)]
        self.beyond = [surfaces.between(rest + b"\0", rest + b"\xff") for rest in rests]
        if ended:
            self.beyond[-1] = [*self.beyond[-1], EOS]
        # The fewest pieces that are needed after each state.
        self.needed = [math.inf] * self.end + [0.0]
        for state in range(self.end - 1, -1, -1):
            rest = (self.needed[new] for new in self.inside[state].values())
            self.needed[state] = 1.0 if self.beyond[state] else 1 + min(rest, default=math.inf)

    def pieces(self, state: int, most: int) -> tuple[list[int], list[int]]:
        """The pieces that may follow, if `most` pieces may take the text to its end: those that write only this text,
        and those that write more."""
        inside = [piece for piece, new in self.inside[state].items() if self.needed[new] < most]
        return inside, self.beyond[state]

    def after(self, state: int, piece: int) -> int:
        return self.end if state == self.end else self.inside[state].get(piece, self.end)
