"""The facts that training sources tell; and batches in their order, made ahead in threads: the same training, bit for
bit, from any place on."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice, pairwise, takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from nmt.config import TrainingConfig
from nmt.data import batches as module
from nmt.data.batches import Batch, Pairs, PlannedBatch, Sequences, StoredPairs, make_batch, read_store
from nmt.data.cleaning.cleaner import Pair
from nmt.data.mixing import mixture_of
from nmt.data.packing import RowShape
from nmt.data.sections import Section
from nmt.data.store.facts import final_mark, write_facts
from nmt.data.store.ids import Shard, small
from nmt.data.tokenizer import Tokenizer
from nmt.text.words import WordCounts
from nmt.training.data import Feed, TrainingData
from nmt.training.distributed import SINGLE_PROCESS, Processes
from nmt.translation.model_folder import Facts
from tests.tiny import PAIRS, make_tokenizer
from tests.training.reversal import corpus, new_trainer, require_equal, require_same_end, run
from tests.training.test_loop import spoil

ONE, TWO, THREE = ((" ".join(["Der Hund läuft."] * n), "The dog runs.") for n in (1, 2, 3))


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return make_tokenizer(Path(tmp_path_factory.mktemp("tokenizer")))


@pytest.mark.parametrize(
    ("train", "usual"),
    [
        ([ONE] * 199 + [TWO], 1),
        ([ONE] * 198 + [TWO] * 2, 2),
        ([ONE] * 98 + [TWO, THREE] * 51, 3),
        ([ONE, TWO] * 300 + [THREE] * 5, 2),
        ([THREE], 3),
    ],
)
def test_as_many_sentences_are_usual_as_1_source_in_100_has(known: Tokenizer, train: list[Pair], usual: int) -> None:
    data = TrainingData.encode(known, train, PAIRS)
    longest = max(len(ids) for ids in known.encode_source([source for source, _ in train]))
    assert data.facts == Facts(longest_source=longest, usual_sentences=usual, final_mark=".")


@pytest.mark.parametrize(
    ("sources", "mark"),
    [
        (["Da.", "Da!"] * 19 + ["Da", "Wo?"], "."),
        (["Da."] * 18 + ["Da"] * 2, ""),
        (["好。"] * 20 + ["好？"], "。"),
        (["Da.", ""], ""),
        ([], ""),
    ],
)
def test_the_final_mark_is_the_usual_one_if_nearly_all_sources_have_one(sources: list[str], mark: str) -> None:
    assert final_mark(sources) == mark


def test_a_translator_knows_the_words_of_its_sources_and_a_language_model_none(
    known: Tokenizer, tmp_path: Path
) -> None:
    words: Any = TrainingData.encode(known, PAIRS, PAIRS).tokenizer.words
    assert {"Hund", "Männer", "Wo"} <= words.ranks.keys()
    without_sources = TrainingData.encode(known, [("", target) for _, target in PAIRS], [])
    assert (without_sources.tokenizer.words, without_sources.facts) == (None, Facts())
    write_facts([tmp_path / "missing"], 0, WordCounts.of(()), tmp_path)  # reads no shard of text without sources
    assert json.loads((tmp_path / "facts.json").read_text()) == {"longest_source": 0}


Made = list[tuple[bool, int, int]]
PORTIONS = [Section("a", "de", "en"), Section("b", "de", "en", weight=0.3), Section("c", "en", "de", weight=2.5)]
# Hashes of all batches of the epochs 0 and 3, and of those of epoch 3 from number 30 on (of a store: 130), as nmt 0.2.0
# planned them.
PLANS = {
    ("plain", False): ["7609ba1fb9269df4", "2ccfe8221813bc98", "41579601b7b0f32c"],
    ("plain", True): ["812feb52d13f60d0", "697fa0491f17d0c0", "3a58fbd0d3c66068"],
    ("mixed", False): ["a655aa0ff1a46bf3", "b61c70224c5448e9", "5d58e48ae24da090"],
    ("mixed", True): ["93d8a5fdbbdbd2c2", "f6f983bd3f4bb252", "84dc9783a4478b1c"],
}


def stored(pairs: Pairs, folder: Path) -> Pairs | StoredPairs:
    """The pairs in a store of seven files."""
    for n, index in enumerate(torch.arange(len(pairs)).chunk(7)):
        part = pairs.chosen(index)
        arrays = [a for side in (part.source, part.target) for a in (side.flat[:-1].numpy(), side.lengths_N.numpy())]
        assert pairs.portion_N is not None
        arrays.append(pairs.portion_N[index].numpy())
        source, source_N, target, target_N, portion_N = (small(a.astype(np.int32)) for a in arrays)
        Shard(source, source_N, target, target_N, portion_N).write(folder / f"{n}.safetensors")
    return read_store(sorted(folder.glob("*.safetensors")))


def feed_of(kind: str, in_store: bool, folder: Path, *, in_threads: bool = False) -> tuple[Feed, Any]:
    """Of 500 pairs of random lengths, whose pieces tell the number of the pair."""
    generator = torch.Generator().manual_seed(5)
    lengths = [torch.randint(1, 30, (500,), generator=generator) for _ in range(2)]
    portion_N = torch.randint(3, (500,), generator=generator)
    sides = (Sequences.of([[n] * (size - 1) for n, size in enumerate(side.tolist())]) for side in lengths)
    pairs = Pairs(*sides, portion_N=portion_N)
    train = stored(pairs, folder) if in_store else pairs
    mixture = None if kind == "plain" else mixture_of(train, PORTIONS, 2.0)
    data: Any = TrainingData(None, train, pairs, [], None, mixture=mixture, stored=in_store)  # type: ignore[arg-type]
    model: Any = SimpleNamespace(sequence_lengths=lambda *lengths: list(lengths))
    settings: Any = SimpleNamespace(batch_tokens=200, seed=7, accumulate=2)
    return Feed(data, model, settings, SINGLE_PROCESS, in_threads=in_threads), train


def digest(planned: Iterable[PlannedBatch]) -> str:
    found, batches = hashlib.sha256(), [*planned]
    assert batches
    for batch in batches:
        rows = batch.index_B if batch.rows_N is None else batch.rows_N[batch.index_B]
        found.update(f"{batch.number} {rows.tolist()}\n".encode())
        sizes = batch.pairs.source.lengths_N[batch.index_B].tolist()
        assert batch.pairs.source.rows(batch.index_B) == [[n] * k for n, k in zip(rows.tolist(), sizes, strict=True)]
    return found.hexdigest()[:16]


@pytest.mark.parametrize(("kind", "in_store"), PLANS)
@pytest.mark.parametrize("in_threads", [False, True])
def test_batches_are_those_of_earlier_versions_so_that_their_runs_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, in_store: bool, in_threads: bool
) -> None:
    monkeypatch.setattr(module, "WINDOW", 128)
    feed, train = feed_of(kind, in_store, tmp_path, in_threads=in_threads)
    assert isinstance(train, StoredPairs if in_store else Pairs)
    found = []
    for epoch, number in ((0, 0), (3, 0), (3, 130 if in_store else 30)):
        feed.go_to((epoch, number))
        found.append(digest(takewhile(lambda batch, epoch=epoch: batch.epoch == epoch, feed.planned)))  # type: ignore[misc]
    assert found == PLANS[kind, in_store]
    feed.go_to((0, 0))
    planned = list(islice(feed.planned, 300))
    assert {batch.epoch for batch in planned} > {0, 1}
    for before, now in pairwise(planned):
        feed.go_to(before.after)
        if now.number % 50 == 0 or before.epoch < now.epoch:  # going on takes a plan
            assert digest([next(feed.planned)]) == digest([now])


def peak_of(shards: int, kind: str, folder: Path) -> int:
    """The most memory in bytes, in a process of its own, that the first batch takes: of so many files of 2¹⁷ pairs."""
    n = 1 << 17
    ids, sizes, portion_N = (np.full(k, m, np.uint16) for k, m in ((2 * n, 7), (n, 2), (n, 0)))
    portion_N[::3] = 1
    Shard(ids, sizes, ids, sizes, portion_N).write(folder / "shard")
    process = subprocess.run(
        [sys.executable, "-m", "tests.training.test_data", str(shards), kind, str(folder / "shard")],
        capture_output=True, text=True, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    return 1024 * int(process.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "mixed"])
def test_a_pair_beyond_the_first_million_takes_at_most_16_bytes_of_memory(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("resource")
    few, many = (peak_of(shards, kind, tmp_path) for shards in (16, 48))
    assert many - few < 16 * (32 << 17)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """The training batches that are made: whether in a thread, the epoch, and the number."""
    found: Made = []
    make = Feed.make

    def noted(feed: Feed, planned: PlannedBatch) -> Batch:
        in_thread = threading.current_thread() is not threading.main_thread()
        found.append((in_thread, planned.epoch, planned.number))
        return make(feed, planned)

    monkeypatch.setattr(Feed, "make", noted)
    return found


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU."""

    def feed(*arguments: Any, in_threads: bool, rows: RowShape | None) -> Feed:
        return Feed(*arguments, in_threads=True, rows=rows)

    monkeypatch.setattr("nmt.training.loop.Feed", feed)


