"""The format of CTranslate2: the weights of a translator flow in; its model folder flows out.

The weights keep their values. Layers that share a block get copies of it (the file has them once). The factor of
DeepNorm's residual moves into the weights: norm(α x + f(x)) is norm(x + f(x) / α), apart from the epsilon of the norm.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt.config import ModelConfig
from nmt.data.tokenizer import Tokenizer
from nmt.data.tokenizer.mapped import SOURCE, TARGET
from nmt.decode.ctranslate2 import POSITIONS, longest_sequence
from nmt.extras import package
from nmt.interop.ctranslate2_generator import USAGE as GENERATE
from nmt.interop.ctranslate2_generator import GeneratorRunner
from nmt.interop.export import About, Export, Parity
from nmt.interop.parity import compare, greedy
from nmt.model.contract import PromptedModel
from nmt.model.layers import GATED
from nmt.model.positions import FARTHEST, SINUSOIDAL, sinusoids
from nmt.translation.exported import names_of_pieces, run_exported
from nmt.translation.model_folder import ModelInfo
from nmt.vocabulary import BOS, EOS, SPECIAL_PIECES, UNK

QUANTIZATIONS = ["float32", "float16", "bfloat16", "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16"]
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH", "swiglu": "SWISH", "geglu": "GELU"}
EXPRESSIBLE: dict[str, Sequence[Any]] = {  # values of settings
    "family": ["encoder-decoder", "decoder-only"],
    "attention": ["heads"],
    "experts": [0],
    "qk_norm": [False],  # CTranslate2 has such norms, but gives other results (differences of 0.1 to 0.6 nats)
    "norm": ["layer", "rms"],
    "norm_position": ["post", "pre", "deepnorm"],
    "positions": ["sinusoidal", "fairseq", "learned", "rotary", "relative"],
    "activation": [*ACTIVATIONS],
}


Array = NDArray[np.float32]


def obstacles(info: ModelInfo, tokenizer: Tokenizer | None = None) -> list[str]:
    values = {name: getattr(info.model, name) for name in EXPRESSIBLE}
    found = [f"model.{name} {value}" for name, value in values.items() if value not in EXPRESSIBLE[name]]
    if info.model.family == "decoder-only":
        causal, translates = info.model.source_attention == "causal", info.objective == "translation"
        found += [] if causal else [f"model.source_attention {info.model.source_attention}"]
        found += [] if translates else [f"training.objective {info.objective}"]
    return found


def write(export: Export, folder: Path) -> None:
    specs = package("ctranslate2.specs", "ctranslate2")
    writer = Writer(specs, export.info.model, export.model)
    source, target = names_of_pieces(export.tokenizer)
    if isinstance(export.model, PromptedModel):
        spec = specs.TransformerDecoderModelSpec(writer.stack("decoder"))
        spec.register_vocabulary(target)
    else:
        spec = specs.TransformerSpec(writer.stack("encoder"), writer.stack("decoder"))
        spec.register_source_vocabulary(source)
        spec.register_target_vocabulary(target)
        spec.config.decoder_start_token, spec.config.add_source_eos = SPECIAL_PIECES[BOS], export.info.model.source_end
    settings = spec.config
    settings.unk_token, settings.bos_token, settings.eos_token = (SPECIAL_PIECES[i] for i in (UNK, BOS, EOS))
    settings.layer_norm_epsilon = export.info.model.epsilon
    spec.validate()
    spec.optimize(export.quantization)
    spec.save(str(folder))


def check(export: Export, folder: Path, lines: Sequence[str]) -> Parity:
    if isinstance(export.model, PromptedModel):
        runner = GeneratorRunner(folder, export.tokenizer)
        return compare(export, runner.greedy, runner.score, lines, runner.precision)
    engine = run_exported(folder, export.tokenizer, export.info).begun(*export.tokenizer.starts())
    return compare(export, partial(greedy, engine), engine.score, lines, engine.precision)


def about(export: Export) -> About:
    config, version = export.info.model, package("ctranslate2", "ctranslate2").__version__
    positions = longest_sequence(config)
    of_both = f"A source and its translation have at most {(positions or 0) - 4:,} pieces together."
    notes = f"A source, or a translation, has at most {positions - 1:,} pieces." if positions else ""
    files = ("joint.model", "joint.model") if export.tokenizer.joint else ("source.model", "target.model")
    before, after = export.tokenizer.languages.starts()
    first = f"{before} + " if before else "", f", target_prefix=[{after}]" if after else "", "[1:]" if after else ""
    if isinstance(export.model, PromptedModel):
        return About(f"CTranslate2 {version}", GENERATE, (of_both,) if positions else ())
    usage = USAGE.format(*((SOURCE, TARGET) if export.tokenizer.mapped else files), *first)
    return About(f"CTranslate2 {version}", usage, (notes,) if notes else ())


USAGE = """
import ctranslate2
from sentencepiece import SentencePieceProcessor

