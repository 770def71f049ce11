"""What is checked before a body is read: who asks, from which site, and how much there may be."""

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from nmt.server.apis import operation
from nmt.server.app import make_app, routes
from nmt.server.service import Service
from nmt.server.store.keys import make_key
from nmt.server.work.owners import owner_of
from tests.server.attacks import file, http
from tests.server.conftest import Slow, make_service
from tests.server.test_run import send, serving, status, until

pytestmark = pytest.mark.anyio
ENTRIES = {"source": "de", "target": "en", "entries": {"Hund": "dog"}}
GOOD: dict[str, Any] = {"q": "Hund", "source": "de", "target": "en"}


def test_every_operation_says_who_may_ask(service: Service) -> None:
    endpoints = [getattr(route, "endpoint", None) for route in routes(service)]
    made = [endpoint.operation for endpoint in endpoints if isinstance(endpoint, operation.Endpoint)]
    by_auth = {auth: {o.path for o in made if o.auth == auth} for auth in ("open", "token")}
    assert by_auth["open"] == {"/languages", "/frontend/settings", "/spec", "/v1/openapi.json", "/v1/{rest:path}"}
    assert all("{id}" in path for path in by_auth["token"])
    assert all(o.auth == "own" for o in made if "glossaries" in o.path or isinstance(o.body, dict))


@pytest.mark.parametrize("head", [{}, {"authorization": "Bearer no"}])
def test_keys_come_before_bodies(guarded: TestClient, head: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation, "read_fields", None)
    monkeypatch.setattr(operation, "read_value", None)
    for path in ("/v1/translate", "/v1/documents", "/v1/word_alternatives", "/v2/document", "/v3/glossaries"):
        answer = guarded.post(path, content=b"a" * 100_000, headers=head)
        assert answer.status_code == (403 if head or path.startswith(("/v2", "/v3")) else 401), path


def test_a_key_in_a_form_stands_before_the_file(guarded: TestClient, keys: Path) -> None:
    client, key = guarded, make_key(keys, "me")
    large = ("a.txt", b"Hund\n" * 50_000)
    first = client.post("/translate_file", data=GOOD | {"api_key": "x"}, files={"file": large})
    assert (first.status_code, first.json()["error"]) == (403, "Invalid API key")
    parts = [("file", large), *((name, (None, value)) for name, value in (GOOD | {"api_key": key}).items())]
    late = client.post("/translate_file", files=parts)
    assert late.status_code == 400
    small = [("file", ("a.txt", b"Hund")), *parts[1:]]
    assert client.post("/translate_file", files=small).status_code == 200
    assert client.post("/translate", json=GOOD | {"api_key": key}).status_code == 200
    missing = client.post("/translate", json=GOOD | {"api_key": ""})
    assert (missing.status_code, "contact the server operator" in missing.json()["error"]) == (400, True)
    assert client.get("/frontend/settings").json()["keyRequired"]


def test_a_member_of_json_stands_once(client: TestClient) -> None:
    """Another program, such as a proxy that checks requests, may read the other one."""
    for path, body in (
        ("/v1/translate", b'{"text": "Hund", "text": "Mann", "source": "de", "target": "en"}'),
        ("/v1/translate", b'{"text": "Hund", "target": "en", "glossary": {"Hund": "cat", "Hund": "dog"}}'),
        ("/v2/translate", b'{"text": ["Hund"], "text": ["Mann"], "target_lang": "EN-GB"}'),
        ("/translate", b'{"q": "Hund", "\\u0071": "Mann", "source": "de", "target": "en"}'),
    ):
        answer = client.post(path, content=body, headers={"content-type": "application/json"})
        assert (answer.status_code, "twice" in answer.text) == (400, True), path


def test_a_query_has_few_fields_and_a_content_type_is_short(client: TestClient) -> None:
    """They are read in the event loop, before it is known who asks: ten thousand fields took 60 ms."""
    good = "q=Hund&source=de&target=en"
    assert client.get(f"/translate?{good}{'&a=b' * 900}").status_code == 200
    for query, kind in ((f"{good}{'&a=b' * 1_000}", ""), (good, f"text/plain; {'a;' * 1_000}")):
        assert client.get(f"/translate?{query}", headers={"content-type": kind}).status_code == 400


def test_uploads_are_multipart_forms(client: TestClient) -> None:
    for path in ("/v1/documents", "/translate_file", "/v2/document"):
        answer = client.post(path, content=b"a=b", headers={"content-type": "application/x-www-form-urlencoded"})
        assert (answer.status_code, "file" in answer.text) == (400, True)


@pytest.mark.parametrize("name", ["columns", "source", "filename", "other"])
def test_the_form_around_a_file_is_small(client: TestClient, name: str) -> None:
    """Its texts were split in the event loop, and some kept as long as the file."""
    known = GOOD | {"target_lang": "EN-GB", name: "a," * 40_000}
    for path in ("/v1/documents", "/translate_file", "/v2/document"):
        answer = client.post(path, data=known, files={"file": ("a.csv", b"a")})
        assert (answer.status_code, "beside the file" in answer.text) == (413, True), path


