"""Parallel text from wherever it lies: `data.corpus` flows in; train, val and test pairs with their ledgers flow out.

A corpus is the built-in phrasebook, a data set of the Hugging Face hub, a folder, a file, or two files with a common
prefix. Rules of reading:

- A line ends at LF and nowhere else. A byte-order mark at the start of a file goes. Each text is tidied (see `tidy`).
- A pair with a blank side is dropped from every split: it can be neither learned from nor scored.
- A pair with invalid UTF-8 is dropped from training text; in val and test text it is repaired with U+FFFD and kept.
- A malformed row of TSV or JSONL is dropped.
- Files of unequal length are an error, and so is a gzip file that was cut short.
- Where a file is there both plain and as .gz, the plain one is read.

What is dropped or repaired is counted by cause. Val or test text that a corpus lacks is held out of its training pairs:
a pair each for 5% of the different source sentences, at most 1,000, which are those of the least hash. So they are the
same on every machine and in any order of lines, and mostly stay the same when the corpus grows.
"""

import gzip
import hashlib
import heapq
import json
import re
import threading
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

from nmt.config import DataConfig
from nmt.data.cleaning import Ledger, Pair, clean, require_pairs
from nmt.text.normalise import INVALID, tidy

MULTI30K = "bentrevett/multi30k"
PROBE_SECONDS = 10.0
"""Longest wait for the hub's answer. With the imports before and after it, `auto` is decided within 15 seconds."""

_HELD_OUT = 1000  # most pairs held out for val, and for test, when a corpus lacks them
_HELD_OUT_SHARE = 20  # and at most one pair in so many
_BATCH_ROWS = 10_000
_VAL_NAMES = ("val", "valid", "validation", "dev")
_KINDS = (
    "data.corpus must be phrasebook, multi30k, auto, hub:NAME[:CONFIGURATION], a folder, a .tsv or .jsonl file "
    "(or .gz of one), or the common prefix of two plain files"
)


class Split:
    """The pairs of one split as they are read, tidied, and counted."""

    def __init__(self, training: bool) -> None:
        self.training = training
        self.pairs: list[Pair] = []
        self.ledger = Ledger()

    def add(self, source: str, target: str, line: int) -> None:
        self.ledger.read += 1
        (source, causes), (target, more) = tidy(source), tidy(target)
        if self.training and (INVALID in causes or INVALID in more):
            self.ledger.drop("invalid UTF-8", line=line)
        elif not source or not target:
            self.ledger.drop("a side is blank", line=line)
        else:
            self.pairs.append((source, target))
            for cause in (*causes, *more):
                self.ledger.repair(cause, line=line)

    def add_malformed(self, cause: str, line: int) -> None:
        self.ledger.read += 1
        self.ledger.drop(cause, line=line)


@dataclass
class Corpus:
    """Parallel text in memory. Pairs are (source, target)."""

    name: str
    train: list[Pair]
    val: list[Pair]
    tests: dict[str, list[Pair]]
    ledgers: dict[str, Ledger]
    """What reading did to train, val and each test."""
    notes: list[str] = field(default_factory=list)
    """Sentences that the user should see."""


def load_corpus(config: DataConfig) -> Corpus:
    """Read what `config.corpus` names; ValueError says what is wrong with it."""
    if config.corpus == "auto":
        return _read_auto(config)
    if config.corpus == "phrasebook":
        return _read_phrasebook(config)
    if config.corpus == "multi30k":
        return _read_multi30k(config)
    if config.corpus.startswith("hub:"):
        return _read_hub(config)
    path = Path(config.corpus).expanduser()
    return _read_folder(path, config) if path.is_dir() else _read_file(path, config)


def clean_train(corpus: Corpus, config: DataConfig) -> tuple[list[Pair], Ledger]:
    """The training pairs that `clean` leaves, and what became of all that were read; ValueError if none is left."""
    held_out = {source for pairs in (corpus.val, *corpus.tests.values()) for source, _ in pairs}
    train, cleaning = clean(corpus.train, config, held_out)
    ledger = corpus.ledgers["train"].then(cleaning)
    require_pairs(train, ledger)
    return train, ledger


