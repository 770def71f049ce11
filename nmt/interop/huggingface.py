"""The format `hf`: folders that transformers loads with its own classes. A model flows in, and a folder flows out.

`nmt.interop.huggingface_layouts` says which class holds which model. Files are written without transformers, which only
the check needs: it compares the loaded folder with the model that it was made of.

Shapes: T length of a sequence, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from nmt.config import SearchConfig
from nmt.config.yaml12 import write_yaml
from nmt.data.tokenizer import Tokenizer
from nmt.data.tokenizer.mapped import unique_names
from nmt.decode.pytorch import TorchEngine, pad
from nmt.decode.sampling import continuations
from nmt.extras import package
from nmt.fields import require
from nmt.files import run_of, write_json
from nmt.interop.export import About, Export, Parity, lost_settings
from nmt.interop.fast_tokenizer import CONTENT, read_pieces, tokenizer_json
from nmt.interop.foreign import read_json
from nmt.interop.huggingface_layouts import SHARED, Layout, choose_layout, config_json
from nmt.model.contract import GenerativeModel, without_sources
from nmt.model.decoder_only import DecoderOnly
from nmt.text.normalise import tidy
from nmt.translation.model_folder import ModelInfo
from nmt.vocabulary import BOS, EOS, PAD, SPECIAL_PIECES, UNK

QUANTIZATIONS = ("float32", "float16", "bfloat16")
TEMPLATES = {  # what a model reads, by its family and what it was trained for
    ("encoder-decoder", "translation"): f"{CONTENT} </s>",
    ("encoder-decoder", "denoise"): f"{CONTENT} </s>",
    ("decoder-only", "translation"): f"<s> {CONTENT} </s> <s>",
    ("decoder-only", "lm"): f"<s> {CONTENT}",
}
TASKS = {"translation": "translation", "denoise": "text2text-generation", "lm": "text-generation"}
MOST_DIFFERENCE = 1e-4  # of logits, with float32 weights
MOST_PIECES = 60  # that greedy search writes
BATCH = 16
Ids = list[int]


def obstacles(info: ModelInfo, tokenizer: Tokenizer | None = None) -> list[str]:
    layout, found = choose_layout(info.model, info.objective)
    if tokenizer is None:
        return found
    sizes = tokenizer.src_vocab_size, tokenizer.tgt_vocab_size
    if sizes[0] != sizes[1] and layout.name != "MarianMTModel":
        found.append(f"vocabularies of {sizes[0]} and {sizes[1]} pieces ({layout.name}: of equal size)")
    if not tokenizer.mapped and tokenizer.languages.before_target:
        found.append("languages that are told by pieces before the source (export it for ctranslate2)")
    return found


def write(export: Export, folder: Path) -> None:
    layout, _ = choose_layout(export.model.config, export.info.objective)
    dtype = getattr(torch, export.quantization)
    tensors = layout.weights(export.model)
    stored = {name: tensor.to(dtype, copy=True).contiguous() for name, tensor in tensors.items()}
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(folder.stat().st_mode & 0o666)
    write_json(folder / "config.json", config_json(layout, export.model, export.quantization))
    write_json(folder / "generation_config.json", generation_json(layout, export.info))
    write_tokenizer(export, layout, folder)


def generation_json(layout: Layout, info: ModelInfo) -> dict[str, Any]:
    """The search settings of the model, for `generate`. Pieces that search never writes are suppressed."""
    never = [BOS, PAD] if info.search.allow_unk else [UNK, BOS, PAD]
    common: dict[str, Any] = {**SHARED, "suppress_tokens": never}
    if info.objective == "lm":
        return common | {"do_sample": True, "max_new_tokens": 200}
    if layout.family == "encoder-decoder":
        common |= {"decoder_start_token_id": BOS, "forced_eos_token_id": None}
    search = info.search
    common |= {"num_beams": search.beam_size, "no_repeat_ngram_size": search.no_repeat_ngram}
    common |= {"repetition_penalty": search.repetition_penalty, "min_new_tokens": search.min_length}
    common |= {"max_new_tokens": search.max_length or 256}  # `generate` knows no share of the source
    # With length_norm average both divide by the length to this power; transformers has no other norm.
    beams = {"early_stopping": False, "length_penalty": search.length_penalty}
    return common | (beams if search.beam_size > 1 else {})


def write_tokenizer(export: Export, layout: Layout, folder: Path) -> None:
    """tokenizer.json, and its settings. An encoder–decoder also has the files of Marian's tokenizer, which is the one
    that is used if both languages have their own."""
    tokenizer, objective = export.tokenizer, export.info.objective
    names = {f"{name}_token": SPECIAL_PIECES[i] for name, i in (("unk", UNK), ("eos", EOS), ("pad", PAD))}
    longest = layout.settings(export.model.config)["max_position_embeddings"]
    common = {**names, "clean_up_tokenization_spaces": False, "model_max_length": longest}
    if tokenizer.joint and not tokenizer.mapped:
        write_json(folder / "tokenizer.json", tokenizer_json(tokenizer, TEMPLATES[layout.family, objective]))
        common |= {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": SPECIAL_PIECES[BOS]}
        common |= {"split_special_tokens": True}  # a literal </s> in a text is text
        common |= {"padding_side": "left"} if layout.family == "decoder-only" else {}
        common |= {"model_input_names": ["input_ids", "attention_mask"]}
    else:
        common |= {"tokenizer_class": "MarianTokenizer", "separate_vocabs": not tokenizer.joint}
    if layout.family == "encoder-decoder":
        common |= {"source_lang": export.info.source, "target_lang": export.info.target}
        write_marian_tokenizer(tokenizer, folder, shared=export.model.config.tied_embeddings == "three-way")
    write_json(folder / "tokenizer_config.json", common)
    # llama.cpp reads tokenizer.model, but it takes every such model for BPE.
    if layout.model_type == "llama" and read_pieces(tokenizer.source.serialized_model_proto())[1]:
        (folder / "tokenizer.model").write_bytes(tokenizer.source.serialized_model_proto())


def write_marian_tokenizer(tokenizer: Tokenizer, folder: Path, *, shared: bool) -> None:
    """The SentencePiece models and the ids of their pieces. Without shared embeddings, a model of Marian has two
    vocabularies, even if they are equal."""
    for name, model in (("source", tokenizer.source), ("target", tokenizer.target)):
        (folder / f"{name}.spm").write_bytes(model.proto if tokenizer.mapped else model.serialized_model_proto())
    for name, model in {"vocab": tokenizer.source, **({} if shared else {"target_vocab": tokenizer.target})}.items():
        names = unique_names([model.id_to_piece(i) for i in range(model.vocab_size())])
        write_json(folder / f"{name}.json", {piece: i for i, piece in enumerate(names)})


@dataclass(frozen=True)
class TransformersModel:
    """A model of transformers, with its tokenizer."""

    model: Any
    tokenizer: Any

    @classmethod
    def load(cls, folder: Path, layout: Layout) -> "TransformersModel":
        """Raises ValueError if transformers finds weights missing, or more than it knows."""
        transformers = package("transformers", "transformers")
        logging, kind = transformers.utils.logging, getattr(transformers, layout.auto)
        bars = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            model, found = kind.from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
        finally:
            if bars:
                logging.enable_progress_bar()
        wrong = {name: sorted(keys) for name, keys in found.items() if keys}
        require(not wrong, f"transformers doesn't load the exported weights as they are: {wrong}")
        require(type(model).__name__ == layout.name, f"transformers took {type(model).__name__}, not {layout.name}")
        return cls(model.eval(), transformers.AutoTokenizer.from_pretrained(folder))

    @torch.inference_mode()
    def write(self, inputs: Sequence[Ids], most: int, beams: int = 1) -> list[Ids]:
        """What `generate` writes, at most so many pieces, without EOS."""
        written = list[Ids]()
        for start in range(0, len(inputs), BATCH):
            rows, side = [torch.tensor(ids) for ids in inputs[start : start + BATCH]], self.tokenizer.padding_side
            batch = pad_sequence(rows, batch_first=True, padding_value=PAD, padding_side=side)
            options = {"num_beams": beams, "do_sample": False, "no_repeat_ngram_size": 0}
            plain = {"repetition_penalty": 1.0, "min_new_tokens": 0, "attention_mask": (batch != PAD).long()}
            output = self.model.generate(input_ids=batch, **options, **plain, max_new_tokens=most)
            first = 1 if self.model.config.is_encoder_decoder else batch.size(1)
            written += [row[: row.index(EOS)] if EOS in row else row for row in output[:, first:].tolist()]
        return written

    def logits(self, ids: Ids, target: Ids) -> Tensor:
        """The logits (T, V) of the pieces after each piece of `target`, which `ids` come before: as a source, or in the
        same sequence."""
        if self.model.config.is_encoder_decoder:
            output = self.model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([target]))
        else:
            output = self.model(input_ids=torch.tensor([ids + target]))
        return output.logits[0, -len(target) :]


@torch.inference_mode()
def check(export: Export, folder: Path, lines: Sequence[str]) -> Parity:
    """The largest difference of logits, and whether greedy search writes the same. ValueError if float32 weights give
    anything else than the model does."""
    layout, _ = choose_layout(export.model.config, export.info.objective)
    exported, template = TransformersModel.load(folder, layout), TEMPLATES[layout.family, export.info.objective]
    before, after = (list(map(SPECIAL_PIECES.index, names.split())) for names in template.split(CONTENT))
    before = [*before, *export.tokenizer.starts()[0]]
    texts = export.tokenizer.encode_source([tidy(line) for line in lines])
    longest = exported.tokenizer.model_max_length - len(before) - len(after) - MOST_PIECES
    kept = [(line, ids) for line, ids in zip(lines, texts, strict=True) if 0 < len(ids) <= longest]
    require(bool(kept), f"none of the {len(lines)} lines fits into the {longest} pieces that can be compared")
    texts = [ids for _, ids in kept]
    inputs = [[*before, *ids, *after] for ids in texts]
    # Marian's tokenizer takes the piece of a language from the text.
    tags = export.tokenizer.languages.starts()[0]
    found = [exported.tokenizer(" ".join([*tags, line]))["input_ids"] for line, _ in kept]
    alike = sum(ids == given for ids, given in zip(found, inputs, strict=True))
    engine = TorchEngine.make([cast(GenerativeModel, export.model)]).begun(*export.tokenizer.starts())
    written = greedy(engine, texts, export.info)
    each = zip(texts, inputs, written, strict=True)
    largest = max(largest_difference(engine, exported, *sentence, export.info) for sentence in each)
    equal = sum(a == b for a, b in zip(written, exported.write(inputs, MOST_PIECES), strict=True))
    same = f"Greedy search writes the same for {equal:,} of {len(kept):,} sentences"
    if export.quantization == "float32":
        problem = f"{same}, and logits differ by up to {largest:.1e}"
        advice = f"equality for all, and at most {MOST_DIFFERENCE:.0e}, is needed"
        is_right = largest <= MOST_DIFFERENCE and equal == len(kept)
        require(is_right, f"the exported model gives something else than nmt: {problem}; {advice}")
    tokens = f"The tokenizer divides {alike:,} of {len(kept):,} sentences in the same way."
    return Parity("logits", largest, len(kept), (f"{same}.", tokens))


def greedy(engine: TorchEngine, texts: list[Ids], info: ModelInfo) -> list[Ids]:
    """What greedy search writes here, without EOS."""
    if info.objective != "lm":
        allow_unk = info.search.allow_unk
        options = SearchConfig(beam_size=1, max_length=MOST_PIECES, max_length_ratio=100, allow_unk=allow_unk)
        batches = (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))
        return [best.ids for batch in batches for best, *_ in engine.search(batch, options)]
    written = [list[int]() for _ in texts]
    [model] = engine.models
    steps = continuations(cast(DecoderOnly, model), texts, [MOST_PIECES] * len(texts), SearchConfig(samples=0))
    while steps.live:
        for prompt, _, piece, _ in steps.step():
            written[prompt] += [piece] if piece != EOS else []
    return written


def largest_difference(
    engine: TorchEngine, exported: TransformersModel, text: Ids, ids: Ids, target: Ids, info: ModelInfo
) -> float:
    """Of the logits here and there. `ids`: those of the text with the special pieces around them."""
    if info.objective == "lm":
        source, shared, read = without_sources(1, engine.device), [], ids
    else:
        # The last piece before the target begins it, in the same sequence; an encoder–decoder has no such piece.
        shared = ids if exported.model.config.is_encoder_decoder else ids[:-1]
        source, read = pad([text], engine.device), [BOS, *target]
    our_TV = engine.decoder(*source, torch.tensor([read]))[0]
    return float((our_TV - exported.logits(shared, read)).abs().max())


def about(export: Export) -> About:
    layout, _ = choose_layout(export.model.config, export.info.objective)
    notes = [f"transformers loads it as {layout.name}; there is no code in this folder."]
    if layout.family == "encoder-decoder":
        longest = layout.settings(export.model.config)["max_position_embeddings"]
        notes.append(f"A text may have at most {longest:,} pieces.")
    if export.info.objective != "lm":
        most = generation_json(layout, export.info)["max_new_tokens"]
        notes.append(f"`generate` writes at most {most:,} pieces, however long the source is.")
        notes += lost_settings(export.info.search, ("length_norm", "samples"))
    if not export.tokenizer.joint or export.tokenizer.mapped:
        notes.append("The tokenizer doesn't tidy text: give it text in Unicode's form NFC, without control characters.")
    new = "[:, batch['input_ids'].size(1) :]" if layout.family == "decoder-only" else ""  # without the prompt
    return About("transformers 5", GENERATE.format(auto=layout.auto, new=new), tuple(notes), header(export))


GENERATE = """
import sys
from transformers import AutoTokenizer, {auto}

