"""Several directions, or corpora, become one corpus: the training pairs of each flow out, one after another.

The `corpus` of a `Row` is the number of its section (see `nmt.data.sections`).
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import combinations

from nmt.config import DataConfig
from nmt.data.cleaning.cleaner import Examples, Ledger, Pair
from nmt.data.corpora.corpus import Corpus
from nmt.data.sections import Section, sections_of
from nmt.data.texts import Row, Texts


def read_many(config: DataConfig, read: Callable[[DataConfig], Corpus]) -> Corpus:
    """The corpus of all directions of data.many_to_many; the tests of each are named by it: test.de-fr. `read`: reads
    the pairs of two languages, which are turned round for the other direction; ValueError if there are none."""
    both = combinations(config.many_to_many, 2)
    read_once = {(a, b): read(replace(config, many_to_many=(), source=a, target=b)) for a, b in both}
    train, val, tests, val_sets = Texts(), list[Pair](), dict[str, list[Pair]](), list[Section]()
    corpora, examples = dict[str, Corpus](), Examples()
    for number, section in enumerate(sections_of(config)):
        name, is_turned = section.name, section.direction not in read_once
        corpus = corpora[name] = read_once[turned(section.direction, is_turned)]
        for row in corpus.train.rows():
            train.append(Row(*turned(row.pair, is_turned), number, row.line))
        val += [turned(pair, is_turned) for pair in corpus.val]
        source, target = section.direction
        val_sets += [replace(part, source=source, target=target) for part in val_sets_of(corpus, config)]
        tests |= {f"{test}.{name}": [turned(p, is_turned) for p in pairs] for test, pairs in corpus.tests.items()}
        if not is_turned:
            examples.add_all(corpus.dropped, name)
    splits = dict.fromkeys(split for corpus in corpora.values() for split in corpus.ledgers)
    of_splits = ({name: c.ledgers[split] for name, c in corpora.items() if split in c.ledgers} for split in splits)
    ledgers = dict(zip(splits, map(Ledger.total, of_splits), strict=True))
    notes = list(dict.fromkeys(note for corpus in corpora.values() for note in corpus.notes))
    held_out = [(name, split) for name, corpus in corpora.items() for split in corpus.chosen]
    chosen = list(dict.fromkeys("val" if split == "val" else f"{split}.{name}" for name, split in held_out))
    first = next(iter(corpora.values()))
    whole = first.name, train, val, tests, ledgers, notes, val_sets, first.commits
    return Corpus(*whole, dropped=examples.by_cause(), chosen=chosen)


def turned(pair: Pair, is_turned: bool) -> Pair:
    return (pair[1], pair[0]) if is_turned else pair


def read_more(config: DataConfig, read: Callable[[DataConfig, Collection[str]], Corpus]) -> Corpus:
    """The corpus with the training pairs of data.more, and the val text of those that say `validate`. `read`: reads one
    corpus, and holds missing text of these splits out; ValueError if it can't be read."""
    alone, names = replace(config, more=()), [section.name for section in sections_of(config)]
    corpus, first = read(alone, ("val", "test")), len(alone.directions)
    train, val, val_sets = corpus.train, [*corpus.val], val_sets_of(corpus, alone)
    ledgers, of_vals, examples = dict(zip(names, parts_of(corpus), strict=False)), dict[str, Ledger](), Examples()
    examples.add_all(corpus.dropped, config.corpus_names[0])
    for entry in config.more:
        other = read(config.of(entry), ("val",) if entry.validate else ())
        for row in other.train.rows():
            train.append(row._replace(corpus=first + row.corpus))
        corpus.commits.update(other.commits)
        corpus.notes += other.notes
        ledgers |= dict(zip(names[first:], parts_of(other), strict=False))
        examples.add_all(other.dropped, entry.shown_name)
        first += len(config.of(entry).directions)
        if entry.validate:
            val += other.val
            of_vals |= {f"{k} of {entry.shown_name}": v for k, v in other.ledgers.items() if k.startswith("val")}
            parts = val_sets_of(other, alone)
            val_sets += [replace(part, name=part.name.replace("val", entry.shown_name, 1)) for part in parts]
            corpus.chosen += [split for split in other.chosen if split not in corpus.chosen]
    val_sets = val_sets if len(val_sets) > 1 else []
    ledgers = corpus.ledgers | {"train": Ledger.total(ledgers)} | of_vals
    return replace(corpus, train=train, val=val, val_sets=val_sets, ledgers=ledgers, dropped=examples.by_cause())


def parts_of(corpus: Corpus) -> list[Ledger]:
    """The ledger of the training text of each direction."""
    return [*corpus.ledgers["train"].parts.values()] or [corpus.ledgers["train"]]


def val_sets_of(corpus: Corpus, config: DataConfig) -> list[Section]:
    return corpus.val_sets or [Section("val", config.source, config.target, len(corpus.val))]
