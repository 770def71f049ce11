"""Models that CTranslate2 runs: folders that nmt exported for it, and copies of our model folders, in the user's cache,
for the searches that it does faster; and the format of their files. The weights keep their values.
"""

import hashlib
import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nmt.config import DecodingPrecision, ModelConfig
from nmt.data.tokenizer import Tokenizer
from nmt.data.tokenizer.mapped import unique_names
from nmt.decode.ctranslate2 import POSITIONS, CTranslate2Engine, longest_sequence
from nmt.decode.engine import Engine
from nmt.decode.parallel import MOST_WORKERS
from nmt.extras import typed
from nmt.fields import require
from nmt.files import SUMS, check_sums, locked, whole_folder
from nmt.messages import print_to_stderr
from nmt.model.layers import GATED
from nmt.model.positions import SINUSOIDAL, sinusoids
from nmt.translation.model_folder import EXPORTED, ModelInfo, load_model, read_info
from nmt.version import __version__
from nmt.vocabulary import BOS, EOS, SPECIAL_PIECES, UNK

COMPUTE_TYPES = {"auto": "default", "fp32": "float32", "bf16": "bfloat16", "int8": "int8"}
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH", "swiglu": "SWISH", "geglu": "GELU"}
EXPRESSIBLE: dict[str, Sequence[Any]] = {  # values of settings
    "family": ["encoder-decoder"],
    "qk_norm": [False],  # CTranslate2 has such norms, but gives other results (differences of 0.1 to 0.6 nats)
    "norm": ["layer", "rms"],
    "norm_position": ["post", "pre"],
    "positions": ["sinusoidal", "fairseq", "learned", "rotary"],
    "activation": [*ACTIVATIONS],
}
Array = NDArray[np.float32]


def load_exported(folder: Path, device: str, precision: DecodingPrecision) -> tuple[Engine, Tokenizer, ModelInfo]:
    """Check and load an exported folder. ValueError if it is none, or damaged, or needs what is missing."""
    require(folder.is_dir(), f"{folder}: there is no such folder")
    advice = f"write one with {typed('export')} MODEL OUT --to ctranslate2"
    require((folder / EXPORTED).is_file(), f"{folder} was not exported by nmt, it has no {EXPORTED}: {advice}")
    require((folder / "model.bin").is_file(), f"{folder} has no model.bin of CTranslate2: {advice}")
    check_sums(folder, EXPORTED, "config.json", "model.bin")
    tokenizer, (info, _) = Tokenizer.load(folder), read_info(folder / EXPORTED)
    family = info.model.family
    problem = f"{folder} has a model of the family {family}: --backend ctranslate2 runs encoder-decoder models"
    require(family == "encoder-decoder", f"{problem}; its README.md has a program that runs it")
    return run_exported(folder, tokenizer, info, device, precision), tokenizer, info


def run_exported(
    folder: Path, tokenizer: Tokenizer, info: ModelInfo, device: str = "cpu", precision: DecodingPrecision = "auto"
) -> CTranslate2Engine:
    """The engine of a folder of CTranslate2; `precision` auto: that of the file, as far as the device has it."""
    import ctranslate2 as library  # only now: importing it takes 0.1 s

    if device == "auto":
        device = "cuda" if library.get_cuda_device_count() else "cpu"
    kind, _, index = device.partition(":")
    # Each batch has one thread, as in `nmt.decode.parallel`.
    threads = torch.get_num_threads()
    workers = min(threads, MOST_WORKERS) if kind == "cpu" else 1
    try:
        translator = library.Translator(
            str(folder),
            device=kind,
            device_index=int(index or 0),
            compute_type=COMPUTE_TYPES[precision],
            inter_threads=workers,
            intra_threads=threads // workers,
        )
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"CTranslate2 can't run {folder} on {device} in precision {precision}: {error}") from error
    torch.set_num_threads(threads)  # the library sets PyTorch's number of threads to its own
    source, target = names_of_pieces(tokenizer)
    number = {piece: i for i, piece in enumerate(target)}
    return CTranslate2Engine(translator, source, target, number, longest_sequence(info.model))


def plain_engine(
    folder: Path, tokenizer: Tokenizer, info: ModelInfo, precision: DecodingPrecision
) -> CTranslate2Engine | None:
    """CTranslate2's engine, on the CPU, for a model folder of ours; None if it can't run it in this precision. The
    first call for a folder writes a copy in CTranslate2's format into NMT_CACHE, or nmt in the user's cache."""
    if precision == "bf16" or obstacles(info):
        return None
    sums = (folder / SUMS).read_text(encoding="utf8")
    key = hashlib.sha256(f"{sums} {version('ctranslate2')} {__version__}".encode()).hexdigest()
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        copy = Path(os.environ.get("NMT_CACHE") or Path(base) / "nmt") / "ctranslate2" / key[:32]
        with locked(copy.parent, wait=True):
            try:
                check_sums(copy, "config.json", "model.bin")
            except (OSError, ValueError):  # it isn't there yet, or is damaged
                model, _, _ = load_model(folder)
                with whole_folder(copy) as draft:
                    write_model(model, tokenizer, info, draft, "float32")
        return run_exported(copy, tokenizer, info, "cpu", "int8" if precision == "int8" else "fp32")
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: the user has no home folder
        print_to_stderr(f"Note: PyTorch does all searches; CTranslate2, which is faster, can't be used: {error}")
        return None


