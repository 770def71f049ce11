"""Settings by their dotted names: read from YAML, and compared; their types and help texts, and messages for names and
values that are wrong."""

import difflib
import math
import re
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from nmt.config import Config, SearchConfig
from nmt.fields import MAY_CHANGE, annotations, describe_type, differing, lasting, require
from nmt.upgrade import take_format, upgrade_settings


def sections() -> dict[str, type]:
    """The dataclass of each section of `Config`: data, tokenizer, model, training, search."""
    return {f.name: f.type for f in fields(Config) if isinstance(f.type, type) and is_dataclass(f.type)}


def setting_types() -> dict[str, tuple[Any, ...]]:
    """The annotation (see `nmt.fields.annotations`) of every setting by its dotted name."""
    own = {name: hint for name, hint in annotations(Config).items() if name not in sections()}
    return own | {f"{s}.{name}": hint for s, kind in sections().items() for name, hint in annotations(kind).items()}


def shortened(name: str, value: Any) -> Any:
    """The value of a setting; of one with entries, such as data.more, only what differs from their defaults."""
    kinds = [kind for kind in get_args(setting_types().get(name, (None,))[0]) if is_dataclass(kind)]
    return [differing(kinds[0], entry) for entry in value or ()] if kinds else value


def notation(value: Any) -> str:
    """A value for a message: entries, such as those of data.more, as in a recipe, others as in Python."""
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return repr(value)
    import yaml

    line = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=math.inf)
    return str(line).strip()


@cache
def long_help(kind: type) -> dict[str, str]:
    """The docstring of each field of a dataclass of settings, in one line."""
    from docstring_parser import parse_from_object

    return {p.arg_name: " ".join((p.description or "").split()) for p in parse_from_object(kind).params}


def short_help(kind: type = SearchConfig) -> dict[str, str]:
    """The first sentence of the docstring of each field of a dataclass of settings."""
    return {name: first_sentence(text) for name, text in long_help(kind).items()}


def first_sentence(text: str) -> str:
    return re.split(r"(?<! al)\.(?: |$)", " ".join(text.split()))[0] + "."


def require_known(settings: dict[str, Any], path: Path) -> None:
    """Raise ValueError for an unknown name, or null where it is no value. jsonargparse would import what a section
    names as its class_path, and lets null pass."""
    types = setting_types()
    for name, value in settings.items():
        named = {f"{name}.{field}": item for field, item in value.items()} if isinstance(value, dict) else {}
        for full_name, item in named.items() or ({} if name in sections() else {str(name): value}).items():
            require(full_name in types, f"{path}: {explain_unknown(full_name, list(types))}")
            is_null = item is None and NoneType not in get_args(types[full_name][0])
            require(not is_null, f"{path}: {explain_value(full_name, 'null')}")


def explain_error(message: str, names: list[str]) -> str:
    """The parser's message in one line, with the nearest of `names` for a name that is unknown."""
    line = " ".join(message.split())
    unknown = re.search(r"Group '(\S+)' does not accept option '(\S+)'", line)
    name = f"{unknown[1]}.{unknown[2]}" if unknown else ""
    if unknown := re.search(r"(?:unrecognized arguments: --|(?:Key|Option) ['\"])([\w.+-]+)", line):
        name = unknown[1]
    kinds = r"(?:Does not validate against any of the Union.*|Expected a <class 'tuple'>\.)"
    wrong = re.match(rf'Parser key "([\w.]+)": {kinds} G\w+ value: (.*)', line)
    if wrong and wrong[1] in setting_types():
        return explain_value(wrong[1], wrong[2])
    if not name:
        for kind in (int, float, bool, str):
            line = line.replace(f"a {kind}", describe_type(kind))
        line = re.sub(r'^Parser key "([\w.]+)":(?: Not of type \w+:)?', r"\1:", line)
        return line.replace("a typing.Literal", "one of ")
    return explain_unknown(name, names)


def explain_value(name: str, value: str) -> str:
    """The message for a value of a setting that has the wrong type."""
    hint, section = setting_types()[name][0], name.partition(".")[0]
    kind = describe_type(hint)
    if get_origin(hint) is tuple:  # the help of each list has an example
        example = re.search(r"'\[.*\]'", long_help(sections()[section])[name.partition(".")[2]])
        kind = f"a list, such as {example[0]}" if example else "a list"
    return f"{name} is {'null' if value == 'None' else value}: it must be {kind}"


def explain_unknown(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"there is no setting {name}" + (f": did you mean {near[0]}?" if near else "; --help lists all")


def read_settings(path: Path) -> dict[str, Any]:
    """Read the settings in a YAML file, under their current names. Raises ValueError if the file is not valid."""
    import yaml

    require(path.is_file(), f"{path}: there is no such file")
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from error
    settings = {} if settings is None else settings
    require(isinstance(settings, dict), f"{path} holds no settings: write them as section: {{field: value}}")
    for name in sections():
        is_section = isinstance(settings.get(name, {}), dict)
        require(is_section, f"{path}: {name} is a section: write {name}: {{field: value}}")
    take_format(settings, path)
    settings = upgrade_settings(settings)
    require_known(settings, path)
    return settings


def override_search(search: SearchConfig, options: Any) -> SearchConfig:
    """The model's search settings; options on the command line replace them."""
    return replace(search, **{f.name: options[f.name] for f in fields(SearchConfig) if f.name in options})


def flatten(config: Config) -> dict[str, Any]:
    """The value of every setting by its dotted name."""
    values = {}
    for name in setting_types():
        value: Any = config
        for part in name.split("."):
            value = getattr(value, part)
        values[name] = value
    return values


def describe_changes(before: dict[str, Any], now: dict[str, Any]) -> str:
    """The differences between two flat sets of settings, as text for the user; empty if there are none."""
    values = ((name, *(shortened(name, settings.get(name)) for settings in (before, now))) for name in now)
    return "; ".join(f"{name} was {notation(old)}, is {notation(new)}" for name, old, new in values if old != new)


def fixed_settings(config: Config) -> dict[str, Any]:
    """The settings, by their dotted names, that must not change when a run is resumed."""
    hints = setting_types()
    return {name: lasting(value) for name, value in flatten(config).items() if MAY_CHANGE not in hints[name]}
