"""LibreTranslate's API: what its clients send is answered in its form, and nothing makes the service fail."""

import encodings
import json
import logging
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.staticfiles import StaticFiles
from starlette.testclient import TestClient

from nmt.server.app import make_app
from nmt.server.codes import by_script
from nmt.server.metrics import Metrics
from nmt.server.service import Service
from nmt.translation.translator import Translator
from tests.documents.office_samples import docx
from tests.server.conftest import GERMAN, know, make_service

JSON = {"content-type": "application/json"}
NAMED = {"content-type": "application/json; charset=utf-8"}
FORM = {"content-type": "application/x-www-form-urlencoded"}
Sent = dict[str, Any]

# As the programs send them: method, path, and the arguments of the call.
ASKED = {"source": "de", "target": "en"}
PARTS = {name: (None, value) for name, value in ASKED.items()}
EMPTY = {"x": (None, "")}
REPLAYED: dict[str, tuple[str, str, Sent]] = {
    "mastodon": ("POST", "/translate", {"json": ASKED | {"q": [GERMAN[0], ""], "format": "html", "api_key": None}}),
    "mastodon, unknown source": ("POST", "/translate", {"json": ASKED | {"q": [GERMAN[0]], "source": "auto"}}),
    "mastodon, languages": ("GET", "/languages", {"headers": JSON}),
    "weblate": ("POST", "/translate", {"json": ASKED | {"q": ["[X1X] Hund", "b"]}}),
    "discourse": ("POST", "/translate", {"data": ASKED | {"q": "<p>Ja</p>", "format": "html"}}),
    "discourse, detecting": ("POST", "/detect", {"data": {"q": "Wo ist er?", "api_key": ""}}),
    "nextcloud": ("POST", "/translate", {"files": PARTS | {"q": (None, "Ja"), "api_key": (None, "")}}),
    "nextcloud, languages": ("GET", "/languages", {"files": EMPTY}),
    "nextcloud, settings": ("GET", "/frontend/settings", {"files": EMPTY}),
    "nextcloud, detecting": ("POST", "/detect?q=Wo+ist+er&api_key=", {"files": EMPTY}),
    "omegat": ("POST", "/translate", {"data": ASKED | {"q": "Ja", "format": "text"}}),
    "searxng": ("POST", "/translate", {"json": ASKED | {"q": "Ja", "alternatives": 1}}),
    "libretranslatepy, languages": ("GET", "/languages", {"content": b"", "headers": FORM}),
}
ANY_FORM: list[Sent] = [
    {"json": ASKED | {"q": GERMAN[0]}},
    {"data": ASKED | {"q": GERMAN[0]}},
    {"files": PARTS | {"q": (None, GERMAN[0])}},
    {"params": ASKED | {"q": GERMAN[0]}},
    {"params": ASKED, "data": {"q": GERMAN[0]}},
    {"params": {"source": "de_CH", "target": "EN", "q": GERMAN[0]}},
    {"content": json.dumps(ASKED | {"q": GERMAN[0]}).encode("utf-16"), "headers": JSON},
    {"content": json.dumps(ASKED | {"q": GERMAN[0]}).encode("utf-8-sig"), "headers": NAMED},  # as .NET writes a stream
    {"content": urlencode(ASKED | {"q": GERMAN[0]}).encode()},
    {"content": f"q={GERMAN[0]}&source=de&target=en", "headers": FORM},  # as `curl -d` sends it, without escapes
    {"content": json.dumps(ASKED | {"q": GERMAN[0]}), "headers": FORM},  # as `curl -d` sends JSON without a header
]


@pytest.mark.parametrize("name", REPLAYED)
def test_what_programs_send_is_answered(name: str, client: TestClient) -> None:
    method, path, sent = REPLAYED[name]
    response = client.request(method, path, **sent)
    assert response.status_code == 200
    answer = response.json()
    if path == "/translate":
        q = sent["json"]["q"] if "json" in sent else ""
        assert isinstance(answer["translatedText"], list if isinstance(q, list) else str)
        if isinstance(q, list):
            assert len(answer["translatedText"]) == len(q)
    elif path == "/languages":
        assert all({"code", "name", "targets"} <= language.keys() for language in answer)
    elif "detect" in path:
        assert answer[0]["language"] == "de"


@pytest.mark.parametrize("sent", ANY_FORM)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_any_form_has_the_same_answer(method: str, sent: Sent, client: TestClient, translator: Translator) -> None:
    response = client.request(method, "/translate", **sent)
    assert response.json() == {"translatedText": translator.translate(GERMAN[:1])[0]}


def ask(client: TestClient, **fields: object) -> Any:
    return client.post("/translate", json=ASKED | fields)


