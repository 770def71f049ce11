"""What tests of data share: corpora in plain files, and steps that are interrupted."""

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from nmt.config import DataConfig
from nmt.config.data import Text
from nmt.data.cleaning.cleaner import Pair
from nmt.data.corpora import Corpus, load_corpus


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


def kept_in(corpus: Corpus, split: str = "train") -> dict[str, int]:
    """How many pairs of each part of a split are kept."""
    return {name: part.kept for name, part in corpus.ledgers[split].parts.items()}


def interrupt(*_: object, **_named: object) -> NoReturn:
    raise KeyboardInterrupt


def tree(folder: Path) -> dict[str, bytes]:
    """The files of a folder, and what is in them."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
