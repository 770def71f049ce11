"""The format of transformers.js: the graphs of `nmt.interop.onnx`, with the settings and the tokenizer that browsers
and Node need. An encoder–decoder flows in; a folder flows out.

Its class for Marian runs graphs of any layers: what it reads of config.json are ids, and the sizes of keys and values.
"""

from collections.abc import Sequence
from pathlib import Path

from nmt.data.tokenizer import Tokenizer
from nmt.files import write_json
from nmt.interop import onnx
from nmt.interop.export import About, Export, Parity
from nmt.interop.fast_tokenizer import CONTENT, write_fast_tokenizer
from nmt.translation.model_folder import ModelInfo
from nmt.vocabulary import BOS, EOS, PAD, SPECIAL_PIECES, UNK

QUANTIZATIONS = ["float32"]
GRAPHS = "onnx"  # the folder that transformers.js looks for graphs in
IDS = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD, "decoder_start_token_id": BOS}


def obstacles(info: ModelInfo, tokenizer: Tokenizer | None = None) -> list[str]:
    found = onnx.obstacles(info, tokenizer)
    if tokenizer is not None and (tokenizer.mapped or not tokenizer.joint):
        found.append("a tokenizer of another library" if tokenizer.mapped else "tokenizer.joint false")
    return found


def write(export: Export, folder: Path) -> None:
    (folder / GRAPHS).mkdir()
    onnx.write(export, folder / GRAPHS)
    write_fast_tokenizer(folder, export.tokenizer, f"{CONTENT} </s>")
    names = {f"{name}_token": SPECIAL_PIECES[i] for name, i in (("unk", UNK), ("bos", BOS), ("eos", EOS), ("pad", PAD))}
    never = [BOS, PAD] if export.info.search.allow_unk else [UNK, BOS, PAD]
    generation = {**IDS, "bad_words_ids": [[i] for i in never], "max_new_tokens": 256, "num_beams": 1}
    tokenizer = {**names, "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 1024}
    config = export.info.model
    sizes = {"vocab_size": export.tokenizer.tgt_vocab_size, "d_model": config.kv_heads * config.d_head}
    sizes |= {"encoder_layers": config.encoder_layers, "encoder_attention_heads": config.kv_heads}
    sizes |= {"decoder_layers": config.decoder_layers, "decoder_attention_heads": config.kv_heads}
    head = {"model_type": "marian", "architectures": ["MarianMTModel"], "is_encoder_decoder": True}
    write_json(folder / "config.json", {**head, **IDS, **sizes})
    write_json(folder / "generation_config.json", generation)
    write_json(folder / "tokenizer_config.json", tokenizer)


def check(export: Export, folder: Path, lines: Sequence[str]) -> Parity:
    return onnx.check(export, folder / GRAPHS, lines)


def about(export: Export) -> About:
    notes = (*onnx.about(export).notes, "Only greedy search is possible: transformers.js 4 has no beam search.")
    return About("transformers.js 4", USAGE, notes)


USAGE = """
// node translate.mjs < input, in a folder with @huggingface/transformers; this one is its sub-folder "exported"
import { readFileSync } from "node:fs";
import { env, pipeline } from "@huggingface/transformers";

env.allowRemoteModels = false;
env.localModelPath = ".";
const translate = await pipeline("translation", "exported", { dtype: "fp32" });
for (const line of readFileSync(0, "utf8").trimEnd().split("\\n")) {
  const [{ translation_text }] = await translate(line);
  console.log(translation_text);
}
"""
