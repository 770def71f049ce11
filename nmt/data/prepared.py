"""Preparation: a corpus flows in; clean pairs, a tokenizer and a ledger of dropped pairs flow out, in the run folder.

The files are `data/` (SPLIT.src and SPLIT.tgt, a sentence a line, and `corpus.json`), `tokenizer/` and `ledger.json`.
The lines of SPLIT.src are empty if the corpus consists of texts without translations. `data/` and `tokenizer/` have
SHA256SUMS, and corpus.json the hashes of the user's files, so that a change is noticed.
They are made in a draft folder, `.preparing/`, and moved into place, `data/` last: a run folder with `data/corpus.json`
is prepared completely. A preparation that was interrupted starts again. The caller locks the run folder.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from nmt.cli import describe_changes, say
from nmt.config import Config
from nmt.data.cleaning import Examples, Ledger, Pair, require_pairs
from nmt.data.corpora import Corpus, clean_train, corpus_files, corpus_path, load_corpus
from nmt.data.inputs import Fingerprints, describe_edits, fingerprints
from nmt.data.placeholders import add_placeholders
from nmt.data.tokenizer import Tokenizer, encode_pairs, train_tokenizer
from nmt.data.variants import make_variants
from nmt.fields import require
from nmt.files import (
    MARKER,
    SUMS,
    check_sums,
    flush_to_disk,
    iterate_lines,
    mark,
    model_in,
    naming,
    remove_ours,
    write_json,
    write_lines,
    write_sums,
)
from nmt.upgrade import FORMAT, take_format, upgrade_record
from nmt.vocabulary import PLACEHOLDERS

DRAFT = ".preparing"
RESTORE = "Restore it, or delete"
SCORED_AT_ONCE = 20_000  # pairs between two messages
EXAMPLES = 20  # dropped pairs that are kept of each cause, to show them
CREATED_FIRST = {".lock", DRAFT, "config.yaml.partial"}  # before `is_run` can recognise a new run


Scorer = Callable[[Sequence[Pair]], Sequence[float | None]]
"""The probability that each pair is true; None for pairs that are too long to be scored."""


@dataclass(kw_only=True)
class Prepared(Corpus):
    """The clean corpus and the tokenizer of a prepared run folder."""

    folder: Path
    tokenizer: Tokenizer
    dropped: dict[str, list[Pair]]
    """Some of the training pairs that each cause dropped after reading: at most EXAMPLES."""

    @classmethod
    def load(cls, folder: Path) -> "Prepared":
        """Read a run folder; ValueError if it isn't prepared, or was changed since."""
        record = read_record(folder) or {}
        require(bool(record), f"{folder} is not prepared: run python -m nmt.prepare")
        for part in ("data", "tokenizer"):
            if (folder / part / SUMS).exists():  # an older nmt wrote none
                try:
                    check_sums(folder / part)
                except ValueError as error:
                    raise ValueError(f"{error}. {RESTORE} {folder} and prepare again") from error
        tokenizer = Tokenizer.load(folder / "tokenizer")
        ledgers = read_ledgers(folder / "ledger.json")
        tests = {split: read_pairs(folder / "data", split, size) for split, size in record["pairs"].items()}
        dropped = {cause: [(a, b) for a, b in pairs] for cause, pairs in record.get("dropped", {}).items()}
        whole = record["corpus"], tests.pop("train"), tests.pop("val"), tests, ledgers, record["notes"]
        return cls(*whole, folder=folder, tokenizer=tokenizer, dropped=dropped)


def require_own_run_folder(config: Config, folder: Path) -> None:
    """Raise ValueError if a run in this folder could overwrite the user's own files; call it before writing any.

    The folder must be new, empty or a run's, and neither the corpus nor the tokenizer may be the folder itself or lie
    in its `data/` or `tokenizer/`.
    """
    run = folder.resolve()
    tokenizer = Path(config.tokenizer.folder) if config.tokenizer.folder else None
    for setting, path in (("data.corpus", corpus_path(config.data)), ("tokenizer.folder", tokenizer)):
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


def prepare(
    corpus: Corpus | None, config: Config, folder: Path, load_scorer: Callable[[Config], Scorer] | None = None
) -> Prepared:
    """Clean the corpus, train the tokenizer on it, and put both into the run folder, unless they are there already.

    `corpus`: None to read it only if needed; `load_scorer`: loads `data.scorer`, and is needed if that is set. Raises
    ValueError if the folder isn't a run folder or was prepared with other settings, the scorer can't be loaded, the
    corpus can't be read, no training pair is left, or the tokenizer can't be trained.
    """
    require_own_run_folder(config, folder)
    if record := read_record(folder):
        for note in corpus.notes if corpus else ():  # which corpus `auto` took, and why
            say(note)
        return load_finished(record, config, folder)
    assert load_scorer or not config.data.scorer
    scorer = load_scorer(config) if load_scorer and config.data.scorer else None  # before hours of reading
    draft = folder / DRAFT
    for leftover in (folder / "data", folder / "tokenizer", draft):
        remove_ours(leftover)
    inputs = fingerprints(input_files(config))
    corpus = corpus or load_corpus(config.data)
    for note in corpus.notes:
        say(note)
    try:
        with naming(draft):
            mark(draft)
            prepared = make_prepared(corpus, config, draft, scorer)
            write_draft(draft, prepared, config, inputs)
            move_into_place(draft, folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)  # frees space if the disk is full
        raise
    return replace(prepared, folder=folder)


