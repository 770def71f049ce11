"""Markdown (CommonMark, with tables and strikethrough): paragraphs, headings, list items and cells are units.

Blocks, and the places of inline marks, come from markdown-it-py. Emphasis, links, code, images and line breaks are
numbered tags of a unit; titles of links and texts of images are translated with it. Code blocks, front matter
without its titles, and definitions of links stay.

An answer is written as it is, if it means the same then; else its special characters are escaped; else its emphasis is
written as tags of HTML, since "**" can't stand everywhere.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from html import escape, unescape
from itertools import accumulate
from typing import Any

from nmt.documents import html, yaml
from nmt.documents.base import Document, Options, Slot, Unit, decode, has_words, text_document, text_unit
from nmt.documents.markdown_parser import DEFINES, Piece, joined, make_parser, pieces_of, title_span
from nmt.fields import require
from nmt.text.markup import read_tags
from nmt.text.normalise import one_line

FRONT_MATTER = re.compile(
    r"(---|\+\+\+)[ \t]*(?:\r\n?|\n)(?>(?:(?!\1|\.\.\.)[^\r\n]*+(?:\r\n?|\n))*)(?P<end>\1|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)"
)
# Keys of front matter whose texts pages show.
SHOWN = ("title", "subtitle", "description", "summary", "excerpt", "linkTitle", "sidebar_label")
# In TOML, which Hugo writes: a string with escapes, or one between ' without any.
TOML_TEXT = re.compile(rf"^(?:{'|'.join(SHOWN)})[ \t]*=[ \t]*(\"(?:[^\"\\\r\n]|\\.)*+\"|'[^'\r\n]*+')", re.MULTILINE)
NEWLINE = re.compile(r"\r\n?|\n")
# What stays before a paragraph: blanks, the box of a task, the name of a footnote …
PREFIX = re.compile(rf"(?:&(?:nbsp|e[nm]sp);[ \t]*)+|\[[ xX]\][ \t]+|(?:{DEFINES.pattern})[ \t]*")
# A paragraph of lines with which MDX takes components from other files; it isn't translated.
IMPORTS = re.compile(r"""(?:import[ \t](?:[^\n]*[ \t]from[ \t]+)?(["'])[^\n"']+\1;?[ \t]*(?:\n|\Z))+""")
SPECIAL = re.compile(r"[\\`*_\[\]<>~&!#|$]|\A[-+=:?]")
NUMBER = re.compile(r"\A(\d+)(?=[.)])")  # with which a list would begin
TITLE = re.compile(r' title="([^"]*)"')
PREFORMATTED = re.compile(r"\s*<(?:pre|textarea)\b", re.IGNORECASE)
BREAK = re.compile(r'<br id="(\d+)')
HTML_TAGS = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del"}


def read(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding, options.source)
    matter = FRONT_MATTER.match(source.text)
    slots = front_slots(source.text[: matter.start("end")]) if matter else []
    return text_document(source, [*slots, *Body(source.text, matter.end() if matter else 0).slots()])


def front_slots(matter: str) -> Iterator[Slot]:
    """The titles and descriptions in front matter of YAML or TOML; none in another one."""
    if not matter.startswith("+++"):
        with suppress(ValueError):
            yield from yaml.slots_of(matter, yaml.parse(matter), Options(columns=SHOWN))
        return
    for match in TOML_TEXT.finditer(matter):
        written = match[1]
        with suppress(ValueError):  # an escape that JSON lacks
            text = json.loads(written) if written[0] == '"' else written[1:-1]
            if has_words(text):
                place = f"line {len(NEWLINE.findall(matter, 0, match.start())) + 1}"
                yield Slot(*match.span(1), text_unit(text, place), partial(toml_string, written[0]))


def toml_string(quote: str, text: str) -> str:
    text = one_line(text)
    return f"'{text}'" if quote == "'" and "'" not in text else json.dumps(text, ensure_ascii=False)


class Body:
    """A text in Markdown, parsed from the character `start`."""

    def __init__(self, text: str, start: int) -> None:
        self.text, self.env = text, dict[str, Any]()
        self.parser = make_parser()
        self.tokens = self.parser.parse(text[start:], self.env)
        self.n_lines = len(NEWLINE.findall(text[:start]))  # before the body
        ends = [match.span() for match in NEWLINE.finditer(text, start)]
        self.lines = [*zip([start, *(end for _, end in ends)], [*(begin for begin, _ in ends), len(text)], strict=True)]

    def slots(self) -> Iterator[Slot]:
        """The slots, in order."""
        kind, cursor, row, is_underlined = "", 0, -1, False
        for token in self.tokens:
            if token.type == "html_block":
                yield from self.html_slots(token)
            elif token.type != "inline":
                kind = token.type.removesuffix("_open") if token.type.endswith("_open") else kind
                is_underlined = token.markup in ("=", "-")
            elif "after" in token.meta:
                last = self.lines[token.map[0]][1] - token.meta["after"]
                title = range(last - len(token.content), last + 1)
                yield from self.block_slots(token, title, f"title{self.text[last : last + 1]}")
            elif kind in ("th", "td"):
                cursor = self.lines[token.map[0]][0] if token.map[0] != row else cursor
                row = token.map[0]
                places, cursor = self.cell_places(token.content, cursor, self.lines[row][1])
                yield from self.block_slots(token, places, "cell")
            else:
                kind = "paragraph" if kind != "heading" else "underlined" if is_underlined else kind
                yield from self.block_slots(token, self.line_places(token.content, token.map[0]), kind)

    def html_slots(self, token: Any) -> Iterator[Slot]:
        start, end = self.lines[token.map[0]][0], self.lines[token.map[1] - 1][1]
        line, content = self.n_lines + token.map[0] + 1, token.content.rstrip("\n")
        if NEWLINE.sub("\n", self.text[start:end]).strip() == content.strip():
            yield from html.slots(self.text[start:end], start, line)
        elif (places := self.line_places(content, token.map[0])) and not PREFORMATTED.match(content):
            # In a list item or a quotation, whose own marks stand before each line of the block.
            for slot in html.slots(content, 0, line):
                yield replace(slot, start=places[slot.start], end=places[slot.end], write=partial(one_row, slot))

    def line_places(self, content: str, first: int) -> list[int]:
        """Where the characters of a block are in the file; none if this can't be said."""
        places = list[int]()
        for n, line in enumerate(content.split("\n")):
            start, end = self.lines[first + n]
            text = line.strip(" \t")
            found = self.text.rfind(text, start, end)
            if found < 0 or self.text[found + len(text) : end].strip().strip("#").strip():
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
        places = accumulate((2 if character == "|" else 1 for character in content), initial=found)
        return [*places], after + 1 if after >= 0 else end

    def block_slots(self, token: Any, places: Sequence[int], kind: str) -> Iterator[Slot]:
        """The slot of a paragraph, a heading or a cell, if it has words. `places`: where each of its characters is in
        the file; at the end, where it ends."""
        if not places or IMPORTS.fullmatch(token.content):
            return
        prefix = PREFIX.match(token.content)
        start = prefix.end() if prefix else 0
        pieces = pieces_of(token.children, token.content, start)
        kinds = [piece.kind for piece in pieces]
        if kinds.count("opens") != kinds.count("closes"):  # *[Note]: in italics* is no abbreviation
            start, pieces = 0, pieces_of(token.children, token.content)
        if not has_words(" ".join(piece.text if piece.kind == "words" else piece.title for piece in pieces)):
            return
        begin, end = places[start], places[pieces[-1].end]
        for n, piece in enumerate(pieces):
            if piece.kind == "break":
                pieces[n] = replace(piece, text=self.text[places[piece.start] : places[piece.end]])
        is_plain = all(piece.kind == "words" for piece in pieces)
        text = "".join(piece.text for piece in pieces) if is_plain else unit_text(pieces)
        unit = Unit(text, markup=not is_plain, place=f"line {self.n_lines + token.map[0] + 1}")
        yield Slot(begin, end, unit, partial(self.write, kind, pieces, unit))

    def write(self, kind: str, pieces: Sequence[Piece], unit: Unit, answer: str) -> str:
        """An answer in Markdown; ValueError if it can't be written so."""
        answer = one_line(answer).strip()
        new = [Piece("words", answer)]
        if unit.markup:
            new = [*answer_pieces(html.same_tags(unit.text, answer), pieces)]
        for is_escaped, has_html in ((False, False), (True, False), (True, True)):
            parts = [part(piece, n, is_escaped=is_escaped, has_html=has_html) for n, piece in enumerate(new)]
            both = zip(new, parts, strict=True)
            content = "".join(raw.splitlines()[0] + "\n" if piece.kind == "break" else raw for piece, raw in both)
            if self.means(content, new, kind, has_html=has_html):
                written = "".join(parts)
                ends = kind in ('title"', "title]") and kind[-1] in written
                require(not ends, f"the title of a box has no place for {kind[-1]}")
                return written.replace("|", "\\|") if kind == "cell" else written
        raise ValueError("the translation can't be written in Markdown")

    def means(self, content: str, pieces: Sequence[Piece], kind: str, *, has_html: bool) -> bool:
        """Whether a text in Markdown is a single paragraph, or a heading, with these pieces."""
        whole = {"heading": f"# {content}", "underlined": f"{content}\n---"}.get(kind, content)  # or a table
        tokens = self.parser.parse(whole, dict(self.env))
        if [token.type for token in tokens[1:2]] != ["inline"] or len(tokens) != 3 or PREFIX.match(content):
            return False
        return outline(pieces_of(tokens[1].children, tokens[1].content), has_html) == outline(pieces, has_html)


def one_row(slot: Slot, answer: str) -> str:
    """An answer as its slot writes it, on one line."""
    return NEWLINE.sub(" ", slot.write(answer))


def numbers_of(pieces: Sequence[Piece]) -> Iterator[int]:
    """The number of each piece's tag; both tags of a pair have the same."""
    n, opened = 0, list[int]()
    for piece in pieces:
        n += piece.kind in ("opens", "mark", "break")
        if piece.kind == "opens":
            opened.append(n)
        yield opened.pop() if piece.kind == "closes" else n


def unit_text(pieces: Sequence[Piece]) -> str:
    """The pieces as mark-up. A break is <br>, which ends a segment; a link with a title, or an image, has it."""
    parts = list[str]()
    for piece, n in zip(pieces, numbers_of(pieces), strict=True):
        title = f' title="{escape(piece.title)}"' if piece.title else ""
        tags = {"opens": f"<{n}{title}>", "closes": f"</{n}>", "mark": f"<{n}{title}/>", "break": f'<br id="{n}">'}
        tags |= {"html": piece.text, "words": escape(piece.text, quote=False)}
        parts.append(tags[piece.kind])
    return "".join(parts)


def answer_pieces(answer: str, pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces of an answer that has the tags of its unit."""
    numbered = [*zip(pieces, numbers_of(pieces), strict=True)]
    marks = {(str(n), piece.kind == "closes"): piece for piece, n in numbered if piece.kind not in ("words", "html")}
    position, titles = 0, dict[str, str]()
    for tag in read_tags(answer):
        if tag.start > position:
            yield Piece("words", unescape(answer[position : tag.start]))
        position = tag.end
        raw = answer[tag.start : tag.end]
        found, title = BREAK.match(raw), TITLE.search(raw)
        name = found[1] if found else tag.name
        mark, new = marks.get((name, tag.closes), Piece("html", raw)), unescape(title[1]) if title else ""
        if mark.kind == "opens":
            titles[name] = new
        elif mark.kind == "mark" and mark.title:
            text = re.sub(r"[\\\[\]*_`&<>!~]", r"\\\g<0>", new)
            mark = replace(mark, text=f"![{text}{mark.text[2 + len(mark.title) :]}")
        elif mark.kind == "closes" and titles.get(name):
            mark = titled(mark, titles[name])
        yield mark
    if position < len(answer):
        yield Piece("words", unescape(answer[position:]))


def outline(pieces: Sequence[Piece], has_html: bool) -> list[tuple[str, str]]:
    """What must be the same when a text is read again; with HTML, only the words, breaks and code."""
    kept = [piece for piece in pieces if not has_html or piece.kind not in ("opens", "closes", "html")]
    return [(piece.kind, "" if piece.kind == "break" else piece.text) for piece in joined(kept)]


def part(piece: Piece, n: int, *, is_escaped: bool, has_html: bool) -> str:
    """A piece as it is written."""
    if piece.kind == "words" and is_escaped:
        text = SPECIAL.sub(r"\\\g<0>", piece.text)
        return NUMBER.sub(r"\1\\", text) if n == 0 else text
    if has_html and piece.kind in ("opens", "closes") and piece.text in HTML_TAGS:
        return f"<{'/' * (piece.kind == 'closes')}{HTML_TAGS[piece.text]}>"
    return piece.text


def titled(piece: Piece, title: str) -> Piece:
    """The closing mark of a link with a new title."""
    start, end = title_span(piece.text)
    if not start:
        return piece
    quotes = re.escape(piece.text[start - 1] + piece.text[end])
    title = re.sub(rf"[\\&{quotes}]", r"\\\g<0>", title)
    return replace(piece, text=piece.text[:start] + title + piece.text[end:])
