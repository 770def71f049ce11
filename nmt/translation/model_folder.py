"""The model folder: a translator (or another model) on disk, in files without code: JSON, safetensors, SentencePiece.

config.json (settings, languages, vocabulary sizes), model.safetensors, shortlist.safetensors (optional), the
SentencePiece model(s), words.txt (optional: `nmt.text.words`), README.md (the model card), and SHA256SUMS.
"""

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
from torch import Tensor

from nmt.config import ModelConfig, ObjectiveName, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.shortlist import Shortlist
from nmt.extras import typed
from nmt.fields import NotNegative, Probability, Range, Size, check_bounds, read_value, require
from nmt.files import SUMS, check_sums, model_in, whole_folder
from nmt.model.build import build_model
from nmt.model.contract import Model
from nmt.model.weights import fill, read_tensors, require_fitting, write_tensors
from nmt.upgrade import FORMAT, take_format, upgrade_model_info
from nmt.version import __version__

SHORTLIST = "shortlist.safetensors"
TAKE = "nmt.translate, nmt.evaluate and nmt.serve take"  # other commands don't
EXPORTED = "nmt.json"  # in a folder that was exported for another library: its config.json, with our contents


@dataclass(frozen=True)
class Facts:
    """Numbers that training measures, and that translation needs, besides the weights."""

    longest_source: Size = 200
    """Pieces of the longest source of the training text."""

    least_confidence: Probability = 0.0
    """Translations with a lower confidence are flagged "unsure": at least half of such translations of validation
    sentences are poor (see `nmt.training.delivery.unsure_below`); in models of older versions 1 in 200 of all are."""

    usual_sentences: Size = 1
    """Lines with more sentences are translated sentence by sentence: at least 1 in 100 training sources has so many. 1
    for models of older versions: a lost sentence is worse than one without the context of the others."""

    final_mark: str = ""
    """The mark at the end of nearly all training sources, such as a full stop: lines without one get it. Empty if many
    sources have none, and for models of older versions."""

    least_spelling: NotNegative = 0.0
    """A word that training didn't have, that isn't in the translation, and that has fewer letters a piece, is flagged
    "unknown": in 1 of 200 validation sentences."""

    length_ratio: Annotated[float, Range(0, open="least")] = 1.0
    """The characters of translations for one of their sources, in the validation text; 1 for older versions."""

    least_known: Probability = 0.0
    """A line is flagged "unknown" if training had a smaller share of its words: in 1 of 200 validation sentences."""

    def __post_init__(self) -> None:
        check_bounds("facts", self)


@dataclass(frozen=True)
class ModelInfo:
    """The contents of config.json, without the format number and the vocabulary sizes."""

    source: str
    target: str
    """The same as the source if the model has learned texts in one language."""

    corpus: str
    model: ModelConfig
    search: SearchConfig
    facts: Facts = Facts()
    version: str = __version__
    objective: ObjectiveName = "translation"
    """What the model was trained for."""
    origin: str = ""
    """Where the weights come from: a folder, or an id on the hub with its commit. Empty if they were trained here."""
    licence: str = ""
    """Licence of the model that the weights come from, such as cc-by-4.0; empty if it isn't known."""


def licence_sentence(licence: str) -> str:
    """What users must know of the licence of a model that was converted."""
    if not licence:
        return "Its licence is not known: look at the page of the model before you share it."
    limits = "-nc" in licence.lower()
    return f"Its licence is {licence}{', which forbids commercial use' if limits else ''}."


def save_model(
    folder: Path,
    weights: Mapping[str, Tensor],
    tokenizer: Tokenizer,
    info: ModelInfo,
    card: str,
    shortlist: Shortlist | None = None,
) -> None:
    sizes = {"src_vocab_size": tokenizer.src_vocab_size, "tgt_vocab_size": tokenizer.tgt_vocab_size}
    config = json.dumps({"format": FORMAT, **asdict(info), **sizes}, indent=2, ensure_ascii=False)
    with whole_folder(folder) as draft:
        (draft / "config.json").write_text(config + "\n", encoding="utf8")
        write_tensors(draft / "model.safetensors", {name: tensor.float() for name, tensor in weights.items()})
        if shortlist:
            write_tensors(draft / SHORTLIST, asdict(shortlist))
        tokenizer.save(draft)
        (draft / "README.md").write_text(card, encoding="utf8")


def load_model(folder: Path, device: str | torch.device = "cpu") -> tuple[Model, Tokenizer, ModelInfo]:
    """Check and load the model in a model or run folder, for evaluation; ValueError if a file is missing or damaged."""
    model, tokenizer, info, load_weights = open_model(folder)
    load_weights(model)
    return model.to(device), tokenizer, info


def open_model(folder: Path) -> tuple[Model, Tokenizer, ModelInfo, Callable[[Model], None]]:
    """As `load_model`, with an empty model (on the device "meta"), and what gives such a model its weights: their file
    is open until then."""
    folder = require_model(folder)
    check_sums(folder, "config.json", "model.safetensors")
    tokenizer = Tokenizer.load(folder)
    info, saved_sizes = read_info(folder / "config.json")
    for name, saved in saved_sizes.items():
        size = getattr(tokenizer, name)
        require(saved == size, f"{folder / 'config.json'}: {name} is {saved!r}, but the tokenizer has {size} pieces")
    tensors = read_tensors(folder / "model.safetensors")
    model = empty_model(info.model, tokenizer, tensors, folder)

    def load_weights(empty: Model) -> None:
        dtype = next(empty.parameters()).dtype
        fill(empty, tensors, folder)
        finite = all(bool(torch.stack(weight.aminmax()).isfinite().all()) for weight in empty.parameters())
        require(finite, f"the weights in {folder} are not all numbers: they are damaged, or training diverged")
        empty.to(dtype)  # also the tables of positions

    return model.eval(), tokenizer, info, load_weights


