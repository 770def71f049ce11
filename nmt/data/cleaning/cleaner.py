"""Filters of training pairs: tidied pairs flow in; kept pairs flow out, with a ledger that counts the dropped ones.

A text without a translation is a pair whose source is empty. Other filters are `drop_doubtful` (a pair scorer) and
`Draft.encode` (pieces) in `nmt.data.store.shards`, and `nmt.data.corpora.files.read_sentences` (one language).
"""

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from nmt.config import CleaningConfig, DataConfig
from nmt.data.cleaning.filters import HeldOut, Repeats, alike_key, digest, known_by, make_filters
from nmt.extras import package
from nmt.fields import require
from nmt.text.normalise import tidy

if TYPE_CHECKING:
    from rich.table import Table

Pair = tuple[str, str]  # source and target sentence, or an empty source and a text without a translation
EXAMPLES = 20  # dropped pairs that are kept of each cause, to show them
SHOWN = 1000  # characters of each side that are kept of them
LENGTH_OFFSET = 10  # added to both lengths before their ratio, so that "Ja" / "That's right" passes


@dataclass
class Ledger:
    """Counts for one split, by cause. Each pair (or text) is kept or dropped; each sentence may be repaired."""

    read: int = 0
    repaired: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    """The line (or row), from 1, where a cause first occurred in reading."""
    unit: str = "pair"
    parts: dict[str, "Ledger"] = field(default_factory=dict)
    """The same for each part of the text by itself, such as a direction; empty if there is only one."""

    @classmethod
    def total(cls, parts: Mapping[str, "Ledger"]) -> "Ledger":
        """The sum of the ledgers of several parts."""
        return replace(reduce(cls.beside, parts.values()), parts=dict(parts))

    @property
    def kept(self) -> int:
        return self.read - self.dropped.total()

    @property
    def texts(self) -> int:
        """The texts without translations among what was kept, if most is pairs."""
        return sum(part.kept for part in self.parts.values() if part.unit != self.unit)

    @property
    def units(self) -> list[str]:
        """What is counted, in words: pairs, texts or, in parts, both."""
        return list(dict.fromkeys(f"{ledger.unit}s" for ledger in (self, *self.parts.values())))

    def amount(self, extra: int = 0) -> str:
        """What was kept, in words; `extra`: pairs that were added."""
        pairs = f"{self.kept - self.texts + extra:,} {self.unit}s"
        return f"{pairs} and {self.texts:,} texts" if self.texts else pairs

    def count(self, part: str = "") -> None:
        """Count a pair that is read. `part`: the part that it is of, if there are several."""
        self.read += 1
        if part in self.parts:
            self.parts[part].read += 1

    def repair(self, cause: str, line: int) -> None:
        self.repaired[cause] += 1
        self.first.setdefault(cause, line)

    def drop(self, cause: str, count: int = 1, line: int | None = None, part: str = "") -> None:
        """Count dropped pairs. `part`: the part that they are of, if there are several."""
        if part in self.parts:
            self.parts[part].drop(cause, count, line)
        if count:
            self.dropped[cause] += count
        if line:
            self.first.setdefault(cause, line)
        assert self.kept >= 0, f"{cause}: more {self.unit}s dropped than were read"

    def causes(self) -> str:
        """How many were dropped for each cause, for an error message."""
        return ", ".join(f"{count:,} {cause}" for cause, count in self.dropped.items())

    def then(self, later: "Ledger") -> "Ledger":
        """The sum of this ledger and the ledger of the next stage, whose input is what this stage kept."""
        assert later.read == self.kept, f"{self.kept} {self.unit}s left one stage, {later.read} reached the next"
        parts = {name: part.then(later.parts[name]) for name, part in self.parts.items()}
        return replace(self.beside(later), read=self.read, parts=parts)

    def beside(self, other: "Ledger") -> "Ledger":
        """The sum of this ledger and that of other pairs."""
        repaired, dropped = self.repaired + other.repaired, self.dropped + other.dropped
        parts = {name: part.beside(other.parts[name]) for name, part in self.parts.items()}
        return Ledger(self.read + other.read, repaired, dropped, other.first | self.first, self.unit, parts)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` reads it back."""
        counts = {name: getattr(self, name) for name in ("unit", "read", "repaired", "dropped", "kept", "first")}
        return counts | ({"parts": {name: part.as_dict() for name, part in self.parts.items()}} if self.parts else {})

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> "Ledger":
        counters = Counter(saved["repaired"]), Counter(saved["dropped"])
        parts = {name: cls.from_dict(part) for name, part in saved.get("parts", {}).items()}
        ledger = cls(saved["read"], *counters, saved["first"], saved.get("unit", "pair"), parts)  # older ones: pairs
        require(ledger.kept == saved["kept"], f"a ledger doesn't add up: {saved['kept']} kept, but {saved}")
        return ledger


def ledger_table(ledgers: Mapping[str, Ledger]) -> "Table":
    """The ledgers of several splits side by side, a row for each cause, with the line where it first occurred."""
    from rich.table import Table

    units = " and ".join(dict.fromkeys(unit for ledger in ledgers.values() for unit in ledger.units)).capitalize()
    table = Table("", *ledgers, "first at", title=f"{units} read, repaired, dropped and kept", title_justify="left")
    for column in table.columns[1:-1]:
        column.justify = "right"
    table.add_row("read", *(f"{ledger.read:,}" for ledger in ledgers.values()))
    for verb in ("repaired", "dropped"):
        counts = [getattr(ledger, verb) for ledger in ledgers.values()]
        for cause in dict.fromkeys(cause for column in counts for cause in column):
            places = [f"{split}:{ledger.first[cause]}" for split, ledger in ledgers.items() if cause in ledger.first]
            cells = (f"{column[cause]:,}" if cause in column else "" for column in counts)
            table.add_row(f"{verb}: {cause}", *cells, places[0] if places else "")
    table.add_row("kept", *(f"{ledger.kept:,}" for ledger in ledgers.values()))
    for part in dict.fromkeys(part for ledger in ledgers.values() for part in ledger.parts):
        of_part = (ledger.parts.get(part) for ledger in ledgers.values())
        table.add_row(f"kept: {part}", *(f"{ledger.kept:,}" if ledger else "" for ledger in of_part))
    return table


@dataclass
class Examples:
    """A few of the pairs that each cause dropped, in their first characters: those with the least hashes, so that they
    don't depend on order. A pair that was dropped several times is kept once."""

    of: dict[str, list[tuple[bytes, Pair]]] = field(default_factory=dict)
    """By cause, with the hash of each pair, sorted."""

    def add(self, cause: str, pair: Pair) -> None:
        pair = pair[0][:SHOWN], pair[1][:SHOWN]
        kept, example = self.of.setdefault(cause, []), (digest("\n".join(pair)), pair)
        if example not in kept:
            insort(kept, example)
            del kept[EXAMPLES:]

    def add_all(self, dropped: Mapping[str, Sequence[Pair]], name: str = "") -> None:
        """Add the pairs of other examples, by cause; `name`: what each begins with, such as that of its corpus."""
        for cause, pairs in dropped.items():
            for source, target in pairs:
                self.add(cause, (f"{name} {source}" if name else source, target))

    def by_cause(self) -> dict[str, list[Pair]]:
        return {cause: [pair for _, pair in kept] for cause, kept in self.of.items()}


class Cleaner:
    """Decides about training pairs, one after another: it remembers those that it has kept."""

    def __init__(self, config: DataConfig, cleaning: CleaningConfig, held_out: HeldOut) -> None:
        """Raises ValueError if a filter needs a package that is missing."""
        self.config = config
        known = held_out.known if config.unit == "pair" else held_out.sentences
        self.known = known if config.drop_held_out else {}
        languages = config.languages if config.unit == "pair" or len(config.languages) == 1 else ()
        self.filters = make_filters(cleaning, languages)
        self.repair = package("ftfy", "cleaning").fix_encoding if "unicode" in cleaning.values else None
        self.repeats: Repeats | None = None
        if "contamination" in cleaning.values:
            self.repeats = held_out.all
        elif held_out.chosen and config.drop_held_out and cleaning.contamination is not False:
            self.repeats = held_out.repeats
        self.drops_alike = "alike" in cleaning.values
        self.alike: set[bytes] | None = set() if self.drops_alike else None
        """Hashes of the pairs that passed all other filters; None if no cleaner of this direction drops alike ones."""
        self.seen: set[Pair] = set()
        self.strict = False
        """Whether a target that occurs in val or test is as bad as such a source (several directions of one text)."""

    def cause(self, pair: Pair) -> str:
        """Why a tidied and repaired pair is dropped: the first cause; empty if it is kept, and then remembered."""
        shorter, longer = sorted(map(len, pair))
        if longer > self.config.max_characters:
            return f"longer than {self.config.max_characters:,} characters"
        if pair[0] and longer + LENGTH_OFFSET > self.config.max_ratio * (shorter + LENGTH_OFFSET):
            return f"lengths differ more than {self.config.max_ratio:g} times"
        if self.config.drop_duplicates and pair in self.seen:
            return "repeated"
        if split := self.known.get(known_by(pair)):
            return f"source occurs in {split}" if pair[0] else f"occurs in {split}"
        if self.strict and (split := self.known.get(pair[1])):
            return f"target occurs in {split}"
        found = next((cause for cause, is_bad in self.filters.items() if is_bad(*pair)), "")
        found = found or (self.repeats.find(pair) if self.repeats else "")
        if not found and self.alike is not None:
            if (key := alike_key(pair)) in self.alike and self.drops_alike:
                found = "alike an earlier one"
            self.alike.add(key)
        if not found:
            self.seen.add(pair)
        return found

    def clean(self, pairs: Iterable[Pair]) -> tuple[list[Pair], Ledger]:
        """The pairs that are kept, in their order and repaired, and the ledger of all."""
        ledger, kept = Ledger(unit=self.config.unit), list[Pair]()
        for read in pairs:
            ledger.read += 1
            pair = self.repaired(read, ledger.repaired)
            if cause := self.cause(pair):
                ledger.drop(cause)
            else:
                kept.append(pair)
        return kept, ledger

    def repaired(self, pair: Pair, repaired: Counter[str]) -> Pair:
        """The pair, with cleaning.unicode as it was before it was decoded wrongly; counts it if it is another one."""
        if not self.repair or all(map(str.isascii, pair)):
            return pair
        source, target = (tidy(self.repair(text)) if text else text for text in pair)
        if (source, target) == pair or not target or (pair[0] and not source):
            return pair
        repaired["wrong decoding undone"] += 1
        return source, target


def require_pairs(ledger: Ledger) -> None:
    """Raise ValueError, with the causes, if no training pair is left, or no text of a corpus of texts."""
    problem = f"no training {ledger.unit} is left of {ledger.read:,}: {ledger.causes()}"
    require(ledger.kept > ledger.texts, f"{problem}; see data.max_*, data.drop_*, data.least_quality and cleaning.*")
