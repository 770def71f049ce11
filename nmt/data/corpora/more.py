"""More corpora to train on (data.more): the training pairs of each flow out after those of data.corpus.

The `corpus` of a `Row` is the number of its section (see `nmt.data.sections`): 0 is data.corpus, or its first
direction. The val and test text is that of data.corpus, with the val text of corpora that say `validate`.
"""

from collections.abc import Callable, Collection
from dataclasses import replace

from nmt.config import DataConfig
from nmt.data.cleaning import Ledger, gathered
from nmt.data.corpora.corpus import Corpus
from nmt.data.sections import Section, sections_of
from nmt.data.texts import Texts


def read_more(config: DataConfig, read: Callable[[DataConfig, Collection[str]], Corpus]) -> Corpus:
    """The corpus with the training pairs of data.more; `read`: reads one corpus, and holds missing text of these splits
    out. ValueError if one can't be read."""
    one, names = replace(config, more=()), [section.name for section in sections_of(config)]
    corpus, first = read(one, ("val", "test")), len(one.directions)
    train, val, val_sets = Texts.of(corpus.train), [*corpus.val], corpus.val_sets or [val_set_of(corpus, one)]
    ledgers, dropped = dict(zip(names, parts_of(corpus), strict=False)), [corpus.dropped]
    for entry in config.more:
        other = read(config.of(entry), ("val",) if entry.validate else ())
        for row in Texts.of(other.train).rows():
            train.append(row._replace(corpus=first + row.corpus))
        corpus.commits.update(other.commits)
        ledgers |= dict(zip(names[first:], parts_of(other), strict=False))
        dropped.append(other.dropped)
        first += len(config.of(entry).directions)
        if entry.validate:
            val += other.val
            own = other.val_sets or [val_set_of(other, one)]
            val_sets += [replace(part, name=part.name.replace("val", entry.shown_name, 1)) for part in own]
            corpus.chosen += [split for split in other.chosen if split not in corpus.chosen]
    val_sets = val_sets if len(val_sets) > 1 else []
    examples = gathered(dict(zip(config.corpus_names, dropped, strict=True)))
    ledgers = corpus.ledgers | {"train": Ledger.total(ledgers)}
    return replace(corpus, train=train, val=val, val_sets=val_sets, ledgers=ledgers, dropped=examples)


def parts_of(corpus: Corpus) -> list[Ledger]:
    """The ledger of the training text of each direction."""
    return [*corpus.ledgers["train"].parts.values()] or [corpus.ledgers["train"]]


def val_set_of(corpus: Corpus, config: DataConfig) -> Section:
    return Section("val", config.source, config.target, len(corpus.val))
