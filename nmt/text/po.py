"""Catalogues of gettext (PO): their text flows in; its entries flow out, with the places of their parts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from nmt.fields import require

STRING = r'"((?:[^"\\\r\n]|\\[^\r\n])*+)"'
LINE = re.compile(
    r"[ \t]*+(?:(?P<comment>#[^\r\n]*+)|(?:(?P<name>msg[a-z_]++)(?:\[(?P<index>\d{1,2})\])?[ \t]*+)?"
    rf"(?P<string>{STRING}))?[ \t]*+(?:\r\n?|\n|\Z)"
)
# In the header; messages and comments may speak of encodings, too.
HEADER_LINE = rb'^[ \t]*+(?:msgstr[ \t]*+)?(?:"(?:[^"\r\n]*\\n)?)?Content-Type:[^"\n]{0,200}?charset=([\w.:-]{1,40})'
CHARSET = re.compile(HEADER_LINE, re.MULTILINE | re.IGNORECASE)
LANGUAGE = re.compile(r"^Language:[ \t]*([\w-]*).*$", re.MULTILINE)  # of a header; what follows an @ isn't read
ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass
class Entry:
    """A message. `spans` and `texts`: of its parts, by keyword ("msgid", "msgstr[0]" …)."""

    line: int
    start: int
    flags: tuple[int, int] | None = None
    """Where its line of flags is: of several, the one that says fuzzy."""
    is_fuzzy: bool = False
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    parts: dict[str, list[str]] = field(default_factory=dict)
    """Of the texts, by line."""

    @property
    def answers(self) -> list[str]:
        """The keywords of its translations, in order."""
        return [name for name in self.spans if name.startswith("msgstr")]


def charset(header: bytes) -> str:
    """The encoding that a catalogue names; empty if it names none, as templates do."""
    match = CHARSET.search(header)
    return match[1].decode("ascii") if match and match[1] != b"CHARSET" else ""


def read_entries(text: str) -> Iterator[Entry]:
    """The entries of a catalogue; ValueError, with its line, for what is none."""
    entry, name, position, number = Entry(0, 0), "", 0, 0
    while position < len(text):
        number += 1
        match = LINE.match(text, position)
        if not match:
            shown = text[position : position + 60].splitlines()[:1]
            raise ValueError(f"line {number} is no line of a PO file: {shown}")
        position = match.end()
        starts = match["name"] in ("msgid", "msgctxt") or match["comment"]
        if starts and entry.answers:
            yield finished(entry)
            entry, name = Entry(0, 0), ""
        if match["comment"] and match["comment"].startswith("#,") and not entry.is_fuzzy:
            entry.flags, entry.is_fuzzy = match.span("comment"), "fuzzy" in re.split(r"[,\s]+", match["comment"])
        elif match["comment"] and match["comment"].startswith("#~") and not entry.spans:
            entry = Entry(0, 0)  # the flags were of an obsolete entry
        if match["name"]:
            name = match["name"] + (f"[{match['index']}]" if match["index"] else "")
            known = re.fullmatch(r"msgctxt|msgid|msgid_plural|msgstr(\[\d+\])?", name)
            require(bool(known) and name not in entry.spans, f"line {number}: {name} can't be here")
            if not entry.spans:
                entry.line, entry.start = number, match.start("name")
        if match["string"] is not None:
            require(bool(name), f"line {number}: a string without a keyword such as msgid")
            start, _ = entry.spans.get(name, match.span("string"))
            entry.spans[name] = start, match.end("string")
            entry.parts.setdefault(name, []).append(ESCAPE.sub(meaning, match[5]))
    if entry.spans:
        yield finished(entry)


def finished(entry: Entry) -> Entry:
    require("msgid" in entry.spans and bool(entry.answers), f"line {entry.line}: an entry needs msgid and msgstr")
    entry.texts = {name: "".join(parts) for name, parts in entry.parts.items()}
    return entry


def meaning(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    return chr(int(escape[1:], 16)) if len(escape) > 1 else ESCAPES.get(escape, escape)
