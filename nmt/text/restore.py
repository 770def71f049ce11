"""Items lifted out of a line before it is translated, and put back where the words beside them went.

For models that were never shown addresses, tags or placeholders: what they make of one spoils the whole sentence.
Numbers stay, since their words agree with them. Word alignments say where an item belongs: a pair of tags around what
the words between them became; one that touches the word after it before that word's translation; any other after that
of the word before it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nmt.text.items import Item, find_items, tag_pairs

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
    joins_item: bool
    """Whether it touches the item before it."""
    before_punctuation: bool
    """Whether punctuation touches it that the word before it has got now."""
    opens: bool = False
    """Whether it is the first, or the second, of a pair of tags with words between them."""
    closes: bool = False
    words: tuple[int, int] = (0, 0)
    """Of a pair, the words of the line without items that stand between its tags."""


def liftable(line: str) -> list[Item]:
    return [item for item in find_items(line) if item.kind != "number"]


def lift(line: str) -> tuple[str, list[Lifted]]:
    """The line without its items, and these in order."""
    items = liftable(line)
    text, lifted = "", list[Lifted]()
    for item, before, after in zip(
        items, [0, *(item.end for item in items)], [*(item.start for item in items[1:]), len(line)], strict=False
    ):
        text += line[before : item.start]
        gap = line[item.end : after]
        joins_left = bool(text) and text[-1].isalnum() and item.start > before
        joins_item = bool(lifted) and item.start == before
        joins_right = bool(gap) and gap[0].isalnum()
        punctuation = bool(re.match(r"[.,;:!?…)\]»”]", gap))
        lifted.append(
            Lifted(item.text, len(text.split()), joins_left, joins_right and not joins_left, joins_item, punctuation)
        )
        if punctuation or (text.endswith(" ") and gap.startswith(" ")):
            text = text.rstrip(" ")
        elif joins_left and joins_right:
            text += " "
    for i, j in tag_pairs(items):
        if lifted[i].after < lifted[j].after:
            words = lifted[i].after, lifted[j].after
            lifted[i] = replace(lifted[i], opens=True, words=words, joins_right=line[items[i].end] != " ")
            lifted[j] = replace(lifted[j], closes=True, words=words, joins_left=line[items[j].start - 1] != " ")
    return (text + line[items[-1].end :] if items else line).strip(), lifted


def restore(translation: str, lifted: Sequence[Lifted], links: Sequence[tuple[int, int]], n_source_words: int) -> str:
    """The translation of a line without items, with them.

    Args:
        links: places of words, (source, target), as `nmt.translation.alignment` gives them.
        n_source_words: of the line without items.
    """
    words = translation.split()
    slots: list[list[int]] = [[] for _ in range(len(words) + 1)]
    targets = targets_of(links)
    around = [span(item, targets) for item in lifted]
    # In one place, tags that close what stands before come first, and tags that open what follows last; but a pair
    # around words that became nothing stays together.
    for n in sorted(range(len(lifted)), key=lambda n: (lifted[n].opens - lifted[n].closes) if around[n] else 0):
        item, between = lifted[n], around[n]
        if between:
            at = between[1] + 1 if item.closes else between[0]
        else:
            item = replace(item, after=item.words[0]) if item.closes else item
            at = place(item, targets, n_source_words, len(words))
        slots[min(at, len(words))].append(n)
    text, joined = "", True
    for j, slot in enumerate(slots):
        punctuation = ""
        for n, before in zip(slot, [-1, *slot], strict=False):
            item = lifted[n]
            # What touched a word on its right doesn't touch an item there, but for tags that open one after the other.
            joined = joined and (before == -1 or (lifted[before].opens and item.opens))
            joined |= item.joins_left or (item.joins_item and before == n - 1)
            tail = CLOSING_PUNCTUATION.search(text) if item.joins_left or item.before_punctuation else None
            if tail and n == slot[0]:
                text, punctuation = text[: tail.start()], tail[0]
            text += ("" if joined or not text else " ") + item.text
            joined = item.joins_right
        text += punctuation
        if j < len(words):
            text += ("" if joined and not punctuation else " ") + words[j]
            joined = False
    return text


def targets_of(links: Sequence[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """For each source word that has any, the first and the last target word."""
    found: dict[int, tuple[int, int]] = {}
    for i, j in links:
        first, last = found.get(i, (j, j))
        found[i] = min(first, j), max(last, j)
    return found


def span(item: Lifted, targets: dict[int, tuple[int, int]]) -> tuple[int, int] | None:
    """The first and the last target word of those between a pair of tags; None if there are none."""
    found = [targets[i] for i in range(*item.words) if i in targets]
    return (min(first for first, _ in found), max(last for _, last in found)) if found else None


def place(item: Lifted, targets: dict[int, tuple[int, int]], n_source_words: int, n_words: int) -> int:
    """Before which target word an item goes; the number of words: at the end."""
    if item.joins_right:
        for source in range(item.after, n_source_words):
            if source in targets:
                return targets[source][0]
    if item.after == n_source_words:
        return n_words
    for source in range(item.after - 1, -1, -1):
        if source in targets:
            return targets[source][1] + 1
    return 0


def relink(links: Sequence[tuple[int, int]], source: tuple[str, str], target: tuple[str, str]) -> list[tuple[int, int]]:
    """Links between words of a line and a translation with their items, from links between the same without.

    Args:
        links: places of words, (source, target), in the texts without items.
        source, target: each the text with items, and without.
    """
    source_places, target_places = word_places(*source), word_places(*target)
    # To the model other blanks than the space are part of a word: it may have counted fewer, or more.
    linked = {
        (source_places[i], target_places[j]) for i, j in links if i < len(source_places) and j < len(target_places)
    }
    rest = [(item.text, n) for item, n in item_places(target[0])]
    for item, i in item_places(source[0]):
        if match := next((one for one in rest if one[0] == item.text), None):
            rest.remove(match)
            linked.add((i, match[1]))
    return sorted(linked, key=lambda link: (link[1], link[0]))


def item_places(text: str) -> list[tuple[Item, int]]:
    """The items that are lifted, each with the number of the word that it stands in."""
    places, position, n_words = [], 0, 0
    for item in liftable(text):
        n_words += len(text[position : item.start + 1].split())
        # A word that is cut in two is counted twice.
        n_words -= position > 0 and not text[position - 1].isspace() and not text[position].isspace()
        places.append((item, n_words - 1))
        position = item.start + 1
    return places


def word_places(text: str, bare: str) -> list[int]:
    """For each word of a text without its items the number of the word in the text with them that it begins in."""
    inside = {i for item in liftable(text) for i in range(item.start, item.end)}
    numbers, number, space = [], -1, True
    for i, character in enumerate(text):
        if not character.isspace():
            number += space
            if i not in inside:
                numbers.append(number)
        space = character.isspace()
    places, position = [], 0
    for word in bare.split():
        places.append(numbers[min(position, len(numbers) - 1)] if numbers else 0)
        position += len(word)
    return places
