"""What is known of a model: a model folder or a recipe flows in, a report of its weights, costs and settings flows out.

A report is the same for every family of models: it is made from the modules, the methods of the contract, and the
settings. A recipe is enough for it: the model is built with random weights, and no data is read.
"""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Literal

import torch
from torch import nn

from nmt.config import Config
from nmt.config.names import flatten
from nmt.config.recipes import find_recipe, load_config, read_settings
from nmt.fields import require
from nmt.model.build import build_model
from nmt.model.contract import GenerativeModel, Model
from nmt.model.cost import (
    blocks_of,
    compute_training,
    counted_decoding_flops,
    counted_training_flops,
    decoding_flops,
    random_pairs,
    training_flops,
    used_parameters,
)
from nmt.model.device import Numerics, choose_numerics
from nmt.model.precision import with_precision
from nmt.translation.model_folder import EXPORTED, load_model, read_info
from nmt.translation.translator import Translator
from nmt.upgrade import take_format
from nmt.vocabulary import SPECIAL_PIECES

PAIRS, ROUNDS = 32, 3  # of `measure_speed`
USUAL_PIECES = 8000  # of a recipe whose tokenizer.vocab_size is auto
BACKEND_ROUNDS = 5  # in turn; that before them is not timed


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
    """Weights of a part of the model; blocks of equal shapes are one entry."""

    name: str
    blocks: tuple[int, ...]
    """The numbers of the blocks, from 1; empty for weights outside of blocks."""
    weights: tuple[Weight, ...]
    """Those of the first block, if these are blocks."""
    parameters: int
    """Of all blocks together."""


@dataclass(frozen=True)
class Work:
    """FLOPs of a position of the source or of the target, or of a whole pair."""

    phase: Literal["training", "decoding"]
    of: Literal["source", "target", "pair"]
    rule: int
    """6 (training) or 2 (decoding) for each position and each parameter that a position uses."""
    exact: int
    """The sum over all products of matrices, from the shapes of the weights and the lengths."""
    counted: int | None
    """What PyTorch counted while a pair was computed; None: it doesn't tell source and target apart."""


@dataclass(frozen=True)
class Speed:
    """Target positions a second on this machine, in batches of PAIRS random pairs: the median of ROUNDS rounds."""

    training: float
    """Forward and backward pass, without the optimizer."""
    training_numerics: str
    decoding: float | None
    """Steps with a cache and the reading of the source, for one hypothesis of each sentence, without the search."""
    decoding_numerics: str | None


@dataclass(frozen=True)
class BackendSpeed:
    """Sentences a second with the search of the model, without the guard: the median of BACKEND_ROUNDS rounds."""

    pytorch: float
    pytorch_numerics: str
    ctranslate2: float
    ctranslate2_numerics: str
    sentences: int
    beam_size: int

    @property
    def faster(self) -> str:
        return "CTranslate2" if self.ctranslate2 > self.pytorch else "PyTorch"

    def rows(self) -> dict[str, str]:
        """The figures by name, for tables."""
        both = {
            "PyTorch": (self.pytorch, self.pytorch_numerics),
            "CTranslate2": (self.ctranslate2, self.ctranslate2_numerics),
        }
        rows = {f"{name}, sentences/s": f"{speed:.1f} ({numerics})" for name, (speed, numerics) in both.items()}
        measured = f"{self.sentences} sentences, beam {self.beam_size}, medians of {BACKEND_ROUNDS} rounds"
        return {**rows, "faster on this machine": f"{self.faster} ({measured})"}


@dataclass(frozen=True)
class Report:
    """All that is known of a model. What a recipe doesn't tell is None."""

    model: str
    source: str
    target: str
    corpus: str
    objective: str
    parameters: int
    used_parameters: int
    """Without the experts that a position doesn't use."""
    embedding_parameters: int
    parts: tuple[Part, ...]
    positions: tuple[int, int]
    """Length of the source (with EOS) and of the target (with BOS) of the pair that FLOPs are given for."""
    work: tuple[Work, ...]
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
    speed: Speed | None
    backends: BackendSpeed | None = None


