"""More corpora to train on (data.more): the training pairs of each flow out after those of data.corpus.

The number of a pair's corpus is the `corpus` of its `Row`; 0 is data.corpus, which gives the val and test text too.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from nmt.config import DataConfig
from nmt.data.cleaning import Ledger
from nmt.data.corpora.corpus import Corpus
from nmt.data.portions import portions_of
from nmt.data.texts import Row, Texts


def read_more(config: DataConfig, read: Callable[[DataConfig], Corpus]) -> Corpus:
    """The corpus with the training pairs of data.more; `read`: reads one corpus. ValueError if one can't be read."""
    one = replace(config, more=())
    names = [portion.name for portion in portions_of(config)]
    corpus = read(one)
    train, ledgers = Texts.of(corpus.train), {names[0]: corpus.ledgers["train"]}
    for number, entry in enumerate(config.more, start=1):
        other = read(replace(one, corpus=entry.corpus))
        for row in training_rows(other):
            train.append(row._replace(corpus=number))
        ledgers[names[number]] = other.ledgers["train"]
    return replace(corpus, train=train, ledgers=corpus.ledgers | {"train": Ledger.total(ledgers)})


def training_rows(corpus: Corpus) -> Iterator[Row]:
    """The training pairs, with those that were held out for val and tests that the corpus lacks: nothing needs them."""
    yield from Texts.of(corpus.train).rows()
    for split, pairs in {"val": corpus.val, **corpus.tests}.items():
        if corpus.ledgers["train"].dropped.pop(f"held out for {split}", 0):
            yield from (Row(*pair) for pair in pairs)
