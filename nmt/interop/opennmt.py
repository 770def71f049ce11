"""Checkpoints of OpenNMT-py 3 (.pt, with the weights in it or in safetensors files beside it) and of Eole, which comes
from it: a folder with config.json, vocab.json and model.00.safetensors."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nmt.config import ModelConfig
from nmt.fields import require
from nmt.interop.bart import Checkpoint, flat, pick, renamed
from nmt.interop.foreign import Foreign, load_safely, read_json, read_weights

NORMS = {"standard": "layer", "rms": "rms"}
SINES = "SinusoidalInterleaved"
# Rates of SinusoidalConcat are no others' rates: its table is taken as a learned one.
POSITIONS = {SINES: "sinusoidal", "SinusoidalConcat": "learned"}
TABLE_ROWS = 5000  # of positions
# In OpenNMT-py, silu has a gate.
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "swiglu", "gated-gelu": "geglu"}
EOLE_POSITIONS = POSITIONS | {"Rotary": "rotary", "Learned": "learned"}
EOLE_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "silu", "gated-silu": "swiglu", "gated-gelu": "geglu"}
SIZES = ("enc_hid_size", "heads", "transformer_ff", "enc_layers", "dec_layers")
WIDTHS = ("dec_hid_size", "src_word_vec_size", "tgt_word_vec_size")
OF_ENCODER = {"hidden_size": 512, "heads": 8, "transformer_ff": 2048}  # sizes, and what they are without a setting
EOLE_SIZES = (*(f"model.encoder.{name}" for name in OF_ENCODER), "model.encoder.layers", "model.decoder.layers")
EOLE_WIDTHS = ("model.embeddings.src_word_vec_size", "model.embeddings.tgt_word_vec_size")
EOLE_DEFAULTS = {f"model.encoder.{name}": size for name, size in OF_ENCODER.items()} | dict.fromkeys(EOLE_WIDTHS, 512)
NEEDS: dict[str, tuple[Any, ...]] = {
    "model_task": ("seq2seq",),
    "model_type": ("text",),
    "encoder_type": ("transformer",),
    "decoder_type": ("transformer",),
    "self_attn_type": ("scaled-dot", "scaled-dot-flash"),
    "pos_ffn_activation_fn": tuple(ACTIVATIONS),
    "layer_norm": tuple(NORMS),
    "max_relative_positions": (0, -1),  # others are relative positions and ALiBi
    "rotary_theta": (10000,),
    **dict.fromkeys(("relative_positions_buckets", "rotary_dim", "sliding_window", "num_experts", "n_src_feats"), (0,)),
    **dict.fromkeys(("parallel_residual", "copy_attn", "lora_embedding"), (False,)),
    "generator_function": ("softmax",),
}
EOLE_BOTH: dict[str, tuple[Any, ...]] = {  # of the encoder and of the decoder
    "mlp_activation_fn": tuple(EOLE_ACTIVATIONS),
    "layer_norm": ("standard", "standardFP32", "rms"),
    "position_encoding_type": tuple(EOLE_POSITIONS),
    **dict.fromkeys(("parallel_residual", "ffn_layernorm"), (False,)),
    **dict.fromkeys(("query_norm", "key_norm", "value_norm", "q_gating"), (False,)),
    **dict.fromkeys(("sliding_window", "num_experts", "rope_config.rotary_dim"), (0,)),
    **dict.fromkeys(("attn_scaling", "head_dim", "rope_config.scaling_type"), (None,)),
    "rope_config.rotary_theta": (10000,),
}
EOLE_NEEDS: dict[str, tuple[Any, ...]] = {
    "model.encoder.encoder_type": ("transformer",),
    "model.decoder.decoder_type": ("transformer",),
    "model.encoder.encoder_layer_style": ("standard",),
    "model.encoder.final_encoder_layer_norm": (True,),
    "model.embeddings.embedding_type": ("standard",),
    "model.embeddings.position_shift": (0,),
    "model.generator_function": ("softmax",),
    "model.add_estimator": (False,),
    "training.lora_embedding": (False,),
    **{f"model.{side}.{name}": values for side in ("encoder", "decoder") for name, values in EOLE_BOTH.items()},
}
EOLE_EQUAL = ("hidden_size", "heads", "heads_kv", "transformer_ff", "norm_eps", "rope_config.rotary_interleave")
COMMON = (  # with Eole, which began as OpenNMT-py
    (r"^generator\.weight", "lm_head.weight"),
    (r"^generator\.bias", "final_logits_bias"),
    (r"^(encoder|decoder)\.layer_norm\.", r"model.\1.layer_norm."),
    (r"\.context_attn\.", ".encoder_attn."),
    (r"\.linear_(q|k|v)(uery|eys|alues)\.", r".\1_proj."),
    (r"\.final_linear\.", ".out_proj."),
)
TABLE = (
    *COMMON,
    (r"^(encoder|decoder)\.embeddings\.make_embedding\.emb_luts\.0\.", r"model.\1.embed_tokens."),
    (r"^(encoder|decoder)\.embeddings\.make_embedding\.pe\.pe$", r"model.\1.embed_positions.weight"),
    (r"^(encoder|decoder)\.transformer(_layers)?\.", r"model.\1.layers."),
    (r"\.feed_forward\.layer_norm\.", ".final_layer_norm."),
    (r"\.feed_forward\.w_([123])\.", r".fc\1."),
    (r"(layers\.\d+)\.layer_norm(_1)?\.", r"\1.self_attn_layer_norm."),
    (r"\.layer_norm_2\.", ".encoder_attn_layer_norm."),
)
EOLE_TABLE = (
    *COMMON,
    (r"^.*\.(layer_scalar|rope\.cos_sin)$", ""),  # the first is 1, the second is computed
    (r"^src_emb\.embeddings\.", "model.encoder.embed_tokens."),
    (r"^tgt_emb\.embeddings\.", "model.decoder.embed_tokens."),
    (r"^src_emb\.pe\.(pe|weight)$", "model.encoder.embed_positions.weight"),
    (r"^tgt_emb\.pe\.(pe|weight)$", "model.decoder.embed_positions.weight"),
    (r"^(encoder|decoder)\.transformer_layers\.", r"model.\1.layers."),
    (r"\.input_layernorm\.", ".self_attn_layer_norm."),
    (r"\.precontext_layernorm\.", ".encoder_attn_layer_norm."),
    (r"\.post_attention_layernorm\.", ".final_layer_norm."),
    (r"\.mlp\.gate_up_proj\.", ".fc1."),
    (r"\.mlp\.up_proj\.", ".fc3."),
    (r"\.mlp\.down_proj\.", ".fc2."),
)
EOLE_SPECIAL = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<blank>"}


def read_opennmt(path: Path, foreign: Foreign) -> Checkpoint:
    """Read a file or a folder; note in `foreign.problems` what can't be expressed."""
    file = pick(path, "model.pt", "*.pt")
    state = load_safely(file, Namespace)
    known = isinstance(state, dict) and isinstance(state.get("opt"), Namespace) and isinstance(state.get("vocab"), dict)
    require(known, f"{file} is no checkpoint of OpenNMT-py 3: those of older versions must be converted with its tools")
    foreign.config = config = vars(state["opt"]) | {"decoder_start_token": state["vocab"].get("decoder_start_token")}
    foreign.expect_all(NEEDS)
    foreign.expect("decoder_start_token", config["decoder_start_token"], "<s>")
    for name in ("lora_layers", "quant_layers"):
        foreign.expect(name, config.get(name) or [], [])
    expect_sentencepiece(foreign, config.get("transforms"))
    rotary = config.get("max_relative_positions") == -1
    positions = "rotary" if rotary else POSITIONS.get(config.get("position_encoding_type", SINES), "none")
    if not rotary:
        foreign.expect("position_encoding_type", config.get("position_encoding_type", SINES), *POSITIONS)
    foreign.expect("position_encoding", bool(config.get("position_encoding", False)), not rotary)
    files = [file] if "model" in state else sorted(file.parent.glob(f"{file.stem}*.safetensors"))
    require(bool(files), f"{file} has no weights, and {file.stem}.00.safetensors is missing")
    weights = {f"generator.{name}": tensor for name, tensor in (state.get("generator") or {}).items()}
    weights |= state["model"] if "model" in state else read_weights(files)
    settings = model_settings(
        foreign,
        SIZES,
        WIDTHS,
        activation=ACTIVATIONS.get(config.get("pos_ffn_activation_fn", "relu")),
        norm=NORMS.get(config.get("layer_norm", "standard")),
        norm_epsilon=float(config.get("norm_eps", 1e-6)),
        n_kv_heads=config.get("num_kv") or None,
        positions=positions,
        max_positions=TABLE_ROWS,
        scale_embeddings=not rotary,
        dropout=config.get("dropout", 0.1),
    )
    return Checkpoint(
        settings,
        renamed(weights, TABLE),
        files,
        (list(state["vocab"]["src"]), list(state["vocab"]["tgt"])),
        ("<unk>", "<s>", "</s>", "<blank>"),
        alternating=positions == "sinusoidal",
        pairs=rotary and bool(config.get("rotary_interleave", True)),
        models=(config.get("src_subword_model"), config.get("tgt_subword_model")),
    )


