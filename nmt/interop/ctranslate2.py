"""The format of CTranslate2: the weights of a translator flow in; its model folder flows out.

Its translator runs encoder–decoders. Of decoder-only models, its generator continues `<s> source </s> <s> target`.
The weights keep their values. Layers that share a block get copies of it (the file has them once). The factor of
DeepNorm's residual moves into the weights: norm(α x + f(x)) is norm(x + f(x) / α), apart from the epsilon of the norm.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt.config import ModelConfig
from nmt.data.tokenizer import Tokenizer
from nmt.data.tokenizer.mapped import SOURCE, TARGET
from nmt.decode.ctranslate2 import POSITIONS, longest_sequence
from nmt.decode.engine import IdPair, Ids
from nmt.decode.hypothesis import forbidden_ids, longest_output
from nmt.extras import package
from nmt.interop.export import About, Export, Parity
from nmt.interop.parity import GREEDY, compare
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

    def greedy(sources: Sequence[Ids]) -> list[list[int]]:
        return [best.ids for best, *_ in engine.search(sources, GREEDY)]

    return compare(export, greedy, engine.score, lines, engine.precision)


class GeneratorRunner:
    """A decoder-only translator that was exported, as the comparison calls it."""

    def __init__(self, folder: Path, tokenizer: Tokenizer) -> None:
        library = package("ctranslate2", "ctranslate2")
        self.generator: Any = library.Generator(str(folder), device="cpu", intra_threads=1)
        self.precision = str(self.generator.compute_type)
        self.names = names_of_pieces(tokenizer)[1]
        self.number = {name: i for i, name in enumerate(self.names)}

    def pieces(self, ids: Ids) -> list[str]:
        return [self.names[i] for i in ids]

    def greedy(self, sources: Sequence[Ids]) -> list[list[int]]:
        translations = []
        for source in sources:
            [result] = self.generator.generate_batch(
                [self.pieces([BOS, *source, EOS, BOS])],
                max_length=longest_output(len(source), GREEDY, None),
                include_prompt_in_result=False,
                sampling_topk=1,
                suppress_sequences=[[self.names[i]] for i in forbidden_ids(GREEDY)],
            )
            translations.append([self.number[piece] for piece in result.sequences[0]])
        return translations

    def score(self, pairs: Sequence[IdPair]) -> list[list[float]]:
        sequences = [self.pieces([BOS, *source, EOS, BOS, *target, EOS]) for source, target in pairs]
        results = self.generator.score_batch(sequences, max_batch_size=32)
        scored = zip(results, pairs, strict=True)
        return [list(result.log_probs)[len(result.log_probs) - len(target) - 1 :] for result, (_, target) in scored]


def about(export: Export) -> About:
    runtime, most = (
        f"CTranslate2 {package('ctranslate2', 'ctranslate2').__version__}",
        longest_sequence(export.info.model),
    )
    if isinstance(export.model, PromptedModel):
        notes = (f"A source and its translation have at most {most - 4:,} pieces together.",) if most else ()
        return About(runtime, GENERATE, notes)
    notes = (f"A source, or a translation, has at most {most - 1:,} pieces.",) if most else ()
    files = ("joint.model", "joint.model") if export.tokenizer.joint else ("source.model", "target.model")
    before, after = export.tokenizer.languages.starts()
    first = f"{before} + " if before else "", f", target_prefix=[{after}]" if after else "", "[1:]" if after else ""
    return About(runtime, USAGE.format(*((SOURCE, TARGET) if export.tokenizer.mapped else files), *first), notes)


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
GENERATE = """
import ctranslate2
from sentencepiece import SentencePieceProcessor

text = SentencePieceProcessor(model_file="joint.model")
generator = ctranslate2.Generator(".")
prompt = ["<s>", *text.encode(input(), out_type=str), "</s>", "<s>"]
never = [["<unk>"], ["<s>"], ["<pad>"]]  # pieces that are never written
[result] = generator.generate_batch(
    [prompt], sampling_topk=1, include_prompt_in_result=False, max_length=2 * len(prompt), suppress_sequences=never
)
print(text.decode(result.sequences[0]))
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
            layernorm_embedding=config.embedding_norm,
            **(of_decoder if decodes else {}),
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
        self.positions(spec, "tgt_positions" if decodes else "src_positions")
        for layer, number in zip(spec.layer, stack.order, strict=True):
            self.block(layer, f"{side}.{number}", 1 / stack[number].around_self.alpha)
        return spec

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
            gate, beside = spec.ffn.linear_0, spec.ffn.linear_0_noact
            if self.config.bias:
                gate.bias, beside.bias = np.split(gate.bias, 2)
            gate.weight, beside.weight = np.split(gate.weight, 2)

    def attention(self, spec: Any, name: str, inputs: list[str], factor: float) -> None:
        for linear, part in zip(spec.linear, [*inputs, "out"], strict=True):
            self.linear(linear, f"{name}.{part}", factor if part == "out" else 1.0)

    def linear(self, spec: Any, name: str, factor: float = 1.0) -> None:
        spec.weight = self.array(f"{name}.weight", factor)
        if self.config.bias:
            spec.bias = self.array(f"{name}.bias", factor)

    def norm(self, spec: Any, name: str) -> None:
        spec.gamma = self.array(f"{name}.weight")
        if self.config.norm == "layer":
            spec.beta = self.array(f"{name}.bias") if self.config.bias else np.zeros_like(spec.gamma)
