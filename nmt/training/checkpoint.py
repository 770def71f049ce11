"""Checkpoints: a training run's whole state in a folder, written so that it is either complete or absent.

`checkpoints/step-00002000/` holds model.safetensors, ema.safetensors (if the run keeps a moving average),
optimizer.safetensors (moments), state.json, and SHA256SUMS. It is the same at any number of processes, sharded or not.
Random state is no part of it: each batch draws from a seed of its own (`PlannedBatch.seed`).
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from nmt import __version__
from nmt.config import from_json, require
from nmt.files import check_sums, whole_folder, write_json
from nmt.model.weights import read_tensors, set_weights, write_tensors
from nmt.training.distributed import shared_as, whole

MOMENTS = ("step", "exp_avg", "exp_avg_sq", "momentum")


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
    batch_tokens: int = 0
    """What training.batch_tokens is, or was found to be."""


def step_folder(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


def step_of(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step-"))


def list_checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints, oldest first."""
    return sorted(folder.glob("step-????????"))


def save_checkpoint(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    ema: nn.Module | None = None,
    first: bool = True,
) -> Path:
    """Save the state of a run after `progress.step` steps, unless it is there; returns the checkpoint's folder.

    All processes that share out a model call this together, to put its tensors together; only the `first` writes.
    """
    target = step_folder(folder, progress.step)
    files: dict[str, dict[str, Tensor]] = {file: {} for file in ("model", "optimizer", *(["ema"] if ema else []))}
    for file, name, tensor in state_tensors(model, optimizer, ema):
        if first:
            files[file][name] = tensor.cpu()  # the device that shares out a model has no room for all of it
    if first and not target.exists():  # if it exists it is whole, and of the same step: the same
        with whole_folder(target) as draft:
            for file, tensors in files.items():
                write_tensors(draft / f"{file}.safetensors", tensors)
            write_json(draft / "state.json", asdict(progress))
    return target


def state_tensors(
    model: nn.Module, optimizer: torch.optim.Optimizer, ema: nn.Module | None
) -> Iterator[tuple[str, str, Tensor]]:
    """(file, name, tensor) of all that a checkpoint holds in tensors, each put together if it is sharded."""
    for file, source in (("model", model), ("ema", ema)):
        for name, p in source.named_parameters() if source else ():
            yield file, name, whole(p.detach())
    for name, p in model.named_parameters():
        for key, value in optimizer.state.get(p, {}).items():
            yield "optimizer", f"{name}:{key}", whole(value)


def newest_checkpoint(folder: Path, say: Callable[[str], None]) -> Path | None:
    """The newest checkpoint that is undamaged; damaged ones after it are renamed, and it is said. None in a new run.

    Raises:
        ValueError: all are damaged.
        OSError: one can't be read, which doesn't say that it is damaged.
    """
    for checkpoint in reversed(list_checkpoints(folder)):
        damage = damage_of(checkpoint)
        if not damage:
            return checkpoint
        aside = checkpoint.with_name(f"{checkpoint.name}.damaged")
        shutil.rmtree(aside, ignore_errors=True)
        checkpoint.replace(aside)
        say(f"{damage}. The checkpoint is set aside as {aside.name}.")
    require(
        not any(folder.glob("step-*.damaged")),
        f"no checkpoint in {folder} is undamaged: put one there from a "
        f"copy, or delete that folder to train from the beginning",
    )
    return None


def damage_of(checkpoint: Path) -> str:
    """What is wrong with a checkpoint's files, for the user; empty if nothing is."""
    try:
        check_sums(checkpoint, "model.safetensors", "optimizer.safetensors", "state.json")
    except (FileNotFoundError, ValueError) as error:
        return str(error)
    return ""


def load_checkpoint(
    checkpoint: Path, model: nn.Module, optimizer: torch.optim.Optimizer, ema: nn.Module | None = None
) -> Progress:
    """Put a run back where the checkpoint left it. Raises ValueError if it doesn't fit."""
    set_weights(model, shared(read_tensors(checkpoint / "model.safetensors"), model), checkpoint)
    if ema:
        set_weights(ema, shared(read_tensors(checkpoint / "ema.safetensors"), ema), checkpoint)
    tensors = read_tensors(checkpoint / "optimizer.safetensors")
    for name, parameter in model.named_parameters():
        state = {key: tensors[f"{name}:{key}"] for key in MOMENTS if f"{name}:{key}" in tensors}
        optimizer.state[parameter] = {
            key: shared_as(tensor, parameter) if tensor.dim() else tensor.to(parameter.device)
            for key, tensor in state.items()
        }
    return load_progress(checkpoint)


def load_progress(checkpoint: Path) -> Progress:
    """Raises ValueError if another version of nmt wrote it."""
    file = checkpoint / "state.json"
    try:
        return from_json(Progress, json.loads(file.read_text(encoding="utf8")))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file} is not one that nmt {__version__} knows: {error}") from error


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Parameters by name, on the CPU, put together if they are sharded; a tied one comes once."""
    return {name: whole(p.detach()).cpu() for name, p in model.named_parameters()}


def shared(tensors: Mapping[str, Tensor], model: nn.Module) -> dict[str, Tensor]:
    """Whole tensors by name, each shared out as the model's own is, if that has one of its name and shape."""
    own = dict(model.named_parameters())
    return {
        name: shared_as(tensor, own[name]) if name in own and own[name].shape == tensor.shape else tensor
        for name, tensor in tensors.items()
    }


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
