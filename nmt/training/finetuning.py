"""Fine-tuning: a new model starts from the weights of a trained model; parts of it may be frozen."""

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmt.data.tokenizer import Tokenizer
from nmt.fields import require
from nmt.model.contract import Model
from nmt.translation.model_folder import load_model


def start_from(model: Model, tokenizer: Tokenizer, folder: Path) -> str:
    """Copy the weights of a model folder into a new model; return a message for the user.

    Rows of embeddings are copied by piece: a piece that the old vocabulary lacks keeps its random embedding.

    Raises:
        ValueError: the folder is not a model folder, or the settings of the models differ in more than dropout.
    """
    old_model, old_tokenizer, info = load_model(folder)
    settings, old_settings = asdict(model.config), asdict(info.model)
    names = [name for name in settings if settings[name] != old_settings[name] and "dropout" not in name]
    different = "; ".join(f"model.{name} is {settings[name]!r}, there {old_settings[name]!r}" for name in names)
    require(not names, f"the model in {folder} was trained with other settings, use these: {different}")
    vocabularies, old = model.vocabularies(), dict(old_model.named_parameters())
    source_rows = shared_rows(tokenizer.source, old_tokenizer.source)
    target_rows = shared_rows(tokenizer.target, old_tokenizer.target)
    copied = total = 0
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in vocabularies:
                new_rows, old_rows = source_rows if vocabularies[name] == "source" else target_rows
                parameter[new_rows] = old[name][old_rows].to(parameter.device)
                copied, total = copied + len(new_rows), total + len(parameter)
            else:
                parameter.copy_(old[name])
    return f"Starting from the weights in {folder}; {copied:,} of {total:,} rows of embeddings are copied."


def shared_rows(new: Any, old: Any) -> tuple[Tensor, Tensor]:
    """The ids (int64) of the pieces that two SentencePiece models share: in the new model, and in the old model."""
    old_ids = {old.id_to_piece(i): i for i in range(old.vocab_size())}
    shared = [(i, old_ids[piece]) for i in range(new.vocab_size()) if (piece := new.id_to_piece(i)) in old_ids]
    rows = torch.tensor(shared, dtype=torch.int64).view(-1, 2)
    return rows[:, 0], rows[:, 1]


def freeze(model: Model, parts: Collection[str]) -> None:
    """Freeze the weights of these parts of the model (see `Model.parts`)."""
    own = model.parts()
    missing = [part for part in parts if part not in own]
    require(not missing, f"training.freeze names {', '.join(missing)}: this model has {' and '.join(own)}")
    require(set(parts) < set(own), "training.freeze names all parts of the model: nothing is left to learn")
    for module in (module for part in parts for module in own[part]):
        module.requires_grad_(False)
