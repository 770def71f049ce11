"""Checkpoints: complete or absent, checked when they are read, and readable by later versions. Which of them a run
keeps, and which weights its model folder gets."""

import errno
import json
import math
import os
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from nmt.model.weights import write_tensors
from nmt.training.checkpoint import (
    Progress,
    choose_weights,
    list_checkpoints,
    load_checkpoint,
    newest_checkpoint,
    signed,
    step_folder,
    step_of,
    write_checkpoint,
)
from nmt.training.data import TrainingData
from nmt.training.loop import Trainer
from nmt.upgrade import FORMAT
from tests import forks
from tests.training.reversal import TINY, losses, new_trainer, records, require_equal, run, save_checkpoint


def save_linear(folder: Path, progress: Progress) -> Path:
    model = torch.nn.Linear(2, 2)
    return save_checkpoint(folder, model, torch.optim.AdamW(model.parameters()), progress)


def rewrite_state(checkpoint: Path, **changes: object) -> None:
    file = checkpoint / "state.json"
    state = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({name: value for name, value in state.items() if value is not None}))


def test_training_goes_on_while_saving(data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written is the state of the step at which it was saved."""
    plain = run(new_trainer(data, tmp_path / "plain", validations=[1.0] * 3))
    trainer = new_trainer(data, tmp_path / "slow", validations=[1.0] * 3)
    steps_meanwhile = []

    def slow(path: Path, tensors: Mapping[str, Tensor]) -> None:
        before, deadline = trainer.progress.step, time.monotonic() + 0.5
        # If the thread began late, the next checkpoint waits for this one, and no step comes.
        while trainer.progress.step < min(before + 2, 12) and time.monotonic() < deadline:
            time.sleep(0.001)
        steps_meanwhile.append(trainer.progress.step - before)
        write_tensors(path, tensors)

    monkeypatch.setattr("nmt.training.checkpoint.write_tensors", slow)
    run(trainer)
    assert max(steps_meanwhile) >= 2
    for one, other in zip(list_checkpoints(plain.checkpoints), list_checkpoints(trainer.checkpoints), strict=True):
        for file in ("model.safetensors", "optimizer.safetensors"):
            assert (one / file).read_bytes() == (other / file).read_bytes()


def test_a_checkpoint_that_cannot_be_written_ends_training_at_a_later_step(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*_: object) -> None:
        raise SafetensorError("Error while serializing: No space left on device")

    trainer = new_trainer(data, tmp_path, validations=[1.0] * 99, max_steps=100, save_every=50)
    monkeypatch.setattr("nmt.model.weights.save_file", full_disk)
    with pytest.raises(OSError, match="No space"):
        run(trainer)
    assert 4 <= trainer.progress.step <= 8, "not later than the next checkpoint"
    assert list(trainer.checkpoints.iterdir()) == [], "it is whole or absent"


def test_a_kill_while_writing_leaves_the_checkpoint_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"model": {"w": torch.ones(3)}, "optimizer": {"w:m": torch.ones(3)}}
    write_checkpoint(tmp_path, files, Progress(step=1))

    def killed(path: Path, tensors: Mapping[str, Tensor]) -> None:
        if path.name != "model.safetensors":
            os.kill(os.getpid(), signal.SIGKILL)
        write_tensors(path, tensors)

    def write(_: list[str]) -> int:
        write_checkpoint(tmp_path, files, Progress(step=2))
        return 0

    monkeypatch.setattr("nmt.training.checkpoint.write_tensors", killed)
    assert forks.start(write, []).wait(60) == -signal.SIGKILL
    newest = newest_checkpoint(tmp_path)
    assert newest
    assert Progress.load(newest).step == 1
    assert (tmp_path / ".step-00000002.partial").is_dir()


def test_a_foreign_checkpoint_is_refused(tmp_path: Path) -> None:
    checkpoint = save_linear(tmp_path, Progress(step=1))
    model = torch.nn.Linear(3, 2)
    with pytest.raises(ValueError, match="don't fit"):
        load_checkpoint(checkpoint, model, torch.optim.AdamW(model.parameters()))


def test_the_state_says_its_format_which_format_1_lacks_and_a_newer_one_is_refused(tmp_path: Path) -> None:
    progress = Progress(step=7, best_step=3, best_value=-2.5, validated={"3": -2.5})
    checkpoint = save_linear(tmp_path, progress)
    assert json.loads((checkpoint / "state.json").read_text())["format"] == FORMAT
    assert Progress.load(checkpoint) == progress
    rewrite_state(checkpoint, format=None)
    assert Progress.load(checkpoint) == progress
    rewrite_state(checkpoint, format=FORMAT + 1, best_of_all=[1, 2])
    advice = rf"state\.json can't be read by nmt .*it has format {FORMAT + 1}, of a newer nmt"
    with pytest.raises(ValueError, match=advice):
        Progress.load(checkpoint)


@pytest.mark.parametrize("wrong", [{"steps": 1}, {"step": "1"}, {"validated": {"1": "good"}}, {"format": "two"}])
def test_a_state_that_is_not_ours_is_refused_by_name(tmp_path: Path, wrong: dict[str, object]) -> None:
    checkpoint = save_linear(tmp_path, Progress(step=1))
    rewrite_state(checkpoint, **wrong)
    with pytest.raises(ValueError, match=r"state\.json can't be read by nmt [\d.]+: .*"):
        Progress.load(checkpoint)


def test_a_loss_is_stored_negated_and_shown_as_it_is(
    data: TrainingData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in format 1, so that a run which an older version began is resumed with the same best step."""
    trainer = run(new_trainer(data, tmp_path, best_metric="nll", validations=[3.0, 1.5, 2.0]))
    state = json.loads((step_folder(trainer.checkpoints, 12) / "state.json").read_text())
    assert trainer.progress.validated == {"4": -3.0, "8": -1.5, "12": -2.0}
    assert state["validated"] == {"4": -3.0, "8": -1.5}, "a checkpoint is saved before it is validated"
    assert (state["best_step"], state["best_value"]) == (8, -1.5)
    assert "validation nll 1.500 (the best so far)" in capsys.readouterr().err
    assert signed("nll", state["best_value"]) == 1.5
    assert signed("bleu", 30.0) == 30.0


def test_a_run_whose_output_layer_was_muon_s_goes_on(data: TrainingData, tmp_path: Path) -> None:
    """As an older nmt had it: the momentum of the output layer is dropped, and AdamW begins anew there."""
    untied = replace(TINY, tied_embeddings="none")
    trainer = run(new_trainer(data, tmp_path, untied, optimizer="muon", max_steps=4))
    output = trainer.model.output.weight
    trainer.optimizer.state[output] = {"momentum": torch.zeros_like(output)}
    shutil.rmtree(step_folder(trainer.checkpoints, 4))
    save_checkpoint(trainer.checkpoints, trainer.model, trainer.optimizer, trainer.progress)
    resumed = run(new_trainer(data, tmp_path, untied, optimizer="muon", max_steps=6))
    assert resumed.optimizer.state[resumed.model.output.weight].keys() == {"step", "exp_avg", "exp_avg_sq"}


# The second as a file system that lost its last writes leaves them.
@pytest.mark.parametrize("damage", [{"state.json": "{"}, {"SHA256SUMS": "", "state.json": ""}])
def test_a_run_with_nothing_but_damage_says_so(data: TrainingData, tmp_path: Path, damage: dict[str, str]) -> None:
    """It doesn't begin anew, which would throw away its records."""
    trainer = run(new_trainer(data, tmp_path, keep_checkpoints=1))
    for checkpoint in list_checkpoints(trainer.checkpoints):
        for name, text in damage.items():
            (checkpoint / name).write_text(text)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"no checkpoint in .* is undamaged: copy one there, or delete"):
            new_trainer(data, tmp_path)
    assert len(records(tmp_path)) > 3


