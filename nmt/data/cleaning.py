"""Filters of training pairs: tidied pairs flow in; kept pairs flow out, with a ledger that counts the dropped ones.

A text without a translation is a pair whose source is empty.

To add a filter, add a setting to `DataConfig` and a branch to `clean` that drops a pair with a cause. Three other
filters need more than a pair: `drop_doubtful` (a pair scorer) and `drop_long` (pieces) in `nmt.data.prepared`, and
`nmt.data.corpora.files.load_sentences` (one language).
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nmt.config import DataConfig
from nmt.fields import require

if TYPE_CHECKING:
    from rich.table import Table

Pair = tuple[str, str]  # source and target sentence, or an empty source and a text without a translation
LENGTH_OFFSET = 10  # added to both lengths before their ratio, so that "Ja" / "That's right" passes


@dataclass
class Ledger:
    """Counts for one split, by cause. Each pair (or text) that is read is kept or dropped; each sentence may be
    repaired."""

    read: int = 0
    repaired: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    """The line (or row), from 1, where a cause first occurred in reading."""
    unit: str = "pair"
    """What is counted: pair or text."""

    @property
    def kept(self) -> int:
        return self.read - self.dropped.total()

    def repair(self, cause: str, line: int) -> None:
        self.repaired[cause] += 1
        self.first.setdefault(cause, line)

    def drop(self, cause: str, count: int = 1, line: int | None = None) -> None:
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
        repaired, dropped = self.repaired + later.repaired, self.dropped + later.dropped
        return Ledger(self.read, repaired, dropped, later.first | self.first, self.unit)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` reads it back."""
        return {name: getattr(self, name) for name in ("unit", "read", "repaired", "dropped", "kept", "first")}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> "Ledger":
        counters = Counter(saved["repaired"]), Counter(saved["dropped"])
        ledger = cls(saved["read"], *counters, saved["first"], saved.get("unit", "pair"))  # older ones count pairs
        require(ledger.kept == saved["kept"], f"a ledger doesn't add up: {saved['kept']} kept, but {saved}")
        return ledger


def ledger_table(ledgers: Mapping[str, Ledger]) -> "Table":
    """The ledgers of several splits side by side, a row for each cause, with the line where it first occurred."""
    from rich.table import Table

    units = " and ".join(dict.fromkeys(f"{ledger.unit}s" for ledger in ledgers.values())).capitalize()
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
    return table


def known_by(pair: Pair) -> str:
    """The sentence by which a pair is recognised in held-out text: its source, or its text if it has no source."""
    return pair[0] or pair[1]


def clean(pairs: Sequence[Pair], config: DataConfig, held_out: Collection[str]) -> tuple[list[Pair], Ledger]:
    """Drop training pairs that are too long, of too different lengths, repeated, or in the validation or test text.

    `pairs` are tidied, and no target is blank; `held_out` has `known_by` of each validation and test pair.
    Returns the kept pairs, in their order, and the ledger; a pair is counted for the first cause that applies.
    """
    ledger = Ledger(read=len(pairs), unit=config.unit)
    kept, seen = list[Pair](), set[Pair]()
    for pair in pairs:
        shorter, longer = sorted(map(len, pair))
        if longer > config.max_characters:
            ledger.drop(f"longer than {config.max_characters:,} characters")
        elif pair[0] and longer + LENGTH_OFFSET > config.max_ratio * (shorter + LENGTH_OFFSET):
            ledger.drop(f"lengths differ more than {config.max_ratio:g} times")
        elif config.drop_duplicates and pair in seen:
            ledger.drop("repeated")
        elif config.drop_held_out and known_by(pair) in held_out:
            ledger.drop("source occurs in val or test" if pair[0] else "occurs in val or test")
        else:
            kept.append(pair)
            seen.add(pair)
    return kept, ledger


def require_pairs(pairs: Sequence[Pair], ledger: Ledger) -> None:
    """Raise ValueError, with the causes, if no training pair or text is left."""
    problem = f"no training {ledger.unit} is left of {ledger.read:,}: {ledger.causes()}"
    require(len(pairs) > 0, f"{problem}; see data.max_*, data.drop_* and data.least_quality")
