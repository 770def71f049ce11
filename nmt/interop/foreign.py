"""A model folder of transformers, read without transformers: settings as dictionaries, weights as tensors.

Weights are read from safetensors files, or from pytorch_model.bin without running code that it may hold.
"""

import json
import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmt.fields import require
from nmt.model.weights import read_tensors

SAFE, SAFE_INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLED, PICKLED_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
WEIGHTS = (SAFE, SAFE_INDEX, PICKLED, PICKLED_INDEX)
SETTINGS = ("config.json", "generation_config.json", "tokenizer_config.json", "special_tokens_map.json", "README.md")

# What reading damaged settings or weights raises, besides ValueError.
DAMAGE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError)


@dataclass
class Foreign:
    """A folder, its settings, and what doesn't fit: all problems are told at once."""

    folder: Path
    origin: str
    """The folder, or the id on the hub and its commit."""
    config: dict[str, Any]
    generation: dict[str, Any]
    tokenizer: dict[str, Any]
    licence: str = ""
    problems: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, folder: Path, origin: str) -> "Foreign":
        """Read the settings. ValueError if there is no config.json."""
        require((folder / "config.json").is_file(), f"{folder} has no config.json: it is no model of transformers")
        settings = [read_json(folder / name) for name in SETTINGS[:3]]
        special = read_json(folder / SETTINGS[3])
        return cls(folder, origin, settings[0], settings[1], special | settings[2], licence_in(folder / "README.md"))

    def expect(self, name: str, value: object, *allowed: object) -> None:
        """Note a problem unless a setting has one of these values."""
        if value not in allowed:
            self.problems.append(f"{name} is {value!r}, and only {' or '.join(map(repr, allowed))} can be expressed")

    def number(self, name: str) -> int:
        """A whole number of config.json; a problem, and 1, if it isn't there."""
        value = self.config.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self.problems.append(f"{name} is {value!r}, and must be a whole number")
        return 1

    def require_fitting(self) -> None:
        """Raise ValueError with all problems."""
        require(not self.problems, f"the model in {self.origin} can't be converted: {'; '.join(self.problems)}")

    def file(self, name: str) -> Path:
        require((self.folder / name).is_file(), f"{self.origin} is incomplete: {name} is missing")
        return self.folder / name


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
    import yaml

    text = card.read_text("utf8", "replace") if card.is_file() else ""
    parts = text.split("---")
    try:
        header = yaml.safe_load(parts[1]) if text.startswith("---") and len(parts) > 2 else {}
    except (yaml.YAMLError, ValueError, RecursionError):  # such as a date without such a day
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


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a folder, by name, as they are stored. ValueError if there are none, or they can't be read."""
    tensors: dict[str, Tensor] = {}
    for path in weight_files(folder):
        tensors |= read_tensors(path) if path.suffix == ".safetensors" else read_pickled(path)
    return tensors


def load_safely(path: Path, *classes: type) -> Any:
    """The value in a file of torch.save: tensors, and plain values in lists, dictionaries and objects of `classes`.
    Code in the file isn't run: ValueError if it asks for any."""
    try:
        with torch.serialization.safe_globals(list(classes)):
            return torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, EOFError, *DAMAGE, ValueError, pickle.UnpicklingError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{path} can't be read: it is damaged, or holds more than tensors ({first})") from error


def read_pickled(path: Path) -> dict[str, Tensor]:
    """The tensors of a file of torch.save. ValueError if it holds more than tensors."""
    tensors = load_safely(path)
    is_plain = isinstance(tensors, dict) and all(isinstance(value, Tensor) for value in tensors.values())
    require(is_plain, f"{path} holds more than named tensors: it can't be read safely")
    return dict(tensors)
