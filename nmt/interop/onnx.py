"""The format ONNX: an encoder–decoder flows in; a graph of its encoder and one of its decoder flow out.

The graphs have the names of Hugging Face's optimum. The decoder graph takes any number of new target pieces, with the
keys and values of the past, which may have length 0: it is the graph of the first step too. The keys and values of the
source are made from the part of `encoder_hidden_states` that the past lacks: all in the first step, then nothing.

Shapes: B batch, S source length, T new target length, P past length, E source positions of the past (0 or S), H heads,
K key–value heads, D head width, M model width, V target vocabulary.
"""

import logging
import warnings
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nmt.data.tokenizer import Tokenizer
from nmt.data.tokenizer.languages import Languages
from nmt.decode.ctranslate2 import POSITIONS
from nmt.decode.engine import IdPair, Ids
from nmt.decode.hypothesis import FORBIDDEN_IDS, longest_output
from nmt.extras import package
from nmt.interop.ctranslate2 import tokenizer_files
from nmt.interop.export import GREEDY, About, Export, Parity, compare
from nmt.model.cache import MASKED
from nmt.translation.model_folder import ModelInfo
from nmt.vocabulary import BOS, EOS

QUANTIZATIONS = ["float32", "int8"]
EXPRESSIBLE: dict[str, Sequence[Any]] = {
    "family": ["encoder-decoder"],
    "source_end": [True],  # the decoder graph is given the mask, and no ids
}
ENCODER, DECODER = "encoder_model.onnx", "decoder_model_merged.onnx"
# The past of a layer: keys and values (B, K, P, D) of the target, and (B, K, E, D) of the source.
KINDS = ("decoder.key", "decoder.value", "encoder.key", "encoder.value")
LARGEST = 1 << 30  # bytes of weights above which a graph has them in a file of its own


def obstacles(info: ModelInfo, tokenizer: Tokenizer | None = None) -> list[str]:
    values = {name: getattr(info.model, name) for name in EXPRESSIBLE}
    found = [f"model.{name} {value}" for name, value in values.items() if value not in EXPRESSIBLE[name]]
    known = tokenizer.languages if tokenizer else Languages()
    return [*found, "languages that the model must be told"] if known.several else found


