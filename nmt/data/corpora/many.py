"""Reader of a corpus with several languages side by side: the pairs of each direction flow out, one after another.

Each two languages are read as a corpus of pairs, which is turned round for the other direction. The number of a pair's
direction is the `corpus` of its `Row`. The tests of each direction are named by it: test.de-fr.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

from nmt.config import DataConfig
from nmt.data.cleaning import Ledger, Pair, gathered
from nmt.data.corpora.corpus import Corpus
from nmt.data.sections import Section, sections_of
from nmt.data.texts import Row, Texts


@dataclass(frozen=True)
class Direction:
    """The pairs of two languages, perhaps to be turned round."""

    corpus: Corpus
    turned: bool

    def pair(self, pair: Pair) -> Pair:
        return (pair[1], pair[0]) if self.turned else pair


def read_many(config: DataConfig, read: Callable[[DataConfig], Corpus]) -> Corpus:
    """The corpus of all directions; `read`: reads that of one. ValueError if it lacks pairs of two languages."""
    directions: dict[str, Direction] = {}
    for a, b in combinations(config.many_to_many, 2):
        corpus = read(replace(config, many_to_many=(), source=a, target=b))
        directions |= {f"{a}-{b}": Direction(corpus, False), f"{b}-{a}": Direction(corpus, True)}
    sections = sections_of(config)
    names = [section.name for section in sections]
    train, val, tests, val_sets = Texts(), list[Pair](), dict[str, list[Pair]](), list[Section]()
    for number, (name, section) in enumerate(zip(names, sections, strict=True)):
        one = directions[name]
        assert isinstance(one.corpus.train, Texts)
        for row in one.corpus.train.rows():
            train.append(Row(*one.pair(row.pair), number, row.line, weight=row.weight))
        val += map(one.pair, one.corpus.val)
        own = one.corpus.val_sets or [Section("val", "", "", len(one.corpus.val))]
        val_sets += [replace(part, source=section.source, target=section.target) for part in own]
        tests |= {f"{test}.{name}": list(map(one.pair, pairs)) for test, pairs in one.corpus.tests.items()}
    corpora = {name: directions[name].corpus for name in names}
    splits = dict.fromkeys(split for corpus in corpora.values() for split in corpus.ledgers)
    ledgers = {split: Ledger.total({name: c.ledgers[split] for name, c in corpora.items()}) for split in splits}
    notes = list(dict.fromkeys(note for corpus in corpora.values() for note in corpus.notes))
    dropped = gathered({name: one.corpus.dropped for name, one in directions.items() if not one.turned})
    held_out = [(name, split) for name, corpus in corpora.items() for split in corpus.chosen]
    chosen = list(dict.fromkeys("val" if split == "val" else f"{split}.{name}" for name, split in held_out))
    first = corpora[names[0]]
    whole = first.name, train, val, tests, ledgers, notes, val_sets, first.commits
    return Corpus(*whole, dropped=dropped, chosen=chosen)