def test_a_list_has_a_list_of_everything(client: TestClient) -> None:
    answer = ask(client, q=GERMAN, alternatives=1, source="auto").json()
    assert {name: len(values) for name, values in answer.items()} == dict.fromkeys(
        ("translatedText", "detectedLanguage", "alternatives"), len(GERMAN)
    )
    assert answer["detectedLanguage"][0]["language"] == "de"
    assert len(answer["alternatives"][0]) == 1
    assert answer["alternatives"][0][0] != answer["translatedText"][0]
    assert ask(client, q=[]).json() == {"translatedText": []}


def test_tags_and_entities_are_kept(client: TestClient) -> None:
    text = '<p>Ein <b>Hund</b> <span translate="no">:blob:&lt;script&gt;</span></p>'
    answer = ask(client, q=text, format="html").json()["translatedText"]
    assert all(part in answer for part in ("<p>", "<b>", "</b>", '<span translate="no">:blob:&lt;script&gt;</span>'))


def test_blank_texts_and_those_in_the_target_language_are_echoed(client: TestClient) -> None:
    assert ask(client, q=["", " \n", GERMAN[0]], source="en").json()["translatedText"] == ["", " \n", GERMAN[0]]


def test_a_target_is_one_that_the_source_is_translated_to(model_folder: Path, translator: Translator) -> None:
    service = make_service(model_folder)
    know(service, translator, {"en": "dog", "pt": "cão", "de": "Hund", "pt-BR": "cachorro"})
    service.models.languages = {"en": ["pt"], "de": ["pt-BR"]}
    with TestClient(make_app(service)) as client:
        assert ask(client, q="Hund", target="pt").json() == {"translatedText": "cachorro"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"q": "a", "source": ""}, "Invalid request: missing source parameter"),
        ({"q": "a", "target": None}, "Invalid request: missing target parameter"),
        ({"q": "a", "target": "xx"}, "xx is not supported"),
        (
            {"q": "a", "source": "en", "target": "de"},
            "German (de) is not available as a target language from English (en)",
        ),
        ({"q": "a", "format": "pdf"}, "pdf format is not supported"),
        ({"q": "a", "alternatives": 9}, "Invalid request: alternatives parameter must be <= 8"),
        ({"q": "a", "alternatives": "x"}, "Invalid request: alternatives parameter is not a number"),
        ({"q": "a" * 10_001}, "Invalid request: request (10001) exceeds text limit (10000)"),
        ({"q": ["a"] * 129}, "Invalid request: request (129) exceeds text limit (128)"),
        ({"q": {"a": 1}}, "q is an object: it must be a text, or a list of texts"),
        ({"q": ["a", 1]}, "q is a list: it must be a text, or a list of texts"),
        ({"q": "a", "source": ["de"]}, "source is a list: it must be a text"),
    ],
)
def test_errors_are_sentences_in_libretranslates_form(fields: Sent, message: str, client: TestClient) -> None:
    response = ask(client, **fields)
    assert (response.status_code, response.json()) == (400, {"error": message})


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        *((broken, JSON, 400) for broken in (b"{", b"[1]", b"null", b"\xff", b"[" * 100_000)),
        (b'{"q": ' + b"9" * 5000 + b"}", JSON, 400),
        (b'{"q": 1e999, "source": "de", "target": "en"}', JSON, 400),
        (b"q=a", {"content-type": "application/x-www-form-urlencoded; charset=romulan"}, 415),
        (b"q=a", {"content-type": "application/x-www-form-urlencoded; charset=punycode"}, 415),  # of a minute's time
        (b"q=%FF&source=de&target=en", FORM, 200),
        (b"q=a&" * 2000, FORM, 400),
        (b"--x", {"content-type": "multipart/form-data"}, 400),
        (b"--x\r\n\r\nbroken", {"content-type": "multipart/form-data; boundary=x"}, 400),
        (b"x", {"content-encoding": "gzip"}, 415),
        (b"q=a&source=de&target=en", FORM | {"content-encoding": "Identity"}, 200),
        (b"a" * (2**20 + 1), FORM, 413),
        ([b"a" * 2**18] * 5, FORM, 413),  # in parts
        (b'{"q": "\\ud800 Ja", "source": "de", "target": "en"}', JSON, 200),
        (b'{"q": "a", "source": "\\ud800", "target": "en"}', JSON, 400),
    ],
)
def test_broken_bodies_are_refused(content: Any, headers: dict[str, str], status: int, client: TestClient) -> None:
    response = client.post("/translate", content=content, headers=headers)
    assert response.status_code == status
    assert response.json().keys() <= {"error", "translatedText"}
    assert "romulan" not in encodings._cache  # names of clients would fill the memory