class Graph(nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model


class EncoderGraph(Graph):
    """Ids and mask (B, S), 1 at real positions → the encoder's states (B, S, M)."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        model, place_S = self.model, torch.arange(input_ids.size(1))
        x_BSM = model.embed(input_ids, model.src_embedding, model.src_positions, place_S)
        return model.encoder_norm(model.encoder(x_BSM, hide(attention_mask)))


class DecoderGraph(Graph):
    """New target ids (B, T), the source's mask and states, and the past of each layer → logits (B, T, V), and the past
    with the new positions."""

    def forward(
        self, input_ids: Tensor, encoder_attention_mask: Tensor, encoder_hidden_states: Tensor, past: list[Any]
    ) -> tuple[Tensor, list[list[Tensor]]]:
        model, n_past = self.model, past[0][0].size(2)
        place_T, place_L = torch.arange(input_ids.size(1)) + n_past, torch.arange(input_ids.size(1) + n_past)
        x_BTM = model.embed(input_ids, model.tgt_embedding, model.tgt_positions, place_T)
        mask_TL = torch.where(place_L[None] <= place_T[:, None], 0.0, MASKED)
        source_mask = hide(encoder_attention_mask)
        new_BEM, present = encoder_hidden_states[:, past[0][2].size(2) :], list[list[Tensor]]()
        for block, (keys, values, source_keys, source_values) in zip(model.decoder, past, strict=True):
            added = block.cross_attention.keys_values(new_BEM)
            source = [torch.cat(pair, 2) for pair in zip((source_keys, source_values), added, strict=True)]
            kv = list[Tensor]()

            def attend(x: Tensor, layer: Any = block.self_attention, past: Any = (keys, values), kv: Any = kv) -> Any:
                q, k, v = layer.heads(x, place_T)
                kv += [torch.cat(pair, 2) for pair in zip(past, (k, v), strict=True)]
                return layer.attend(q, *kv, mask_TL, None)

            def look(x: Tensor, layer: Any = block.cross_attention, source: Any = source) -> Tensor:
                q = layer.q(x).unflatten(2, (-1, layer.sizes[2])).transpose(1, 2)
                return layer.attend(layer.q_norm(q) if layer.qk_norm else q, *source, source_mask, None)

            x_BTM = block.around_cross(block.around_self(x_BTM, attend), look)
            x_BTM = block.around_feed_forward(x_BTM, block.feed_forward)
            present.append([*kv, *source])
        return model.output(model.decoder_norm(x_BTM)), present


def hide(mask_BS: Tensor) -> Tensor:
    """The additive mask (B, 1, 1, S) of padding, from 1 at real positions."""
    return (1.0 - mask_BS[:, None, None].float()) * MASKED


def write(export: Export, folder: Path) -> None:
    model: Any = deepcopy(export.model)
    model.reserve(POSITIONS)
    # The sizes that may differ from call to call.
    size: dict[str, Any] = {name: torch.export.Dim(name, max=POSITIONS) for name in ("S", "T", "P", "E")}
    size["B"] = torch.export.Dim("batch_size")
    names, ids_BS = ["input_ids", "attention_mask"], torch.full((2, 3), EOS)
    shapes = tuple({0: size["B"], 1: size["S"]} for _ in names)
    arguments = (ids_BS, torch.ones_like(ids_BS))
    save(EncoderGraph(model), arguments, shapes, (names, ["last_hidden_state"]), folder / ENCODER)
    write_decoder(model, size, folder / DECODER)
    if export.quantization == "int8":
        quantise(folder)


def quantise(folder: Path) -> None:
    """Give the graphs weights of 8 bits; inputs of products are quantised as they come (dynamic quantisation)."""
    library = package("onnxruntime.quantization", "onnx")
    for name in (ENCODER, DECODER):
        large = folder / f"float32_{name}"
        (folder / name).rename(large)
        logging.disable(logging.WARNING)  # its advice to optimise the graph first: torch.onnx has done that
        try:
            library.quantize_dynamic(large, folder / name, weight_type=library.QuantType.QInt8)
        finally:
            logging.disable(logging.NOTSET)
        large.unlink()
        (folder / f"{name}.data").unlink(missing_ok=True)  # the weights of a large graph


def write_decoder(model: Any, size: dict[str, Any], file: Path) -> None:
    config, B, S, T, P, E, layers = model.config, 2, 6, 2, 3, 4, len(model.decoder)
    past = [[torch.zeros(B, config.kv_heads, n, config.d_head) for n in (P, P, E, E)] for _ in range(layers)]
    arguments = (torch.full((B, T), BOS), torch.ones(B, S, dtype=torch.int64), torch.zeros(B, S, config.d_model), past)
    text, source = {0: size["B"], 1: size["T"]}, {0: size["B"], 1: size["S"]}
    of_past = [[{0: size["B"], 2: size[name]} for name in "PPEE"] for _ in range(layers)]
    names = [f"{layer}.{kind}" for layer in range(layers) for kind in KINDS]
    inputs = ["input_ids", "encoder_attention_mask", "encoder_hidden_states", *(f"past_key_values.{n}" for n in names)]
    outputs = ["logits", *(f"present.{n}" for n in names)]
    save(DecoderGraph(model), arguments, (text, source, source, of_past), (inputs, outputs), file)


def save(graph: nn.Module, arguments: Any, shapes: Any, names: tuple[list[str], list[str]], file: Path) -> None:
    package("onnxscript", "onnx")
    large = sum(p.numel() * p.element_size() for p in graph.parameters()) > LARGEST
    # Remarks on operators that these graphs don't have, and on names of sizes that are equal to others.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    # Without gradients, a CPU writes attention out: the other ways choose by length, which a graph can't.
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options: Any = {"dynamo": True, "dynamic_shapes": shapes, "external_data": large, "verbose": False}
        torch.onnx.export(graph.eval(), arguments, file, input_names=names[0], output_names=names[1], **options)


def check(export: Export, folder: Path, lines: Sequence[str]) -> Parity:
    graphs = Graphs(folder)
    return compare(export, graphs.greedy, graphs.score, lines, export.quantization)


class Graphs:
    """An exported folder, run by onnxruntime, sentence by sentence."""

    def __init__(self, folder: Path) -> None:
        library = package("onnxruntime", "onnx")
        options = library.SessionOptions()
        options.log_severity_level = 3
        run = partial(library.InferenceSession, sess_options=options, providers=["CPUExecutionProvider"])
        self.encoder, self.decoder = run(folder / ENCODER), run(folder / DECODER)

    def start(self, source: Ids) -> dict[str, Any]:
        """The inputs of the decoder for a source, but for the target ids."""
        ids_BS = np.array([[*source, EOS]])
        mask_BS = np.ones_like(ids_BS)
        [states] = self.encoder.run(None, {"input_ids": ids_BS, "attention_mask": mask_BS})
        past = [x for x in self.decoder.get_inputs() if x.name.startswith("past_key_values")]
        empty = {x.name: np.zeros((1, x.shape[1], 0, x.shape[3]), np.float32) for x in past}
        return {"encoder_hidden_states": states, "encoder_attention_mask": mask_BS, **empty}

    def step(self, inputs: dict[str, Any], ids: Ids) -> Any:
        """The logits (T, V) after these target ids; `inputs` get the new past."""
        logits, *past = self.decoder.run(None, {**inputs, "input_ids": np.array([ids])})
        names = [name for name in inputs if name.startswith("past_key_values")]
        inputs.update(zip(names, past, strict=True))
        return logits[0]

    def greedy(self, sources: Sequence[Ids]) -> list[list[int]]:
        found = []
        for source in sources:
            inputs, written, most = self.start(source), [BOS], longest_output(len(source), GREEDY, POSITIONS - 1)
            while written[-1] != EOS and len(written) <= most:
                logits_V = self.step(inputs, written[-1:])[-1]
                logits_V[[*FORBIDDEN_IDS]] = -np.inf
                written.append(int(logits_V.argmax()))
            found.append([i for i in written if i not in (BOS, EOS)])
        return found

    def score(self, pairs: Sequence[IdPair]) -> list[list[float]]:
        scores = []
        for source, target in pairs:
            logits_TV = torch.from_numpy(self.step(self.start(source), [BOS, *target]))
            expected_T1 = torch.tensor([*target, EOS])[:, None]
            scores.append(logits_TV.log_softmax(-1).gather(1, expected_T1)[:, 0].tolist())
        return scores


def about(export: Export) -> About:
    library, tokenizer = package("onnxruntime", "onnx"), export.tokenizer
    most = export.info.model.max_positions if export.info.model.positions == "learned" else POSITIONS
    ways = MAPPED if tokenizer.mapped else ("", "source.encode(text)", "written")
    usage = USAGE.format(*tokenizer_files(tokenizer), most - 1, BOS, EOS, FORBIDDEN_IDS, *ways)
    notes = (f"A source, or a translation, has at most {most - 1:,} pieces.",)
    return About(f"onnxruntime {library.__version__}", usage, notes)


# How text becomes ids, and ids become text, with the ids of another library.
MAPPED = (
    'import json\n\npieces = json.load(open("pieces.json", encoding="utf8"))\n'
    'sources, targets = pieces["source"], pieces["target"] or pieces["source"]\n',
    "[sources.index(p) if p in sources else 0 for p in source.encode(text, out_type=str)]",
    "[targets[i] for i in written]",
)
USAGE = """
import numpy as np
import onnxruntime
from sentencepiece import SentencePieceProcessor

source = SentencePieceProcessor(model_file="{}")
target = SentencePieceProcessor(model_file="{}")
longest, bos, eos, never = {}, {}, {}, {}
{}encoder, decoder = (
    onnxruntime.InferenceSession(name) for name in ("encoder_model.onnx", "decoder_model_merged.onnx")
)

def translate(text):
    ids = np.array([[*{}, eos]])
    mask = np.ones_like(ids)
    [states] = encoder.run(None, {{"input_ids": ids, "attention_mask": mask}})
    inputs = {{"encoder_hidden_states": states, "encoder_attention_mask": mask}}
    past = [x for x in decoder.get_inputs() if x.name.startswith("past")]
    inputs |= {{x.name: np.zeros((1, x.shape[1], 0, x.shape[3]), np.float32) for x in past}}
    written = [bos]
    while written[-1] != eos and len(written) <= min(longest, 2 * ids.shape[1] + 8):
        logits, *present = decoder.run(None, inputs | {{"input_ids": np.array([written[-1:]])}})
        inputs |= {{x.name: new for x, new in zip(past, present)}}
        logits[..., list(never)] = -np.inf  # pieces that are never written
        written.append(int(logits[0, -1].argmax()))
    written = [i for i in written if i not in (bos, eos)]
    return target.decode({})

print(translate(input()))
"""
