"""Texts of iOS and macOS programs, .strings: the values of `"key" = "value";` are units; keys and comments stay."""

import re

from nmt.documents.base import Document, Options, Slot, TextDocument, decode, has_words, text_unit

SPACE = re.compile(r"(?>(?:\s++|/\*(?>(?:[^*]|\*(?!/))*)\*/|//[^\r\n]*+)*)")
STRING = r'"((?>(?:[^"\\]|\\.)*))"'
PAIR = re.compile(rf"(?:{STRING}|[\w.-]++)\s*+(?:=\s*+(?:{STRING}|[\w.-]++)\s*+)?;", re.DOTALL)
ESCAPE = re.compile(r"\\([0-7]{3}|[uU][0-9a-fA-F]{4}|.)", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def read(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding)
    slots, line, position, counted = list[Slot](), 1, 0, 0
    while True:
        space = SPACE.match(source.text, position)
        assert space
        position = space.end()
        line += source.text.count("\n", counted, position)
        counted = position
        if position == len(source.text):
            return TextDocument(source, slots)
        match = PAIR.match(source.text, position)
        if not match:
            raise ValueError(f'line {line} is not "key" = "value"; (a comment or quote may have no end)')
        position = match.end()
        text = unescape(match[2] or "")
        if has_words(text):
            slots.append(Slot(*match.span(2), text_unit(text, f"line {line}"), escaped))


def unescape(text: str) -> str:
    return ESCAPE.sub(lambda match: meaning(match[1]), text)


def meaning(escape: str) -> str:
    if len(escape) == 1:
        return ESCAPES.get(escape, escape)
    return chr(int(escape, 8)) if escape[0] in "01234567" else chr(int(escape[1:], 16))


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