def make_prepared(corpus: Corpus, config: Config, draft: Path, scorer: Scorer | None) -> Prepared:
    """Clean the training text, and put a tokenizer into the draft."""
    train, ledger, examples = clean_train(corpus, config.data, config.cleaning, EXAMPLES)
    if scorer:
        train = drop_doubtful(train, scorer, config.data.least_quality, ledger, examples)
    variants = make_variants(train, config.data) + add_placeholders(train, config.data.placeholders)
    mark(draft / "tokenizer")
    if config.tokenizer.folder:
        tokenizer = take_tokenizer(config)
        tokenizer.save(draft / "tokenizer")
    else:
        say(f"Training the tokenizer on {len(train):,} {ledger.unit}s of {corpus.name}")
        marks = PLACEHOLDERS if config.data.placeholders else ()
        settings = replace(config.tokenizer, user_defined_symbols=(*config.tokenizer.user_defined_symbols, *marks))
        tokenizer = train_tokenizer([*train, *variants], settings, draft / "tokenizer", *config.data.languages)
    for note in tokenizer.notes:
        say(note)
    train = drop_long(train, tokenizer, config.data.max_pieces, ledger, examples)
    if variants:
        train += drop_long(variants, tokenizer, config.data.max_pieces, Ledger(len(variants)), Examples(0))
        say(f"With {len(variants):,} changed copies: {len(train):,} training pairs")
    ledgers = corpus.ledgers | {"train": ledger}
    whole = corpus.name, train, corpus.val, corpus.tests, ledgers, corpus.notes + tokenizer.notes
    return Prepared(*whole, folder=draft, tokenizer=tokenizer, dropped=examples.by_cause())


def input_files(config: Config) -> list[Path]:
    """The user's files of text that are prepared."""
    return [file for files in corpus_files(config.data).values() for file in files]


def take_tokenizer(config: Config) -> Tokenizer:
    """Load the tokenizer in `config.tokenizer.folder`."""
    folder = Path(config.tokenizer.folder)
    tokenizer = Tokenizer.load(model_in(folder)).for_corpus(*config.data.languages)
    separate = f"the tokenizer in {folder} has a vocabulary for each language, but"
    require(tokenizer.joint or config.data.unit == "pair", f"{separate} data.text is {config.data.text}: take another")
    advice = "take model.family encoder-decoder and model.tied_embeddings decoder or none"
    require(tokenizer.joint or not config.model.one_vocabulary, f"{separate} the model needs one vocabulary: {advice}")
    marked = not config.data.placeholders or tokenizer.has_placeholders
    require(marked, f"the tokenizer in {folder} has no placeholders: set data.placeholders to 0, or take another")
    tokenizer.notes.append(f"The tokenizer is the one in {folder}; the other settings of tokenizer.* are not used.")
    return tokenizer


def drop_doubtful(
    pairs: Sequence[Pair], scorer: Scorer, least: float, ledger: Ledger, examples: Examples
) -> list[Pair]:
    """The pairs whose quality is at least `least`; the ledger counts the dropped pairs."""
    kept = []
    for start in range(0, len(pairs), SCORED_AT_ONCE):
        chunk = pairs[start : start + SCORED_AT_ONCE]
        for pair, quality in zip(chunk, scorer(chunk), strict=True):
            if quality is not None and quality >= least:
                kept.append(pair)
            else:
                cause = "too long for data.scorer" if quality is None else f"quality below {least:g}"
                ledger.drop(cause)
                examples.add(cause, pair)
        say(f"Scored {start + len(chunk):,} of {len(pairs):,} pairs, kept {len(kept):,}")
    require_pairs(kept, ledger)
    return kept


def drop_long(pairs: Sequence[Pair], tokenizer: Tokenizer, most: int, ledger: Ledger, examples: Examples) -> list[Pair]:
    """The pairs with at most `most` pieces on each side; the ledger counts the dropped pairs."""
    ids, cause, kept = encode_pairs(tokenizer, pairs), f"longer than {most:,} pieces", list[Pair]()
    lengths = torch.maximum(ids.source.lengths_N, ids.target.lengths_N).tolist()
    for pair, length in zip(pairs, lengths, strict=True):
        if length <= most:
            kept.append(pair)
        else:
            examples.add(cause, pair)
    ledger.drop(cause, len(pairs) - len(kept))
    require_pairs(kept, ledger)
    return kept


