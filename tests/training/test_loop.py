"""The training loop: it learns, repeats itself, stops and goes on as if it had not, and fails with a reason."""

import math
import os
import shutil
import signal
import time
from dataclasses import replace
from itertools import count, islice, takewhile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch.utils.hooks import RemovableHandle

from nmt.data.batches import Batch, Pairs, PlannedBatch, Sequences, make_batch
from nmt.data.tokenizer import Tokenizer
from nmt.training.checkpoint import Progress, list_checkpoints, step_folder, step_of
from nmt.training.data import TrainingData
from nmt.training.loop import Trainer, usual_length
from nmt.training.loss import Learner, Loss
from nmt.training.monitor import Window
from nmt.training.objectives import Objective
from tests.training.reversal import (
    NO_DROPOUT,
    SHORT,
    TINY,
    corpus,
    losses,
    new_trainer,
    records,
    require_close,
    require_equal,
    require_same_end,
    run,
    without_speed,
)


def test_a_model_learns_to_reverse_and_the_records_say_so(tokenizer: Tokenizer, tmp_path: Path) -> None:
    data = TrainingData.encode(tokenizer, corpus(2000, 1), corpus(30, 2))
    # The model learns where to look long before it has seen every sentence of four among six words.
    settings: dict[str, Any] = {"max_steps": 400, "batch_tokens": 600, "learning_rate": 5e-3, "warmup_steps": 50}
    run(new_trainer(data, tmp_path, **settings, log_every=100, validate_every=200, label_smoothing=0.0))
    last = records(tmp_path)[-1]
    assert last["validation/bleu"] > 95
    assert last["validation/nll"] < 0.3
    assert last["validation/perplexity"] == pytest.approx(math.exp(last["validation/nll"]))
    assert last["validation/loss"] == pytest.approx(last["validation/nll"]), "no smoothing"


