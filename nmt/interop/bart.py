"""Encoder–decoders of transformers that have the layers of BART: Marian, M2M-100, NLLB and mBART. Settings and weights
of theirs in, ours out.

Their special pieces have other ids. Rows of embeddings are put into our order: unk, bos (the piece that starts the
decoder), eos, pad, and then the others as they come. A row that would be there twice, as bos if the decoder starts with
eos, can never be written: its bias in the output layer is IMPOSSIBLE.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from nmt.config import ModelConfig, SearchConfig
from nmt.data.tokenizer.mapped import Mapped
from nmt.fields import require
from nmt.interop.foreign import Foreign

IMPOSSIBLE = -100.0  # e to this power is 0 beside the probabilities of float32; lower would spoil label smoothing
ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}
SHARED = ("model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")


@dataclass(frozen=True)
class Converted:
    """A model in our terms."""

    config: ModelConfig
    weights: dict[str, Tensor]
    tokenizer: Mapped
    search: SearchConfig


@dataclass(frozen=True)
class Vocabulary:
    """The rows of another vocabulary in our order."""

    rows: tuple[int, ...]
    """For each of our ids, the row there; -1: there is none."""

    @classmethod
    def of(cls, size: int, unk: int, start: int, eos: int, pad: int) -> "Vocabulary":
        """`start`: the piece that the decoder starts with; it may be eos or pad. -1: there is no such piece."""
        special = [unk, start, eos, -1 if pad in (unk, start, eos) else pad]
        return cls((*special, *(i for i in range(size) if i not in special)))

    def is_double(self, i: int) -> bool:
        """Whether our id has no row, or a row that a later special piece has too."""
        return self.rows[i] < 0 or self.rows[i] in self.rows[i + 1 : 4]

    def take(self, matrix: Tensor) -> Tensor:
        """The rows of a matrix in our order, with zeros where there is none."""
        rows, most = torch.tensor(self.rows), max(self.rows) + 1
        problem = f"the vocabulary has {most:,} pieces, and the embeddings {matrix.size(0):,} rows"
        require(matrix.size(0) == most, problem)
        return matrix.float()[rows.clamp(min=0)].masked_fill((rows < 0)[:, None], 0.0)

    def bias(self, bias_V: Tensor | None) -> Tensor:
        """The bias of our output layer."""
        rows = torch.tensor(self.rows).clamp(min=0)
        ours = torch.zeros(len(self.rows)) if bias_V is None else bias_V.float().flatten()[rows]
        for i in range(4):
            if self.is_double(i):
                ours[i] = IMPOSSIBLE
        return ours

    def pieces(self, names: list[str], special: tuple[str, ...]) -> list[str]:
        """The pieces in our order, of the names by their ids there."""
        return [*special, *(names[row] for row in self.rows[len(special) :])]


def model_settings(foreign: Foreign, **ours: Any) -> ModelConfig:
    """Our settings. `ours`: those that the family of the model always has. What can't be expressed is noted in
    `foreign.problems`."""
    config = foreign.config
    for name in ("attention_heads", "ffn_dim"):
        foreign.expect(f"decoder_{name}", config.get(f"decoder_{name}"), config.get(f"encoder_{name}"))
    activation = config.get("activation_function")
    foreign.expect("activation_function", activation, *ACTIVATIONS)
    foreign.expect("is_encoder_decoder", config.get("is_encoder_decoder", True), True)
    width, heads = foreign.number("d_model"), foreign.number("encoder_attention_heads")
    sizes: dict[str, Any] = {name: foreign.number(name) for name in ("encoder_layers", "decoder_layers")}
    dropout: dict[str, Any] = {
        n: float(config.get(n, 0.0)) for n in ("dropout", "attention_dropout", "activation_dropout")
    }
    d_ff, scale = foreign.number("encoder_ffn_dim"), bool(config.get("scale_embedding", False))
    foreign.require_fitting()
    kind: Any = ACTIVATIONS[str(activation)]
    settings = ModelConfig(d_model=width, n_heads=heads, d_ff=d_ff, activation=kind, scale_embeddings=scale)
    return replace(settings, output_bias=True, **sizes, **dropout, **ours)


def search_settings(foreign: Foreign, unk: int) -> SearchConfig:
    """Our settings of the search, by generation_config.json, or config.json in older folders."""
    given = foreign.config | {name: value for name, value in foreign.generation.items() if value is not None}
    never = [ids[0] for ids in given.get("bad_words_ids") or [] if len(ids) == 1] + (given.get("suppress_tokens") or [])
    return SearchConfig(
        beam_size=given.get("num_beams") or 1,
        length_penalty=max(0.0, float(1.0 if given.get("length_penalty") is None else given["length_penalty"])),
        no_repeat_ngram=given.get("no_repeat_ngram_size") or 0,
        repetition_penalty=float(given.get("repetition_penalty") or 1.0),
        allow_unk=unk not in never,
    )


class Weights:
    """The weights of a folder by their names there. Names that nobody asks for are an error at the end."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.tensors, self.left = tensors, set(tensors)

    def find(self, *names: str) -> Tensor | None:
        """The first of these that there is."""
        self.left -= set(names)
        return next((self.tensors[name] for name in names if name in self.tensors), None)

    def take(self, *names: str) -> Tensor:
        tensor = self.find(*names)
        if tensor is None:
            raise ValueError(f"the weights have no {names[0]}")
        return tensor.float()

    def require_all_read(self, origin: str) -> None:
        names = ", ".join(sorted(self.left))
        require(not self.left, f"{origin} has weights that such a model doesn't have: {names}")

    def linear(self, ours: str, *theirs: str, bias: bool = True) -> dict[str, Tensor]:
        """A linear layer, or a norm; of several, which stand one above another, one layer."""
        parts = ("weight", "bias") if bias else ("weight",)
        return {f"{ours}.{part}": torch.cat([self.take(f"{name}.{part}") for name in theirs]) for part in parts}


