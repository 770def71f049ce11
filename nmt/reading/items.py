"""Steps that take items out of a line (tags, placeholders of programs, addresses, quotes) and put them back.

Tags, and items that surely stand beside words, are lifted out (`nmt.text.restore`), and go where the word alignment
says. Other items become placeholders, for models that have learned to copy these (`nmt.text.marking`): the model
decides where they stand.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from nmt.reading.loop import Context, Reading, Taken
from nmt.reading.request import Translation
from nmt.text.items import find_items, prose
from nmt.text.marking import PLACEHOLDER, Marked, mark
from nmt.text.markup import parse
from nmt.text.restore import CLOSES, OPENS, Flat, Lifted, Restored, flatten, lift, restore
from nmt.text.tokens import Links, in_proportion, is_word, tokenize, word_starts

QUOTED = re.compile(
    r"(?<![^\s(\[])(?:[„“”][^„“”«»\"]{1,200}+[“”]|«[^„“”«»\"]{1,200}+»|\"[^„“”«»\"]{1,200}+\""
    r"|'[^„“”«»\"'‘’]{2,200}+'|[‘‚][^„“”«»\"'‘’]{2,200}+[’‘])(?!\w)"
)
QUOTES = "\"'„“”‚‘’«»‹›"


@dataclass(frozen=True)
class Out(Taken):
    """A line without its items, which the word alignment puts back."""

    outer: Reading
    lifted: Lifted
    context: Context
    flag: bool = False
    """Whether a pair that lost its words is flagged."""

    def put_back(self, chosen: Sequence[Translation]) -> Translation:
        translation, lifted, places, segment = chosen[0], self.lifted, self.outer.places, self.outer.segment
        if segment and translation.text == lifted.text:
            raw_places = [*lifted.places, len(lifted.line)]
            return translation.moved(lifted.line, lambda place: raw_places[place])
        tokens = tokenize(translation.text, user_items=self.outer.user_items)
        source = [(places[lifted.places[token[0]]], is_word(lifted.text, token)) for token in lifted.tokens]
        target = [(token[0], is_word(translation.text, token)) for token in tokens]
        links = self.context.links(translation, source, target) if lifted.nodes else []
        restored = self.restored(translation.text, links)
        if not restored.is_whole and segment:
            in_order = in_proportion(len(lifted.tokens), len(tokens))
            restored = replace(self.restored(translation.text, in_order), is_whole=False)
        linked = [(places[place], other) for place, other in restored.links]
        whole = translation.moved(restored.text, restored.place, linked)
        whole = whole.edited(segment.finishes(whole.text)) if segment else whole
        return whole if restored.is_whole or not self.flag else whole.flagged("items")

    def restored(self, text: str, links: Links) -> Restored:
        spell = self.outer.segment.spell if self.outer.segment else str
        return restore(text, self.lifted, links, self.outer.user_items, spell)

    def targets(self, text: str) -> Iterator[tuple[str, ...]]:
        if not self.outer.segment:
            yield (self.written(text),)
        elif len(segments := parse(text, self.outer.user_items)) == 1:
            yield (segments[0].lifted.text,)


def out(
    reading: Reading, lifted: Lifted, context: Context, written: Callable[[str], str] = str, *, flag: bool = False
) -> Out:
    inner = reading.remapped(lifted.text, lifted.places, aligned=bool(lifted.nodes))
    return Out((inner,), reading, lifted, context, flag, written=written)


def lifted_items(reading: Reading, context: Context, *, beside: bool = False) -> Out | None:
    """The line without its items, other than numbers; `beside`: only those that surely stand beside words."""
    user_items = reading.user_items
    flattened = partial(flatten, user_items=user_items, beside=beside)
    flat = flattened(reading.text)
    if not flat.has_marks:
        return None
    return out(reading, lift(flat, user_items), context, lambda text: lift(flattened(text), user_items).text)


def items_beside(reading: Reading, context: Context) -> Out | None:
    """The line without its tags and its items in brackets, if the model has learned placeholders for others: the word
    alignment knows better than such models where these stand."""
    if not context.tokenizer.has_placeholders or (reading.constraints and has_items(reading)):
        return None
    return lifted_items(reading, context, beside=True)


def tags(reading: Reading, context: Context) -> Out | None:
    """The segment of mark-up without its tags."""
    return out(reading, reading.segment.lifted, context, flag=True) if reading.segment else None


@dataclass(frozen=True)
class Placeheld(Taken):
    """A line with placeholders in the place of its items."""

    outer: Reading
    marked: Marked
    context: Context

    def back(self, lists: Sequence[list[Translation]]) -> list[Translation]:
        """The translations that have each placeholder once; samples are whole lists, or none."""
        found = [restored for translation in lists[0] if (restored := self.restored(translation))]
        return found if len(found) == len(lists[0]) or not self.context.search.samples else []

    def restored(self, translation: Translation) -> Translation | None:
        unmarked = self.marked.restore(translation.text)
        if unmarked is None:
            return None
        (text, places), links = unmarked, list[tuple[int, int]]()
        for key, item in self.marked.marks.items():
            source = self.outer.places[self.marked.places[self.marked.text.index(key)]]
            target = places[translation.text.index(key)]
            links += [(source + start, target + start) for start in word_starts(item.text)]
        return translation.moved(text, lambda place: places[place] if place < len(places) else len(text), links)

    def targets(self, text: str) -> Iterator[tuple[str, ...]]:
        found = mark(text, self.outer.user_items)
        free, names = dict(self.marked.marks), dict[str, str]()
        for placeholder, item in found.marks.items() if found else ():
            same = [key for key, other in free.items() if other.text == item.text]
            if free:
                names[placeholder] = same[0] if same else next(iter(free))
                del free[names[placeholder]]
        if found and not free and len(names) == len(found.marks):
            yield (PLACEHOLDER.sub(lambda match: names[match[0]], found.text),)


def items(reading: Reading, context: Context) -> Placeheld | None:
    """The line with placeholders for its items; None if the model knows none, or the constraints have items."""
    if not context.tokenizer.has_placeholders or (reading.constraints and has_items(reading)):
        return None
    marked = mark(reading.text, reading.user_items)
    if marked is None:
        return None
    marks = {key: replace(item, text=written(reading, marked, key)) for key, item in marked.marks.items()}
    inner = reading.remapped(marked.text, marked.places)
    return Placeheld((inner,), reading, replace(marked, marks=marks), context)


def has_items(reading: Reading) -> bool:
    """Whether the constraints of a line have items."""
    wanted = reading.constraints
    phrases = [wanted.prefix, *wanted.must_not, *(target for term in wanted.must for target in term.targets)]
    return any(item.kind != "number" for text in phrases if text for item in find_items(text, reading.user_items))


def written(reading: Reading, marked: Marked, placeholder: str) -> str:
    """An item as it is in the line: the model may read other quotes around it."""
    text = marked.marks[placeholder].text
    place = marked.places[marked.text.index(placeholder)]
    found = reading.written(place, min(place + len(text), len(reading.text)))
    return found if found.strip(QUOTES) == text.strip(QUOTES) else text


def quotes(reading: Reading, context: Context) -> Out | None:
    """The line without quotes inside it, if training had few."""
    line, words = reading.text, context.tokenizer.words
    if words is None or {*QUOTES}.isdisjoint(line):  # as nearly all lines
        return None
    # Quotes right around an item, and those in an item ({{ "x" }}), belong to it.
    found = [match for match in QUOTED.finditer(line) if any(map(str.isalpha, prose(match[0], reading.user_items)))]
    inside = {n for item in find_items(line, reading.user_items) for n in range(item.start, item.end)} if found else ()
    found = [match for match in found if match.start() not in inside]
    signs = {sign for match in found for sign in match[0][0] + context.tokenizer.readable(match[0][0])}
    if not found or not words.signs.isdisjoint(signs):
        return None
    shown, marked = list(line), list(line)
    for match in found:
        start, end = match.start(), match.end() - 1
        marked[start], marked[end] = OPENS, CLOSES
        usual = None if line[start] in "\"'‘‚" else context.quotes
        shown[start], shown[end] = usual or (line[start], line[end])
    signs = {shown[place] for match in found for place in (match.start(), match.end() - 1)}
    if any(sign in phrase for sign in signs for phrase in reading.constraints.must_not):
        return None
    lifted = lift(Flat("".join(shown), "".join(marked), [*range(len(line) + 1)]), reading.user_items)
    signs = {sign for node in lifted.nodes for sign in (node.core, node.closing or "")}
    return out(reading, lifted, context, lambda text: re.sub(f"[{re.escape(''.join(signs))}]", "", text), flag=True)
