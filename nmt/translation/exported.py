"""Models that CTranslate2 runs: folders that nmt exported for it, and copies of our model folders, in the user's cache,
for the searches that it does faster."""

import hashlib
import os
from importlib.metadata import version
from pathlib import Path

import torch

from nmt.config import DecodingPrecision
from nmt.data.tokenizer import Tokenizer
from nmt.decode.ctranslate2 import CTranslate2Engine, longest_sequence
from nmt.decode.parallel import MOST_WORKERS
from nmt.extras import typed
from nmt.fields import require
from nmt.files import SUMS, check_sums, locked, whole_folder
from nmt.messages import print_to_stderr
from nmt.translation.ctranslate2_files import names_of_pieces, obstacles, write_model
from nmt.translation.model_folder import EXPORTED, ModelInfo, load_model, read_info
from nmt.version import __version__

COMPUTE_TYPES = {"auto": "default", "fp32": "float32", "bf16": "bfloat16", "int8": "int8"}


def load_exported(
    folder: Path, device: str, precision: DecodingPrecision
) -> tuple[CTranslate2Engine, Tokenizer, ModelInfo]:
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
            if not is_whole(copy):
                model, _, _ = load_model(folder)
                with whole_folder(copy) as draft:
                    write_model(model, tokenizer, info, draft, "float32")
        return run_exported(copy, tokenizer, info, "cpu", "int8" if precision == "int8" else "fp32")
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: the user has no home folder
        print_to_stderr(f"Note: PyTorch does all searches; CTranslate2, which is faster, can't be used: {error}")
        return None


def is_whole(copy: Path) -> bool:
    """Whether a copy is there, and not damaged."""
    try:
        check_sums(copy, "config.json", "model.bin")
    except (OSError, ValueError):
        return False
    return True
