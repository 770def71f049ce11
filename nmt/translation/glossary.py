"""A glossary: how words and phrases of the source must be translated.

Each line of a file is an entry: source TAB target. Alternative targets (inflections, synonyms) are separated by "|", or
are on lines of their own. Both sides match whole words (see `nmt.text.scripts.Phrase`), with * for any ending or
beginning. A source in lower case matches any case; if entries overlap in a line, the longest counts, and of equally
long ones the one that is written as the line has it. Blank lines and lines that begin with # are comments.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

from nmt.config import SearchConfig
from nmt.fields import require
from nmt.files import read_lines
from nmt.reading.request import Constraints, Request, Term
from nmt.text.markup import Mode, visible
from nmt.text.normalise import tidy
from nmt.text.scripts import UNSPACED, Phrase, phrase_text
from nmt.translation.translator import Translator

# Entries are indexed by runs of letters (as `nmt.text.scripts.is_letter`, but without marks).
RUN = re.compile(rf"[^\W{UNSPACED}]+")


@dataclass(frozen=True)
class Entry:
    """A phrase of the source, as written, and its alternative translations."""

    source: str
    targets: tuple[str, ...]


@dataclass
class Glossary:
    """Entries, one for each source, with the number of lines that have it, and of translations that meet it."""

    entries: list[Entry]
    occurred: Counter[Entry] = field(default_factory=Counter)
    met: Counter[Entry] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        targets: dict[str, dict[str, None]] = {}  # of each source, in their order
        for entry in self.entries:
            targets.setdefault(entry.source, {}).update(dict.fromkeys(entry.targets))
        self.entries = [Entry(source, tuple(found)) for source, found in targets.items()]
        self.by_run: defaultdict[str, list[tuple[Entry, Phrase]]] = defaultdict(list)
        for entry in self.entries:
            phrase = Phrase.parse(entry.source, any_case=entry.source == entry.source.lower())
            self.by_run[index_run(phrase)].append((entry, phrase))

    @classmethod
    def load(cls, path: Path | str) -> "Glossary":
        """Read a glossary file. Raises ValueError with the line number if a line is not an entry."""
        entries = list[Entry]()
        for number, line in enumerate(read_lines(Path(path)), 1):
            if not line.strip() or line.startswith("#"):
                continue
            source, _, target = line.partition("\t")
            if (entry := make_entry(source, target)) is None:
                hint = "write source TAB target, or source TAB target|target, in UTF-8"
                raise ValueError(f"{path}, line {number}: {line[:60]!r} is no entry: {hint}")
            entries.append(entry)
        require(bool(entries), f"{path} has no entries: write source TAB target on each line")
        return cls(entries)

    def entries_in(self, text: str) -> dict[Entry, str]:
        """The entries that occur in a line, in their order there, each with the words of the line."""
        runs = dict.fromkeys(["", *map(folded, RUN.findall(text))])
        candidates = [candidate for run in runs for candidate in self.by_run.get(run, ())]
        candidates.sort(key=lambda c: (-len(c[1].text), c[1].any_case, c[0].source != c[1].text))
        kept: list[tuple[int, int, Entry]] = []  # in order; they don't overlap
        for entry, phrase in candidates:
            end = 0
            while found := next(phrase.find(text, end), None):
                start, end = found
                n = bisect_left(kept, end, key=lambda place: place[0])  # those before it begin before this one ends
                if n == 0 or kept[n - 1][1] <= start:
                    kept.insert(n, (start, end, entry))
                else:
                    end = kept[n - 1][1]  # what begins before this overlaps it too
        words: dict[Entry, str] = {}
        for start, end, entry in kept:
            words.setdefault(entry, text[start:end])
        return words

    def terms_in(self, text: str) -> tuple[Term, ...]:
        return tuple(Term(entry.targets, words) for entry, words in self.entries_in(tidied(text)).items())

    def add_terms(
        self, request: Request, translator: Translator, search: SearchConfig, markup: Mode, most: int | None = None
    ) -> tuple[Request, str]:
        """The request with the terms that can be met, and of these the first `most`; the note says why terms were left
        out (else empty)."""
        found, constraints = self.terms_in(read_text(request.text, translator, markup)), request.constraints
        terms = found[:most]
        problem = translator.compiler.problem(constraints.joined(Constraints(must=terms)), search) if terms else ""
        for term in terms:
            more = constraints.joined(Constraints(must=(term,)))
            if not problem or not translator.compiler.problem(more, search):
                constraints = more
        if len(terms) < len(found):
            problem = f"the text has {len(found):,} of them, and at most {most} are used"
        note = f"without some terms of the glossary: {problem}" if problem else ""
        return replace(request, constraints=constraints), note

    def count(self, source: str, translation: str) -> None:
        """Count the entries that occur in a line, and those that its translation meets."""
        for entry in self.entries_in(tidied(source)):
            self.occurred[entry] += 1
            self.met[entry] += any(any(Phrase.parse(target).find(translation)) for target in entry.targets)

    def report(self) -> str:
        """For the user: a line for each entry that occurred, and the total."""
        occurred = [(entry, n) for entry in self.entries if (n := self.occurred[entry])]
        lines = [f"  {e.source} → {' | '.join(e.targets)}: {self.met[e]} of {n}" for e, n in occurred]
        n, entries = self.occurred.total(), len(self.entries)
        terms = f"Glossary: {self.met.total():,} of {n:,} term{'s' * (n != 1)} met"
        total = f"{len(lines):,} of {entries:,} {'entry' if entries == 1 else 'entries'} occurred"
        return "\n".join([f"{terms}; {total}", *lines])


def make_entry(source: str, target: str) -> Entry | None:
    """An entry, as it is written on a line of a file; None if a side is empty, has a tab, or is no valid text. The
    source gets single blanks, and at most one * at each end: one that is written in two ways is one entry."""
    source, targets = tidy(source), tuple(filter(None, (tidy(phrase) for phrase in target.split("|"))))
    source = f"{'*' * source.startswith('*')}{phrase_text(source)}{'*' * source.endswith('*')}"
    is_valid = targets and "\t" not in target and "\ufffd" not in source + target
    return Entry(source, targets) if is_valid and all(map(phrase_text, (source, *targets))) else None


def read_text(text: str, translator: Translator, markup: Mode) -> str:
    """The text as the model reads it, in which the words of a term are looked for."""
    return "\n".join(map(translator.tokenizer.readable, tidied(visible(text, markup)).split("\n")))


def tidied(text: str) -> str:
    """The text as training text was normalised, line by line: no term goes over the end of a line."""
    return "\n".join(tidy(line) for line in text.split("\n"))


def folded(run: str) -> str:
    """A run of letters in small ones. Regular expressions that ignore case take all forms of I for one letter."""
    return run.casefold().replace("i\u0307", "i").replace("ı", "i")


def index_run(phrase: Phrase) -> str:
    """A run of letters that every text with the phrase has as a whole run; empty if there is none."""
    for run in RUN.finditer(phrase.text):
        if (run.start() or phrase.left) and (run.end() < len(phrase.text) or phrase.right):
            return folded(run[0])
    return ""
