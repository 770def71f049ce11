"""The OpenAPI document of our own API, written from the routes and from the dataclasses of bodies."""

import re
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

from nmt.config import SearchConfig
from nmt.config.names import long_help
from nmt.server.apis.native.bodies import Failure, Search
from nmt.server.apis.native.schema import Refer, object_schema
from nmt.server.apis.operation import Operation
from nmt.version import __version__

JSON = "application/json"
REFUSALS = (400, 401, 403, 404, 413, 429, 503)
FILE = {"type": "string", "format": "binary"}


def describe_all(operations: Sequence[Operation]) -> dict[str, Any]:
    """The OpenAPI document."""
    schemas: dict[str, Any] = {}
    refer = partial(reference, schemas)
    paths: dict[str, Any] = {}
    for operation in operations:
        path = re.sub(r":\w+\}", "}", operation.path)
        paths.setdefault(path, {})[operation.methods.lower()] = describe(operation, refer)
    return {
        "openapi": "3.1.0",
        "info": {"title": "nmt", "version": __version__, "description": "Translation with models of this service."},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"key": []}],
    }


def reference(schemas: dict[str, Any], kind: Any) -> dict[str, Any]:
    """A reference to the schema of a dataclass, which is put into `schemas`."""
    if kind.__name__ not in schemas:
        schemas[kind.__name__] = {}  # so that a dataclass may contain itself
        bases = (SearchConfig,) if kind is Search else reversed(kind.__mro__[:-1])
        texts = {name: text for base in bases for name, text in long_help(base).items()}
        schemas[kind.__name__] = object_schema(kind, partial(reference, schemas), texts)
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def describe(operation: Operation, refer: Refer) -> dict[str, Any]:
    names = re.findall(r"\{(\w+)", operation.path)
    found: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": identifier(operation),
        "parameters": [
            {"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}}
            for place, group in (("path", names), ("query", operation.query))
            for name in group
        ],
    }
    if operation.body:
        media = "multipart/form-data" if isinstance(operation.body, dict) else JSON
        found["requestBody"] = {"required": True, "content": content(operation.body, refer, media)}
    success: dict[str, Any] = {"description": HTTPStatus(operation.status).phrase}
    if operation.answer:
        media = "application/octet-stream" if operation.answer == FILE else JSON
        success["content"] = content(operation.answer, refer, media)
    if operation.events:
        success["content"]["text/event-stream"] = {"schema": {"anyOf": [refer(kind) for kind in operation.events]}}
    found["responses"] = {str(operation.status): success} | {
        str(status): {"description": HTTPStatus(status).phrase, "content": content(Failure, refer)}
        for status in REFUSALS
    }
    return found


def identifier(operation: Operation) -> str:
    """The name of an operation in programs that are made from the document, such as get_glossaries_by_name."""
    path = re.sub(r"\{(\w+)[^}]*\}", r"by_\1", operation.path.removeprefix("/v1/"))
    return "_".join([operation.methods.lower(), *re.findall("[a-z]+", path)])


def content(kind: Any, refer: Refer, media: str = JSON) -> dict[str, Any]:
    """What a body is: a dataclass, or a JSON Schema."""
    return {media: {"schema": kind if isinstance(kind, dict) else refer(kind)}}