def test_odd_paths_are_not_found_and_very_long_ones_not_looked_up(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("/%00", "/%ff", "/..%2f..%2fapp.py", f"/{'a' * 5000}", "/download_file/a/b/%00"):
        assert client.get(path).status_code in (400, 404, 414)
    monkeypatch.setattr(StaticFiles, "lookup_path", lambda *_: pytest.fail("it is looked up"))
    for path in ("/", "/v2/", "/download_file/"):
        assert client.get(path + "a/" * 31_000).status_code == 414


def test_a_file_is_translated_and_fetched(client: TestClient, translator: Translator) -> None:
    text = f"{GERMAN[0]}\n\n{GERMAN[1]}\n"
    response = client.post("/translate_file", data=ASKED, files={"file": ("brief.txt", text.encode())})
    address = response.json()["translatedFileUrl"]
    assert address.startswith("http://testserver/download_file/")
    found = client.get(address)
    assert found.text == "{}\n\n{}\n".format(*translator.translate(GERMAN[:2]))
    assert "brief.en.txt" in found.headers["content-disposition"]
    assert client.get(address.replace("/brief", "x/brief")).status_code == 404


def test_a_file_has_texts_of_many_lines(model_folder: Path) -> None:
    service = make_service(model_folder, queue_sentences=100)  # of which a request may have half
    with TestClient(make_app(service)) as client:
        for n, status in ((20, 200), (60, 400)):
            data = json.dumps(["a\n" * n] * 9).encode()
            response = client.post("/translate_file", data=ASKED, files={"file": ("a.json", data)})
            assert response.status_code == status, response.text
        assert "a text of the file has 61 lines: at most 50" in response.json()["error"]


def test_files_that_can_t_be_read_are_refused(client: TestClient) -> None:
    for name, message in (("a.exe", "file format not supported"), ("a.pdf", "save it as .docx"), ("", "missing file")):
        response = client.post("/translate_file", data=ASKED, files={"file": (name, b"x")} if name else None)
        assert response.status_code == 400
        assert message in response.json()["error"]


def test_how_much_an_office_file_may_have_is_a_setting(model_folder: Path) -> None:
    with TestClient(make_app(make_service(model_folder, zip_members=1))) as client:
        response = client.post("/translate_file", data=ASKED, files={"file": ("a.docx", docx())})
        assert response.status_code == 400
        assert "at most 1 are read" in response.json()["error"]


def test_spec_describes_paths_that_exist(client: TestClient) -> None:
    for path, methods in client.get("/spec").json()["paths"].items():
        for method in methods:
            assert client.request(method, path).status_code in (200, 400)


def test_a_long_queue_slows_clients_down(client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service.engine.pieces, "used", 1000)
    monkeypatch.setattr(service.engine.pieces, "held", Counter(testclient=1000))
    monkeypatch.setattr(service.engine, "speed", 100.0)
    response = ask(client, q="Ein anderer neuer Satz")
    message = "Slowdown: too much waits to be translated: try again in 6 seconds"
    assert (response.status_code, response.json(), response.headers["retry-after"]) == (429, {"error": message}, "6")


def test_responses_have_the_headers_of_safety(client: TestClient) -> None:
    for path in ("/languages", "/nowhere", "/translate", "/metrics"):
        headers = client.get(path, headers={"origin": "https://a.example"}).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers.get("access-control-allow-origin") == (None if path in ("/nowhere", "/metrics") else "*")
        assert "access-control-allow-credentials" not in headers
        assert len(headers["x-request-id"]) == 16
    preflight = client.options("/translate")
    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, "*")


def test_the_log_has_no_text(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        client.post("/translate?q=Geheimnis&source=de&target=en", data={"api_key": "sesame"})
        client.post("/translate", json={"q": "Geheimnis", "source": "Geheimnis", "target": "en"})
    records = [record for record in caplog.records if record.name == "nmt.server"]
    lines = [f"{record.getMessage()} {record.__dict__.get('fields')}" for record in records]
    assert sum("translate" in line and "characters" in line for line in lines) == 2
    assert not any("Geheimnis" in line or "sesame" in line for line in lines)


def test_metrics_count_requests_and_lines(client: TestClient) -> None:
    ask(client, q="Ein neuer Satz")
    text = client.get("/metrics").text
    assert 'nmt_requests_total{endpoint="translate",status="200"}' in text
    assert 'nmt_lines_total{cached="no"}' in text
    assert 'nmt_request_seconds_bucket{endpoint="translate",le="+Inf"}' in text
    metrics = Metrics()
    metrics.time("x", 1e6)
    metrics.time("x", 0.5)  # is not lost beside a million
    assert "nmt_x_seconds_sum 1000000.5\n" in metrics.text()


def test_scripts_tell_languages_apart_only_if_they_differ() -> None:
    known = ["de", "sr", "rus", "ko", "ja", "zh", "xx"]
    for text, codes in (("dobar dan", "de sr xx"), ("добар дан", "sr rus"), ("これは日本", "ja"), ("안녕", "ko")):
        assert dict(by_script(text, known)) == dict.fromkeys(codes.split(), pytest.approx(1 / len(codes.split())))
    assert {code for code, _ in by_script("中文", known)} == {"zh", "ja"}
    assert by_script("中文", ["de", "ko", "zh"]) == [("zh", 1.0)]
