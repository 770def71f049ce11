"""A teacher: a trained model flows in; its probabilities of each target piece flow out, which a student learns.

Shapes: N real target positions, C of them in a chunk, M width of the teacher, V vocabulary.
Sources: Hinton et al. 2015; Kim and Rush 2016, section 3.1 (word-level distillation).
"""

from dataclasses import dataclass
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
from nmt.model.layers import with_bias
from nmt.training.data import TrainingData
from nmt.translation.model_folder import load_model, read_info, require_model


class Lesson(NamedTuple):
    """What the teacher tells of a batch: few numbers. The probabilities are computed from them, a chunk at a time."""

    weight: float
    """Share of the loss that is the cross entropy against the teacher."""
    states_NM: Tensor
    """Its last hidden states."""
    weight_VM: Tensor
    """The matrix of its output layer."""

    def probabilities(self, start: int, stop: int) -> Tensor:
        """The probabilities (C, V), float32, at the positions from `start` up to `stop`."""
        return torch.softmax(F.linear(self.states_NM[start:stop], self.weight_VM).float(), dim=-1)


@dataclass(frozen=True)
class Teacher:
    """A trained model, in evaluation mode, and in the precision of the training. It is no module: DDP and checkpoints
    don't see its weights."""

    model: Model
    weight: float

    @torch.no_grad()
    def lesson(self, batch: Batch) -> Lesson:
        states_NM = self.model.target_states(batch.src_BS, batch.src_mask_BS, batch.tgt_in_BT, batch.tgt_mask_BT)
        return Lesson(self.weight, *with_bias(states_NM, self.model.output))


def load_teacher(config: Config, data: TrainingData, numerics: Numerics) -> Teacher | None:
    """The model in `training.teacher`; None if it names none. ValueError if it doesn't fit the run."""
    folder = config.training.teacher
    if not folder:
        return None
    check_teacher(config, data.tokenizer)
    model, _, _ = load_model(Path(folder), numerics.device)
    longest, limit = data.longest(model), model.max_positions
    problem = f"the teacher in {folder} reads at most {limit} positions, and a training sequence takes {longest}"
    require(limit is None or longest <= limit, f"{problem}: lower data.max_pieces")
    model = model.requires_grad_(False)
    return Teacher(model.bfloat16() if numerics.bf16 else model, config.training.teacher_weight)


def check_teacher(config: Config, tokenizer: Tokenizer) -> None:
    """Raise ValueError if the folder in `training.teacher` has no model of this task with this tokenizer."""
    objective, languages, name = config.training.objective, config.data.languages, config.training.teacher
    wanted, folder = (languages[0], languages[-1]), require_model(Path(name))
    info, _ = read_info(folder / "config.json")
    problem = f"the teacher in {name} has learned objective {info.objective}"
    require(info.objective == objective, f"{problem}: training.objective is {objective}")
    direction = f"the teacher in {name} translates from {info.source} to {info.target}"
    several = wanted[0] in tokenizer.languages.before_source and wanted[1] in tokenizer.languages.before_target
    fits = objective != "translation" or several or (info.source, info.target) == wanted
    require(fits, f"{direction}, not from {wanted[0]} to {wanted[1]}")
    problem = f"the teacher in {name} has another tokenizer than this run"
    is_same = tokenizer.same_as(Tokenizer.load(folder))
    require(is_same, f"{problem}, so its probabilities are those of other pieces: give --tokenizer.folder {name}")
