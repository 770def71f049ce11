"""Requests in any form flow in; their fields flow out: of JSON, forms, multipart forms and the query, with any method.

Clients of the same API send all of these, some with a body in a GET, some without a content type, some with a field
several times. Whatever arrives becomes fields or a `Refused`, never another exception.
"""

import asyncio
import codecs
import json
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from nmt.server.errors import Refused

MOST_FIELDS = 1000
NUMBERED = re.compile(r"\[\d*\]$")  # PHP's names of the items of a list: q[], q[0]
SURROGATE = re.compile("[\ud800-\udfff]")
FORM = "application/x-www-form-urlencoded"


@dataclass
class Fields:
    """The fields of a request, each with all its values."""

    values: dict[str, list[Any]] = field(default_factory=dict)
    """Of JSON any values; of forms texts and `UploadFile`."""
    listed: set[str] = field(default_factory=set)
    """Fields that are lists, or were given several times."""

    def add(self, name: str, value: Any) -> None:
        plain = NUMBERED.sub("", name)
        if plain in self.values or plain != name:
            self.listed.add(plain)
        self.values.setdefault(plain, []).append(value)

    def put(self, name: str, value: Any) -> None:
        """Set a member of a JSON object."""
        self.values[name] = value if isinstance(value, list) else [value]
        self.listed = self.listed | {name} if isinstance(value, list) else self.listed - {name}

    def get(self, name: str) -> Any:
        """The value of a field: a list if it is one; None if it isn't given, or null."""
        values = self.values.get(name, [None])
        return values if name in self.listed else values[0]

    def all(self) -> dict[str, Any]:
        """The value of each field."""
        return {name: self.get(name) for name in self.values}

    def text(self, name: str, default: str = "") -> str:
        """The text of a field; `default` if it isn't given. Refused if it is something else."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise Refused(f"{name} is {brief(value)}: it must be a text")
        return value

    def texts(self, name: str) -> list[str] | None:
        """The texts of a field that may be a list; None if it isn't given. Refused if one is something else."""
        if self.get(name) is None:
            return None
        for value in self.values[name]:
            if not isinstance(value, str):
                raise Refused(f"{name} is {brief(self.get(name))}: it must be a text, or a list of texts")
        return list(self.values[name])

    def number(self, name: str, default: int) -> int:
        """The whole number of a field; `default` if it isn't given, or empty. Refused if it is something else."""
        value = self.get(name)
        if value is None or value == "":
            return default
        if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,15}", value.strip(), re.ASCII):
            return int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Refused(f"Invalid request: {name} parameter is not a number")
        return value

    def file(self, name: str) -> UploadFile | None:
        """A file of a multipart form."""
        values = [value for value in self.values.get(name, []) if isinstance(value, UploadFile)]
        return values[0] if values else None

    async def close(self) -> None:
        """Delete the files."""
        for values in self.values.values():
            for value in values:
                if isinstance(value, UploadFile):
                    await value.close()


def brief(value: Any) -> str:
    """A value of a wrong type, for an error: without text, which may be private."""
    kinds = {dict: "an object", list: "a list", bool: "true or false", str: "a text", type(None): "null"}
    return kinds.get(type(value), "a file" if isinstance(value, UploadFile) else "a number")


async def read_fields(request: Request, most_bytes: int, most_seconds: float) -> Fields:
    """The fields of the query and of the body; those of the body replace those of the query."""
    fields = Fields()
    for name, value in request.query_params.multi_items():
        fields.add(clean(name), clean(value))
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Refused("the body is compressed: send it as it is", status=415)
    try:
        async with asyncio.timeout(most_seconds):
            body = await read_body(request, most_bytes)
    except TimeoutError:
        raise Refused(f"the body took more than {most_seconds:g} s to arrive", status=408, code="too_slow") from None
    for name in body.values.keys() & fields.values.keys():
        del fields.values[name]
        fields.listed.discard(name)
    fields.values |= body.values
    fields.listed |= body.listed
    return fields


async def read_body(request: Request, most_bytes: int) -> Fields:
    kind, options = parse_options_header(request.headers.get("content-type"))
    stream = limited(request, most_bytes)
    if kind == b"multipart/form-data":
        return await read_multipart(request, stream)
    data = b"".join([chunk async for chunk in stream])
    charset = options.get(b"charset", b"").decode("latin-1")
    name = kind.decode("latin-1")
    is_json = name.endswith(("/json", "+json")) or (name != FORM and data.lstrip()[:1] in (b"{", b"["))
    fields = Fields()
    if is_json and data.strip():
        for key, value in read_json(data, charset).items():
            fields.put(key, value)
    elif data:
        for key, value in read_form(data, charset):
            fields.add(clean(key), clean(value))
    return fields


async def limited(request: Request, most_bytes: int) -> AsyncGenerator[bytes, None]:
    """The body, in parts. Refused if it is too large, told or not."""
    problem = Refused(f"the body is too large: at most {most_bytes:,} bytes", status=413, code="too_large")
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told[:18]) > most_bytes:
        raise problem
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > most_bytes:
                raise problem
            yield chunk
    except ClientDisconnect:
        raise Refused("the client has hung up", status=499, code="hung_up") from None


async def read_multipart(request: Request, stream: AsyncGenerator[bytes, None]) -> Fields:
    fields = Fields()
    try:
        form = await MultiPartParser(request.headers, stream, max_files=10, max_fields=MOST_FIELDS).parse()
    except MultiPartException as error:
        raise Refused(f"the multipart body can't be read: {error.message}") from None
    except (KeyError, ValueError, AttributeError) as error:  # without a boundary, or with broken headers of a part
        raise Refused(f"the multipart body can't be read ({type(error).__name__})") from None
    for name, value in form.multi_items():
        fields.add(clean(name), clean(value) if isinstance(value, str) else value)
    return fields


def read_json(data: bytes, charset: str) -> dict[str, Any]:
    """A JSON object. Its texts have no lone surrogates, which no answer could have either."""
    try:
        text = data.decode(known(charset) if charset else json.detect_encoding(data))
        value = json.loads(text)
        value = cleaned(value) if "\\u" in text or SURROGATE.search(text) else value
    except (ValueError, RecursionError):
        raise Refused("Invalid JSON format: the body is not valid JSON", code="invalid_json") from None
    if not isinstance(value, dict):
        raise Refused("Invalid JSON format: the body must be an object", code="invalid_json")
    return value


def read_form(data: bytes, charset: str) -> list[tuple[str, str]]:
    encoding = known(charset or "utf-8")
    try:
        return parse_qsl(
            data.decode("latin-1"),
            keep_blank_values=True,
            encoding=encoding,
            errors="replace",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError:
        raise Refused(f"the form has more than {MOST_FIELDS:,} fields") from None


def known(charset: str) -> str:
    """The name of a character encoding; Refused if there is none such, or it isn't one of text."""
    try:
        "".encode(name := codecs.lookup(charset.strip("\"' ")).name)
    except (LookupError, ValueError):
        raise Refused("the charset of the body is not known: send UTF-8", status=415) from None
    return name


def clean(text: str) -> str:
    return SURROGATE.sub("\ufffd", text)


def cleaned(value: Any) -> Any:
    """A JSON value with clean texts."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(name): cleaned(item) for name, item in value.items()}
    return value
