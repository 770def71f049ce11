"""Markdown (CommonMark, with tables and strikethrough): paragraphs, headings, list items and cells are units.

Blocks, and the places of inline marks, come from markdown-it-py. Emphasis, links, code, images and line breaks are
numbered tags of a unit; titles of links are translated with it. Code blocks, front matter, definitions of links and
texts of images stay.

An answer is written as it is, if it means the same then; else its special characters are escaped; else its emphasis is
written as tags of HTML, since "**" can't stand everywhere.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from nmt.documents import html
from nmt.documents.base import Document, Options, Slot, TextDocument, Unit, decode, has_words
from nmt.documents.inline import Piece, answer_pieces, unit_text
from nmt.documents.markdown_parser import TITLED, Place, make_parser, places_of
from nmt.documents.txt import one_line

FRONT_MATTER = re.compile(
    r"(---|\+\+\+)[ \t]*(?:\r\n?|\n)(?>(?:(?!\1|\.\.\.)[^\r\n]*+(?:\r\n?|\n))*)(?:\1|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)"
)
NEWLINE = re.compile(r"\r\n?|\n")
# What stays before a paragraph: the box of a task, the name of a footnote, of a box (:::), of a notice ([!NOTE]).
PREFIX = re.compile(r"\[[ xX]\][ \t]+|\[\^[^\]\s]{1,99}\]:[ \t]*|:::+[^\n]*\n?|\[![A-Z]{1,20}\][ \t]*\n?")
SPECIAL = re.compile(r"[\\`*_\[\]<>~&!#|]|\A(?:[-+=:]|\d+(?=[.)]))")
HTML_TAGS = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del"}


@dataclass(frozen=True)
class Block:
    """The text of a paragraph, a heading or a cell."""

    content: str
    places: Sequence[int]
    """Where each of its characters is in the file; at the end, where it ends."""
    line: int
    kind: str


def read(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding)
    matter = FRONT_MATTER.match(source.text)
    start = matter.end() if matter else 0
    n_lines = len(NEWLINE.findall(source.text[:start]))
    body = Body(source.text[start:])
    slots = [replace(slot, start=slot.start + start, end=slot.end + start) for slot in body.slots(n_lines)]
    return TextDocument(source, slots)


class Body:
    """A text in Markdown, parsed."""

    def __init__(self, text: str) -> None:
        self.text, self.env = text, dict[str, Any]()
        self.parser = make_parser()
        self.tokens = self.parser.parse(text, self.env)
        ends = [match.span() for match in NEWLINE.finditer(text)]
        self.lines = [*zip([0, *(end for _, end in ends)], [*(start for start, _ in ends), len(text)], strict=True)]

    def slots(self, n_lines: int) -> Iterator[Slot]:
        """The slots, in order. `n_lines`: of the file before the text."""
        kind, cursor, row, is_underlined = "", 0, -1, False
        for token in self.tokens:
            if token.type == "html_block":
                yield from self.html_slots(token, n_lines)
            elif token.type != "inline":
                kind = token.type.removesuffix("_open") if token.type.endswith("_open") else kind
                is_underlined = token.markup in ("=", "-")
            elif kind in ("th", "td"):
                cursor = self.lines[token.map[0]][0] if token.map[0] != row else cursor
                row = token.map[0]
                places, cursor = self.cell_places(token.content, cursor, self.lines[row][1])
                yield from self.block_slots(Block(token.content, places, n_lines + row + 1, "cell"), token)
            else:
                places = self.line_places(token.content, token.map[0])
                kind = "heading" if kind == "heading" and not is_underlined else "paragraph"
                yield from self.block_slots(Block(token.content, places, n_lines + token.map[0] + 1, kind), token)

    def html_slots(self, token: Any, n_lines: int) -> Iterator[Slot]:
        start, end = self.lines[token.map[0]][0], self.lines[token.map[1] - 1][1]
        raw = self.text[start:end]
        if NEWLINE.sub("\n", raw).strip() == token.content.strip():  # not in a quotation
            yield from html.slots(raw, start, n_lines + token.map[0] + 1)

    def line_places(self, content: str, first: int) -> list[int]:
        """Where the characters of a block are in the file; none if this can't be said."""
        places = list[int]()
        for n, line in enumerate(content.split("\n")):
            start, end = self.lines[first + n]
            text = line.strip(" \t")
            found = self.text.rfind(text, start, end)
            if found < 0 or self.text[found + len(text) : end].strip(" \t#"):
                return []
            base = found - (len(line) - len(line.lstrip(" \t")))
            places += range(base, base + len(line) + 1)
        return places

    def cell_places(self, content: str, cursor: int, end: int) -> tuple[list[int], int]:
        """Where the characters of a cell are, and the end of the cell."""
        raw = content.replace("|", "\\|")
        found = self.text.find(raw, cursor, end)
        if found < 0:
            return [], cursor
        after = self.text.find("|", found + len(raw), end)
        places, place = list[int](), found
        for character in content:
            places.append(place)
            place += 2 if character == "|" else 1
        return [*places, place], after + 1 if after >= 0 else end

    def block_slots(self, block: Block, token: Any) -> Iterator[Slot]:
        """The slot of a block that has words."""
        if not block.places:
            return
        prefix = PREFIX.match(block.content)
        start = prefix.end() if prefix else 0
        found = places_of(token.children, block.content, start)
        pieces = [self.piece(block, place) for place in found]
        if not found or not has_words(" ".join(piece.raw for piece in pieces if piece.kind == "text")):
            return
        is_plain = all(piece.kind == "text" for piece in pieces)
        text = "".join(piece.raw for piece in pieces) if is_plain else unit_text(pieces)
        unit = Unit(text, markup=not is_plain, place=f"line {block.line}")
        begin, end = block.places[start], block.places[found[-1].end]
        yield Slot(begin, end, unit, partial(self.write, block.kind, pieces, unit))

    def piece(self, block: Block, place: Place) -> Piece:
        if place.kind == "break":
            return Piece("break", self.text[block.places[place.start] : block.places[place.end]])
        return Piece(place.kind, place.text, place.title)

    def write(self, kind: str, pieces: Sequence[Piece], unit: Unit, answer: str) -> str:
        """An answer in Markdown; ValueError if it can't be written so."""
        answer = one_line(answer).strip().replace("\0", "\ufffd")
        new = [Piece("text", answer)]
        if unit.markup:
            new = [*map(titled, answer_pieces(html.same_tags(unit.text, answer), pieces))]
        for is_escaped, has_html in ((False, False), (True, False), (True, True)):
            parts = [part(piece, n, is_escaped=is_escaped, has_html=has_html) for n, piece in enumerate(new)]
            content = "".join("\\\n" if piece.kind == "break" else raw for piece, raw in zip(new, parts, strict=True))
            if self.means(content, new, kind, has_html=has_html):
                written = "".join(parts)
                return written.replace("|", "\\|") if kind == "cell" else written
        raise ValueError("the translation can't be written in Markdown")

    def means(self, content: str, pieces: Sequence[Piece], kind: str, *, has_html: bool) -> bool:
        """Whether a text in Markdown is a single paragraph, or a heading, with these pieces."""
        tokens = self.parser.parse(f"# {content}" if kind == "heading" else content, dict(self.env))
        if [token.type for token in tokens[1:2]] != ["inline"] or len(tokens) != 3 or PREFIX.match(content):
            return False
        found = places_of(tokens[1].children, tokens[1].content)
        return outline(found, has_html) == outline(pieces, has_html)