OTHERS = [
    *({"origin": origin} for origin in ("https://evil.example", "null", "http://[::1")),
    {"host": "evil.example"},
    {"host": "evil.example:5000", "origin": "http://evil.example:5000"},
    {"sec-fetch-site": "cross-site"},
]
WRONG_HOSTS = (b"a\r\nHost: b", b"a b", b"a@localhost", b"localhost/a")
OURS = [
    {},
    {"host": "localhost:5000", "origin": "http://localhost:5000"},
    {"host": "[::1]:5000"},
    {"host": "10.0.0.7"},
    {"host": "our.example", "origin": "https://our.example", "sec-fetch-site": "same-origin"},
]


def test_what_users_store_without_keys_is_not_for_pages_of_other_sites(model_folder: Path, tmp_path: Path) -> None:
    service = make_service(model_folder, names="our.example", glossaries=str(tmp_path / "g"))
    with TestClient(make_app(service)) as client:
        for ours in OURS:
            assert client.put("/v1/glossaries/mine", json=ENTRIES, headers=ours).status_code == 200, ours
        for others in OTHERS:
            refused = client.delete("/v1/glossaries/mine", headers=others)
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "other_site"), others
            for path in ("/v3/glossaries", "/v2/usage"):
                assert client.get(path, headers=others).status_code == 403
            sent = {"file": ("a.txt", b"a")}
            upload = client.post("/v1/documents", data={"target": "en"}, files=sent, headers=others)
            assert upload.status_code == 403
            assert client.post("/translate", json=GOOD, headers=others).status_code == 200  # stores nothing
            by_name = {"text": "Hund", "target": "en", "glossary": "mine"}
            assert client.post("/v1/translate", json=by_name, headers=others).status_code == 403
            by_id = {"text": ["Hund"], "source_lang": "DE", "target_lang": "EN", "glossary_id": "x"}
            assert client.post("/v2/translate", json=by_id, headers=others).status_code == 403
            assert client.post("/v1/translate", json=by_name | {"glossary": {"Hund": "dog"}}, headers=others).is_success
        assert client.get("/v1/glossaries/mine").status_code == 200


@pytest.mark.parametrize("origin", ["https://cat.example", "http://[::1"])
def test_with_keys_any_page_that_has_one_may_ask(guarded: TestClient, keys: Path, origin: str) -> None:
    head = {"authorization": f"Bearer {make_key(keys, 'me')}", "origin": origin}
    assert guarded.get("/v1/glossaries", headers=head).status_code == 200


def test_the_limit_of_a_key_counts_every_request(guarded: TestClient, keys: Path) -> None:
    upload: dict[str, Any] = {"files": {"file": ("a.txt", b"Hund")}}
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/translate_file", upload | {"data": GOOD}),
        ("POST", "/v2/document", upload | {"data": {"target_lang": "EN-GB"}}),
        ("POST", "/v1/documents", upload | {"data": {"target": "en"}}),
        ("PUT", "/v1/glossaries/a", {"json": ENTRIES}),
        ("GET", "/v1/glossaries", {}),
        ("GET", "/v2/glossaries", {}),
        ("GET", "/v1/models", {}),
        ("POST", "/detect", {"json": {"q": "Hund"}}),
        ("POST", "/v2/translate", {"json": {"text": ["Hund"], "target_lang": "EN-GB"}}),
    ]
    for method, path, sent in calls:
        key = make_key(keys, f"{method} {path}", requests=1)
        head = {"authorization": f"Bearer {key}"}
        assert guarded.request(method, path, headers=head, **sent).status_code < 300, path
        assert guarded.request(method, path, headers=head, **sent).status_code == 429, path


def test_who_has_used_its_characters_may_ask_for_all_but_translations(guarded: TestClient, keys: Path) -> None:
    key = make_key(keys, "short", characters=3)
    head = {"authorization": f"Bearer {key}"}
    text: dict[str, Any] = {"json": {"text": "Hund", "target": "en"}}
    long = "a" * 10_001
    for method, path, sent, expected in (
        ("POST", "/v1/translate", {"json": {"text": long, "target": "en"}}, 413),
        ("POST", "/translate", {"json": {"q": long, "source": "de", "target": "en"}}, 400),
        ("POST", "/v1/translate", text, 200),
        ("GET", "/v2/usage", {}, 200),
        ("GET", "/v1/models", {}, 200),
        ("POST", "/v1/translate", text, 429),
        ("POST", "/v1/documents", {"files": {"file": ("a.txt", b"Hund")}, "data": {"target": "en"}}, 429),
    ):
        assert guarded.request(method, path, headers=head, **sent).status_code == expected, path