def obstacles(info: ModelInfo, tokenizer: Tokenizer | None = None) -> list[str]:
    values = {name: getattr(info.model, name) for name in EXPRESSIBLE}
    return [f"model.{name} {value}" for name, value in values.items() if value not in EXPRESSIBLE[name]]


def names_of_pieces(tokenizer: Tokenizer) -> tuple[list[str], list[str]]:
    """The names of the pieces of both sides, in the order of their ids; no name is there twice."""
    source = tokenizer.source_pieces(range(tokenizer.src_vocab_size))
    return unique_names(source), unique_names(tokenizer.target_pieces(range(tokenizer.tgt_vocab_size)))


def write_model(model: Any, tokenizer: Tokenizer, info: ModelInfo, folder: Path, quantization: str) -> None:
    """Write a model, in float32 on the CPU, into a folder: config.json, model.bin and the vocabularies."""
    from ctranslate2 import specs

    writer = Writer(specs, info.model, model)
    source, target = names_of_pieces(tokenizer)
    spec = specs.TransformerSpec(writer.stack("encoder"), writer.stack("decoder"))
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    settings = spec.config
    settings.decoder_start_token, settings.add_source_eos = SPECIAL_PIECES[BOS], info.model.source_end
    settings.unk_token, settings.bos_token, settings.eos_token = (SPECIAL_PIECES[i] for i in (UNK, BOS, EOS))
    settings.layer_norm_epsilon = info.model.epsilon
    spec.validate()
    spec.optimize(quantization)
    spec.save(str(folder))


class Writer:
    """Fills the specification of a model with its weights."""

    def __init__(self, specs: Any, config: ModelConfig, model: Any) -> None:
        self.specs, self.config, self.model = specs, config, model
        self.weights = {name: weight.detach() for name, weight in model.named_parameters()}

    def array(self, name: str) -> Array:
        """A copy of a weight: quantisation works in place."""
        return np.array(self.weights[name].numpy())

    def stack(self, side: str) -> Any:
        config, specs, decodes = self.config, self.specs.transformer_spec, side == "decoder"
        kind = specs.TransformerDecoderSpec if decodes else specs.TransformerEncoderSpec
        stack = getattr(self.model, side)
        spec = kind(
            len(stack),
            config.n_heads,
            pre_norm=config.norm_position == "pre",
            activation=getattr(self.specs.Activation, ACTIVATIONS[config.activation]),
            ffn_glu=config.activation in GATED,
            rms_norm=config.norm == "rms",
            num_heads_kv=None if config.kv_heads == config.n_heads else config.kv_heads,
            rotary_dim=0 if config.positions == "rotary" else None,
            rotary_interleave=False,
            layernorm_embedding=config.embedding_norm,
            # The attention to the source is the mean of all heads of the last layer.
            **({"alignment_heads": 0} if decodes else {}),
        )
        spec.scale_embeddings = config.scale_embeddings
        if decodes:
            is_tied = "output.weight" not in self.weights
            spec.embeddings.weight = self.array("tgt_embedding.weight")
            spec.projection.weight = self.array("tgt_embedding.weight" if is_tied else "output.weight")
            if config.output_bias:
                spec.projection.bias = self.array("output.bias")
        else:
            shared = config.tied_embeddings == "three-way"
            spec.embeddings[0].weight = self.array("tgt_embedding.weight" if shared else "src_embedding.weight")
        if config.norm_position == "pre":
            self.norm(spec.layer_norm, f"{side}_norm")
        positions = "tgt_positions" if decodes else "src_positions"
        if config.embedding_norm:
            self.norm(spec.layernorm_embedding, f"{positions}.norm")
        if config.positions == "learned":
            spec.position_encodings.encodings = self.array(f"{positions}.table")
        elif config.positions in SINUSOIDAL:
            spec.position_encodings.encodings = sinusoids(POSITIONS, config.d_model, config.positions).numpy()
        for number, layer in enumerate(spec.layer):
            self.block(layer, f"{side}.{number}")
        return spec

    def block(self, spec: Any, name: str) -> None:
        self.attention(spec.self_attention, f"{name}.self_attention", ["qkv"])
        self.norm(spec.self_attention.layer_norm, f"{name}.around_self.norm")
        if hasattr(spec, "attention"):
            self.attention(spec.attention, f"{name}.cross_attention", ["q", "kv"])
            self.norm(spec.attention.layer_norm, f"{name}.around_cross.norm")
        self.norm(spec.ffn.layer_norm, f"{name}.around_feed_forward.norm")
        self.linear(spec.ffn.linear_1, f"{name}.feed_forward.down")
        self.linear(spec.ffn.linear_0, f"{name}.feed_forward.up")
        if self.config.activation in GATED:
            gate, beside = spec.ffn.linear_0, spec.ffn.linear_0_noact
            if self.config.bias:
                gate.bias, beside.bias = np.split(gate.bias, 2)
            gate.weight, beside.weight = np.split(gate.weight, 2)

    def attention(self, spec: Any, name: str, inputs: list[str]) -> None:
        for linear, part in zip(spec.linear, [*inputs, "out"], strict=True):
            self.linear(linear, f"{name}.{part}")

    def linear(self, spec: Any, name: str) -> None:
        spec.weight = self.array(f"{name}.weight")
        if self.config.bias:
            spec.bias = self.array(f"{name}.bias")

    def norm(self, spec: Any, name: str) -> None:
        spec.gamma = self.array(f"{name}.weight")
        if self.config.norm == "layer":
            spec.beta = self.array(f"{name}.bias") if self.config.bias else np.zeros_like(spec.gamma)
