"""Texts of Java programs and of Mozilla, .properties: values are units; keys, comments and all layout stay.

In values with arguments ({0}), an apostrophe is two, as Java's MessageFormat reads them. The encoding stays.
Source: the documentation of java.util.Properties.load.
"""

import re
from functools import partial

from nmt.documents.base import Document, Options, Slot, decode, paired, text_document, text_unit
from nmt.documents.plurals import has_text, with_forms
from nmt.documents.strings import meaning

BREAK = r"(?:\r\n?|\n)"
BLANKS = rf"(?:[ \t\f]|\\{BREAK})*+"
LINE = re.compile(
    rf"[ \t\f]*+(?:[#!][^\r\n]*+|(?P<key>(?:[^\\ \t\f\r\n:=]|\\(?:\r\n|.))++){BLANKS}(?:[:=]{BLANKS})?"
    rf"(?P<value>(?:[^\\\r\n]|\\(?:\r\n|.)|\\\Z)*+)|[:=][^\r\n]*+)?(?:{BREAK}|\Z)",
    re.DOTALL,
)
ESCAPE = re.compile(rf"\\(u[0-9a-fA-F]{{4}}|{BREAK}[ \t\f]*+|.)", re.DOTALL)
ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f"})
ARGUMENT = re.compile(r"\{\d")


def read(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding, options.source)
    slots, position, encoding = list[Slot](), 0, "ascii" if source.text.isascii() else source.encoding
    while position < len(source.text) and (match := LINE.match(source.text, position)):
        text, place = read_value(match["value"] or ""), source.place(position)
        position = match.end()
        if match["key"] and has_text(text) and (not options.columns or match["key"] in options.columns):
            slots.append(Slot(*match.span("value"), text_unit(text, place), partial(written, match["value"], encoding)))
    return with_forms(text_document(source, slots), options)


def read_value(value: str) -> str:
    text = paired(ESCAPE.sub(lambda escape: "" if escape[1][0] in "\r\n" else meaning(escape[1]), value))
    return text.replace("''", "'") if ARGUMENT.search(text) else text


def written(value: str, encoding: str, text: str) -> str:
    """A text as it is written in place of a value; characters that the encoding lacks as escapes."""
    text = (text.replace("'", "''") if ARGUMENT.search(value) else text).translate(ESCAPES)
    text = f"\\{text}" if text[:1] in (" ", "=", ":") else text
    return "".join(character if character.encode(encoding, "ignore") else escaped(character) for character in text)


def escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2))
