"""The model folder: a translator on disk, whole and movable. JSON and safetensors, nothing that runs when it is read.

config.json (settings, languages, vocabulary sizes), model.safetensors, the SentencePiece model(s), README.md (the model
card), and SHA256SUMS, which `sha256sum -c` checks too.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from nmt import __version__
from nmt.config import DecodingConfig, ModelConfig
from nmt.data.tokenizer import Tokenizer
from nmt.model.transformer import Transformer

SUMS = "SHA256SUMS"


@dataclass(frozen=True)
class ModelInfo:
    """What a model folder's config.json says besides the sizes of the vocabularies."""

    source: str
    target: str
    corpus: str
    model: ModelConfig
    decoding: DecodingConfig
    version: str = __version__


def save_model(folder: Path, weights: Mapping[str, Tensor], tokenizer: Tokenizer, info: ModelInfo, card: str) -> None:
    """Write a model folder; SHA256SUMS comes last, so that an interrupted one is recognised as such."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SUMS).unlink(missing_ok=True)
    sizes = {"src_vocab_size": tokenizer.src_vocab_size, "tgt_vocab_size": tokenizer.tgt_vocab_size}
    config = json.dumps({**asdict(info), **sizes}, indent=2, ensure_ascii=False)
    (folder / "config.json").write_text(config + "\n", encoding="utf8")
    save_file({name: tensor.float().contiguous() for name, tensor in weights.items()}, folder / "model.safetensors")
    tokenizer.save(folder)
    (folder / "README.md").write_text(card, encoding="utf8")
    names = sorted(p.name for p in folder.iterdir() if p.is_file())
    (folder / SUMS).write_text("".join(f"{sha256(folder / n)}  {n}\n" for n in names), encoding="utf8")


def load_model(folder: Path, device: str | torch.device = "cpu") -> tuple[Transformer, Tokenizer, ModelInfo]:
    """Check and load a model folder, in evaluation mode.

    Raises:
        ValueError: it is not a model folder, or a file is missing, altered or of an unknown shape.
    """
    check_sums(folder)
    raw = json.loads((folder / "config.json").read_text(encoding="utf8"))
    try:
        info = ModelInfo(**{f.name: raw[f.name] for f in fields(ModelInfo)}
                         | {"model": ModelConfig(**raw["model"]), "decoding": DecodingConfig(**raw["decoding"])})
        model = Transformer(info.model, raw["src_vocab_size"], raw["tgt_vocab_size"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{folder / 'config.json'} is not one that nmt {__version__} knows: {error}") from error
    set_weights(model, load_file(folder / "model.safetensors"), folder)
    return model.to(device).eval(), Tokenizer.load(folder), info


def set_weights(model: nn.Module, tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Copy weights by name. Raises ValueError, naming one that differs, unless names and shapes are the model's own."""
    own = dict(model.named_parameters())
    wrong = sorted(own.keys() ^ tensors.keys()) or [n for n in own if own[n].shape != tensors[n].shape]
    if wrong:
        raise ValueError(f"the weights in {origin} don't fit the model's settings: see {wrong[0]}")
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(tensors[name])


def check_sums(folder: Path) -> None:
    """Raise ValueError unless every file in SHA256SUMS is there, unaltered."""
    if not (folder / SUMS).is_file():
        hint = " (its training has not finished)" if (folder / "checkpoints").is_dir() else ""
        raise ValueError(f"{folder} is not a model folder: it has no {SUMS}{hint}")
    for line in (folder / SUMS).read_text(encoding="utf8").splitlines():
        digest, _, name = line.partition("  ")
        if not (folder / name).is_file():
            raise ValueError(f"{folder} is incomplete: {name} is missing")
        if sha256(folder / name) != digest:
            raise ValueError(f"{folder / name} is damaged or was altered: its hash is not the one in {SUMS}")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


