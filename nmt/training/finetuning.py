"""Trained models that a run learns from: a new model starts from the weights of one, or has one as its teacher."""

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmt.config import Config, ModelConfig
from nmt.data.store.preparing import take_tokenizer
from nmt.data.tokenizer import Tokenizer
from nmt.fields import require
from nmt.model.contract import Model
from nmt.model.device import Numerics
from nmt.training.data import TrainingData
from nmt.training.loss import Teacher
from nmt.translation.model_folder import load_model, read_info, require_model

# Settings that may differ: they change what a layer sees or when it runs, not what its weights mean. Of stacks of
# unequal depth, the first layers are taken, as many as both have (Shleifer and Rush 2020: "shrink and fine-tune").
ANY_START = {"source_attention", "encoder_layers", "decoder_layers"}
# If the models are of different families, also these: of each stack, the parts that both models have are taken.
OTHER_FAMILY = ANY_START | {"family", "tied_embeddings", "output_bias", "max_positions"}


def require_fitting_models(config: Config) -> None:
    """Raise ValueError if a model that the run would start from, adapt or have as its teacher doesn't fit it."""
    training, start = config.training, Path(config.training.start_from)
    if training.start_from:
        check_start(config.model, start)
    if config.lora.rank:
        require_same_model(config.model, take_tokenizer(config) if config.tokenizer.folder else None, start)
    if training.teacher:
        problem = "training.teacher needs the vocabulary of the teacher"
        require(bool(config.tokenizer.folder), f"{problem}: give its folder as tokenizer.folder too")
        check_teacher(config, take_tokenizer(config))


def start_from(model: Model, tokenizer: Tokenizer, folder: Path) -> str:
    """Copy the weights of a model folder into a new model; return a message for the user.

    Rows of embeddings are copied by piece: a piece that the old vocabulary lacks keeps its random embedding. From a
    model of another family, the weights of the same name and shape are taken. ValueError as of `check_start`.
    """
    check_start(model.config, folder)
    old_model, old_tokenizer, _ = load_model(folder)
    source_rows = shared_rows(tokenizer.source, old_tokenizer.source)
    target_rows = shared_rows(tokenizer.target, old_tokenizer.target)
    taken = copy_weights(model, old_model, {"source": source_rows, "target": target_rows})
    return f"Starting from the weights in {folder}: {describe(model, taken)}."


def check_start(config: ModelConfig, folder: Path) -> None:
    """Raise ValueError if a model of these settings can't start from the weights of a model folder."""
    old = read_info(require_model(folder) / "config.json")[0].model
    may_differ = ANY_START if config.family == old.family else OTHER_FAMILY
    different = differences(config, old, may_differ)
    shown = "; ".join(f"model.{name} is {value!r}, there {getattr(old, name)!r}" for name, value in different.items())
    require(not different, f"the model in {folder} was trained with other settings, use these: {shown}")


def differences(config: ModelConfig, old: ModelConfig, may_differ: Collection[str]) -> dict[str, Any]:
    """The settings that differ from those of an old model, besides dropout and these."""
    settings, before = asdict(config), asdict(old)
    names = (name for name in settings if "dropout" not in name and name not in may_differ)
    return {name: settings[name] for name in names if settings[name] != before[name]}


def copy_weights(model: Model, old_model: Model, rows: dict[str, tuple[Tensor, Tensor]]) -> dict[int, int]:
    """Copy what fits, by name, in these `shared_rows`; return how many numbers of each parameter (its `id`)."""
    # Tied parameters have several names, and models tie them differently: each name is tried.
    old = dict(old_model.named_parameters(remove_duplicate=False))
    sides, old_sides = model.vocabularies(), old_model.vocabularies()
    taken: dict[int, int] = {}
    with torch.no_grad():
        for name, parameter in model.named_parameters(remove_duplicate=False):
            if name not in old or id(parameter) in taken or parameter.shape[1:] != old[name].shape[1:]:
                continue
            if name in sides and name in old_sides:
                new_rows, old_rows = rows[sides[name]]
                taken_rows = old[name][old_rows].to(parameter.device)
                parameter[new_rows] = taken_rows
                taken[id(parameter)] = taken_rows.numel()
            elif parameter.shape == old[name].shape:
                parameter.copy_(old[name])
                taken[id(parameter)] = parameter.numel()
    return taken


def describe(model: Model, taken: dict[int, int]) -> str:
    """For each part of the model how much of it was taken."""
    shares = {}
    for part, modules in model.parts().items():
        parameters = {id(p): p for module in modules for p in module.parameters()}
        n = sum(p.numel() for p in parameters.values())
        shares[part] = sum(taken.get(i, 0) for i in parameters) / n if n else 1.0
    return ", ".join(f"{part} {share:.1%}" for part, share in shares.items())


def shared_rows(new: Any, old: Any) -> tuple[Tensor, Tensor]:
    """The ids (int64) of the pieces that two SentencePiece models share: in the new model, and in the old model."""
    pieces = [old.id_to_piece(i) for i in range(old.vocab_size())]
    old_ids = {piece: i for i, piece in reversed(list(enumerate(pieces)))}
    shared = [(i, old_ids[piece]) for i in range(new.vocab_size()) if (piece := new.id_to_piece(i)) in old_ids]
    # A converted model has a second <s>: of pieces with one name, each is the one with the same id.
    shared = [(i, i if i < len(pieces) and pieces[i] == pieces[j] else j) for i, j in shared]
    rows = torch.tensor(shared, dtype=torch.int64).view(-1, 2)
    return rows[:, 0], rows[:, 1]


def require_same_model(config: ModelConfig, tokenizer: Tokenizer | None, folder: Path) -> None:
    """Raise ValueError if the new model isn't the one in the folder, besides dropout: an adapter can't be learned for
    weights that are random. `tokenizer`: None if a new one is to be trained."""
    info, _ = read_info(require_model(folder) / "config.json")
    different = ", ".join(f"model.{name}" for name in differences(config, info.model, ()))
    require(not different, f"lora.rank needs the settings of the model in {folder}: {different} must be the same")
    problem = "lora.rank needs the vocabulary of the model that it adapts"
    same = tokenizer is not None and tokenizer.same_as(Tokenizer.load(require_model(folder)))
    require(same, f"{problem}: give tokenizer.folder {folder} too")


def freeze(model: Model, parts: Collection[str]) -> None:
    """Freeze the weights of these parts of the model (see `Model.parts`)."""
    known = model.parts()
    for module in (module for part in parts for module in known[part]):
        module.requires_grad_(False)


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
