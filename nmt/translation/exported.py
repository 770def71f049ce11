"""Folders that nmt exported for CTranslate2: read as a translator's engine, tokenizer and settings."""

from pathlib import Path

import torch

from nmt.config import DecodingPrecision
from nmt.data.tokenizer import Tokenizer
from nmt.data.tokenizer.mapped import unique_names
from nmt.decode.ctranslate2 import CTranslate2Engine, longest_sequence
from nmt.decode.parallel import MOST_WORKERS
from nmt.extras import package
from nmt.fields import require
from nmt.files import check_sums
from nmt.translation.model_folder import EXPORTED, ModelInfo, read_info

COMPUTE_TYPES = {"auto": "default", "fp32": "float32", "bf16": "bfloat16", "int8": "int8"}


def load_exported(
    folder: Path, device: str, precision: DecodingPrecision
) -> tuple[CTranslate2Engine, Tokenizer, ModelInfo]:
    """Check and load an exported folder. ValueError if it is none, or damaged, or needs what is missing."""
    require(folder.is_dir(), f"{folder}: there is no such folder")
    advice = "write one with python -m nmt.export MODEL OUT --to ctranslate2"
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
    library = package("ctranslate2", "ctranslate2")
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
    source, target = names_of_pieces(tokenizer)
    number = {piece: i for i, piece in enumerate(target)}
    return CTranslate2Engine(translator, source, target, number, longest_sequence(info.model))


def names_of_pieces(tokenizer: Tokenizer) -> tuple[list[str], list[str]]:
    """The names of the pieces of both sides, in the order of their ids; no name is there twice."""
    source = tokenizer.source_pieces(range(tokenizer.src_vocab_size))
    return unique_names(source), unique_names(tokenizer.target_pieces(range(tokenizer.tgt_vocab_size)))