def inspect(path: Path, pieces: int, *, measure: bool = False) -> Report:
    """The report of a model folder, of a run folder with a model, or of a recipe. `pieces`: the length of source and
    target that FLOPs are given for. Raises ValueError if the path is none of these, or damaged."""
    path = find_recipe(str(path))
    require(path.exists(), f"{path}: there is no such model folder or recipe")
    model, settings, known = (read_folder if path.is_dir() else read_recipe)(path)
    defaults, positions = flatten(Config()), lengths(model, pieces, known["objective"])
    return Report(
        model=str(path),
        **known,
        parameters=sum(p.numel() for p in model.parameters()),
        used_parameters=used_parameters(model),
        embedding_parameters=sum({id(p): p.numel() for p in model.embeddings()}.values()),
        parts=tuple(list_parts(model)),
        positions=positions,
        work=tuple(list_work(model, *positions)),
        cache_bytes=model.cache_bytes()._asdict() if isinstance(model, GenerativeModel) else None,
        speed=measure_speed(model, *positions) if measure else None,
        settings=settings,
        changed={name: defaults[name] for name, value in settings.items() if value != defaults[name]},
        special_ids={piece: number for number, piece in enumerate(SPECIAL_PIECES)},
    )


Known = tuple[Model, dict[str, Any], dict[str, Any]]
"""A model, its settings, and further members of its `Report`."""


def read_folder(folder: Path) -> Known:
    model, tokenizer, info = load_model(folder)
    facts = asdict(info.facts)
    settings = {f"model.{name}": value for name, value in asdict(info.model).items()}
    settings |= {f"search.{name}": value for name, value in asdict(info.search).items()}
    file = folder / "config.json"
    known = {name: getattr(info, name) for name in ("source", "target", "corpus", "objective", "version")}
    known["vocabulary"] = {"source": tokenizer.src_vocab_size, "target": tokenizer.tgt_vocab_size}
    known["one_tokenizer"] = tokenizer.joint
    known["facts"] = facts if info.objective == "translation" else None
    known["format"] = take_format(json.loads(file.read_text(encoding="utf8")), file)
    return model, settings, known


def read_recipe(recipe: Path) -> Known:
    require(bool(read_settings(recipe)), f"{recipe} has no settings: it is no recipe")
    config = load_config(recipe)
    size = USUAL_PIECES if config.tokenizer.vocab_size == "auto" else config.tokenizer.vocab_size
    known: dict[str, Any] = dict.fromkeys(("facts", "format", "version"))
    known |= {"source": config.data.languages[0], "target": config.data.languages[-1], "corpus": config.data.corpus}
    known |= {"objective": config.training.objective, "vocabulary": {"source": size, "target": size}}
    known["one_tokenizer"] = config.tokenizer.joint
    return build_model(config.model, size, size).eval(), flatten(config), known


