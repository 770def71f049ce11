"""Paragraphs of XML: their pieces (words, marks, tags) flow in; a unit flows out, and its answer goes back.

Formatting and codes become numbered tags of the unit: <1>…</1> around words, <2/> for what stands between them, and
<br/> for what separates texts. Neighbouring words of one style are one text, however the file splits them; the style of
most words needs no tag. Whatever tags an answer has, each code of the file comes back once, and tags nest.
"""

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape as escape_html
from html import unescape
from itertools import accumulate, islice
from typing import Literal

from nmt.documents.base import Answer, Unit, require_text
from nmt.documents.xml_splice import Element, Text, Xml, escape

TAG = re.compile(r"<(?P<end>/?)(?P<number>[0-9]{1,7})(?P<empty>/?)>|<br\s*/?>")
BLANKS = " \t\r\n"
# Of inline codes: elements around words, and those that hold the beginning or the end of a code.
AROUND = frozenset("g mrk pc hi".split())  # noqa: SIM905
BEGINS, ENDS = frozenset("bpt bx sc sm".split()), frozenset("ept ex ec em".split())  # noqa: SIM905
PARTNER = ("rid", "startRef", "i", "id")  # attributes that name the pair, the most reliable first
DEEPEST = 40  # pairs of marks, and fields, in each other; deeper ones stay marks

Spans = tuple[tuple[int, int], ...]
"""Parts of the file's bytes, one after the other."""


@dataclass(frozen=True)
class Style:
    """How words are written: between these bytes. Words of the same `key` look the same."""

    key: bytes = b""
    before: bytes = b""
    after: bytes = b""


PLAIN = Style()


@dataclass(frozen=True)
class Piece:
    """A part of a paragraph."""

    kind: Literal["words", "mark", "break", "opens", "closes"]
    spans: Spans
    """Its bytes."""
    text: str = ""
    style: Style = PLAIN
    """Of words, also of those in a pair of tags that have no other one."""
    ordered: bool = False
    """Whether the mark keeps its order among such marks: the beginning and the end of a bookmark, for example."""
    field: str = ""
    """What begins, separates or ends a field; its instruction is the text."""


class Paragraph:
    """A part of an XML file that is translated as a whole. `unit` is None if it has no words."""

    def __init__(
        self,
        xml: Xml,
        pieces: Sequence[Piece],
        place: str = "",
        write: Callable[[str], str] = escape,
        within: Element | None = None,
    ) -> None:
        """`write`: words as they are written in the file. `within`: the element whose contents the pieces are, if some
        tags in it are in no piece, and so are dropped with their partners."""
        self.xml, self.spell = xml, write
        self.start, self.end = (pieces[0].spans[0][0], pieces[-1].spans[-1][1]) if pieces else (0, 0)
        if within:
            self.start, self.end = within.inner, within.inner_end
        self.is_message = False  # of ICU: its forms may repeat tags, or lack them
        self.before, inner, self.after = trimmed(collapsed(list(pieces)))
        self.codes = dict[int, list[Piece]]()  # what a number stands for: a mark, or a pair of tags
        self.breaks = list[Piece]()
        self.styles = main_styles(inner)
        self.base, self.unit = self.styles[-1], None
        if inner:
            text = "".join(self.tagged(inner)) if len(inner) > 1 else inner[0].text
            self.unit = Unit(text.strip(BLANKS), len(inner) > 1, place)
            self.lead, _, self.tail = text.partition(self.unit.text)

    def tagged(self, pieces: Sequence[Piece]) -> Iterator[str]:
        """The unit's text; makes the codes."""
        opened, bases = list[int](), [self.base]
        for n, piece in enumerate(pieces):
            if piece.kind == "break":
                self.breaks.append(piece)
                yield "<br/>"
            elif piece.kind == "closes":
                bases.pop()
                self.codes[opened[-1]].append(piece)
                yield f"</{opened.pop()}>"
            elif piece.kind == "words" and (piece.style.key == bases[-1].key or is_punctuation(piece)):
                yield escape_html(piece.text, quote=False)
            else:
                number = len(self.codes) + 1
                self.codes[number] = [piece]
                if piece.kind == "mark":
                    yield f"<{number}/>"
                elif piece.kind == "words":
                    self.codes[number] = [Piece("opens", (), style=piece.style), Piece("closes", ())]
                    words = piece.text.strip(BLANKS)
                    lead, _, tail = piece.text.partition(words)
                    yield f"{lead}<{number}>{escape_html(words, quote=False)}</{number}>{tail}"
                else:
                    style = self.styles[n]
                    self.codes[number] = [replace(piece, style=style)]
                    opened.append(number)
                    bases.append(style)
                    yield f"<{number}>"

    def render(self, text: str) -> bytes:
        """The bytes of the paragraph with this text of an answer; ValueError if it has no text."""
        assert self.unit
        require_text(self.unit, text)
        text = f"{self.lead}{text}{self.tail}"
        pieces = self.repaired(text) if self.unit.markup else [Piece("words", (), text)]
        before, after = (map(self.copied, pieces) for pieces in (self.before, self.after))
        return b"".join([*before, *self.written(pieces), *after])

    def put(self, answer: Answer) -> None:
        """Write an answer into the file."""
        assert self.unit
        if answer.text != self.unit.text:
            self.xml.replace(self.start, self.end, self.render(answer.text))

    def written(self, pieces: Sequence[Piece]) -> Iterator[bytes]:
        styles, texts = [self.base], list[str]()
        ordered = iter([code[0].spans for code in self.codes.values() if code[0].ordered])
        for piece in (*pieces, Piece("mark", ())):  # which ends the last words
            if piece.kind == "words" or (piece.kind == "break" and piece.text):
                texts.append(piece.text)
                continue
            if text := "".join(texts):
                yield self.copied(Piece("words", (), text, styles[-1]))
                texts.clear()
            if piece.kind == "closes":
                styles.pop()
            yield self.raw(next(ordered) if piece.ordered else piece.spans)
            if piece.kind == "opens":
                styles.append(piece.style)

    def copied(self, piece: Piece) -> bytes:
        """The bytes of a piece; of words or a line break that are a part of a text, written anew."""
        if piece.kind in ("words", "break") and piece.text:
            return piece.style.before + self.xml.encode(self.spell(piece.text)) + piece.style.after
        return self.raw(piece.spans)

    def raw(self, spans: Spans) -> bytes:
        return b"".join(self.xml.raw(start, end) for start, end in spans)

    def repaired(self, text: str) -> list[Piece]:
        """The pieces of an answer: each code once, nested, and lost ones at the end; but for messages of ICU."""
        found, opened, seen, breaks, position = list[Piece](), dict[int, None](), set[int](), iter(self.breaks), 0
        for match in TAG.finditer(text):
            found.append(Piece("words", (), unescape(text[position : match.start()])))
            position = match.end()
            number = int(match["number"] or 0)
            code = self.codes.get(number, [])
            if not match["number"]:
                found += islice(breaks, 1)
            elif match["end"]:
                while number in opened:
                    found.append(self.codes[opened.popitem()[0]][1])
            elif code and number not in (opened if self.is_message else seen):
                seen.add(number)
                found += code if match["empty"] else code[:1]
                opened |= {number: None} if code[1:] and not match["empty"] else {}
        found.append(Piece("words", (), unescape(text[position:])))
        found += (self.codes[number][1] for number in reversed(opened))
        for number, code in self.codes.items():
            if number not in seen and code[0].spans and not self.is_message:
                found += code
        return found


