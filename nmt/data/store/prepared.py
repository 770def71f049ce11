"""Prepared text: a run folder that `nmt.data.store.preparing` has filled flows in; its pairs and tokenizer flow out.

The files are `data/` (the training pairs in shards, SPLIT.src and SPLIT.tgt of val and tests, a sentence a line, and
`corpus.json`), `tokenizer/` and `ledger.json`. Of texts without translations, the lines of SPLIT.src are empty. `data/`
and `tokenizer/` have SHA256SUMS, and corpus.json the hashes of the user's files, so that a change is noticed.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from nmt.config import Config
from nmt.config.names import describe_changes
from nmt.data.cleaning.cleaner import Pair
from nmt.data.cleaning.suspicious import length_ratios, suspicions
from nmt.data.corpora import Corpus, corpus_files, corpus_path
from nmt.data.sections import Section
from nmt.data.store.ids import read_shard
from nmt.data.store.record import (
    RESTORE,
    data_settings,
    describe_edits,
    flat,
    read_ledgers,
    read_pairs,
    read_record,
    sections_in,
)
from nmt.data.store.shards import stored_name
from nmt.data.texts import Texts
from nmt.data.tokenizer import Tokenizer
from nmt.extras import typed
from nmt.fields import require
from nmt.files import MARKER, SUMS, check_sums, iterate_lines
from nmt.messages import say
from nmt.upgrade import upgrade_record, val_sets_of

DRAFT = ".preparing"
COUNTED = 200_000  # training pairs whose lengths are compared: the first ones
CREATED_FIRST = {".lock", DRAFT, "config.yaml.partial"}  # before `is_run` can recognise a new run


@dataclass(kw_only=True)
class Prepared(Corpus):
    """The clean corpus and the tokenizer of a prepared run folder."""

    folder: Path
    tokenizer: Tokenizer
    store: list[Path]
    """The files with the ids of the training pairs, in their order; none in a folder that an older nmt prepared."""
    sections: Sequence[Section]
    """Of the training pairs, without their weights: those are settings, which may change."""

    @classmethod
    def load(cls, folder: Path, *, check: bool = True) -> "Prepared":
        """Read a run folder; ValueError if it isn't prepared, or was changed since (unless `check` is off)."""
        record = read_record(folder) or {}
        require(bool(record), f"{folder} is not prepared: run {typed('prepare')}")
        data, sizes = folder / "data", record.get("shards", [])
        for part in ("data", "tokenizer"):
            if check and (folder / part / SUMS).exists():  # an older nmt wrote none
                try:
                    check_sums(folder / part, quick=record.get("quick"))
                except ValueError as error:
                    raise ValueError(f"{error}. {RESTORE} {folder} and prepare again") from error
        tokenizer = Tokenizer.load(folder / "tokenizer")
        ledgers = read_ledgers(folder / "ledger.json")
        texts = {n: read_pairs(data, n, k) for n, k in record["pairs"].items() if n != "train" or not sizes}
        names = [data / stored_name(n, len(sizes)) for n in range(len(sizes))]
        stored = Texts.stored([name.with_suffix(".parquet") for name in names], sizes)
        train = stored if sizes else Texts.of(texts.pop("train"))
        dropped = {cause: [(a, b) for a, b in pairs] for cause, pairs in record.get("dropped", {}).items()}
        whole = record["corpus"], train, texts.pop("val"), texts, ledgers, record["notes"]
        return cls(
            *whole,
            val_sets=[Section(*values) for values in val_sets_of(record)],
            commits=record.get("commits", {}),  # an older nmt knew none
            dropped=dropped,
            folder=folder,
            tokenizer=tokenizer,
            store=[name.with_suffix(".safetensors") for name in names],
            sections=sections_in(record),
        )


