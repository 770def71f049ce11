"""Checkpoints of other toolkits: a file or a folder of Eole, OpenNMT-py, JoeyNMT or Sockeye flows in; a model of ours
flows out.

A reader gives the weights the names that BART's layers have (see `nmt.interop.bart`), and says what the settings mean;
this file does the rest. Vocabularies are lists of pieces. How text becomes pieces is in SentencePiece models, which
these toolkits don't always keep with a model.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmt.config import ModelConfig, SearchConfig
from nmt.data.tokenizer.languages import Languages
from nmt.fields import require
from nmt.interop.bart import SHARED, Converted, Vocabulary, build
from nmt.interop.foreign import Foreign, sentencepiece_names

LACKING = 16, 10  # pieces of a vocabulary that its SentencePiece model may lack, and one in so many besides
Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Checkpoint:
    """A model of another toolkit. Its weights have the names of BART's layers; the up-projection beside a gate, which
    BART lacks, is fc3."""

    config: ModelConfig
    """Ours, where the way in which embeddings are tied, and biases, are not yet known."""
    tensors: Tensors
    files: list[Path]
    """The files with the weights."""
    vocabularies: Sequence[list[str]]
    """The pieces of sources and of targets by their ids."""
    special: Sequence[str] = ("<unk>", "<s>", "</s>", "<pad>")
    """The names of unk, bos, eos and pad."""
    alternating: bool = False
    """Whether sines and cosines take turns in the columns of positions. Ours have first the sines."""
    pairs: bool = False
    """Whether rotary positions rotate neighbours in a head. Ours rotate halves."""
    models: Sequence[Any] = ()
    """The SentencePiece models of sources and targets, as the settings name them; empty or None: they don't."""


def pick(path: Path, usual: str, pattern: str) -> Path:
    """The file with the weights: a path, or in a folder the usual one, or else the only one."""
    if path.is_file():
        return path
    found = [path / usual] if (path / usual).is_file() else sorted(path.glob(pattern))
    require(len(found) == 1, f"{path} has {len(found)} files {pattern}: name the file of the checkpoint")
    return found[0]


def flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Settings in sections, by dotted names."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        result |= flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return result


def renamed(tensors: Mapping[str, Tensor], table: Sequence[tuple[str, str]]) -> Tensors:
    """The weights in float32, after all replacements of a table in their names; those without a name are left out."""
    result: Tensors = {}
    for old, tensor in tensors.items():
        name = old
        for pattern, replacement in table:
            name = re.sub(pattern, replacement, name)
        result |= {name: tensor.float()} if name else {}
    return result


def assemble(foreign: Foreign, found: Checkpoint, given: Sequence[str]) -> Converted:
    """The model in our terms. `given`: the SentencePiece models that the user named."""
    foreign.require_fitting()
    tensors = {name: tensor for name, tensor in found.tensors.items() if ".fc3." not in name}
    for name in found.tensors.keys() - tensors.keys():  # a gate (fc1) and the layer beside it are one matrix of ours
        gate = name.replace(".fc3.", ".fc1.")
        tensors[gate] = torch.cat([tensors[gate], found.tensors[name]])
    tensors.setdefault(SHARED[2], tensors[SHARED[1]])
    has_bias = any(".layers." in name and name.endswith(".bias") for name in tensors)
    if has_bias:  # models of ours have biases in all layers, or in none: zeros where there is none
        linear = {name: tensor for name, tensor in tensors.items() if ".layers." in name and tensor.dim() == 2}
        zeros = {f"{name.removesuffix('weight')}bias": torch.zeros(len(tensor)) for name, tensor in linear.items()}
        tensors = zeros | tensors
    if found.pairs:
        is_rotated = re.compile(r"\.self_attn\.[qk]_proj\.").search
        tensors = {n: in_halves(t, found.config.d_head) if is_rotated(n) else t for n, t in tensors.items()}
    for names in found.vocabularies:
        lacking = [piece for piece in found.special if piece not in names]
        require(not lacking, f"a vocabulary of {foreign.origin} has no {', '.join(lacking)}")
    source, target = (Vocabulary.of(names, *map(names.index, found.special)) for names in found.vocabularies)
    config = replace(found.config, bias=has_bias, output_bias="final_logits_bias" in tensors)
    search, models = SearchConfig(allow_unk=True), protos(foreign, found, given)
    converted = build(foreign, config, tensors, (source, target), models, Languages(), search)
    if not found.alternating:
        return converted
    weights = {name: sines_first(name, tensor, config.d_model) for name, tensor in converted.weights.items()}
    return replace(converted, weights=weights)


def in_halves(tensor: Tensor, width: int) -> Tensor:
    """The rows of queries or keys, with those of each head in the order 0, 2, 4 … 1, 3, 5 …"""
    return tensor.unflatten(0, (-1, width // 2, 2)).transpose(1, 2).flatten(0, 2)


def sines_first(name: str, tensor: Tensor, width: int) -> Tensor:
    """A weight of ours for states whose columns have the order 0, 2, 4 … 1, 3, 5 …"""
    order = torch.cat([torch.arange(0, width, 2), torch.arange(1, width, 2)])
    layer, part = name.split(".")[-2:]
    if layer in ("out", "down") or layer.endswith("norm"):  # these write states
        return tensor[order]
    return tensor[:, order] if part == "weight" else tensor


def protos(foreign: Foreign, found: Checkpoint, given: Sequence[str]) -> tuple[bytes, bytes]:
    """The SentencePiece models of sources and targets: those that the user named, or that the settings name, or the
    only one in the folder. ValueError if there are none, or they don't fit to the vocabularies."""
    named = [foreign.folder / Path(str(name)).name for name in found.models if name]
    paths = [*map(Path, given)] or [path for path in named if path.is_file()]
    paths = paths or sorted(foreign.folder.glob("*.model"))
    advice = "give --tokenizer FILE, or twice, for sources and for targets"
    problem = f"{foreign.origin} needs the SentencePiece model that it was trained with, and {len(paths)} were found"
    require(len(paths) in (1, 2), f"{problem}: {advice}")
    for path, names in zip((paths[0], paths[-1]), found.vocabularies, strict=True):
        require(path.is_file(), f"{path} is missing: {advice}")
        known = {*sentencepiece_names(path), *found.special}
        lacking = [name for name in names if name not in known]
        lacks = f"it lacks {len(lacking):,} of {len(names):,}"
        message = f"{path} isn't the SentencePiece model of {foreign.origin}: {lacks}"
        reason = "Vocabularies of subword-nmt, or of pyonmttok with joiners, can't be converted"
        example = f"pieces, such as {lacking[0]!r}. {reason}" if lacking else ""
        require(len(lacking) <= LACKING[0] + len(names) // LACKING[1], f"{message} {example}")
    return paths[0].read_bytes(), paths[-1].read_bytes()
