"""Training that starts from a trained model: its weights taken over, piece by piece, and parts of them held still."""

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nmt.config import ModelConfig
from nmt.data.tokenizer import Tokenizer
from nmt.model.encoder_decoder import Transformer
from nmt.translation.model_folder import load_model


def start_from(model: Transformer, tokenizer: Tokenizer, folder: Path) -> str:
    """Copy a model folder's weights into a new model; rows of embeddings go by their pieces.

    A piece that the old vocabulary lacks keeps the new model's first value.

    Returns:
        A sentence for the user: how much of the vocabulary was found.

    Raises:
        ValueError: the folder is no model folder, or the two models differ in more than dropout.
    """
    old_model, old_tokenizer, info = load_model(folder)
    require_same_model(model.config, info.model, folder)
    source, target = (
        shared_rows(tokenizer.source, old_tokenizer.source),
        shared_rows(tokenizer.target, old_tokenizer.target),
    )
    vocabularies = {"src_embedding.weight": source, "tgt_embedding.weight": target, "output.weight": target}
    old = dict(old_model.named_parameters())
    found = total = 0
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in vocabularies:
                here, there = vocabularies[name]
                parameter[here] = old[name][there].to(parameter.device)
                found, total = found + len(here), total + len(parameter)
            else:
                parameter.copy_(old[name])
    return f"Starting from the weights in {folder}; {found:,} of {total:,} rows of embeddings are its own."


def require_same_model(config: ModelConfig, old: ModelConfig, folder: Path) -> None:
    here, there = asdict(config), asdict(old)
    different = [
        f"model.{name} is {here[name]!r}, there {there[name]!r}"
        for name in here
        if here[name] != there[name] and "dropout" not in name
    ]
    if different:
        raise ValueError(f"the model in {folder} is another than the settings': {'; '.join(different)}")


def shared_rows(new: Any, old: Any) -> tuple[Tensor, Tensor]:
    """The ids (int64) of the pieces that two SentencePiece models share: in the new one, and in the old one."""
    old_ids = {old.id_to_piece(i): i for i in range(old.vocab_size())}
    shared = [(i, old_ids[piece]) for i in range(new.vocab_size()) if (piece := new.id_to_piece(i)) in old_ids]
    rows = torch.tensor(shared, dtype=torch.int64).view(-1, 2)
    return rows[:, 0], rows[:, 1]


def freeze(model: Transformer, parts: Collection[str]) -> None:
    """Hold the weights of `embeddings` (with the output layer and learned positions), `encoder` or `decoder` still."""
    modules: dict[str, list[nn.Module]] = {
        "embeddings": [
            model.src_embedding,
            model.tgt_embedding,
            model.output,
            model.src_positions,
            model.tgt_positions,
        ],
        "encoder": [model.encoder, model.encoder_norm],
        "decoder": [model.decoder, model.decoder_norm],
    }
    for part in parts:
        for module in modules[part]:
            module.requires_grad_(False)
