"""A tiny task for the tests of training: sentences of four words, to be written backwards."""

import json
import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch

from nmt.config import Config, ModelConfig, TrainingConfig
from nmt.training.checkpoint import Progress, copy_files, step_folder, write_checkpoint
from nmt.training.data import TrainingData
from nmt.training.loop import Trainer, make_trainer
from nmt.training.monitor import Monitor, Window
from nmt.training.validation import Validator

WORDS = ["ab", "cd", "ef", "gh", "ij", "kl"]
SIZES: dict[str, Any] = {"d_model": 32, "n_heads": 2, "d_ff": 64, "encoder_layers": 1, "decoder_layers": 1}
NO_DROPOUT = ModelConfig(**SIZES, norm_position="pre", dropout=0.0)
TINY = replace(NO_DROPOUT, dropout=0.1, attention_dropout=0.1, activation_dropout=0.1)
PLAIN = TrainingConfig(threads=1, device="cpu", precision="fp32", batch_tokens=120, learning_rate=3e-3, warmup_steps=4)
SHORT = replace(PLAIN, max_steps=12, log_every=4, validate_every=4)


def corpus(n: int, seed: int) -> list[tuple[str, str]]:
    """Sentences of four words, and the same backwards."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(len(WORDS), (n, 4), generator=generator).tolist()
    return [(" ".join(WORDS[i] for i in row), " ".join(WORDS[i] for i in reversed(row))) for row in rows]


class ScriptedValidator(Validator):
    """A validator that doesn't measure: its values of training.best_metric are given, one for each validation."""

    def __init__(self, validator: Validator, values: Iterable[float]) -> None:
        vars(self).update(vars(validator))
        self.values = iter(values)

    def measure(self) -> tuple[dict[str, float], list[str]]:
        return {f"validation/{self.config.best_metric}": next(self.values)}, []


def new_trainer(
    data: TrainingData,
    folder: Path,
    model: ModelConfig = TINY,
    validations: Iterable[float] | None = None,
    **changes: object,
) -> Trainer:
    """A trainer with SHORT's settings, changed as given; `validations` takes the place of measurements."""
    settings = replace(SHORT, **changes)  # type: ignore[arg-type]
    trainer = make_trainer(Config(model=model, training=settings), data, folder)
    if validations is not None:
        trainer.validator = ScriptedValidator(trainer.validator, validations)
    return trainer


def run(trainer: Trainer) -> Trainer:
    with Monitor(trainer.folder, trainer.progress.step, trainer.config.max_steps) as monitor:
        trainer.train(monitor)
    return trainer


def require_equal(model: torch.nn.Module, other: torch.nn.Module) -> None:
    for (name, a), b in zip(model.named_parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b), name


def require_close(model: torch.nn.Module, other: torch.nn.Module) -> None:
    torch.testing.assert_close(dict(model.named_parameters()), dict(other.named_parameters()))


def require_same_end(make: Callable[[Path], Trainer], folder: Path, stop_after: int) -> tuple[Trainer, Trainer]:
    """Run a trainer in one go and, in another folder, with a stop after this step: both must end alike, bit for bit."""
    whole = run(make(folder / "whole"))
    run_until(make(folder / "parts"), stop_after)
    torch.manual_seed(1234)  # whatever happens in between
    resumed = make(folder / "parts")
    assert resumed.progress.step == stop_after
    run(resumed)
    require_equal(whole.model, resumed.model)
    return whole, resumed


def save_checkpoint(folder: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer, progress: Progress) -> Path:
    write_checkpoint(folder, copy_files(model, optimizer, None), progress)
    return step_folder(folder, progress.step)


def records(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def without_speed(folder: Path) -> list[dict[str, float]]:
    return [{tag: v for tag, v in record.items() if not tag.startswith("speed/")} for record in records(folder)]


def losses(folder: Path) -> list[float]:
    return [r[key] for r in records(folder) for key in ("train/loss", "validation/loss") if key in r]


def run_until(trainer: Trainer, step: int) -> None:
    """Train, and press Ctrl-C in this step."""
    take_step = trainer.step

    def step_then_interrupt(window: Window) -> None:
        take_step(window)
        if trainer.progress.step == step:
            os.kill(os.getpid(), signal.SIGINT)

    with (
        patch.object(trainer, "step", step_then_interrupt),
        pytest.raises(KeyboardInterrupt, match=f"step {step}; all is saved"),
    ):
        run(trainer)
