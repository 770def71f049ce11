"""Tokens: the smallest parts of a text between which an item or a tag may stand; and where these go in a translation.

A pair of tags goes around as many target tokens as possible that are linked to the tokens between the tags in the
source, and as few others. It stays in the pair around it, and beside the pairs next to it. A single mark goes after the
translation of the token before it, or before that of the token after it.

A token is an item (an address, a placeholder …), a word, a character of a script without spaces with the marks on it,
or a sign.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from unicodedata import category

from nmt.text.items import find_items
from nmt.text.scripts import STACKING, UNSPACED, UNSPACED_CHARACTER, WORD
from nmt.text.user_items import NO_USER_ITEMS, UserItems

Tokens = Sequence[tuple[int, int]]  # start and end of each
Links = Sequence[tuple[int, int]]  # an alignment: indices (source, target) of tokens or words

BRACKETS = ("(", "[", "（")
LETTER = f"{WORD.pattern.removesuffix(']+')}{UNSPACED}]"
FIRST_MARK = "\u0300"  # of all combining marks
TOKEN = re.compile(rf"{LETTER}++(?:['’.-]{LETTER}++)*+|\S")


def tokenize(text: str, cuts: Iterable[int] = (), user_items: UserItems = NO_USER_ITEMS) -> list[tuple[int, int]]:
    """Start and end of the tokens of a text. A new token begins at each of the `cuts`, which are in rising order."""
    tokens: list[tuple[int, int]] = []
    position = 0
    items = [(item.start, item.end) for item in find_items(text, user_items) if item.kind != "number"]
    for start, end in sorted([*items, *((cut, cut) for cut in cuts)]):
        tokens += words(text, position, max(position, start))
        if end > start:
            tokens.append((max(position, start), end))
        position = max(position, end)
    return [*tokens, *words(text, position, len(text))]


def words(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The tokens of a part of a text without items. A mark (accent, vowel sign) stays with the character before it."""
    if text.isascii() or max(text[start:end], default="") < FIRST_MARK:  # as in most languages with Latin letters
        return [match.span() for match in TOKEN.finditer(text, start, end)]
    found = list[tuple[int, int]]()
    for match in TOKEN.finditer(text, start, end):
        first, last = match.span()
        touches = text[first] >= FIRST_MARK and bool(found) and found[-1][1] == first
        if touches and (category(text[first])[0] == "M" or text[first - 1] in STACKING):
            first, _ = found.pop()
        found.append((first, last))
    return found


def is_word(text: str, token: tuple[int, int]) -> bool:
    """Whether a token has a letter or digit."""
    return any(map(str.isalnum, text[token[0] : token[1]]))


def is_unspaced(character: str) -> bool:
    """Whether a character is of a script without spaces, punctuation included."""
    return bool(UNSPACED_CHARACTER.match(character))


def is_spaced(character: str) -> bool:
    """Whether a character is a letter or digit of a script with spaces."""
    return character.isalnum() and not is_unspaced(character)


def word_starts(text: str) -> list[int]:
    """Where the words begin. Only spaces separate words: a no-break space is a part of one."""
    return [word.start() for word in re.finditer("[^ ]+", text)]


@dataclass
class Node:
    """An item or a tag, or several that stay together, or a pair of tags."""

    core: str
    """Its text (of a pair: the opening tag), with the brackets and quotes right beside it."""
    start: int = 0
    """The number of source tokens before it; `end`: of a pair, the number before the closing tag."""
    end: int = 0
    parent: int = -1
    """The index of the pair of tags around it; -1 for none."""
    before: str = ""
    """The blanks and punctuation before it that are put back with it; `after`: those after it."""
    after: str = ""
    closing: str | None = None
    """Of a pair: the closing tag; empty if it is in a later part of the text."""
    follows: bool = True
    """Whether it belongs to the token before it rather than to the one after it."""
    place: int = 0
    """Where `core` begins in the line."""
    loose: bool = False
    """Whether it needs blanks where it gets beside words: it touched none, or a script without spaces."""


Range = tuple[int, int]
"""Of target tokens; for a single mark, the same number twice."""


