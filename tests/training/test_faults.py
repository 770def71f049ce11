"""Faults of one of several processes: training goes on or ends with a message, and no process is left hanging."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from nmt.config import DataConfig
from nmt.data import resolve
from nmt.data.batches import Batch
from nmt.data.corpora import Corpus, load_corpus
from nmt.data.store import preparing
from nmt.training.loss import Learner, Loss
from tests.training.torchrun import NO_DROPOUT, ROOT, difference, finish, saved, start, train, write_numbers

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_numbers(tmp_path_factory.mktemp("distributed") / "numbers")


def workers(torchrun: int) -> Iterator[int]:
    """The processes that torchrun started."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rsplit(") ", 1)[1].split()[1])
        except OSError:  # it has ended meanwhile
            continue
        if parent == torchrun:
            yield int(status.parent.name)


def kill_one_at(process: "subprocess.Popen[str]", *beginnings: str) -> None:
    """Kill the last of torchrun's processes when lines of the output, one after the other, have begun so."""
    assert process.stdout is not None
    for beginning in beginnings:
        if not any(line.startswith(beginning) for line in process.stdout):
            pytest.fail(f"no line began with {beginning!r}")
    os.kill(max(workers(process.pid)), signal.SIGKILL)


def test_a_process_that_dies_is_started_again_and_the_next_time_ends_the_job(corpus: Path) -> None:
    settings = ["--training.validate_every", "4", "--training.keep_checkpoints", "9", "--training.denoise_steps", "2"]
    settings.append("--training.max_steps")
    process = start(corpus, "restarted", *settings, "1000000", restarts=1)
    kill_one_at(process, "step 6:")
    kill_one_at(process, "Resuming after step 4.", "step 10:")
    output = finish(process)  # long before a process gives up waiting for the dead one
    assert process.returncode != 0
    assert "SIGKILL" in output, "torchrun says what became of it"
    assert str(ROOT / "nmt") not in output, "and the other gives no traceback"
    train(corpus, 2, "whole", *settings, "8")
    assert difference(saved(corpus, "restarted", 8), saved(corpus, "whole", 8)) == 0, "bit for bit"


def test_a_stop_by_the_system_is_orderly_in_all_processes(corpus: Path) -> None:
    process = start(corpus, "stopped", "--training.max_steps", "1000000")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("step 5:"):
            break
    process.terminate()
    output = finish(process)
    assert output.count("all is saved") == 1
    assert str(ROOT / "nmt") not in output, "no traceback"
    assert list((corpus.parent / "runs" / "stopped" / "checkpoints").glob("step-????????"))


def test_a_step_needs_a_batch_for_each_process(corpus: Path) -> None:
    output = train(corpus, 2, "few", "--training.accumulate", "1", status=2)
    assert "2 processes need at least 2 batches a step" in output


def test_rank_0_alone_loads_the_corpus_and_decides_what_auto_is(corpus: Path) -> None:
    def decide(data: DataConfig) -> Corpus:
        """`auto` is this corpus for rank 0, and an error for the other."""
        assert os.environ["RANK"] == "0", "another rank loads the corpus"
        return load_corpus(replace(data, corpus=str(corpus)))

    def patch() -> None:
        preparing.load_corpus = resolve.load_corpus = decide  # type: ignore[assignment, attr-defined]

    output = train(corpus, 2, "decided", *NO_DROPOUT, "--data.corpus", "auto", "--name", "", patch=patch)
    report = json.loads((corpus.parent / "runs" / "de-en-numbers" / "report.json").read_text())
    assert report["settings"]["data"]["corpus"] == report["corpus"] == "numbers"
    assert "2 processes" in output


def sabotage(rank: int, action: Callable[[Loss], Loss]) -> None:
    """The loss of the first batch of a process goes wrong."""
    forward, calls = Learner.forward, list[object]()

    def sabotaged(learner: Learner, batch: Batch) -> Loss:
        loss = forward(learner, batch)
        if learner.training and os.environ["RANK"] == str(rank) and not calls:
            calls.append(batch)
            return action(loss)
        return loss

    Learner.forward = sabotaged  # type: ignore[method-assign, assignment]


def out_of_memory(loss: Loss) -> Loss:
    raise torch.OutOfMemoryError("CUDA out of memory")


def not_a_number(loss: Loss) -> Loss:
    return Loss(loss.smoothed * float("nan"), torch.zeros(()), torch.zeros(()))


def test_a_process_without_memory_for_its_batch_halves_it_while_the_others_wait(corpus: Path) -> None:
    train(corpus, 0, "roomy", *NO_DROPOUT)
    train(corpus, 2, "tight", *NO_DROPOUT, patch=partial(sabotage, 0, out_of_memory))
    assert difference(saved(corpus, "roomy", 2), saved(corpus, "tight", 2)) < 1e-5


def test_the_batch_to_blame_is_named_whichever_process_had_it(corpus: Path) -> None:
    output = train(corpus, 2, "blamed", *NO_DROPOUT, patch=partial(sabotage, 1, not_a_number), status=2)
    assert "nmt.train: the loss is not finite at step 1, of batch 2 of epoch 1 (pairs " in output
    assert str(ROOT / "nmt") not in output, "no traceback"


def test_all_processes_skip_the_same_batches(corpus: Path) -> None:
    more = [*NO_DROPOUT, "--training.skip_nonfinite", "1"]
    output = train(corpus, 2, "skipped", *more, patch=partial(sabotage, 1, not_a_number))
    assert output.count("of batch 2 of epoch 1 (pairs ") == output.count("These batches are skipped.") == 1
    assert saved(corpus, "skipped", 2)
