"""Fields of settings, files and requests: marks (such as bounds) in annotations, checks of dataclasses, and dataclasses
made from JSON or YAML."""

import difflib
import math
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

LARGEST = 2**53  # whole numbers up to here are the same in all programs that read JSON
WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null"}


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


class Metavar(str):
    """What help shows in place of a text value, such as DIR."""


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


def texts_of(texts: Iterable[str], named: str) -> tuple[str, ...]:
    """The texts; TypeError for a single string, which is not taken as its letters, and for what is no string."""
    if isinstance(texts, str):
        raise TypeError(f"{named} is the string {texts[:20]!r}: give a list of strings")
    found = tuple(texts)
    for text in found:
        if not isinstance(text, str):
            raise TypeError(f"{named} has {shown(text)}, but a text must be a string (str)")
    return found


@cache
def annotations(kind: type) -> dict[str, tuple[Any, ...]]:
    """For each field of a dataclass: its type, then the marks in its annotation (`Range`, `Metavar`, MAY_CHANGE)."""
    hints = types_of(kind)
    return {name: get_args(hint) if get_origin(hint) is Annotated else (hint,) for name, hint in hints.items()}


@cache
def types_of(kind: type) -> dict[str, Any]:
    """The annotation of each field of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    return {f.name: hints[f.name] for f in fields(kind)}


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


def read_value(value: Any, hint: Any, named: str = "the object") -> Any:
    """A value of JSON or YAML as an annotation says, such as a dataclass of settings or of a request's body; errors
    call it `named`. A member that is null counts as left out. ValueError, for the user, for the first part that is
    wrong."""
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind is Annotated:
        made = read_value(value, arguments[0], named)
        for bounds in arguments[1:]:
            fits = not isinstance(bounds, Range) or made is None or made in bounds
            require(fits, f"{named} is {shown(value)}: it must be {bounds}")
        return made
    if not fits_type(value, hint):
        raise ValueError(f"{named} is {shown(value)}: it must be {describe_type(hint)}")
    if kind in (Union, UnionType):
        return read_value(value, next(part for part in arguments if fits_type(value, part)), named)
    if is_dataclass(kind):
        return read_members(value, kind, named)
    if kind in (list, tuple):
        return kind(read_value(item, arguments[0], f"{named}[{i}]") for i, item in enumerate(value))
    if kind is dict:
        return {read_value(k, str, f"a name in {named}"): read_value(v, arguments[1], named) for k, v in value.items()}
    return float(value) if kind is float else value


def read_members(value: dict[str, Any], kind: Any, named: str) -> Any:
    hints, prefix = types_of(kind), "" if named.startswith("the ") else f"{named}."
    value = {name: member for name, member in value.items() if member is not None or name not in hints}
    require_known(value, hints, f"{named} has no member")
    for name in needed_names(kind):
        require(name in value, f"{prefix}{name} is missing: it must be {describe_type(hints[name])}")
    return kind(**{name: read_value(member, hints[name], f"{prefix}{name}") for name, member in value.items()})


def require_known(names: Iterable[str], known: Collection[str], lacks: str) -> None:
    """ValueError for the first name that isn't known; `lacks` begins it."""
    if unknown := [name for name in names if name not in known]:
        near = difflib.get_close_matches(str(unknown[0])[:40], known, n=1, cutoff=0.5)
        advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise ValueError(f"{lacks} {shown(unknown[0])}: {advice}")


def needed_names(kind: Any) -> list[str]:
    return [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]


def fits_type(value: Any, hint: Any) -> bool:
    """Whether a value has the JSON type of an annotation; what is inside it is not looked at."""
    kind = get_origin(hint) or hint
    if kind in (Annotated, Union, UnionType):
        return any(fits_type(value, part) for part in get_args(hint)[: 1 if kind is Annotated else None])
    if kind in (int, float) and isinstance(value, (int, kind)):
        return not isinstance(value, bool) and abs(value) <= (LARGEST if isinstance(value, int) else sys.float_info.max)
    if is_dataclass(kind):
        return isinstance(value, dict)
    if kind is tuple:  # which JSON and YAML don't have
        return isinstance(value, (list, tuple))
    return value in get_args(hint) if kind is Literal else isinstance(value, kind)


def shown(value: Any) -> str:
    """A value in an error: without what is inside it, which may be long or private."""
    if isinstance(value, dict | list | tuple):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return "a number that is too large"
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    text = repr(value if not isinstance(value, str) else value[:100])
    return text if len(text) <= 60 else f"{text[:56]}… ({len(str(value)):,} characters)"


def describe_type(hint: Any) -> str:
    """What a value of this type is, in words: `a whole number or null`."""
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind is Annotated:
        bounds = [str(mark) for mark in arguments[1:] if isinstance(mark, Range)]
        return " ".join([describe_type(arguments[0]), *bounds])
    if kind in (Union, UnionType):
        return " or ".join(map(describe_type, arguments))
    if kind is Literal:
        return f"one of {', '.join(arguments)}"
    if kind in (list, tuple):
        return f"a list such as [a, b], each item {describe_type(arguments[0])}"
    if is_dataclass(kind) and needed_names(kind):
        return f"an object such as {{{', '.join(f'{name}: ...' for name in needed_names(kind))}}}"
    return WORDS.get(kind, "an object")


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
