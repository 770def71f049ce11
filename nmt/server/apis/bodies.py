"""Requests in any form flow in; their fields flow out: of JSON, forms, multipart forms and the query, with any method.

Clients of the same API send all of these, some with a body in a GET, some without a content type, some with a field
several times. Whatever arrives becomes fields or a `Refused`, never another exception.
"""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterable
from dataclasses import dataclass
from encodings import normalize_encoding
from encodings.aliases import aliases
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

from python_multipart.multipart import parse_options_header

from nmt.fields import require
from nmt.server.errors import Refused

MOST_FIELDS = 1000
MOST_HEAD = 8192  # bytes of the head of a part
# The name of a file as .NET's clients send it, beside one whose letters are coded in another way.
FULL_NAME = re.compile(rb";\s*filename\*=utf-8''([^;\s]+)", re.IGNORECASE)
NUMBERED = re.compile(r"\[\d*\]$")  # PHP's names of the items of a list: q[], q[0]
SURROGATE = re.compile("[\ud800-\udfff]")
# Names of encodings. Python remembers each other name that is looked up; and reading 1 MB of Punycode takes a minute.
CHARSETS = {*aliases, *aliases.values(), "koi8_u", "utf_8_sig"}


@dataclass(frozen=True)
class Upload:
    """A file of a multipart form."""

    name: str
    data: bytes


class Fields(dict[str, Any]):
    """The fields of a request: of JSON any values; of forms texts and `Upload`, a list if there are several."""

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

    def number(self, name: str) -> int:
        """The whole number of a field; 0 if it isn't given, or empty. Refused if it is something else."""
        value = self.get(name)
        if value is None or value == "":
            return 0
        if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,15}", value.strip(), re.ASCII):
            return int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Refused(f"Invalid request: {name} parameter is not a number")
        return value


def brief(value: Any) -> str:
    """A value of a wrong type, for an error: without text, which may be private."""
    kinds = {dict: "an object", list: "a list", bool: "true or false", str: "a text", type(None): "null"}
    return kinds.get(type(value), "a file" if isinstance(value, Upload) else "a number")


def read_fields(query: Iterable[tuple[str, str]], kind: str, data: bytes) -> Fields:
    """The fields of the query and of the body; those of the body replace those of the query. `kind`:
    the header Content-Type."""
    fields = fields_of(query)
    media, options = parse_options_header(kind)
    if media == b"multipart/form-data":
        fields.update(fields_of(read_multipart(data, options.get(b"boundary", b""))))
        return fields
    data = data.removeprefix(BOM_UTF8)
    charset = options.get(b"charset", b"").decode("latin-1")
    name = media.decode("latin-1")
    # Also if the header says that it is a form, as that of `curl -d` does: no name of a field begins so.
    is_json = name.endswith(("/json", "+json")) or data.lstrip()[:1] in (b"{", b"[")
    found = read_json(data, charset) if is_json and data.strip() else fields_of(read_form(data, charset))
    fields.update(found)
    return fields


def fields_of(pairs: Iterable[tuple[str, Any]]) -> Fields:
    """Fields of names and values, as forms and queries have them."""
    fields = Fields()
    for name, value in pairs:
        fields.add(clean(name), clean(value))
    return fields


def read_multipart(data: bytes, boundary: bytes) -> list[tuple[str, Any]]:
    """The names and values of a multipart form (RFC 7578)."""
    mark = b"\r\n--" + boundary
    whole = b"\r\n" + data
    n = whole.count(mark)
    if not boundary or len(boundary) > 200 or not 0 < n <= MOST_FIELDS + 1:
        raise Refused(f"the multipart body can't be read: it must have a boundary, and at most {MOST_FIELDS:,} parts")
    found = list[tuple[str, Any]]()
    for part in whole.split(mark)[1:]:
        head, gap, value = part.partition(b"\r\n\r\n")
        if head.startswith(b"--"):
            return found
        names = options_of(head) if gap and len(head) <= MOST_HEAD else {}
        if b"name" not in names:
            raise Refused("the multipart body can't be read: a part has no head with a name")
        name, file_name = (names.get(key, b"").decode("utf-8", "replace") for key in (b"name", b"filename"))
        found.append((name, Upload(file_name, value) if b"filename" in names else value.decode("utf-8", "replace")))
    raise Refused("the multipart body can't be read: its end is missing")


def options_of(head: bytes) -> dict[bytes, bytes]:
    """The name, and of a file its name, in the head of a part."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-disposition":
            found, full = parse_options_header(value.strip())[1], FULL_NAME.search(value)
            return found | {b"filename": unquote_to_bytes(full[1])} if full else found
    return {}


def read_json(data: bytes, charset: str) -> dict[str, Any]:
    """A JSON object. Its texts have no lone surrogates, which no answer could have either."""
    try:
        text = data.decode(known(charset) if charset else json.detect_encoding(data))
        value = json.loads(text, object_pairs_hook=unique)
        value = clean(value) if "\\u" in text or SURROGATE.search(text) else value
    except (ValueError, RecursionError, MemoryError):
        raise Refused("Invalid JSON format: the body is not valid JSON", code="invalid_json") from None
    if not isinstance(value, dict):
        raise Refused("Invalid JSON format: the body must be an object", code="invalid_json")
    return value


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object. Refused if one is there twice: another program would take the other one."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Refused("Invalid JSON format: an object has a member twice", code="invalid_json")
    return members


def read_form(data: bytes, charset: str) -> list[tuple[str, str]]:
    encoding = known(charset or "utf-8")
    text = data.decode(encoding, "replace")  # not all clients escape letters
    try:
        return parse_qsl(text, keep_blank_values=True, encoding=encoding, errors="replace", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Refused(f"the form has more than {MOST_FIELDS:,} fields") from None


def known(charset: str) -> str:
    """The name of a character encoding; Refused if there is none such, or it isn't one of text."""
    name = normalize_encoding(charset.strip("\"' ")).lower()
    try:
        require(name in CHARSETS, charset)
        "".encode(name)
    except (LookupError, ValueError):
        raise Refused("the charset of the body is not known: send UTF-8", status=415) from None
    return name


def clean(value: Any) -> Any:
    """A value without lone surrogates in its texts, those inside it too."""
    if isinstance(value, str):
        return value if value.isascii() else SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(name): clean(item) for name, item in value.items()}
    return value
