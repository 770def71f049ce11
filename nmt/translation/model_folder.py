"""The model folder: a translator on disk, whole and movable. JSON and safetensors, nothing that runs when it is read.

config.json (settings, languages, vocabulary sizes), model.safetensors, shortlist.safetensors (perhaps), the
SentencePiece model(s), README.md (the model card), and SHA256SUMS.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch
from torch import Tensor

from nmt import __version__
from nmt.config import ModelConfig, SearchConfig, from_json, require
from nmt.data.tokenizer import Tokenizer
from nmt.decode.shortlist import Shortlist
from nmt.files import SUMS, check_sums, whole_folder
from nmt.model.encoder_decoder import Transformer
from nmt.model.weights import read_tensors, set_weights, write_tensors

SHORTLIST = "shortlist.safetensors"


@dataclass(frozen=True)
class ModelInfo:
    """What a model folder's config.json says besides the sizes of the vocabularies."""

    source: str
    target: str
    corpus: str
    model: ModelConfig
    decoding: SearchConfig
    version: str = __version__


def save_model(
    folder: Path,
    weights: Mapping[str, Tensor],
    tokenizer: Tokenizer,
    info: ModelInfo,
    card: str,
    shortlist: Shortlist | None = None,
) -> None:
    """Write a model folder, whole or not at all; OSError if the disk is full or may not be written to."""
    sizes = {"src_vocab_size": tokenizer.src_vocab_size, "tgt_vocab_size": tokenizer.tgt_vocab_size}
    config = json.dumps({**asdict(info), **sizes}, indent=2, ensure_ascii=False)
    with whole_folder(folder) as draft:
        (draft / "config.json").write_text(config + "\n", encoding="utf8")
        write_tensors(draft / "model.safetensors", {name: tensor.float() for name, tensor in weights.items()})
        if shortlist:
            write_tensors(draft / SHORTLIST, asdict(shortlist))
        tokenizer.save(draft)
        (draft / "README.md").write_text(card, encoding="utf8")


def load_model(folder: Path, device: str | torch.device = "cpu") -> tuple[Transformer, Tokenizer, ModelInfo]:
    """Check and load a model folder, in evaluation mode.

    Raises:
        ValueError: it is not a model folder, or a file is missing, altered or of an unknown shape.
    """
    if not (folder / SUMS).is_file():
        hint = " (its training has not finished)" if (folder / "checkpoints").is_dir() else ""
        raise ValueError(f"{folder} is not a model folder: it has no {SUMS}{hint}")
    check_sums(folder, "config.json", "model.safetensors")
    tokenizer = Tokenizer.load(folder)
    sizes = {"src_vocab_size": tokenizer.src_vocab_size, "tgt_vocab_size": tokenizer.tgt_vocab_size}
    try:
        raw = json.loads((folder / "config.json").read_text(encoding="utf8"))
        settings = {"model": from_json(ModelConfig, raw["model"]), "decoding": from_json(SearchConfig, raw["decoding"])}
        info = from_json(ModelInfo, {f.name: raw[f.name] for f in fields(ModelInfo)} | settings)
        for name, size in sizes.items():
            require(raw[name] == size, f"{name} is {raw[name]}, and the tokenizer has {size} pieces")
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{folder / 'config.json'} is not one that nmt {__version__} knows: {error}") from error
    model = Transformer(info.model, **sizes)
    set_weights(model, read_tensors(folder / "model.safetensors"), folder)
    require(
        all(bool(weight.isfinite().all()) for weight in model.parameters()),
        f"the weights in {folder} are not all numbers: they are damaged, or training diverged",
    )
    return model.to(device).eval(), tokenizer, info


def load_shortlist(folder: Path, tokenizer: Tokenizer) -> Shortlist | None:
    """That of a model folder, if it has one. Raises ValueError if it is damaged."""
    if not (folder / SHORTLIST).is_file():
        return None
    tensors = read_tensors(folder / SHORTLIST)
    dims = {f.name: dim for f, dim in zip(fields(Shortlist), (2, 1), strict=True)}
    good = {name: tensor.dim() for name, tensor in tensors.items()} == dims and all(
        tensor.dtype == torch.int32 and tensor.numel() and tensor.min() >= 0 and tensor.max() < tokenizer.tgt_vocab_size
        for tensor in tensors.values()
    )
    require(
        good and len(tensors["candidates_UC"]) == tokenizer.src_vocab_size,
        f"{folder / SHORTLIST} doesn't fit the model: it is damaged, or another model's",
    )
    return Shortlist(**tensors)
