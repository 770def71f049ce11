"""Which checkpoints stay, and which weights a run ends with: the best's, or an average that validates better."""

import shutil
from collections.abc import Callable
from pathlib import Path

from torch import Tensor

from nmt.config import TrainingConfig
from nmt.decode.folder import set_weights
from nmt.training.checkpoint import (
    Progress,
    average_weights,
    list_checkpoints,
    step_folder,
    validated_weights,
    weights,
)
from nmt.training.validation import Validator


def best_steps(progress: Progress, config: TrainingConfig) -> list[int]:
    """Steps of the best validations, worst first: one, or as many as are averaged."""
    n = config.average if config.average_of == "best" else 1
    return sorted(map(int, progress.validated), key=lambda step: progress.validated[str(step)])[-n:]


def prune(folder: Path, progress: Progress, config: TrainingConfig) -> None:
    """Remove the checkpoints that are neither among the newest nor among the best."""
    keep = {step_folder(folder, step) for step in (*best_steps(progress, config), progress.best_step)}
    newest = max(config.keep_checkpoints, config.average if config.average_of == "last" else 1)
    for old in list_checkpoints(folder)[:-newest]:
        if old not in keep:
            shutil.rmtree(old)


def to_average(folder: Path, progress: Progress, config: TrainingConfig) -> list[Path]:
    """The checkpoints whose mean is tried; none if the settings ask for no average."""
    if config.average == 1:
        return []
    if config.average_of == "best":
        return [step_folder(folder, step) for step in best_steps(progress, config)]
    return list_checkpoints(folder)[-config.average:]


def choose_weights(folder: Path, progress: Progress, validator: Validator,
                   say: Callable[[str], None]) -> dict[str, Tensor]:
    """The weights for the model folder. The validator's model is left with some of them."""
    kept, config = list_checkpoints(folder), validator.config
    if not kept:  # nothing was trained
        return weights(validator.model)
    best = step_folder(folder, progress.best_step)
    chosen = validated_weights(best if best in kept else kept[-1])
    averaged = to_average(folder, progress, config)
    if len(averaged) < 2:
        return chosen
    average = average_weights(averaged)
    set_weights(validator.model, average, folder)
    value = validator.goodness(validator.measure()[0])
    better = progress.best_value is None or value > progress.best_value
    verdict = "kept" if better else f"the best alone is better: {abs(progress.best_value or 0):.3f}"
    say(f"average of {len(averaged)} checkpoints: validation {config.best_metric} {abs(value):.3f} ({verdict})")
    return average if better else chosen
