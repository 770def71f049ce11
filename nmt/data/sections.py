"""Sections of a text: pairs that belong together, since they are of one corpus and in one direction.

Training text has a section for each direction of data.corpus, then those of each corpus of data.more; the `corpus` of a
`Row` is the number of its section. Val text has a section for each set that is measured by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

from nmt.config import CleaningConfig, DataConfig
from nmt.config.data import CorpusConfig, Text, last_part
from nmt.data.cleaning.cleaner import Cleaner, Examples, Ledger, Pair
from nmt.data.cleaning.filters import HeldOut
from nmt.data.texts import Row
from nmt.data.tokenizer import Start, Tokenizer
from nmt.fields import require
from nmt.vocabulary import UNK


@dataclass(frozen=True)
class Section:
    """Pairs of one corpus in one direction."""

    name: str
    source: str
    target: str
    rows: int = 0
    """Number of its pairs; 0 before it is known."""
    tag: str = ""
    """The piece before the source that names the corpus; empty if none does."""
    weight: float = 1.0
    corpus: str = ""
    cleaning: CleaningConfig | None = None
    """The filters of the corpus; None if it has none of its own."""
    text: Text = "pairs"
    """What the corpus consists of: pairs, or sentences, whose rows have an empty source."""

    @property
    def direction(self) -> tuple[str, str]:
        return self.source, self.target

    def as_dict(self) -> dict[str, Any]:
        """For JSON. Weights and filters are settings, which are recorded elsewhere: weights may change later."""
        return {name: value for name, value in vars(self).items() if name not in ("weight", "cleaning")}


def sections_of(config: DataConfig) -> list[Section]:
    """The sections of the training text that these settings name."""
    sections = []
    for corpus in [CorpusConfig(corpus="main", name=last_part(config.corpus)), *config.more]:
        for source, target in config.of(corpus).directions:
            parts = [corpus.shown_name] if config.more else []
            parts += [f"{source}-{target}"] if config.many_to_many or not parts else []
            tag = f"<{corpus.tag}>" if corpus.tag else ""
            of_corpus = tag, corpus.weight, corpus.shown_name, corpus.cleaning, corpus.text
            sections.append(Section(" ".join(parts), source, target, 0, *of_corpus))
    return sections


def weighted(sections: Sequence[Section], config: DataConfig) -> list[Section]:
    """Stored sections with the weights of these settings."""
    weights = {entry.shown_name: entry.weight for entry in config.more}
    return [replace(section, weight=weights.get(section.corpus, 1.0)) for section in sections]


def labels(sections: Sequence[Section]) -> list[str]:
    """What the figures of val sets are called: its name, its direction or both, whatever differs between sets."""
    names, directions = [s.name for s in sections], ["-".join(s.direction) for s in sections]
    differ = [len(set(parts)) > 1 for parts in (names, directions)]
    return [".".join(compress(parts, differ)) for parts in zip(names, directions, strict=True)]


class Tally:
    """Counts rows by section, if there are several, and keeps examples of those that are dropped."""

    def __init__(self, sections: Sequence[Section], unit: str) -> None:
        self.names, self.examples = [section.name for section in sections], Examples()
        parts = {name: Ledger(unit=unit) for name in self.names} if len(sections) > 1 else {}
        self.ledger = Ledger(unit=unit, parts=parts)

    def count(self, row: Row) -> None:
        self.ledger.count(self.names[row.corpus])

    def drop(self, row: Row, cause: str) -> None:
        self.ledger.drop(cause, part=self.names[row.corpus])
        self.examples.add(cause, row.pair)

    def as_dict(self) -> dict[str, Any]:
        return {"ledger": self.ledger.as_dict(), "dropped": self.examples.by_cause()}


def cleaners_for(
    config: DataConfig, sections: Sequence[Section], cleaning: CleaningConfig, held_out: HeldOut
) -> list[Cleaner]:
    """For each section the cleaner of its direction and filters. Those of a direction share what they remember, so that
    no corpus repeats another one. What is held out of one direction is held out of all."""
    plain, kinds = replace(config, many_to_many=(), more=()), list[tuple[DataConfig, CleaningConfig]]()
    for section in sections:
        of_section = replace(plain, source=section.source, target=section.target).reading(section.text)
        kinds.append((of_section, section.cleaning or cleaning))
    made = {kind: Cleaner(*kind, held_out) for kind in kinds}
    any_alike = any(cleaner.drops_alike for cleaner in made.values())
    remembered = {section.direction: (set[Pair](), set[bytes]() if any_alike else None) for section in sections}
    for section, kind in zip(sections, kinds, strict=True):
        made[kind].seen, made[kind].alike = remembered[section.direction]
        made[kind].strict = len(remembered) > 1
    return [made[kind] for kind in kinds]


def starts_of(tokenizer: Tokenizer, sections: Sequence[Section]) -> list[Start]:
    """What the pairs of each section begin with. ValueError if the tokenizer lacks the piece of a tag."""
    if len(sections) < 2:
        return [tokenizer.starts()]
    starts = list[Start]()
    for section in sections:
        source, target = tokenizer.for_corpus(*section.direction).starts()
        tag = [tokenizer.source.piece_to_id(section.tag)] if section.tag else []
        require(UNK not in tag, f"the tokenizer has no piece {section.tag}: train one (leave tokenizer.folder out)")
        starts.append((source + tag, target))
    return starts
