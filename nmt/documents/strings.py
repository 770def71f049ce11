"""Texts of iOS and macOS programs, .strings: the values of `"key" = "value";` are units; keys and comments stay."""

import re

from nmt.documents.base import Document, Options, Slot, decode, has_words, paired, text_document, text_unit

SPACE = re.compile(r"(?>(?:\s++|/\*(?>(?:[^*]|\*(?!/))*)\*/|//[^\r\n]*+)*)")
STRING = r'"((?>(?:[^"\\]|\\.)*))"'
PAIR = re.compile(rf"(?:{STRING}|[\w.-]++)\s*+(?:=\s*+(?:{STRING}|[\w.-]++)\s*+)?;", re.DOTALL)
ESCAPE = re.compile(r"\\([0-7]{3}|[uU][0-9a-fA-F]{4}|.)", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def read(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding)
    slots, position = list[Slot](), 0
    while True:
        space = SPACE.match(source.text, position)
        assert space
        if space.end() == len(source.text):
            return text_document(source, slots)
        match, place = PAIR.match(source.text, space.end()), source.place(space.end())
        if not match:
            raise ValueError(f'{place} is not "key" = "value"; (a comment or quote may have no end)')
        position = match.end()
        text = paired(ESCAPE.sub(lambda escape: meaning(escape[1]), match[2] or ""))
        if has_words(text):
            slots.append(Slot(*match.span(2), text_unit(text, place), escaped))


def meaning(escape: str) -> str:
    if len(escape) == 1:
        return ESCAPES.get(escape, escape)
    return chr(int(escape, 8)) if escape[0] in "01234567" else chr(int(escape[1:], 16))


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
