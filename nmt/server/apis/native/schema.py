"""Bodies of our own API: a dataclass flows in, JSON flows out; and routes flow in, their OpenAPI document flows out.

`nmt.fields.read_value` reads and checks bodies by the same annotations: documentation and checks can't differ.
"""

import math
import re
import types
from collections.abc import Sequence
from dataclasses import MISSING, asdict, fields
from http import HTTPStatus
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from starlette.responses import JSONResponse, Response

from nmt.config import SearchConfig
from nmt.config.names import long_help
from nmt.fields import Range, needed_names, types_of
from nmt.server.apis.native.bodies import Failure, Search
from nmt.server.apis.operation import Operation
from nmt.version import __version__

Schemas = dict[str, Any]
"""The JSON Schemas of dataclasses, by their names: each is put there when something refers to it."""
NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
JSON = "application/json"
REFUSALS = (400, 401, 403, 404, 408, 413, 415, 429, 500, 503, 504)
FILE = {"type": "string", "format": "binary"}


def as_json(value: Any) -> Any:
    """A dataclass as JSON: a member whose value and default are None is left out."""
    return asdict(value, dict_factory=lambda pairs: {name: part for name, part in pairs if part is not None})


def send(value: Any, status: int = 200) -> Response:
    return JSONResponse(as_json(value), status)


def describe_all(operations: Sequence[Operation]) -> dict[str, Any]:
    """The OpenAPI document."""
    schemas, paths = Schemas(), dict[str, Any]()
    for operation in operations:
        path = re.sub(r":\w+\}", "}", operation.path)
        paths.setdefault(path, {})[operation.methods.lower()] = describe(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "nmt", "version": __version__, "description": "Translation with models of this service."},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"key": []}],
    }


def describe(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    # Programs that are made from the document call an operation get_glossaries_by_name, for instance.
    path = re.sub(r"\{(\w+)[^}]*\}", r"by_\1", operation.path.removeprefix("/v1/"))
    found: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": "_".join([operation.methods.lower(), *re.findall("[a-z]+", path)]),
        "parameters": [
            {"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}}
            for place, group in (("path", re.findall(r"\{(\w+)", operation.path)), ("query", operation.query))
            for name in group
        ],
    }
    if operation.body:
        media = "multipart/form-data" if isinstance(operation.body, dict) else JSON
        found["requestBody"] = {"required": True, "content": content(operation.body, schemas, media)}
    success: dict[str, Any] = {"description": HTTPStatus(operation.status).phrase}
    if operation.answer:
        media = "application/octet-stream" if operation.answer == FILE else JSON
        success["content"] = content(operation.answer, schemas, media)
    if operation.events:
        events = {"anyOf": [schema(kind, schemas) for kind in operation.events]}
        success["content"]["text/event-stream"] = {"schema": events}
    found["responses"] = {str(operation.status): success} | {
        str(status): {"description": HTTPStatus(status).phrase, "content": content(Failure, schemas)}
        for status in REFUSALS
    }
    return found


def content(kind: Any, schemas: Schemas, media: str = JSON) -> dict[str, Any]:
    """What a body is: a dataclass, or a JSON Schema."""
    return {media: {"schema": kind if isinstance(kind, dict) else schema(kind, schemas)}}


def schema(hint: Any, schemas: Schemas) -> dict[str, Any]:
    """The JSON Schema of an annotation: of a dataclass, a reference to its own."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        found = schema(arguments[0], schemas)
        for bounds in arguments[1:]:
            found |= limits(bounds) if isinstance(bounds, Range) else {}
        return found
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema(kind, schemas) for kind in arguments]}
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": schema(arguments[0], schemas)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema(arguments[1], schemas)}
    if hint in NAMES:
        return {"type": NAMES[hint]}
    name = hint.__name__
    if name not in schemas:
        schemas[name] = {}  # so that a dataclass may contain itself
        schemas[name] = object_schema(hint, schemas)
    return {"$ref": f"#/components/schemas/{name}"}


def limits(bounds: Range) -> dict[str, Any]:
    least = "exclusiveMinimum" if bounds.open == "least" else "minimum"
    most = "exclusiveMaximum" if bounds.open == "most" else "maximum"
    both = {least: bounds.least, most: bounds.most}
    return {name: number for name, number in both.items() if math.isfinite(number)}


def object_schema(kind: Any, schemas: Schemas) -> dict[str, Any]:
    bases = (SearchConfig,) if kind is Search else reversed(kind.__mro__[:-1])
    texts = {name: text for base in bases for name, text in long_help(base).items()}
    members = {}
    for f in fields(kind):
        members[f.name] = schema(types_of(kind)[f.name], schemas)
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
