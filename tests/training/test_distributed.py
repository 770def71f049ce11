"""Runs of several processes, as torchrun starts them, learn what one process learns."""

import json
import re
import shlex
import signal
from functools import partial
from pathlib import Path

import pytest

from nmt.upgrade import FORMAT
from tests.training.torchrun import die_after, difference, saved, train, write_numbers

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