def model_settings(
    foreign: Foreign, sizes: Sequence[str], widths: Sequence[str], dropout: Any, **ours: Any
) -> ModelConfig:
    """Our settings, with those that all models of both toolkits have. `sizes`: as for `Foreign.sizes`; `widths`: names
    of sizes that must be the width of the model; `dropout`: a number, or a list that begins with it."""
    ours |= foreign.sizes(sizes)
    for name in widths:
        foreign.expect(name, foreign.config.get(name), ours["d_model"])
    foreign.require_fitting()
    ours["dropout"] = float(dropout[0] if isinstance(dropout, list) else dropout)
    return ModelConfig(norm_position="pre", source_end=False, **ours)


def read_eole(path: Path, foreign: Foreign) -> Checkpoint:
    """Read a file or a folder; note in `foreign.problems` what can't be expressed."""
    foreign.config = config = flat(read_json(foreign.folder / "config.json"))
    vocab = read_json(foreign.file("vocab.json"))
    listed = all(isinstance(vocab.get(side), list) for side in ("src", "tgt"))
    require(listed, f"vocab.json of {foreign.origin} has no lists of pieces, src and tgt")
    foreign.expect_all(EOLE_NEEDS)
    foreign.expect_equal((*EOLE_EQUAL, *EOLE_BOTH), "model.decoder.", "model.encoder.")
    foreign.expect("training.lora_layers", config.get("training.lora_layers") or [], [])
    foreign.expect("decoder_start_token", vocab.get("decoder_start_token", "<s>"), "<s>")
    expect_sentencepiece(foreign, config.get("transforms"))
    kind = str(config.get("model.encoder.position_encoding_type", SINES))
    ours = EOLE_SPECIAL | (vocab.get("specials") or {})
    files = sorted(foreign.folder.glob("model.*.safetensors"))
    require(bool(files), f"{foreign.origin} has no weights: model.00.safetensors is missing")
    foreign.config = config = EOLE_DEFAULTS | config
    normalised = bool(config.get("model.embeddings.normalize", False))
    foreign.expect("model.embeddings.normalize", normalised and kind == "Learned", False)
    settings = model_settings(
        foreign,
        EOLE_SIZES,
        EOLE_WIDTHS,
        activation=EOLE_ACTIVATIONS.get(config.get("model.encoder.mlp_activation_fn", "relu")),
        norm=NORMS.get(str(config.get("model.encoder.layer_norm", "standard")).removesuffix("FP32")),
        norm_epsilon=float(config.get("model.encoder.norm_eps", 1e-5)),
        n_kv_heads=config.get("model.encoder.heads_kv"),
        positions=EOLE_POSITIONS.get(kind),
        max_positions=config.get("model.embeddings.n_positions") or TABLE_ROWS,
        scale_embeddings=kind.startswith("Sinusoidal") or normalised,
        dropout=config.get("training.dropout") or 0.1,
    )
    return Checkpoint(
        settings,
        renamed(read_weights(files), EOLE_TABLE),
        files,
        (vocab["src"], vocab["tgt"]),
        [ours[name] for name in EOLE_SPECIAL],
        alternating=kind == SINES,
        pairs=kind == "Rotary" and config.get("model.encoder.rope_config.rotary_interleave", True),
        models=[config.get(f"transforms_configs.sentencepiece.{side}_subword_model") for side in ("src", "tgt")],
    )


def expect_sentencepiece(foreign: Foreign, transforms: Any) -> None:
    """Note a problem if text becomes pieces in another way."""
    others = {"bpe", "onmt_tokenize", "huggingface_tokenize", "tokenize_id", "normalize"} & {*(transforms or [])}
    if others:
        foreign.problems.append(f"transforms has {', '.join(sorted(others))}, and only sentencepiece can be expressed")
