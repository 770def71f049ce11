"""TMX and XLIFF (plain or .gz) as text: entries of a memory, or units, flow out one by one, however long the file is.

Codes (formatting, placeholders) are left out, and so are XLIFF's proposals (alt-trans) and notes. Sources: TMX 1.4b,
the LISA/GALA standard; the OASIS standards XLIFF 1.2, 2.0 and 2.1.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal
from xml.parsers import expat

from nmt.files import open_compressed, require_whole_gzip
from nmt.text.languages import nearest

UNITS = ("tu", "trans-unit", "segment")
PARENTS = ("tuv", "trans-unit", "segment")  # of elements with text: those of a proposal have another
SIDES = ("seg", "source", "target")  # elements with text
LANGUAGES = {  # attributes that name the language of a side, of the element itself or of one around it
    "lang": "seg",
    "xml:lang": "seg",
    "source-language": "source",
    "srcLang": "source",
    "target-language": "target",
    "trgLang": "target",
}
UNDONE = re.compile("new|initial|needs-.*")  # states of a translation that is missing, or that somebody must look at
CODES = frozenset("bpt ept it ph ut sub x bx ex sc ec cp".split())  # noqa: SIM905
BREAKS = frozenset({"lb", "pb", "xlf:lb", "xlf:pb"})  # kinds of codes: a line or a page ends there
CHUNK, DEEPEST = 1 << 16, 250
ANY = "*"  # the language of a target that has none

Entry = list[tuple[str, str]]


def in_languages(entry: Entry, languages: Sequence[str]) -> list[str | None]:
    """The texts of an entry in these languages, else in ANY. A side that would be taken for several of them is in none:
    it would be both sides of a pair."""
    in_any = next((side for side in entry if side[0] == ANY), None)
    sides = [nearest(entry, language) or in_any for language in languages]
    return [side[1] if side and sides.count(side) == 1 else None for side in sides]


def entries_of(path: Path, kind: Literal["TMX", "XLIFF"]) -> Iterator[Entry]:
    """The entries of a file. ValueError if it isn't well-formed, or of another kind."""
    reader, size, done = EntryReader(kind), CHUNK, 0
    with require_whole_gzip(path), open_compressed(path) as file:
        try:
            while chunk := file.read(size):
                reader.parser.Parse(chunk, False)
                yield from reader.entries
                reader.entries.clear()
                # Expat before 2.6 reads an unfinished token, such as a long comment, each time from its start.
                before, done = done, reader.parser.CurrentByteIndex
                size = CHUNK if done > before else 2 * size
            reader.parser.Parse(b"", True)
        except (expat.ExpatError, LookupError) as error:  # LookupError: an unknown encoding
            raise ValueError(f"{path} isn't well-formed {kind}: {error}") from None
        except ValueError as error:  # of ours, or an encoding that can't be read
            raise ValueError(f"{path}: {error}") from None
    yield from reader.entries


class EntryReader:
    """Collects the entries of the part of a file that was parsed."""

    def __init__(self, kind: str) -> None:
        self.kind, self.entries, self.entry, self.text, self.is_open = kind, list[Entry](), Entry(), list[str](), False
        self.state, self.codes = "", 0  # of a unit; codes around this place
        self.names, self.languages = list[str](), [dict.fromkeys(SIDES, "")]  # of the elements around this place
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler, self.parser.EndElementHandler = self.start, self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.EntityDeclHandler = self.parser.SkippedEntityHandler = self.entity

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if not self.names and name != self.kind.lower():
            raise ValueError(f"it isn't {self.kind}: its first element is <{name}>")
        state = attributes.get("state", "")
        if name in UNITS:
            self.entry, self.state = Entry(), state
        elif name in SIDES and self.names[-1] in PARENTS:
            is_undone = name == "target" and UNDONE.fullmatch(state or self.state)
            self.text, self.is_open = [], not is_undone
        self.codes += name in CODES
        if self.is_open and not BREAKS.isdisjoint(map(attributes.get, ("type", "ctype", "subType"))):
            self.text.append(" ")
        if len(self.names) == DEEPEST:
            raise ValueError(f"elements nested in {DEEPEST} others aren't read")
        self.names.append(name)
        languages = self.languages[-1]
        if not LANGUAGES.keys().isdisjoint(attributes):
            languages = languages | {LANGUAGES[key]: value for key, value in attributes.items() if key in LANGUAGES}
        self.languages.append(languages)

    def end(self, _: str) -> None:
        name, languages = self.names.pop(), self.languages.pop()
        self.codes -= name in CODES
        if name in UNITS:
            self.entries.append(self.entry)
        elif self.is_open and name in SIDES:
            code = languages[name] or (ANY if name == "target" else "")  # XLIFF 1.2 needn't name it
            self.entry.append((code, " ".join("".join(self.text).split())))
            self.is_open = False

    def characters(self, text: str) -> None:
        if self.is_open and not self.codes:
            self.text.append(text)

    def entity(self, name: str, *_: Any) -> None:
        problem = f"it declares the entity {name}, or has it without a declaration"
        raise ValueError(f"{problem}. Entities are not read, since they may be an attack: write the characters instead")
