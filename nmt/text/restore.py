"""Items (URLs, tags, placeholders …) are removed from a line before translation, and put back into the translation.

For models that were trained without items: there a single item can spoil the whole translation. Numbers stay, since
words agree with them. What stood right beside an item is kept with it: brackets, quotes, and punctuation that would be
left alone. The word alignment says where an item goes (see `nmt.text.tokens`).
"""

import re
import sys
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from nmt.text.edits import Edit, apply
from nmt.text.items import CLOSING_QUOTES, LETTER, OPENING, QUOTES, UNIT, Item, find_items, tag_pairs
from nmt.text.tokens import Links, Node, Placing, Range, Tokens, is_spaced, is_unspaced, is_word, tokenize, word_starts
from nmt.text.user_items import NO_USER_ITEMS, UserItems

Spell = Callable[[str], str]

# What stands for an item, or for the tags of a pair, in the text of a `Flat`. Tidied text has no such characters.
SINGLE, OPENS, CLOSES = "\0\1\2"
MARK = re.compile("[\0-\2]")
BLANKS = " \u00a0\u2009\u202f"
BLANK = re.compile(f"[{BLANKS}]*")
SENTENCE_MARK = r"[.!?…]"
# Items with nothing between them but a few signs stay together, unless a sentence ends there.
GROUP = re.compile(rf"\0(?:(?:(?!{SENTENCE_MARK}\s)(?:[^\w\0-\2]|_)){{0,4}}\0)*")
JOINT = "-/=_+*~^%&#@|\\"  # signs that belong to the item that they touch
FIRST = re.compile(rf"{OPENS}*(.?)", re.DOTALL)  # the first character, also one inside tags
AFTER = re.compile(r"[.,:;!?…–—-]+(?=\s|\Z)")
TOUCHING_UNIT = re.compile(rf"{UNIT}(?!{LETTER})")
CLOSING = ".,;:!?…)]}»”’\"'。，、；：！？）」』】"
CLOSED = {closing: opening for opening, closing in OPENING.items()}
BRACKETS = frozenset("([{（【")
DEEPEST = 40  # pairs of tags in each other; deeper ones would take quadratic time


@dataclass(frozen=True)
class Flat:
    """A line in whose `text` each item or tag is one character of MARK."""

    line: str
    text: str
    places: Sequence[int]
    """Where each character of `text` begins in the line; at the end the length of the line."""
    rendered: bool = False
    """Whether a mark between letters leaves one word, as in HTML."""

    @property
    def has_marks(self) -> bool:
        return MARK.search(self.text) is not None

    def raw(self, start: int, end: int) -> str:
        """The part of the line that `text[start:end]` stands for."""
        return self.line[self.places[start] : self.places[end]]

    def marked(self, edits: Sequence[Edit]) -> "Flat":
        """The line with marks in the place of parts of the text, where the first character of each begins."""
        inside = {n for start, end, _ in edits for n in range(start + 1, end)}
        places = [place for n, place in enumerate(self.places) if n not in inside]
        return replace(self, text=apply(self.text, edits), places=places)


@dataclass(frozen=True)
class Lifted:
    """A line without its items."""

    line: str
    text: str
    tokens: Tokens
    """Of the text. At each item a token ends."""
    places: Sequence[int]
    """Where each character of the text begins in the line."""
    nodes: list[Node]
    """The items."""


@dataclass(frozen=True)
class Restored:
    """A translation with the items put back."""

    text: str
    starts: list[int]
    """Where each token of the translation begins in it, and `places`: where it begins in `text`."""
    places: list[int]
    links: list[tuple[int, int]]
    """Places of the words of the items, in the line and in `text`."""
    is_whole: bool
    """Whether each pair of tags that enclosed words still does."""

    def place(self, old: int) -> int:
        """Where a place of the translation is in `text`."""
        n = bisect_right(self.starts, old) - 1
        return self.places[n] + old - self.starts[n] if n >= 0 else old


def flatten(line: str, user_items: UserItems = NO_USER_ITEMS, *, beside: bool = False) -> Flat:
    """The line with its items, other than numbers, as marks. Tags without a counterpart are single items. `beside`:
    only those that surely stand beside words, not in the place of one."""
    whole = Flat(line, line, range(len(line) + 1))
    items = [item for item in find_items(line, user_items) if item.kind != "number"]
    if not items:
        return whole
    items = surely_beside(line, items) if beside else items
    signs = [SINGLE] * len(items)
    for i, j in tag_pairs(items):
        signs[i], signs[j] = OPENS, CLOSES
    return whole.marked([(item.start, item.end, sign) for item, sign in zip(items, signs, strict=True)])


