"""What is known of a model: a model folder or a recipe flows in, a report of its weights and settings flows out.

A report is the same for every family of models: it is made from the modules, the methods of the contract, and the
settings. A recipe is enough for it: the model is built with random weights, and no data is read.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nmt.config import Config
from nmt.config.names import flatten
from nmt.config.recipes import find_recipe, load_config, read_settings
from nmt.fields import require
from nmt.files import model_in
from nmt.model.blocks import Stack
from nmt.model.build import build_model
from nmt.model.contract import GenerativeModel, Model
from nmt.translation.model_folder import load_model
from nmt.upgrade import take_format
from nmt.vocabulary import SPECIAL_PIECES

USUAL_PIECES = 8000  # of a recipe whose tokenizer.vocab_size is auto


@dataclass(frozen=True)
class Weight:
    """A tensor of weights."""

    name: str
    shape: tuple[int, ...]
    parameters: int
    """0 if the tensor is tied: it is counted where it comes first."""
    tied_to: str | None
    """The name under which the same tensor comes first."""


@dataclass(frozen=True)
class Part:
    """Weights of a part of the model; its blocks, which have equal shapes, are one entry."""

    name: str
    blocks: tuple[int, ...]
    """The numbers of the blocks, from 1; empty for weights outside of blocks."""
    weights: tuple[Weight, ...]
    """Those of the first block, if these are blocks."""
    parameters: int
    """Of all blocks together."""


@dataclass(frozen=True)
class Report:
    """All that is known of a model. What a recipe doesn't tell is None."""

    model: str
    source: str
    """The source language, or all if the model knows several."""
    target: str
    corpus: str
    objective: str
    parameters: int
    embedding_parameters: int
    parts: tuple[Part, ...]
    cache_bytes: dict[str, int] | None
    """Bytes in float32 of keys and values, for a source position and for a position of a hypothesis; None: no cache."""
    vocabulary: dict[str, int]
    one_tokenizer: bool
    special_ids: dict[str, int]
    settings: dict[str, Any]
    changed: dict[str, Any]
    """The settings that differ from the defaults, with the default of each."""
    facts: dict[str, float] | None
    format: int | None
    version: str | None


def inspect(path: Path) -> Report:
    """The report of a model folder, of a run folder with a model, or of a recipe. Raises ValueError if the path is none
    of these, or damaged."""
    path = find_recipe(str(path))
    require(path.exists(), f"{path}: there is no such model folder or recipe")
    model, settings, known = (read_folder if path.is_dir() else read_recipe)(path)
    defaults = flatten(Config())
    return Report(
        model=str(path),
        **known,
        parameters=sum(p.numel() for p in model.parameters()),
        embedding_parameters=sum({id(p): p.numel() for p in model.embeddings()}.values()),
        parts=tuple(list_parts(model)),
        cache_bytes=model.cache_bytes() if isinstance(model, GenerativeModel) else None,
        settings=settings,
        changed={name: defaults[name] for name, value in settings.items() if value != defaults[name]},
        special_ids={piece: number for number, piece in enumerate(SPECIAL_PIECES)},
    )


Known = tuple[Model, dict[str, Any], dict[str, Any]]
"""A model, its settings, and further members of its `Report`."""


def read_folder(folder: Path) -> Known:
    model, tokenizer, info = load_model(folder)
    settings = {f"model.{name}": value for name, value in asdict(info.model).items()}
    settings |= {f"search.{name}": value for name, value in asdict(info.search).items()}
    file = model_in(folder) / "config.json"
    known = {name: getattr(info, name) for name in ("corpus", "objective", "version")}
    several = tokenizer.languages
    known["source"] = ", ".join(several.before_source) or info.source
    known["target"] = ", ".join(several.before_target) or info.target
    known["vocabulary"] = {"source": tokenizer.src_vocab_size, "target": tokenizer.tgt_vocab_size}
    known["one_tokenizer"] = tokenizer.joint
    known["facts"] = asdict(info.facts) if info.objective == "translation" else None
    known["format"] = take_format(json.loads(file.read_text(encoding="utf8")), file)
    return model, settings, known


def read_recipe(recipe: Path) -> Known:
    require(bool(read_settings(recipe)), f"{recipe} has no settings: it is no recipe")
    config = load_config(recipe)
    size = USUAL_PIECES if config.tokenizer.vocab_size == "auto" else config.tokenizer.vocab_size
    known: dict[str, Any] = dict.fromkeys(("facts", "format", "version"))
    codes, several = config.data.languages, ", ".join(config.data.many_to_many)
    known |= {"source": several or codes[0], "target": several or codes[-1], "corpus": config.data.corpus}
    known |= {"objective": config.training.objective, "vocabulary": {"source": size, "target": size}}
    known["one_tokenizer"] = config.tokenizer.joint
    try:
        return build_model(config.model, size, size).eval(), flatten(config), known
    except RuntimeError as error:  # memory ran out, or a size is beyond all memory
        raise ValueError(f"{recipe} has a model that this machine can't hold: {str(error).splitlines()[0]}") from error


def list_parts(model: Model) -> Iterable[Part]:
    """The parts of the model with all its weights: first those of blocks, then the others."""
    named = list(model.named_parameters(remove_duplicate=False))
    first = {id(parameter): name for name, parameter in reversed(named)}
    for part, modules in model.parts().items():
        stacks = (stack for module in modules for stack in module.modules() if isinstance(stack, Stack))
        blocks = [block for stack in stacks for block in stack]
        inside = {id(p): p.numel() for block in blocks for p in block.parameters()}
        if blocks:
            weights = (Weight(name, tuple(p.shape), p.numel(), None) for name, p in blocks[0].named_parameters())
            yield Part(part, tuple(range(1, len(blocks) + 1)), tuple(weights), sum(inside.values()))
        outside = {id(p) for module in modules for p in module.parameters()} - inside.keys()
        others = []
        for name, p in named:
            if id(p) in outside:
                tied_to = None if first[id(p)] == name else first[id(p)]
                others.append(Weight(name, tuple(p.shape), 0 if tied_to else p.numel(), tied_to))
        if others:
            yield Part(part, (), tuple(others), sum(weight.parameters for weight in others))
