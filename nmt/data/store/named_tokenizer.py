"""Tokenizers with a folder of their own, for many runs: a corpus flows in; a tokenizer with its settings flows out."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt.config.data import ONLY_OF_RUNS
from nmt.config.names import describe_changes
from nmt.data.cleaning.cleaner import ledger_table
from nmt.data.cleaning.losses import describe_losses
from nmt.data.corpora import clean_train, corpus_files, load_corpus
from nmt.data.resolve import resolve
from nmt.data.store.record import data_settings, describe_edits, fingerprints, flat
from nmt.data.store.shards import order
from nmt.data.tokenizer import train_tokenizer
from nmt.fields import require
from nmt.files import check_sums, whole_folder, write_json
from nmt.messages import say, show
from nmt.upgrade import FORMAT, take_format, upgrade_record

RECORD = "settings.json"


def train_named(given: Mapping[str, Any], folder: Path) -> None:
    """Train a tokenizer in this folder, unless it has one with the same settings. `given`: as for `resolve`. Raises
    ValueError if the folder has anything else, or the text can't be used."""
    unused = ", ".join({name.partition(".")[0] for name in given} & {"name", "runs", "model", "training", "search"})
    require(unused == "", f"settings of {unused} change nothing in a tokenizer: leave them out")
    run = resolve({**given, "model.tied_embeddings": "none"})  # which goes with every tokenizer
    config = run.config
    require(config.tokenizer.folder == "", "tokenizer.folder is for nmt.prepare and nmt.train: leave it out")
    settings = {n: value for n, value in flat(data_settings(config)).items() if n not in ONLY_OF_RUNS}
    files = corpus_files(config.data)
    inputs = [file for split in files.values() for file in split]
    if is_trained(folder, settings, inputs):
        say(f"{folder} is trained already with these settings; to train it again, delete it")
        return
    record = {"format": FORMAT, "settings": settings, "inputs": fingerprints(inputs)}
    with whole_folder(folder) as draft:
        corpus = run.corpus or load_corpus(config.data)
        pairs, ledger = clean_train(corpus, config.data, config.cleaning)
        show(ledger_table({"train": ledger}))
        for line in (*corpus.notes, *describe_losses({"train": ledger}, files, config.data.languages)):
            say(line)
        say(f"Training the tokenizer on {len(pairs):,} {ledger.unit}s of {corpus.name}")
        tokenizer = train_tokenizer(sorted(pairs, key=order), config.tokenizer, draft, *config.data.languages)
        write_json(draft / RECORD, record | {"notes": tokenizer.notes})
    for note in tokenizer.notes:
        say(note)
    say(f"Ready: {folder}; use it with --tokenizer.folder {folder}")


def is_trained(folder: Path, settings: dict[str, Any], inputs: list[Path]) -> bool:
    """Whether the folder has a whole tokenizer of these settings and files; ValueError if it has anything else."""
    if not folder.exists():
        return False
    try:
        record = json.loads((folder / RECORD).read_text("utf-8"))
        before = upgrade_record(dict(record["settings"]))
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
        problem = f"{folder} is in the way, and nmt.tokenizer did not make it"
        raise ValueError(f"{problem}: choose another name, or move that folder") from error
    take_format(record, folder / RECORD)
    changes = describe_changes(before, settings)
    problem = f"{folder} was trained with other settings: {changes}"
    require(not changes, f"{problem}. Choose another name, or delete that folder")
    check_sums(folder, RECORD)
    edits = describe_edits(record.get("inputs"), [file for file in inputs if file.exists()])
    require(not edits, f"text has changed since {folder} was made: {edits}. Choose another name, or delete that folder")
    return True
