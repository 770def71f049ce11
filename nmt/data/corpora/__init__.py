"""Text of every kind: `data.corpus` flows in; train, val and test pairs (or texts) with their ledgers flow out.

A corpus is the built-in phrasebook, a data set of the Hugging Face hub, a folder, a file, or two files with a common
prefix. The rules of reading are in docs/data.md. For a text without a translation, the rules for pairs hold.
"""

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path

from nmt.config import DataConfig
from nmt.data.corpora.corpus import Corpus, Split, assemble, clean_train, hold_out, require_german_and_english
from nmt.data.corpora.files import find_splits, path_name, read_path, read_sentences
from nmt.data.corpora.hub import HUB, hub_name, local_folder, parse_hub, read_hub, read_multi30k
from nmt.data.corpora.several import read_many, read_more

__all__ = ["Corpus", "clean_train", "corpus_files", "corpus_name", "corpus_path", "load_corpus", "read_sentences"]


def load_corpus(config: DataConfig, needed: Collection[str] = ("val", "test")) -> Corpus:
    """Read the corpus that `config.corpus` names; ValueError if it can't be read. `needed`: is held out if missing."""
    if config.more:
        return read_more(config, load_corpus)
    if config.many_to_many:
        return read_many(config, partial(load_corpus, needed=needed))
    return hold_out(read_corpus(config), needed)


def read_corpus(config: DataConfig) -> Corpus:
    """One corpus as it is, in one direction."""
    readers = {"auto": read_auto, "phrasebook": read_phrasebook, "multi30k": read_multi30k}
    try:
        if config.corpus in readers:
            return readers[config.corpus](config)
        if config.corpus.startswith(HUB):
            return read_hub(config)
        return read_path(Path(config.corpus).expanduser(), config)
    except ConnectionError as error:
        files = ", train.".join(config.languages)
        advice = f"set data.corpus to a folder with train.{files} …, or to phrasebook"
        raise ValueError(f"{config.corpus} can't be loaded ({error}): {advice}, which is built in") from error


def read_auto(config: DataConfig) -> Corpus:
    """Multi30k from the hub or, if it can't be loaded, the phrasebook, with a note that says so."""
    try:
        return read_multi30k(config)
    except (ConnectionError, ValueError) as error:
        corpus = read_phrasebook(config)
        corpus.notes.append(f"Multi30k can't be loaded ({error}), so the built-in phrasebook is used.")
        return corpus


def read_phrasebook(config: DataConfig) -> Corpus:
    from nmt.data.phrasebook import phrasebook

    require_german_and_english(config)
    book = phrasebook()
    splits = {name: Split(config, training=name == "train") for name in ("train", "val", "test")}
    for name, split in splits.items():
        for line, (german, english) in enumerate(getattr(book, name), start=1):
            row = {"de": german, "en": english}
            split.add([row[language] for language in config.languages], line)
    return assemble("phrasebook", splits)


def corpus_name(config: DataConfig) -> str | None:
    """The name of the corpus, without reading it; None for auto, which is decided only by reading."""
    if config.corpus.startswith(HUB):
        return hub_name(config)
    if path := corpus_path(config):
        return path_name(path, config)
    return None if config.corpus == "auto" else config.corpus


def corpus_path(config: DataConfig) -> Path | None:
    """The folder, the file or the common prefix of a corpus in local files; None for other corpora."""
    if config.corpus in ("auto", "phrasebook", "multi30k"):
        return None
    if config.corpus.startswith(HUB):
        return local_folder(parse_hub(config).dataset)
    return Path(config.corpus).expanduser()


def corpus_files(config: DataConfig) -> dict[str, list[Path]]:
    """The user's files, by split, that `load_corpus` reads; empty for a data set of the hub, or if they are gone. Of a
    local data set, whose splits the library `datasets` finds, all files are named as train."""
    both, files = combinations(config.many_to_many, 2), dict[str, list[Path]]()
    try:
        for direction in [replace(config, many_to_many=(), source=a, target=b, more=()) for a, b in both] or [config]:
            for split, found in files_in_one_direction(direction).items():
                files[split] = list(dict.fromkeys([*files.get(split, []), *found]))
    except (OSError, ValueError):
        return {}
    for entry in config.more:
        for split, more in corpus_files(config.of(entry)).items():
            if split == "train" or (entry.validate and split.startswith("val")):
                files[split] = [*files.get(split, []), *more]
    return files


def files_in_one_direction(config: DataConfig) -> dict[str, list[Path]]:
    """The same, of data.corpus in one direction; OSError or ValueError if they are gone."""
    path = corpus_path(config)
    if path and config.corpus.startswith(HUB):
        found = (file for file in sorted(path.rglob("*")) if file.is_file())
        return {"train": [file for file in found if "/." not in f"/{file.relative_to(path).as_posix()}"]}
    return find_splits(path, config) if path else {}