def surely_beside(line: str, items: Sequence[Item]) -> list[Item]:
    """The pairs of tags, and the single tags and the items in brackets that touch no other item."""
    paired = {n for pair in tag_pairs(items) for n in pair}
    starts, ends = {item.start for item in items}, {item.end for item in items}
    found = list[Item]()
    for n, item in enumerate(items):
        before = line[item.start - 1 : item.start]
        in_brackets = before in BRACKETS and OPENING[before] == line[item.end : item.end + 1]
        touches = item.start - in_brackets in ends or item.end + in_brackets in starts
        if n in paired or ((item.kind == "tag" or in_brackets) and not touches):
            found.append(item)
    return found


def lift(line: str | Flat, user_items: UserItems = NO_USER_ITEMS) -> Lifted:
    """The line without its items, and the items."""
    flat = flatten(line, user_items) if isinstance(line, str) else line
    if not flat.has_marks:
        tokens = tokenize(flat.text, user_items=user_items)
        return Lifted(flat.line, flat.text, tokens, flat.places[:-1], [])
    wordless = wordless_pairs(flat.text)
    return Lifting(flat.marked(wordless) if wordless else flat).lifted(user_items)


def wordless_pairs(text: str) -> list[Edit]:
    """The outermost pairs of tags that enclose only items or nothing, or are nested too deep, as single items."""
    found, opened = list[Edit](), list[tuple[int, tuple[int, int, int]]]()
    if OPENS not in text:
        return found
    words = signs = singles = 0
    for match in re.finditer(r"\S", text):
        character = match[0]
        words, singles = words + character.isalnum(), singles + (character == SINGLE)
        if character == OPENS:
            opened.append((match.start(), (words, signs, singles)))
        elif character == CLOSES and opened:
            start, (words_before, signs_before, singles_before) = opened.pop()
            has_items = singles > singles_before or signs == signs_before
            if len(opened) >= DEEPEST or (words == words_before and has_items):
                while found and found[-1][0] > start:
                    found.pop()
                found.append((start, match.end(), SINGLE))
        elif character != SINGLE:
            signs += 1
    return found


def widen(text: str, start: int, stop: int, least: int) -> tuple[int, int]:
    """The range of an item with the brackets, quotes and joints that touch it; not before `least`."""
    signs = Counter(text[start:stop])  # kept up to date: counting anew at each step would take quadratic time
    while True:
        left, right = text[start - 1 : start] if start > least else "", text[stop : stop + 1]
        if left in OPENING and right and (right == OPENING[left] or (left in QUOTES and right in CLOSING_QUOTES)):
            start, stop = start - 1, stop + 1
            signs.update(left + right)
        elif (left in OPENING and lacks(signs, left, OPENING[left])) or (left and left in JOINT):
            start -= 1
            signs[left] += 1
        elif (right in CLOSED and lacks(signs, right, CLOSED[right])) or (right and right in JOINT):
            stop += 1
            signs[right] += 1
        else:
            break
    unit = TOUCHING_UNIT.match(text, stop)
    return start, unit.end() if unit and not text[start - 1 : start].isalnum() else stop


def lacks(signs: Counter[str], sign: str, other: str) -> bool:
    """Whether a text has more of a closing sign than of the opening one; of a sign that is both, an odd number."""
    return signs[other] % 2 == 1 if sign == other else signs[other] > signs[sign]


def find_unit(flat: Flat, start: int, stop: int, least: int) -> tuple[Node, int, int]:
    """The node of the item `flat.text[start:stop]`, and the range that is removed with it; nothing before `least`."""
    text = flat.text
    start, stop = widen(text, start, stop, least)

    def unit(cut: int, end: int, *, follows: bool, loose: bool = False) -> tuple[Node, int, int]:
        before, core, after = flat.raw(cut, start), flat.raw(start, stop), flat.raw(stop, end)
        node = Node(core, before=before, after=after, follows=follows, place=flat.places[start], loose=loose)
        return node, cut, end

    left = len(text[least:start].rstrip(BLANKS)) + least
    right = BLANK.match(text, stop).end()  # type: ignore[union-attr]
    before, after = text[left - 1 : left] if left else "", text[right : right + 1]
    sentence_start = before in "。！？" or (left < start and before in ".!?…")
    at_end = after in ("", CLOSES)
    if before in ("", OPENS) or sentence_start:
        if at_end:
            return unit(start, stop, follows=False, loose=True)
        sign = AFTER.match(text, stop)
        end = BLANK.match(text, sign.end() if sign else stop).end()  # type: ignore[union-attr]
        if text[end : end + 1] in ("", CLOSES):
            stop = end  # with the signs after it
            return unit(start, stop, follows=False, loose=True)
        first = FIRST.match(text, stop)[1]  # type: ignore[index]
        return unit(start, end, follows=False, loose=end == stop and not is_spaced(first))
    if at_end or (right == stop and after in CLOSING):
        cut = left - 1 if before in ",:;–—" and left > least else left
        cut = len(text[least:cut].rstrip(BLANKS)) + least
        return unit(cut, stop, follows=True, loose=cut == start and not is_spaced(before))
    if left < start:
        between_blanks = right > stop
        return unit(left if between_blanks else start, stop, follows=between_blanks)
    if before in OPENING:
        return unit(start, right, follows=False)
    return unit(start, stop, follows=True, loose=not (is_spaced(before) and is_spaced(after)))


