"""Where the pieces of a text stand in it: pieces flow in, places of characters flow out.

Text and pieces may differ in a few characters, such as those that the vocabulary lacks.
"""

from collections.abc import Sequence

from nmt.decode.surfaces import BYTE_PIECE
from nmt.vocabulary import SPACE

LOOK_AHEAD = 8  # characters of a text that may be missing in its pieces


def piece_places(pieces: Sequence[str], text: str) -> list[list[int]]:
    """For each piece the places of its characters in the text, without blanks."""
    visible = [place for place, character in enumerate(text) if not character.isspace()]
    position, found = 0, list[list[int]]()
    for surface in surfaces(pieces):
        places = list[int]()
        for character in surface.replace(SPACE, ""):
            ahead = [text[place] for place in visible[position : position + LOOK_AHEAD]]
            if character in ahead:
                position += ahead.index(character) + 1
                places.append(visible[position - 1])
        found.append(places)
    return found


def piece_starts(pieces: Sequence[str], text: str) -> list[int]:
    """For each piece the place where it begins in the text, blanks before it included; in rising order."""
    starts, end = list[int](), 0
    for places in piece_places(pieces, text):
        starts.append(end)
        end = places[-1] + 1 if places else end
    return starts


def surfaces(pieces: Sequence[str]) -> list[str]:
    """The text of each piece; a character that is spelled as bytes belongs to its first byte."""
    found: list[str] = []
    spelled, first = bytearray(), 0
    for n, piece in enumerate([*pieces, ""]):
        byte = BYTE_PIECE.fullmatch(piece)
        if byte:
            first = first if spelled else n
            spelled.append(int(byte[1], 16))
        elif spelled:
            for character in spelled.decode("utf-8", "replace"):
                found[min(first, len(found) - 1)] = character
                first += len(character.encode())
            spelled.clear()
        found.append("" if byte else piece)
    return found[: len(pieces)]