def lines(text: str, spans: Spans, style: Style = PLAIN) -> Iterator[Piece]:
    """The pieces of a text whose line breaks count."""
    for n, line in enumerate(text.split("\n")):
        if n:
            yield Piece("break", spans, "\n", style)
        if line:
            yield Piece("words", spans, line, style)


def ruby(base: Sequence[Piece], spans: Spans) -> Piece:
    """Words with their reading beside them, which is dropped where they are written anew; a mark if the base has more
    than words."""
    if any(piece.kind != "words" for piece in base) or not base:
        return Piece("mark", spans)
    return replace(base[0], spans=spans, text="".join(piece.text for piece in base))


def nests(pieces: Sequence[Piece]) -> bool:
    """Whether each tag has its partner among the pieces."""
    depths = [*accumulate((piece.kind == "opens") - (piece.kind == "closes") for piece in pieces)]
    return min(depths) >= 0 and not depths[-1]


def partners(pieces: Sequence[Piece]) -> dict[int, int]:
    """Where the closing tag of each opening tag is."""
    found, opened = dict[int, int](), list[int]()
    for n, piece in enumerate(pieces):
        if piece.kind == "opens":
            opened.append(n)
        elif piece.kind == "closes":
            found[opened.pop()] = n
    return found


def main_styles(pieces: Sequence[Piece]) -> dict[int, Style]:
    """The style of the words in each pair of tags, by the place of its opening tag, and of all at -1.

    It is the one that needs fewest tags for the others, then the plainest one: of the words that are in no inner pair,
    or of all words if there are none.
    """
    found, styles = dict[int, Style](), dict[bytes, Style]()
    # Of each pair around: where it opens; how often each style has words in it, and in its inner pairs.
    open_pairs = [(-1, Counter[bytes](), Counter[bytes]())]
    for n, piece in enumerate(pieces):
        if piece.kind == "words":
            open_pairs[-1][1][piece.style.key] += not is_punctuation(piece)
            styles.setdefault(piece.style.key, piece.style)
        elif piece.kind == "opens":
            open_pairs.append((n, Counter(), Counter()))
        elif piece.kind == "closes":
            place, outer, inner = open_pairs.pop()
            found[place] = most(outer or inner, styles)
            for key, number in (*outer.items(), *inner.items()):
                open_pairs[-1][2][key] += number
    _, outer, inner = open_pairs[0]
    return found | {-1: most(outer or inner, styles)}


