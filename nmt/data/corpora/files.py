"""Readers of files (plain or .gz): a folder, a TSV or JSONL file, or two plain files with a common prefix."""

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Collection, Iterator
from itertools import zip_longest
from pathlib import Path

from nmt.config import DataConfig
from nmt.data.cleaning import Ledger
from nmt.data.corpora.corpus import VAL_NAMES, Corpus, Split, assemble
from nmt.fields import require
from nmt.files import iterate_lines

KINDS = (
    "data.corpus must be phrasebook, multi30k, auto, hub:NAME[:CONFIGURATION], a folder, a .tsv or .jsonl file "
    "(or .gz of one), or the common prefix of two plain files"
)
ROWS = re.compile(r"\.(tsv|jsonl)(\.gz)?$")
COLUMN_NAME = re.compile(r"[a-z]{2}([-_][A-Za-z]{2,4})?|(?i:source|target|src|tgt)")  # de, pt-BR, Source
UTF16_MARKS = tuple(mark.decode("utf-8", "surrogateescape") for mark in (BOM_UTF16_LE, BOM_UTF16_BE))


def path_name(path: Path) -> str:
    """The name of the corpus at this path."""
    return ROWS.sub("", path.resolve().name)


def read_path(path: Path, config: DataConfig) -> Corpus:
    """The corpus in a folder, a file, or two files with this prefix; ValueError if it is none of them."""
    if path.is_dir():
        return assemble(path_name(path), read_folder(path, config))
    plain = path.is_file() and not ROWS.search(path.name)
    require(not plain, f"data.corpus is {config.corpus!r}, one plain file: give the prefix of two files")
    files = [path] if path.is_file() else find_split(path.parent, path.name, config)
    if files is None:
        raise ValueError(f"data.corpus is {config.corpus!r}: there is no such folder or file; {KINDS}")
    return assemble(path_name(path), {"train": read_split(files, config, training=True)})


def read_folder(folder: Path, config: DataConfig) -> dict[str, Split]:
    """The splits of a folder: train, the first of VAL_NAMES that is there, as val, and every test*."""
    train = find_split(folder, "train", config)
    if train is None:
        needed = f"train.{config.source} and train.{config.target} nor train.tsv nor train.jsonl (or .gz of them)"
        raise ValueError(f"{folder} has no training text: neither {needed}; {contents(folder)}")
    splits = {"train": train}
    if val := next((files for name in VAL_NAMES if (files := find_split(folder, name, config))), None):
        splits["val"] = val
    stem = re.compile(rf"(test.*?)\.(?:{re.escape(config.source)}|{re.escape(config.target)}|tsv|jsonl)(?:\.gz)?")
    for name in sorted({match[1] for path in folder.iterdir() if (match := stem.fullmatch(path.name))}):
        if files := find_split(folder, name, config):
            splits[name] = files
    return {name: read_split(files, config, training=name == "train") for name, files in splits.items()}


def contents(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir())
    return f"{folder} holds {', '.join(names[:20]) or 'nothing'}{' …' if len(names) > 20 else ''}"


def find_split(folder: Path, stem: str, config: DataConfig) -> list[Path] | None:
    """The file or the two files of a split; None if there is none, ValueError if there is only one of two."""
    source, target = (plain_or_gz(folder / f"{stem}.{language}") for language in (config.source, config.target))
    if source and target:
        return [source, target]
    if rows := plain_or_gz(folder / f"{stem}.tsv") or plain_or_gz(folder / f"{stem}.jsonl"):
        return [rows]
    if source or target:
        missing = config.target if source else config.source
        raise ValueError(f"{folder / stem}.{missing} is missing, and {source or target} is there; {contents(folder)}")
    return None


def plain_or_gz(path: Path) -> Path | None:
    """The path or, if it is not a file, the path with .gz; None if neither is a file."""
    return next((file for file in (path, path.with_name(f"{path.name}.gz")) if file.is_file()), None)


def read_split(files: list[Path], config: DataConfig, training: bool) -> Split:
    split = Split(training)
    if len(files) == 2:
        read_parallel(files[0], files[1], split)
    elif ".tsv" in files[0].suffixes[-2:]:
        read_tsv(files[0], config, split)
    else:
        read_jsonl(files[0], config, split)
    return split


def read_parallel(source: Path, target: Path, split: Split) -> None:
    """Read pairs whose source is line n of one file and whose target is line n of the other."""
    n_source = n_target = 0
    for src, tgt in zip_longest(corpus_lines(source, split), corpus_lines(target, split)):
        n_source, n_target = n_source + (src is not None), n_target + (tgt is not None)
        if src is not None and tgt is not None:
            split.add(src, tgt, n_source)
    unequal = f"{source} has {n_source:,} lines, {target} has {n_target:,}"
    require(n_source == n_target, f"{unequal}: line n of each must translate line n of the other")


def read_tsv(path: Path, config: DataConfig, split: Split) -> None:
    """Read the columns that the first line names as the two languages, or else the first two.

    ValueError if the first line seems to name other columns, since it would become a pair.
    """
    columns = (0, 1)
    for number, line in enumerate(corpus_lines(path, split), start=1):
        cells = line.removesuffix("\r").split("\t")
        if number == 1 and config.source in cells and config.target in cells:
            columns = (cells.index(config.source), cells.index(config.target))
        elif number == 1 and len(cells) > 1 and all(map(COLUMN_NAME.fullmatch, cells)):
            wanted = f"data.source is {config.source} and data.target is {config.target}"
            raise ValueError(f"{path}: its columns are named {', '.join(cells)}, but {wanted}: name the same languages")
        elif len(cells) <= max(columns):
            split.drop("too few columns" if line.strip() else "a side is blank", number)
        else:
            split.add(cells[columns[0]], cells[columns[1]], number)


def read_jsonl(path: Path, config: DataConfig, split: Split) -> None:
    """Read an object from each line: {"de": …, "en": …}, or the same under the key translation."""
    for number, line in enumerate(corpus_lines(path, split), start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            split.drop("not JSON", number)
            continue
        row = row.get("translation", row) if isinstance(row, dict) else row
        row = row if isinstance(row, dict) else {}
        split.add(row.get(config.source), row.get(config.target), number)


def corpus_lines(path: Path, split: Split) -> Iterator[str]:
    """The lines of a file; bytes that aren't UTF-8 become lone surrogates (see `tidy`)."""
    for number, line in enumerate(iterate_lines(path, "surrogateescape")):
        if number == 0 and line.startswith(UTF16_MARKS):
            raise ValueError(f"{path} is UTF-16: convert it with iconv -f UTF-16 -t UTF-8")
        if number == 0 and line.startswith("\ufeff"):
            split.ledger.repair("byte-order mark removed", 1)
            line = line.removeprefix("\ufeff")
        yield line


def load_sentences(file: Path, config: DataConfig, held_out: Collection[str]) -> tuple[list[str], Ledger]:
    """Text in one language, a sentence a line, read like training text, and its ledger; OSError if it is missing."""
    split, kept = Split(training=True), list[str]()
    for number, line in enumerate(corpus_lines(file, split), start=1):
        split.add(line, "-", number)  # "-": a target that is never dropped
    for sentence, _ in split.pairs:
        if len(sentence) > config.max_characters:
            split.ledger.drop(f"longer than {config.max_characters:,} characters")
        elif config.drop_held_out and sentence in held_out:
            split.ledger.drop("occurs in val or test")
        else:
            kept.append(sentence)
    return kept, split.ledger