@pytest.mark.parametrize("accumulate", [1, 3])
def test_a_thread_changes_nothing(
    data: TrainingData, tmp_path: Path, made: Made, request: pytest.FixtureRequest, accumulate: int
) -> None:
    plain = run(new_trainer(data, tmp_path / "plain", accumulate=accumulate))
    alone, places = {in_thread for in_thread, *_ in made}, [place for _, *place in made]
    assert alone == {False}
    made.clear()
    request.getfixturevalue("threads")
    fed = run(new_trainer(data, tmp_path / "ahead", accumulate=accumulate))
    require_equal(plain.model, fed.model)
    assert sorted(place for _, *place in made)[: len(places)] == sorted(places)
    assert len(made) <= len(places) + accumulate, "those of the step that never came"
    assert [place for in_thread, *place in made if not in_thread] == places[:accumulate], "the first step's"


def mixed(data: TrainingData, texts: int) -> TrainingData:
    """The data with its last pairs, so many, as if they were texts without translations."""
    assert isinstance(data.train, Pairs)
    portion_N = (torch.arange(len(data.train)) >= len(data.train) - texts).to(torch.int32)
    portions = [Section("a", "de", "en"), Section("b", "de", "en", text="target")]
    return replace(data, train=replace(data.train, portion_N=portion_N), portions=portions)


