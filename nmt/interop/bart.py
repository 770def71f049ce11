"""Encoder–decoders with the layers of BART, which all models that we convert are or are renamed to. Weights of theirs
in, ours out.

Their special pieces have other ids. Rows of embeddings are put into our order: unk, bos (the piece that starts the
decoder), eos, pad, and then the others as they come. A row that would be there twice, as bos if the decoder starts with
eos, can never be written: its bias in the output layer is IMPOSSIBLE.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import torch
from torch import Tensor

from nmt.config import ModelConfig, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.data.tokenizer.languages import Languages
from nmt.data.tokenizer.mapped import mapped_models
from nmt.fields import require
from nmt.interop.foreign import Foreign
from nmt.vocabulary import FIRST_PIECE, SPECIAL_PIECES

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


@dataclass(frozen=True)
class Converted:
    """A model in our terms."""

    config: ModelConfig
    weights: dict[str, Tensor]
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


class Weights:
    """The weights of a folder by their names there."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.tensors = tensors
        self.left = set(tensors)
        """The names that nobody has asked for."""

    def find(self, *names: str) -> Tensor | None:
        """The first of these that there is."""
        self.left -= set(names)
        return next((self.tensors[name] for name in names if name in self.tensors), None)

    def take(self, name: str) -> Tensor:
        tensor = self.find(name)
        if tensor is None:
            raise ValueError(f"the weights have no {name}")
        return tensor.float()

    def linear(self, ours: str, *theirs: str, bias: bool = True) -> dict[str, Tensor]:
        """A linear layer, or a norm; of several, which stand one above another, one layer."""
        parts = ("weight", "bias") if bias else ("weight",)
        return {f"{ours}.{part}": torch.cat([self.take(f"{name}.{part}") for name in theirs]) for part in parts}


def build(
    foreign: Foreign,
    config: ModelConfig,
    tensors: Mapping[str, Tensor],
    vocabularies: tuple[Vocabulary, Vocabulary],
    protos: tuple[bytes, bytes],
    languages: Languages,
    search: SearchConfig,
) -> Converted:
    """The model with these weights, which have the names of BART. `config`: ours, where the way in which embeddings are
    tied is not yet known; `protos`: the SentencePiece models of both sides. ValueError if weights are missing, or
    nobody reads them."""
    weights = Weights(tensors)
    config, ours = embeddings(weights, config, *vocabularies)
    ours |= layers(weights, config)
    for side, prefix in (("encoder", "src"), ("decoder", "tgt")):
        name = f"model.{side}.embed_positions.weight"
        if config.positions == "learned":
            ours[f"{prefix}_positions.table"] = weights.take(name).flatten(1)
        weights.find(name, f"{name}s")  # other positions are computed
        if config.embedding_norm:
            ours |= weights.linear(f"{prefix}_positions.norm", f"model.{side}.layernorm_embedding")
    unread = ", ".join(sorted(weights.left))
    require(not unread, f"{foreign.origin} has weights that such a model doesn't have: {unread}")
    source, target = vocabularies
    tokenizer = Tokenizer(*mapped_models(protos, (source.pieces, target.pieces), languages))
    return Converted(config, ours, tokenizer, search)


def layers(weights: Weights, config: ModelConfig) -> dict[str, Tensor]:
    """The weights of all layers, by our names."""
    ours: dict[str, Tensor] = {}
    linear = partial(weights.linear, bias=config.bias)
    norm = partial(weights.linear, bias=config.bias and config.norm == "layer")
    for side, depth in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        if config.norm_position == "pre":
            ours |= norm(f"{side}_norm", f"model.{side}.layer_norm")
        for layer, (name, parts) in product(range(depth), (LINEAR | NORMS).items()):
            if side == "decoder" or "cross" not in name:
                take = norm if name in NORMS else linear
                ours |= take(f"{side}.{layer}.{name}", *(f"model.{side}.layers.{layer}.{part}" for part in parts))
    return ours


def embeddings(
    weights: Weights, config: ModelConfig, source: Vocabulary, target: Vocabulary
) -> tuple[ModelConfig, dict[str, Tensor]]:
    """The embeddings and the output layer, by our names, and the settings with the way in which they are tied."""
    shared, src, tgt = (weights.find(name) for name in SHARED)
    out, bias_V = weights.find("lm_head.weight"), weights.find("final_logits_bias")
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
