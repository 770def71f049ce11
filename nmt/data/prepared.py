"""Parallel text becomes what training reads: clean pairs, a tokenizer, and a ledger of every pair.

A corpus flows in; into the run folder flow `data/` (train, val and test text, a sentence a line, and `corpus.json`),
`tokenizer/` and `ledger.json`. All is built aside and moved into place, `data/` last: so a folder with
`data/corpus.json` is finished, and a preparation that was interrupted starts again.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nmt.config import Config
from nmt.data.cleaning import Ledger, Pair, require_pairs
from nmt.data.corpora import Corpus, clean_train, corpus_name, load_corpus
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.files import flush_to_disk

_CHUNK = 100_000  # pairs tokenized at a time, only to measure them


@dataclass(frozen=True)
class Prepared:
    """What a prepared run folder holds."""

    folder: Path
    corpus: str
    """Name of the corpus that was really used."""
    tokenizer: Tokenizer
    train: list[Pair]
    val: list[Pair]
    tests: dict[str, list[Pair]]
    notes: list[str]
    """Sentences that the user should see: what was replaced, held out or reduced."""
    ledgers: dict[str, Ledger]
    """What became of the pairs of train, val and each test."""

    @classmethod
    def load(cls, folder: Path) -> "Prepared":
        """Read a finished folder; ValueError if it isn't one."""
        record = _read_record(folder)
        if record is None:
            raise ValueError(f"{folder} is not prepared: run python -m nmt.prepare")
        saved = json.loads((folder / "ledger.json").read_text("utf-8"))
        ledgers = {split: Ledger.from_dict(ledger) for split, ledger in saved.items()}
        pairs = {split: _read_pairs(folder / "data", split, size) for split, size in record["pairs"].items()}
        train, val = pairs.pop("train"), pairs.pop("val")
        return cls(
            folder, record["corpus"], Tokenizer.load(folder / "tokenizer"), train, val, pairs, record["notes"], ledgers
        )


def run_folder(config: Config, corpus: str) -> Path:
    """Where a run lives; by default named after the languages and the corpus that was really used."""
    return Path(config.runs) / (config.name or f"{config.data.source}-{config.data.target}-{corpus}")


def prepare_run(config: Config, say: Callable[[str], None]) -> Prepared:
    """The prepared run of these settings; the corpus is read only if there is need, or if its name depends on it."""
    name = config.name or corpus_name(config.data)
    if name and is_prepared(run_folder(config, name)):
        return _finished(config, run_folder(config, name), say)
    corpus = load_corpus(config.data)
    return prepare(corpus, config, run_folder(config, corpus.name), say)


def is_prepared(folder: Path) -> bool:
    return (folder / "data" / "corpus.json").exists()


def prepare(corpus: Corpus, config: Config, folder: Path, say: Callable[[str], None]) -> Prepared:
    """Clean the corpus, train the tokenizer on it, and put both into the run folder, unless they are there already.

    Raises:
        ValueError: no pair is left, the tokenizer can't be trained, or the folder was prepared with other settings.
    """
    if is_prepared(folder):
        return _finished(config, folder, say)
    for note in corpus.notes:
        say(note)
    draft = folder / ".preparing"
    shutil.rmtree(draft, ignore_errors=True)
    (draft / "data").mkdir(parents=True)
    train, ledger = clean_train(corpus, config.data)
    if config.tokenizer.folder:
        tokenizer = _take_tokenizer(config)
        tokenizer.save(draft / "tokenizer")
    else:
        say(f"Training the tokenizer on {len(train):,} pairs of {corpus.name}")
        tokenizer = train_tokenizer(
            train, config.tokenizer, draft / "tokenizer", config.data.source, config.data.target
        )
    for note in tokenizer.notes:
        say(note)
    train = _drop_long(train, tokenizer, config.data.max_pieces, ledger)
    splits = {"train": train, "val": corpus.val, **corpus.tests}
    ledgers = corpus.ledgers | {"train": ledger}
    notes = corpus.notes + tokenizer.notes
    _write_draft(draft, splits, ledgers, _record(config, corpus.name, splits, notes))
    _move_into_place(draft, folder)
    return Prepared(folder, corpus.name, tokenizer, train, corpus.val, corpus.tests, notes, ledgers)


def _take_tokenizer(config: Config) -> Tokenizer:
    folder = Path(config.tokenizer.folder)
    tokenizer = Tokenizer.load(folder)
    if config.model.tied_embeddings == "three-way" and not tokenizer.joint:
        raise ValueError(
            f"model.tied_embeddings is three-way, but the tokenizer in {folder} has a vocabulary for each "
            f"language: take decoder or none"
        )
    tokenizer.notes.append(f"The tokenizer is the one in {folder}; the other settings of tokenizer.* are not used.")
    return tokenizer


