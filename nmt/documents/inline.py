"""Inline marks of a paragraph as numbered tags: pieces flow in, the text of a unit flows out; its answer flows in, and
its pieces flow out."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from nmt.text.markup import read_tags

Kind = Literal["text", "open", "close", "single", "break", "html"]
NUMBER = re.compile(r"\d+")
TITLED = re.compile(r'<a id="(\d+)" title="([^"]*)">')


@dataclass(frozen=True)
class Piece:
    kind: Kind
    raw: str
    """As it is written in the file; of a text, its characters."""
    title: str = ""
    """A title in the mark, which is translated too. The opening mark has that of the file, the closing mark that of the
    translation."""


def unit_text(pieces: Sequence[Piece]) -> str:
    """The mark-up of a unit: each pair of marks, or mark, has its number. A break is <br>, which ends a segment."""
    parts, opened, n = list[str](), list[str](), 0
    for piece in pieces:
        if piece.kind in ("open", "single", "break"):
            n += 1
        if piece.kind == "open":
            opened.append("a" if piece.title else str(n))
            parts.append(f'<a id="{n}" title="{html.escape(piece.title)}">' if piece.title else f"<{n}>")
        elif piece.kind == "close":
            parts.append(f"</{opened.pop()}>")
        else:
            tags = {"single": f"<{n}/>", "break": f'<br id="{n}">', "html": piece.raw}
            parts.append(tags.get(piece.kind) or html.escape(piece.raw, quote=False))
    return "".join(parts)


def answer_pieces(answer: str, pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces of an answer that has the tags of its unit."""
    marks, opened, n = dict[tuple[str, bool], Piece](), list[int](), 0
    for piece in pieces:
        if piece.kind in ("open", "single", "break"):
            n += 1
            marks[str(n), False] = piece
            opened += [n] if piece.kind == "open" else []
        elif piece.kind == "close":
            marks[str(opened.pop()), True] = piece
    position, links = 0, list[re.Match[str] | None]()
    for tag in read_tags(answer):
        if tag.start > position:
            yield Piece("text", html.unescape(answer[position : tag.start]))
        position = tag.end
        raw = answer[tag.start : tag.end]
        number = NUMBER.search(raw) if raw.startswith('<br id="') else None
        name, title = number[0] if number else tag.name, ""
        if tag.name == "a":
            link = (links.pop() if links else None) if tag.closes else TITLED.fullmatch(raw)
            links += [] if tag.closes else [link]
            name, title = (link[1], link[2]) if link else (name, "")
        mark = marks.get((name, tag.closes), Piece("html", raw))
        yield replace(mark, title=html.unescape(title)) if tag.closes else mark
    if position < len(answer):
        yield Piece("text", html.unescape(answer[position:]))
