"""TMX and XLIFF (plain or .gz) as text: entries of a memory, or units, flow out one by one, however long the file is.

Codes (formatting, placeholders) are left out, and so are XLIFF's proposals (alt-trans) and notes. Sources: TMX 1.4b,
the LISA/GALA standard; the OASIS standards XLIFF 1.2, 2.0 and 2.1.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from xml.parsers import expat

from nmt.files import open_compressed, require_whole_gzip
from nmt.text.languages import short_code

UNITS = ("tu", "trans-unit", "segment")
PARENTS = ("tuv", "trans-unit", "segment")  # of elements with text: those of a proposal have another
LANGUAGES = {  # of the elements with text: attributes that name it, of the element itself or of one around it
    "seg": ("lang", "xml:lang"),
    "source": ("source-language", "srcLang"),
    "target": ("target-language", "trgLang"),
}
CODES = frozenset("bpt ept it ph ut sub x bx ex sc ec cp".split())  # noqa: SIM905
CHUNK = 1 << 16

Entry = list[tuple[str, str]]
"""Languages and their texts."""


def same_language(one: str, other: str) -> bool:
    """Whether two codes name one language; a region counts only if both have one."""
    first, second = (re.split("[-_]", code.lower())[1:] for code in (one, other))
    return short_code(one) == short_code(other) and (not first or not second or first == second)


def in_language(entry: Entry, language: str) -> str | None:
    """The text of an entry in a language; None if it has none."""
    return next((text for code, text in entry if same_language(code, language)), None)


def entries_of(path: Path, kind: Literal["TMX", "XLIFF"]) -> Iterator[Entry]:
    """The entries of a file. ValueError if it isn't well-formed, or of another kind."""
    reader = EntryReader(path, kind)
    with require_whole_gzip(path), open_compressed(path) as file:
        try:
            while chunk := file.read(CHUNK):
                reader.parser.Parse(chunk, False)
                yield from reader.entries
                reader.entries.clear()
            reader.parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise ValueError(f"{path} isn't well-formed {kind}: {error}") from None
    yield from reader.entries


class EntryReader:
    """Collects the entries of the part of a file that was parsed."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, kind
        self.entries, self.entry, self.text, self.is_open = list[Entry](), Entry(), list[str](), False
        self.names, self.languages = list[str](), [dict.fromkeys(LANGUAGES, "")]  # of the elements around this place
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler, self.parser.EndElementHandler = self.start, self.end
        self.parser.CharacterDataHandler, self.parser.EntityDeclHandler = self.characters, self.entity

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if not self.names and name != self.kind.lower():
            raise ValueError(f"{self.path} isn't {self.kind}: its first element is <{name}>")
        self.names.append(name)
        named = {side: attributes[key] for side, keys in LANGUAGES.items() for key in keys if key in attributes}
        self.languages.append(self.languages[-1] | named)
        if name in UNITS:
            self.entry = Entry()
        elif self.is_side():
            self.text, self.is_open = [], True

    def end(self, _: str) -> None:
        if self.names[-1] in UNITS:
            self.entries.append(self.entry)
        elif self.is_side():
            language = self.languages[-1][self.names[-1]]
            self.entry.append((language, " ".join("".join(self.text).split())))
            self.is_open = False
        self.names.pop()
        self.languages.pop()

    def is_side(self) -> bool:
        """Whether the innermost element has the text of a unit in one language."""
        return self.names[-1] in LANGUAGES and self.names[-2] in PARENTS

    def characters(self, text: str) -> None:
        if self.is_open and not CODES.intersection(self.names):
            self.text.append(text)

    def entity(self, *declared: Any) -> None:
        raise ValueError(f"{self.path} declares an entity, which may be an attack and is not read: remove it")
