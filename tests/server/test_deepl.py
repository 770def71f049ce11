"""DeepL's API: its own client works unchanged, and so do the requests that Weblate sends."""

import gc
import io
import time
from pathlib import Path
from typing import Any

import deepl
import pytest
from deepl.api_data import MultilingualGlossaryDictionaryEntries
from starlette.testclient import TestClient

from nmt.server import codes
from nmt.server.apis import libretranslate
from nmt.server.apis.bodies import Upload
from nmt.server.apis.deepl import texts as texts_of_deepl
from nmt.server.app import make_app
from nmt.translation.translator import Translator
from tests.server.conftest import GERMAN, know, make_service

DICTIONARY = {"source_lang": "de", "target_lang": "en", "entries": "a\tb"}


@pytest.fixture
def official(url: str) -> deepl.DeepLClient:
    """DeepL's own client."""
    return deepl.DeepLClient("any key", server_url=url)


def test_the_official_client_gets_the_model_s_translations(official: deepl.DeepLClient, translator: Translator) -> None:
    expected = translator.translate(GERMAN)
    found = official.translate_text(GERMAN, target_lang="EN-US")
    assert [one.text for one in found] == expected
    assert [one.billed_characters for one in found] == [len(text) for text in GERMAN]
    more: dict[str, Any] = {"formality": "prefer_more", "context": "A meadow.", "split_sentences": "nonewlines"}
    more |= {"source_lang": "de", "target_lang": "EN-GB", "preserve_formatting": True}
    single = official.translate_text(GERMAN[0], **more)
    assert (single.text, single.detected_source_lang) == (expected[0], "DE")


def test_the_official_client_learns_languages_and_usage(official: deepl.DeepLClient) -> None:
    assert [(one.code, one.name) for one in official.get_source_languages()] == [("DE", "German")]
    assert [one.code for one in official.get_target_languages()] == ["EN-GB", "EN-US"]
    assert [(one.source_lang, one.target_lang) for one in official.get_glossary_languages()] == [("de", "en")]
    before = official.get_usage().character.count
    official.translate_text("Hund", target_lang="EN-US")
    usage = official.get_usage()
    assert usage.character.count == before + 4
    assert not usage.any_limit_reached


def test_a_glossary_of_the_official_client_is_kept_to(official: deepl.DeepLClient) -> None:
    glossary = official.create_glossary("mine", "DE", "EN", {"Hund": "table", "Wiese": "coffee"})
    assert (glossary.source_lang, glossary.target_lang, glossary.entry_count) == ("DE", "EN", 2)
    assert official.get_glossary_entries(glossary) == {"Hund": "table", "Wiese": "coffee"}
    assert official.get_glossary(glossary.glossary_id).name == "mine"
    assert glossary.glossary_id in [one.glossary_id for one in official.list_glossaries()]
    found = official.translate_text("Der Hund läuft.", source_lang="DE", target_lang="EN-US", glossary=glossary)
    assert "table" in found.text
    assert "coffee" not in found.text
    official.delete_glossary(glossary)
    with pytest.raises(deepl.GlossaryNotFoundException):
        official.get_glossary(glossary.glossary_id)


def test_a_glossary_of_version_3_can_be_changed(official: deepl.DeepLClient) -> None:
    entries = MultilingualGlossaryDictionaryEntries("DE", "EN", {"Hund": "table"})
    glossary = official.create_multilingual_glossary("mine", [entries])
    found = official.get_multilingual_glossary_entries(glossary, "DE", "EN").dictionaries[0]
    assert (found.source_lang, found.entries) == ("de", "Hund\ttable")
    more = MultilingualGlossaryDictionaryEntries("DE", "EN", {"Katze": "men"})
    changed = official.update_multilingual_glossary_dictionary(glossary, more)
    assert changed.dictionaries[0].entry_count == 2
    assert official.replace_multilingual_glossary_dictionary(glossary, more).entry_count == 1
    assert official.update_multilingual_glossary_name(glossary, "yours").name == "yours"
    assert [one.name for one in official.list_multilingual_glossaries()] == ["yours"]
    official.delete_multilingual_glossary_dictionary(glossary, changed.dictionaries[0])
    assert official.get_multilingual_glossary(glossary.glossary_id).dictionaries == []
    official.delete_multilingual_glossary(glossary)
    assert official.list_multilingual_glossaries() == []


def test_a_glossary_of_version_3_may_come_as_a_form(client: TestClient) -> None:
    """DeepL's clients for Node, Java and .NET number the fields of the dictionaries."""
    form = {"name": "mine"} | {f"dictionaries[0].{name}": value for name, value in DICTIONARY.items()}
    made = client.post("/v3/glossaries", data=form).json()
    counted = {"source_lang": "de", "target_lang": "en", "entry_count": 1}
    assert made["dictionaries"] == [counted]
    more = form | {"dictionaries[0].entries": "c,d", "dictionaries[0].entries_format": "csv"}
    changed = client.patch(f"/v3/glossaries/{made['glossary_id']}", data=more).json()
    assert changed["dictionaries"] == [counted | {"entry_count": 2}]
    client.delete(f"/v3/glossaries/{made['glossary_id']}")