def empty_model(config: ModelConfig, tokenizer: Tokenizer, tensors: Mapping[str, Tensor], origin: Path) -> Model:
    """A model on the device "meta"; ValueError if these weights, which are in `origin`, don't fit its settings."""
    try:
        with torch.device("meta"):
            model = build_model(config, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
    except RuntimeError as error:
        raise ValueError(f"the settings in {origin} are of a model that no machine can hold: {error}") from error
    require_fitting(model, tensors, origin)
    return model


def require_model(folder: Path) -> Path:
    """The model folder that is given, or that of a run folder. Raises ValueError if there is none."""
    require(folder.is_dir(), f"{folder}: there is no such folder{instead_of(folder)}")
    unfinished = any((folder / name).exists() for name in ("config.yaml", "checkpoints"))
    folder = model_in(folder)
    problem = f"{folder} was exported for another library: if that is CTranslate2, {TAKE} it with --backend ctranslate2"
    require(not (folder / EXPORTED).is_file(), problem)
    hint = " (its training has not finished)" if unfinished else ""
    if not hint and "model_type" in read_config(folder / "config.json"):
        hint = f"; convert this model of transformers first: {typed('convert')} {folder} OUT"
    is_adapter = (folder / "adapter_config.json").is_file() and not (folder / "config.json").is_file()
    require(not is_adapter, f"{folder} is an adapter: {TAKE} it with --adapter")
    for name in ("config.json", SUMS):
        require((folder / name).is_file(), f"{folder} is not a model folder: it has no {name}{hint}")
    return folder


def instead_of(folder: Path) -> str:
    """What the user of a folder that isn't there may have meant: a folder with a similar name beside it, or a model of
    the hub."""
    try:
        beside = [path.name for path in folder.parent.iterdir() if path.is_dir()]
    except OSError:  # there is no such folder either, or it may not be listed
        beside = []
    if near := difflib.get_close_matches(folder.name, beside, n=1):
        return f": did you mean {folder.with_name(near[0])}?"
    is_id = not beside and re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", str(folder))
    return f"; if it is a model on the hub, convert it first: {typed('convert')} {folder} OUT" if is_id else ""


def settings_file(folder: Path) -> Path:
    """The file with the contents of config.json, in a model folder or an exported one."""
    return folder / (EXPORTED if (folder / EXPORTED).is_file() else "config.json")


def read_config(file: Path) -> dict[str, Any]:
    """A model's config.json, of any library; empty if it can't be read, or is no file, such as /dev/zero."""
    try:
        config = json.loads(file.read_text(encoding="utf8") if file.is_file() else "{}")
    except (OSError, ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


def read_info(file: Path) -> tuple[ModelInfo, dict[str, Any]]:
    """Read config.json: the info and the vocabulary sizes. ValueError if it is invalid, or of a newer nmt."""
    try:
        raw = json.loads(file.read_text(encoding="utf8"))
        raw = upgrade_model_info(raw, take_format(raw, file))
        sizes = {name: raw.pop(name) for name in ("src_vocab_size", "tgt_vocab_size")}
        info = read_value(raw, ModelInfo)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{file} can't be read by nmt {__version__}: {error}") from error
    return info, sizes


def load_shortlist(folder: Path, tokenizer: Tokenizer) -> Shortlist | None:
    """The shortlist of a model folder, if it has one; ValueError if it is damaged."""
    if not (folder / SHORTLIST).is_file():
        return None
    # An older nmt wrote frequent pieces, too.
    ids = read_tensors(folder / SHORTLIST).get("candidates_UC", torch.empty(0))
    fits = ids.dtype == torch.int32 and ids.dim() == 2 and len(ids) == tokenizer.src_vocab_size and ids.numel() > 0
    fits = fits and int(ids.min()) >= 0 and int(ids.max()) < tokenizer.tgt_vocab_size
    require(fits, f"{folder / SHORTLIST} doesn't fit the model: it is damaged, or another model's")
    return Shortlist(ids)


KINDS = {"translation": "translator", "lm": "language model", "pair": "pair scorer"}
USES = {
    "translation": f"translate with {typed('translate')}",
    "lm": "continue text with nmt.generate, or start a decoder-only translator from it (training.start_from)",
    "mlm": "start other models from its encoder (training.start_from)",
    "denoise": "start a translator from it (training.start_from)",
    "pair": "it estimates the quality of translations (--scorer), and filters training pairs (data.scorer)",
}


def require_objective(info: ModelInfo, folder: Path | str, objective: ObjectiveName = "translation") -> None:
    """Raise ValueError if a model was trained for something else."""
    problem = f"the model in {folder} is no {KINDS[objective]}: it was trained with training.objective {info.objective}"
    require(info.objective == objective, f"{problem}, not {objective}; {USES[info.objective]}")
