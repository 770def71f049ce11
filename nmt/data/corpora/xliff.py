"""XLIFF 1.2 and 2.x as text: sources with their targets flow out one by one, however long the file is.

Codes (formatting, placeholders) are left out, and so are proposals (alt-trans) and notes. Sources: the OASIS standards
XLIFF 1.2, 2.0 and 2.1.
"""

from collections.abc import Iterator
from pathlib import Path

from nmt.data.corpora.tmx import Entry, XmlReader, entries_of

CODES = frozenset("bpt ept it ph x bx ex sc ec cp".split())  # noqa: SIM905
UNITS = ("trans-unit", "segment")
ATTRIBUTES = {"source": ("source-language", "srcLang"), "target": ("target-language", "trgLang")}


def xliff_entries(path: Path) -> Iterator[Entry]:
    """The source and target of each unit of a file; ValueError if it is no XLIFF."""
    return entries_of(path, XliffReader(path, "XLIFF", "xliff"))


class XliffReader(XmlReader):
    """Collects the units of the part of a file that was parsed."""

    def __init__(self, path: Path, kind: str, root: str) -> None:
        super().__init__(path, kind, root)
        self.languages = {"source": "", "target": ""}

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if name in ("xliff", "file"):  # version 2 names the languages in the first, version 1.2 in the second
            for side, names in ATTRIBUTES.items():
                self.languages[side] = next((attributes[n] for n in names if n in attributes), self.languages[side])
        elif name in UNITS:
            self.entry = Entry()
        elif self.is_side(name):
            self.text.clear()

    def is_side(self, name: str) -> bool:
        """Whether this is the source or target of a unit, and not of a proposal."""
        return name in self.languages and len(self.names) > 1 and self.names[-2] in UNITS

    def finish(self, name: str) -> None:
        if self.is_side(name):
            self.entry.append((self.languages[name], " ".join("".join(self.text).split())))
        elif name in UNITS:
            self.entries.append(self.entry)

    def is_text(self) -> bool:
        sides = [n for n, name in enumerate(self.names) if name in self.languages and self.names[n - 1] in UNITS]
        return bool(sides) and not CODES.intersection(self.names[sides[0] :])