class Placing:
    """Places nodes among the tokens of a translation."""

    def __init__(
        self, nodes: Sequence[Node], links: Links, source_words: Sequence[bool], target_words: Sequence[bool]
    ) -> None:
        """`source_words`: for each token of the source whether it is a word; the others are signs."""
        self.nodes, self.n_source, self.n_target = nodes, len(source_words), len(target_words)
        self.source_words = [0, *accumulate(map(int, source_words))]
        # The number of signs in a row before each place in the target; and after each.
        self.signs, signs_after = map(signs_before, (target_words, target_words[::-1]))
        self.signs_after = signs_after[::-1]
        self.targets: list[list[int]] = [[] for _ in range(self.n_source)]
        for i, j in links:
            if i < self.n_source and j < self.n_target:
                self.targets[i].append(j)
        linked = {j for found in self.targets for j in found}
        self.linked = [0, *accumulate(int(j in linked) for j in range(self.n_target))]
        self.linked_sources = [-1, *(i for i, found in enumerate(self.targets) if found), self.n_source]

    def ranges(self) -> list[Range]:
        children: dict[int, list[int]] = {-1: []}
        for n, node in enumerate(self.nodes):
            children[node.parent].append(n)
            if node.closing is not None:
                children[n] = []
        ranges = [(0, 0)] * len(self.nodes)
        for parent, inner in children.items():
            around = ranges[parent] if parent >= 0 else (0, self.n_target)
            taken: list[Range] = []
            open_first = sorted(inner, key=lambda n: not self.is_open(self.nodes[n]))
            for n in (n for n in open_first if self.nodes[n].closing is not None):
                ranges[n] = self.around_words(self.nodes[n], around, taken)
                if ranges[n][0] < ranges[n][1]:
                    taken.insert(bisect_left(taken, ranges[n]), ranges[n])
            for n in inner:
                if ranges[n][0] == ranges[n][1]:
                    place = self.beside(self.nodes[n], around, taken)
                    ranges[n] = place, place
        return ranges

    def around_words(self, node: Node, around: Range, taken: list[Range]) -> Range:
        """The range that agrees best with the links of a pair of tags; an empty one if it has no links there."""
        first, last = self.tokens_around(node)
        n_words = self.source_words[node.end] - self.source_words[node.start]
        has_all = n_words == self.source_words[last] - self.source_words[first]
        if has_all and not taken and not self.is_open(node):  # all words are in the pair, linked or not
            start = around[0] + min(self.signs_after[around[0]], node.start - first, around[1] - around[0])
            return start, max(start, around[1] - min(self.signs[around[1]], last - node.end))
        linked = {j for i in range(node.start, node.end) for j in self.targets[i] if around[0] <= j < around[1]}
        places = [j for j in sorted(linked) if is_free(j, taken)]
        if not places:
            return around[0], around[0]
        start, end = self.best_run(places, taken)
        if self.is_open(node):  # it goes on outside of the text
            return (start if node.core else around[0]), (end if node.closing else around[1])
        return self.with_first_words(node, (start, end), around, taken)

    def best_run(self, places: list[int], taken: list[Range]) -> Range:
        """The range with the most of these places and the fewest other linked tokens; the longest of equal ones."""
        best, start, score = (1, 1, -places[0]), places[0], 1
        for before, j in pairwise(places):
            others = self.linked[j] - self.linked[before + 1]
            barred = bisect_left(taken, (before, before)) != bisect_left(taken, (j, j))
            if barred or score - others < 0:
                start, score = j, 1
            else:
                score += 1 - others
            best = max(best, (score, j + 1 - start, -start))
        return -best[2], best[1] - best[2]

    def with_first_words(self, node: Node, found: Range, around: Range, taken: list[Range]) -> Range:
        """The range, with the words before it that nothing links, such as articles, if the pair begins the text or
        comes after a sign."""
        (start, end), (first, _) = found, self.tokens_around(node)
        earliest = start
        if self.source_words[node.start] == self.source_words[first]:
            earliest = around[0] + self.signs_after[around[0]]
        elif self.source_words[node.start] == self.source_words[node.start - 1]:
            earliest = max(around[0], 1 + max(self.targets[node.start - 1], default=start))
        n = bisect_left(taken, found) - 1
        are_free = earliest < start and self.linked[earliest] == self.linked[start]
        return (earliest if are_free and (n < 0 or taken[n][1] <= earliest) else start), end

    def beside(self, node: Node, around: Range, taken: list[Range]) -> int:
        """The number of target tokens before a single mark."""
        first, last = self.tokens_around(node)
        n = bisect_left(self.linked_sources, node.start)  # the nearest ones before, and from here on
        before, after = self.linked_sources[n - 1 : n + 1]
        if self.is_open(node) or (node.start == first and not node.follows):
            return around[1] if node.closing == "" else around[0]
        # What is in brackets belongs to the word before it, also at the end of a sentence.
        in_brackets = node.core.startswith(BRACKETS) and before >= first
        if self.source_words[node.start] == self.source_words[last] and not in_brackets:
            # Only signs follow it: as many signs may follow it in the translation.
            place = around[1] - min(self.signs[around[1]], last - node.start)
        elif not node.follows and after < last:
            place = min(self.targets[after])
        elif before >= first:
            place = max(self.targets[before]) + 1
        else:
            place = around[0]
        place = min(max(place, around[0]), around[1])
        n = bisect_left(taken, (place, 0)) - 1
        if n >= 0 and place < taken[n][1]:
            return taken[n][1] if node.follows else taken[n][0]
        return place

    def tokens_around(self, node: Node) -> Range:
        """The source tokens in the pair around a node, or in the text."""
        parent = self.nodes[node.parent] if node.parent >= 0 else None
        return (parent.start, parent.end) if parent else (0, self.n_source)

    def is_open(self, node: Node) -> bool:
        """Whether a pair begins before the text, or ends after it."""
        return node.closing is not None and not (node.core and node.closing)


def signs_before(is_word: Sequence[bool]) -> list[int]:
    return [*accumulate(is_word, lambda row, word: 0 if word else row + 1, initial=0)]


def is_free(j: int, taken: list[Range]) -> bool:
    n = bisect_left(taken, (j + 1, 0)) - 1
    return n < 0 or j >= taken[n][1]


def in_proportion(n_source: int, n_target: int) -> list[tuple[int, int]]:
    """Links that keep the order of the tokens: each target token with the source token at the same part of the text."""
    return [(j * n_source // n_target, j) for j in range(n_target)] if n_source else []