def _drop_long(pairs: Sequence[Pair], tokenizer: Tokenizer, most: int, ledger: Ledger) -> list[Pair]:
    kept: list[Pair] = []
    for start in range(0, len(pairs), _CHUNK):
        chunk = pairs[start : start + _CHUNK]
        sources = tokenizer.encode_source([source for source, _ in chunk])
        targets = tokenizer.encode_target([target for _, target in chunk])
        kept += [
            pair for pair, src, tgt in zip(chunk, sources, targets, strict=True) if max(len(src), len(tgt)) <= most
        ]
    ledger.drop(f"longer than {most:,} pieces", len(pairs) - len(kept))
    require_pairs(kept, ledger)
    return kept


def _record(config: Config, name: str, splits: dict[str, list[Pair]], notes: Sequence[str]) -> dict[str, Any]:
    """What data/corpus.json says of the folder: what was used, with which settings, and the sizes to check it by."""
    return {
        "corpus": name,
        "pairs": {split: len(pairs) for split, pairs in splits.items()},
        "notes": list(notes),
        "settings": _settings(config),
    }


def _settings(config: Config) -> dict[str, Any]:
    """The settings that the prepared data depends on, as JSON gives them back."""
    stages = {"data": asdict(config.data), "tokenizer": asdict(config.tokenizer)}
    settings: dict[str, Any] = json.loads(json.dumps(stages))
    return settings


def _write_draft(
    draft: Path, splits: dict[str, list[Pair]], ledgers: dict[str, Ledger], record: dict[str, Any]
) -> None:
    for split, pairs in splits.items():
        _write_lines(draft / "data" / f"{split}.src", (source for source, _ in pairs))
        _write_lines(draft / "data" / f"{split}.tgt", (target for _, target in pairs))
    ledger = {split: ledger.as_dict() for split, ledger in ledgers.items()}
    _write_lines(draft / "ledger.json", [json.dumps(ledger, indent=2, ensure_ascii=False)])
    _write_lines(draft / "data" / "corpus.json", [json.dumps(record, indent=2, ensure_ascii=False)])


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _move_into_place(draft: Path, folder: Path) -> None:
    """Move the draft's parts, those that mark the folder as finished last; all is on disk before."""
    for path in sorted(draft.rglob("*"), reverse=True):
        flush_to_disk(path)
    for name in ("tokenizer", "ledger.json", "data"):
        if (folder / name).is_dir():  # left by a preparation that was interrupted between two moves
            shutil.rmtree(folder / name)
        (draft / name).replace(folder / name)
        flush_to_disk(folder)
    draft.rmdir()


def _finished(config: Config, folder: Path, say: Callable[[str], None]) -> Prepared:
    _require_same_settings(config, folder)
    prepared = Prepared.load(folder)
    say(f"{folder} is prepared already: {len(prepared.train):,} training pairs of {prepared.corpus}")
    return prepared


def _require_same_settings(config: Config, folder: Path) -> None:
    record = _read_record(folder)
    assert record is not None
    before, now = record["settings"], _settings(config)
    if "auto" in (before["data"]["corpus"], now["data"]["corpus"]):  # what auto came to is in the folder's name
        before["data"]["corpus"] = now["data"]["corpus"]
    changed = [
        f"{stage}.{key} was {before[stage].get(key)!r}, is {value!r}"
        for stage, settings in now.items()
        for key, value in settings.items()
        if before[stage].get(key) != value
    ]
    if changed:
        raise ValueError(
            f"{folder} was prepared with other settings: {'; '.join(changed)}. "
            "Give the run another name, or delete that folder"
        )


def _read_record(folder: Path) -> dict[str, Any] | None:
    if not is_prepared(folder):
        return None
    record: dict[str, Any] = json.loads((folder / "data" / "corpus.json").read_text("utf-8"))
    return record


def _read_pairs(folder: Path, split: str, size: int) -> list[Pair]:
    source, target = (_read_lines(folder / f"{split}.{side}") for side in ("src", "tgt"))
    if not len(source) == len(target) == size:
        raise ValueError(
            f"{folder / split}.src has {len(source):,} lines and {split}.tgt {len(target):,}, not "
            f"{size:,} each: the folder was changed since it was prepared; delete it and prepare again"
        )
    return list(zip(source, target, strict=True))


def _read_lines(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        return [line.removesuffix("\n") for line in file]
