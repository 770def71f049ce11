"""Promises of the store: the ids that were encoded, in the order of the text, however many shards there are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from nmt.data.batches import Pairs, Sequences, StoredPairs, make_batch, plan_batches, read_store
from nmt.data.copies.lexicon import Ids
from nmt.data.store import shards
from nmt.data.store.engines import Engine
from nmt.data.store.ids import Shard, joined, read_shard, small
from nmt.data.store.preparing import prepare
from nmt.training.data import TrainingData
from tests.data.store.test_prepared import config, corpus

TEXTS = [[[5, 6, 7], [], [8]], [[4] * 9, [70_000, 5]], [], [[6]]]


def store(folder: Path, parts: list[list[list[int]]]) -> tuple[StoredPairs, Sequences]:
    """A store of these texts as sources, and reversed as targets; and the sources in memory."""
    files = [folder / f"{n}.safetensors" for n in range(len(parts))]
    for n, (file, part) in enumerate(zip(files, parts, strict=True)):
        source, target = [Ids.of(part[:1]), Ids.of(part[1:])], [Ids.of([ids[::-1] for ids in part])]
        Shard(*joined(source), *joined(target), small(np.full(len(part), n, np.int32))).write(file)
    return StoredPairs(files), Sequences.of(ids for part in parts for ids in part)


@pytest.mark.parametrize("parts", [TEXTS, [[ids for part in TEXTS for ids in part]], [[[], []]]])
def test_stored_pairs_are_those_in_memory_in_any_part(tmp_path: Path, parts: list[list[list[int]]]) -> None:
    stored, memory = store(tmp_path, parts)
    every = torch.arange(len(memory))
    for index in (every, every[1:], every[1::2], every[-1:]):
        pairs, rows = stored.chosen(index), torch.arange(len(index))
        assert pairs.source.rows(rows) == memory.rows(index) == memory.chosen(index).rows(rows)
        assert [ids[::-1] for ids in pairs.target.rows(rows)] == memory.rows(index)
    whole: Any = read_store(stored.files)
    assert whole.source.rows(every) == memory.rows(every)
    for columns in (zip(*stored.columns(), strict=True), zip(*whole.columns(), strict=True)):
        source, target, portions = columns
        assert torch.equal(torch.cat(source), memory.lengths_N)
        assert torch.equal(torch.cat(target), memory.lengths_N)
        assert torch.cat(portions).tolist() == [n for n, part in enumerate(parts) for _ in part]


def batches(pairs: Pairs) -> list[Tensor]:
    plan = plan_batches(pairs.lengths, 200, seed=1, epoch=0)
    return [t for index in plan for t in vars(make_batch(pairs, index)).values()]


@pytest.mark.parametrize("size", [1 << 17, 16])
def test_training_reads_what_encoding_would_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(shards, "SHARD", size)
    prepared = prepare(corpus(), config(tmp_path), tmp_path / "run", engine=Engine(workers=1))
    assert len(prepared.store) == (1 if size > 99 else 8)
    data: Any = TrainingData.load(prepared)
    again: Any = TrainingData.encode(prepared.tokenizer, list(prepared.train), prepared.val)
    assert data.train.portion_N.tolist() == [0] * 60
    assert all(map(torch.equal, batches(data.train), batches(again.train)))
    assert (data.facts, data.validation_text) == (again.facts, again.validation_text)
    assert data.tokenizer.words == again.tokenizer.words


@pytest.mark.parametrize("content", [b"", b"\1\2", (8).to_bytes(8, "little") + b"nonsense"])
def test_a_file_that_is_no_shard_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "shard").write_bytes(content)
    with pytest.raises(ValueError, match=r"shard is damaged: .* prepare again"):
        read_shard(tmp_path / "shard", "corpora")