source = SentencePieceProcessor(model_file="{}")
target = SentencePieceProcessor(model_file="{}")
translator = ctranslate2.Translator(".")
pieces = {}source.encode(input(), out_type=str)
[result] = translator.translate_batch([pieces]{}, min_decoding_length=0, disable_unk=True)
print(target.decode(result.hypotheses[0]{}))
"""


class Writer:
    """Fills the specification of a model with its weights."""

    def __init__(self, specs: Any, config: ModelConfig, model: Any) -> None:
        self.specs, self.config, self.model = specs, config, model
        self.weights = {name: weight.detach() for name, weight in model.named_parameters()}

    def array(self, name: str, factor: float = 1.0) -> Array:
        """A copy of a weight: quantisation works in place."""
        return np.array(self.weights[name].numpy() * np.float32(factor))

    def stack(self, side: str) -> Any:
        """The encoder or the decoder."""
        config, specs, decodes = self.config, self.specs.transformer_spec, side == "decoder"
        kind = specs.TransformerDecoderSpec if decodes else specs.TransformerEncoderSpec
        stack = getattr(self.model, side)
        # The attention to the source is the mean of all heads of the last layer.
        of_decoder = {"alignment_heads": 0, "with_encoder_attention": not isinstance(self.model, PromptedModel)}
        spec = kind(
            len(stack.order),
            config.n_heads,
            pre_norm=config.norm_position == "pre",
            activation=getattr(self.specs.Activation, ACTIVATIONS[config.activation]),
            ffn_glu=config.activation in GATED,
            rms_norm=config.norm == "rms",
            num_heads_kv=None if config.kv_heads == config.n_heads else config.kv_heads,
            rotary_dim=0 if config.positions == "rotary" else None,
            rotary_interleave=False,
            relative_attention_bias=config.positions == "relative",
            qk_norm=config.qk_norm,
            layernorm_embedding=config.embedding_norm,
            **(of_decoder if decodes else {}),
        )
        spec.scale_embeddings = config.scale_embeddings
        if decodes:
            spec.embeddings.weight = self.array("tgt_embedding.weight")
            spec.projection.weight = self.array("tgt_embedding.weight" if self.is_tied else "output.weight")
            if config.output_bias:
                spec.projection.bias = self.array("output.bias")
        else:
            shared = config.tied_embeddings == "three-way"
            spec.embeddings[0].weight = self.array("tgt_embedding.weight" if shared else "src_embedding.weight")
        if config.norm_position == "pre":
            self.norm(spec.layer_norm, f"{side}_norm")
        self.positions(spec, "tgt_positions" if decodes else "src_positions")
        for layer, number in zip(spec.layer, stack.order, strict=True):
            self.block(layer, f"{side}.{number}", 1 / stack[number].around_self.alpha)
        return spec

    @property
    def is_tied(self) -> bool:
        return "output.weight" not in self.weights

    def positions(self, spec: Any, name: str) -> None:
        kind = self.config.positions
        if self.config.embedding_norm:
            self.norm(spec.layernorm_embedding, f"{name}.norm")
        if kind == "relative":
            for layer in spec.layer:
                layer.self_attention.relative_attention_bias = self.array(f"{name}.bias.table")
                layer.self_attention.relative_attention_max_distance = np.int32(FARTHEST)
        elif kind == "learned":
            spec.position_encodings.encodings = self.array(f"{name}.table")
        elif kind in SINUSOIDAL:
            spec.position_encodings.encodings = sinusoids(POSITIONS, self.config.d_model, kind).numpy()

    def block(self, spec: Any, name: str, factor: float) -> None:
        """Fill a layer with the weights of a block. `factor`: of the output of each sublayer."""
        self.attention(spec.self_attention, f"{name}.self_attention", ["qkv"], factor)
        self.norm(spec.self_attention.layer_norm, f"{name}.around_self.norm")
        if hasattr(spec, "attention"):
            self.attention(spec.attention, f"{name}.cross_attention", ["q", "kv"], factor)
            self.norm(spec.attention.layer_norm, f"{name}.around_cross.norm")
        self.norm(spec.ffn.layer_norm, f"{name}.around_feed_forward.norm")
        self.linear(spec.ffn.linear_1, f"{name}.feed_forward.down", factor)
        self.linear(spec.ffn.linear_0, f"{name}.feed_forward.up")
        if self.config.activation in GATED:
            whole, gate, beside = spec.ffn.linear_0, spec.ffn.linear_0, spec.ffn.linear_0_noact
            if self.config.bias:
                gate.bias, beside.bias = np.split(whole.bias, 2)
            gate.weight, beside.weight = np.split(whole.weight, 2)

    def attention(self, spec: Any, name: str, inputs: list[str], factor: float) -> None:
        for linear, part in zip(spec.linear, [*inputs, "out"], strict=True):
            self.linear(linear, f"{name}.{part}", factor if part == "out" else 1.0)
        if self.config.qk_norm:
            spec.q_norm.gamma, spec.k_norm.gamma = (self.array(f"{name}.{part}_norm.weight") for part in "qk")

    def linear(self, spec: Any, name: str, factor: float = 1.0) -> None:
        spec.weight = self.array(f"{name}.weight", factor)
        if self.config.bias:
            spec.bias = self.array(f"{name}.bias", factor)

    def norm(self, spec: Any, name: str) -> None:
        spec.gamma = self.array(f"{name}.weight")
        if self.config.norm == "layer":
            spec.beta = self.array(f"{name}.bias") if self.config.bias else np.zeros_like(spec.gamma)
