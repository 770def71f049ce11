"""A model of another library, read without that library: settings as dictionaries, weights as tensors.

Weights are read from safetensors files, or from files of torch.save without running code that they may hold.
"""

import json
import math
import pickle
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor

from nmt.fields import require
from nmt.model.weights import read_tensors

SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
WEIGHTS = (SAFE, f"{SAFE}.index.json", PICKLED, f"{PICKLED}.index.json")
SETTINGS = ("config.json", "generation_config.json", "tokenizer_config.json", "special_tokens_map.json", "README.md")
SIZES = ("d_model", "n_heads", "d_ff", "encoder_layers", "decoder_layers")
MOST_YAML = 100_000  # values in a file of settings, with those that its aliases repeat

# What reading damaged settings or weights raises, besides ValueError.
DAMAGE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError)


@dataclass
class Foreign:
    """A folder, its settings, and what doesn't fit: all problems are told at once."""

    folder: Path
    origin: str
    """The folder, or the id on the hub and its commit."""
    licence: str
    config: dict[str, Any] = field(default_factory=dict)
    generation: dict[str, Any] = field(default_factory=dict)
    tokenizer: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Sentences for the user about settings that are not what they were."""

    @classmethod
    def open(cls, folder: Path, origin: str) -> "Foreign":
        """Read the settings of a model of transformers. ValueError if there is no config.json."""
        require((folder / "config.json").is_file(), f"{folder} has no config.json: it is no model of transformers")
        config, generation, tokenizer, special = (read_json(folder / name) for name in SETTINGS[:4])
        return cls(folder, origin, licence_in(folder / "README.md"), config, generation, special | tokenizer)

    def expect(self, name: str, value: object, *allowed: object) -> None:
        """Note a problem unless a setting has one of these values."""
        if value not in allowed:
            self.problems.append(f"{name} is {value!r}, and only {' or '.join(map(repr, allowed))} can be expressed")

    def expect_all(self, needs: Mapping[str, tuple[Any, ...]]) -> None:
        """As `expect`, for several settings of `config`. The first value is that of a setting that isn't there."""
        for name, values in needs.items():
            self.expect(name, self.config.get(name, values[0]), *values)

    def expect_equal(self, names: Iterable[str], part: str, other: str) -> None:
        """Note a problem for each setting that differs between two parts of `config`, such as "decoder."."""
        for name in names:
            self.expect(f"{part}{name}", self.config.get(f"{part}{name}"), self.config.get(f"{other}{name}"))

    def number(self, name: str) -> int:
        """A whole number of config.json; a problem, and 1, if it isn't there."""
        value = self.config.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self.problems.append(f"{name} is {value!r}, and must be a whole number")
        return 1

    def sizes(self, names: Iterable[str]) -> dict[str, Any]:
        """The settings that all models have, SIZES, by our names. `names`: what each is called in `config`."""
        return dict(zip(SIZES, map(self.number, names), strict=True))

    def require_fitting(self) -> None:
        require(not self.problems, f"the model in {self.origin} can't be converted: {'; '.join(self.problems)}")

    def file(self, name: str) -> Path:
        file = self.folder / name
        is_there = file.is_file() and file.stat().st_size > 0
        require(is_there, f"{self.origin} is incomplete: {name} is missing or empty")
        return file

    def vocabulary(self, name: str) -> list[str]:
        """The pieces in a JSON file of their ids, in the order of these. ValueError if they aren't 0, 1, 2 …"""
        ids = read_json(self.file(name))
        pieces = sorted(ids, key=lambda piece: (not isinstance(ids[piece], int), ids[piece]))
        is_whole = [ids[piece] for piece in pieces] == list(range(len(pieces)))
        require(is_whole, f"{name} of {self.origin} is damaged: its ids are not 0, 1, 2 …")
        return pieces

    def settings(self, name: str, loader: Any = yaml.SafeLoader) -> dict[str, Any]:
        """The settings in a YAML file. ValueError if it is damaged."""
        try:
            settings = load_yaml((self.folder / name).read_text(encoding="utf8"), loader)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise ValueError(f"the file {name} of {self.origin} can't be read: {error}") from error
        require(isinstance(settings, dict), f"the file {name} of {self.origin} holds no settings")
        return dict(settings)


