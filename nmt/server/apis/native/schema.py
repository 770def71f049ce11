"""Bodies of our own API: JSON flows in, a checked dataclass flows out; a dataclass flows in, JSON flows out. The JSON
Schema of each dataclass comes from the same annotations, so that documentation and checks can't differ."""

import difflib
import math
import types
from collections.abc import Callable
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from nmt.fields import Range, needed_names, require
from nmt.server.errors import LARGEST, shown

Refer = Callable[[Any], dict[str, Any]]
"""Gives the schema of a dataclass, such as a reference to it."""
NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}


def read(hint: Any, value: Any, name: str = "the body") -> Any:
    """A JSON value as an annotation says, such as a dataclass; `name` is what errors call it. ValueError, for the user,
    for the first member that is wrong."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        made = read(arguments[0], value, name)
        for bounds in arguments[1:]:
            fits = not isinstance(bounds, Range) or made is None or made in bounds
            require(fits, f"{name} is {shown(value)}: it must be {bounds}")
        return made
    if origin in (Union, types.UnionType):
        fitting = next((kind for kind in arguments if fits_type(kind, value)), None)
        if fitting:
            return read(fitting, value, name)
    elif fits_type(hint, value) and (origin is not Literal or value in arguments):
        return read_parts(hint, value, name)
    raise ValueError(f"{name} is {shown(value)}: it must be {describe(hint)}")


def read_parts(hint: Any, value: Any, name: str) -> Any:
    """A value that has the type of the annotation, with what is inside it."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is list:
        return [read(arguments[0], item, f"{name}[{i}]") for i, item in enumerate(value)]
    if origin is dict:
        return {read(str, k, f"a name in {name}"): read(arguments[1], v, name) for k, v in value.items()}
    if is_dataclass(hint):
        return read_object(hint, value, name)
    return float(value) if hint is float else value


def read_object(kind: Any, value: dict[str, Any], name: str) -> Any:
    hints, prefix = types_of(kind), "" if name == "the body" else f"{name}."
    value = {given: part for given, part in value.items() if part is not None or given not in hints}  # null: left out
    if unknown := [given for given in value if given not in hints]:
        near = difflib.get_close_matches(unknown[0][:40], hints, n=1, cutoff=0.5)
        advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(hints)}"
        raise ValueError(f"{name} has no member {shown(unknown[0])}: {advice}")
    for missing in needed_names(kind):
        require(missing in value, f"{prefix}{missing} is missing: it must be {describe(hints[missing])}")
    return kind(**{given: read(hints[given], part, f"{prefix}{given}") for given, part in value.items()})


def fits_type(hint: Any, value: Any) -> bool:
    """Whether a value has the JSON type of the annotation; what is inside it is not looked at."""
    origin = get_origin(hint)
    if origin is Annotated:
        return fits_type(get_args(hint)[0], value)
    if origin is Literal or hint is str:
        return isinstance(value, str)
    if hint in (int, float):
        is_number = isinstance(value, (int, hint)) and not isinstance(value, bool)
        return is_number and (abs(value) <= LARGEST if isinstance(value, int) else math.isfinite(value))
    if origin is dict or is_dataclass(hint):
        return isinstance(value, dict)
    return isinstance(value, origin or hint)


def describe(hint: Any) -> str:
    """A type in words."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = [repr(mark) for mark in arguments[1:] if isinstance(mark, Range)]
        return " ".join([describe(arguments[0]), *bounds])
    if origin in (Union, types.UnionType):
        return " or ".join(describe(kind) for kind in arguments)
    if origin is Literal:
        return f"one of {', '.join(arguments)}"
    if origin is list:
        return f"a list, each item {describe(arguments[0])}"
    return "an object" if origin is dict or is_dataclass(hint) else WORDS[hint]


@cache
def types_of(kind: Any) -> dict[str, Any]:
    """The annotation of each field of a dataclass."""
    return get_type_hints(kind, include_extras=True)


def as_json(value: Any) -> Any:
    """A dataclass as JSON: a member whose value and default are None is left out."""
    return asdict(value, dict_factory=lambda pairs: {name: part for name, part in pairs if part is not None})


def schema(hint: Any, refer: Refer) -> dict[str, Any]:
    """The JSON Schema of an annotation; `refer` gives the schema of a dataclass inside it."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        found = schema(arguments[0], refer)
        for bounds in arguments[1:]:
            found |= limits(bounds) if isinstance(bounds, Range) else {}
        return found
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema(kind, refer) for kind in arguments]}
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": schema(arguments[0], refer)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema(arguments[1], refer)}
    return refer(hint) if is_dataclass(hint) else {"type": NAMES[hint]}


def limits(bounds: Range) -> dict[str, Any]:
    least = "exclusiveMinimum" if bounds.open == "least" else "minimum"
    most = "exclusiveMaximum" if bounds.open == "most" else "maximum"
    both = {least: bounds.least, most: bounds.most}
    return {name: number for name, number in both.items() if math.isfinite(number)}


def object_schema(kind: Any, refer: Refer, texts: dict[str, str]) -> dict[str, Any]:
    """The JSON Schema of a dataclass; `texts`: the description of each field."""
    members = {}
    for f in fields(kind):
        members[f.name] = schema(types_of(kind)[f.name], refer)
        members[f.name] |= {"description": texts[f.name]} if texts.get(f.name) else {}
        if f.default is not MISSING and f.default is not None:
            members[f.name]["default"] = f.default
    return {
        "type": "object",
        "description": " ".join(kind.__doc__.split()),
        "properties": members,
        "required": needed_names(kind),
        "additionalProperties": False,
    }