class Lifting:
    """The making of a `Lifted` from a line with marks: its parts, in their order, become text or nodes."""

    def __init__(self, flat: Flat) -> None:
        self.flat, self.text = flat, flat.text
        self.chunks, self.origins = list[str](), list[int]()
        self.nodes, self.around = list[Node](), [-1]

    def lifted(self, user_items: UserItems) -> Lifted:
        depths = accumulate(((mark == OPENS) - (mark == CLOSES) for mark in MARK.findall(self.text)), initial=0)
        for _ in range(-min(depths)):  # pairs that begin before this text, the outermost first
            self.add(Node("", closing=""))
        position = 0
        for match in re.finditer(f"[{OPENS}{CLOSES}]|{GROUP.pattern}", self.text):
            if match[0][0] == SINGLE:
                node, cut, end = find_unit(self.flat, *match.span(), position)
                self.copy(position, cut)
                self.add(node)
                position = end
                touching = self.text[cut - 1 : cut], self.text[end : end + 1]
                if self.chunks and all(map(is_spaced, touching)) and not self.flat.rendered:
                    self.chunks.append(" ")
                    self.origins.append(cut)
                continue
            self.copy(position, match.start())
            position = match.end()
            tag, place = self.flat.raw(match.start(), position), self.flat.places[match.start()]
            if match[0] == OPENS:
                before = " " if self.text[match.start() - 1 : match.start()] == " " else ""
                self.add(Node(tag, before=before, closing="", place=place))
            else:
                node = self.nodes[self.around.pop()]
                node.closing, node.end = tag, len(self.origins)
        self.copy(position, len(self.text))
        text = "".join(self.chunks).rstrip(" ")
        cuts = sorted(min(place, len(text)) for node in self.nodes for place in (node.start, node.end))
        tokens = tokenize(text, cuts, user_items)
        starts = [start for start, _ in tokens]
        for node in self.nodes:
            node.start, node.end = bisect_left(starts, node.start), bisect_left(starts, node.end)
        places = [self.flat.places[origin] for origin in self.origins[: len(text)]]
        return Lifted(self.flat.line, text, tokens, places, self.nodes)

    def copy(self, start: int, end: int) -> None:
        """Add a part of the text; of the blanks before and after a mark one is enough."""
        if start < end and self.chunks and self.chunks[-1][-1] in ".,;:!?…" and self.text[start].isalpha():
            self.chunks.append(" ")
            self.origins.append(start)
        if not self.origins or self.chunks[-1].endswith(" "):
            start += len(self.text[start:end]) - len(self.text[start:end].lstrip(" "))
        if start < end:
            self.chunks.append(self.text[start:end])
            self.origins += range(start, end)

    def add(self, node: Node) -> None:
        """Add a node here; its place in the text is made one among the tokens in the end."""
        node.start, node.end, node.parent = len(self.origins), len(self.origins), self.around[-1]
        self.nodes.append(node)
        if node.closing == "":
            node.end = sys.maxsize  # until its closing tag is met
            self.around.append(len(self.nodes) - 1)


def restore(
    translation: str, lifted: Lifted, links: Links, user_items: UserItems = NO_USER_ITEMS, spell: Spell = str
) -> Restored:
    """The translation of a line without its items, with the items put back. `links`: of the tokens of both texts.

    `spell`: how the characters of the translation are written.
    """
    tokens = tokenize(translation, user_items=user_items)
    sides = (lifted.text, lifted.tokens), (translation, tokens)
    ranges = Placing(lifted.nodes, links, *([is_word(text, token) for token in side] for text, side in sides)).ranges()
    writer = Writer(spell)
    writer.write(translation, tokens, gaps(lifted.nodes, ranges, len(tokens)))
    whole = all(
        start < end or node.start == node.end or node.closing is None
        for node, (start, end) in zip(lifted.nodes, ranges, strict=True)
    )
    return Restored("".join(writer.text), [start for start, _ in tokens], writer.places, writer.node_places, whole)


