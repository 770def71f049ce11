"""Items (URLs, tags, placeholders …) are removed from a line before translation, and put back into the translation.

For models that were trained without items: there a single item can spoil the whole translation. Numbers stay, since
words agree with them. The word alignment says where an item goes: a pair of tags around the translation of the words
between them; an item that touches the next word before its translation; any other after that of the previous word.
"""

import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nmt.text.items import Item, find_items, tag_pairs

Links = Sequence[tuple[int, int]]  # a word alignment: indices (source word, target word)
CLOSING_PUNCTUATION = re.compile(r"[.,;:!?…)\]}»”’\"']+$")


@dataclass(frozen=True)
class Lifted:
    """An item that was removed from a line."""

    text: str
    after: int
    """Number of words before it, in the line without items."""
    joins_left: bool
    """Whether it touches the word before it; `joins_right`: the word after it; `joins_item`: the item before it."""
    joins_right: bool
    joins_item: bool
    before_punctuation: bool
    """Whether punctuation follows it, which touches the word before it in the line without items."""
    opens: bool = False
    """Whether it is the first of a pair of tags with words between them; `closes`: the second."""
    closes: bool = False
    words: tuple[int, int] = (0, 0)
    """For a pair of tags, the range of words between them, in the line without items."""


def liftable(line: str) -> list[Item]:
    return [item for item in find_items(line) if item.kind != "number"]


def lift(line: str) -> tuple[str, list[Lifted]]:
    """The line without its items, and the items in their order."""
    items = liftable(line)
    starts = [item.start for item in items] + [len(line)]
    text, lifted, end = line[: starts[0]], list[Lifted](), 0
    for item, next_start in zip(items, starts[1:], strict=True):
        gap = line[item.end : next_start]
        joins_left = text[-1:].isalnum() and item.start > end
        joins_right = gap[:1].isalnum()
        joins_item = bool(lifted) and item.start == end
        punctuation = bool(re.match(r"[.,;:!?…)\]»”]", gap))
        after = len(text.split())
        lifted.append(Lifted(item.text, after, joins_left, joins_right and not joins_left, joins_item, punctuation))
        if punctuation or (text.endswith(" ") and gap.startswith(" ")):
            text = text.rstrip(" ")
        elif joins_left and joins_right:
            text += " "
        text, end = text + gap, item.end
    for i, j in tag_pairs(items):
        if lifted[i].after < lifted[j].after:
            words = lifted[i].after, lifted[j].after
            lifted[i] = replace(lifted[i], opens=True, words=words, joins_right=line[items[i].end] != " ")
            lifted[j] = replace(lifted[j], closes=True, words=words, joins_left=line[items[j].start - 1] != " ")
    return text.strip(), lifted


def restore(translation: str, lifted: Sequence[Lifted], links: Links, n_source_words: int) -> str:
    """The translation of a line without items, which has `n_source_words`, with the items put back."""
    words = translation.split()
    text, joined = "", True
    for j, slot in enumerate(item_slots(lifted, links, n_source_words, len(words))):
        punctuation = ""
        for n, previous in zip(slot, [-1, *slot], strict=False):
            item = lifted[n]
            # An item that touched a word on its right doesn't touch an item there, except for tags that open in a row.
            joined = joined and (previous == -1 or (lifted[previous].opens and item.opens))
            joined |= item.joins_left or (item.joins_item and previous == n - 1)
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


def item_slots(lifted: Sequence[Lifted], links: Links, n_source_words: int, n_words: int) -> list[list[int]]:
    """For each target word, the indices of the items that go before it, in order; then those that go to the end."""
    slots: list[list[int]] = [[] for _ in range(n_words + 1)]
    targets: dict[int, tuple[int, int]] = {}  # of a source word, the first and the last target word
    for i, j in links:
        first, last = targets.get(i, (j, j))
        targets[i] = min(first, j), max(last, j)
    spans = [[targets[i] for i in range(*item.words) if i in targets] for item in lifted]
    # At one place, closing tags come first and opening tags last; but a pair around no target words stays together.
    for n in sorted(range(len(lifted)), key=lambda n: (lifted[n].opens - lifted[n].closes) if spans[n] else 0):
        item, span = lifted[n], spans[n]
        if span:
            slot = max(last for _, last in span) + 1 if item.closes else min(first for first, _ in span)
        else:
            item = replace(item, after=item.words[0]) if item.closes else item
            slot = slot_of(item, targets, n_source_words, n_words)
        slots[min(slot, n_words)].append(n)
    return slots


def slot_of(item: Lifted, targets: dict[int, tuple[int, int]], n_source_words: int, n_words: int) -> int:
    """The target word that an item goes before; the number of target words for the end."""
    following = next((i for i in range(item.after, n_source_words) if i in targets), None)
    if item.joins_right and following is not None:
        return targets[following][0]
    if item.after == n_source_words:
        return n_words
    preceding = next((i for i in reversed(range(item.after)) if i in targets), None)
    return 0 if preceding is None else targets[preceding][1] + 1


def relink(links: Links, source: tuple[str, str], target: tuple[str, str]) -> list[tuple[int, int]]:
    """The links of two texts with items, from those without; `source` and `target` are (text with items, without)."""
    source_places, target_places = word_places(*source), word_places(*target)
    # To the model, blanks other than the space are part of a word: it may have counted fewer words, or more.
    valid = [(i, j) for i, j in links if i < len(source_places) and j < len(target_places)]
    linked = {(source_places[i], target_places[j]) for i, j in valid}
    rest = item_places(target[0])
    for text, i in item_places(source[0]):
        if match := next((place for place in rest if place[0] == text), None):
            rest.remove(match)
            linked.add((i, match[1]))
    return sorted(linked, key=lambda link: (link[1], link[0]))


def item_places(text: str) -> list[tuple[str, int]]:
    """The items of a text that `lift` removes, each with the index of the word in which it begins."""
    starts = word_starts(text)
    return [(item.text, bisect(starts, item.start) - 1) for item in liftable(text)]


def word_places(text: str, bare: str) -> list[int]:
    """For each word of a text without its items, the index of the word of the whole text in which it begins."""
    starts = word_starts(text)
    inside = {i for item in liftable(text) for i in range(item.start, item.end)}
    outside = [i for i, character in enumerate(text) if not character.isspace() and i not in inside]
    places, position = [], 0
    for word in bare.split():
        places.append(bisect(starts, outside[min(position, len(outside) - 1)]) - 1 if outside else 0)
        position += len(word)
    return places


def word_starts(text: str) -> list[int]:
    return [word.start() for word in re.finditer(r"\S+", text)]
