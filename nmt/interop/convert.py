"""Conversion: a model folder of another library, or its id on the hub, flows in; a model folder of ours flows out.

To add a toolkit, write a function that reads its checkpoints, and name it in `reader_of`.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from nmt.config import DataConfig, ModelConfig
from nmt.config.yaml12 import write_yaml
from nmt.data.cleaning.cleaner import Pair
from nmt.data.corpora import load_corpus
from nmt.data.tokenizer import Tokenizer, encode_pairs
from nmt.data.tokenizer.languages import some_of
from nmt.decode.shortlist import learn_shortlist
from nmt.fields import differing, read_value, require
from nmt.files import sha256
from nmt.interop.bart import Checkpoint, Converted, assemble
from nmt.interop.foreign import DAMAGE, Foreign, licence_in, read_json, weight_files
from nmt.interop.joeynmt import read_joeynmt
from nmt.interop.opennmt import read_eole, read_opennmt
from nmt.interop.sockeye import read_sockeye
from nmt.interop.transformers import read_transformers
from nmt.translation.model_folder import ModelInfo, empty_model, licence_sentence, save_model
from nmt.version import __version__

RECIPE = "recipe.yaml"


def convert(
    path: Path,
    out: Path,
    origin: str,
    languages: tuple[str, str] = ("", ""),
    *,
    tokenizers: Sequence[str] = (),
    pairs: Sequence[Pair] | None = None,
) -> list[str]:
    """Write the model folder; return sentences about it for the user. `path`: a folder, or the file of a checkpoint;
    `languages`: the codes of source and target, or empty for those that the folder names; `tokenizers`: SentencePiece
    models, of a checkpoint that lacks them; `pairs`: those from which a shortlist is learned.

    Raises ValueError, with all settings that can't be expressed, if the model doesn't fit.
    """
    (source, target), (foreign, converted, files) = languages, read(path, origin, tokenizers)
    tokenizer, known = converted.tokenizer, converted.tokenizer.languages
    if known.several:
        tokenizer = tokenizer.between(source, target)
    info = ModelInfo(
        source or tokenizer.languages.source or str(foreign.tokenizer.get("source_lang") or "source"),
        target or tokenizer.languages.target or str(foreign.tokenizer.get("target_lang") or "target"),
        origin,
        converted.config,
        converted.search,
        origin=origin,
        licence=foreign.licence,
    )
    info = read_value(asdict(info), ModelInfo)  # as in a model folder: else what is written couldn't be loaded
    empty_model(info.model, tokenizer, converted.weights, path)
    about = describe(info, tokenizer, sum(tensor.numel() for tensor in converted.weights.values()))
    about += [*foreign.notes, *(f"{file.name} had the SHA-256 {sha256(file)}." for file in files)]
    shortlist = None
    if pairs is not None:
        shortlist = learn_shortlist(encode_pairs(tokenizer, pairs), tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
        about.append(f"Its shortlist was learned from {len(pairs):,} pairs.")
    save_model(out, converted.weights, tokenizer, info, card(info, about), shortlist)
    (out / RECIPE).write_text(recipe(info, out), encoding="utf8")
    return about


def pairs_for(corpus: str, source: str, target: str) -> Sequence[Pair]:
    """The training pairs of a corpus, for a shortlist. ValueError if they can't be read, or a language is missing."""
    require(bool(source and target), "--shortlist needs --source and --target: the languages of its corpus")
    return load_corpus(DataConfig(corpus=corpus, source=source, target=target)).train


def read(path: Path, origin: str, tokenizers: Sequence[str]) -> tuple[Foreign, Converted, Sequence[Path]]:
    """A model of any kind: its files, the model in our terms, and the files of its weights. Raises as `convert`."""
    reader = reader_of(path)
    if reader:
        folder = path if path.is_dir() else path.parent
        foreign = Foreign(folder, origin, licence_in(folder / "README.md"))
    else:
        foreign = Foreign.open(path, origin)
        require(not tokenizers, f"{origin} is a model of transformers, which has its tokenizer: leave --tokenizer out")
    try:
        if reader:
            checkpoint = reader(path, foreign)
            converted, files = assemble(foreign, checkpoint, tokenizers), checkpoint.files
        else:
            converted, files = read_transformers(foreign), weight_files(path)
    except DAMAGE as error:  # a setting has a value that no such model has, such as null or a list
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"{origin} is damaged, or its settings are not those of a model ({reason})") from error
    return foreign, converted, files


def reader_of(path: Path) -> Callable[[Path, Foreign], Checkpoint] | None:
    """What reads a file or a folder that a toolkit wrote; None if none of them wrote it."""
    folder = path if path.is_dir() else path.parent
    if (folder / "config.json").is_file():
        settings = read_json(folder / "config.json")
        require("facts" not in settings, f"{path} is a model folder of nmt already: use it as it is")
        return read_eole if "model_type" not in settings and isinstance(settings.get("model"), dict) else None
    if path.suffix == ".pt" or any(folder.glob("*.pt")):
        return read_opennmt
    if (folder / "config.yaml").is_file() and any(folder.glob("*.ckpt")):
        return read_joeynmt
    return read_sockeye if (folder / "config").is_file() and any(folder.glob("params.*")) else None


def describe(info: ModelInfo, tokenizer: Tokenizer, parameters: int) -> list[str]:
    """Sentences about a converted model."""
    known, languages = list(tokenizer.languages.before_target), f"from {info.source} to {info.target}"
    if known:
        languages = f"into {len(known)} languages ({some_of(known)}), chosen with --source and --target"
    model = f"A Transformer of {parameters:,} parameters, converted by nmt {__version__} from {info.origin}."
    return [model, f"It translates {languages}.", licence_sentence(info.licence)]


def card(info: ModelInfo, about: list[str]) -> str:
    return (
        f"# {info.source} → {info.target}, from {info.origin}\n\n{' '.join(about)}\n\n"
        "    python -m nmt.translate --model FOLDER < input\n\n"
        f"To train it further, on the sentence pairs of a corpus ({RECIPE} has its settings):\n\n"
        f"    python -m nmt.train --config FOLDER/{RECIPE} --data.corpus CORPUS\n"
    )


def recipe(info: ModelInfo, folder: Path) -> str:
    """Settings (YAML) to train the model further."""
    settings = {
        "data": {"source": info.source, "target": info.target},
        "tokenizer": {"folder": str(folder), "joint": info.model.one_vocabulary},
        "model": differing(ModelConfig, info.model),
        "training": {"start_from": str(folder)},
    }
    return f"# python -m nmt.train --config {folder / RECIPE} --data.corpus CORPUS\n{write_yaml(settings)}"
