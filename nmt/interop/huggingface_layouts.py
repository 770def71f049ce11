"""Classes of transformers that can hold our models: the settings that each needs, its config.json and its weights.

Missing biases are written as zeros where a class needs them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor

from nmt.config import ModelConfig, ObjectiveName
from nmt.interop.bart import LINEAR, NORMS
from nmt.messages import show_value
from nmt.model.contract import Model
from nmt.model.positions import sinusoids
from nmt.vocabulary import BOS, EOS, PAD

MOST_POSITIONS = 1024  # of sinusoids, which Marian and Pegasus compute once
MOST_ROTARY = 4096  # what config.json names for models without a limit

# Settings that change training only, and sizes: every class has any of them.
SIZES = ("d_model", "n_heads", "n_kv_heads", "d_ff", "encoder_layers", "decoder_layers", "max_positions")
FREE = {*SIZES, "scale_embeddings", "tied_embeddings", "bias", "activation"}
FREE |= {"dropout", "attention_dropout", "activation_dropout"}
AUTO: dict[str, str] = {"encoder-decoder": "AutoModelForSeq2SeqLM", "decoder-only": "AutoModelForCausalLM"}
OBJECTIVES = {"encoder-decoder": ("translation", "denoise"), "decoder-only": ("translation", "lm")}

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Layout:
    """A class of transformers."""

    name: str
    model_type: str
    needs: Mapping[str, tuple[Any, ...]]
    """The values that settings may have. Other settings that aren't in FREE must have their defaults."""
    weights: Callable[[Model], Tensors]
    """The tensors by their names there."""
    settings: Callable[[ModelConfig], dict[str, Any]]
    """What config.json has besides `SHARED`, without sizes of vocabularies."""

    @property
    def family(self) -> str:
        return self.needs["family"][0]

    @property
    def auto(self) -> str:
        """The class of transformers that loads any model for this task."""
        return AUTO[self.family]

    def obstacles(self, config: ModelConfig, objective: ObjectiveName) -> list[str]:
        """The settings that this class can't express, with the values that it takes."""
        found, objectives = [], OBJECTIVES[self.family]
        if objective not in objectives:
            found.append(f"training.objective {objective} ({self.name}: {' or '.join(objectives)})")
        ours = asdict(config)
        for f in fields(ModelConfig):
            values = self.needs.get(f.name, (f.default,))
            if ours[f.name] not in values and (f.name in self.needs or f.name not in FREE):
                choices = " or ".join(map(shown, values))
                found.append(f"model.{f.name} {shown(ours[f.name])} ({self.name}: {choices})")
        if self.family == "encoder-decoder" and config.kv_heads != config.n_heads:
            found.append(f"model.n_kv_heads {config.kv_heads} ({self.name}: {config.n_heads}, as n_heads)")
        return found


def shown(value: Any) -> str:
    return show_value(value) or "none"


SHARED = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
CLASSIC: dict[str, tuple[Any, ...]] = {
    "family": ("encoder-decoder",),
    "norm": ("layer",),
    "positions": ("sinusoidal",),
    "activation": ("relu", "gelu", "silu", "relu2"),
    "output_bias": (False, True),
}
MODERN: dict[str, tuple[Any, ...]] = {
    "family": ("decoder-only",),
    "source_attention": ("causal",),
    "norm": ("rms",),
    "norm_position": ("pre",),
    "positions": ("rotary",),
    "activation": ("swiglu", "geglu"),
}


def bart_settings(config: ModelConfig) -> dict[str, Any]:
    tied = config.tied_embeddings
    return {
        "d_model": config.d_model,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.n_heads,
        "decoder_attention_heads": config.n_heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "activation_function": {"silu": "swish"}.get(config.activation, config.activation),
        "scale_embedding": config.scale_embeddings,
        "max_position_embeddings": MOST_POSITIONS,
        "is_encoder_decoder": True,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
        "share_encoder_decoder_embeddings": tied == "three-way",
        # Pegasus, which has the norms first, ties all embeddings or none.
        "tie_word_embeddings": tied == "three-way" or (tied == "decoder" and config.norm_position != "pre"),
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
    }


