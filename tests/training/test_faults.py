"""Faults of one of several processes: training goes on or ends with a message, and no process is left hanging."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.training.torchrun import (
    NO_DROPOUT,
    ROOT,
    arguments,
    command,
    difference,
    finish,
    saved,
    start,
    torchrun,
    train,
    write_corpus,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("distributed") / "numbers")


def workers(torchrun: int) -> Iterator[int]:
    """The processes that torchrun started."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rsplit(") ", 1)[1].split()[1])
        except OSError:  # it has ended meanwhile
            continue
        if parent == torchrun:
            yield int(status.parent.name)


def kill_one_at(process: "subprocess.Popen[str]", beginning: str) -> None:
    """Kill the last of torchrun's processes when a line of the output begins so."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(beginning):
            os.kill(max(workers(process.pid)), signal.SIGKILL)
            return
    pytest.fail(f"no line began with {beginning!r}")


def test_a_process_that_dies_ends_the_job_and_a_restart_goes_on(corpus: Path) -> None:
    settings = ["--training.max_steps", "60", "--training.validate_every", "10"]
    forever = ["--training.max_steps", "1000000", "--training.validate_every", "1000000"]
    process = start(command(corpus, 2, "dead", *forever))
    kill_one_at(process, "step 5:")
    output = finish(process)  # long before a process gives up waiting for the dead one
    assert process.returncode != 0
    assert "SIGKILL" in output, "torchrun says what became of it"
    assert str(ROOT / "nmt") not in output, "and the other gives no traceback"

    process = start(command(corpus, 2, "restarted", *settings, restarts=1))
    kill_one_at(process, "step 25:")
    output = finish(process)
    assert process.returncode == 0, output
    assert "Resuming after step 20." in output
    train(corpus, 2, "whole", *settings)
    assert difference(saved(corpus, "restarted", 60), saved(corpus, "whole", 60)) == 0, "bit for bit"


def test_a_stop_by_the_system_is_orderly_in_all_processes(corpus: Path) -> None:
    process = start(command(corpus, 2, "stopped", "--training.max_steps", "1000000"))
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
    process = start(command(corpus, 2, "few", "--training.accumulate", "1"))
    assert "2 processes need at least 2 batches a step" in finish(process)
    assert process.returncode != 0


def start_patched(corpus: Path, name: str, patch: str, *more: str) -> "subprocess.Popen[str]":
    """The training command in two processes, each of which runs the Python code `patch` first."""
    script = corpus.parent / f"{name}.py"
    script.write_text(f"{patch}\nimport sys\nfrom nmt.train import main\nsys.exit(main(sys.argv[1:]))\n")
    return start([*torchrun(2), str(script), *arguments(corpus, name, *NO_DROPOUT, *more)])


# `auto` is this corpus for rank 0, and an error for the other.
AUTO = """
import os, sys
from dataclasses import replace
from nmt.data import corpora, resolve
from nmt.data.store import preparing
load_corpus = corpora.load_corpus
def decide(data):
    if os.environ["RANK"] != "0":
        sys.exit("another rank loads the corpus")
    return load_corpus(replace(data, corpus=CORPUS))
preparing.load_corpus = resolve.load_corpus = decide
"""


def test_rank_0_alone_loads_the_corpus_and_decides_what_auto_is(corpus: Path) -> None:
    patch = AUTO.replace("CORPUS", repr(str(corpus)))
    process = start_patched(corpus, "decided", patch, "--data.corpus", "auto", "--name", "")
    output = finish(process)
    assert process.returncode == 0, output
    report = json.loads((corpus.parent / "runs" / "de-en-numbers" / "report.json").read_text())
    assert report["settings"]["data"]["corpus"] == report["corpus"] == "numbers"
    assert "2 processes" in output


# The loss of one process's first batch goes wrong.
SABOTAGED = """
import os, torch
from nmt.training.loss import Learner, Loss
forward, calls = Learner.forward, []
def sabotaged(self, batch):
    if self.training and os.environ["RANK"] == RANK and not calls:
        calls.append(batch)
        ACTION
    return forward(self, batch)
Learner.forward = sabotaged
"""
OUT_OF_MEMORY = 'raise torch.OutOfMemoryError("CUDA out of memory")'
NOT_A_NUMBER = "return Loss(forward(self, batch).smoothed * float('nan'), torch.zeros(()), torch.zeros(()))"


def sabotage(corpus: Path, rank: int, action: str, name: str, *more: str) -> "subprocess.Popen[str]":
    return start_patched(corpus, name, SABOTAGED.replace("== RANK", f"== '{rank}'").replace("ACTION", action), *more)


def test_a_process_without_memory_for_its_batch_halves_it_while_the_others_wait(corpus: Path) -> None:
    train(corpus, 0, "roomy", *NO_DROPOUT)
    process = sabotage(corpus, 0, OUT_OF_MEMORY, "tight")
    output = finish(process)
    assert process.returncode == 0, output
    assert difference(saved(corpus, "roomy", 2), saved(corpus, "tight", 2)) < 1e-5


def test_the_batch_to_blame_is_named_whichever_process_had_it(corpus: Path) -> None:
    process = sabotage(corpus, 1, NOT_A_NUMBER, "blamed")
    output = finish(process)
    assert process.returncode != 0
    assert "nmt.train: the loss is not finite at step 1, of batch 2 of epoch 1 (pairs " in output
    assert str(ROOT / "nmt") not in output, "no traceback"


def test_all_processes_skip_the_same_batches(corpus: Path) -> None:
    process = sabotage(corpus, 1, NOT_A_NUMBER, "skipped", "--training.skip_nonfinite", "1")
    output = finish(process)
    assert process.returncode == 0, output
    assert output.count("of batch 2 of epoch 1 (pairs ") == output.count("These batches are skipped.") == 1
    assert saved(corpus, "skipped", 2)
