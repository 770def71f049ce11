"""Selection: checkpoints flow in; the ones to keep, and the final weights (the best, or a better average), flow out."""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from nmt.config import TrainingConfig
from nmt.messages import say
from nmt.model.weights import read_tensors, set_weights
from nmt.training.checkpoint import Progress, find_damage, list_checkpoints, signed, step_folder, step_of
from nmt.training.validation import Validator


def value_at(progress: Progress, step: int) -> float:
    """The signed value of a step's validation; −∞ if the step was not validated or the value is not finite."""
    value = progress.validated.get(str(step), -math.inf)
    return value if math.isfinite(value) else -math.inf


def choose_average(checkpoints: Sequence[Path], progress: Progress, config: TrainingConfig) -> list[Path]:
    """The checkpoints to average: the best or the last validated ones. (A run also saves when it is stopped.)"""
    steps = sorted(map(int, progress.validated))
    if config.average_of == "best":
        steps.sort(key=lambda step: value_at(progress, step))
    return [checkpoint for checkpoint in checkpoints if step_of(checkpoint) in steps[-config.average :]]


def prune(folder: Path, progress: Progress, config: TrainingConfig) -> None:
    """Delete the checkpoints that are neither among the newest, nor to be averaged, nor the best. The user is told of
    one that can't be deleted; it is tried again after the next checkpoint."""
    checkpoints = list_checkpoints(folder)
    keep = {step_folder(folder, progress.best_step), *choose_average(checkpoints, progress, config)}
    for old in checkpoints[: -config.keep_checkpoints]:
        if old not in keep:
            try:
                shutil.rmtree(old)
            except OSError as error:
                say(f"{old} can't be deleted ({error.strerror or error}): training goes on")


def validated_weights(checkpoint: Path) -> dict[str, Tensor]:
    """The weights that were validated at that step: the moving average if the run keeps one, else the model's."""
    ema = checkpoint / "ema.safetensors"
    return read_tensors(ema if ema.exists() else checkpoint / "model.safetensors")


def average_weights(checkpoints: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the checkpoints' validated weights, in float32 (Junczys-Dowmunt et al. 2016, section 2.3)."""
    total: dict[str, Tensor] = {}
    for checkpoint in checkpoints:
        for name, tensor in validated_weights(checkpoint).items():
            total[name] = total[name] + tensor.float() if name in total else tensor.float()
    return {name: tensor / len(checkpoints) for name, tensor in total.items()}


def choose_weights(folder: Path, progress: Progress, validator: Validator) -> tuple[list[int], dict[str, Tensor]]:
    """The steps of the final weights (several: their mean), and the weights by name, from the checkpoints in `folder`.
    May overwrite the weights of the validator."""
    config, processes = validator.config, validator.processes
    undamaged = [str(c) for c in list_checkpoints(folder) if not find_damage(c)] if processes.is_main else []
    kept = list(map(Path, processes.broadcast(undamaged)))
    if not kept:  # nothing was trained
        return [progress.step], {name: p.detach().cpu() for name, p in validator.model.named_parameters()}
    best = max(kept, key=lambda c: (step_of(c) == progress.best_step, value_at(progress, step_of(c)), c))
    if progress.best_step and step_of(best) != progress.best_step:
        problem = f"The best checkpoint, of step {progress.best_step:,}, is damaged or missing"
        say(f"{problem}: the best of the rest, of step {step_of(best):,}, is used.")
    averaged = choose_average(kept, progress, config)
    if len(averaged) < 2:
        return [step_of(best)], validated_weights(best)
    average = average_weights(averaged)
    set_weights(validator.model, average, folder)
    value = validator.measure()[0][f"validation/{config.best_metric}"]
    best_value = progress.best_value
    better = best_value is None or signed(config.best_metric, value) > best_value
    verdict = "kept" if better else f"the best alone is better: {signed(config.best_metric, best_value or 0.0):.3f}"
    say(f"average of {len(averaged)} checkpoints: validation {config.best_metric} {value:.3f} ({verdict})")
    return (list(map(step_of, averaged)), average) if better else ([step_of(best)], validated_weights(best))
