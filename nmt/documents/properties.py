"""Keys and values: .properties (Java programs, Mozilla) and .strings (iOS and macOS, `"key" = "value";`).

Values are units; keys, comments and all layout stay. In values of .properties with arguments ({0}), an apostrophe is
two, as Java's MessageFormat reads them. Source: the documentation of java.util.Properties.load.
"""

import json
import re
from functools import partial

from nmt.documents.base import Document, Options, Slot, decode, has_words, paired, text_document, text_unit
from nmt.documents.plurals import has_text, with_forms
from nmt.text.po import ESCAPES

BREAK = r"(?:\r\n?|\n)"
BLANKS = rf"(?:[ \t\f]|\\{BREAK})*+"
LINE = re.compile(
    rf"[ \t\f]*+(?:[#!][^\r\n]*+|(?P<key>(?:[^\\ \t\f\r\n:=]|\\(?:\r\n|.))++){BLANKS}(?:[:=]{BLANKS})?"
    rf"(?P<value>(?:[^\\\r\n]|\\(?:\r\n|.)|\\\Z)*+)|[:=][^\r\n]*+)?(?:{BREAK}|\Z)",
    re.DOTALL,
)
PROPERTY_ESCAPE = re.compile(rf"\\(u[0-9a-fA-F]{{4}}|{BREAK}[ \t\f]*+|.)", re.DOTALL)
PROPERTY_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f"})
ARGUMENT, QUOTED = re.compile(r"\{\d"), re.compile(r"(?<!')(?:'')*+'[{}]")
APOSTROPHE, UNQUOTING = re.compile("'"), re.compile(r"(?<![{}])'(?![{}])")
# Of .strings.
SPACE = re.compile(r"(?>(?:\s++|/\*(?>(?:[^*]|\*(?!/))*)\*/|//[^\r\n]*+)*)")
STRING = r'"((?>(?:[^"\\]|\\.)*))"'
PAIR = re.compile(rf"(?:{STRING}|[\w.-]++)\s*+(?:=\s*+(?:{STRING}|[\w.-]++)\s*+)?;", re.DOTALL)
ESCAPE = re.compile(r"\\([0-7]{3}|[uU][0-9a-fA-F]{4}|.)", re.DOTALL)
STRINGS_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r"})


def read_properties(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding, options.source)
    slots, encoding = list[Slot](), "ascii" if source.text.isascii() else source.encoding
    matches = [*LINE.finditer(source.text)]
    options.require_keys(match["key"] for match in matches if match["value"])
    for match in matches:
        text = PROPERTY_ESCAPE.sub(lambda code: "" if code[1][0] in "\r\n" else meaning(code), match["value"] or "")
        text = paired(text).replace("''", "'") if ARGUMENT.search(text) else paired(text)
        if match["key"] and has_text(text) and options.wants(match["key"]):
            unit = text_unit(text, source.place(match.start()))
            slots.append(Slot(*match.span("value"), unit, partial(written, match["value"], encoding)))
    return with_forms(text_document(source, slots), options)


def written(value: str, encoding: str, text: str) -> str:
    """A text as it is written in place of a value; characters that the encoding lacks as escapes."""
    if ARGUMENT.search(value):  # apostrophes that quote braces, as in '{'0'}', are one
        text = (UNQUOTING if QUOTED.search(value) else APOSTROPHE).sub("''", text)
    text = text.translate(PROPERTY_ESCAPES)
    text = f"\\{text}" if text[:1] in (" ", "=", ":") else text
    lacking = (character for character in {*text} if not character.encode(encoding, "ignore"))
    return text.translate({ord(character): json.dumps(character)[1:-1] for character in lacking})


def read_strings(data: bytes, options: Options) -> Document:
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
        text = paired(ESCAPE.sub(meaning, match[2] or ""))
        if has_words(text):
            slots.append(Slot(*match.span(2), text_unit(text, place), lambda new: new.translate(STRINGS_ESCAPES)))


def meaning(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) == 1:
        return ESCAPES.get(code, code)
    return chr(int(code, 8)) if code[0] in "01234567" else chr(int(code[1:], 16))