tokenizer, model = AutoTokenizer.from_pretrained("."), {auto}.from_pretrained(".")
batch = tokenizer([line.strip() for line in sys.stdin], return_tensors="pt", padding=True)
ids = model.generate(**batch){new}
print(*tokenizer.batch_decode(ids, skip_special_tokens=True), sep="\\n")
"""


def header(export: Export) -> str:
    """The metadata of a model card on the Hub: YAML between two lines."""
    info = export.info
    card: dict[str, Any] = {
        "language": list(dict.fromkeys((info.source, info.target))),
        "license": info.licence or "unknown",
        "library_name": "transformers",
        "pipeline_tag": TASKS[info.objective],
        "tags": ["nmt"],
    }
    results = list(test_results(export))
    if results:
        card |= {"metrics": sorted({metric["type"] for result in results for metric in result["metrics"]})}
        card |= {"model-index": [{"name": f"{info.corpus}-{info.source}-{info.target}", "results": results}]}
    return f"---\n{write_yaml(card)}---\n\n"


def test_results(export: Export) -> Iterator[dict[str, Any]]:
    """The scores of each test set in the report of the model's run, as model cards have them; none without a report."""
    report = read_json(run_of(export.folder) / "report.json")
    for name, test in report.get("tests", {}).items():
        metrics = [
            {"type": key, "value": test[key], "name": title, "args": {"signature": test.get(f"{key}_signature", "")}}
            for key, title in (("bleu", "BLEU"), ("chrf", "chrF"))
            if key in test
        ]
        if metrics:
            dataset = {"name": f"{report['corpus']}, {name}", "type": report["corpus"], "split": name}
            yield {"task": {"type": "translation"}, "dataset": dataset, "metrics": metrics}
