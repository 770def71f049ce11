"""Fields of settings: marks (such as bounds) in annotations, checks of dataclasses, and dataclasses made from JSON or
YAML."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Range:
    """Bounds of a finite number: from `least` to `most`; a bound that is `open` is not itself allowed."""

    least: float = -math.inf
    most: float = math.inf
    open: Literal["", "least", "most"] = ""

    def __contains__(self, value: float) -> bool:
        above = value > self.least if self.open == "least" else value >= self.least
        below = value < self.most if self.open == "most" else value <= self.most
        return math.isfinite(value) and above and below

    def __repr__(self) -> str:
        low = f"above {self.least:g}" if self.open == "least" else f"at least {self.least:g}"
        high = f"below {self.most:g}" if self.open == "most" else f"at most {self.most:g}"
        return low if self.most == math.inf else f"{low} and {high}"


MAY_CHANGE = "may change on resume"
"""Marks a setting that may differ when a run is resumed (see `nmt.config.names.fixed_settings`)."""


def lasting(value: Any) -> Any:
    """A value of a setting, or of a dataclass of settings by their names, without what may change on resume."""
    if not is_dataclass(value):
        return tuple(map(lasting, value)) if isinstance(value, tuple) else value
    kept = (name for name, marks in annotations(type(value)).items() if MAY_CHANGE not in marks)  # type: ignore[arg-type]
    return {name: lasting(getattr(value, name)) for name in kept}


@dataclass(frozen=True)
class Metavar:
    """What help shows in place of a text value, such as DIR."""

    name: str


Count = Annotated[int, Range(0)]
Size = Annotated[int, Range(1)]
Probability = Annotated[float, Range(0, 1, open="most")]
NotNegative = Annotated[float, Range(0)]
Positive = Annotated[float, Range(0, open="least")]
Folder = Annotated[str, Metavar("DIR")]
Language = Annotated[str, Metavar("LANGUAGE")]


def require(condition: bool, message: str) -> None:
    """Raise ValueError(message), which every command prints as one line, unless the condition holds."""
    if not condition:
        raise ValueError(message)


@cache
def annotations(kind: type) -> dict[str, tuple[Any, ...]]:
    """For each field of a dataclass: its type, then the marks in its annotation (`Range`, `Metavar`, MAY_CHANGE)."""
    hints = get_type_hints(kind, include_extras=True)
    whole = {f.name: hints[f.name] for f in fields(kind)}
    return {name: get_args(hint) if get_origin(hint) is Annotated else (hint,) for name, hint in whole.items()}


def check_bounds(section: str, settings: Any) -> None:
    """Raise ValueError for the first number of a dataclass that is outside of its `Range`, or not finite."""
    kind: Any = type(settings)
    for name, (_, *extras) in annotations(kind).items():
        value = getattr(settings, name)
        for bounds in extras:
            if isinstance(bounds, Range) and not isinstance(value, str) and value is not None:
                finite = "" if math.isfinite(value) else ", and finite"
                require(value in bounds, f"{section}.{name} is {value}: it must be {bounds}{finite}")


def check_use(section: str, settings: Any, is_used: bool, needed: str, names: Sequence[str]) -> None:
    """Raise ValueError if settings that are used only with others (`needed`) are set to something without them."""
    for f in fields(settings):
        value = getattr(settings, f.name)
        unused = f.name in names and value != f.default and not is_used
        require(not unused, f"{section}.{f.name} is {value}: it is used only with {needed}")


def from_json(kind: type[Settings], values: Any) -> Settings:
    """Make a dataclass from a JSON object. Raises ValueError for a wrong type, TypeError for wrong names."""
    require(isinstance(values, dict), f"{values!r} is not an object with settings")
    hints = get_type_hints(kind)
    for name, value in values.items():
        require(name not in hints or has_type(value, hints[name]), f"{name} is {value!r}, a value of the wrong type")
    return kind(**values)


def make_entry(kind: type[Settings], values: Any, named: str = "an entry") -> Settings:
    """Make an entry of a setting that is a list, such as data.more, from YAML. Raises ValueError if it is wrong.
    `named`: what messages call it; a member of an entry may be such a dataclass itself."""
    hints = get_type_hints(kind)
    optional = [name for name in hints if hasattr(kind, name)]  # it has a default
    needed = [name for name in hints if name not in optional]
    shape = f"write it as {{{', '.join(f'{name}: ...' for name in needed)}}}"
    shape += f", where {', '.join(optional)} may be added" if optional else ""
    shape = shape if needed else f"it may have {', '.join(optional)}"
    require(isinstance(values, dict), f"the entry {values!r} has no members: {shape}")
    for name in values:
        require(name in hints, f"{named} has no {name}: {shape}")
    fitted = {name: fit(value, hints[name], f"{name} of {named}") for name, value in values.items()}
    for name in needed:
        require(name in fitted, f"the entry {values} lacks {name}: {shape}")
    for name, value in fitted.items():
        problem = f"{named} has {name} {value!r}, which must be {describe_type(hints[name])}"
        require(has_type(value, hints[name]), problem)
    return kind(**fitted)


def fit(value: Any, hint: Any, named: str = "") -> Any:
    """A value of YAML as a field of this type has it: YAML has no tuples, and reads 1e-3 as text. `named`: see
    `make_entry`."""
    for kind in get_args(hint) if isinstance(value, dict) else ():
        if isinstance(kind, type) and is_dataclass(kind):
            return make_entry(kind, value, named)
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(value)
    if get_origin(hint) is dict and isinstance(value, dict):
        return {key: fit(item, get_args(hint)[1]) for key, item in value.items()}
    if float in (hint, *get_args(hint)) and isinstance(value, (int, str)) and not isinstance(value, bool):
        with suppress(ValueError):
            return float(value)
    return value


def differing(kind: Any, entry: Any) -> dict[str, Any]:
    """The members of an entry that differ from their defaults. `entry`: as `make_entry` makes it, or a dict of it."""
    hints, members = get_type_hints(kind), dict[str, Any]()
    for name, value in (entry if isinstance(entry, dict) else asdict(entry)).items():
        nested = next((hint for hint in get_args(hints.get(name)) if is_dataclass(hint)), None)
        value = differing(nested, value) if nested and value is not None else fit(value, hints.get(name))
        if value != getattr(kind, name, None):
            members[name] = list(value) if isinstance(value, tuple) else value
    return members


def describe_type(hint: Any) -> str:
    """What a value of a setting must be, by the type of its field: `a whole number or null`."""
    kinds = {int: "a whole number", float: "a number", str: "text", bool: "true, false", NoneType: "null"}
    kinds |= {tuple: "a list of texts", dict: "names with numbers"}

    def names(hint: Any) -> list[str]:
        if get_origin(hint) is Literal:
            return list(get_args(hint))
        if known := kinds.get(get_origin(hint) or hint):
            return known.split(", ")
        if is_dataclass(hint):
            return [f"members such as {{{fields(hint)[0].name}: ...}}"]
        return [name for alternative in get_args(hint) for name in names(alternative)]

    return " or ".join(filter(None, [", ".join(names(hint)[:-1]), names(hint)[-1]]))


def has_type(value: object, hint: Any) -> bool:
    """Whether a value has the type that a field's annotation names."""
    arguments = get_args(hint)
    if get_origin(hint) is Literal:
        return value in arguments
    if get_origin(hint) is dict:
        key, item = arguments
        return isinstance(value, dict) and all(has_type(k, key) and has_type(v, item) for k, v in value.items())
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(has_type(item, arguments[0]) for item in value)
    if arguments:
        return any(has_type(value, alternative) for alternative in arguments)
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    return isinstance(value, hint)