def most(numbers: Counter[bytes], styles: Mapping[bytes, Style]) -> Style:
    return styles[max(numbers, key=lambda key: (numbers[key], -len(key)))] if numbers else PLAIN


def spans_of(pieces: Iterable[Piece]) -> Spans:
    """The bytes of pieces; words that were split at line breaks have the same bytes. Neighbours become one."""
    found = list[tuple[int, int]]()
    for start, end in (span for spans in dict.fromkeys(piece.spans for piece in pieces) for span in spans):
        if found and found[-1][1] == start:
            start, _ = found.pop()
        found.append((start, end))
    return tuple(found)


def collapsed(pieces: list[Piece]) -> list[Piece]:
    """The pieces with neighbouring words of one style together; a pair of tags without words is one mark,
    and a blank in it comes after it."""
    found, opened = list[Piece](), list[int]()
    for piece in grouped(pieces):
        if piece.kind == "opens":
            opened.append(len(found))
        elif piece.kind == "closes":
            n = opened.pop()
            words = [piece for piece in found[n:] if piece.kind == "words"]
            text = "".join(piece.text for piece in words)
            if not any(map(str.isalnum, text)):
                blanks = [replace(words[0], spans=(), text=text)] if text.isspace() else []
                kept = [piece for piece in found[n:] if piece.kind != "words" or not blanks]
                found[n:] = [Piece("mark", spans_of([*kept, piece])), *blanks]
                continue
        found.append(piece)
    return [*grouped(found)]


def grouped(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces with neighbouring words of one style together."""
    group = list[Piece]()
    style: Style | None = None  # of the first words in the group that aren't blank
    for piece in (*pieces, None):
        words = piece if piece and piece.kind == "words" else None
        of_words = words.style if words and not is_blank(words) else None
        if group and (not words or (style and of_words and style.key != of_words.key)):
            text, spans = "".join(piece.text for piece in group), tuple(span for piece in group for span in piece.spans)
            yield replace(group[0], spans=spans, text=text, style=style or group[-1].style)
            group, style = [], None
        if words:
            group.append(words)
            style = style or of_words
        elif piece:
            yield piece


def is_blank(piece: Piece) -> bool:
    """Whether words are only blanks, which take the style of the words before them, else after them: it spares tags."""
    return not piece.text.strip(BLANKS)


def is_punctuation(piece: Piece) -> bool:
    """Whether the words are only punctuation, which takes the style around it: a translator must see it."""
    return not piece.text.strip(BLANKS + ".,;:!?")


def trimmed(pieces: list[Piece]) -> tuple[list[Piece], list[Piece], list[Piece]]:
    """The pieces before, in and after the part with words: it begins and ends with words, or inside a pair of tags."""
    if not any(any(map(str.isalpha, piece.text)) for piece in pieces if piece.kind == "words"):
        return pieces, [], []
    start, end, closing = 0, len(pieces), partners(pieces)
    while True:
        if is_outer(pieces[start]):
            start += 1
        elif is_outer(pieces[end - 1]):
            end -= 1
        elif closing.get(start) == end - 1:
            start, end = start + 1, end - 1
        else:
            return pieces[:start], pieces[start:end], pieces[end:]


def is_outer(piece: Piece) -> bool:
    return piece.kind in ("mark", "break") or (piece.kind == "words" and is_blank(piece))


def content(element: Element) -> list[Piece]:
    """The pieces of an element with inline codes, as in XLIFF and TMX: elements around words are pairs of tags, those
    that hold a code are marks. Two marks that belong together (<bpt> and <ept>, <sc> and <ec> …) are a pair of tags if
    what stands between them nests."""
    found, begun = list[Piece](), deque[int](maxlen=DEEPEST)  # where the codes stand that may get a partner
    for piece in pieces_of(element):
        found.append(piece)
        if piece.field == "begin":
            begun.append(len(found) - 1)
        elif piece.field == "end" and any(found[place].text == piece.text for place in begun):
            place = begun.pop()
            while found[place].text != piece.text:  # it would cross this pair, so it stays a mark
                place = begun.pop()
            if nests(found[place:]):
                found[place] = replace(found[place], kind="opens")
                found[-1] = replace(piece, kind="closes")
    return found


def pieces_of(element: Element) -> Iterator[Piece]:
    for child in element.children:
        span = ((child.start, child.end),)
        if isinstance(child, Text):
            yield Piece("words", span, child.value)
        elif isinstance(child, Element):
            kind, values = child.name.rpartition(":")[2], child.attributes
            is_kept = values.get("translate") == "no" or values.get("mtype") == "protected"
            if kind in AROUND and child.children and not is_kept:
                yield Piece("opens", ((child.start, child.inner),))
                yield from pieces_of(child)
                yield Piece("closes", ((child.inner_end, child.end),))
            else:
                partner = next((values[name] for name in PARTNER if name in values), "")
                yield Piece("mark", span, partner, field="begin" if kind in BEGINS else "end" if kind in ENDS else "")
