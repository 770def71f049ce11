"""A corpus in memory, assembled from the splits that a reader has read.

Val or test text that is missing is held out of the training pairs: for each split 5% of the distinct source sentences
(or texts without a translation), at most 1,000, with one pair each: the sentences with the smallest hashes. So they are
the same on every machine and in any order of lines, and mostly stay the same when the corpus grows.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nmt.config import CleaningConfig, DataConfig
from nmt.data.cleaning.cleaner import SHOWN, Cleaner, Examples, Ledger, Pair, require_pairs
from nmt.data.cleaning.filters import HeldOut, digest, known_by
from nmt.data.cleaning.losses import advise
from nmt.data.sections import Section
from nmt.data.texts import Row, Texts
from nmt.fields import require
from nmt.text.normalise import INVALID, tidy

VAL_NAMES = ("val", "valid", "validation", "dev")
ONLY_TEXT = "text"  # a column or key that may hold the text in one language, if none has the language's name
HELD_OUT, HELD_OUT_SHARE = 1000, 20  # held out for a missing split: at most 1,000 pairs, and 1 source sentence in 20


class Split:
    """The pairs of one split, or its texts without translations, tidied and counted as they are read."""

    def __init__(self, config: DataConfig, training: bool) -> None:
        self.config, self.training = config, training
        self.paired = config.unit == "pair"
        self.blank = "a side is blank" if self.paired else "blank"
        self.pairs = Texts()
        self.files: list[Path] = []
        """Those that are read, if any are."""
        self.lines_before = 0
        """Lines of the files that were read before this one: a folder may have several, whose lines go on."""
        self.notes: list[str] = []
        self.ledger = Ledger(unit=config.unit)
        self.examples = Examples()

    def add(self, row: Sequence[object], line: int, raw: str = "") -> None:
        """Read a row, which has a sentence in each of `config.languages`: a pair or, without pairs, a text each. `raw`:
        the row in its file, which is shown if it lacks a text."""
        if self.paired:
            self.keep(row, line, "one or both languages", raw)
            return
        for language, text in zip(self.config.languages, row, strict=True):
            self.keep([text], line, language, raw)

    def keep(self, texts: Sequence[object], line: int, languages: str = "", raw: str = "") -> None:
        """Keep a pair, or one text, or drop it and count the cause. In JSON a text may be None or not a string."""
        causes: list[str] = []
        tidied = [tidy(text, causes) for text in texts if isinstance(text, str)]
        if len(tidied) < len(texts):
            self.drop(f"no text in {languages}", line, *([raw] if raw else texts))
            return
        source, target = tidied if self.paired else ("", tidied[0])
        if self.training and INVALID in causes:
            self.drop("invalid UTF-8", line, *texts)
        elif not target or (self.paired and not source):
            self.drop(self.blank, line, *texts)
        else:
            self.ledger.read += 1
            self.pairs.append(Row(source, target, line=line))
            for cause in causes:
                self.ledger.repair(cause, line)

    def drop(self, cause: str, line: int, *texts: object) -> None:
        """Count a row that is dropped. `texts`: its text, or both sides, of which a few are kept as examples."""
        self.ledger.read += 1
        self.ledger.drop(cause, line=line)
        source, target, *_ = *("" if text is None else tidy(str(text)[:SHOWN]) for text in texts), "", ""
        self.examples.add(cause, (f"train:{line}: {source}", target))


@dataclass
class Corpus:
    """Pairs are (source, target); a text without a translation is ("", text)."""

    name: str
    train: Texts
    """In memory only in part."""
    val: list[Pair]
    tests: dict[str, list[Pair]]
    ledgers: dict[str, Ledger]
    """How many pairs (or texts) of train, val and each test were read, repaired and dropped."""
    notes: list[str] = field(default_factory=list)
    val_sets: list[Section] = field(default_factory=list)
    """The validation sets, whose pairs follow each other in `val`; empty if there is only one."""
    commits: dict[str, str] = field(default_factory=dict)
    """The commit of each data set of the hub that was read, by its name, if it is known."""
    dropped: dict[str, list[Pair]] = field(default_factory=dict)
    """Some of the training pairs that each cause dropped. Those that reading dropped begin with their line: train:7."""
    chosen: list[str] = field(default_factory=list)
    """Of val and the tests, those that were held out of the training text, since the corpus has none."""


def clean_train(
    corpus: Corpus, config: DataConfig, cleaning: CleaningConfig | None = None
) -> tuple[list[Pair], Ledger]:
    """The training pairs that a `Cleaner` keeps, and the ledger of reading and cleaning; ValueError if none is left."""
    several = config.many_to_many or config.more
    require(not several, "data.many_to_many and data.more are for nmt.prepare and nmt.train: leave them out here")
    held_out = HeldOut({"val": corpus.val, **corpus.tests}, corpus.chosen)
    train, cleaned = Cleaner(config, cleaning or CleaningConfig(), held_out).clean(corpus.train)
    ledger = corpus.ledgers["train"].then(cleaned)
    require_pairs(ledger)
    return train, ledger


def assemble(name: str, splits: dict[str, Split]) -> Corpus:
    """Make a corpus of the splits train, val* and test*, of which only train must be there."""
    vals = sorted((key for key in splits if key.startswith("val")), key=lambda key: (key != "val", key))
    splits = {key: splits[key] for key in ("train", *vals)} | splits  # the order of tables
    for key, split in splits.items():
        counts = f"{split.ledger.read:,} read, dropped: {split.ledger.causes() or 'none'}"
        if split.files and not split.ledger.read:
            names, verb = " and ".join(map(str, split.files)), "is" if len(split.files) == 1 else "are"
            counts = f"{names} {verb} {'without rows' if any(f.stat().st_size for f in split.files) else 'empty'}"
        lost, unit = split.ledger.dropped["invalid UTF-8"], split.ledger.unit
        if lost > len(split.pairs):  # few lines of a file in another encoding are ASCII alone
            advice = (advise(file, split.config.languages) for file in split.files)
            counts = ". ".join([counts, *filter(None, advice)])
        require(bool(split.pairs), f"the corpus {name} has no usable {key} {unit}: {counts}")
        require(lost <= len(split.pairs), f"the corpus {name} has few usable {key} {unit}s: {counts}")
    pairs = {key: list(split.pairs) for key, split in splits.items() if key != "train"}
    ledgers = {key: split.ledger for key, split in splits.items()}
    config = splits["train"].config
    val_sets = [Section(key, config.source, config.target, len(pairs[key])) for key in vals] if len(vals) > 1 else []
    val = [pair for key in vals for pair in pairs.pop(key)]
    train, dropped = splits["train"].pairs, splits["train"].examples.by_cause()
    notes = [note for split in splits.values() for note in split.notes]
    return Corpus(name, train, val, pairs, ledgers, notes, val_sets, dropped=dropped)


def require_german_and_english(config: DataConfig) -> None:
    problem = f"has German (de) and English (en) only, not {' and '.join(config.languages)}: set another corpus"
    require({"de", "en"}.issuperset(config.languages), f"data.corpus is {config.corpus}, which {problem}")


def hold_out(corpus: Corpus, needed: Collection[str]) -> Corpus:
    """The corpus with some of its training text as val and test text, if that is needed and missing."""
    missing = [key for key in needed if not any(split.startswith(key) for split in corpus.ledgers)]
    if not missing:
        return corpus
    ledger = corpus.ledgers["train"]
    distinct, first = least_texts(corpus.train, HELD_OUT * len(missing))
    size = min(HELD_OUT, max(1, distinct // HELD_OUT_SHARE))
    kind = "source sentences" if ledger.unit == "pair" else "texts"
    few = f"the corpus {corpus.name} has {distinct} different {kind} and no {' or '.join(missing)} text"
    require(distinct > len(missing) * size, f"{few}: too few to hold some out; give it more, or files for them")
    held_out, places = {key: list[Pair]() for key in missing}, dict[int, str]()
    for k, key in enumerate(missing):
        places |= dict.fromkeys(first[k : size * len(missing) : len(missing)], key)
        ledger.drop(f"held out for {key}", size)
    for place, row in corpus.train.take(places).items():
        held_out[places[place]].append(row.pair)
    empty = {key: Ledger(size, unit=ledger.unit) for key in missing}
    splits = ["train", *(["val"] if "val" in missing else []), *corpus.ledgers, *missing]  # the order of tables
    ledgers = {key: (corpus.ledgers | empty)[key] for key in splits}
    reason = f"of its training {ledger.unit}s are held out for it."
    notes = corpus.notes + [f"{corpus.name} has no {key} text: {size:,} {reason}" for key in missing]
    val, tests = held_out.pop("val", corpus.val), corpus.tests | held_out
    return replace(corpus, val=val, tests=tests, ledgers=ledgers, notes=notes, chosen=missing)


def least_texts(pairs: Iterable[Pair], most: int) -> tuple[int, list[int]]:
    """Count the different texts that pairs are known by (as far as HELD_OUT * HELD_OUT_SHARE), and find the first
    places of those with the smallest hashes, the smallest first, at most `most`."""
    enough, distinct = HELD_OUT * HELD_OUT_SHARE, set[bytes]()
    first, bound = dict[bytes, int](), b"\xff" * 8
    for n, pair in enumerate(pairs):
        key = digest(known_by(pair))
        if len(distinct) < enough:
            distinct.add(key)
        if key <= bound:
            first.setdefault(key, n)
        if len(first) > 4 * most:
            first = {key: first[key] for key in sorted(first)[:most]}
            bound = max(first)
    return len(distinct), [first[key] for key in sorted(first)[:most]]
