"""Whatever is sent to an API, the answer is never a failure of the service, and always in the form of that API."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from nmt.server.own_bodies import LIMITS, PutGlossary, Translate, WordAlternatives

TEXTS = st.sampled_from(["", "a", "en", "de", "Hund", "\ud800", "\0", "<b>", "\n", "text", "html", "true", "1"])
VALUES = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from([1e308, -0.5, 10**30]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
SEARCH = st.dictionaries(st.sampled_from([*LIMITS]), VALUES, max_size=2)
DEEPL = ["text", "target_lang", "source_lang", "tag_handling", "ignore_tags", "split_sentences", "formality", "type"]
DEEPL += ["glossary_id", "glossary_ids", "name", "entries", "entries_format", "dictionaries", "show_billed_characters"]
PATHS: dict[tuple[str, str], list[str]] = {
    ("POST", "/v1/translate"): [*Translate.__dataclass_fields__],
    ("POST", "/v1/word_alternatives"): [*WordAlternatives.__dataclass_fields__],
    ("PUT", "/v1/glossaries/terms"): [*PutGlossary.__dataclass_fields__],
    ("POST", "/v1/documents"): ["file", "source", "target", "glossary"],
    ("GET", "/v1/documents/x/file"): ["token"],
    ("POST", "/v2/translate"): DEEPL,
    ("POST", "/v2/document"): ["file", "source_lang", "target_lang", "filename"],
    ("POST", "/v2/document/x"): ["document_key"],
    ("GET", "/v2/languages"): DEEPL,
    ("POST", "/v2/glossaries"): DEEPL,
    ("POST", "/v3/glossaries"): DEEPL,
    ("PATCH", "/v3/glossaries/x"): DEEPL,
}
GOOD: dict[str, Any] = {"target": "en", "target_lang": "EN", "text": "Hund", "translation": "a dog", "word": 1}


@settings(max_examples=60)
@given(route=st.sampled_from([*PATHS]), data=st.data(), is_form=st.booleans())
def test_no_request_makes_the_service_fail(
    client: TestClient, route: tuple[str, str], data: st.DataObject, is_form: bool
) -> None:
    method, path = route
    fields = {name: value for name, value in GOOD.items() if name in PATHS[route]}
    wrong = data.draw(st.dictionaries(st.sampled_from([*PATHS[route], "surplus"]), VALUES, max_size=2))
    if "search" in PATHS[route]:
        wrong["search"] = data.draw(SEARCH)
    fields |= wrong
    if is_form:
        texts = {
            name: repr(value) if not isinstance(value, str) else value.replace("\ud800", "?")
            for name, value in fields.items()
        }
        files = {"file": ("a.txt", b"Hund")} if data.draw(st.booleans()) else None
        answer = client.request(method, path, data=texts, files=files)
    else:
        # NaN, lone surrogates and numbers of any size go out as some programs write them.
        answer = client.request(method, path, content=json.dumps(fields))
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert set(answer.json()) == ({"error"} if path.startswith("/v1") else {"message"})


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"text": ' * 1000, b'{"text": 1e999, "target": "en"}', b"\xff", b"null"]
)
def test_bodies_that_are_no_objects_are_refused(client: TestClient, body: bytes) -> None:
    for path in ("/v1/translate", "/v2/translate"):
        answer = client.post(path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 400
