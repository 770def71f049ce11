"""Tokenizers with a folder of their own: a corpus or text files flow in; a tokenizer with its settings flows out.

`nmt.data.store.preparing` trains the tokenizer of a run with the same functions. Here it is for many runs.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt.config import Config
from nmt.config.data import ONLY_OF_RUNS
from nmt.config.names import describe_changes, fixed_settings
from nmt.config.recipes import find_recipe, make_config
from nmt.data.cleaning import Ledger, Pair, ledger_table
from nmt.data.cleaning.losses import describe_losses
from nmt.data.corpora import Corpus, clean_train, corpus_files, load_corpus, read_sentences
from nmt.data.resolve import resolve
from nmt.data.store.inputs import describe_edits, fingerprints
from nmt.data.store.shards import order
from nmt.data.tokenizer import train_tokenizer
from nmt.fields import require
from nmt.files import check_sums, whole_folder, write_json
from nmt.messages import console, say
from nmt.upgrade import FORMAT, take_format, upgrade_record

RECORD = "settings.json"


def train_named(given: Mapping[str, Any], folder: Path) -> None:
    """Train a tokenizer in this folder, unless the folder has one with the same settings.

    `given`: as for `resolve`, with the paths of text files under the name files. Raises
    ValueError if the folder was not made here, or has a tokenizer with other settings, or the text can't be used.
    """
    unused = ", ".join({name.partition(".")[0] for name in given} & {"name", "runs", "model", "training", "search"})
    require(unused == "", f"settings of {unused} change nothing in a tokenizer: leave them out")
    files, corpus = given.get("files", []), None
    given = {**given, "model.tied_embeddings": "none"}  # goes with every tokenizer
    if files:
        require("data.corpus" not in given, "--data.corpus and text files can't both be given: take one of them")
        config = make_config(given, find_recipe(given["config"]) if "config" in given else None)
    else:
        run = resolve(given)
        config, corpus = run.config, run.corpus
    require(config.tokenizer.folder == "", "tokenizer.folder is for nmt.prepare and nmt.train: leave it out")
    settings = text_settings(config, files)
    inputs = [Path(file) for file in files] or [f for split in corpus_files(config.data).values() for f in split]
    if is_trained(folder, settings, inputs):
        say(f"{folder} is trained already with these settings; to train it again, delete it")
        return
    record = {"format": FORMAT, "settings": settings, "inputs": fingerprints(inputs)}
    with whole_folder(folder) as draft:
        ledgers, pairs, trained_on = read_files(files, config) if files else read_corpus(corpus, config)
        console().print(ledger_table(ledgers))
        by_split = {file: [Path(file)] for file in files} or corpus_files(config.data)
        for warning in describe_losses(ledgers, by_split):
            say(warning)
        require(bool(pairs), f"there is no usable line in {' and '.join(files)}")
        say(f"Training the tokenizer on {trained_on}")
        languages = [" and ".join(files)] if files else config.data.languages
        tokenizer = train_tokenizer(sorted(pairs, key=order), config.tokenizer, draft, *languages)
        write_json(draft / RECORD, record | {"notes": tokenizer.notes})
    for note in tokenizer.notes:
        say(note)
    say(f"Ready: {folder}; use it with --tokenizer.folder {folder}")


def text_settings(config: Config, files: list[str]) -> dict[str, Any]:
    """The settings that a tokenizer depends on, with types as JSON gives them back."""
    flat = fixed_settings(config)
    names = [n for n in flat if n.startswith("tokenizer.") or n == "data.max_characters"]
    if not files:
        names = [n for n in flat if n.startswith(("data.", "cleaning.", "tokenizer.")) and n not in ONLY_OF_RUNS]
    return json.loads(json.dumps({name: flat[name] for name in names} | {"files": files}))


def is_trained(folder: Path, settings: dict[str, Any], inputs: list[Path]) -> bool:
    """Whether the folder has a whole tokenizer with these settings, of these files; ValueError if it has anything
    else."""
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


def read_corpus(corpus: Corpus | None, config: Config) -> tuple[dict[str, Ledger], list[Pair], str]:
    """The pairs that a run of this corpus would be trained on, and what they are, in words; `corpus`: None to read
    it."""
    corpus = corpus or load_corpus(config.data)
    for note in corpus.notes:
        say(note)
    pairs, ledger = clean_train(corpus, config.data, config.cleaning)
    return {"train": ledger}, pairs, f"{len(pairs):,} {ledger.unit}s of {corpus.name}"


def read_files(files: list[str], config: Config) -> tuple[dict[str, Ledger], list[Pair], str]:
    """The same of the sentences of text files."""
    pairs, ledgers = list[Pair](), dict[str, Ledger]()
    for file in files:
        sentences, ledgers[file] = read_sentences(Path(file), config.data, held_out=())
        pairs += (("", sentence) for sentence in sentences)
    return ledgers, pairs, f"{len(pairs):,} sentences"
