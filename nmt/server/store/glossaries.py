"""Named glossaries of the service: a JSON file each, in a folder that several processes may share.

A glossary has a dictionary for each direction: source terms and their translations, written as in a glossary file (see
`nmt.translation.glossary`). It belongs to the key that made it, and other keys don't see it.
"""

import csv
import io
import json
import re
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from nmt.fields import read_value, require
from nmt.files import locked, write_json
from nmt.server.models import Direction
from nmt.translation.glossary import Entry, Glossary, make_entry

MAX_GLOSSARIES, MAX_TOTAL, MAX_LETTERS = 1000, 100_000, 5_000_000  # of an owner; of all entries, which stay in memory
MAX_ENTRIES, MAX_NAME = 10_000, 200  # of a dictionary; characters


@dataclass(frozen=True)
class Dictionary:
    """The entries of one direction."""

    source: str
    target: str
    entries: dict[str, str]

    @property
    def direction(self) -> Direction:
        return self.source, self.target

    def compile(self) -> Glossary:
        """ValueError for an entry that is none."""
        return compile_entries(tuple(self.entries.items()))


@dataclass(frozen=True)
class Stored:
    """A glossary as it is stored."""

    id: str
    name: str
    owner: str
    """Hash of the key that made it; empty in a service without keys."""
    created: str
    dictionaries: tuple[Dictionary, ...]

    def find(self, direction: Direction) -> Dictionary | None:
        return next((d for d in self.dictionaries if d.direction == direction), None)

    def without(self, direction: Direction) -> "Stored":
        """The same glossary without its dictionary for a direction."""
        return replace(self, dictionaries=tuple(d for d in self.dictionaries if d.direction != direction))

    def with_dictionary(self, new: Dictionary) -> "Stored":
        """The same glossary with a dictionary in place of the one for its direction."""
        return replace(self, dictionaries=(*self.without(new.direction).dictionaries, new))


class Glossaries:
    """The glossaries in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.writing = folder, threading.Lock()
        self.known: dict[Path, tuple[int, Stored]] = {}  # with the time when the file was changed

    def all(self, owner: str) -> list[Stored]:
        """The glossaries of an owner, the oldest first."""
        paths = {*self.folder.glob("*.json")} if self.folder.is_dir() else set()
        for path in list(self.known):  # a copy, which other threads don't change
            if path not in paths:  # deleted by another process
                self.known.pop(path, None)
        owned = [stored for stored in map(self.load, paths) if stored and stored.owner == owner]
        return sorted(owned, key=lambda stored: (stored.created, stored.id))

    def load(self, path: Path) -> Stored | None:
        """A stored glossary, read again if its file has changed; None if it is gone, or damaged."""
        try:
            changed = path.stat().st_mtime_ns
            known = self.known.get(path)
            if known is None or known[0] != changed:
                known = self.known[path] = changed, read_value(json.loads(path.read_text("utf8")), Stored)
            return known[1]
        except (OSError, ValueError, RecursionError):
            self.known.pop(path, None)
            return None

    def get(self, owner: str, identity: str) -> Stored | None:
        """The glossary of an owner with this id."""
        try:
            stored = self.load(self.path(identity))
        except ValueError:
            return None
        return stored if stored and stored.owner == owner else None

    def named(self, owner: str, name: str) -> Stored | None:
        """The newest glossary of an owner with this name; one without dictionaries only if there is no other."""
        found = [stored for stored in reversed(self.all(owner)) if stored.name == name]
        return max(found, key=lambda stored: bool(stored.dictionaries), default=None)

    def path(self, identity: str) -> Path:
        """The file of a glossary; ValueError if the text is no id, which could lead out of the folder."""
        return self.folder / f"{uuid.UUID(identity)}.json"

    def create(self, owner: str, name: str, dictionaries: Sequence[Dictionary]) -> Stored:
        """Store a new glossary. ValueError if it can't be used, or if the owner has too many."""
        return self.change(lambda: new(owner, name, dictionaries))

    def change(self, make: Callable[[], Stored]) -> Stored:
        """Store the glossary that `make` gives, in place of the one with its id; nobody else stores one in the
        meantime. ValueError if it can't be used, or if its owner has too many."""
        with self.writing, locked(self.folder, wait=True):  # other threads, and other processes
            glossary = make()
            self.check(glossary)
            write_json(self.path(glossary.id), asdict(glossary))
            return glossary

    def check(self, glossary: Stored) -> None:
        name, others = glossary.name, [other for other in self.all(glossary.owner) if other.id != glossary.id]
        require(bool(name.strip()), "the glossary has no name: give it one")
        require(len(name) <= MAX_NAME, f"the name has {len(name)} characters: at most {MAX_NAME} are allowed")
        n = len(others)
        require(n < MAX_GLOSSARIES, f"there are {n:,} glossaries, and no more are allowed: delete some")
        for dictionary in glossary.dictionaries:
            dictionary.compile()
        dictionaries = [dictionary for stored in (*others, glossary) for dictionary in stored.dictionaries]
        n = sum(len(dictionary.entries) for dictionary in dictionaries)
        require(n <= MAX_TOTAL, f"all glossaries together have {n:,} entries: at most {MAX_TOTAL:,} are allowed")
        n = sum(len(a) + len(b) for dictionary in dictionaries for a, b in dictionary.entries.items())
        require(n <= MAX_LETTERS, f"all glossaries together have {n:,} characters: at most {MAX_LETTERS:,} are allowed")

    def delete(self, glossary: Stored, direction: Direction | None = None) -> None:
        """Delete a glossary; with a direction, only its dictionary for that, unless it has no other one by now."""
        path = self.path(glossary.id)
        with self.writing, locked(self.folder, wait=True):  # a change that is under way would bring it back
            now = self.load(path) if direction else None
            rest = now.without(direction) if now and direction else None
            if rest and rest.dictionaries:
                write_json(path, asdict(rest))
            else:
                path.unlink(missing_ok=True)


