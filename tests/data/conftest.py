"""Settings of corpora of four shards, in files."""

from dataclasses import replace
from pathlib import Path

import pytest

from nmt.config import CleaningConfig, Config
from nmt.data.store import shards
from tests.data.cleaning.test_near import KEPT, NEAR, SHORT, sentences
from tests.data.corpus_files import write_corpus
from tests.data.store.test_prepared import config, pairs


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Those of a corpus with eight repeated pairs."""
    monkeypatch.setattr(shards, "SHARD", 32)
    train = [*pairs("train", 60), *pairs("train", 8)]
    corpus = write_corpus(tmp_path / "mine", train=train, val=pairs("val", 8), test=pairs("test", 8))
    return config(tmp_path, corpus=str(corpus), text="pairs", typos=0.3)


@pytest.fixture
def near_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Those of a corpus of which a quarter is nearly the same as another quarter."""
    monkeypatch.setattr(shards, "SHARD", 32)
    held_out = [row.pair for row in sentences(16, seed=9)]
    train = [row.pair for row in [*NEAR, *KEPT, *SHORT]]
    corpus = write_corpus(tmp_path / "mine", train=train, val=held_out[:8], test=held_out[8:])
    made = config(tmp_path, corpus=str(corpus), text="pairs", typos=0.3, max_pieces=256)
    return replace(made, cleaning=CleaningConfig(near=0.8))
