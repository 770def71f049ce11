"""What tests of data share: corpora in plain files, and steps that are interrupted."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from nmt.config import Config, DataConfig, TokenizerConfig
from nmt.config.data import Text
from nmt.data.cleaning.cleaner import Pair
from nmt.data.corpora import Corpus, load_corpus
from nmt.data.store.prepared import Prepared
from nmt.data.store.preparing import prepare


def pairs_of(name: str, count: int = 3) -> list[Pair]:
    return [(f"{name} Satz {n}", f"{name} sentence {n}") for n in range(count)]


def write_corpus(folder: Path, *languages: str, **splits: Sequence[Sequence[str]]) -> Path:
    """A folder with a file for each language (default: de and en) of each split; rows have a text in each."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        for side, language in enumerate(languages or ("de", "en")):
            lines = "".join(f"{row[side]}\n" for row in rows)
            (folder / f"{split}.{language}").write_text(lines, encoding="utf-8")
    return folder


def load(path: Path | str, source: str = "de", target: str = "en", text: Text = "auto") -> Corpus:
    return load_corpus(DataConfig(corpus=str(path), source=source, target=target, text=text))


def prepared_of(data: DataConfig, folder: Path, vocab_size: int = 330) -> Prepared:
    """The corpus prepared in a run folder."""
    return prepare(None, Config(data=data, tokenizer=TokenizerConfig(vocab_size=vocab_size)), folder)


@contextmanager
def edited(file: Path) -> Iterator[dict[str, Any]]:
    """The members of a JSON file, which may be changed."""
    members = json.loads(file.read_text())
    yield members
    file.write_text(json.dumps(members))


def kept_in(corpus: Corpus, split: str = "train") -> dict[str, int]:
    """How many pairs of each part of a split are kept."""
    return {name: part.kept for name, part in corpus.ledgers[split].parts.items()}


def interrupt(*_: object, **_named: object) -> NoReturn:
    raise KeyboardInterrupt


def tree(folder: Path) -> dict[str, bytes]:
    """The files of a folder, and what is in them."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