def load_sentences(file: Path, config: DataConfig, held_out: Collection[str]) -> tuple[list[str], Ledger]:
    """Text in one language alone, a sentence a line, by the rules above for training text; what `held_out` has is
    dropped if `config.drop_held_out` says so. OSError if the file isn't there."""
    split = Split(training=True)
    for number, line in enumerate(_lines(file, split), start=1):
        split.add(line, "-", number)  # a side that is good
    lines: list[str] = []
    for line, _ in split.pairs:
        if len(line) > config.max_characters:
            split.ledger.drop(f"longer than {config.max_characters:,} characters")
        elif config.drop_held_out and line in held_out:
            split.ledger.drop("occurs in val or test")
        else:
            lines.append(line)
    return lines, split.ledger


def corpus_name(config: DataConfig) -> str | None:
    """The name that the corpus will have, known without loading it; None for auto, which is decided by loading."""
    return None if config.corpus == "auto" else _name(config)


def _name(config: DataConfig) -> str:
    if config.corpus in ("phrasebook", "multi30k"):
        return config.corpus
    if config.corpus.startswith("hub:"):
        name, configuration = _hub_name(config)
        languages = (config.source, config.target)
        told = configuration in ("", "-".join(languages), "-".join(reversed(languages)))
        return Path(name).resolve().name + ("" if told else f"-{configuration}")
    return re.sub(r"\.(tsv|jsonl)(\.gz)?$", "", Path(config.corpus).expanduser().resolve().name)


def _assemble(name: str, train: Split, val: Split | None, tests: dict[str, Split]) -> Corpus:
    """A corpus of splits; val or test that is missing is held out of train."""
    _require_usable(name, "train", train)
    missing = [split for split, there in (("val", val), ("test", tests)) if not there]
    held_out = _hold_out(train, missing, name) if missing else {}
    notes = [
        f"{name} has no {split} text: {len(part.pairs):,} of its training pairs are held out for it."
        for split, part in held_out.items()
    ]
    splits = {"train": train, "val": val or held_out["val"], **(tests or {"test": held_out["test"]})}
    for key, split in splits.items():
        _require_usable(name, key, split)
    pairs = {key: split.pairs for key, split in splits.items()}
    return Corpus(
        name, pairs.pop("train"), pairs.pop("val"), pairs, {key: split.ledger for key, split in splits.items()}, notes
    )


def _require_usable(name: str, key: str, split: Split) -> None:
    if not split.pairs:
        causes = ", ".join(f"{count:,} {cause}" for cause, count in split.ledger.dropped.items())
        raise ValueError(
            f"the corpus {name} has no usable {key} pair: {split.ledger.read:,} read"
            + (f", dropped: {causes}" if causes else "")
        )


