"""A glossary: which word or phrase of the source must become which in the translation.

A file has an entry a line: source TAB target. Several targets (inflections, synonyms) are parted by "|", or stand on
lines of their own; one of them must occur. Both sides match as `nmt.decode.phrases` says: whole words, with * for
any ending (or beginning). A source in lower case matches any case; where entries overlap in a line, the longest counts.
Blank lines and lines that begin with # are comments.
"""

import codecs
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from nmt.config import require
from nmt.text.normalise import tidy
from nmt.translation.request import Request, Term

WORD = re.compile(r"\w+")
# Letters of scripts that part no words: terms that begin with one are looked for at every place.
UNPARTED = re.compile("[\u0e00-\u0edf\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True)
class Entry:
    """One line of a glossary."""

    source: str
    targets: tuple[str, ...]

    @property
    def pattern(self) -> re.Pattern[str]:
        phrase = self.source.strip("*")
        left = r"(?<!\w)" if phrase[0].isalnum() and not self.source.startswith("*") else ""
        right = r"(?!\w)" if phrase[-1].isalnum() and not self.source.endswith("*") else ""
        if UNPARTED.match(phrase):
            left = right = ""
        return re.compile(left + re.escape(phrase) + right, re.IGNORECASE if phrase == phrase.lower() else 0)


@dataclass
class Glossary:
    """Entries, and how often each was found in what has been translated, and met."""

    entries: list[Entry]
    found: Counter[Entry] = field(default_factory=Counter)
    met: Counter[Entry] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.patterns = [entry.pattern for entry in self.entries]
        self.by_word: dict[str, list[int]] = {}
        self.anywhere: list[int] = []
        for i, entry in enumerate(self.entries):
            word = WORD.search(entry.source)
            if word is None or entry.source.startswith("*") or entry.source[:-1] == word[0] or UNPARTED.match(word[0]):
                self.anywhere.append(i)
            else:
                self.by_word.setdefault(word[0].lower(), []).append(i)

    @classmethod
    def load(cls, path: Path) -> "Glossary":
        """Read a file. Raises ValueError, with its line, for what is no entry; OSError if it can't be read."""
        entries: dict[str, Entry] = {}
        for number, raw in enumerate(path.read_bytes().removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
            line = raw.decode("utf-8", "replace")
            if not line.strip() or line.startswith("#"):
                continue
            source, tab, target = line.partition("\t")
            source, targets = tidy(source)[0], tuple(filter(None, (tidy(one)[0] for one in target.split("|"))))
            good = tab and targets and "\t" not in target and "\ufffd" not in source + target
            require(
                bool(good) and all(one.strip("* ") for one in (source, *targets)),
                f"{path}, line {number}: {line[:60]!r} is no entry: write source TAB target, or target|target",
            )
            before = entries[source].targets if source in entries else ()
            entries[source] = Entry(source, tuple(dict.fromkeys((*before, *targets))))
        require(bool(entries), f"{path} holds no entries: write source TAB target on each line")
        return cls(list(entries.values()))

    def entries_in(self, text: str) -> dict[Entry, str]:
        """The entries whose source stands in a line, in their order there; each with what stands there."""
        words = dict.fromkeys(word.lower() for word in WORD.findall(text))
        candidates = [*self.anywhere, *(i for word in words for i in self.by_word.get(word, []))]
        matches = [(match.start(), match.end(), i) for i in candidates for match in self.patterns[i].finditer(text)]
        taken: list[tuple[int, int, int]] = []
        for start, end, i in sorted(matches, key=lambda match: (match[0] - match[1], match[0])):
            if all(end <= other_start or start >= other_end for other_start, other_end, _ in taken):
                taken.append((start, end, i))
        found: dict[Entry, str] = {}
        for start, end, i in sorted(taken):
            found.setdefault(self.entries[i], text[start:end])
        return found

    def apply(self, request: Request) -> Request:
        """The request, with the terms that its text has as demands."""
        found = self.entries_in(tidy(request.text)[0])
        terms = tuple(Term(entry.targets, written) for entry, written in found.items())
        return replace(request, must=(*request.must, *terms)) if terms else request

    def count(self, source: str, translation: str) -> None:
        """Note which entries a line had, and which of them its translation met."""
        for entry in self.entries_in(tidy(source)[0]):
            self.found[entry] += 1
            self.met[entry] += any(Entry(target, ()).pattern.search(translation) for target in entry.targets)

    def report(self) -> str:
        """For the user: a line for each entry that was found, and a sum."""
        lines = [
            f"  {entry.source} → {' | '.join(entry.targets)}: {self.met[entry]} of {self.found[entry]}"
            for entry in self.entries
            if self.found[entry]
        ]
        total = f"Glossary: {self.met.total():,} of {self.found.total():,} terms met, of {len(lines)} entries"
        return "\n".join([total, *lines])
