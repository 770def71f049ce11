"""Checkpoints of JoeyNMT 2 (.ckpt), with config.yaml and the vocabularies beside them."""

from pathlib import Path

from nmt.config import ModelConfig
from nmt.fields import require
from nmt.interop.bart import Checkpoint, flat, pick, renamed
from nmt.interop.foreign import Foreign, load_safely

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "silu"}
SYMBOLS = {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "pad": "<pad>"}
SIDES = (("src", "source"), ("trg", "target"))
BOTH = {"alpha": (1.0,), "activation": tuple(ACTIVATIONS)}  # of the encoder and of the decoder
TEXTS = {"level": "bpe", "tokenizer_type": "sentencepiece"}
PLAIN = {"lowercase": (False,), "tokenizer_cfg.pretokenizer": ("none",)}
EQUAL = ("num_heads", "hidden_size", "ff_size", "layer_norm", "activation", "embeddings.scale")
OF_ENCODER = ("hidden_size", "num_heads", "ff_size", "num_layers")
SIZES = (*(f"model.encoder.{name}" for name in OF_ENCODER), "model.decoder.num_layers")
TABLE = (
    (r"^(encoder|decoder)\.pe\.pe$", ""),  # sinusoids are computed
    (r"^src_embed\.lut", "model.encoder.embed_tokens"),
    (r"^trg_embed\.lut", "model.decoder.embed_tokens"),
    (r"^decoder\.output_layer\.", "lm_head."),
    (r"^(encoder|decoder)\.", r"model.\1."),
    (r"\.(src_src|trg_trg)_att\.", ".self_attn."),
    (r"\.src_trg_att\.", ".encoder_attn."),
    (r"\.([qkv])_layer\.", r".\1_proj."),
    (r"\.output_layer\.", ".out_proj."),
    (r"\.feed_forward\.layer_norm\.", ".final_layer_norm."),
    (r"\.feed_forward\.pwff_layer\.0\.", ".fc1."),
    (r"\.feed_forward\.pwff_layer\.3\.", ".fc2."),
    (r"(encoder\.layers\.\d+)\.layer_norm\.", r"\1.self_attn_layer_norm."),
    (r"\.x_layer_norm\.", ".self_attn_layer_norm."),
    (r"\.dec_layer_norm\.", ".encoder_attn_layer_norm."),
)


def read_joeynmt(path: Path, foreign: Foreign) -> Checkpoint:
    """Read a file or a folder; note in `foreign.problems` what can't be expressed."""
    foreign.config = config = flat(foreign.settings("config.yaml"))
    foreign.tokenizer = {f"{name}_lang": config.get(f"data.{side}.lang") for side, name in SIDES}
    for side in ("encoder", "decoder"):
        foreign.expect_all({f"model.{side}.{name}": values for name, values in BOTH.items()})
        foreign.expect(f"model.{side}.type", config.get(f"model.{side}.type"), "transformer")
    # Without the setting, layers of the encoder begin with a norm, and no norm follows the last layer.
    foreign.expect("model.encoder.layer_norm", config.get("model.encoder.layer_norm"), "pre", "post")
    foreign.expect_equal(EQUAL, "model.decoder.", "model.encoder.")
    for side, _ in SIDES:
        foreign.expect_all({f"data.{side}.{name}": values for name, values in PLAIN.items()})
        for name, value in TEXTS.items():
            foreign.expect(f"data.{side}.{name}", config.get(f"data.{side}.{name}"), value)
    foreign.expect("data.special_symbols.sep_token", config.get("data.special_symbols.sep_token"), None)
    file = pick(path, "best.ckpt", "*.ckpt")
    state = load_safely(file)
    require(isinstance(state, dict) and "model_state" in state, f"{file} is no checkpoint of JoeyNMT")
    sizes = foreign.sizes(SIZES)
    foreign.require_fitting()
    settings = ModelConfig(
        **sizes,
        norm_position=config["model.encoder.layer_norm"],
        norm_epsilon=1e-6,
        activation=ACTIVATIONS[config.get("model.encoder.activation", "relu")],  # type: ignore[arg-type]
        scale_embeddings=bool(config.get("model.encoder.embeddings.scale", False)),
        dropout=float(config.get("model.encoder.dropout", 0.1)),
    )
    return Checkpoint(
        settings,
        renamed(state["model_state"], TABLE),
        [file],
        [foreign.file(f"{side}_vocab.txt").read_text(encoding="utf8").splitlines() for side, _ in SIDES],
        [str(config.get(f"data.special_symbols.{name}_token", piece)) for name, piece in SYMBOLS.items()],
        alternating=True,
        models=[config.get(f"data.{side}.tokenizer_cfg.model_file") for side, _ in SIDES],
    )
