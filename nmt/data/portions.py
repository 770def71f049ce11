"""Portions of a training text: the pairs of one corpus in one direction; the `corpus` of a `Row` is their number.

The portions of data.corpus come first, then those of each corpus of data.more; each has all directions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nmt.config import CleaningConfig, DataConfig
from nmt.config.data import CorpusConfig, last_part
from nmt.data.cleaning import Cleaner, Ledger, Pair
from nmt.data.filters import Seen
from nmt.data.tokenizer import Start, Tokenizer
from nmt.fields import require
from nmt.vocabulary import UNK


@dataclass(frozen=True)
class Portion:
    """The pairs of one corpus in one direction."""

    source: str
    target: str
    name: str
    """In ledgers."""
    weight: float = 1.0
    tag: str = ""
    """The piece before the source that names the corpus; empty if none does."""
    corpus: str = ""
    """The name of the corpus."""
    cleaning: CleaningConfig | None = None
    """The filters of the corpus; None if it has none of its own."""


def portions_of(config: DataConfig) -> list[Portion]:
    """The portions that these settings name; the number of a portion is its place here."""
    corpora = [CorpusConfig(corpus="main", name=last_part(config.corpus)), *config.more]
    portions = []
    for corpus in corpora:
        for source, target in config.of(corpus).directions:
            parts = [corpus.shown_name] if config.more else []
            parts += [f"{source}-{target}"] if config.many_to_many or not parts else []
            tag = f"<{corpus.tag}>" if corpus.tag else ""
            own = corpus.weight, tag, corpus.shown_name, corpus.cleaning
            portions.append(Portion(source, target, " ".join(parts), *own))
    return portions


def tags_of(config: DataConfig) -> list[str]:
    """The pieces that name corpora."""
    return list(dict.fromkeys(portion.tag for portion in portions_of(config) if portion.tag))


def ledger_for(config: DataConfig) -> Ledger:
    """A ledger in which nothing is counted yet; if there are several portions, with one for each."""
    portions = portions_of(config)
    parts = {portion.name: Ledger(unit=config.unit) for portion in portions} if len(portions) > 1 else {}
    return Ledger(unit=config.unit, parts=parts)


def cleaners_for(
    config: DataConfig, cleaning: CleaningConfig, held_out: Mapping[str, Sequence[Pair]], examples: int
) -> list[Cleaner]:
    """For each portion the cleaner of its direction and filters, which knows its languages; see `Cleaner`. All share
    their examples, and those of a direction what they remember, so that no corpus repeats another one. What is held out
    of one direction is held out of all."""
    one, made = replace(config, many_to_many=(), more=()), dict[tuple[str, str, CleaningConfig], Cleaner]()
    kinds = [(p.source, p.target, p.cleaning or cleaning) for p in portions_of(config)]
    for source, target, filters in dict.fromkeys(kinds):
        own = replace(one, source=source, target=target)
        made[source, target, filters] = Cleaner(own, filters, held_out, examples)
    first, any_alike = made[kinds[0]], any(cleaner.drops_alike for cleaner in made.values())
    remembered = {direction: (set[Pair](), Seen() if any_alike else None) for direction in config.directions}
    for (source, target, _), cleaner in made.items():
        cleaner.seen, cleaner.alike = remembered[source, target]
        cleaner.examples, cleaner.strict = first.examples, len(remembered) > 1
    return [made[kind] for kind in kinds]


def starts_of(tokenizer: Tokenizer, portions: Sequence[Portion]) -> list[Start]:
    """What the pairs of each portion begin with. ValueError if the tokenizer lacks the piece of a tag."""
    if len(portions) < 2:
        return [tokenizer.starts()]
    starts = list[Start]()
    for portion in portions:
        source, target = tokenizer.for_corpus(portion.source, portion.target).starts()
        tag = [tokenizer.source.piece_to_id(portion.tag)] if portion.tag else []
        require(UNK not in tag, f"the tokenizer has no piece {portion.tag}: train one (leave tokenizer.folder out)")
        starts.append((source + tag, target))
    return starts