def new(owner: str, name: str, dictionaries: Sequence[Dictionary]) -> Stored:
    created = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Stored(str(uuid.uuid4()), name, owner, created, tuple(dictionaries))


@lru_cache(maxsize=8)  # ten thousand entries take 10 MB
def compile_entries(entries: tuple[tuple[str, str], ...]) -> Glossary:
    """A glossary for translation. ValueError if there are none or too many, or for an entry that is none."""
    n = len(entries)
    require(n > 0, "the glossary has no entries: give some")
    require(n <= MAX_ENTRIES, f"the glossary has {n:,} entries: at most {MAX_ENTRIES:,} are allowed")
    made: list[Entry] = []
    for source, target in entries:
        entry = None if re.search(r"[\t\r\n]", source + target) else make_entry(source, target)
        if entry is None:
            pair, rule = f"{source[:40]!r}: {target[:40]!r}", "may not be empty, or have tabs or line breaks"
            raise ValueError(f"{pair} is no entry: a term and its translation {rule}")
        made.append(entry)
    return Glossary(made)


def read_entries(text: str, form: str) -> dict[str, str]:
    """Entries of lines of source TAB target (form tsv) or of comma-separated values (csv). ValueError for other lines,
    and for a term that is there twice."""
    text = text.removeprefix("\ufeff")  # the mark of a file, before a quote
    lines = (line.split("\t") for line in text.split("\n"))
    rows = csv.reader(io.StringIO(text, newline="")) if form == "csv" else lines
    hint = "source,target" if form == "csv" else "source TAB target"
    entries: dict[str, str] = {}
    try:
        for number, row in enumerate(rows, 1):
            if not any(cell.strip() for cell in row):
                continue
            require(len(row) >= 2, f"line {number} of the entries has no translation: write {hint}")
            source, target = row[0].strip(), row[1].strip()
            require(source not in entries, f"line {number} of the entries repeats the term {source[:40]!r}")
            entries[source] = target
    except csv.Error as error:
        raise ValueError(f"the entries are no comma-separated values: {error}") from error
    return entries


def write_entries(entries: Mapping[str, str]) -> str:
    return "\n".join(f"{source}\t{target}" for source, target in entries.items())