def test_unreadable_is_not_called_damaged(data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = run(new_trainer(data, tmp_path))
    before = list_checkpoints(trainer.checkpoints)

    def fail(*arguments: object) -> None:
        raise OSError(5, "Input/output error", "model.safetensors")

    monkeypatch.setattr("nmt.files.sha256", fail)
    with pytest.raises(OSError, match="Input/output error"):
        new_trainer(data, tmp_path)
    assert list_checkpoints(trainer.checkpoints) == before


def test_an_undamaged_checkpoint_serves(data: TrainingData, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = run(new_trainer(data, tmp_path / "whole"))
    run(new_trainer(data, tmp_path / "parts"))
    newest = step_folder(tmp_path / "parts" / "checkpoints", 12)
    file = newest / "optimizer.safetensors"
    file.write_bytes(file.read_bytes()[:-10])
    capsys.readouterr()
    resumed = new_trainer(data, tmp_path / "parts")
    assert resumed.progress.step == 8
    damage, resuming = capsys.readouterr().err.splitlines()
    assert "optimizer.safetensors is damaged" in damage
    assert resuming == "Resuming after step 8."
    run(resumed)
    assert newest.is_dir(), "made anew"
    require_equal(whole.model, resumed.model)


def chosen_weights(trainer: Trainer) -> dict[str, Tensor]:
    return choose_weights(trainer.checkpoints, trainer.progress, trainer.model, trainer.processes)[1]


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
def test_newest_and_best_checkpoints_stay(data: TrainingData, tmp_path: Path, metric: str, values: list[float]) -> None:
    trainer = new_trainer(data, tmp_path, keep_checkpoints=2, validate_every=2, best_metric=metric, validations=values)
    run(trainer)
    assert list(map(step_of, list_checkpoints(trainer.checkpoints))) == [4, 10, 12]
    assert trainer.progress.best_step == 4


def test_nan_is_never_the_best_and_of_equal_ones_the_newest_is(
    data: TrainingData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = run(new_trainer(data, tmp_path, validations=[math.nan, 0.0, 0.0]))
    assert (trainer.progress.best_value, trainer.progress.bad_validations) == (0.0, 1)
    capsys.readouterr()
    assert same(chosen_weights(trainer), saved_weights(trainer, 12)), "BLEU begins with 0, and the loss still falls"
    assert not capsys.readouterr().err
    resumed = new_trainer(data, tmp_path, max_steps=14)
    assert resumed.progress.step == 12
    assert resumed.progress.validated["4"] < -1e300, "worse than all others"


def test_the_best_that_is_left_serves(data: TrainingData, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trainer = run(new_trainer(data, tmp_path, validations=[5.0, 9.0, 7.0]))
    (step_folder(trainer.checkpoints, 8) / "model.safetensors").write_bytes(b"")
    capsys.readouterr()
    assert same(chosen_weights(trainer), saved_weights(trainer, 12))
    said = "The best checkpoint, of step 8, is damaged or missing: the best of the rest, of step 12, is used.\n"
    assert capsys.readouterr().err == said


def test_a_moving_average_is_validated_and_kept(data: TrainingData, tmp_path: Path) -> None:
    trainer = run(new_trainer(data, tmp_path, ema=0.5))
    plain = run(new_trainer(data, tmp_path / "plain"))
    assert torch.equal(plain.model.output.weight, trainer.model.output.weight), "the average doesn't touch training"
    assert losses(tmp_path) != losses(tmp_path / "plain")
    weights, best = chosen_weights(trainer), trainer.progress.best_step
    assert same(weights, saved_weights(trainer, best, "ema"))
    assert not same(weights, saved_weights(trainer, best))
