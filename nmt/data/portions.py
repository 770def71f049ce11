"""Portions of a training text: the pairs of one corpus in one direction; the `corpus` of a `Row` is their number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nmt.config import CleaningConfig, DataConfig
from nmt.data.cleaning import Cleaner, Ledger, Pair
from nmt.data.tokenizer import Start, Tokenizer


@dataclass(frozen=True)
class Portion:
    """The pairs of one corpus in one direction."""

    source: str
    target: str

    @property
    def name(self) -> str:
        return f"{self.source}-{self.target}"


def portions_of(config: DataConfig) -> list[Portion]:
    """The portions that these settings name; the number of a portion is its place here."""
    return [Portion(*direction) for direction in config.directions]


def ledger_for(config: DataConfig) -> Ledger:
    """A ledger in which nothing is counted yet; if there are several portions, with one for each."""
    portions = portions_of(config)
    parts = {portion.name: Ledger(unit=config.unit) for portion in portions} if len(portions) > 1 else {}
    return Ledger(unit=config.unit, parts=parts)


def cleaners_for(
    config: DataConfig, cleaning: CleaningConfig, held_out: Mapping[str, Sequence[Pair]], examples: int
) -> list[Cleaner]:
    """A cleaner for the pairs of each portion, which knows its languages; see `Cleaner`. They share their examples.
    What is held out of one direction is held out of all."""
    if not config.many_to_many:
        return [Cleaner(config, cleaning, held_out, examples)]
    one = replace(config, many_to_many=())
    settings = [replace(one, source=portion.source, target=portion.target) for portion in portions_of(config)]
    cleaners = [Cleaner(of_portion, cleaning, held_out, examples) for of_portion in settings]
    for cleaner in cleaners:
        cleaner.examples, cleaner.strict = cleaners[0].examples, True
    return cleaners


def starts_of(tokenizer: Tokenizer, portions: Sequence[Portion]) -> list[Start]:
    """What the pairs of each portion begin with."""
    if len(portions) < 2:
        return [tokenizer.starts()]
    return [tokenizer.between(portion.source, portion.target).starts() for portion in portions]