def outline(pieces: Sequence[Piece] | Sequence[Place], has_html: bool) -> list[tuple[str, str]]:
    """What must be the same when a text is read again; with HTML, only the texts, breaks and code."""
    outlined = list[tuple[str, str]]()
    for piece in pieces:
        text = piece.raw if isinstance(piece, Piece) else piece.text
        text = {"break": "", "text": re.sub("[ \t\n]+", " ", text)}.get(piece.kind, text)
        if piece.kind == "text" and outlined and outlined[-1][0] == "text":
            outlined[-1] = "text", outlined[-1][1] + text
        elif not has_html or piece.kind not in ("open", "close", "html"):
            outlined.append((piece.kind, text))
    return outlined


def part(piece: Piece, n: int, *, is_escaped: bool, has_html: bool) -> str:
    """A piece as it is written."""
    if piece.kind == "text" and is_escaped:
        return SPECIAL.sub(lambda match: escape(match[0], n), piece.raw)
    if has_html and piece.kind in ("open", "close") and piece.raw in HTML_TAGS:
        return f"<{'/' * (piece.kind == 'close')}{HTML_TAGS[piece.raw]}>"
    return piece.raw


def titled(piece: Piece) -> Piece:
    """The closing mark of a link with its new title."""
    match = TITLED.fullmatch(piece.raw) if piece.title else None
    if not match:
        return piece
    quotes = piece.raw[match.end(1)], piece.raw[match.start(5) - 1]
    title = re.sub(rf"[\\&{''.join(map(re.escape, quotes))}]", r"\\\g<0>", piece.title)
    return Piece(piece.kind, f"{match[1]}{quotes[0]}{title}{quotes[1]}{match[5]}")


def escape(special: str, n: int) -> str:
    if special.isdigit():
        return f"{special}\\" if n == 0 else special
    return f"\\{special}"