def load_yaml(text: str, loader: Any = yaml.SafeLoader) -> Any:
    """A value of YAML; ValueError or YAMLError if it is damaged. Aliases (*name) are read, since PyYAML writes them for
    Sockeye, but with them a short text may stand for a value without end: ValueError."""

    def size(node: Any) -> float:
        if id(node) not in sizes:
            sizes[id(node)] = math.inf  # if it is inside itself
            parts = node.value if isinstance(node.value, list) else ()
            sizes[id(node)] = 1 + sum(sum(map(size, part)) if isinstance(part, tuple) else size(part) for part in parts)
        return sizes[id(node)]

    tree, sizes = yaml.compose(text, Loader=loader), dict[int, float]()
    require(tree is None or size(tree) <= MOST_YAML, f"it stands for more than {MOST_YAML:,} values")
    return yaml.load(text, Loader=loader)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; empty if there is no such file. ValueError if it is damaged."""
    if not path.is_file():
        return {}
    try:
        values = json.loads(path.read_text(encoding="utf8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} can't be read: {error}") from error
    require(isinstance(values, dict), f"{path} holds no JSON object")
    return values


def licence_in(card: Path) -> str:
    """The licence that the header of a model card names, such as cc-by-nc-4.0; empty if it names none."""
    text = card.read_text("utf-8-sig", "replace") if card.is_file() else ""
    before, *parts = re.split(r"(?m)^---[ \t]*$", text)  # other --- may stand in values, such as those of tags
    try:
        header = load_yaml(parts[0]) if not before and len(parts) > 1 else {}
    except (yaml.YAMLError, ValueError, RecursionError, *DAMAGE):  # such as a date without such a day
        return ""
    named = header.get("license") if isinstance(header, dict) else None
    names = named if isinstance(named, list) else [named]  # a list in lists, with YAML's aliases, could be endless
    return ", ".join(name for name in names if isinstance(name, str))


def weight_files(folder: Path) -> list[Path]:
    """The files with the weights of a folder. ValueError if there are none."""
    name = next((name for name in WEIGHTS if (folder / name).is_file()), None)
    if name is None:
        raise ValueError(f"{folder} has no weights: none of {', '.join(WEIGHTS)}")
    files: Iterable[str] = [name]
    if name.endswith(".json"):
        files = sorted(set(read_json(folder / name).get("weight_map", {}).values()))
    return [folder / Path(file).name for file in files]


def read_weights(files: Iterable[Path]) -> dict[str, Tensor]:
    """The weights in files, by name, as they are stored. ValueError if they can't be read."""
    tensors: dict[str, Tensor] = {}
    for path in files:
        found = read_tensors(path) if path.suffix == ".safetensors" else load_safely(path)
        is_plain = isinstance(found, dict) and all(isinstance(value, Tensor) for value in found.values())
        require(is_plain, f"{path} holds more than named tensors: it can't be read safely")
        tensors |= found
    return tensors


def sentencepiece_names(path: Path) -> list[str]:
    """The pieces of a SentencePiece model by their numbers. ValueError if it is damaged."""
    from sentencepiece import SentencePieceProcessor

    try:
        model: Any = SentencePieceProcessor(model_proto=path.read_bytes())
    except RuntimeError as error:
        raise ValueError(f"{path} is damaged, or no SentencePiece model") from error
    return [model.id_to_piece(i) for i in range(model.vocab_size())]


def load_safely(path: Path, *classes: type) -> Any:
    """The value in a file of torch.save: tensors, and plain values in lists, dictionaries and objects of `classes`.
    Code in the file isn't run: ValueError if it asks for any."""
    try:
        with torch.serialization.safe_globals(list(classes)):
            value = torch.load(path, map_location="cpu", weights_only=True)
        is_whole = all(not t.is_meta and t.nbytes <= t.untyped_storage().nbytes() for t in tensors_in(value))
    except (OSError, EOFError, *DAMAGE, ValueError, pickle.UnpicklingError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{path} can't be read: it is damaged, or holds more than tensors ({first})") from error
    # A stride of 0 repeats a stored number: a small file could fill the memory when it is copied. "meta" has none.
    require(is_whole, f"{path} can't be read: a tensor in it is larger than what is stored")
    return value


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors in dictionaries, lists and tuples. Each is looked into once: in a small file, each list may hold the
    one before it twice, and so on."""
    found, known = [value], {id(value)}
    for each in found:
        parts = each.values() if isinstance(each, dict) else each if isinstance(each, (list, tuple)) else ()
        for part in parts:
            if id(part) not in known:
                known.add(id(part))
                found.append(part)
    return [each for each in found if isinstance(each, Tensor)]
