"""A small phrasebook in place of the built-in one, which takes seconds to make; settings of corpora of four shards."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from nmt.config import Config
from nmt.data import phrasebook
from nmt.data.store import shards
from tests.data.corpus_files import write_corpus
from tests.data.store.test_prepared import config, pairs


@pytest.fixture
def small_phrasebook(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    book = SimpleNamespace(
        train=[("eins", "one"), ("zwei", "two")], val=[("drei", "three")], test=[("vier", "four"), ("fünf", "five")]
    )
    monkeypatch.setattr(phrasebook, "phrasebook", lambda: book)
    return book


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Those of a corpus with eight repeated pairs, in files."""
    monkeypatch.setattr(shards, "SHARD", 32)
    train = [*pairs("train", 60), *pairs("train", 8)]
    corpus = write_corpus(tmp_path / "mine", train=train, val=pairs("val", 8), test=pairs("test", 8))
    return config(tmp_path, corpus=str(corpus), text="pairs", typos=0.3)