def test_unknown_paths_are_told_as_each_api_does(client: TestClient) -> None:
    for requests, status_code, name in (
        ("POST /v2/write/rephrase, GET /v3/style_rules, PUT /v2/translate", 404, "message"),
        ("GET /detect, POST /languages", 405, "error"),
        ("POST /nothing, GET /nothing, GET /v1/nothing, POST /v1/models, GET /v1/translate", 404, "error"),
    ):
        for method, path in map(str.split, requests.split(", ")):
            answer = client.request(method, path)
            assert (answer.status_code, set(answer.json())) == (status_code, {name}), path
            assert not path.startswith("/v1") or answer.json()["error"]["code"] == "no_such_path"


def test_an_owner_has_one_network() -> None:
    assert owner_of("2001:db8::1") == owner_of("2001:db8::2:3") != owner_of("2001:db8:0:1::1")
    for network in ("", "::ffff:"):  # as some proxies write IPv4
        assert owner_of(f"{network}127.0.0.1") != owner_of(f"{network}127.0.0.2")
    assert owner_of("::ffff:7f00:1") == owner_of("::FFFF:127.0.0.1") == owner_of("127.0.0.1")
    assert owner_of("testclient") == "testclient"


async def test_heads_are_bounded_and_half_open_requests_end(model_folder: Path, slow: Slow) -> None:
    async with serving(model_folder, slow, head_seconds=0.2) as (server, port):
        whole = b"GET /health HTTP/1.1\r\nHost: a\r\n"
        for request in (
            b"GET /" + b"a" * 100_000,
            b"GET / HTTP/1.1\r\nA: " + b"a" * 100_000,
            whole + b"A: " + b"a" * 70_000 + b"\r\n\r\n",
            whole.replace(b"health", b"a" * 70_000) + b"\r\n",
            b"GET /health HTTP/1.1\r\n\r\n",
            *(b"GET /health HTTP/1.1\r\nHost: %s\r\n\r\n" % host for host in WRONG_HOSTS),
        ):
            assert await status(await send(port, request)) == 400
        answered = whole + b"\r\n"
        for request in (b"", b"GET /hea", whole, answered + b"GET /"):
            reader, _ = await send(port, request)
            try:
                found = await asyncio.wait_for(reader.read(), 2)
            except ConnectionError:
                found = b""
            assert found.startswith(b"HTTP/1.1 200" if request.startswith(answered) else b"")
        assert not server.server_state.connections


async def test_a_request_that_was_refused_is_kept_nowhere(model_folder: Path, slow: Slow) -> None:
    """An error that is made once and raised again keeps what the calls before it had in memory, such as bodies."""
    async with serving(model_folder, slow) as (server, port):
        assert await status(await send(port, http("GET", "/v2/glossaries/none"))) == 404
        assert await status(await send(port, file("a.docx", b"no zip file", "/translate_file"))) == 400
        _, gone = await send(port, file("a.txt", b"a" * 50_000)[:-10])
        await until(lambda: server.service.bodies.used)
        gone.close()
        await until(lambda: not server.service.bodies.used)
        gc.collect()
        assert not [found for found in gc.get_objects() if type(found) is operation.Call]


async def test_a_request_ends_at_its_deadline_and_frees_its_place(model_folder: Path, slow: Slow) -> None:
    async with serving(model_folder, slow, request_seconds=0.2) as (server, port):
        slow.gate.clear()
        body = b'{"text": "Hund", "target": "en"}'
        for sent, code in ((body, 504), (body[:-1] + b', "stream": true}', 200)):
            streams = await send(port, http("POST", "/v1/translate", sent))
            assert await status(streams) == code
            streams[1].close()
        await until(lambda: not server.service.engine.lines.used)
        slow.gate.set()
        assert server.service.bodies.used == 0
    async with serving(model_folder, slow, request_seconds=1) as (_, port):  # of which a stream has nearly all
        reader, writer = await send(port, http("POST", "/v1/translate", body[:-1] + b', "stream": true}'))
        assert b"HUND" in await asyncio.wait_for(reader.readuntil(b"event: done"), 10)
        writer.close()


async def test_bodies_that_arrive_have_a_room_in_memory(model_folder: Path, slow: Slow) -> None:
    async with serving(model_folder, slow, file_bytes=100_000, body_bytes=100_000) as (server, port):
        streams = [await send(port, file("a.txt", b"a" * 90_000)[:-10]) for _ in range(8)]
        answers = [asyncio.ensure_future(status(stream)) for stream in streams]
        done, _ = await asyncio.wait(answers, timeout=2, return_when=asyncio.FIRST_COMPLETED)
        assert {task.result() for task in done} == {429}
        for task in answers:
            task.cancel()
        for _, writer in streams:
            writer.close()
        await until(lambda: not server.service.bodies.used)


def test_browsers_ask_whether_the_files_of_the_page_are_new(client: TestClient) -> None:
    """They would mix the versions after an update."""
    first = client.get("/app.js")
    assert first.headers["cache-control"] == "no-cache"
    assert client.get("/app.js", headers={"if-none-match": first.headers["etag"]}).status_code == 304