def lengths(model: Model, pieces: int, objective: str) -> tuple[int, int]:
    """The lengths of source and target that FLOPs are given for; a language model has no source."""
    room = model.max_positions  # a decoder-only model reads both sides as one sequence, with a BOS more
    length = pieces if room is None else max(1, min(pieces, (room - 1) // 2))
    return 0 if objective == "lm" else length, length


def list_parts(model: Model) -> Iterable[Part]:
    """The parts of the model with all its weights: first those of blocks, then the others."""
    named = list(model.named_parameters(remove_duplicate=False))
    first = {id(parameter): name for name, parameter in reversed(named)}
    for part, modules in model.parts().items():
        blocks = blocks_of(model, part)
        inside = {id(p) for block in blocks for p in block.parameters()}
        for numbers in alike(blocks):
            same = [blocks[number - 1] for number in numbers]
            total = sum({id(p): p.numel() for block in same for p in block.parameters()}.values())
            weights = (Weight(name, tuple(p.shape), p.numel(), None) for name, p in same[0].named_parameters())
            yield Part(part, numbers, tuple(weights), total)
        own = {id(p) for module in modules for p in module.parameters()} - inside
        others = []
        for name, p in named:
            if id(p) in own:
                tied_to = None if first[id(p)] == name else first[id(p)]
                others.append(Weight(name, tuple(p.shape), 0 if tied_to else p.numel(), tied_to))
        if others:
            yield Part(part, (), tuple(others), sum(weight.parameters for weight in others))


def alike(blocks: list[nn.Module]) -> list[tuple[int, ...]]:
    """The numbers (from 1) of the blocks, those of equal shapes together."""
    groups: dict[Any, list[int]] = {}
    for number, block in enumerate(blocks, 1):
        groups.setdefault(tuple((name, p.shape) for name, p in block.named_parameters()), []).append(number)
    return [tuple(numbers) for numbers in groups.values()]


def list_work(model: Model, n_source: int, n_target: int) -> Iterable[Work]:
    """FLOPs of a pair of this length."""
    parameters = used_parameters(model)
    source, target = training_flops(model, n_source, n_target)
    counted = counted_training_flops(model, n_source, n_target)
    if n_source:
        yield Work("training", "source", 6 * parameters, round(source / n_source), None)
    yield Work("training", "target", 6 * parameters, round(target / n_target), None)
    yield Work("training", "pair", 6 * parameters * (n_source + n_target), source + target, counted)
    if isinstance(model, GenerativeModel):
        both = [count(model, n_source, n_target) for count in (decoding_flops, counted_decoding_flops)]
        if n_source:
            yield Work("decoding", "source", 2 * parameters, *(round(sides.source / n_source) for sides in both))
        yield Work("decoding", "target", 2 * parameters, *(round(sides.target / n_target) for sides in both))
        yield Work("decoding", "pair", 2 * parameters * (n_source + n_target), *map(sum, both))


def measure_speed(model: Model, n_source: int, n_target: int) -> Speed:
    """Train and decode a fixed batch on this machine, in the precisions that nmt.train and nmt.translate choose."""
    numerics = choose_numerics("auto", "auto")
    model = model.to(numerics.device)
    pairs = random_pairs(model, PAIRS, n_source, n_target)
    positions = int(pairs[3].sum())

    def train() -> None:
        with model.computing_in(numerics.dtype):
            compute_training(model, pairs)
        wait(numerics)

    training = positions / median_seconds(train)
    if not isinstance(model, GenerativeModel):
        return Speed(training, str(numerics), None, None)
    translating, precision = with_precision(model, "auto")
    source, mask, target, _ = (tensor.to(numerics.device) for tensor in pairs)

    @torch.inference_mode()
    def decode() -> None:
        cache = translating.start(source, mask, n_target)
        for t in range(n_target):
            translating.step(target[:, t : t + 1], cache)
        wait(numerics)

    where = str(numerics).partition(" on ")[2]
    return Speed(training, str(numerics), positions / median_seconds(decode), f"{precision} on {where}")


def wait(numerics: Numerics) -> None:
    """Wait until a GPU has finished."""
    if numerics.device.type == "cuda":
        torch.cuda.synchronize(numerics.device)


def median_seconds(compute: Callable[[], None]) -> float:
    compute()  # not timed: the first pass is slow
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        compute()
        times.append(time.perf_counter() - started)
    return median(times)


def compare_backends(model: Path, exported: Path, lines: Sequence[str]) -> BackendSpeed:
    """Translate the lines with both, in the precisions that nmt.translate chooses. ValueError if the exported folder is
    damaged, or was made of another model."""
    own, other = Translator.load(model), Translator.load(exported, backend="ctranslate2")
    same = read_info(model / "config.json") == read_info(exported / EXPORTED) and own.tokenizer.same_as(other.tokenizer)
    require(same, f"{exported} was not made of {model}: its settings or its tokenizer differ")
    search = replace(own.search, guard=False)
    translators, seconds = (own, other), (list[float](), list[float]())
    for _ in range(1 + BACKEND_ROUNDS):
        for translator, times in zip(translators, seconds, strict=True):
            started = time.perf_counter()
            translator.translate(lines, search)
            times.append(time.perf_counter() - started)
    speeds = [len(lines) / median(times[1:]) for times in seconds]
    numerics = [translator.describe() for translator in translators]
    return BackendSpeed(speeds[0], numerics[0], speeds[1], numerics[1], len(lines), search.beam_size)
