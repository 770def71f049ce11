"""The OpenAPI document says what the service really answers."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from nmt.server.service import Service
from tests.tiny import PAIRS

TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
TYPES["number"] = (int, float)


def problems(value: Any, schema: dict[str, Any], whole: dict[str, Any], place: str = "$") -> list[str]:
    """What is wrong with a value by a JSON Schema: of the parts of the language that the document uses."""
    if "$ref" in schema:
        return problems(value, whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]], whole, place)
    if "anyOf" in schema:
        tried = [problems(value, choice, whole, place) for choice in schema["anyOf"]]
        return [] if [] in tried else [f"{place} fits no choice"]
    if schema["type"] == "null":
        return [] if value is None else [f"{place} is not null"]
    if not isinstance(value, TYPES[schema["type"]]) or (isinstance(value, bool) and schema["type"] != "boolean"):
        return [f"{place} is {value!r}, not of type {schema['type']}"]
    if isinstance(value, list):
        return [p for n, item in enumerate(value) for p in problems(item, schema["items"], whole, f"{place}[{n}]")]
    if isinstance(value, dict):
        if set(schema) == {"type"}:  # any object
            return []
        known, more = schema.get("properties", {}), schema.get("additionalProperties")
        found = [f"{place} lacks {name}" for name in schema.get("required", []) if name not in value]
        for name, part in value.items():
            inner = known.get(name, more)
            found += problems(part, inner, whole, f"{place}.{name}") if inner else [f"{place}.{name} is not described"]
        return found
    fits = value in schema.get("enum", [value])
    fits = fits and not (isinstance(value, int | float) and value < schema.get("minimum", value))
    return [] if fits else [f"{place} is {value!r}"]


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/v1/openapi.json").json()
    return found


def test_real_answers_are_as_described(client: TestClient, document: dict[str, Any]) -> None:
    text = PAIRS[0][0]
    asked = {"text": text, "target": "en", "alignments": True, "tokens": True, "attention": True}
    asked |= {"search": {"n_best": 2, "guard": True}}
    terms = {"source": "de", "target": "en", "entries": {"Hund": "dog"}}
    words = {"text": text, "target": "en", "translation": "A dog runs.", "word": 1}
    name = "/v1/glossaries/{name}"
    exchanges = [
        ("GET", "/v1/models", "", None),
        ("POST", "/v1/translate", "", asked),
        ("POST", "/v1/word_alternatives", "", words),
        ("PUT", name, "/v1/glossaries/terms", terms),
        ("GET", name, "/v1/glossaries/terms", None),
        ("GET", "/v1/glossaries", "", None),
        ("DELETE", name, "/v1/glossaries/terms", None),
        ("GET", name, "/v1/glossaries/terms", None),
        ("POST", "/v1/translate", "", {"text": text}),
        ("GET", "/v1/documents/{id}", "/v1/documents/1?token=2", None),
        ("GET", "/v1/openapi.json", "", None),
    ]
    for method, path, real, body in exchanges:
        operation = document["paths"][path][method.lower()]
        answer = client.request(method, real or path, json=body)
        described = operation["responses"][str(answer.status_code)]
        if answer.content:
            schema = described["content"]["application/json"]["schema"]
            assert not problems(answer.json(), schema, document)
        if body and answer.status_code < 400:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            assert not problems(body, schema, document)
    covered = {(method.lower(), path) for method, path, *_ in exchanges}
    assert {(method, path) for path, all in document["paths"].items() for method in all} - covered == {
        ("post", "/v1/documents"),
        ("get", "/v1/documents/{id}/file"),
    }


def test_a_document_is_fetched_as_described(client: TestClient, service: Service, document: dict[str, Any]) -> None:
    upload = document["paths"]["/v1/documents"]["post"]
    form = upload["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert form["required"] == ["file", "target"]
    table = f"id,text\n1,{PAIRS[0][0]}\n".encode()
    files, data = {"file": ("brief.csv", table)}, {"target": "en", "columns": "text"}
    answer = client.post("/v1/documents", files=files, data=data)
    schema = upload["responses"][str(answer.status_code)]["content"]["application/json"]["schema"]
    assert not problems(answer.json(), schema, document)
    for sent, more, problem in (
        ([*files.items()], {"colums": "text"}, "no field 'colums': did you mean columns?"),
        ([*files.items()] * 2, {}, "the form has 2 files"),
    ):
        refused = client.post("/v1/documents", files=sent, data=data | more)
        assert refused.status_code == 400
        assert problem in refused.json()["error"]["message"]
    path, token = f"/v1/documents/{answer.json()['id']}", {"token": answer.json()["token"]}
    while (state := client.get(path, params=token).json())["state"] != "done":
        described = document["components"]["schemas"]["DocumentState"]
        assert not problems(state, described, document)
        assert state["state"] != "error"
    found = client.get(f"{path}/file", params=token)
    assert found.headers["content-disposition"].endswith("brief.en.csv")
    assert client.get(f"{path}/file", params={"token": "guess"}).status_code == 404
    file, key = service.files.known[answer.json()["id"]], token["token"]
    for file.state, status in (("waiting", 503), ("error", 400)):
        for end in (f"{path}/file?token={key}", f"/v2/document/{file.id}/result?document_key={key}"):
            assert client.get(end).status_code == status
        assert client.get(f"/download_file/{file.id}/{key}/x").status_code == status


def test_a_file_keeps_its_encoding_and_its_user_is_told(client: TestClient) -> None:
    """The one that a form names, or the one that it seems to have."""
    text = f"{PAIRS[0][0]} Straße"
    for data, encoding, note in ((text.encode("cp1252"), "", "encoding cp1252"), (text.encode("cp037"), "cp037", "")):
        form = {"target": "en", "encoding": encoding}
        sent = client.post("/v1/documents", files={"file": ("a.txt", data)}, data=form).json()
        path, token = f"/v1/documents/{sent['id']}", {"token": sent["token"]}
        while (state := client.get(path, params=token).json())["state"] in ("waiting", "translating"):
            pass
        assert state["state"] == "done", state
        assert note in "".join(state["notes"])
        download = client.get(f"{path}/file", params=token)
        assert download.headers["content-type"] == "text/plain"  # "; charset=utf-8" would be wrong
        found = download.content.decode(encoding or "cp1252").strip()
        assert found
        assert found.isprintable()
        assert found.isascii()
    form |= {"source": "de", "encoding": "x"}
    unknown = client.post("/translate_file", files={"file": ("a.txt", b"a")}, data=form)
    assert unknown.json() == {"error": "'x' is not the name of an encoding; take one such as utf-8 or cp1252"}


def test_all_that_is_described_has_a_sentence(client: TestClient, document: dict[str, Any]) -> None:
    names = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names))
    assert {"post_translate", "get_glossaries", "put_glossaries_by_name", "get_documents_by_id_file"} <= {*names}
    unread = client.post("/v1/translate", headers={"content-encoding": "gzip"})
    assert str(unread.status_code) in document["paths"]["/v1/translate"]["post"]["responses"]
    schemas = document["components"]["schemas"]
    assert all(schema["description"] for schema in schemas.values())
    for name in ("Translate", "Search", "WordAlternatives"):
        missing = [n for n, member in schemas[name]["properties"].items() if "description" not in member]
        assert set(missing) <= {"search", "target"}
