"""The number of threads follows what other programs leave free, and nothing else."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from nmt.training.data import TrainingData
from nmt.training.threads import EVERY, TICKS, Threads, busy_seconds
from tests.training.reversal import new_trainer, run


class Machine:
    """Four cores, and how long this process and others have kept them busy."""

    def __init__(self, counters: Path) -> None:
        self.counters, self.now, self.own, self.busy = counters, 100.0, 0.0, 0.0
        self.write()

    def write(self) -> None:
        rows = [f"cpu{n} {int(self.busy * TICKS / 4)} 0 0 999999 0 0 0 0 0 0" for n in range(4)]
        self.counters.write_text("\n".join(["cpu 1 2 3 4", *rows, "cpu9 77777777 0 0 0 0 0 0 0 0 0", "intr 5"]))

    def run(self, own: float, others: float, seconds: float = EVERY) -> None:
        """Let time pass, in which so many cores are kept busy."""
        self.now, self.own = self.now + seconds, self.own + own * seconds
        self.busy += (own + others) * seconds
        self.write()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine(tmp_path / "stat")
    monkeypatch.setattr(time, "monotonic", lambda: made.now)
    monkeypatch.setattr(os, "times", lambda: (made.own, 0.0, 0.0, 0.0, made.now))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield made
    torch.set_num_threads(before)


def test_others_take_cores_and_give_them_back(machine: Machine) -> None:
    threads = Threads(fixed=False, counters=machine.counters)
    assert threads.adapt() == 0, "the first look compares nothing"
    machine.run(own=4, others=0.1)
    assert threads.adapt() == 0
    machine.run(own=3.2, others=0.8)
    assert threads.adapt() == torch.get_num_threads() == 3
    machine.run(own=0.5, others=3.5)
    assert threads.adapt() == torch.get_num_threads() == 1, "one thread at least"
    machine.run(own=1, others=0)
    assert threads.adapt() == 0, "a pause of others may be short"
    machine.run(own=1, others=0)
    assert threads.adapt() == torch.get_num_threads() == 4
    machine.run(own=0, others=4, seconds=EVERY / 2)
    assert threads.adapt() == 0, "too early"
    machine.run(own=0, others=4, seconds=20 * EVERY)
    assert threads.adapt() == 0, "a validation was between"


def test_cores_that_are_not_used_are_free_for_others(machine: Machine) -> None:
    torch.set_num_threads(2)
    threads = Threads(fixed=False, counters=machine.counters)
    threads.adapt()
    for others, expected in ((2.0, 2), (2.0, 2), (2.9, 1)):
        machine.run(own=4 - others, others=others)
        threads.adapt()
        assert torch.get_num_threads() == expected


def test_a_number_that_was_chosen_stays(machine: Machine, tmp_path: Path) -> None:
    for fixed, counters in ((True, machine.counters), (False, tmp_path / "none")):
        threads = Threads(fixed=fixed, counters=counters)
        threads.start(2)
        for _ in range(3):
            assert threads.adapt() == 0
            machine.run(own=1, others=3)
        assert torch.get_num_threads() == 4


def test_a_run_goes_on_with_the_number_that_it_had(machine: Machine) -> None:
    Threads(fixed=False, counters=machine.counters).start(3)
    assert torch.get_num_threads() == 3
    Threads(fixed=False, counters=machine.counters).start(64)
    assert torch.get_num_threads() == 3, "not more than before"
    Threads(fixed=False, counters=machine.counters).start(0)
    assert torch.get_num_threads() == 3


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="this system doesn't tell how busy its cores are")
def test_the_number_is_in_the_checkpoint(data: TrainingData, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(4)
        trainer = new_trainer(data, tmp_path, threads=0, max_steps=1, validations=[1.0])
        trainer.threads.adapt = lambda: 2  # type: ignore[method-assign]
        run(trainer)
        new_trainer(data, tmp_path, threads=0, max_steps=1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="this system doesn't tell how busy its cores are")
def test_the_system_counts_the_seconds_of_this_process() -> None:
    before, own = busy_seconds(Path("/proc/stat")), sum(os.times()[:2])
    while sum(os.times()[:2]) < own + 0.5:
        sum(range(10_000))
    assert busy_seconds(Path("/proc/stat")) - before > 0.4
