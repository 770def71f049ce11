"""Which checkpoints a run keeps, and which weights its model folder gets."""

import errno
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from nmt.training.checkpoint import (
    Progress,
    average_weights,
    choose_average,
    choose_weights,
    list_checkpoints,
    step_folder,
    step_of,
)
from nmt.training.data import TrainingData
from nmt.training.loop import Trainer
from nmt.training.monitor import Window
from tests.training.reversal import losses, new_trainer, run, save_checkpoint


def chosen_weights(trainer: Trainer) -> dict[str, Tensor]:
    return choose_weights(trainer.checkpoints, trainer.progress, trainer.validator)[1]


def saved_weights(trainer: Trainer, step: int, file: str = "model") -> dict[str, Tensor]:
    return load_file(step_folder(trainer.checkpoints, step) / f"{file}.safetensors")


def same(weights: dict[str, Tensor], others: dict[str, Tensor]) -> bool:
    assert weights.keys() == others.keys()
    return all(torch.equal(weights[name], others[name]) for name in weights)


def test_a_checkpoint_that_cannot_be_deleted_does_not_end_training(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on a network file system that keeps files which are open elsewhere."""

    def busy(folder: Path, **options: Any) -> None:
        if folder.name == "step-00000004":
            raise OSError(errno.EBUSY, "Device or resource busy")
        delete(folder, **options)

    delete = shutil.rmtree
    monkeypatch.setattr("nmt.training.checkpoint.shutil.rmtree", busy)
    trainer = run(new_trainer(data, tmp_path, keep_checkpoints=1, validations=[1.0, 2.0, 3.0]))
    assert trainer.progress.step == 12
    assert "step-00000004 can't be deleted (Device or resource busy): training goes on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("metric", "values"), [("bleu", [1.0, 9.0, 2.0, 3.0, 4.0, 5.0]), ("loss", [9.0, 1.0, 8.0, 7.0, 6.0, 5.0])]
)
def test_newest_and_best_checkpoints_are_kept_and_no_other(
    data: TrainingData, tmp_path: Path, metric: str, values: list[float]
) -> None:
    trainer = new_trainer(data, tmp_path, keep_checkpoints=2, validate_every=2, best_metric=metric, validations=values)
    run(trainer)
    assert list(map(step_of, list_checkpoints(trainer.checkpoints))) == [4, 10, 12]
    assert trainer.progress.best_step == 4


def test_an_average_is_the_mean_of_the_weights(tmp_path: Path) -> None:
    for step, value in ((1, 1.0), (2, 3.0), (3, 8.0)):
        model = torch.nn.Linear(2, 2)
        torch.nn.init.constant_(model.weight, value)
        save_checkpoint(tmp_path, model, torch.optim.AdamW(model.parameters()), Progress(step=step))
    assert (average_weights(list_checkpoints(tmp_path))["weight"] == 4.0).all()


def test_averages_are_taken_of_the_last_or_of_the_best(data: TrainingData, tmp_path: Path) -> None:
    values = [1.0, 9.0, 2.0, 8.0, 4.0, 5.0, 10.0]
    trainer = new_trainer(
        data, tmp_path, validate_every=2, average=2, average_of="best", keep_checkpoints=1, validations=values
    )
    run(trainer)
    kept = list_checkpoints(trainer.checkpoints)
    assert [step_of(c) for c in choose_average(kept, trainer.progress, trainer.config)] == [4, 8]
    weights = chosen_weights(trainer)
    name = "tgt_embedding.weight"
    mean = (saved_weights(trainer, 4)[name] + saved_weights(trainer, 8)[name]) / 2
    torch.testing.assert_close(weights[name], mean)
    last = choose_average(kept, trainer.progress, replace(trainer.config, average_of="last"))
    assert list(map(step_of, last)) == [12], "the one before is no longer there"


def test_a_stop_between_validations_is_not_averaged(data: TrainingData, tmp_path: Path) -> None:
    trainer = new_trainer(data, tmp_path, average=2, keep_checkpoints=2)
    step = trainer.step

    def step_and_save(window: Window) -> None:
        step(window)
        if trainer.progress.step in (9, 10, 11):
            trainer.save()

    trainer.step = step_and_save  # type: ignore[method-assign]
    run(trainer)
    kept = list_checkpoints(trainer.checkpoints)
    assert {8, 11, 12} <= set(map(step_of, kept))
    assert [step_of(c) for c in choose_average(kept, trainer.progress, trainer.config)] == [8, 12]


def test_a_validation_that_was_no_number_is_never_the_best(
    data: TrainingData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = new_trainer(data, tmp_path, average=2, average_of="best", validations=[math.nan, 9.0, 7.0])
    run(trainer)
    kept = list_checkpoints(trainer.checkpoints)
    assert [step_of(c) for c in choose_average(kept, trainer.progress, trainer.config)] == [8, 12]
    trainer.validator.config = replace(trainer.config, average=1)
    capsys.readouterr()
    assert same(chosen_weights(trainer), saved_weights(trainer, 8))
    assert not capsys.readouterr().err


def test_the_best_that_is_left_takes_the_place_of_a_damaged_one(
    data: TrainingData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = run(new_trainer(data, tmp_path, validations=[5.0, 9.0, 7.0]))
    (step_folder(trainer.checkpoints, 8) / "model.safetensors").write_bytes(b"")
    capsys.readouterr()
    assert same(chosen_weights(trainer), saved_weights(trainer, 12))
    assert capsys.readouterr().err == (
        "The best checkpoint, of step 8, is damaged or missing: the best of the rest, of step 12, is used.\n"
    )


@pytest.mark.parametrize(
    ("metric", "values", "verdict"),
    [
        ("bleu", [1.0, 9.0, 2.0, 3.0], "bleu 3.000 (the best alone is better: 9.000)"),
        ("nll", [4.0, 1.5, 2.0, 3.0], "nll 3.000 (the best alone is better: 1.500)"),
        ("nll", [4.0, 1.5, 2.0, 1.0], "nll 1.000 (kept)"),
    ],
)
def test_an_average_is_used_if_it_validates_better(
    data: TrainingData,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    metric: str,
    values: list[float],
    verdict: str,
) -> None:
    trainer = run(new_trainer(data, tmp_path, average=2, best_metric=metric, validations=values))
    steps, weights = choose_weights(trainer.checkpoints, trainer.progress, trainer.validator)
    assert same(weights, saved_weights(trainer, 8)) == (steps == [8]) == ("kept" not in verdict)
    assert steps in ([8], [8, 12])
    assert capsys.readouterr().err.splitlines()[-1] == f"average of 2 checkpoints: validation {verdict}"


def test_a_moving_average_is_validated_and_kept(data: TrainingData, tmp_path: Path) -> None:
    trainer = run(new_trainer(data, tmp_path, ema=0.5))
    plain = run(new_trainer(data, tmp_path / "plain"))
    assert torch.equal(plain.model.output.weight, trainer.model.output.weight), "the average doesn't touch training"
    assert losses(tmp_path) != losses(tmp_path / "plain")
    weights, best = chosen_weights(trainer), trainer.progress.best_step
    assert same(weights, saved_weights(trainer, best, "ema"))
    assert not same(weights, saved_weights(trainer, best))


def test_a_run_without_a_step_ends_with_its_first_weights(data: TrainingData, tmp_path: Path) -> None:
    trainer = run(new_trainer(data, tmp_path, max_steps=0))
    assert same(chosen_weights(trainer), dict(trainer.model.named_parameters()))
