"""Models of Sockeye 3: a folder with config, vocabularies and params.best."""

from pathlib import Path
from typing import Any

import yaml
from torch import Tensor

from nmt.config import ModelConfig
from nmt.interop.bart import Checkpoint, flat, pick, renamed
from nmt.interop.foreign import Foreign, read_weights

ACTIVATIONS = {("relu", False): "relu", ("swish1", False): "silu", ("gelu", False): "gelu"}
ACTIVATIONS |= {("swish1", True): "swiglu", ("gelu", True): "geglu"}
NORMS = {("n", "r"): "pre", ("", "rn"): "post"}  # what is done before and after a layer, without dropout
NEEDS: dict[str, tuple[Any, ...]] = {
    "config_decoder.decoder_type": ("transformer",),
    **dict.fromkeys(("config_embed_source.num_factors", "config_embed_target.num_factors"), (1,)),
    "config_encoder.positional_embedding_type": ("fixed", "learned"),
    **dict.fromkeys(("config_encoder.use_lhuc", "config_decoder.use_lhuc"), (False,)),
    "config_decoder.block_prepended_cross_attention": (False,),
    **dict.fromkeys(("neural_vocab_selection", "config_length_task"), (None,)),
    "dtype": ("float32", "float16", "bfloat16"),
}
EQUAL = ("model_size", "attention_heads", "feed_forward_num_hidden", "act_type", "use_glu")
STEPS = ("preprocess_sequence", "postprocess_sequence", "positional_embedding_type")
OF_ENCODER = ("model_size", "attention_heads", "feed_forward_num_hidden", "num_layers")
SIZES = (*(f"config_encoder.{name}" for name in OF_ENCODER), "config_decoder.num_layers")
TABLE = (
    (r"^embedding_source\.embedding\.", "model.encoder.embed_tokens."),
    (r"^embedding_target\.embedding\.", "model.decoder.embed_tokens."),
    (r"^output_layer\.weight", "lm_head.weight"),
    (r"^output_layer\.bias", "final_logits_bias"),
    (r"^(encoder|decoder)\.", r"model.\1."),
    (r"\.pos_embedding\.", ".embed_positions."),
    (r"\.final_process\.", "."),
    (r"\.(pre|post)_(self_attention|autoregr_layer)\.layer_norm\.", ".self_attn_layer_norm."),
    (r"\.(pre|post)_enc_attention\.layer_norm\.", ".encoder_attn_layer_norm."),
    (r"\.(pre|post)_ff\.layer_norm\.", ".final_layer_norm."),
    (r"\.(self_attention|autoregr_layer)\.", ".self_attn."),
    (r"\.enc_attention\.", ".encoder_attn."),
    (r"\.ff_out\.", ".out_proj."),
    (r"\.ff_q\.", ".q_proj."),
    (r"\.ff\.ff([12])\.", r".fc\1."),
    (r"\.ff\.linear\.", ".fc3."),
)


def read_sockeye(path: Path, foreign: Foreign) -> Checkpoint:
    """Read a file or a folder; note in `foreign.problems` what can't be expressed."""
    foreign.config = config = flat(foreign.settings("config", Loader))
    foreign.expect_all(NEEDS)
    foreign.expect_equal((*EQUAL, *STEPS), "config_decoder.", "config_encoder.")
    before, sizes = "config_encoder.", foreign.sizes(SIZES)
    longest = foreign.number(f"{before}max_seq_len_source")
    learned = config.get(f"{before}positional_embedding_type") == "learned"
    if learned:
        foreign.expect("config_decoder.max_seq_len_target", config.get("config_decoder.max_seq_len_target"), longest)
    steps = [str(config.get(f"{before}{name}_sequence")).replace("d", "") for name in ("preprocess", "postprocess")]
    foreign.expect("preprocess_sequence and postprocess_sequence", tuple(steps), *NORMS)
    act = config.get(f"{before}act_type", "relu"), bool(config.get(f"{before}use_glu", False))
    foreign.expect("act_type and use_glu", act, *ACTIVATIONS)
    foreign.require_fitting()
    kinds: Any = {"activation": ACTIVATIONS[act], "norm_position": NORMS[steps[0], steps[1]]}
    kinds |= {"positions": "learned", "max_positions": longest} if learned else {}
    dropout = float(config.get(f"{before}dropout_prepost", 0.1))
    settings = ModelConfig(**sizes, **kinds, norm_epsilon=1e-6, dropout=dropout)
    file = pick(path, "params.best", "params.*")
    tensors = apart(renamed(read_weights([file]), TABLE), settings)
    vocabularies = [foreign.vocabulary(f"vocab.{side}.0.json") for side in ("src", "trg")]
    return Checkpoint(settings, tensors, [file], vocabularies)


class Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads YAML whose sections have names of Python classes, which are not made."""


def section(loader: Any, suffix: str, node: Any) -> Any:
    is_section = isinstance(node, yaml.MappingNode)
    return loader.construct_mapping(node, deep=True) if is_section else loader.construct_sequence(node, deep=True)


Loader.add_multi_constructor("!", section)
Loader.add_multi_constructor("tag:yaml.org,2002:python/", section)


def apart(tensors: dict[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """The weights, with queries, keys and values apart: the file has keys and values of each head by turns."""
    result: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if not name.endswith((".ff_in.weight", ".ff_kv.weight")):
            result[name] = tensor
            continue
        before = name.rsplit(".", 2)[0]
        query, pairs = tensor.split([len(tensor) - 2 * config.d_model, 2 * config.d_model])
        both = pairs.unflatten(0, (config.n_heads, 2, config.d_head)).transpose(0, 1).flatten(1, 2)
        result |= {f"{before}.{x}_proj.weight": part for x, part in zip("kv", both, strict=True)}
        result |= {f"{before}.q_proj.weight": query} if len(query) else {}
    return result
