"""Checkpoints: a training run's whole state in a folder, written so that it is either complete or absent.

`checkpoints/step-00002000/` holds model.safetensors, ema.safetensors (if the run keeps a moving average),
optimizer.safetensors (moments and random state), state.json, and SHA256SUMS.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from nmt.decode.folder import read_tensors, set_weights, write_tensors
from nmt.files import check_sums, whole_folder, write_json


@dataclass
class Progress:
    """Where a run stands; all that a checkpoint holds besides tensors."""

    step: int = 0
    """Optimizer steps taken."""
    epoch: int = 0
    batch: int = 0
    """Batches of this epoch's plan already used."""
    seconds: float = 0.0
    """Time spent in training so far, validation included."""
    best_step: int = 0
    best_value: float | None = None
    """Of training.best_metric, larger is better (a loss is negated)."""
    bad_validations: int = 0
    """Validations since the best."""
    validated: dict[str, float] = field(default_factory=dict)
    """The value of training.best_metric at each step that was validated, as in best_value."""


def step_folder(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


def list_checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints, oldest first."""
    return sorted(folder.glob("step-????????"))


def save_checkpoint(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress,
                    ema: nn.Module | None = None) -> Path:
    """Save the state of a run after `progress.step` steps, unless it is there; returns the checkpoint's folder."""
    target = step_folder(folder, progress.step)
    if target.exists():  # whole, and of the same step: the same
        return target
    names = {id(p): name for name, p in model.named_parameters()}
    moments = {f"{names[id(p)]}:{key}": value for p, state in optimizer.state.items()
               for key, value in state.items() if isinstance(value, Tensor)}
    with whole_folder(target) as draft:
        write_tensors(draft / "model.safetensors", weights(model))
        if ema:
            write_tensors(draft / "ema.safetensors", weights(ema))
        write_tensors(draft / "optimizer.safetensors", {**moments, **random_state()})
        write_json(draft / "state.json", asdict(progress))
    return target


def newest_checkpoint(folder: Path, say: Callable[[str], None]) -> Path | None:
    """The newest checkpoint that is undamaged; damaged ones are renamed, and it is said."""
    for checkpoint in reversed(list_checkpoints(folder)):
        try:
            check_sums(checkpoint)
        except (OSError, ValueError) as error:
            aside = checkpoint.with_name(f"{checkpoint.name}.damaged")
            shutil.rmtree(aside, ignore_errors=True)
            checkpoint.replace(aside)
            say(f"{error}. The checkpoint is set aside as {aside.name}.")
        else:
            return checkpoint
    return None


def load_checkpoint(checkpoint: Path, model: nn.Module, optimizer: torch.optim.Optimizer,
                    ema: nn.Module | None = None) -> Progress:
    """Put a run back where the checkpoint left it, random generators included. Raises ValueError if it doesn't fit."""
    set_weights(model, read_tensors(checkpoint / "model.safetensors"), checkpoint)
    if ema:
        set_weights(ema, read_tensors(checkpoint / "ema.safetensors"), checkpoint)
    tensors = read_tensors(checkpoint / "optimizer.safetensors")
    for name, parameter in model.named_parameters():
        optimizer.state[parameter] = {
            key: tensors[f"{name}:{key}"].to(parameter.device)
            for key in ("step", "exp_avg", "exp_avg_sq") if f"{name}:{key}" in tensors}
    set_random_state(tensors)
    return Progress(**json.loads((checkpoint / "state.json").read_text(encoding="utf8")))


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Parameters by name; a tied one comes once."""
    return {name: p.detach() for name, p in model.named_parameters()}


def validated_weights(checkpoint: Path) -> dict[str, Tensor]:
    """What was validated at that step: the moving average if the run keeps one, else the weights themselves."""
    ema = checkpoint / "ema.safetensors"
    return read_tensors(ema if ema.exists() else checkpoint / "model.safetensors")


def average_weights(checkpoints: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the checkpoints' validated weights, in float32 (Junczys-Dowmunt et al. 2016, section 2.3)."""
    total: dict[str, Tensor] = {}
    for checkpoint in checkpoints:
        for name, tensor in validated_weights(checkpoint).items():
            total[name] = total[name] + tensor.float() if name in total else tensor.float()
    return {name: tensor / len(checkpoints) for name, tensor in total.items()}


def random_state() -> dict[str, Tensor]:
    """The state of the generators that dropout draws from."""
    state = {"random:cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["random:cuda"] = torch.cuda.get_rng_state()
    return state


def set_random_state(tensors: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(tensors["random:cpu"])
    if torch.cuda.is_available() and "random:cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random:cuda"])