def layers(weights: Weights, config: ModelConfig) -> dict[str, Tensor]:
    """The weights of all layers, by our names."""
    ours: dict[str, Tensor] = {}
    linear = partial(weights.linear, bias=config.bias)
    norm = partial(weights.linear, bias=config.bias and config.norm == "layer")
    for side, depth in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        if config.norm_position == "pre":
            ours |= norm(f"{side}_norm", f"model.{side}.layer_norm")
        for layer in range(depth):
            our, their = f"{side}.{layer}", f"model.{side}.layers.{layer}"
            ours |= linear(f"{our}.self_attention.qkv", *(f"{their}.self_attn.{x}_proj" for x in "qkv"))
            ours |= linear(f"{our}.self_attention.out", f"{their}.self_attn.out_proj")
            ours |= norm(f"{our}.around_self.norm", f"{their}.self_attn_layer_norm")
            if side == "decoder":
                ours |= linear(f"{our}.cross_attention.q", f"{their}.encoder_attn.q_proj")
                ours |= linear(f"{our}.cross_attention.kv", *(f"{their}.encoder_attn.{x}_proj" for x in "kv"))
                ours |= linear(f"{our}.cross_attention.out", f"{their}.encoder_attn.out_proj")
                ours |= norm(f"{our}.around_cross.norm", f"{their}.encoder_attn_layer_norm")
            ours |= linear(f"{our}.feed_forward.up", f"{their}.fc1")
            ours |= linear(f"{our}.feed_forward.down", f"{their}.fc2")
            ours |= norm(f"{our}.around_feed_forward.norm", f"{their}.final_layer_norm")
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
    ours = {"tgt_embedding.weight": target.take(tgt), "output.bias": target.bias(bias_V)}
    tied = torch.equal(tgt, out)
    if tied and source.rows == target.rows and torch.equal(src, tgt):
        return replace(config, tied_embeddings="three-way"), ours
    ours["src_embedding.weight"] = source.take(src)
    if tied:
        return replace(config, tied_embeddings="decoder"), ours
    return replace(config, tied_embeddings="none"), ours | {"output.weight": target.take(out)}
