"""Bodies of our own API: a dataclass flows in, JSON or its JSON Schema flows out.

`nmt.fields.read_value` reads and checks bodies by the same annotations: documentation and checks can't differ.
"""

import math
import types
from collections.abc import Callable
from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from nmt.fields import Range, needed_names, types_of

Refer = Callable[[Any], dict[str, Any]]
"""Gives the schema of a dataclass, such as a reference to it."""
NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


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
