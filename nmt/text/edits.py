"""Edits of a text: parts are replaced, and places of characters move with them."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

Edit = tuple[int, int, str]
"""Start and end of a part of a text, and the text that replaces it. Edits are in order and don't overlap."""


def apply(text: str, edits: Sequence[Edit]) -> str:
    kept, end = list[str](), 0
    for start, stop, new in edits:
        kept += [text[end:start], new]
        end = stop
    return "".join([*kept, text[end:]]) if edits else text


def shifts(edits: Sequence[Edit]) -> Callable[[int], int]:
    """A function from places in a text to places in the edited text; what is replaced moves to what replaces it."""
    starts = [start for start, _, _ in edits]
    shift = [0, *accumulate(len(new) - (end - start) for start, end, new in edits)]

    def place(old: int) -> int:
        n = bisect_right(starts, old) - 1
        if n < 0 or old >= edits[n][1]:
            return old + shift[n + 1]
        start, _, new = edits[n]
        return start + shift[n] + min(old - start, max(0, len(new) - 1))

    return place
