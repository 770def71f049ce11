"""Training pairs filtered: tidied pairs flow in; those that are kept flow out, with a ledger of the others."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nmt.config import DataConfig

if TYPE_CHECKING:
    from rich.table import Table

Pair = tuple[str, str]
"""Source and target sentence."""

_LENGTH_OFFSET = 10  # added to both lengths before their ratio, so that "Ja" / "That's right" passes


@dataclass
class Ledger:
    """What became of the pairs of one split: each that is read is kept, or dropped for a named cause.

    Reading and dropping count pairs, repairs count sentences. Causes stand in the order in which they struck.
    """

    read: int = 0
    repaired: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    """The line (or row), from 1, where a cause of reading struck first."""

    @property
    def kept(self) -> int:
        return self.read - sum(self.dropped.values())

    def repair(self, cause: str, count: int = 1, line: int = 0) -> None:
        self._count(self.repaired, cause, count, line)

    def drop(self, cause: str, count: int = 1, line: int = 0) -> None:
        self._count(self.dropped, cause, count, line)
        assert self.kept >= 0, f"{cause}: more pairs dropped than were read"

    def _count(self, causes: dict[str, int], cause: str, count: int, line: int) -> None:
        if count:
            causes[cause] = causes.get(cause, 0) + count
        if count and line:
            self.first.setdefault(cause, line)

    def then(self, later: "Ledger") -> "Ledger":
        """This ledger continued by that of a later stage, which read what this one kept."""
        assert later.read == self.kept, f"{self.kept} pairs left one stage, {later.read} reached the next"
        whole = Ledger(self.read, dict(self.repaired), dict(self.dropped), dict(self.first))
        for cause, count in later.repaired.items():
            whole.repair(cause, count, later.first.get(cause, 0))
        for cause, count in later.dropped.items():
            whole.drop(cause, count, later.first.get(cause, 0))
        return whole

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` reads it back."""
        return {
            "read": self.read,
            "repaired": self.repaired,
            "dropped": self.dropped,
            "kept": self.kept,
            "first": self.first,
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> "Ledger":
        ledger = cls(saved["read"], saved["repaired"], saved["dropped"], saved["first"])
        if ledger.kept != saved["kept"]:
            raise ValueError(
                f"a ledger doesn't add up: it has {saved['kept']} pairs as kept, where {ledger.read} "
                f"read less those dropped are {ledger.kept}"
            )
        return ledger


def ledger_table(ledgers: Mapping[str, Ledger]) -> "Table":
    """The ledgers of some splits side by side, a row for each cause, with the line where it struck first."""
    from rich.table import Table

    table = Table("", *ledgers, "first at", title="Pairs, by what became of them", title_justify="left")
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
    """Drop training pairs that are too long, too unequal, repeated, or known from the validation and test text.

    Args:
        pairs: tidied training pairs, neither side blank.
        held_out: the source sentences of the validation and test text; a set, for speed.

    Returns:
        The pairs kept, in their order, and how many were dropped for the first cause that applied.
    """
    ledger = Ledger(read=len(pairs))
    kept: list[Pair] = []
    seen: set[Pair] = set()
    for pair in pairs:
        if cause := _unfit(pair, config):
            ledger.drop(cause)
        elif config.drop_duplicates and pair in seen:
            ledger.drop("repeated")
        elif config.drop_held_out and pair[0] in held_out:
            ledger.drop("source occurs in val or test")
        else:
            kept.append(pair)
            seen.add(pair)
    return kept, ledger


def require_pairs(pairs: Sequence[Pair], ledger: Ledger) -> None:
    """Raises ValueError, with the causes, if no training pair is left."""
    if not pairs:
        causes = ", ".join(f"{count:,} {cause}" for cause, count in ledger.dropped.items())
        raise ValueError(f"no training pair is left of {ledger.read:,}: {causes}; see data.max_* and data.drop_*")


def _unfit(pair: Pair, config: DataConfig) -> str:
    """The cause for dropping that lies in the pair's lengths; empty if there is none."""
    shorter, longer = sorted((len(pair[0]), len(pair[1])))
    if longer > config.max_characters:
        return f"longer than {config.max_characters:,} characters"
    if longer + _LENGTH_OFFSET > config.max_ratio * (shorter + _LENGTH_OFFSET):
        return f"lengths differ more than {config.max_ratio:g} times"
    return ""
