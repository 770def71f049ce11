"""Promises of many shards: few files are open at a time, and few are opened in all; nothing large is made twice."""

from collections import Counter
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from nmt import prepare as prepare_command
from nmt import train
from nmt.config import Config, DataConfig, TokenizerConfig
from nmt.data import texts
from nmt.data.cleaning.filters import Repeats
from nmt.data.store import shards
from nmt.data.store.engines import Engine
from nmt.data.store.preparing import prepare
from tests import forks
from tests.data.corpus_files import interrupt, pairs_of, write_corpus

ONE = Engine(workers=1)


def write(folder: Path, n_pairs: int) -> DataConfig:
    write_corpus(folder, train=pairs_of("train", n_pairs), val=pairs_of("val", 4), test=pairs_of("test", 4))
    return DataConfig(corpus=str(folder), text="pairs")


def prepare_and_train(data: list[str]) -> int:
    """In a process that may open few files."""
    resource = pytest.importorskip("resource")
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    shards.SHARD, texts.CHUNK = 1, 8
    model = "--model.d_model 16 --model.n_heads 2 --model.d_ff 32 --model.encoder_layers 1 --model.decoder_layers 1"
    steps = "--training.max_steps 2 --training.validate_every 2 --training.batch_tokens 512 --training.device cpu"
    return prepare_command.main([*data, "--workers", "1"]) or train.main([*data, *model.split(), *steps.split()])


def test_hundreds_of_shards_are_prepared_and_trained_on_with_few_open_files(tmp_path: Path) -> None:
    write(tmp_path / "mine", 400)
    data = ["--data.corpus", str(tmp_path / "mine"), "--runs", str(tmp_path), "--name", "run"]
    process = forks.start(prepare_and_train, [*data, "--tokenizer.vocab_size", "320"], stderr=PIPE, text=True)
    _, errors = process.communicate()
    assert process.returncode == 0, errors[-3000:]
    assert len(list((tmp_path / "run" / "data").glob("*.safetensors"))) == 512
    assert (tmp_path / "run" / "report.json").exists()


def test_files_that_dividing_opens_grow_as_shards_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of S shards, each file that was read was once divided into S groups, which each shard looked for: S² files."""
    size = 128
    config = Config(data=write(tmp_path / "mine", size * 8), tokenizer=TokenizerConfig(vocab_size=320))
    opened: Counter[str] = Counter()
    read, make = texts.read_rows, texts.writer_of

    def count(file: Path) -> Any:
        opened[file.parent.name if file.parent.parent.name == ".preparing" else "made"] += 1

    monkeypatch.setattr(shards, "SHARD", 8)
    monkeypatch.setattr(texts, "CHUNK", 8)
    monkeypatch.setattr(shards, "read_rows", lambda file: count(file) or read(file))
    monkeypatch.setattr(texts, "writer_of", lambda file: count(file) or make(file))
    monkeypatch.setattr(shards.Draft, "encode", interrupt)
    with pytest.raises(KeyboardInterrupt):
        prepare(None, config, tmp_path / "run", engine=ONE)
    divided = opened["read"] + opened["buckets"] + opened["parts"] + opened["made"]
    assert divided <= 4 * size + 2 * 32 * 64


def test_tables_of_held_out_text_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not for each shard and direction."""
    languages = ("de", "en", "fr")
    write_corpus(tmp_path, *languages, train=[[f"{language} Satz {n}" for language in languages] for n in range(100)])
    made, whole = list[Any](), Repeats.__init__
    monkeypatch.setattr(shards, "SHARD", 64)

    def counted(repeats: Repeats, *given: Any, **named: Any) -> None:
        made.append(given)
        whole(repeats, *given, **named)

    monkeypatch.setattr(Repeats, "__init__", counted)
    data = DataConfig(corpus=str(tmp_path), many_to_many=languages, text="pairs")
    prepared = prepare(None, Config(data=data, tokenizer=TokenizerConfig(vocab_size=320)), tmp_path / "run", engine=ONE)
    assert (len(prepared.store), len(made)) == (16, 1)
