"""Whatever is sent to an API, the answer is never a failure of the service, and always in the form of that API."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from nmt.server.apis.native.bodies import LIMITS, PutGlossary, Translate, WordAlternatives

TEXTS = st.sampled_from(["", "a", "en", "de", "auto", "Hund", "\ud800", "\0", "<b>", "\n", "text", "html", "true", "1"])
VALUES = st.recursive(
    TEXTS | st.text(max_size=20) | st.none() | st.booleans() | st.integers(-1, 3) | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
SEARCH = st.dictionaries(st.sampled_from([*LIMITS]), VALUES, max_size=2)
LIBRETRANSLATE = ["q", "source", "target", "format", "alternatives", "api_key", "q[]", "file"]
DEEPL = ["text", "target_lang", "source_lang", "tag_handling", "ignore_tags", "split_sentences", "formality", "type"]
DEEPL += ["glossary_id", "glossary_ids", "name", "entries", "entries_format", "dictionaries", "show_billed_characters"]
PATHS: dict[tuple[str, str], list[str]] = {
    **{("POST", f"/{path}"): LIBRETRANSLATE for path in ("translate", "detect", "languages", "suggest")},
    **{("POST", f"/{path}"): LIBRETRANSLATE for path in ("frontend/settings", "translate_file")},
    ("POST", "/v1/translate"): [*Translate.__dataclass_fields__],
    ("POST", "/v1/word_alternatives"): [*WordAlternatives.__dataclass_fields__],
    ("PUT", "/v1/glossaries/terms"): [*PutGlossary.__dataclass_fields__],
    ("POST", "/v1/documents"): ["file", "source", "target", "glossary"],
    ("GET", "/v1/documents/x/file"): ["token"],
    **{("POST", path): DEEPL for path in ("/v2/translate", "/v2/glossaries", "/v3/glossaries")},
    ("POST", "/v2/document"): ["file", "source_lang", "target_lang", "filename"],
    ("POST", "/v2/document/x"): ["document_key"],
    ("GET", "/v2/languages"): DEEPL,
    ("PATCH", "/v3/glossaries/x"): DEEPL,
}
GOOD: dict[str, Any] = {"q": "Hund", "source": "de", "target": "en", "target_lang": "EN", "text": "Hund"}
GOOD |= {"translation": "a dog", "word": 1}
GOOD_HERE: dict[str, dict[str, Any]] = {
    "/v1/glossaries/terms": {"entries": {"Hund": "dog"}},
    "/v2/glossaries": {"name": "x", "source_lang": "DE", "entries": "Hund\tdog", "entries_format": "tsv"},
    "/v3/glossaries": {"name": "x"},
}
WAYS = ["json", "json", "form", "multipart", "files", "query", "latin-1"]


def good_fields(route: tuple[str, str]) -> dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name in PATHS[route]} | GOOD_HERE.get(route[1], {})


def test_what_is_made_wrong_is_right_at_first(client: TestClient) -> None:
    """Else each request would be refused for the same thing. Some paths refuse all: nothing has the id x."""
    refused = set()
    for method, path in PATHS:
        fields, file = good_fields((method, path)), {"file": ("a.txt", b"Hund")}
        sent: dict[str, Any] = {"data": fields, "files": file} if "file" in PATHS[method, path] else {"json": fields}
        refused |= {path} if client.request(method, path, **sent).status_code >= 400 else set()
    assert refused == {"/languages", "/suggest", "/v1/documents/x/file", "/v2/document/x", "/v3/glossaries/x"}


@pytest.mark.parametrize("route", PATHS)
@settings(max_examples=8)
@given(data=st.data())
def test_no_request_makes_the_service_fail(client: TestClient, route: tuple[str, str], data: st.DataObject) -> None:
    """Fields, some of them wrong, are sent in some way."""
    method, path = route
    fields = good_fields(route) | data.draw(
        st.dictionaries(st.sampled_from([*PATHS[route], "surplus"]), VALUES, max_size=3)
    )
    if "search" in PATHS[route]:
        fields["search"] = data.draw(SEARCH)
    texts = {name: str(value).encode("utf8", "replace") for name, value in fields.items()}
    form = urlencode(texts).encode()
    sent: dict[str, dict[str, Any]] = {
        # NaN, lone surrogates and numbers of any size go out as some programs write them.
        "json": {"content": json.dumps(fields).encode(), "headers": {"content-type": "application/json"}},
        "form": {"content": form, "headers": {"content-type": "application/x-www-form-urlencoded"}},
        "multipart": {"files": {name: (None, value) for name, value in texts.items()} or {"x": (None, "")}},
        "files": {"files": {name: ("a.txt", value) for name, value in texts.items()} or {"x": (None, "")}},
        "query": {"params": texts},
        "latin-1": {"content": form, "headers": {"content-type": "text/plain; charset=latin-1"}},
    }
    if "file" in PATHS[route]:
        sent["multipart"]["files"] |= {"file": ("a.txt", b"Hund")}
    ways = [*WAYS, *["multipart"] * 4] if "file" in PATHS[route] else WAYS
    answer = client.request(method, path, **sent[data.draw(st.sampled_from(ways))])
    assert answer.status_code < 500, answer.text
    found = answer.json()
    if answer.status_code >= 400:
        assert set(found) == ({"message"} if path.startswith(("/v2", "/v3")) else {"error"})


@settings(max_examples=10)
@given(
    content=st.binary(max_size=200), kind=st.sampled_from(["application/json", "multipart/form-data; boundary=a", ""])
)
def test_no_bytes_make_the_service_fail(client: TestClient, content: bytes, kind: str) -> None:
    assert client.post("/translate", content=content, headers={"content-type": kind}).status_code < 500
