"""Checkpoints: complete or absent, checked when they are read, and readable by later versions."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from torch import Tensor

from nmt.model.weights import write_tensors
from nmt.training.checkpoint import Progress, list_checkpoints, load_checkpoint, newest_checkpoint, signed, step_folder
from nmt.training.data import TrainingData
from nmt.upgrade import FORMAT
from tests.training.reversal import TINY, new_trainer, records, require_equal, run, save_checkpoint


def save_linear(folder: Path, progress: Progress) -> Path:
    model = torch.nn.Linear(2, 2)
    return save_checkpoint(folder, model, torch.optim.AdamW(model.parameters()), progress)


def rewrite_state(checkpoint: Path, **changes: object) -> None:
    file = checkpoint / "state.json"
    state = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({name: value for name, value in state.items() if value is not None}))


def test_a_checkpoint_is_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    save_checkpoint(tmp_path, model, optimizer, Progress(step=1))

    def full_disk(*args: object) -> None:
        raise SafetensorError("Error while serializing: No space left on device")

    monkeypatch.setattr("nmt.model.weights.save_file", full_disk)
    with pytest.raises(OSError, match="No space"):
        save_checkpoint(tmp_path, model, optimizer, Progress(step=2))
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]
    assert load_checkpoint(tmp_path / "step-00000001", model, optimizer).step == 1


def test_training_goes_on_while_a_checkpoint_is_written(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written is the state of the step at which it was saved."""
    plain = run(new_trainer(data, tmp_path / "plain", validations=[1.0] * 3))
    trainer = new_trainer(data, tmp_path / "slow", validations=[1.0] * 3)
    steps_meanwhile = []

    def slow(path: Path, tensors: Mapping[str, Tensor]) -> None:
        before = trainer.progress.step
        while trainer.progress.step < min(before + 2, 12):
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
    def full_disk(path: Path, tensors: Mapping[str, Tensor]) -> None:
        raise OSError(28, "No space left on device", str(path))

    trainer = new_trainer(data, tmp_path, validations=[1.0] * 99, max_steps=100, save_every=50)
    monkeypatch.setattr("nmt.training.checkpoint.write_tensors", full_disk)
    with pytest.raises(OSError, match="No space"):
        run(trainer)
    assert 4 <= trainer.progress.step <= 8, "not later than the next checkpoint"
    assert not list_checkpoints(trainer.checkpoints)


KILLED = """
import os, signal, sys, torch
from pathlib import Path
from nmt.training import checkpoint
from nmt.model.weights import write_tensors
from nmt.training.checkpoint import Progress, Writer
writer, files = Writer(), {"model": {"w": torch.ones(3)}, "optimizer": {"w:m": torch.ones(3)}}
writer.start(Path(sys.argv[1]), files, Progress(step=1))
writer.finish()
write, written = checkpoint.write_tensors, []
def killed(path, tensors):
    if written:
        os.kill(os.getpid(), signal.SIGKILL)
    written.append(write(path, tensors))
checkpoint.write_tensors = killed
writer.start(Path(sys.argv[1]), files, Progress(step=2))
writer.finish()
"""


@pytest.mark.slow
def test_a_process_killed_while_it_writes_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False).returncode == -signal.SIGKILL
    newest = newest_checkpoint(tmp_path)
    assert newest
    assert Progress.load(newest).step == 1
    assert (tmp_path / "step-00000002.partial").is_dir()


def test_a_foreign_checkpoint_is_refused(tmp_path: Path) -> None:
    checkpoint = save_linear(tmp_path, Progress(step=1))
    model = torch.nn.Linear(3, 2)
    with pytest.raises(ValueError, match="don't fit"):
        load_checkpoint(checkpoint, model, torch.optim.AdamW(model.parameters()))


def test_the_state_says_its_format_and_format_1_has_no_number(tmp_path: Path) -> None:
    progress = Progress(step=7, best_step=3, best_value=-2.5, validated={"3": -2.5})
    checkpoint = save_linear(tmp_path, progress)
    assert json.loads((checkpoint / "state.json").read_text())["format"] == FORMAT
    assert Progress.load(checkpoint) == progress
    rewrite_state(checkpoint, format=None)
    assert Progress.load(checkpoint) == progress


def test_a_state_of_a_newer_version_is_refused_with_advice(tmp_path: Path) -> None:
    checkpoint = save_linear(tmp_path, Progress(step=1))
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


def empty_state(checkpoint: Path) -> None:
    (checkpoint / "state.json").write_text("{")


def empty_sums_and_state(checkpoint: Path) -> None:
    """As a file system that lost its last writes leaves them."""
    for name in ("SHA256SUMS", "state.json"):
        (checkpoint / name).write_text("")


@pytest.mark.parametrize("damage", [empty_state, empty_sums_and_state])
def test_a_run_with_nothing_but_damage_says_so(
    data: TrainingData, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """It doesn't begin anew, which would throw away its records."""
    trainer = run(new_trainer(data, tmp_path, keep_checkpoints=1))
    for checkpoint in list_checkpoints(trainer.checkpoints):
        damage(checkpoint)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"no checkpoint in .* is undamaged: copy one there, or delete"):
            new_trainer(data, tmp_path)
    assert len(records(tmp_path)) > 3


def test_a_checkpoint_that_can_t_be_read_now_is_not_called_damaged(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = run(new_trainer(data, tmp_path))
    before = list_checkpoints(trainer.checkpoints)

    def fail(*arguments: object) -> None:
        raise OSError(5, "Input/output error", "model.safetensors")

    monkeypatch.setattr("nmt.files.sha256", fail)
    with pytest.raises(OSError, match="Input/output error"):
        new_trainer(data, tmp_path)
    assert list_checkpoints(trainer.checkpoints) == before


def test_the_checkpoint_before_a_damaged_one_serves(
    data: TrainingData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
