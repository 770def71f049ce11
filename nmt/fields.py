"""Fields of settings: marks (such as bounds) in annotations, checks of dataclasses, and dataclasses made from JSON or
YAML."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

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


class WrongTypeError(ValueError):
    """A value doesn't have the type of its field. `read_value` says so in words."""


def from_json(kind: type[Settings], values: Any, named: str = "the object") -> Settings:
    """Make a dataclass from an object of JSON or YAML; messages call it `named`. Raises ValueError if it is wrong."""
    hints, required = get_type_hints(kind), needed_names(kind)
    optional = ", ".join(name for name in hints if name not in required)
    shape = f"write it as {show_entry(kind)}" + (f", where {optional} may be added" if optional else "")
    shape = shape if required else f"it may have {optional}"
    require(isinstance(values, dict), f"{named} is {values!r}: {shape}")
    for name in values:
        require(name in hints, f"{named} has no {name}: {shape}")
    for name in required:
        require(name in values, f"{named} lacks {name}: {shape}")
    return kind(**{name: read_value(value, hints[name], f"{name} of {named}") for name, value in values.items()})


def needed_names(kind: Any) -> list[str]:
    return [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]


def show_entry(kind: Any) -> str:
    return f"{{{', '.join(f'{name}: ...' for name in needed_names(kind) or [fields(kind)[0].name])}}}"


def read_value(value: Any, hint: Any, named: str) -> Any:
    """A value of JSON or YAML as a field of this type has it; messages call it `named`. Raises ValueError if it has
    another type."""
    try:
        return fit(value, hint, named)
    except WrongTypeError as error:
        shown = value if isinstance(value, str) else "null" if value is None else repr(value)
        raise ValueError(f"{named} is {shown}: it must be {describe_type(hint)}") from error


def fit(value: Any, hint: Any, named: str) -> Any:
    """See `read_value`. JSON has no tuples, and YAML reads 1e-3 as text. Raises WrongTypeError."""
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        for alternative in arguments:
            with suppress(WrongTypeError):
                return fit(value, alternative, named)
    elif is_dataclass(kind) and isinstance(value, dict):
        return from_json(cast(type[Any], kind), value, named)
    elif kind is tuple and isinstance(value, (list, tuple)):
        return tuple(fit(item, arguments[0], f"an entry of {named}") for item in value)
    elif kind is dict and isinstance(value, dict):
        return {fit(key, arguments[0], named): fit(item, arguments[1], named) for key, item in value.items()}
    elif kind is Literal and value in arguments:
        return value
    elif kind is float and isinstance(value, (int, float, str)) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            return float(value)
    elif isinstance(kind, type) and isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    raise WrongTypeError(f"{named} has another type")


def describe_type(hint: Any) -> str:
    """What a value of this type is, in words: `a whole number or null`."""
    kinds = {int: ["a whole number"], float: ["a number"], str: ["text"], NoneType: ["null"], bool: ["true", "false"]}
    names: list[str] = []
    for kind in get_args(hint) if get_origin(hint) in (Union, UnionType) else [hint]:
        if get_origin(kind) is Literal:
            names += get_args(kind)
        elif get_origin(kind) is tuple:
            item = get_args(kind)[0]
            shown = show_entry(item) if is_dataclass(item) else ", ".join(get_args(item)[:2]) or "a, b"
            names.append(f"a list, such as '[{shown}]'")
        else:
            names += kinds.get(kind, [show_entry(kind) if is_dataclass(kind) else "names with numbers"])
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def differing(kind: Any, entry: Any) -> dict[str, Any]:
    """The members of an entry that differ from their defaults, as YAML has them. `entry`: a dataclass of this kind, or
    the dict that JSON made of it."""
    hints, members = get_type_hints(kind), dict[str, Any]()
    for name, value in (entry if isinstance(entry, dict) else asdict(entry)).items():
        nested = next((hint for hint in get_args(hints.get(name)) if is_dataclass(hint)), None)
        value = differing(nested, value) if nested and value is not None else value
        value, default = (list(v) if isinstance(v, tuple) else v for v in (value, getattr(kind, name, None)))
        if value != default:
            members[name] = value
    return members
