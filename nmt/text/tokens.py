"""Tokens: the smallest parts of a text between which an item or a tag may stand. A text flows in, its tokens flow out.

A token is an item (an address, a placeholder …), a word, a character of a script without spaces with the marks on it,
or a sign. Signs are tokens of their own, so that a tag can end between a word and a comma.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from nmt.text.items import NO_OWN, find_items
from nmt.text.own_items import OwnItems
from nmt.text.scripts import UNSPACED, WORD

Tokens = Sequence[tuple[int, int]]  # start and end of each
Links = Sequence[tuple[int, int]]  # an alignment: indices (source, target) of tokens or words

UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")
LETTER = f"{WORD.pattern.removesuffix(']+')}{UNSPACED}]"
TOKEN = re.compile(rf"{LETTER}++(?:['’.-]{LETTER}++)*+|\S")


def tokenize(text: str, cuts: Iterable[int] = (), own: OwnItems = NO_OWN) -> list[tuple[int, int]]:
    """Start and end of the tokens of a text. A new token begins at each of the `cuts`, which are in rising order."""
    tokens: list[tuple[int, int]] = []
    position = 0
    items = [(item.start, item.end) for item in find_items(text, own) if item.kind != "number"]
    for start, end in sorted([*items, *((cut, cut) for cut in cuts)]):
        tokens += words(text, position, max(position, start))
        if end > start:
            tokens.append((max(position, start), end))
        position = max(position, end)
    return [*tokens, *words(text, position, len(text))]


def words(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The tokens of a part of a text without items. A mark (accent, vowel sign) stays with the character before it."""
    previous: tuple[int, int] | None = None
    for match in TOKEN.finditer(text, start, end):
        if previous and previous[1] == match.start() and unicodedata.category(match[0][0])[0] == "M":
            previous = previous[0], match.end()
            continue
        if previous:
            yield previous
        previous = match.span()
    if previous:
        yield previous


def is_word(text: str, token: tuple[int, int]) -> bool:
    """Whether a token has a letter or digit."""
    return any(map(str.isalnum, text[token[0] : token[1]]))


def is_unspaced(character: str) -> bool:
    """Whether a character is of a script without spaces, punctuation included."""
    return bool(UNSPACED_LETTER.match(character))


def is_spaced(character: str) -> bool:
    """Whether a character is a letter or digit of a script with spaces."""
    return character.isalnum() and not is_unspaced(character)


def word_starts(text: str) -> list[int]:
    """Where the words begin. Only spaces separate words: a no-break space is a part of one."""
    return [word.start() for word in re.finditer("[^ ]+", text)]
