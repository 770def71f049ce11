"""Items lifted out of a line before it is translated, and put back where the words beside them went.

For models that were never shown addresses, tags or placeholders: what they make of one spoils the whole sentence.
Numbers stay, since their words agree with them. Word alignments say where an item belongs: one that touches the word
after it (an opening tag) goes before that word's translation, any other after that of the word before it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nmt.decode.protect import find_items

CLOSING_PUNCTUATION = re.compile(r"[.,;:!?…)\]}»”’\"']+$")


@dataclass(frozen=True)
class Lifted:
    """An item that was taken out."""

    text: str
    after: int
    """Words of the line without items that stand before it."""
    joins_left: bool
    """Whether it touches the word before it; or right."""
    joins_right: bool
    before_punctuation: bool
    """Whether punctuation touches it that the word before it has got now."""


def lift(line: str) -> tuple[str, list[Lifted]]:
    """The line without its items, and these in order."""
    items = [item for item in find_items(line) if item.kind != "number"]
    text, lifted = "", []
    for item, before, after in zip(items, [0, *(item.end for item in items)],
                                   [*(item.start for item in items[1:]), len(line)], strict=False):
        text += line[before:item.start]
        gap = line[item.end:after]
        joins_left = bool(text) and text[-1].isalnum() and item.start > before
        joins_right = bool(gap) and gap[0].isalnum()
        punctuation = bool(re.match(r"[.,;:!?…)\]»”]", gap))
        lifted.append(Lifted(item.text, len(text.split()), joins_left, joins_right and not joins_left, punctuation))
        if punctuation or (text.endswith(" ") and gap.startswith(" ")):
            text = text.rstrip(" ")
        elif joins_left and joins_right:
            text += " "
    return (text + line[items[-1].end:] if items else line).strip(), lifted


def restore(translation: str, lifted: Sequence[Lifted], links: Sequence[tuple[int, int]], n_source_words: int) -> str:
    """The translation of a line without items, with them.

    Args:
        links: places of words, (source, target), as `nmt.decode.alignment` gives them.
        n_source_words: of the line without items.
    """
    words = translation.split()
    slots: list[list[Lifted]] = [[] for _ in range(len(words) + 1)]
    for item in lifted:
        slots[min(place(item, links, n_source_words, len(words)), len(words))].append(item)
    text, joined = "", True
    for j, slot in enumerate(slots):
        punctuation = ""
        for n, item in enumerate(slot):
            if n == 0 and (item.joins_left or item.before_punctuation) and (tail := CLOSING_PUNCTUATION.search(text)):
                text, punctuation = text[:tail.start()], tail[0]
            text += ("" if joined or item.joins_left or not text else " ") + item.text
            joined = item.joins_right
        text += punctuation
        if j < len(words):
            text += ("" if joined and not punctuation else " ") + words[j]
            joined = False
    return text


def place(item: Lifted, links: Sequence[tuple[int, int]], n_source_words: int, n_words: int) -> int:
    """Before which target word an item goes; the number of words: at the end."""
    if item.joins_right:
        for source in range(item.after, n_source_words):
            if targets := [j for i, j in links if i == source]:
                return min(targets)
    if item.after == n_source_words:
        return n_words
    for source in range(item.after - 1, -1, -1):
        if targets := [j for i, j in links if i == source]:
            return max(targets) + 1
    return 0