Gap = list[tuple[Node, bool, bool]]
"""The nodes between two target tokens, each with whether it opens (or is single) there rather than closes, and whether
it encloses no token."""


def gaps(nodes: Sequence[Node], ranges: Sequence[Range], n_tokens: int) -> list[Gap]:
    """What is written before each token, and after the last: nodes in each other nest, those beside each other don't
    cross."""
    children: dict[int, list[int]] = {-1: []}
    for n in sorted(range(len(nodes)), key=lambda n: (ranges[n], n)):
        children.setdefault(nodes[n].parent, []).append(n)
    found, stack = [Gap() for _ in range(n_tokens + 1)], [(n, True) for n in reversed(children[-1])]
    while stack:
        n, opens = stack.pop()
        found[ranges[n][not opens]].append((nodes[n], opens, ranges[n][0] == ranges[n][1]))
        if opens and nodes[n].closing is not None:
            stack.append((n, False))
            stack += [(child, True) for child in reversed(children.get(n, []))]
    return found


class Writer:
    """Writes a translation with its nodes."""

    def __init__(self, spell: Spell) -> None:
        self.spell = spell
        self.text, self.length, self.last, self.following, self.needs_blank = list[str](), 0, "", "", False
        self.places = list[int]()  # of the tokens, in what is written
        self.node_places = list[tuple[int, int]]()  # of each word of the items: in the line, and in what is written

    def write(self, translation: str, tokens: Tokens, waiting: Sequence[Gap]) -> None:
        position, last = 0, len(translation)
        for here, (start, end) in zip(waiting, [*tokens, (last, last)], strict=True):
            self.following = translation[start : start + 1]
            self.write_gap(here, translation[position:start])
            position = end
            if start < end:
                token = self.spell(translation[start:end])
                self.put(token, translation[end - 1])
                self.places.append(self.length - len(token))

    def write_gap(self, here: Gap, blank: str) -> None:
        """Write what stands between two tokens: before the blank what belongs to the token before it."""
        left = 0
        for n, (node, opens, is_empty) in enumerate(here):
            if opens and not is_empty:
                break
            if not opens or node.follows or node.closing is not None:
                left = n + 1
        for n, (node, opens, is_empty) in enumerate(here):
            if n == left:
                self.put(self.spell(blank), blank[-1:])
            if not opens:
                self.write_tag(node.closing or "")
                self.needs_blank |= is_empty
            elif node.closing is None:
                self.write_item(node, is_left=n < left)
            else:
                if is_empty and self.last.strip():
                    self.put(node.before, node.before)
                self.link(node, 1)
                self.write_tag(node.core)
        if left >= len(here):
            self.put(self.spell(blank), blank[-1:])

    def put(self, text: str, last: str) -> None:
        """Write a text, whose last character was `last` before it was spelled."""
        if text and self.needs_blank and (is_spaced(text[0]) or text[0] in JOINT):
            text = f" {text}"
        if text:
            self.write_tag(text)
            self.last, self.needs_blank = last, False

    def write_tag(self, tag: str) -> None:
        self.text.append(tag)
        self.length += len(tag)

    def write_item(self, node: Node, *, is_left: bool) -> None:
        last = self.last
        before = node.before.lstrip() if node.start == 0 and not last else ""
        if node.follows and last.strip():
            before = node.before
            if before.strip() == "" and is_unspaced(last):
                before = ""
            elif before == "" and node.loose and is_spaced(last):
                before = " "
        elif last.strip() and last not in OPENING and not is_unspaced(last):
            before = " "
        self.put(before, before[-1:])
        self.needs_blank = False
        self.link(node, 0)
        self.put(node.core, node.core[-1])
        after = "" if node.follows or is_left or not self.following else node.after
        after = "" if after.strip() == "" and is_unspaced(self.following) else after
        self.put(after, after[-1:])
        self.needs_blank = not after and (node.follows or node.loose or bool(node.after))

    def link(self, node: Node, rest: int) -> None:
        """Link the words of a node, except for as many at its end, which may be parts of other words."""
        starts = word_starts(node.core)
        self.node_places += [(node.place + start, self.length + start) for start in starts[: len(starts) - rest]]
