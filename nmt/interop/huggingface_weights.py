"""Weights by the names that classes of transformers give them: a model flows in, tensors by name flow out.

Layers that share a block are written each for itself. Missing biases are written as zeros where a class needs them.
"""

from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor

from nmt.config import ModelConfig
from nmt.interop.bart import LINEAR, NORMS
from nmt.model.blocks import Stack
from nmt.model.contract import Model
from nmt.model.positions import sinusoids

MOST_POSITIONS = 1024  # of sinusoids, which Marian and Pegasus compute once

Tensors = dict[str, Tensor]
Weights = Callable[[Model], Tensors]


def weights_of(model: Model) -> Tensors:
    """The parameters by our names; those that are shared by each of theirs."""
    return {name: parameter.detach() for name, parameter in model.named_parameters(remove_duplicate=False)}


def within(tensors: Tensors, prefix: str) -> Tensors:
    """The tensors of a part of the model, by their names in it."""
    start = f"{prefix}."
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}


def split(tensors: Tensors, layer: str, names: Sequence[str], rows: list[int] | None = None) -> Tensors:
    """The matrices that lie one above another in a linear layer, or a norm, by their new names. Biases come if the
    layer has them. `rows`: those of each matrix; None: all have equally many."""
    found: Tensors = {}
    for kind in ("weight", "bias"):
        whole = tensors.get(f"{layer}.{kind}")
        if whole is not None:
            parts = whole.split(rows or len(whole) // len(names))
            found |= {f"{name}.{kind}": part for name, part in zip(names, parts, strict=True)}
    return found


def bart(model: Model) -> Tensors:
    """Names of Marian and Pegasus, which are those of BART."""
    config, found = model.config, weights_of(model)
    tensors: Tensors = {}
    for side in ("encoder", "decoder"):
        stack = cast(Stack, model.get_submodule(side))
        for layer, number in enumerate(stack.order):
            block = within(found, f"{side}.{number}")
            for ours, theirs in (LINEAR | NORMS).items():
                tensors |= split(block, ours, [f"model.{side}.layers.{layer}.{name}" for name in theirs])
        if config.norm_position == "pre":
            tensors |= split(found, f"{side}_norm", [f"model.{side}.layer_norm"])
    tensors = {name.replace("weight", "bias"): torch.zeros(len(tensor)) for name, tensor in tensors.items()} | tensors
    if config.output_bias:
        tensors["final_logits_bias"] = found["output.bias"][None]
    if config.tied_embeddings == "three-way":
        return tensors | {"model.shared.weight": found["tgt_embedding.weight"]}
    tensors["model.encoder.embed_tokens.weight"] = found["src_embedding.weight"]
    tensors["model.decoder.embed_tokens.weight"] = found["tgt_embedding.weight"]
    return tensors | ({"lm_head.weight": found["output.weight"]} if config.tied_embeddings == "none" else {})


def pegasus(model: Model) -> Tensors:
    """As `bart`, with the tables of positions, without which it warns. Pegasus ties all embeddings or none: then it
    needs a shared one too, which it doesn't use."""
    tensors, config = bart(model), model.config
    table = sinusoids(MOST_POSITIONS, config.d_model)
    tensors |= {f"model.{side}.embed_positions.weight": table for side in ("encoder", "decoder")}
    if config.tied_embeddings != "three-way":
        ours = weights_of(model)
        tensors |= {"model.shared.weight": ours["tgt_embedding.weight"], "lm_head.weight": ours["output.weight"]}
    return tensors


def llama(model: Model) -> Tensors:
    """Names of Llama, which Qwen3 shares where it has the same layers.

    Llama doesn't multiply embeddings: if ours are, the factor is written into them, and the output layer apart.
    """
    config, found = model.config, weights_of(model)
    tensors = {"model.embed_tokens.weight": found["tgt_embedding.weight"] * model.scale}
    tensors["model.norm.weight"] = found["decoder_norm.weight"]
    if not is_tied(config):
        tensors["lm_head.weight"] = found["output.weight"]
    for layer, number in enumerate(cast(Stack, model.get_submodule("decoder")).order):
        rows = llama_layer(config, within(found, f"decoder.{number}"))
        tensors |= {f"model.layers.{layer}.{name}": tensor for name, tensor in rows.items()}
    return tensors


def is_tied(config: ModelConfig) -> bool:
    """Whether the written output layer is the embedding."""
    return config.tied_embeddings != "none" and not config.scale_embeddings


def llama_layer(config: ModelConfig, block: Tensors) -> Tensors:
    attention, shared = within(block, "self_attention"), config.kv_heads * config.d_head
    parts = split(attention, "qkv", ("q_proj", "k_proj", "v_proj"), rows=[config.d_model, shared, shared])
    parts |= split(attention, "out", ("o_proj",))
    if config.qk_norm:
        parts |= {f"{name}_norm.weight": attention[f"{name}_norm.weight"] for name in "qk"}
    tensors = {f"self_attn.{name}": tensor for name, tensor in parts.items()}
    tensors |= split(block, "feed_forward.up", ("mlp.gate_proj", "mlp.up_proj"))
    tensors |= split(block, "feed_forward.down", ("mlp.down_proj",))
    tensors["input_layernorm.weight"] = block["around_self.norm.weight"]
    tensors["post_attention_layernorm.weight"] = block["around_feed_forward.norm.weight"]
    return tensors
