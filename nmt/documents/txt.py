"""Plain text: each line is a unit. Line breaks, and blanks around a line, stay."""

import re

from nmt.documents.base import Document, Options, Slot, TextDocument, Unit, decode

LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]+")
BREAKS = re.compile(r"[\n\r\x0b\x0c\x85\u2028\u2029]+")


def read(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding)
    slots, number, position = list[Slot](), 1, 0
    for match in LINE.finditer(source.text):
        if line := match[0].strip():
            number += source.text.count("\n", position, match.start())
            position = match.start()
            start = match.start() + match[0].index(line)
            slots.append(Slot(start, start + len(line), Unit(line, place=f"line {number}"), one_line))
    return TextDocument(source, slots)


def one_line(text: str) -> str:
    """The text without line breaks."""
    return BREAKS.sub(" ", text)
