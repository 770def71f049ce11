"""Settings by their dotted names, such as training.max_steps: their types, help texts and values, and what differs."""

import ast
import difflib
import inspect
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import pairwise
from operator import attrgetter
from os.path import normpath
from typing import Any, get_args

from nmt.config import Config, SearchConfig
from nmt.config.yaml12 import write_yaml
from nmt.fields import MAY_CHANGE, annotations, differing, lasting, require
from nmt.upgrade import REMOVED


def sections() -> dict[str, type]:
    """The dataclass of each section of `Config`: data, tokenizer, model, training, search."""
    return {f.name: f.type for f in fields(Config) if isinstance(f.type, type) and is_dataclass(f.type)}


@cache
def setting_types() -> dict[str, tuple[Any, ...]]:
    """The annotation (see `nmt.fields.annotations`) of every setting by its dotted name."""
    whole = {name: hint for name, hint in annotations(Config).items() if name not in sections()}
    return whole | {f"{s}.{name}": hint for s, kind in sections().items() for name, hint in annotations(kind).items()}


@cache
def long_help(kind: type) -> dict[str, str]:
    """The docstring of each field of a dataclass of settings, in one line."""
    (definition,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)
    return {
        statement.target.id: " ".join(str(text.value.value).split())
        for statement, text in pairwise(definition.body)
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


def short_help(kind: type = SearchConfig) -> dict[str, str]:
    """The first sentence of the docstring of each field of a dataclass of settings."""
    return {name: first_sentence(text) for name, text in long_help(kind).items()}


def first_sentence(text: str) -> str:
    return re.split(r"(?<! al)\.(?: |$)", " ".join(text.split()))[0] + "."


def explain_unknown(name: str, names: list[str], shows_all: str = "--help-all") -> str:
    """Why a setting isn't known, for the user. `shows_all`: the option that lists the known ones."""
    for removed, (_, reason) in REMOVED.items():
        if name.replace("-", "_") in (removed, removed.partition(".")[2]):
            return f"there is no setting {name}: it was removed, {reason}"
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"there is no setting {name}" + (f": did you mean {near[0]}?" if near else f"; {shows_all} lists all")


def override_search(
    search: SearchConfig, options: Mapping[str, Any], advice: str | None = "give --samples N"
) -> SearchConfig:
    """The model's search settings; options on the command line replace them. ValueError for an option of sampling if
    nothing is sampled (`advice`: what to do), and for one of beam search if something is; without advice, since each
    request chooses, none of both."""
    search = replace(search, **{f.name: options[f.name] for f in fields(SearchConfig) if f.name in options})
    names = ["temperature", "top_k", "top_p", "min_p", "seed"]
    problem = f"where translations or texts are sampled; {advice}"
    if search.samples:
        names, problem = ["beam_size", "no_repeat_ngram", "repetition_penalty"], "by beam search, without samples"
    given = [f"--{name.replace('_', '-')}" for name in names if options.get(name)]
    require(advice is None or not given, f"{', '.join(given)}: used only {problem}")
    return search


def flatten(config: Config) -> dict[str, Any]:
    """The value of every setting by its dotted name."""
    return {name: attrgetter(name)(config) for name in setting_types()}


def fixed_settings(config: Config) -> dict[str, Any]:
    """The settings, by their dotted names, that must not change when a run is resumed."""
    hints = setting_types()
    return {name: lasting(value) for name, value in flatten(config).items() if MAY_CHANGE not in hints[name]}


def describe_changes(before: dict[str, Any], now: dict[str, Any]) -> str:
    """The differences between two flat sets of settings, as text for the user; empty if there are none."""
    values = ((name, *(shortened(name, settings.get(name)) for settings in (before, now))) for name in now)
    return "; ".join(f"{name} was {notation(old)}, is {notation(new)}" for name, old, new in values if old != new)


def shortened(name: str, value: Any) -> Any:
    """The value of a setting; of one with entries, such as data.more, only what differs from their defaults. The places
    data, data/ and ./data of a corpus are one."""
    if name == "data.corpus" and value:
        return normpath(value)
    kinds = [kind for kind in get_args(setting_types().get(name, (None,))[0]) if is_dataclass(kind)]
    return [differing(kinds[0], entry) for entry in value or ()] if kinds else value


def notation(value: Any) -> str:
    """A value for a message: entries, such as those of data.more, as in a recipe, others as in Python."""
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return repr(value)
    return write_yaml(value, flow=True).strip()
