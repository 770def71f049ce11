"""Checkpoints of OpenNMT-py 3 (.pt, with the weights in it or in safetensors files beside it), and what Eole, which
comes from it, shares with them."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from nmt.config import ModelConfig
from nmt.fields import require
from nmt.interop.checkpoints import Checkpoint, pick, renamed
from nmt.interop.foreign import Foreign, load_safely, read_weights

GATED = {"relu": "relu", "gelu": "gelu", "silu": "swiglu", "gated-gelu": "geglu"}  # silu has a gate there
NORMS = {"standard": "layer", "rms": "rms"}
SINES = "SinusoidalInterleaved"
# Rates of SinusoidalConcat are no others' rates: its table is taken as a learned one.
POSITIONS = {SINES: "sinusoidal", "SinusoidalConcat": "learned"}
TABLE_ROWS = 5000  # of positions
NEEDS: dict[str, tuple[Any, ...]] = {
    "model_task": ("seq2seq",),
    "model_type": ("text",),
    "encoder_type": ("transformer",),
    "decoder_type": ("transformer",),
    "self_attn_type": ("scaled-dot", "scaled-dot-flash"),
    "pos_ffn_activation_fn": tuple(GATED),
    "layer_norm": tuple(NORMS),
    "max_relative_positions": (0, -1),  # others are relative positions and ALiBi, with other biases than ours
    "relative_positions_buckets": (0,),
    "rotary_theta": (10000,),
    "rotary_dim": (0,),
    "sliding_window": (0,),
    "num_experts": (0,),
    "n_src_feats": (0,),
    "parallel_residual": (False,),
    "copy_attn": (False,),
    "generator_function": ("softmax",),
    "lora_embedding": (False,),
}
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


def read(path: Path, foreign: Foreign) -> Checkpoint:
    """As `nmt.interop.checkpoints.ReadCheckpoint`."""
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
    return Checkpoint(
        model_settings(foreign, positions),
        renamed(weights, TABLE),
        files,
        (list(state["vocab"]["src"]), list(state["vocab"]["tgt"])),
        ("<unk>", "<s>", "</s>", "<blank>"),
        alternating=positions == "sinusoidal",
        pairs=rotary and bool(config.get("rotary_interleave", True)),
        models=(config.get("src_subword_model"), config.get("tgt_subword_model")),
    )


def expect_sentencepiece(foreign: Foreign, transforms: Any) -> None:
    """Note a problem if text becomes pieces in another way."""
    others = {"bpe", "onmt_tokenize", "huggingface_tokenize", "tokenize_id", "normalize"} & {*(transforms or [])}
    if others:
        foreign.problems.append(f"transforms has {', '.join(sorted(others))}, and only sentencepiece can be expressed")


def model_settings(foreign: Foreign, positions: Any) -> ModelConfig:
    config = foreign.config
    sizes = {name: foreign.number(name) for name in ("enc_hid_size", "heads", "transformer_ff")}
    depths = [foreign.number(name) for name in ("enc_layers", "dec_layers")]
    for name in ("dec_hid_size", "src_word_vec_size", "tgt_word_vec_size"):
        foreign.expect(name, config.get(name), sizes["enc_hid_size"])
    foreign.require_fitting()
    dropout = config.get("dropout", 0.1)
    activation, norm = config.get("pos_ffn_activation_fn", "relu"), config.get("layer_norm", "standard")
    kinds: Any = {"activation": GATED[activation], "norm": NORMS[norm]}
    return ModelConfig(
        d_model=sizes["enc_hid_size"],
        n_heads=sizes["heads"],
        n_kv_heads=config.get("num_kv") or None,
        d_ff=sizes["transformer_ff"],
        encoder_layers=depths[0],
        decoder_layers=depths[1],
        norm_position="pre",
        norm_epsilon=float(config.get("norm_eps", 1e-6)),
        positions=positions,
        max_positions=TABLE_ROWS,
        source_end=False,
        scale_embeddings=positions != "rotary",
        dropout=float(dropout[0] if isinstance(dropout, list) else dropout),
        **kinds,
    )
