"""Plain text: each line is a unit. Line breaks, and blanks around a line, stay."""

import re

from nmt.documents.base import Document, Options, Slot, Unit, decode, text_document

LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]+")
BREAKS = re.compile(r"[\n\r\x0b\x0c\x85\u2028\u2029]+")


def read(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding, options.source)
    slots = list[Slot]()
    for match in LINE.finditer(source.text):
        if line := match[0].strip():
            start = match.start() + match[0].index(line)
            slots.append(Slot(start, start + len(line), Unit(line, place=source.place(start)), one_line))
    return text_document(source, slots)


def one_line(text: str) -> str:
    """The text without line breaks."""
    return BREAKS.sub(" ", text)
