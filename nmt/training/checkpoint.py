"""Checkpoints: the whole state of a training run, as a folder that is written atomically.

`checkpoints/step-00002000/` holds model.safetensors, ema.safetensors (if the run keeps a moving average),
optimizer.safetensors (its state), state.json and SHA256SUMS. The files don't depend on the number of processes.
They hold no random state: each batch has a seed of its own (`PlannedBatch.seed`).
"""

import json
import math
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from nmt.config import TrainingConfig
from nmt.fields import read_value, require
from nmt.files import check_sums, whole_folder, write_json
from nmt.messages import say
from nmt.model.weights import read_tensors, set_weights, write_tensors
from nmt.training.distributed import Processes
from nmt.upgrade import FORMAT, take_format
from nmt.version import __version__


@dataclass
class Progress:
    """The progress of a run: the contents of a checkpoint besides tensors."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    """Number of the next batch in this epoch (see `window_starts`)."""
    seconds: float = 0.0
    """Time spent in training so far, validation included."""
    best_step: int = 0
    best_value: float | None = None
    """The best value of training.best_metric so far, as `signed` gives it."""
    bad_validations: int = 0
    """Number of validations since the best one."""
    validated: dict[str, float] = field(default_factory=dict)
    """The value of training.best_metric at each validated step, as `signed` gives it."""
    threads: int = 0
    """Number of CPU threads, if `Threads` has changed it."""

    @classmethod
    def load(cls, checkpoint: Path) -> "Progress":
        """Read state.json, of this format or an older one. Raises ValueError if a newer version of nmt wrote it."""
        file = checkpoint / "state.json"
        try:
            # A validation may have given nan or an infinite number, which no other value may be worse than.
            state = json.loads(file.read_text(encoding="utf8"), parse_constant=lambda _: -sys.float_info.max)
            take_format(state, "it")
            state.pop("batch_tokens", None)  # which nmt 1.0.0 could find out itself
            return read_value(state, cls)
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"{file} can't be read by nmt {__version__}: {error}") from error


def signed(metric: str, value: float) -> float:
    """A metric's value, negated unless higher is better: as `Progress` stores it. Its own inverse."""
    return value if metric in ("bleu", "chrf", "accuracy") else -value