def llama_settings(config: ModelConfig) -> dict[str, Any]:
    return {
        "hidden_size": config.d_model,
        "intermediate_size": config.d_ff,
        "num_hidden_layers": config.encoder_layers + config.decoder_layers,
        "num_attention_heads": config.n_heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.d_head,
        "hidden_act": {"swiglu": "silu", "geglu": "gelu"}[config.activation],
        "rms_norm_eps": 1e-6,
        "rope_theta": 10_000.0,
        "max_position_embeddings": MOST_ROTARY,
        "attention_bias": config.bias,
        "mlp_bias": config.bias,
        "tie_word_embeddings": is_tied(config),
        "attention_dropout": config.attention_dropout,
    }


def weights_of(model: Model) -> Tensors:
    """The parameters by our names; those that are shared by each of theirs."""
    return {name: parameter.detach() for name, parameter in model.named_parameters(remove_duplicate=False)}


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
        for layer in range(getattr(config, f"{side}_layers")):
            for ours, theirs in (LINEAR | NORMS).items():
                names = [f"model.{side}.layers.{layer}.{name}" for name in theirs]
                tensors |= split(found, f"{side}.{layer}.{ours}", names)
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
    shared = config.kv_heads * config.d_head
    for layer in range(config.encoder_layers + config.decoder_layers):
        ours, theirs = f"decoder.{layer}", f"model.layers.{layer}"
        attention, mlp, rows = f"{theirs}.self_attn", f"{theirs}.mlp", [config.d_model, shared, shared]
        tensors |= split(found, f"{ours}.self_attention.qkv", [f"{attention}.{x}_proj" for x in "qkv"], rows)
        for x in "qk" if config.qk_norm else "":
            tensors |= split(found, f"{ours}.self_attention.{x}_norm", [f"{attention}.{x}_norm"])
        tensors |= split(found, f"{ours}.self_attention.out", [f"{attention}.o_proj"])
        tensors |= split(found, f"{ours}.feed_forward.up", [f"{mlp}.gate_proj", f"{mlp}.up_proj"])
        tensors |= split(found, f"{ours}.feed_forward.down", [f"{mlp}.down_proj"])
        tensors |= split(found, f"{ours}.around_self.norm", [f"{theirs}.input_layernorm"])
        tensors |= split(found, f"{ours}.around_feed_forward.norm", [f"{theirs}.post_attention_layernorm"])
    return tensors


def is_tied(config: ModelConfig) -> bool:
    """Whether the written output layer is the embedding."""
    return config.tied_embeddings != "none" and not config.scale_embeddings


POST, PRE = {"norm_position": ("post",)}, {"norm_position": ("pre",)}
NO_BIAS = MODERN | {"bias": (False,)}
LAYOUTS = (
    Layout("MarianMTModel", "marian", CLASSIC | POST, bart, bart_settings),
    Layout("PegasusForConditionalGeneration", "pegasus", CLASSIC | PRE, pegasus, bart_settings),
    Layout("Qwen3ForCausalLM", "qwen3", NO_BIAS | {"qk_norm": (True,)}, llama, llama_settings),
    Layout("LlamaForCausalLM", "llama", MODERN, llama, llama_settings),
)


def choose_layout(config: ModelConfig, objective: ObjectiveName) -> tuple[Layout, list[str]]:
    """The class with the fewest obstacles among those of the model's family, if it has any, and what these are."""
    of_family = [layout for layout in LAYOUTS if layout.family == config.family] or LAYOUTS
    ways = [(layout, layout.obstacles(config, objective)) for layout in of_family]
    return min(ways, key=lambda way: len(way[1]))


def config_json(layout: Layout, model: Model, dtype: str) -> dict[str, Any]:
    pieces = {name: len(parameter) for name, parameter in model.named_parameters(remove_duplicate=False)}
    sizes = {"vocab_size": pieces.get("src_embedding.weight", model.vocab_size)}
    if layout.model_type == "marian":
        sizes["decoder_vocab_size"] = model.vocab_size
    head = {"architectures": [layout.name], "model_type": layout.model_type, "dtype": dtype}
    return head | sizes | SHARED | layout.settings(model.config)
