"""Translation memories (TMX, plain or .gz) as text: their entries flow out one by one, however long the file is.

Codes in a segment (formatting, placeholders) are left out. Source: TMX 1.4b, the LISA/GALA standard.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

from nmt.files import open_compressed, require_whole_gzip
from nmt.text.languages import short_code

CODES = frozenset("bpt ept it ph ut sub".split())  # noqa: SIM905
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


def tmx_entries(path: Path) -> Iterator[Entry]:
    """The entries of a file; ValueError if it is no TMX."""
    return entries_of(path, TmxReader(path, "TMX", "tmx"))


def entries_of(path: Path, reader: "XmlReader") -> Iterator[Entry]:
    """The entries that a reader finds in a file. ValueError if it isn't well-formed, or of another kind."""
    with require_whole_gzip(path), open_compressed(path) as file:
        try:
            while chunk := file.read(CHUNK):
                reader.parser.Parse(chunk, False)
                yield from reader.entries
                reader.entries.clear()
            reader.parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise ValueError(f"{path} isn't well-formed {reader.kind}: {error}") from None
    yield from reader.entries


class XmlReader:
    """Collects the entries of the part of an XML file that was parsed; each kind of file has its own."""

    def __init__(self, path: Path, kind: str, root: str) -> None:
        """`kind`: what users call such files; `root`: their first element."""
        self.path, self.kind, self.root = path, kind, root
        self.entries, self.entry, self.names, self.text = list[Entry](), Entry(), list[str](), list[str]()
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler, self.parser.EndElementHandler = self.start, self.end
        self.parser.CharacterDataHandler, self.parser.EntityDeclHandler = self.characters, self.entity

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if not self.names and name != self.root:
            raise ValueError(f"{self.path} isn't {self.kind}: its first element is <{name}>")
        self.names.append(name)
        self.begin(name, attributes)

    def end(self, name: str) -> None:
        self.finish(name.rpartition(":")[2])
        self.names.pop()

    def characters(self, text: str) -> None:
        if self.is_text():
            self.text.append(text)

    def entity(self, *declared: Any) -> None:
        raise ValueError(f"{self.path} declares an entity, which may be an attack and is not read: remove it")

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins; it is the last of `names`."""
        raise NotImplementedError

    def finish(self, name: str) -> None:
        """An element ends; it is still the last of `names`."""
        raise NotImplementedError

    def is_text(self) -> bool:
        """Whether the characters that come now belong to an entry."""
        raise NotImplementedError


class TmxReader(XmlReader):
    """Collects the entries of a translation memory."""

    language = ""

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self.entry = Entry()
        elif name == "tuv":
            self.language = attributes.get("xml:lang", attributes.get("lang", ""))
        elif name == "seg":
            self.text.clear()

    def finish(self, name: str) -> None:
        if name == "tu":
            self.entries.append(self.entry)
        elif name == "seg":
            self.entry.append((self.language, " ".join("".join(self.text).split())))

    def is_text(self) -> bool:
        return "seg" in self.names and not CODES.intersection(self.names)
