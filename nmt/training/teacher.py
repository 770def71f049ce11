"""Teachers: trained models flow in; their probabilities of each target piece flow out, which a student learns.

Shapes: N real target positions, C of them in a chunk, M width of a teacher, V vocabulary.
Sources: Hinton et al. 2015; Kim and Rush 2016, section 3.1 (word-level distillation).
"""

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from nmt.config import Config
from nmt.data.batches import Batch
from nmt.data.tokenizer import Tokenizer
from nmt.fields import require
from nmt.model.contract import Model
from nmt.model.device import Numerics
from nmt.model.linear import with_bias
from nmt.training.data import TrainingData
from nmt.translation.model_folder import load_model, read_info, require_model


class Lesson(NamedTuple):
    """What the teachers tell of a batch: few numbers. The probabilities are computed from them, a chunk at a time."""

    weight: float
    """Share of the loss that is the cross entropy against the teachers."""
    outputs: list[tuple[Tensor, Tensor]]
    """The last hidden states (N, M) of each teacher, and the matrix of its output layer (V, M)."""

    def probabilities(self, start: int, stop: int) -> Tensor:
        """The mean probabilities (C, V), float32, at the positions from `start` up to `stop`."""
        total_CV, *others = (
            torch.softmax(F.linear(states_NM[start:stop], weight_VM).float(), dim=-1)
            for states_NM, weight_VM in self.outputs
        )
        for p_CV in others:
            total_CV += p_CV
        return total_CV.div_(len(self.outputs)) if others else total_CV


class Teacher:
    """Trained models, in evaluation mode, and in the precision of the training. It is no module: DDP and checkpoints
    don't see their weights."""

    def __init__(self, models: list[Model], weight: float) -> None:
        self.models, self.weight = models, weight

    @torch.no_grad()
    def lesson(self, batch: Batch) -> Lesson:
        arguments = batch.src_BS, batch.src_mask_BS, batch.tgt_in_BT, batch.tgt_mask_BT
        return Lesson(self.weight, [with_bias(m.target_states(*arguments), m.output) for m in self.models])


def load_teacher(config: Config, data: TrainingData, numerics: Numerics) -> Teacher | None:
    """The models in `training.teacher`; None if it names none. ValueError if one doesn't fit the run."""
    if not config.training.teachers:
        return None
    check_teachers(config, data.tokenizer)
    models = [load_model(Path(folder), numerics.device)[0] for folder in config.training.teachers]
    for model, folder in zip(models, config.training.teachers, strict=True):
        longest, limit = data.longest(model), model.max_positions
        problem = f"the teacher in {folder} reads at most {limit} positions, and a training sequence takes {longest}"
        require(limit is None or longest <= limit, f"{problem}: lower data.max_pieces")
    models = [model.requires_grad_(False) for model in models]
    return Teacher([m.bfloat16() if numerics.bf16 else m for m in models], config.training.teacher_weight)


def check_teachers(config: Config, tokenizer: Tokenizer) -> None:
    """Raise ValueError if a folder in `training.teacher` has no model of this task with this tokenizer."""
    objective, languages = config.training.objective, config.data.languages
    wanted = languages[0], languages[-1]
    for name in config.training.teachers:
        folder = require_model(Path(name))
        info, _ = read_info(folder / "config.json")
        problem = f"the teacher in {name} has learned objective {info.objective}"
        require(info.objective == objective, f"{problem}: training.objective is {objective}")
        direction = f"the teacher in {name} translates from {info.source} to {info.target}"
        fits = objective != "translation" or (info.source, info.target) == wanted
        require(fits, f"{direction}, not from {wanted[0]} to {wanted[1]}")
        problem = f"the teacher in {name} has another tokenizer than this run"
        is_same = tokenizer.same_as(Tokenizer.load(folder))
        require(is_same, f"{problem}, so its probabilities are those of other pieces: give --tokenizer.folder {name}")
