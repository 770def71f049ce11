"""The unfinished word at the end of a prefix: the pieces that may write its text, however they divide it.

After "a do", the word "dog" may follow, but its pieces needn't begin with those of "do". Only the pieces before the
last word of a prefix are therefore fixed. Each piece after them writes a part of what is left of the prefix, or all of
it and more.
"""

from collections.abc import Iterator
from math import inf

from nmt.decode.surfaces import Surfaces


class UnfinishedWord:
    """The end of a prefix, which may be the beginning of a longer word. Its states are numbers of bytes written."""

    def __init__(self, surfaces: Surfaces, n_before: int, text: bytes) -> None:
        """`n_before`: the number of pieces of the prefix before `text`, whose pieces are not fixed."""
        self.n_before, self.end = n_before, len(text)
        # For each state: the state after each piece that writes only this text, and the pieces that write more.
        self.inside = [dict(self.parts(surfaces, text, state)) for state in range(self.end)]
        self.beyond = [surfaces.longer_than(text[state:]) for state in range(self.end)]
        # The fewest pieces that are needed after each state.
        self.needed = [inf] * self.end + [0.0]
        for state in range(self.end - 1, -1, -1):
            after = (self.needed[new] for new in self.inside[state].values())
            self.needed[state] = 1.0 if self.beyond[state] else 1 + min(after, default=inf)

    def parts(self, surfaces: Surfaces, text: bytes, state: int) -> Iterator[tuple[int, int]]:
        for new in range(state + 1, min(state + surfaces.longest, self.end) + 1):
            yield from ((piece, new) for piece in surfaces.spelling(text[state:new]))

    def pieces(self, state: int, most: int) -> tuple[list[int], list[int]]:
        """The pieces that may follow, if `most` pieces may take the text to its end: those that write only this text,
        and those that write more."""
        inside = [piece for piece, new in self.inside[state].items() if self.needed[new] < most]
        return inside, self.beyond[state]

    def after(self, state: int, piece: int) -> int:
        return self.end if state == self.end else self.inside[state].get(piece, self.end)
