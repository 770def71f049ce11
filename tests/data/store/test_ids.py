"""Promises of the store: the ids that were encoded, in the order of the text, however many shards there are."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from nmt.data.batches import Pairs, Sequences, join, make_batch, plan_batches
from nmt.data.store import shards
from nmt.data.store.engines import Engine
from nmt.data.store.ids import Shard, Side, small
from nmt.data.store.preparing import prepare
from nmt.data.stored import load_store
from nmt.data.tokenizer import encode_pairs
from nmt.training.data import TrainingData
from nmt.training.objectives import BothSides, Objective
from nmt.vocabulary import BOS, EOS
from tests.data.store.test_prepared import config, corpus

TEXTS = [[[5, 6, 7], [], [8]], [[4] * 9, [70_000, 5]], [], [[6]]]


def store(folder: Path, parts: list[list[list[int]]] = TEXTS) -> tuple[Pairs, Sequences]:
    """A store of these texts as sources, and reversed as targets; and the sources in memory."""
    files = [folder / f"{n}.safetensors" for n in range(len(parts))]
    for n, (file, part) in enumerate(zip(files, parts, strict=True)):
        source, target = Side(), Side()
        source.add(part[:1])
        source.add(part[1:])
        target.add(ids[::-1] for ids in part)
        Shard(*source.arrays(), *target.arrays(), small(np.full(len(part), n, np.int32))).write(file)
    pairs, corpus_N, weight_N = load_store(files)
    assert weight_N is None
    assert corpus_N.tolist() == [n for n, part in enumerate(parts) for _ in part]
    return pairs, Sequences.of(ids for part in parts for ids in part)


@pytest.mark.parametrize("parts", [TEXTS, [[ids for part in TEXTS for ids in part]], [[[], []]]])
def test_stored_ids_are_those_in_memory(tmp_path: Path, parts: list[list[list[int]]]) -> None:
    stored, memory = store(tmp_path, parts)
    every = torch.arange(len(memory))
    for index in (every, every.flip(0), every[1:2]):
        for bos, eos in ((True, False), (False, True), (True, True)):
            pair = zip(
                stored.source.padded(index, bos=bos, eos=eos), memory.padded(index, bos=bos, eos=eos), strict=True
            )
            assert all(torch.equal(*both) for both in pair)
        assert stored.source.rows(index) == memory.rows(index)
        assert [ids[::-1] for ids in stored.target.rows(index)] == memory.rows(index)
    assert torch.equal(stored.source.counts(70_001), memory.counts(70_001))
    assert [stored.source.ids(n).tolist() for n in every.tolist()] == memory.rows(every)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_stored_files_do_not_stay_open(tmp_path: Path) -> None:
    """A process may usually have 1,024 open files, and a large corpus has more shards."""
    store(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    pairs, _ = store(tmp_path, [[[5]]] * 40)
    assert len(os.listdir("/proc/self/fd")) < before + 5
    assert pairs.source.rows(torch.arange(40)) == [[5]] * 40


def test_joined_sequences_are_joined_batch_by_batch(tmp_path: Path) -> None:
    stored, memory = store(tmp_path)
    index = torch.tensor([3, 0, 5, 1])
    whole = join(BOS, memory, EOS, memory)
    lazy = join(BOS, stored.source, EOS, stored.source)
    assert not lazy.in_memory
    assert lazy.rows(index) == whole.rows(index)
    assert torch.equal(lazy.lengths_N, whole.lengths_N)


def batches(pairs: Pairs, objective: Objective) -> list[Tensor]:
    pairs = objective.pairs(pairs)
    plan = plan_batches(pairs.lengths, 200, seed=1, epoch=0)
    return [t for index in plan for t in vars(objective.batch(pairs, index, torch.Generator())).values()]


@pytest.mark.parametrize("size", [1 << 17, 16])
@pytest.mark.parametrize("objective", [Objective(), BothSides()])
def test_training_reads_what_encoding_the_text_would_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, objective: Objective
) -> None:
    monkeypatch.setattr(shards, "SHARD", size)
    prepared = prepare(corpus(), config(tmp_path), tmp_path / "run", engine=Engine(workers=1))
    assert len(prepared.store) == (1 if size > 99 else 8)
    data = TrainingData.load(prepared)
    again = TrainingData.encode(prepared.tokenizer, list(prepared.train), prepared.val)
    assert data.corpus_N is not None
    assert data.corpus_N.tolist() == [0] * 60
    assert all(map(torch.equal, batches(data.train, objective), batches(again.train, objective)))
    assert (data.facts, data.validation_text) == (again.facts, again.validation_text)
    assert data.tokenizer.words == again.tokenizer.words


def test_a_folder_of_an_older_nmt_is_encoded_when_it_is_read(tmp_path: Path) -> None:
    prepared = prepare(corpus(), config(tmp_path), tmp_path / "run")
    old = replace(prepared, store=[], train=list(prepared.train))
    new, old_data = TrainingData.load(prepared), TrainingData.load(old)
    index = torch.arange(60)
    for a, b in zip(*(vars(make_batch(data.train, index)).values() for data in (new, old_data)), strict=True):
        assert torch.equal(a, b)
    assert torch.equal(encode_pairs(prepared.tokenizer, old.train).source.flat[:-1], old_data.train.source.flat[:-1])


@pytest.mark.parametrize("content", [b"", b"\1\2", (8).to_bytes(8, "little") + b"nonsense"])
def test_a_file_that_is_no_shard_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "shard").write_bytes(content)
    with pytest.raises(ValueError, match=r"shard is damaged: .* prepare again"):
        Shard.read(tmp_path / "shard")
