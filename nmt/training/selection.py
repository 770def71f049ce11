"""Which checkpoints stay, and which weights a run ends with: the best's, or an average that validates better."""

import math
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

from torch import Tensor

from nmt.config import TrainingConfig
from nmt.model.weights import set_weights
from nmt.training.checkpoint import (
    Progress,
    average_weights,
    damage_of,
    list_checkpoints,
    step_folder,
    step_of,
    validated_weights,
    weights,
)
from nmt.training.validation import Validator


def value_at(progress: Progress, step: int) -> float:
    """What the validation of a step found, larger is better; the least if there was none, or it was no number."""
    value = progress.validated.get(str(step), -math.inf)
    return value if math.isfinite(value) else -math.inf


def best_steps(progress: Progress, config: TrainingConfig) -> list[int]:
    """Steps of the best validations, worst first: one, or as many as are averaged."""
    n = config.average if config.average_of == "best" else 1
    return sorted(map(int, progress.validated), key=lambda step: value_at(progress, step))[-n:]


def last_steps(progress: Progress, config: TrainingConfig) -> list[int]:
    """Steps of the last validations, as many as are averaged: not those at which a run was only interrupted."""
    n = config.average if config.average_of == "last" else 1
    return sorted(map(int, progress.validated))[-n:]


def prune(folder: Path, progress: Progress, config: TrainingConfig) -> None:
    """Remove the checkpoints that are neither among the newest nor to be averaged nor the best."""
    steps = {*best_steps(progress, config), *last_steps(progress, config), progress.best_step}
    keep = {step_folder(folder, step) for step in steps}
    for old in list_checkpoints(folder)[: -config.keep_checkpoints]:
        if old not in keep:
            shutil.rmtree(old)


def to_average(kept: Collection[Path], progress: Progress, config: TrainingConfig) -> list[Path]:
    """The checkpoints whose mean is tried, of those that are kept; none if the settings ask for no average."""
    if config.average == 1:
        return []
    steps = (best_steps if config.average_of == "best" else last_steps)(progress, config)
    return [checkpoint for checkpoint in kept if step_of(checkpoint) in steps]


def choose_weights(
    folder: Path, progress: Progress, validator: Validator, say: Callable[[str], None]
) -> dict[str, Tensor]:
    """The weights for the model folder. The validator's model is left with some of them."""
    config, processes = validator.config, validator.processes
    undamaged = [str(c) for c in list_checkpoints(folder) if not damage_of(c)] if processes.first else []
    kept = list(map(Path, processes.told(undamaged)))
    if not kept:  # nothing was trained
        return weights(validator.model)
    best = max(kept, key=lambda one: (step_of(one) == progress.best_step, value_at(progress, step_of(one)), one))
    if progress.best_step and step_of(best) != progress.best_step:
        say(
            f"The checkpoint of step {progress.best_step:,}, the best, is damaged or gone: the best that is left, of "
            f"step {step_of(best):,}, is taken."
        )
    chosen = validated_weights(best)
    averaged = to_average(kept, progress, config)
    if len(averaged) < 2:
        return chosen
    average = average_weights(averaged)
    set_weights(validator.model, average, folder)
    value = validator.goodness(validator.measure()[0])
    better = progress.best_value is None or value > progress.best_value
    verdict = "kept" if better else f"the best alone is better: {abs(progress.best_value or 0):.3f}"
    say(f"average of {len(averaged)} checkpoints: validation {config.best_metric} {abs(value):.3f} ({verdict})")
    return average if better else chosen