def require_own_run_folder(config: Config, folder: Path) -> None:
    """Raise ValueError if a run in this folder could overwrite the user's own files: if it isn't new, empty or a run's,
    or if a corpus or the tokenizer is the folder itself, or lies in its `data/` or `tokenizer/`."""
    there = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    usable = there.is_dir() and os.access(there, os.W_OK)
    require(usable, f"--runs is {config.runs}, but {there} is no folder that can be written to: name another")
    run = folder.resolve()
    tokenizer = Path(config.tokenizer.folder) if config.tokenizer.folder else None
    others = (replace(config.data, corpus=entry.corpus, more=()) for entry in config.data.more)
    more = [("data.more", corpus_path(other)) for other in others]
    for setting, path in (("data.corpus", corpus_path(config.data)), *more, ("tokenizer.folder", tokenizer)):
        place = path.resolve() if path else None
        inside = place and (place == run or any(place.is_relative_to(run / part) for part in ("data", "tokenizer")))
        clash = f"{setting} is {path}, but the run in {folder} keeps its own data/ and tokenizer/ there"
        require(not inside, f"{clash}: give the run another name")
    usable = not folder.exists() or {path.name for path in folder.iterdir()} <= CREATED_FIRST or is_run(folder)
    require(usable, f"{folder} is not empty, and it isn't a run folder that nmt made: give the run another name")


def is_run(folder: Path) -> bool:
    """Whether nmt made this run folder: its config.yaml, its draft or tokenizer, or its data/corpus.json shows it."""
    settings = folder / "config.yaml"
    has_settings = settings.is_file() and next(iterate_lines(settings), "").startswith("# Written by nmt")
    if has_settings or any((folder / part / MARKER).is_file() for part in (DRAFT, "tokenizer")):
        return True
    try:
        return read_record(folder) is not None
    except ValueError:
        return False


def load_finished(record: dict[str, Any], config: Config, folder: Path) -> Prepared:
    """Read a run folder with this corpus.json. ValueError if settings differ or, before training, the text."""
    prepared = Prepared.load(folder)
    now = flat(data_settings(config))
    try:
        before = upgrade_record(flat(record["settings"]))
        # The name of the folder has the corpus that auto took, and the tokenizer the number of pieces.
        for name in ("data.corpus", "tokenizer.vocab_size"):
            if "auto" in (before[name], now[name]):
                before[name] = now[name]
        changed = describe_changes(before, now)
    except ValueError as error:
        changed = str(error)
    problem = f"{folder} was prepared with other settings: {changed}"
    require(not changed, f"{problem}. Give the run another name, or delete that folder")
    if note := note_of_edits(config, folder, record):
        require(any((folder / "checkpoints").glob("step-*")), note)
        say(note)
    ledger = prepared.ledgers["train"]
    text = ledger.amount(len(prepared.train) - ledger.kept)
    say(f"{folder} is prepared already: {text} of {prepared.name} for training")
    return prepared


def note_of_edits(config: Config, folder: Path, record: dict[str, Any]) -> str:
    """Which of the user's files have changed since they were prepared, and what to do; empty if none has."""
    edits = describe_edits(record.get("inputs"), input_files(config))
    advice = f"{folder} keeps the text as it was. To use the new text, give the run another name, or delete that folder"
    return f"text has changed since it was prepared: {edits}. {advice}" if edits else ""


def input_files(config: Config) -> list[Path]:
    """The user's files of text that are prepared."""
    return [file for files in corpus_files(config.data).values() for file in files]


def explain(dropped: dict[str, list[Pair]], most: int) -> Iterator[str]:
    """Lines that show some of the dropped pairs of each cause, a tab between source and target."""
    for cause, pairs in dropped.items():
        if most:
            yield f"\nDropped: {cause}"
        yield from ("  " + "\t".join(filter(None, pair)) for pair in pairs[:most])


def suspicious_corpora(prepared: Prepared) -> Iterator[str]:
    """A warning for each reason for which a corpus or a direction looks bad."""
    parts = prepared.ledgers["train"].parts
    if parts and prepared.store:
        corpora = (read_shard(file, "corpora")[0].tolist() for file in prepared.store)
        numbers = [*islice(chain.from_iterable(corpora), COUNTED)]
        ratios = length_ratios(prepared.train[:COUNTED], numbers, prepared.sections)
        for name, why in suspicions(parts, ratios, prepared.sections):
            yield f"WARNING: {name}: {why}."