def test_a_document_of_the_official_client_is_translated(official: deepl.DeepLClient, translator: Translator) -> None:
    text = f"{GERMAN[0]}\n\n{GERMAN[1]}\n"
    handle = official.translate_document_upload(text.encode(), target_lang="EN-US", filename="brief.txt")
    # The client's own way of waiting sleeps for 5 seconds.
    while not (status := official.translate_document_get_status(handle)).done:
        assert status.ok
        time.sleep(0.02)
    assert status.billed_characters == len(GERMAN[0]) + len(GERMAN[1])
    output = io.BytesIO()
    official.translate_document_download(handle, output)
    first, second = translator.translate(GERMAN[:2])
    assert output.getvalue().decode() == f"{first}\n\n{second}\n"
    stolen = deepl.DocumentHandle(handle.document_id, "a guess")
    with pytest.raises(deepl.DeepLException, match="Not found"):
        official.translate_document_get_status(stolen)


def test_documents_of_the_clients_for_java_and_net_are_taken(client: TestClient) -> None:
    """That for Java writes the address with a / at its end. That for .NET writes the name twice: it codes letters in a
    way of its own, and then as RFC 5987 says."""
    names = "filename=\"=?utf-8?B?w5xiZXIudHh0?=\"; filename*=utf-8''%C3%9Cber.txt"
    target = "--b\r\nContent-Disposition: form-data; name=target_lang\r\n\r\nEN-US\r\n"
    file = f"--b\r\nContent-Disposition: form-data; name=file; {names}\r\n\r\n{GERMAN[0]}\r\n--b--\r\n"
    kind = {"Content-Type": 'multipart/form-data; boundary="b"'}
    sent = client.post("/v2/document/", content=(target + file).encode(), headers=kind).json()
    address, key = f"/v2/document/{sent['document_id']}", {"document_key": sent["document_key"]}
    while client.post(address, data=key).json()["status"] != "done":
        time.sleep(0.02)
    assert "''%C3%9Cber.en.txt" in client.post(f"{address}/result", data=key).headers["content-disposition"]


def test_a_text_in_the_target_language_stays(official: deepl.DeepLClient) -> None:
    found = official.translate_text("The <b>dog</b> runs.", source_lang="EN", target_lang="EN-GB", tag_handling="html")
    assert (found.text, found.detected_source_lang) == ("The <b>dog</b> runs.", "EN")