def write_draft(draft: Path, prepared: Prepared, config: Config, inputs: Fingerprints) -> None:
    splits = {"train": prepared.train, "val": prepared.val, **prepared.tests}
    for split, pairs in splits.items():
        write_lines(draft / "data" / f"{split}.src", (source for source, _ in pairs))
        write_lines(draft / "data" / f"{split}.tgt", (target for _, target in pairs))
    write_json(draft / "ledger.json", {split: ledger.as_dict() for split, ledger in prepared.ledgers.items()})
    record = {
        "format": FORMAT,
        "corpus": prepared.name,
        "pairs": {split: len(pairs) for split, pairs in splits.items()},
        "notes": prepared.notes,
        "settings": data_settings(config),
        "inputs": inputs,
        "dropped": prepared.dropped,
    }
    write_json(draft / "data" / "corpus.json", record)
    for part in ("data", "tokenizer"):
        write_sums(draft / part)


def data_settings(config: Config) -> dict[str, Any]:
    """The settings that the prepared data depends on, with types as JSON gives them back."""
    settings = {"data": asdict(config.data), "cleaning": asdict(config.cleaning), "tokenizer": asdict(config.tokenizer)}
    return json.loads(json.dumps(settings))


def flat(settings: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Settings of several sections by their dotted names."""
    return {f"{section}.{name}": value for section, values in settings.items() for name, value in values.items()}


def move_into_place(draft: Path, folder: Path) -> None:
    """Flush the draft to the disk, and move its parts into the run folder, `data/` last."""
    for path in sorted(draft.rglob("*"), reverse=True):
        flush_to_disk(path)
    for name in ("tokenizer", "ledger.json", "data"):
        (draft / name).replace(folder / name)
        flush_to_disk(folder)
    remove_ours(draft)


def load_finished(record: dict[str, Any], config: Config, folder: Path) -> Prepared:
    """Read a prepared run folder with this corpus.json. Raises ValueError if it was prepared with other settings, or
    from other text and nothing was trained on it yet."""
    prepared = Prepared.load(folder)
    before, now = upgrade_record(flat(record["settings"])), flat(data_settings(config))
    if "auto" in (before["data.corpus"], now["data.corpus"]):  # the name of the folder has the corpus that auto took
        before["data.corpus"] = now["data.corpus"]
    if changed := describe_changes(before, now):
        problem = f"{folder} was prepared with other settings: {changed}"
        raise ValueError(f"{problem}. Give the run another name, or delete that folder")
    if note := note_of_edits(config, folder, record):
        require(any((folder / "checkpoints").glob("step-*")), note)
        say(note)
    unit = prepared.ledgers["train"].unit
    say(f"{folder} is prepared already: {len(prepared.train):,} training {unit}s of {prepared.name}")
    return prepared


def note_of_edits(config: Config, folder: Path, record: dict[str, Any]) -> str:
    """Which of the user's files have changed since they were prepared, and what to do; empty if none has."""
    edits = describe_edits(record.get("inputs"), input_files(config))
    advice = f"{folder} keeps the text as it was. To use the new text, give the run another name, or delete that folder"
    return f"text has changed since it was prepared: {edits}. {advice}" if edits else ""


def read_record(folder: Path) -> dict[str, Any] | None:
    """The contents of data/corpus.json; None if there is no such file. Raises ValueError if nmt wrote no such file, or
    a newer nmt wrote it."""
    file = folder / "data" / "corpus.json"
    try:
        record = read_json(file, folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    keys = {"corpus", "pairs", "notes", "settings"}
    whole = isinstance(record, dict) and record.keys() >= keys
    require(whole, f"{file} is damaged: it lacks {', '.join(sorted(keys))}. {RESTORE} {folder} and prepare again")
    take_format(record, file)
    return dict(record)


def read_ledgers(file: Path) -> dict[str, Ledger]:
    saved = read_json(file, file.parent)
    try:
        require("train" in saved, "it lacks train")
        return {split: Ledger.from_dict(ledger) for split, ledger in saved.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is damaged: {error!r}. {RESTORE} {file.parent} and prepare again") from error


def read_json(file: Path, folder: Path) -> Any:
    """The value in a file of this run folder. Raises ValueError if it is no JSON."""
    try:
        return json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: {error}. {RESTORE} {folder} and prepare again") from error


def explain(dropped: dict[str, list[Pair]], most: int) -> Iterator[str]:
    """Lines that show some of the dropped pairs of each cause, a tab between source and target."""
    for cause, pairs in dropped.items():
        if most:
            yield f"\nDropped: {cause}"
        yield from ("  " + "\t".join(filter(None, pair)) for pair in pairs[:most])


def read_pairs(folder: Path, split: str, size: int) -> list[Pair]:
    source, target = (list(iterate_lines(folder / f"{split}.{side}", "strict")) for side in ("src", "tgt"))
    counts = f"{folder / split}.src has {len(source):,} lines and {split}.tgt {len(target):,}, not {size:,} each"
    require(len(source) == len(target) == size, f"{counts}. {RESTORE} {folder.parent} and prepare again")
    return list(zip(source, target, strict=True))
