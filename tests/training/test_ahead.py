"""Batches made in a thread: the same training, bit for bit, no batch made twice, and a stop that loses none."""

import threading
from itertools import islice
from pathlib import Path

import pytest
import torch

from nmt.data.batches import Batch, PlannedBatch
from nmt.training.ahead import Ahead
from nmt.training.data import TrainingData
from nmt.training.distributed import Processes
from nmt.training.loop import Trainer
from tests.training.reversal import new_trainer, run, run_until

Made = list[tuple[bool, int, int]]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """The training batches that are made: whether in a thread, the epoch, and the number."""
    found: Made = []
    make = Trainer.make_batch

    def noted(trainer: Trainer, planned: PlannedBatch) -> Batch:
        in_thread = threading.current_thread() is not threading.main_thread()
        found.append((in_thread, planned.epoch, planned.number))
        return make(trainer, planned)

    monkeypatch.setattr(Trainer, "make_batch", noted)
    return found


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU."""
    monkeypatch.setattr("nmt.training.loop.Ahead", lambda make, in_thread: Ahead(make, in_thread=True))


def weights(trainer: Trainer) -> list[torch.Tensor]:
    return list(trainer.model.state_dict().values())


@pytest.mark.parametrize("accumulate", [1, 3])
def test_a_thread_changes_nothing(
    data: TrainingData, tmp_path: Path, made: Made, request: pytest.FixtureRequest, accumulate: int
) -> None:
    plain = run(new_trainer(data, tmp_path / "plain", accumulate=accumulate))
    alone, places = {in_thread for in_thread, *_ in made}, [place for _, *place in made]
    assert alone == {False}
    made.clear()
    request.getfixturevalue("threads")
    ahead = run(new_trainer(data, tmp_path / "ahead", accumulate=accumulate))
    assert all(map(torch.equal, weights(plain), weights(ahead)))
    assert sorted(place for _, *place in made)[: len(places)] == sorted(places)
    assert len(made) <= len(places) + 1, "one more for the step that never came"
    by_main = [(epoch, number) for in_thread, epoch, number in made if not in_thread]
    assert by_main == [(epoch, 0) for epoch in range(len(by_main))], "the first batch of an epoch is not known before"


@pytest.mark.usefixtures("threads")
def test_a_stopped_run_goes_on_with_the_batch_after_its_last_step(data: TrainingData, tmp_path: Path) -> None:
    whole = run(new_trainer(data, tmp_path / "whole"))
    run_until(new_trainer(data, tmp_path / "parts"), 5)
    resumed = run(new_trainer(data, tmp_path / "parts"))
    assert all(map(torch.equal, weights(whole), weights(resumed)))


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("rank", [0, 1])
def test_each_process_makes_its_own_batches_only(data: TrainingData, tmp_path: Path, rank: int) -> None:
    trainer = new_trainer(data, tmp_path, accumulate=4, batch_tokens=60)
    trainer.processes = Processes(rank=rank, size=2)
    planned = list(islice(trainer.batches(), 8))
    first = [batch.number for batch in trainer.processes.shard_items(planned[:4])]
    assert [number for _, number in trainer.ahead.started if number < 4] == [number for number in first if number]


@pytest.mark.usefixtures("threads")
def test_an_error_in_the_thread_is_told_where_the_batch_is_needed(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = Trainer.make_batch

    def fails(trainer: Trainer, planned: PlannedBatch) -> Batch:
        if planned.number == 2:
            raise OSError("the store is gone")
        return make(trainer, planned)

    monkeypatch.setattr(Trainer, "make_batch", fails)
    trainer = new_trainer(data, tmp_path)
    with pytest.raises(OSError, match="the store is gone"):
        run(trainer)
    assert trainer.progress.step == 2
