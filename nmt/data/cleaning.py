"""Filters of training pairs: tidied pairs flow in; kept pairs flow out, with a ledger that counts the dropped ones.

To add a filter, add a setting to `DataConfig` and a branch to `clean` that drops a pair with a cause. Two other filters
need more than a pair: `nmt.data.prepared.drop_long` (pieces), `nmt.data.corpora.files.load_sentences` (one language).
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nmt.config import DataConfig
from nmt.fields import require

if TYPE_CHECKING:
    from rich.table import Table

Pair = tuple[str, str]  # source and target sentence
LENGTH_OFFSET = 10  # added to both lengths before their ratio, so that "Ja" / "That's right" passes


@dataclass
class Ledger:
    """Counts for one split, by cause. Each pair that is read is kept or dropped; each sentence may be repaired."""

    read: int = 0
    repaired: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    """The line (or row), from 1, where a cause first occurred in reading."""

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
        assert self.kept >= 0, f"{cause}: more pairs dropped than were read"

    def causes(self) -> str:
        """How many pairs were dropped for each cause, for an error message."""
        return ", ".join(f"{count:,} {cause}" for cause, count in self.dropped.items())

    def then(self, later: "Ledger") -> "Ledger":
        """The sum of this ledger and the ledger of the next stage, whose input is the pairs that this stage kept."""
        assert later.read == self.kept, f"{self.kept} pairs left one stage, {later.read} reached the next"
        repaired, dropped = self.repaired + later.repaired, self.dropped + later.dropped
        return Ledger(self.read, repaired, dropped, later.first | self.first)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` reads it back."""
        return {name: getattr(self, name) for name in ("read", "repaired", "dropped", "kept", "first")}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> "Ledger":
        ledger = cls(saved["read"], Counter(saved["repaired"]), Counter(saved["dropped"]), saved["first"])
        require(ledger.kept == saved["kept"], f"a ledger doesn't add up: {saved['kept']} kept, but {saved}")
        return ledger


def ledger_table(ledgers: Mapping[str, Ledger]) -> "Table":
    """The ledgers of several splits side by side, a row for each cause, with the line where it first occurred."""
    from rich.table import Table

    table = Table("", *ledgers, "first at", title="Pairs read, repaired, dropped and kept", title_justify="left")
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


def clean(pairs: Sequence[Pair], config: DataConfig, held_out: Collection[str]) -> tuple[list[Pair], Ledger]:
    """Drop training pairs that are too long, of too different lengths, repeated, or in the validation or test text.

    `pairs` are tidied, and neither side is blank; `held_out` are the source sentences of the validation and test text.
    Returns the kept pairs, in their order, and the ledger; a pair is counted for the first cause that applies.
    """
    ledger = Ledger(read=len(pairs))
    kept, seen = list[Pair](), set[Pair]()
    for pair in pairs:
        shorter, longer = sorted(map(len, pair))
        if longer > config.max_characters:
            ledger.drop(f"longer than {config.max_characters:,} characters")
        elif longer + LENGTH_OFFSET > config.max_ratio * (shorter + LENGTH_OFFSET):
            ledger.drop(f"lengths differ more than {config.max_ratio:g} times")
        elif config.drop_duplicates and pair in seen:
            ledger.drop("repeated")
        elif config.drop_held_out and pair[0] in held_out:
            ledger.drop("source occurs in val or test")
        else:
            kept.append(pair)
            seen.add(pair)
    return kept, ledger


def require_pairs(pairs: Sequence[Pair], ledger: Ledger) -> None:
    """Raise ValueError, with the causes, if no training pair is left."""
    problem = f"no training pair is left of {ledger.read:,}: {ledger.causes()}"
    require(len(pairs) > 0, f"{problem}; see data.max_* and data.drop_*")
