"""Models of Eole: a folder with config.json, vocab.json and model.00.safetensors."""

from pathlib import Path
from typing import Any

from nmt.config import ModelConfig
from nmt.fields import require
from nmt.interop.checkpoints import Checkpoint, flat, renamed
from nmt.interop.foreign import Foreign, read_json, read_weights
from nmt.interop.opennmt import COMMON, NORMS, TABLE_ROWS, expect_sentencepiece

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "silu", "gated-silu": "swiglu", "gated-gelu": "geglu"}
POSITIONS = {"SinusoidalInterleaved": "sinusoidal", "SinusoidalConcat": "learned", "Rotary": "rotary"}
POSITIONS |= {"Learned": "learned"}
BOTH: dict[str, tuple[Any, ...]] = {  # of the encoder and of the decoder
    "mlp_activation_fn": tuple(ACTIVATIONS),
    "layer_norm": ("standard", "standardFP32", "rms"),
    "position_encoding_type": tuple(POSITIONS),
    "parallel_residual": (False,),
    "ffn_layernorm": (False,),
    "sliding_window": (0,),
    "num_experts": (0,),
    "query_norm": (False,),
    "key_norm": (False,),
    "value_norm": (False,),
    "q_gating": (False,),
    "attn_scaling": (None,),
    "head_dim": (None,),
    "rope_config.rotary_theta": (10000,),
    "rope_config.rotary_dim": (0,),
    "rope_config.scaling_type": (None,),
}
NEEDS: dict[str, tuple[Any, ...]] = {
    "model.encoder.encoder_type": ("transformer",),
    "model.decoder.decoder_type": ("transformer",),
    "model.encoder.encoder_layer_style": ("standard",),
    "model.encoder.final_encoder_layer_norm": (True,),
    "model.embeddings.embedding_type": ("standard",),
    "model.embeddings.position_shift": (0,),
    "model.generator_function": ("softmax",),
    "model.add_estimator": (False,),
    "training.lora_embedding": (False,),
}
EQUAL = ("hidden_size", "heads", "heads_kv", "transformer_ff", *BOTH, "norm_eps", "rope_config.rotary_interleave")
TABLE = (
    *COMMON,
    (r"\.layer_scalar$|\.rope\.cos_sin$", ".layer_scalar"),
    (r"^.*\.layer_scalar$", ""),  # it is 1
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
SPECIAL = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<blank>"}


def read(path: Path, foreign: Foreign) -> Checkpoint:
    """As `nmt.interop.checkpoints.ReadCheckpoint`."""
    foreign.config = config = flat(read_json(foreign.folder / "config.json"))
    vocab = read_json(foreign.file("vocab.json"))
    listed = all(isinstance(vocab.get(side), list) for side in ("src", "tgt"))
    require(listed, f"vocab.json of {foreign.origin} has no lists of pieces, src and tgt")
    foreign.expect_all(NEEDS | {f"model.{side}.{n}": v for side in ("encoder", "decoder") for n, v in BOTH.items()})
    foreign.expect_equal(EQUAL, "model.decoder.", "model.encoder.")
    foreign.expect("training.lora_layers", config.get("training.lora_layers") or [], [])
    foreign.expect("decoder_start_token", vocab.get("decoder_start_token", "<s>"), "<s>")
    expect_sentencepiece(foreign, config.get("transforms"))
    kind = str(config.get("model.encoder.position_encoding_type", "SinusoidalInterleaved"))
    ours = SPECIAL | (vocab.get("specials") or {})
    files = sorted(foreign.folder.glob("model.*.safetensors"))
    require(bool(files), f"{foreign.origin} has no weights: model.00.safetensors is missing")
    return Checkpoint(
        model_settings(foreign, kind),
        renamed(read_weights(files), TABLE),
        files,
        (vocab["src"], vocab["tgt"]),
        [ours[name] for name in SPECIAL],
        alternating=kind == "SinusoidalInterleaved",
        pairs=kind == "Rotary" and config.get("model.encoder.rope_config.rotary_interleave", True),
        models=[config.get(f"transforms_configs.sentencepiece.{side}_subword_model") for side in ("src", "tgt")],
    )


def model_settings(foreign: Foreign, kind: str) -> ModelConfig:
    config, before = foreign.config, "model.encoder."
    defaults = {"hidden_size": 512, "heads": 8, "transformer_ff": 2048}
    foreign.config = {f"{before}{name}": size for name, size in defaults.items()} | config
    sizes = [foreign.number(f"{before}{name}") for name in defaults]
    depths = [foreign.number(f"model.{side}.layers") for side in ("encoder", "decoder")]
    for side in ("src", "tgt"):
        name = f"model.embeddings.{side}_word_vec_size"
        foreign.expect(name, config.get(name, 512), sizes[0])
    normalised = bool(config.get("model.embeddings.normalize", False))
    foreign.expect("model.embeddings.normalize", normalised and kind == "Learned", False)
    foreign.require_fitting()
    norm = str(config.get(f"{before}layer_norm", "standard")).removesuffix("FP32")
    activation = ACTIVATIONS[config.get(f"{before}mlp_activation_fn", "relu")]
    kinds: Any = {"norm": NORMS[norm], "activation": activation, "positions": POSITIONS[kind]}
    dropout = config.get("training.dropout") or [0.1]
    return ModelConfig(
        d_model=sizes[0],
        n_heads=sizes[1],
        n_kv_heads=config.get(f"{before}heads_kv"),
        d_ff=sizes[2],
        encoder_layers=depths[0],
        decoder_layers=depths[1],
        norm_position="pre",
        norm_epsilon=float(config.get(f"{before}norm_eps", 1e-5)),
        max_positions=config.get("model.embeddings.n_positions") or TABLE_ROWS,
        source_end=False,
        scale_embeddings=kind.startswith("Sinusoidal") or normalised,
        dropout=float(dropout[0]),
        **kinds,
    )