def test_equal_seeds_give_equal_runs(data: TrainingData, tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        run(new_trainer(data, tmp_path / name, seed=seed))
    assert losses(tmp_path / "one") == losses(tmp_path / "two") != losses(tmp_path / "three")


def test_the_loss_curve_is_the_one_it_always_was(data: TrainingData, tmp_path: Path) -> None:
    """A change that means to alter no result must leave these figures; one that means to, says so and renews them."""
    run(new_trainer(data, tmp_path, NO_DROPOUT, max_steps=40, log_every=10, validate_every=40))
    curve = [r["train/nll"] for r in records(tmp_path) if "train/nll" in r]
    assert curve == pytest.approx([3.0259, 2.1157, 1.9090, 1.7504], abs=2e-3)


MORE: list[dict[str, Any]] = [{}, {"ema": 0.9}, {"optimizer": "muon"}]
MORE.append({"model": replace(TINY, encoder_layers=3), "recompute": True})


@pytest.mark.parametrize(("stop_after", "more"), [(1, {}), (4, {}), *((7, more) for more in MORE)])
def test_a_stop_changes_no_bit(data: TrainingData, tmp_path: Path, stop_after: int, more: dict[str, Any]) -> None:
    require_same_end(lambda folder: new_trainer(data, folder, accumulate=2, **more), tmp_path, stop_after)
    validations = [[r for r in records(tmp_path / part) if "validation/nll" in r] for part in ("whole", "parts")]
    assert validations[0] == validations[1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "Ctrl-C is as it was"


def interrupted(trainer: Trainer, validation: int, message: str) -> None:
    """Train, and press Ctrl-C in this validation, which takes 1,000 seconds."""
    measure, validations, now, later = trainer.validator.measure, count(1), time.perf_counter, [0]

    def interrupt() -> tuple[dict[str, float], list[str]]:
        if next(validations) == validation:
            os.kill(os.getpid(), signal.SIGINT)
            later[0] = 1000
        return measure()

    trainer.validator.measure = interrupt  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt, match=message), patch("time.perf_counter", lambda: now() + later[0]):
        run(trainer)
    assert Progress.load(list_checkpoints(trainer.checkpoints)[-1]).seconds > 1000, "it counts for max_minutes"


@pytest.mark.parametrize("last", [False, True])
def test_ctrl_c_in_a_validation_is_answered_and_its_result_kept(
    data: TrainingData, tmp_path: Path, capsys: pytest.CaptureFixture[str], last: bool
) -> None:
    whole = run(new_trainer(data, tmp_path / "whole"))
    interrupted(new_trainer(data, tmp_path / "parts"), 3 if last else 1, f"after step {12 if last else 4};")
    assert "Stopping after this step or validation; Ctrl-C stops at once" in capsys.readouterr().err
    resumed = new_trainer(data, tmp_path / "parts")
    assert [*resumed.progress.validated] == (["4", "8", "12"] if last else ["4"])
    run(resumed)
    assert resumed.progress.validated == whole.progress.validated
    assert without_speed(tmp_path / "parts") == without_speed(tmp_path / "whole")


def test_ctrl_c_in_a_validation_that_is_made_up_for_stops_too(data: TrainingData, tmp_path: Path) -> None:
    trainer = new_trainer(data, tmp_path, max_steps=4)
    with patch.object(trainer, "validate", side_effect=MemoryError), pytest.raises(MemoryError):
        run(trainer)
    interrupted(new_trainer(data, tmp_path, max_steps=4), 1, "Stopped after step 4; all is saved")
    assert [*new_trainer(data, tmp_path, max_steps=4).progress.validated] == ["4"]


def test_the_usual_length_is_that_of_the_sequence_of_a_random_position(data: TrainingData, tmp_path: Path) -> None:
    """Not of a random sequence: nearly all positions may be in the long ones. Sequences of 2, 2, 4 and 4, of 2 and 12
    positions."""
    pairs = [Pairs(*[Sequences.of([[7], [7] * longest])] * 2) for longest in (3, 11)]
    model = new_trainer(data, tmp_path).model
    for part, expected in zip(pairs, (40 / 12, 296 / 28), strict=True):
        assert usual_length(model, replace(data, train=part)) == pytest.approx(expected)


def test_two_small_batches_weigh_as_one_large_batch(data: TrainingData, tmp_path: Path) -> None:
    """The gradient is that of the mean over tokens, not of the mean over batches."""
    whole, parts = (new_trainer(data, tmp_path, NO_DROPOUT, accumulate=n) for n in (1, 3))
    group = list(islice(parts.feed.planned, 3))
    tokens = [Objective().predictions(planned.pairs, planned.index_B) for planned in group]
    assert len({*tokens}) > 1, "batches of different weight"
    parts.feed.go_to((0, 0))
    parts.step(Window())
    losses = [whole.learner(make_batch(planned.pairs, planned.index_B)).smoothed for planned in group]
    (torch.stack(losses).sum() / sum(tokens)).backward()
    torch.nn.utils.clip_grad_norm_(whole.model.parameters(), 1.0)
    for group_settings in whole.optimizer.param_groups:
        group_settings["lr"] = SHORT.learning_rate / SHORT.warmup_steps
    whole.optimizer.step()
    require_close(whole.model, parts.model)


def test_a_gradient_that_is_not_finite_stops_before_the_step(data: TrainingData, tmp_path: Path) -> None:
    sick = new_trainer(data, tmp_path)
    with torch.no_grad():
        sick.model.get_parameter("decoder.0.feed_forward.up.weight")[0, 0] = math.nan
    before = sick.model.output.weight.detach().clone()
    with pytest.raises(FloatingPointError, match=r"loss is not finite at step 1, of batch 1 of epoch 1 \(pairs \d+"):
        run(sick)
    assert torch.equal(sick.model.output.weight, before)
    assert not list_checkpoints(sick.checkpoints), "nothing was learned yet"


def test_after_a_loss_that_is_not_finite_a_run_goes_on_at_a_lower_rate(data: TrainingData, tmp_path: Path) -> None:
    """From the last checkpoint, which is some steps before: there the lower rate can still lead elsewhere."""
    trainer = new_trainer(data, tmp_path)
    step = trainer.step

    def diverge(window: Window) -> None:
        if trainer.progress.step == 6:
            torch.nn.init.constant_(trainer.model.output.weight, math.inf)
        step(window)

    trainer.step = diverge  # type: ignore[method-assign]
    with pytest.raises(FloatingPointError, match=r"step 7.*No step was taken.*resume from the last checkpoint"):
        run(trainer)
    assert step_of(list_checkpoints(trainer.checkpoints)[-1]) == 4, "weights that are not finite are not saved"
    again = new_trainer(data, tmp_path, learning_rate=1e-3)
    assert again.progress.step == 4
    assert run(again).progress.step == 12


def spoil(monkeypatch: pytest.MonkeyPatch, *places: tuple[int, int]) -> None:
    """Let loss and gradient of the batches at these places (epoch and number, from 0) be no numbers."""
    backward = Trainer.backward

    def spoiled(trainer: Trainer, planned: PlannedBatch, batch: Batch, tokens: int, more_follow: bool) -> Loss | None:
        loss = backward(trainer, planned, batch, tokens, more_follow)
        if loss and (planned.epoch, planned.number) in places:
            for p in trainer.model.parameters():
                assert p.grad is not None
                p.grad.fill_(math.nan)
            loss = loss._replace(smoothed=loss.smoothed * math.nan)
        return loss

    monkeypatch.setattr(Trainer, "backward", spoiled)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_batches_that_are_not_finite_can_be_skipped(
    data: TrainingData,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    accumulate: int,
) -> None:
    spoil(monkeypatch, (0, 2), (1, 0), (1, 1))
    skipping = new_trainer(data, tmp_path / "skipping", skip_nonfinite=1 + accumulate, accumulate=accumulate)
    take = skipping.feed.take
    drawn: list[PlannedBatch] = []

    def noted(planned: PlannedBatch) -> Batch:
        drawn.append(planned)
        return take(planned)

    monkeypatch.setattr(skipping.feed, "take", noted)
    run(skipping)
    assert (skipping.progress.step, len(drawn)) == (12, 15 * accumulate)
    said = [line for line in capsys.readouterr().err.splitlines() if "skipped" in line]
    places = ["batch 3 of epoch 1", "batch 1 of epoch 2", "batch 2 of epoch 2"]
    assert all(place in line and line.count("of epoch") == 1 for place, line in zip(places, said, strict=True))
    assert all(bool(p.isfinite().all()) for p in skipping.model.parameters())
    with pytest.raises(FloatingPointError, match="of batch 2 of epoch 2"):
        run(new_trainer(data, tmp_path / "strict", skip_nonfinite=accumulate, accumulate=accumulate))


def test_the_state_before_nan_is_saved(data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, (1, 1))
    whole = run(new_trainer(data, tmp_path / "whole", skip_nonfinite=1))
    for _ in range(2):
        with pytest.raises(FloatingPointError, match=r"of batch 2 of epoch 2 .*The state before it is saved\. Look at"):
            run(new_trainer(data, tmp_path / "parts"))
        assert step_of(list_checkpoints(tmp_path / "parts" / "checkpoints")[-1]) % 4 > 0
    resumed = run(new_trainer(data, tmp_path / "parts", skip_nonfinite=1))
    require_equal(whole.model, resumed.model)


def test_checkpoints_can_be_saved_more_often_than_validated(data: TrainingData, tmp_path: Path) -> None:
    often = new_trainer(data, tmp_path / "whole", save_every=3, validate_every=6, keep_checkpoints=9)
    run(often)
    assert list(map(step_of, list_checkpoints(often.checkpoints))) == [3, 6, 9, 12]
    assert list(often.progress.validated) == ["6", "12"]
    few = run(new_trainer(data, tmp_path / "few", save_every=1, validate_every=4, keep_checkpoints=1))
    kept = {few.progress.best_step, 12}
    assert set(map(step_of, list_checkpoints(few.checkpoints))) == kept
    shutil.copytree(tmp_path / "whole", tmp_path / "parts")
    shutil.rmtree(step_folder(tmp_path / "parts" / "checkpoints", 12))  # as if the process had been killed before
    run(new_trainer(data, tmp_path / "parts", save_every=3, validate_every=6, keep_checkpoints=9))
    assert without_speed(tmp_path / "whole") == without_speed(tmp_path / "parts")


def test_the_last_epoch_ends_a_run_as_the_last_step_does(data: TrainingData, tmp_path: Path) -> None:
    feed = new_trainer(data, tmp_path / "plan").feed
    steps = len(list(takewhile(lambda batch: batch.epoch == 0, feed.planned)))
    feed.go_to((0, steps))  # as a checkpoint of an older nmt has the end of an epoch
    first = next(feed.planned)
    assert (first.epoch, first.number) == (1, 0)
    one = run(new_trainer(data, tmp_path / "run", max_steps=99, validate_every=99, max_epochs=1))
    assert (one.progress.step, one.progress.epoch, one.progress.batch) == (steps, 1, 0)
    assert list(one.progress.validated) == [str(steps)]
    assert step_of(list_checkpoints(one.checkpoints)[-1]) == steps
    more = run(new_trainer(data, tmp_path / "run", max_steps=99, validate_every=99, max_epochs=2))
    whole = run(new_trainer(data, tmp_path / "whole", max_steps=2 * steps, validate_every=99))
    assert more.progress.step == 2 * steps
    require_equal(more.model, whole.model)


def test_the_last_minute_ends_a_run_too(data: TrainingData, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for attempt in (1, 2):  # resumed, it ends at once
        short = run(new_trainer(data, tmp_path, max_steps=99, validate_every=99, max_minutes=1e-6))
        assert (attempt, short.progress.step, list(short.progress.validated)) == (attempt, 1, ["1"])
        assert "training.max_minutes (1e-06) ends training after 1 of 99 steps" in capsys.readouterr().err
    longer = run(new_trainer(data, tmp_path, max_steps=3, validate_every=99, max_minutes=60.0))
    assert "ends training" not in capsys.readouterr().err
    assert (longer.progress.step, list(longer.progress.validated)) == (3, ["3"])


@pytest.mark.parametrize(("part", "room"), [("training", 9), ("validation", 10)])
def test_sentences_beyond_positions_are_told_first(tokenizer: Tokenizer, tmp_path: Path, part: str, room: int) -> None:
    long = [("ab " * 12, "cd")]
    data = TrainingData.encode(tokenizer, corpus(20, 1) + long * (part == "training"), corpus(5, 2) + long)
    few = replace(TINY, positions="learned", max_positions=room)
    message = rf"a {part} sequence takes \d+ positions, and model.max_positions is {room}"
    with pytest.raises(ValueError, match=message):
        new_trainer(data, tmp_path, few)


def out_of_memory_above(trainer: Trainer, pairs: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let a batch of more pairs run out of memory, deep in its backward pass; returns the sizes tried."""
    tried: list[int] = []
    hooks: list[RemovableHandle] = []
    forward = type(trainer.learner).forward

    def run_out(gradient: torch.Tensor) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")

    def limited(learner: Learner, batch: Batch) -> Loss:
        tried.append(batch.src_BS.size(0))
        while hooks:
            hooks.pop().remove()
        if batch.src_BS.size(0) > pairs:
            hooks.append(next(learner.model.blocks()[0].parameters()).register_hook(run_out))
        return forward(learner, batch)

    monkeypatch.setattr(type(trainer.learner), "forward", limited)
    return tried


def test_a_batch_beyond_memory_is_split(data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roomy, tight = (new_trainer(data, tmp_path, NO_DROPOUT, accumulate=2) for _ in range(2))
    windows = Window(), Window()
    roomy.step(windows[0])
    tried = out_of_memory_above(tight, 3, monkeypatch)
    tight.step(windows[1])
    assert max(tried) > 6, "split more than once"
    assert windows[0].sentences == windows[1].sentences
    assert windows[0].target_tokens == windows[1].target_tokens
    assert windows[0].loss == pytest.approx(windows[1].loss)
    assert windows[0].gradient_norm == pytest.approx(windows[1].gradient_norm)
    for (name, p), parameters in zip(roomy.model.named_parameters(), tight.model.parameters(), strict=True):
        torch.testing.assert_close(
            roomy.optimizer.state[p]["exp_avg"], tight.optimizer.state[parameters]["exp_avg"], msg=name
        )


def test_a_pair_beyond_memory_is_named(data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = new_trainer(data, tmp_path)
    out_of_memory_above(trainer, 0, monkeypatch)
    with pytest.raises(ValueError, match=r"memory ran out over a single pair, in batch 1 of epoch 1 \(pairs \d+ of"):
        trainer.step(Window())


def test_bf16_follows_fp32(data: TrainingData, tmp_path: Path) -> None:
    for precision in ("fp32", "bf16"):
        trainer = run(new_trainer(data, tmp_path / precision, NO_DROPOUT, precision=precision))
        assert all(p.dtype == torch.float32 for p in trainer.model.parameters())
    difference = [abs(a - b) for a, b in zip(losses(tmp_path / "fp32"), losses(tmp_path / "bf16"), strict=True)]
    assert 0 < max(difference) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("family", "recompute"), [(TINY.family, True), ("decoder-only", False)])
def test_a_compiled_model_learns_the_same(
    data: TrainingData, tmp_path: Path, traced: list[torch.nn.Module], family: Any, recompute: bool
) -> None:
    # Without biases: that of the keys changes no attention, so that its gradient is rounding, which Adam makes large.
    model = replace(TINY, family=family, bias=False)
    plain = run(new_trainer(data, tmp_path / "plain", model, ema=0.5, max_steps=3))
    assert not traced
    fast = run(new_trainer(data, tmp_path / "compiled", model, ema=0.5, max_steps=3, compile=True, recompute=recompute))
    assert traced == fast.model.blocks()
    require_close(plain.model, fast.model)


@pytest.mark.parametrize(
    "more", [{"r_drop": 1.0, "optimizer": "muon", "accumulate": 2}, {"model": replace(TINY, family="decoder-only")}]
)
def test_layers_computed_twice_learn_the_same(data: TrainingData, tmp_path: Path, more: dict[str, Any]) -> None:
    plain, twice = (run(new_trainer(data, tmp_path / f"{on}", recompute=on, **more)) for on in (False, True))
    assert all(stack.recompute for stack in twice.model.stacks())
    require_equal(plain.model, twice.model)
    assert losses(tmp_path / "False") == losses(tmp_path / "True")


def test_a_rate_that_would_rise_to_its_least_value_is_refused(data: TrainingData, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"min_learning_rate is 0\.1, above the learning_rate of 0\.01: lower it"):
        new_trainer(data, tmp_path, min_learning_rate=0.1, learning_rate=0.01)


@pytest.mark.parametrize(
    ("values", "given", "told"),
    [
        ([8.0, 9.0, 8.5, 7.0, 9.0, 10.0], {"best_metric": "bleu", "patience": 3}, "patience (3) ends training after 5"),
        ([10.0, 30.0, 41.0, 50.0], {"best_metric": "bleu", "stop_at": 40.0}, "stop_at (40) ends training after 3"),
        ([3.0, 2.5, 1.9, 1.0], {"best_metric": "nll", "stop_at": 2.0}, "stop_at (2) ends training after 3"),
    ],
)
def test_a_run_can_stop_at_a_quality_or_when_it_gets_no_better(
    data: TrainingData, tmp_path: Path, capsys: pytest.CaptureFixture[str], values: list[float], given: Any, told: str
) -> None:
    run(new_trainer(data, tmp_path, validate_every=1, validations=values, **given))
    assert f"training.{told} of 12 steps" in capsys.readouterr().err
