"""Recipes: settings in YAML, or by their dotted names, flow in; a checked `Config` flows out, and back into YAML.

Precedence, from low to high: the defaults of `nmt.config`, the recipe, the command line.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nmt.config import OBJECTIVES, Config
from nmt.config.names import explain_unknown, sections, setting_types
from nmt.config.yaml12 import read_yaml, write_yaml
from nmt.fields import read_value, require
from nmt.upgrade import FORMAT, take_format, upgrade_settings

PAIR, SEVERAL = {"data.source", "data.target"}, "data.many_to_many"
TASK = {SEVERAL, "data.text", "training.objective"}  # which say what is learned, of what text
RECIPES = Path(__file__).parents[1] / "recipes"


def find_recipe(given: str) -> Path:
    """The file that is given or, if there is none, the recipe of nmt with that name: modern, modern.yaml or
    recipes/modern.yaml. So the commands of the documentation work in every folder."""
    path = Path(given)
    known = RECIPES / f"{path.stem}.yaml"
    return path if path.exists() or str(path.parent) not in (".", "recipes") or not known.is_file() else known


def make_config(given: Mapping[str, Any], recipe: Path | None = None) -> Config:
    """The settings of a recipe and a command line, which has precedence.

    `given`: typed settings by their dotted names, such as training.max_steps; other options are ignored. Raises
    ValueError if the recipe can't be read, or a setting is unknown, of the wrong type, or out of range.
    """
    values = (read_settings(recipe) if recipe else {}) | {n: v for n, v in given.items() if n in setting_types()}
    several = values.get(SEVERAL) if SEVERAL not in given else ()
    if several and (pair := PAIR & given.keys()):  # one direction, with the recipe of several
        problem = f"{recipe} has {SEVERAL}, and {next(iter(pair))} is given alone: give both languages or none"
        require(pair == PAIR, problem)
        values[SEVERAL] = ()
    # An objective that only another family can learn chooses that family, unless the settings name one.
    objective = OBJECTIVES[values.get("training.objective", "translation")]
    if len(objective.families) == 1:
        values.setdefault("model.family", objective.families[0])
    # Text without pairs, or of several directions, does without the recipe's copies of the pairs of one direction.
    text = next(text for text in (values.get("data.text"), objective.text) if text not in (None, "auto"))
    if TASK & given.keys() and "data.placeholders" not in given and (text != "pairs" or values.get(SEVERAL)):
        values.pop("data.placeholders", None)
    made = {name: make_section(name, values) for name in sections()}
    return Config(**made, **{name: value for name, value in values.items() if "." not in name})


def make_section(name: str, values: Mapping[str, Any]) -> Any:
    """The dataclass of a section, such as data, of settings by their dotted names."""
    members = {key.partition(".")[2]: value for key, value in values.items() if key.startswith(f"{name}.")}
    return sections()[name](**members)


def read_settings(path: Path) -> dict[str, Any]:
    """Read the settings in a YAML file: typed values under their current dotted names.

    Raises:
        ValueError: the file is not valid YAML, of a newer nmt, or has an unknown name or a value of the wrong type.
    """
    require(not path.is_dir(), f"{path} is a folder: name a file, such as {path / 'config.yaml'}")
    known = ", ".join(sorted(recipe.stem for recipe in RECIPES.glob("*.yaml")))
    require(path.is_file(), f"{path}: there is no such file; recipes of nmt are {known}")
    try:
        settings = read_yaml(path.read_text(encoding="utf8"))
    except ValueError as error:
        raise ValueError(f"{path} is not valid YAML: {error}") from error
    settings = {} if settings is None else settings
    require(isinstance(settings, dict), f"{path} holds no settings: write them as section: {{field: value}}")
    for name in sections():
        is_section = isinstance(settings.get(name, {}), dict)
        require(is_section, f"{path}: {name} is a section: write {name}: {{field: value}}")
    take_format(settings, path)
    prepared = (path.parent / "data" / "corpus.json").is_file()
    try:
        return by_dotted_names(upgrade_settings(settings, prepared=prepared))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def by_dotted_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Typed values by dotted names, of settings as JSON and YAML have them: {training: {max_steps: 5}}. Raises
    ValueError for an unknown name or a wrong type."""
    values: dict[str, Any] = {}
    for name, value in settings.items():
        members = value if isinstance(value, dict) and (value or name in sections()) else {"": value}
        values |= {f"{name}.{field}" if field != "" else str(name): member for field, member in members.items()}
    types = setting_types()
    if unknown := [name for name in values if name not in types]:
        raise ValueError(explain_unknown(unknown[0], list(types)))
    return {name: read_value(value, types[name][0], name) for name, value in values.items()}


def load_config(path: Path) -> Config:
    """Read a recipe, or the config.yaml of a run. Raises ValueError as `make_config` does."""
    return make_config({}, path)


def dump_config(config: Config) -> str:
    """All settings as YAML, for `load_config`."""
    plain = json.loads(json.dumps(asdict(config)))  # without tuples
    for name in sections():
        plain[name] = {field: value for field, value in plain[name].items() if value is not None}
    return write_yaml({"format": FORMAT, **plain})
