"""Requests in any form flow in; their fields flow out: of JSON, forms, multipart forms and the query, with any method.

Clients of the same API send all of these, some with a body in a GET, some without a content type, some with a field
several times. Whatever arrives becomes fields or a `Refused`, never another exception.
"""

import asyncio
import codecs
import json
import re
from collections.abc import AsyncGenerator, Iterable
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


class Fields(dict[str, Any]):
    """The fields of a request: of JSON any values; of forms texts and `UploadFile`, a list if there are several."""

    def add(self, name: str, value: Any) -> None:
        """Take in a value of a form or a query."""
        plain = NUMBERED.sub("", name)
        if plain in self or plain != name:
            values = self[plain] = self.listed(plain)
            values.append(value)
        else:
            self[plain] = value

    def listed(self, name: str) -> list[Any]:
        """The values of a field, in a list."""
        value = self.get(name, [])
        return value if isinstance(value, list) else [value]

    def text(self, name: str) -> str:
        """The text of a field; empty if it isn't given. Refused if it is something else."""
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise Refused(f"{name} is {brief(value)}: it must be a text")
        return value or ""

    def texts(self, name: str) -> list[str] | None:
        """The texts of a field that may be a list; None if it isn't given. Refused if one is something else."""
        if self.get(name) is None:
            return None
        if not all(isinstance(value, str) for value in self.listed(name)):
            raise Refused(f"{name} is {brief(self[name])}: it must be a text, or a list of texts")
        return self.listed(name)

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
        return next((value for value in self.listed(name) if isinstance(value, UploadFile)), None)

    async def close(self) -> None:
        """Delete the files."""
        for name in self:
            for value in self.listed(name):
                if isinstance(value, UploadFile):
                    await value.close()


def brief(value: Any) -> str:
    """A value of a wrong type, for an error: without text, which may be private."""
    kinds = {dict: "an object", list: "a list", bool: "true or false", str: "a text", type(None): "null"}
    return kinds.get(type(value), "a file" if isinstance(value, UploadFile) else "a number")


async def read_fields(request: Request, most_bytes: int, most_seconds: float) -> Fields:
    """The fields of the query and of the body; those of the body replace those of the query."""
    fields = fields_of(request.query_params.multi_items())
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Refused("the body is compressed: send it as it is", status=415)
    try:
        async with asyncio.timeout(most_seconds):
            fields.update(await read_body(request, most_bytes))
    except TimeoutError:
        raise Refused(f"the body took more than {most_seconds:g} s to arrive", status=408, code="too_slow") from None
    return fields


async def read_body(request: Request, most_bytes: int) -> Fields:
    kind, options = parse_options_header(request.headers.get("content-type"))
    stream = limited(request, most_bytes)
    if kind == b"multipart/form-data":
        return fields_of(await read_multipart(request, stream))
    data = b"".join([chunk async for chunk in stream])
    charset = options.get(b"charset", b"").decode("latin-1")
    name = kind.decode("latin-1")
    is_json = name.endswith(("/json", "+json")) or (name != FORM and data.lstrip()[:1] in (b"{", b"["))
    return Fields(read_json(data, charset)) if is_json and data.strip() else fields_of(read_form(data, charset))


def fields_of(pairs: Iterable[tuple[str, Any]]) -> Fields:
    """Fields of names and values, as forms and queries have them."""
    fields = Fields()
    for name, value in pairs:
        fields.add(clean(name), clean(value))
    return fields


async def limited(request: Request, most_bytes: int) -> AsyncGenerator[bytes, None]:
    """The body, in parts. Refused if it is too large, whether its head says so or not."""
    problem = Refused(f"the body is too large: at most {most_bytes:,} bytes", status=413, code="too_large")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:18]) > most_bytes:
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


async def read_multipart(request: Request, stream: AsyncGenerator[bytes, None]) -> list[tuple[str, Any]]:
    try:
        form = await MultiPartParser(request.headers, stream, max_files=10, max_fields=MOST_FIELDS).parse()
    except MultiPartException as error:
        raise Refused(f"the multipart body can't be read: {error.message}") from None
    except (KeyError, ValueError, AttributeError) as error:  # without a boundary, or with broken headers of a part
        raise Refused(f"the multipart body can't be read ({type(error).__name__})") from None
    return form.multi_items()


def read_json(data: bytes, charset: str) -> dict[str, Any]:
    """A JSON object. Its texts have no lone surrogates, which no answer could have either."""
    try:
        text = data.decode(known(charset) if charset else json.detect_encoding(data))
        value = json.loads(text)
        value = clean(value) if "\\u" in text or SURROGATE.search(text) else value
    except (ValueError, RecursionError):
        raise Refused("Invalid JSON format: the body is not valid JSON", code="invalid_json") from None
    if not isinstance(value, dict):
        raise Refused("Invalid JSON format: the body must be an object", code="invalid_json")
    return value


def read_form(data: bytes, charset: str) -> list[tuple[str, str]]:
    text, encoding = data.decode("latin-1"), known(charset or "utf-8")
    try:
        return parse_qsl(text, keep_blank_values=True, encoding=encoding, errors="replace", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Refused(f"the form has more than {MOST_FIELDS:,} fields") from None


def known(charset: str) -> str:
    """The name of a character encoding; Refused if there is none such, or it isn't one of text."""
    try:
        "".encode(name := codecs.lookup(charset.strip("\"' ")).name)
    except (LookupError, ValueError):
        raise Refused("the charset of the body is not known: send UTF-8", status=415) from None
    return name


def clean(value: Any) -> Any:
    """A value without lone surrogates in its texts, those inside it too."""
    if isinstance(value, str):
        return SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(name): clean(item) for name, item in value.items()}
    return value
