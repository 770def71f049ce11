"""Translation memories (TMX, plain or .gz) as text: their entries flow out one by one, however long the file is.

Codes in a segment (formatting, placeholders) are left out. Source: TMX 1.4b, the LISA/GALA standard.
"""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

from nmt.files import require_whole_gzip

CODES = frozenset("bpt ept it ph ut sub".split())  # noqa: SIM905
CHUNK = 1 << 16

Entry = list[tuple[str, str]]
"""Languages and their texts."""


def same_language(one: str, other: str) -> bool:
    """Whether two codes name one language; a region counts only if both have one."""
    first, second = (re.split("[-_]", code.lower()) for code in (one, other))
    return first[0] == second[0] and (len(first) == 1 or len(second) == 1 or first == second)


def in_language(entry: Entry, language: str) -> str | None:
    """The text of an entry in a language; None if it has none."""
    return next((text for code, text in entry if same_language(code, language)), None)


def tmx_entries(path: Path) -> Iterator[Entry]:
    """The entries of a file; ValueError if it is no TMX."""
    reader = Reader(path)
    with require_whole_gzip(path), gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        try:
            while chunk := file.read(CHUNK):
                reader.parser.Parse(chunk, False)
                yield from reader.entries
                reader.entries.clear()
            reader.parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise ValueError(f"{path} isn't well-formed TMX: {error}") from None
    yield from reader.entries


class Reader:
    """Collects the entries of the part of a file that was parsed."""

    def __init__(self, path: Path) -> None:
        self.path, self.entries, self.entry = path, list[Entry](), Entry()
        self.names, self.language, self.text = list[str](), "", list[str]()
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler, self.parser.EndElementHandler = self.start, self.end
        self.parser.CharacterDataHandler, self.parser.EntityDeclHandler = self.characters, self.entity

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if not self.names and name != "tmx":
            raise ValueError(f"{self.path} isn't TMX: its first element is <{name}>")
        self.names.append(name)
        if name == "tu":
            self.entry = Entry()
        elif name == "tuv":
            self.language = attributes.get("xml:lang", attributes.get("lang", ""))
        elif name == "seg":
            self.text.clear()

    def end(self, name: str) -> None:
        self.names.pop()
        if name == "tu":
            self.entries.append(self.entry)
        elif name == "seg":
            self.entry.append((self.language, " ".join("".join(self.text).split())))

    def characters(self, text: str) -> None:
        if "seg" in self.names and not CODES.intersection(self.names):
            self.text.append(text)

    def entity(self, *declared: Any) -> None:
        raise ValueError(f"{self.path} declares an entity, which may be an attack and is not read: remove it")