def test_of_equally_probable_languages_one_that_is_translated_to_the_target_is_the_source(
    model_folder: Path, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As without a package that tells languages: the first one was the target itself."""
    service, texts = make_service(model_folder), {"deu_Latn": "Hallo", "eng_Latn": "Hello"}
    know(service, translator, texts)
    monkeypatch.setattr(codes, "identifier", lambda: None)
    with TestClient(make_app(service)) as client:
        for source, target, text in (("EN", "deu_Latn", "Hello"), ("DE", "eng_Latn", "Hallo")):
            found = client.post("/translate", json={"q": text, "source": "auto", "target": target}).json()
            assert found["translatedText"] == texts[target]
            found = client.post("/v2/translate", json={"text": [text], "target_lang": target[:2]}).json()
            assert found["translations"] == [{"detected_source_language": source, "text": texts[target]}]


def test_languages_are_guessed(model_folder: Path, translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    service, texts = make_service(model_folder), {"de": "Guten Tag", "fr": "Bonjour", "en": "Hello"}
    know(service, translator, texts)
    known = {text: code for code, text in texts.items()}
    for module in (texts_of_deepl, libretranslate):
        monkeypatch.setattr(module, "likeliest", lambda text, _: (known.get(text, "de"), 1.0))
    with TestClient(make_app(service)) as client:

        def state_of(text: str) -> tuple[str, str]:
            file = {"file": ("a.txt", text.encode())}
            sent = client.post("/v2/document", files=file, data={"target_lang": "EN-GB"}).json()
            path, key = f"/v2/document/{sent['document_id']}", {"document_key": sent["document_key"]}
            while (state := client.post(path, data=key).json())["status"] in ("queued", "translating"):
                time.sleep(0.02)
            found = client.post(f"{path}/result", data=key).text
            return state["status"], state["message"] if state["status"] == "error" else found

        assert state_of("Bonjour") == ("done", "Hello")
        assert state_of("Guten Tag") == ("done", "Hello")
        assert state_of("Hello") == ("error", "Source and target language are equal.")
        gc.collect()
        assert not [found for found in gc.get_objects() if type(found) is Upload]  # not even in the error
        form = {"source": "auto", "target": "en"}
        address = client.post("/translate_file", data=form, files={"file": ("a.txt", b"Bonjour")}).json()
        assert client.get(address["translatedFileUrl"]).text == "Hello"


def test_the_official_client_shows_the_errors(official: deepl.DeepLClient) -> None:
    with pytest.raises(deepl.DeepLException, match=r"Bad request.*target_lang.*'FR'"):
        official.translate_text("Hund", target_lang="FR")
    with pytest.raises(deepl.DeepLException, match="style_id"):
        official.translate_text("Hund", target_lang="EN-US", style_rule="mine")
    with pytest.raises(deepl.DeepLException, match=r"Invalid file.*no format"):
        official.translate_document_upload(b"MZ", target_lang="EN-US", filename="virus.exe")


def test_texts_of_forms_and_queries_are_translated_too(client: TestClient, translator: Translator) -> None:
    expected = [{"detected_source_language": "DE", "text": text} for text in translator.translate(GERMAN[:2])]
    given = {"text": GERMAN[:2], "target_lang": "en"}
    assert client.post("/v2/translate", data=given).json() == {"translations": expected}
    assert client.get("/v2/translate", params=given).json() == {"translations": expected}


@pytest.mark.parametrize("value", ["nonewlines", "NoNewlines"])
def test_line_breaks_are_blanks_without_newlines(client: TestClient, value: str) -> None:
    given = {"text": ["Der\nHund\tDer Hund"], "target_lang": "EN", "split_sentences": value}
    [found] = client.post("/v2/translate", json=given).json()["translations"]
    first, second = found["text"].split("\t")  # cells stay apart
    assert first == second


def test_requests_of_weblate(client: TestClient) -> None:
    """What weblate/machinery/deepl.py sends."""
    text = 'Der <x id="4"></x> läuft &amp; läuft.'
    asked: dict[str, Any] = {"source_lang": "DE", "target_lang": "EN", "formality": "default", "tag_handling": "xml"}
    answer = client.post("/v2/translate", json=asked | {"text": [text, "Hund"], "ignore_tags": ["x"]})
    [first, second] = answer.json()["translations"]
    assert first["text"].count('<x id="4"></x>') == 1
    assert "translate=" not in first["text"]
    assert set(second) == {"detected_source_language", "text"}
    assert client.get("/v2/languages", params={"type": "source"}).json() == [{"language": "DE", "name": "German"}]
    rows = client.get("/v3/languages", params={"resource": "translate_text"}).json()
    usable = {row["lang"]: (row["usable_as_source"], row["usable_as_target"]) for row in rows}
    assert usable == {"de": (True, False), "en": (False, False), "en-GB": (False, True), "en-US": (False, True)}


def test_what_is_inside_ignored_tags_stays(client: TestClient) -> None:
    body = {"text": [" <p>Der <code2>kleine Hund</code2> läuft.</p>\n"], "target_lang": "EN", "tag_handling": "html"}
    [found] = client.post("/v2/translate", json=body | {"ignore_tags": "code2,x"}).json()["translations"]
    assert "<code2>kleine Hund</code2>" in found["text"]
    assert (found["text"][:4], found["text"][-5:]) == (" <p>", "</p>\n")


RIGHT: dict[str, dict[str, Any]] = {
    "/v2/translate": {"text": ["a"], "target_lang": "EN"},
    "/v2/glossaries": {"name": "x"} | DICTIONARY,
    "/v3/glossaries": {"name": "x"},
}


@pytest.mark.parametrize(
    ("path", "fields", "status", "words"),
    [
        ("/v2/translate", {"text": None}, 400, "'text' not specified"),
        ("/v2/translate", {"target_lang": None}, 400, "'target_lang' not specified"),
        ("/v2/translate", {"text": [1]}, 400, "text is a list"),
        ("/v2/translate", {"source_lang": "FR"}, 400, "source_lang"),
        ("/v2/translate", {"tag_handling": "rtf"}, 400, "tag_handling"),
        ("/v2/translate", {"formality": "rude"}, 400, "formality"),
        ("/v2/translate", {"glossary_id": "x"}, 400, "source_lang"),
        ("/v2/translate", {"source_lang": "DE", "glossary_id": "../x"}, 404, "not found"),
        ("/v2/translate", {"source_lang": "DE", "glossary_ids": ["x"] * 6}, 400, "At most 5"),
        ("/v2/translate", {"tag_handling": "xml", "ignore_tags": "a," * 1_000}, 400, "too many"),
        ("/v2/translate", {"glossary_ids": ["a"] * 1_001}, 400, "too many"),
        ("/v2/translate", {"text": ["a"] * 129}, 413, "129 texts"),
        ("/v2/glossaries", {"entries": None}, 400, "'entries' not specified"),
        ("/v2/glossaries", {"entries": "Hund"}, 400, "line 1"),
        ("/v2/glossaries", {"name": ""}, 400, "no name"),
        ("/v3/glossaries", {"dictionaries": [DICTIONARY, DICTIONARY | {"entries": "c\td"}]}, 400, "two"),
    ],
)
def test_errors_are_deepl_s(client: TestClient, path: str, fields: dict[str, Any], status: int, words: str) -> None:
    answer = client.post(path, json=RIGHT[path] | fields)
    assert answer.status_code == status
    assert set(answer.json()) == {"message"}
    assert words in answer.json()["message"]
