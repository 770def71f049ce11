"""Runs of several processes, as torchrun starts them, learn what one process learns; a fault of one of them is told."""

import json
import os
import re
import shlex
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
from nmt.upgrade import FORMAT
from tests.training.torchrun import NO_DROPOUT, ROOT, die_after, difference, finish, saved, start, train, write_numbers

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_numbers(tmp_path_factory.mktemp("distributed") / "numbers")


def test_the_number_of_processes_changes_nothing_that_is_learned(corpus: Path) -> None:
    """Dropout, noised text and the moving average included; also where a run goes on with another number of them."""
    often = ["--training.validate_every", "2", "--training.keep_checkpoints", "5", "--training.denoise_steps", "1"]
    train(corpus, 0, "one", *often, "--training.max_steps", "6")
    output = train(corpus, 4, "many", *often, "--training.max_steps", "4")
    assert output.count("minutes: validation") == 2, "the first process alone speaks"
    assert 0 < difference(saved(corpus, "one", 4), saved(corpus, "many", 4)) < 1e-5

    run = corpus.parent / "runs" / "many"
    (run / "report.json").unlink()
    (run / "model").rename(run / "model-of-step-4")
    output = train(corpus, 2, "many", *often, "--training.max_steps", "6")
    assert "Resuming after step 4" in output
    assert difference(saved(corpus, "one", 6), saved(corpus, "many", 6)) < 1e-5
    runs = corpus.parent / "runs"
    one_text, many_text = ((runs / name / "translations" / "test.en").read_text() for name in ("one", "many"))
    assert one_text == many_text


def test_processes_see_the_same_pairs_of_mixed_corpora(corpus: Path, tmp_path: Path) -> None:
    """Of two corpora with weights: each process must plan the same batches, of which it takes its own."""
    more, main = write_numbers(tmp_path / "more", "!"), write_numbers(tmp_path / "mixed")
    steps = ["--training.max_steps", "4", "--training.validate_every", "4"]
    steps += ["--data.more", f"[{{corpus: {more}, weight: 0.5}}]", "--data.max_pieces", "600"]
    assert re.search("kept: more +│ +60 ", train(main, 0, "mixed", *steps))
    train(main, 2, "mixed in two", *steps)
    assert difference(saved(main, "mixed", 4), saved(main, "mixed in two", 4)) < 1e-5


KINDS = {
    "lm": "--model.family decoder-only --training.objective lm",
    "mlm": "--model.family encoder-only --training.objective mlm",
    "denoise": "--training.objective denoise",
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_training_goes_on_after_a_kill_and_learns_the_same_in_two_processes(corpus: Path, kind: str) -> None:
    """With validation, a moving average, and a model folder at the end."""
    steps = "--training.validate_every 2 --training.max_steps 6"
    more = shlex.split(f"{KINDS[kind]} {steps}")
    train(corpus, 0, f"{kind} in one", *more)
    output = train(corpus, 0, f"{kind} killed", *more, patch=partial(die_after, 3), status=-signal.SIGKILL)
    assert "step 3:" in output
    assert "Resuming after step 2" in train(corpus, 0, f"{kind} killed", *more)
    assert difference(saved(corpus, f"{kind} in one", 6), saved(corpus, f"{kind} killed", 6)) == 0
    train(corpus, 2, f"{kind} in two", *more)
    assert difference(saved(corpus, f"{kind} in one", 6), saved(corpus, f"{kind} in two", 6)) < 1e-5
    config = json.loads((corpus.parent / "runs" / f"{kind} in two" / "model" / "config.json").read_text())
    assert (config["format"], config["objective"]) == (FORMAT, kind)


# Faults of one of several processes: no process is left hanging


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
