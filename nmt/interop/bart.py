"""Encoder–decoders with the layers of BART: weights of theirs in, a model of ours out.

Models of transformers have such layers (`nmt.interop.transformers`). A reader of another toolkit gives the weights the
names that they have there, and says what the settings mean, in a `Checkpoint`; `assemble` does the rest. How text
becomes pieces is in SentencePiece models, which toolkits don't always keep with a model.

Their special pieces have other ids. Rows of embeddings are put into our order: unk, bos (the piece that starts the
decoder), eos, pad, and then the others as they come. A row that would be there twice, as bos if the decoder starts with
eos, can never be written: its bias in the output layer is IMPOSSIBLE.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmt.config import ModelConfig, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.data.tokenizer.languages import Languages
from nmt.data.tokenizer.mapped import mapped_models
from nmt.fields import require
from nmt.interop.foreign import Foreign, sentencepiece_names
from nmt.vocabulary import FIRST_PIECE, SPECIAL_PIECES

LACKING = 16, 10  # pieces of a vocabulary that its SentencePiece model may lack, and one in so many besides
IMPOSSIBLE = -100.0  # e to this power is 0 beside the probabilities of float32; lower would spoil label smoothing
SHARED = ("model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
# Our linear layers and norms of a block, and theirs. Of several, the matrices stand one above another in ours.
LINEAR = {
    "self_attention.qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attention.out": ("self_attn.out_proj",),
    "cross_attention.q": ("encoder_attn.q_proj",),
    "cross_attention.kv": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross_attention.out": ("encoder_attn.out_proj",),
    "feed_forward.up": ("fc1",),
    "feed_forward.down": ("fc2",),
}
NORMS = {
    "around_self.norm": ("self_attn_layer_norm",),
    "around_cross.norm": ("encoder_attn_layer_norm",),
    "around_feed_forward.norm": ("final_layer_norm",),
}
Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Converted:
    """A model in our terms."""

    config: ModelConfig
    weights: Tensors
    tokenizer: Tokenizer
    search: SearchConfig


@dataclass(frozen=True)
class Vocabulary:
    """Another vocabulary in our order."""

    rows: tuple[int, ...]
    """For each of our ids, the row there; -1: there is none."""
    pieces: list[str]
    """The piece of each of our ids."""

    @classmethod
    def of(cls, names: list[str], unk: int, start: int, eos: int, pad: int) -> "Vocabulary":
        """`names`: the pieces by their ids there; `start`: the id that the decoder starts with, which may be that of
        eos or pad. -1: there is no such piece."""
        special = [unk, start, eos, -1 if pad in (unk, start, eos) else pad]
        others = [i for i in range(len(names)) if i not in special]
        return cls((*special, *others), [*SPECIAL_PIECES, *(names[i] for i in others)])

    def take(self, matrix: Tensor) -> Tensor:
        """The rows of a matrix in our order, with zeros where there is none."""
        rows, most = torch.tensor(self.rows), max(self.rows) + 1
        problem = f"the vocabulary has {most:,} pieces, and the embeddings {matrix.size(0):,} rows"
        require(matrix.size(0) == most, problem)
        return matrix.float()[rows.clamp(min=0)].masked_fill((rows < 0)[:, None], 0.0)

    def bias(self, bias_V: Tensor | None) -> Tensor:
        """The bias of our output layer. A special piece without a row, or with that of a later one, is IMPOSSIBLE."""
        rows = torch.tensor(self.rows).clamp(min=0)
        ours = torch.zeros(len(self.rows)) if bias_V is None else bias_V.float().flatten()[rows]
        for i, row in enumerate(self.rows[:FIRST_PIECE]):
            if row < 0 or row in self.rows[i + 1 : FIRST_PIECE]:
                ours[i] = IMPOSSIBLE
        return ours


def take(tensors: Tensors, name: str) -> Tensor:
    """A weight, which is removed from those that are left."""
    require(name in tensors, f"the weights have no {name}")
    return tensors.pop(name).float()


def linear(tensors: Tensors, ours: str, theirs: Sequence[str], *, bias: bool) -> Tensors:
    """A linear layer, or a norm; of several, which stand one above another, one layer."""
    parts = ("weight", "bias") if bias else ("weight",)
    return {f"{ours}.{part}": torch.cat([take(tensors, f"{name}.{part}") for name in theirs]) for part in parts}


def build(
    foreign: Foreign,
    config: ModelConfig,
    tensors: Mapping[str, Tensor],
    vocabularies: tuple[Vocabulary, Vocabulary],
    tokenizer: Tokenizer,
    search: SearchConfig,
) -> Converted:
    """The model with these weights, which have the names of BART. `config`: ours, where the way in which embeddings are
    tied is not yet known. ValueError if weights are missing, or nobody reads them."""
    left = {**tensors}
    config, ours = embeddings(left, config, *vocabularies)
    norm_bias = config.bias and config.norm == "layer"
    sides = ("encoder", "src", config.encoder_layers), ("decoder", "tgt", config.decoder_layers)
    for side, prefix, depth in sides:
        if config.norm_position == "pre":
            ours |= linear(left, f"{side}_norm", [f"model.{side}.layer_norm"], bias=norm_bias)
        for layer, (part, theirs) in product(range(depth), (LINEAR | NORMS).items()):
            if side == "decoder" or "cross" not in part:
                names = [f"model.{side}.layers.{layer}.{name}" for name in theirs]
                ours |= linear(left, f"{side}.{layer}.{part}", names, bias=norm_bias if part in NORMS else config.bias)
        name = f"model.{side}.embed_positions.weight"
        if config.positions == "learned":
            ours[f"{prefix}_positions.table"] = take(left, name).flatten(1)
        for computed in (name, f"{name}s"):
            left.pop(computed, None)
        if config.embedding_norm:
            ours |= linear(left, f"{prefix}_positions.norm", [f"model.{side}.layernorm_embedding"], bias=True)
    unread = ", ".join(sorted(left))
    require(not unread, f"{foreign.origin} has weights that such a model doesn't have: {unread}")
    return Converted(config, ours, tokenizer, search)


def embeddings(
    left: Tensors, config: ModelConfig, source: Vocabulary, target: Vocabulary
) -> tuple[ModelConfig, Tensors]:
    """The embeddings and the output layer, by our names, and the settings with the way in which they are tied."""
    shared, src, tgt = (left.pop(name, None) for name in SHARED)
    out, bias_V = left.pop("lm_head.weight", None), left.pop("final_logits_bias", None)
    src, tgt = (shared if src is None else src), (shared if tgt is None else tgt)
    if src is None or tgt is None:
        raise ValueError(f"the weights have no embeddings: none of {', '.join(SHARED)}")
    out = tgt if out is None else out
    ours = {"tgt_embedding.weight": target.take(tgt)}
    ours |= {"output.bias": target.bias(bias_V)} if config.output_bias else {}
    tied = torch.equal(tgt, out)
    if tied and source.rows == target.rows and torch.equal(src, tgt):
        return replace(config, tied_embeddings="three-way"), ours
    ours["src_embedding.weight"] = source.take(src)
    if tied:
        return replace(config, tied_embeddings="decoder"), ours
    return replace(config, tied_embeddings="none"), ours | {"output.weight": target.take(out)}


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
    models = mapped_models(protos(foreign, found, given), (source.pieces, target.pieces), Languages())
    search = SearchConfig(allow_unk=True)
    converted = build(foreign, config, tensors, (source, target), Tokenizer(*models), search)
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
        if len(lacking) > LACKING[0] + len(names) // LACKING[1]:
            example = f"it lacks {len(lacking):,} of {len(names):,} pieces, such as {lacking[0]!r}"
            reason = "Vocabularies of subword-nmt, or of pyonmttok with joiners, can't be converted"
            raise ValueError(f"{path} isn't the SentencePiece model of {foreign.origin}: {example}. {reason}")
    return paths[0].read_bytes(), paths[-1].read_bytes()
