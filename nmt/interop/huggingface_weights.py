"""Weights by the names that classes of transformers give them: a model flows in, tensors by name flow out.

Layers that share a block are written each for itself. Missing biases are written as zeros where a class needs them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import cast

import torch
from torch import Tensor

from nmt.config import ModelConfig
from nmt.model.blocks import Block, Stack
from nmt.model.contract import Model
from nmt.model.positions import sinusoids

MOST_POSITIONS = 1024  # of sinusoids, which Marian and Pegasus compute once

Tensors = dict[str, Tensor]
Weights = Callable[[Model], Tensors]


class Parameters:
    """The parameters of a model, whose names start with a prefix."""

    def __init__(self, named: Mapping[str, Tensor], prefix: str = "") -> None:
        self.named, self.prefix = named, prefix

    @classmethod
    def of(cls, model: Model) -> "Parameters":
        return cls({name: p.detach() for name, p in model.named_parameters(remove_duplicate=False)})

    def within(self, prefix: str) -> "Parameters":
        return Parameters(self.named, f"{self.prefix}{prefix}.")

    def get(self, name: str) -> Tensor | None:
        return self.named.get(self.prefix + name)

    def __getitem__(self, name: str) -> Tensor:
        return self.named[self.prefix + name]

    def parts(self, layer: str, names: Mapping[str, int], scale: float = 1.0) -> Iterator[tuple[str, Tensor]]:
        """The matrices of a linear layer that lie one above another: their new names, and the rows of each. Biases come
        if the layer has them. `scale`: divides all of them."""
        for kind in ("weight", "bias"):
            whole = self.get(f"{layer}.{kind}")
            if whole is not None:
                matrices = (whole / scale if scale != 1 else whole).split(list(names.values()))
                yield from ((f"{name}.{kind}", part) for name, part in zip(names, matrices, strict=True))


def stack_of(model: Model, name: str) -> Stack:
    return cast(Stack, model.get_submodule(name))


def heads(config: ModelConfig) -> dict[str, int]:
    """The rows of the query, key and value matrices of self-attention."""
    shared = config.kv_heads * config.d_head
    return {"q_proj": config.d_model, "k_proj": shared, "v_proj": shared}


def bart(model: Model) -> Tensors:
    """Names of Marian and Pegasus, which are those of BART."""
    config, found = model.config, Parameters.of(model)
    tensors: Tensors = {}
    for side in ("encoder", "decoder"):
        stack = stack_of(model, side)
        for layer, number in enumerate(stack.order):
            block = cast(Block, stack[number])
            # DeepNorm's norm(α x + f(x)) is norm(x + f(x) / α): the last matrix of f takes the factor.
            rows = bart_layer(config, found.within(f"{side}.{number}"), block.around_self.alpha)
            tensors |= {f"model.{side}.layers.{layer}.{name}": tensor for name, tensor in rows.items()}
        if config.norm_position == "pre":
            tensors |= with_bias(f"model.{side}.layer_norm", found.within(f"{side}_norm"))
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
        ours = Parameters.of(model)
        tensors |= {"model.shared.weight": ours["tgt_embedding.weight"], "lm_head.weight": ours["output.weight"]}
    return tensors


def with_bias(name: str, found: Parameters) -> Tensors:
    """The weight and the bias of a norm or a linear layer; a missing bias as zeros."""
    weight, bias = found["weight"], found.get("bias")
    return {f"{name}.weight": weight, f"{name}.bias": torch.zeros(len(weight)) if bias is None else bias}


def bart_layer(config: ModelConfig, block: Parameters, alpha: float) -> Tensors:
    width, inner = config.d_model, config.d_ff
    tensors = dict(block.parts("self_attention.qkv", {f"self_attn.{name}": n for name, n in heads(config).items()}))
    tensors |= dict(block.parts("self_attention.out", {"self_attn.out_proj": width}, alpha))
    tensors |= with_bias("self_attn_layer_norm", block.within("around_self.norm"))
    if block.get("cross_attention.q.weight") is not None:
        tensors |= dict(block.parts("cross_attention.q", {"encoder_attn.q_proj": width}))
        tensors |= dict(block.parts("cross_attention.kv", {f"encoder_attn.{n}_proj": width for n in "kv"}))
        tensors |= dict(block.parts("cross_attention.out", {"encoder_attn.out_proj": width}, alpha))
        tensors |= with_bias("encoder_attn_layer_norm", block.within("around_cross.norm"))
    tensors |= dict(block.parts("feed_forward.up", {"fc1": inner}))
    tensors |= dict(block.parts("feed_forward.down", {"fc2": width}, alpha))
    tensors |= with_bias("final_layer_norm", block.within("around_feed_forward.norm"))
    if not config.bias:
        tensors |= {n.replace("weight", "bias"): torch.zeros(len(t)) for n, t in tensors.items() if t.dim() == 2}
    return tensors


def llama(model: Model) -> Tensors:
    """Names of Llama, which Qwen3, Mixtral, DeepSeek-V3 and EuroBERT share where they have the same layers.

    Llama doesn't multiply embeddings: if ours are, the factor is written into them, and the output layer apart.
    """
    config, found, side = model.config, Parameters.of(model), one_stack(model)
    embedding = found["src_embedding.weight" if side == "encoder" else "tgt_embedding.weight"]
    tensors = {"model.embed_tokens.weight": embedding * model.scale, "model.norm.weight": found[f"{side}_norm.weight"]}
    if not is_tied(config):
        tensors["lm_head.weight"] = found["output.weight"]
    for layer, number in enumerate(stack_of(model, side).order):
        rows = llama_layer(config, found.within(f"{side}.{number}"))
        tensors |= {f"model.layers.{layer}.{name}": tensor for name, tensor in rows.items()}
    return tensors


def eurobert(model: Model) -> Tensors:
    """As `llama`; the output layer has a bias if others have."""
    return llama(model) | ({"lm_head.bias": torch.zeros(model.vocab_size)} if model.config.bias else {})


def one_stack(model: Model) -> str:
    """The name of the stack of a model that has one."""
    return "decoder" if "decoder" in dict(model.named_children()) else "encoder"


def is_tied(config: ModelConfig) -> bool:
    """Whether the written output layer is the embedding."""
    return config.tied_embeddings != "none" and not config.scale_embeddings


def llama_layer(config: ModelConfig, block: Parameters) -> Tensors:
    attention, width, inner = block.within("self_attention"), config.d_model, config.d_ff
    is_latent = config.attention == "latent"
    parts = latent_attention(config, attention) if is_latent else attention.parts("qkv", heads(config))
    tensors = {f"self_attn.{name}": tensor for name, tensor in parts}
    tensors |= dict(attention.parts("out", {"self_attn.o_proj": width}))
    if config.qk_norm:
        tensors |= {f"self_attn.{name}_norm.weight": attention[f"{name}_norm.weight"] for name in "qk"}
    if config.experts:
        tensors |= mixtral_experts(config, block.within("feed_forward"))
    else:
        tensors |= dict(block.parts("feed_forward.up", {"mlp.gate_proj": inner, "mlp.up_proj": inner}))
        tensors |= dict(block.parts("feed_forward.down", {"mlp.down_proj": width}))
    tensors["input_layernorm.weight"] = block["around_self.norm.weight"]
    tensors["post_attention_layernorm.weight"] = block["around_feed_forward.norm.weight"]
    return tensors


def mixtral_experts(config: ModelConfig, layer: Parameters) -> Tensors:
    tensors = {"block_sparse_moe.gate.weight": layer["router"]}
    for number, (up, down) in enumerate(zip(layer["up"], layer["down"], strict=True)):
        gate, beside = up.split(config.d_ff)
        parts = {"w1": gate, "w2": down, "w3": beside}
        tensors |= {f"block_sparse_moe.experts.{number}.{name}.weight": part for name, part in parts.items()}
    return tensors


def latent_attention(config: ModelConfig, attention: Parameters) -> Iterator[tuple[str, Tensor]]:
    """DeepSeek's matrices hold the parts of each head together; ours hold each part of all heads together."""
    heads, width = config.n_heads, config.d_head

    def by_head(name: str, first: int) -> Tensor:
        """A matrix (heads × both widths, inputs), of one with `first` rows of the first part of all heads, then the
        other part."""
        parts = attention[name].split([first, len(attention[name]) - first])
        return torch.cat([part.unflatten(0, (heads, -1)) for part in parts], dim=1).flatten(0, 1)

    query = by_head("query.weight", heads * width)
    if config.query_latent_width:
        yield "q_a_proj.weight", attention["query_latent.weight"]
        yield "q_a_layernorm.weight", attention["query_norm.weight"]
        yield "q_b_proj.weight", query
    else:
        yield "q_proj.weight", query
    yield "kv_a_proj_with_mqa.weight", attention["latent.weight"]
    yield "kv_a_layernorm.weight", attention["latent_norm.weight"]
    yield "kv_b_proj.weight", by_head("kv.weight", heads * width)