def step_folder(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


def step_of(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step-"))


def list_checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints, oldest first."""
    return sorted(folder.glob("step-????????"))


def copy_files(
    model: nn.Module, optimizer: torch.optim.Optimizer, ema: nn.Module | None
) -> dict[str, dict[str, Tensor]]:
    """Copies of the tensors of each file of a checkpoint, on the CPU.

    torch.distributed.checkpoint.state_dict would take more lines: it takes a tied parameter once for each name (1.7
    times the seconds for a base model), needs all names to load, and replaces the dicts that Muon shares with AdamW.
    """
    modules = {"model": model, "ema": ema} if ema else {"model": model}
    files = {file: dict(module.named_parameters()) for file, module in modules.items()}
    files["optimizer"] = {  # named PARAMETER:KEY
        f"{name}:{key}": tensor
        for name, parameter in model.named_parameters()
        for key, tensor in optimizer.state.get(parameter, {}).items()
    }
    return {file: {n: t.detach().to("cpu", copy=True) for n, t in named.items()} for file, named in files.items()}


def write_checkpoint(folder: Path, files: Mapping[str, Mapping[str, Tensor]], progress: Progress) -> None:
    """Save the state of a run after `progress.step` steps, unless it is saved with the same validations."""
    target = step_folder(folder, progress.step)
    if not target.exists() or Progress.load(target).validated != progress.validated:
        with whole_folder(target) as draft:
            for file, tensors in files.items():
                write_tensors(draft / f"{file}.safetensors", tensors)
            write_json(draft / "state.json", {"format": FORMAT, **asdict(progress)})


def newest_checkpoint(folder: Path) -> Path | None:
    """The newest undamaged checkpoint, or None in a new run; damaged checkpoints are renamed with a message. ValueError
    if all are damaged, OSError if one can't be read, so that it is unknown whether it is damaged."""
    for checkpoint in reversed(list_checkpoints(folder)):
        damage = find_damage(checkpoint)
        if not damage:
            return checkpoint
        renamed = checkpoint.with_name(f"{checkpoint.name}.damaged")
        shutil.rmtree(renamed, ignore_errors=True)
        checkpoint.replace(renamed)
        say(f"{damage}. The checkpoint is renamed to {renamed.name}.")
    damaged = any(folder.glob("step-*.damaged"))
    require(not damaged, f"no checkpoint in {folder} is undamaged: copy one there, or delete that folder to train anew")
    return None


def find_damage(checkpoint: Path) -> str:
    """The damage to the files of a checkpoint, as a sentence for the user; empty if they are undamaged."""
    try:
        check_sums(checkpoint, "model.safetensors", "optimizer.safetensors", "state.json")
    except (FileNotFoundError, ValueError) as error:
        return str(error)
    return ""


def load_checkpoint(
    checkpoint: Path, model: nn.Module, optimizer: torch.optim.Optimizer, ema: nn.Module | None = None
) -> Progress:
    """Restore the state of a run. Raises ValueError if the checkpoint doesn't fit the model."""
    for module, file in ((model, "model.safetensors"), (ema, "ema.safetensors")):
        if module:
            set_weights(module, read_tensors(checkpoint / file), checkpoint)
    parameters = dict(model.named_parameters())
    with_momentum = set(map(id, optimizer.param_groups[0]["params"]))
    for name, tensor in read_tensors(checkpoint / "optimizer.safetensors").items():
        parameter, _, key = name.rpartition(":")
        if key == "momentum" and id(parameters[parameter]) not in with_momentum:
            continue  # an older nmt gave untied output layers to Muon
        optimizer.state[parameters[parameter]][key] = tensor.to(parameters[parameter].device)
    return Progress.load(checkpoint)


def value_at(progress: Progress, step: int) -> float:
    """The signed value of a step's validation; −∞ if the step was not validated or the value is not finite."""
    value = progress.validated.get(str(step), -math.inf)
    return value if math.isfinite(value) else -math.inf


def prune(folder: Path, progress: Progress, config: TrainingConfig) -> None:
    """Delete the checkpoints that are neither among the newest nor the best. The user is told of one that can't be
    deleted; it is tried again after the next checkpoint."""
    for old in list_checkpoints(folder)[: -config.keep_checkpoints]:
        if step_of(old) != progress.best_step:
            try:
                shutil.rmtree(old)
            except OSError as error:
                say(f"{old} can't be deleted ({error.strerror or error}): training goes on")


def choose_weights(
    folder: Path, progress: Progress, model: nn.Module, processes: Processes
) -> tuple[int, dict[str, Tensor]]:
    """The step of the final weights, and the weights by name: those of the best checkpoint in `folder` or, if there is
    none since nothing was trained, of the model."""
    undamaged = [str(c) for c in list_checkpoints(folder) if not find_damage(c)] if processes.is_main else []
    kept = list(map(Path, processes.broadcast(undamaged)))
    if not kept:
        return progress.step, {name: p.detach().cpu() for name, p in model.named_parameters()}
    best = max(kept, key=lambda c: (step_of(c) == progress.best_step, value_at(progress, step_of(c)), c))
    if progress.best_step and step_of(best) != progress.best_step:
        problem = f"The best checkpoint, of step {progress.best_step:,}, is damaged or missing"
        say(f"{problem}: the best of the rest, of step {step_of(best):,}, is used.")
    ema = best / "ema.safetensors"  # validated in place of the weights, if the run keeps it
    return step_of(best), read_tensors(ema if ema.exists() else best / "model.safetensors")