@pytest.mark.parametrize("texts", [0, 80])
def test_a_thread_changes_nothing_where_a_batch_is_skipped(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, texts: int
) -> None:
    """In the last step that restores texts; the next batch, made ahead, was for a step that translates."""
    spoil(monkeypatch, (0, 2))
    data = mixed(data, texts) if texts else data
    skipping: dict[str, Any] = {"skip_nonfinite": 1, "denoise_steps": 3}
    plain = run(new_trainer(data, tmp_path / "plain", **skipping))
    request.getfixturevalue("threads")
    require_equal(plain.model, run(new_trainer(data, tmp_path / "ahead", **skipping)).model)


@pytest.mark.parametrize("ahead", [False, True])
def test_only_the_first_steps_read_texts_without_translations_and_a_stop_changes_nothing(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, ahead: bool
) -> None:
    if ahead:
        request.getfixturevalue("threads")
    texts: Any = mixed(data, 50)
    portion_N = texts.train.portion_N
    read, make = dict[bool, set[int]](), Feed.make

    def noted(feed: Feed, planned: PlannedBatch) -> Batch:
        read.setdefault(planned.denoises, set()).update(portion_N[planned.index_B].tolist())
        return make(feed, planned)

    monkeypatch.setattr(Feed, "make", noted)
    for stop in (3, 5, 7):
        folder = tmp_path / str(stop)
        require_same_end(lambda folder: new_trainer(texts, folder, denoise_steps=5), folder, stop)
    assert read == {True: {0, 1}, False: {0}}


def test_the_steps_of_an_epoch_are_those_of_its_own_text(data: TrainingData, tmp_path: Path) -> None:
    """Texts without translations may be longer than pairs, and many more."""
    pairs, texts = corpus(60, 1), [(" ".join([text] * 4),) * 2 for text, _ in corpus(100, 3)]
    encoded: Any = TrainingData.encode(data.tokenizer, [*pairs, *texts], PAIRS)
    settings: dict[str, Any] = {"max_epochs": 8, "max_steps": 999, "denoise_steps": 20, "validate_every": 999}
    trainer = run(new_trainer(mixed(encoded, 100), tmp_path, **settings))
    alone = new_trainer(replace(data, train=encoded.train.chosen(torch.arange(60))), tmp_path / "alone")
    of_pairs, of_alone = (of.data.steps_a_pass(of.model, of.config) for of in (trainer, alone))
    assert of_pairs == of_alone
    assert abs(trainer.most_steps() - trainer.progress.step) < 3


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_each_process_makes_its_batches_a_step_ahead(data: TrainingData, tmp_path: Path, made: Made, rank: int) -> None:
    """Also if each has one batch a step."""
    trainer = new_trainer(data, tmp_path, accumulate=4, batch_tokens=60)
    feed = trainer.feed
    feed.processes = Processes(rank=rank, size=4)
    first = feed.group(1)
    [own] = feed.processes.shard_items(first)
    [started] = feed.started
    assert started == (own.epoch, own.number + 4), "before this step needs its own batch"
    second = feed.group(2)
    assert [batch.number for batch in second] == [4, 5, 6, 7]
    [own] = feed.processes.shard_items(second)
    ours, expected = (vars(batch).values() for batch in (feed.take(own), make_batch(own.pairs, own.index_B)))
    assert all(map(torch.equal, ours, expected))
    assert (True, *started) in made
    assert (False, *started) not in made


@pytest.mark.usefixtures("threads")
def test_an_error_in_the_thread_is_told(data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Feed.make

    def fails(feed: Feed, planned: PlannedBatch) -> Batch:
        if planned.number == 2:
            raise OSError("the store is gone")
        return make(feed, planned)

    monkeypatch.setattr(Feed, "make", fails)
    trainer = new_trainer(data, tmp_path)
    with pytest.raises(OSError, match="the store is gone"):
        run(trainer)
    assert trainer.progress.step == 2


def first_batch(shards: int, kind: str, file: Path) -> None:
    """Make the first batch of so many files, and print the most memory of this process, in KiB."""
    import resource

    train = read_store([file] * shards)
    mixture = None if kind == "plain" else mixture_of(train, PORTIONS[1:], 1.0)
    data: Any = TrainingData(None, train, None, [], None, mixture=mixture, stored=True)  # type: ignore[arg-type]
    model: Any = SimpleNamespace(sequence_lengths=lambda *lengths: list(lengths))
    data.longest(model)
    feed = Feed(data, model, TrainingConfig(), SINGLE_PROCESS, in_threads=False)
    feed.go_to((1, 0))
    feed.make(next(feed.planned))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


if __name__ == "__main__":
    first_batch(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