def _hold_out(train: Split, missing: list[str], name: str) -> dict[str, Split]:
    """Move pairs of train into a new split for each that is missing."""
    first: dict[str, int] = {}
    for n, (source, _) in enumerate(train.pairs):
        first.setdefault(source, n)
    size = min(_HELD_OUT, max(1, len(first) // _HELD_OUT_SHARE))
    if len(first) <= len(missing) * size:
        raise ValueError(
            f"the corpus {name} has {len(first)} different source sentences and no {' or '.join(missing)} "
            "text: too few to hold some out; give it more, or files of its own for them"
        )
    chosen = heapq.nsmallest(size * len(missing), first, key=_hash)
    held_out: dict[str, Split] = {}
    for k, key in enumerate(missing):
        split = held_out[key] = Split(training=False)
        split.pairs = [train.pairs[n] for n in sorted(first[source] for source in chosen[k :: len(missing)])]
        split.ledger.read = size
        train.ledger.drop(f"held out for {key}", size)
    taken = {first[source] for source in chosen}
    train.pairs = [pair for n, pair in enumerate(train.pairs) if n not in taken]
    return held_out


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _read_phrasebook(config: DataConfig) -> Corpus:
    from nmt.data.phrasebook import phrasebook

    _require_german_and_english(config)
    book = phrasebook()
    train, val, test = Split(training=True), Split(training=False), Split(training=False)
    for split, pairs in ((train, book.train), (val, book.val), (test, book.test)):
        for line, (german, english) in enumerate(pairs, start=1):
            source, target = (german, english) if config.source == "de" else (english, german)
            split.add(source, target, line)
    return _assemble("phrasebook", train, val, {"test": test})


def _require_german_and_english(config: DataConfig) -> None:
    if {config.source, config.target} != {"de", "en"}:
        raise ValueError(
            f"data.corpus is {config.corpus}, which has German (de) and English (en) only, not "
            f"{config.source} and {config.target}: set it to a corpus of these languages"
        )


# Files


def _read_folder(folder: Path, config: DataConfig) -> Corpus:
    train = _find_split(folder, "train", config)
    if train is None:
        raise ValueError(
            f"{folder} has no training text: neither train.{config.source} and train.{config.target} nor "
            f"train.tsv nor train.jsonl (or .gz of them); {_contents(folder)}"
        )
    found = (_find_split(folder, name, config) for name in _VAL_NAMES)
    val = next((files for files in found if files), None)
    stem = re.compile(rf"(test.*?)\.(?:{re.escape(config.source)}|{re.escape(config.target)}|tsv|jsonl)(?:\.gz)?")
    names = sorted({match[1] for path in folder.iterdir() if (match := stem.fullmatch(path.name))})
    tests = {name: _find_split(folder, name, config) for name in names}
    return _assemble(
        _name(config),
        _read_split(train, config, training=True),
        _read_split(val, config, training=False) if val else None,
        {name: _read_split(files, config, training=False) for name, files in tests.items() if files},
    )


def _contents(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir())
    return f"{folder} holds {', '.join(names[:20]) or 'nothing'}{' …' if len(names) > 20 else ''}"


def _find_split(folder: Path, stem: str, config: DataConfig) -> list[Path] | None:
    """The file or the two files of a split; None if it has none, ValueError if it has one of two."""
    source, target = (_plain_or_gz(folder / f"{stem}.{language}") for language in (config.source, config.target))
    if source and target:
        return [source, target]
    rows = _plain_or_gz(folder / f"{stem}.tsv") or _plain_or_gz(folder / f"{stem}.jsonl")
    if rows:
        return [rows]
    if source or target:
        lacking = config.target if source else config.source
        raise ValueError(f"{folder / stem}.{lacking} is missing, and {source or target} is there; {_contents(folder)}")
    return None


def _plain_or_gz(path: Path) -> Path | None:
    """The path, or that of its compressed copy, if there is one; the plain file goes first."""
    return next((file for file in (path, path.with_name(f"{path.name}.gz")) if file.is_file()), None)


def _read_file(path: Path, config: DataConfig) -> Corpus:
    if path.is_file():
        if not re.search(r"\.(tsv|jsonl)(\.gz)?$", path.name):
            raise ValueError(
                f"data.corpus is {config.corpus!r}, one plain file: give the prefix that it shares with "
                f"the other language's file, without .{config.source} or .{config.target}; {_KINDS}"
            )
        files: list[Path] | None = [path]
    else:
        files = _find_split(path.parent, path.name, config)
    if files is None:
        raise ValueError(f"data.corpus is {config.corpus!r}: there is no such folder or file; {_KINDS}")
    return _assemble(_name(config), _read_split(files, config, training=True), None, {})


def _read_split(files: list[Path], config: DataConfig, training: bool) -> Split:
    split = Split(training)
    if len(files) == 2:
        _read_parallel(files[0], files[1], split)
    elif ".tsv" in files[0].suffixes[-2:]:
        _read_tsv(files[0], config, split)
    else:
        _read_jsonl(files[0], config, split)
    return split


def _read_parallel(source: Path, target: Path, split: Split) -> None:
    """Line n of one file with line n of the other."""
    n_source = n_target = 0
    for src, tgt in zip_longest(_lines(source, split), _lines(target, split)):
        n_source, n_target = n_source + (src is not None), n_target + (tgt is not None)
        if src is not None and tgt is not None:
            split.add(src, tgt, n_source)
    if n_source != n_target:
        raise ValueError(
            f"{source} has {n_source:,} lines, {target} has {n_target:,}: line n of one must translate "
            "line n of the other, so one of them is cut short or shifted"
        )


def _read_tsv(path: Path, config: DataConfig, split: Split) -> None:
    """Source and target in the columns that a first line of language names tells, else in the first two."""
    columns = (0, 1)
    for number, line in enumerate(_lines(path, split), start=1):
        cells = line.removesuffix("\r").split("\t")
        if number == 1 and config.source in cells and config.target in cells:
            columns = (cells.index(config.source), cells.index(config.target))
        elif len(cells) <= max(columns):
            split.add_malformed("too few columns", number)
        else:
            split.add(cells[columns[0]], cells[columns[1]], number)


def _read_jsonl(path: Path, config: DataConfig, split: Split) -> None:
    """An object a line: {"de": …, "en": …}, or the same under the key translation."""
    for number, line in enumerate(_lines(path, split), start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            split.add_malformed("not JSON", number)
            continue
        row = row.get("translation", row) if isinstance(row, dict) else row
        row = row if isinstance(row, dict) else {}
        _add_sides(row.get(config.source), row.get(config.target), number, split)


def _add_sides(source: object, target: object, number: int, split: Split) -> None:
    if isinstance(source, str) and isinstance(target, str):
        split.add(source, target, number)
    else:
        split.add_malformed("no text in one or both languages", number)


def _lines(path: Path, split: Split) -> Iterator[str]:
    """The lines of a file without their LF; bytes that aren't UTF-8 come as lone surrogates, which `tidy` knows."""
    try:
        with _open(path) as file:
            for number, line in enumerate(file):
                if number == 0 and line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
                    raise ValueError(f"{path} is UTF-16: convert it to UTF-8, as with iconv -f UTF-16 -t UTF-8")
                if number == 0 and line.startswith(BOM_UTF8):
                    split.ledger.repair("byte-order mark removed", line=1)
                    line = line.removeprefix(BOM_UTF8)
                yield line.removesuffix(b"\n").decode("utf-8", "surrogateescape")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is cut short or no gzip file ({error}): copy it again") from error


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


# The hub


def _read_auto(config: DataConfig) -> Corpus:
    _require_german_and_english(config)
    try:
        return _download_multi30k(config)
    except (ConnectionError, ValueError) as error:
        corpus = _read_phrasebook(config)
        corpus.notes.append(f"Multi30k can't be had ({error}), so the built-in phrasebook is used.")
        return corpus


def _read_multi30k(config: DataConfig) -> Corpus:
    _require_german_and_english(config)
    try:
        return _download_multi30k(config)
    except ConnectionError as error:
        raise ValueError(
            f"multi30k can't be loaded ({error}): set data.corpus to a folder that holds it, with "
            "train.de, train.en, val.de …, or to phrasebook, which is built in"
        ) from error


def _download_multi30k(config: DataConfig) -> Corpus:
    return _read_splits(_load_dataset(MULTI30K, None), config, "multi30k", {"test": "test_2016_flickr"})


def _hub_name(config: DataConfig) -> tuple[str, str]:
    name, _, configuration = config.corpus.removeprefix("hub:").partition(":")
    if not name:
        raise ValueError(f"data.corpus is {config.corpus!r}: it lacks the data set's name, as in hub:wmt/wmt14:de-en")
    return name, configuration


def _read_hub(config: DataConfig) -> Corpus:
    name, configuration = _hub_name(config)
    try:
        splits = _load_dataset(name, configuration or None)
    except ConnectionError as error:
        raise ValueError(f"data.corpus is {config.corpus!r}: {error}") from error
    return _read_splits(splits, config, _name(config), {})


def _read_splits(splits: Any, config: DataConfig, name: str, renamed: dict[str, str]) -> Corpus:
    if "train" not in splits:
        raise ValueError(f"{name} has no split named train; it has {', '.join(splits)}")
    read = {
        key: _read_rows(rows, config, key)
        for key, rows in splits.items()
        if key == "train" or key in _VAL_NAMES or key.startswith("test")
    }
    val = next((read[key] for key in _VAL_NAMES if key in read), None)
    tests = {renamed.get(key, key): split for key, split in read.items() if key.startswith("test")}
    return _assemble(name, read["train"], val, tests)


def _read_rows(rows: Any, config: DataConfig, key: str) -> Split:
    """One split of a data set, by columns and not by rows, since a dict for each of millions of rows takes minutes."""
    rows = rows.flatten()
    columns = _columns(rows.column_names, config)
    split = Split(training=key == "train")
    number = 0
    for batch in rows.select_columns(columns).with_format("arrow").iter(batch_size=_BATCH_ROWS):
        for source, target in zip(*(batch[column].to_pylist() for column in columns), strict=True):
            number += 1
            _add_sides(source, target, number, split)
    return split


def _columns(names: list[str], config: DataConfig) -> list[str]:
    for prefix in ("translation.", ""):
        columns = [f"{prefix}{language}" for language in (config.source, config.target)]
        if set(columns) <= set(names):
            return columns
    raise ValueError(
        f"the data set has no columns for {config.source} and {config.target}, neither of their own nor "
        f"in translation; it has {', '.join(names)}"
    )


def _load_dataset(name: str, configuration: str | None) -> Any:
    """All splits of a data set: from a local folder, from the hub or, if that can't be used, its copy in the cache.

    ConnectionError says why the hub can't be used, when there is no copy; ValueError, what is wrong with the data set.
    """
    local = Path(name).expanduser()
    is_local = local.exists()
    reason = "" if is_local else _why_not_hub(name)
    import datasets

    try:
        with _offline(datasets.config) if reason else nullcontext():
            return datasets.load_dataset(str(local) if is_local else name, configuration)
    except Exception as error:  # each of the libraries under datasets has its own
        if reason:
            raise ConnectionError(reason) from error
        raise ValueError(f"{name} can't be loaded: {_first_line(error)}") from error


def _why_not_hub(name: str) -> str:
    """Why the hub can't give this data set; empty if it can. Answers in PROBE_SECONDS, whatever DNS or a proxy does."""
    answers: list[str] = []
    # A daemon: a name look-up can't be interrupted, and must not keep the process from ending.
    thread = threading.Thread(target=lambda: answers.append(_ask_hub(name)), daemon=True)
    thread.start()
    thread.join(PROBE_SECONDS)
    return answers[0] if answers else f"the hub didn't answer within {PROBE_SECONDS:g} seconds"


def _ask_hub(name: str) -> str:
    from huggingface_hub import HfApi
    from huggingface_hub.constants import is_offline_mode

    if is_offline_mode():
        return "HF_HUB_OFFLINE is set"
    try:
        HfApi().dataset_info(name, timeout=PROBE_SECONDS)
    except Exception as error:  # of HTTP, TLS, sockets or the hub
        return f"the hub can't be used: {_first_line(error)}"
    return ""


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


@contextmanager
def _offline(settings: Any) -> Iterator[None]:
    """Make `datasets` look at its cache alone: otherwise it would try the unreachable hub again, for minutes."""
    before = settings.HF_HUB_OFFLINE
    settings.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        settings.HF_HUB_OFFLINE = before
