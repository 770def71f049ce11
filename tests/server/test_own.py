"""Our own API: what it tells of a translation is what the translator knows, and wrong requests are told why."""

import json
import math
import shutil
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from starlette.testclient import TestClient

from nmt.config import LoraConfig, SearchConfig
from nmt.model.lora import AdaptedLinear, adapters, add_adapters
from nmt.reading.request import Constraints, Request, Term
from nmt.server.apis.native.answers import FLAG_TEXTS
from nmt.server.apis.native.bodies import Search, make_search
from nmt.server.app import make_app
from nmt.server.service import Service
from nmt.server.store.glossaries import Dictionary
from nmt.server.store.keys import make_key, remove_key
from nmt.text.suspicions import Flag
from nmt.translation.adapter import save_adapter
from nmt.translation.model_folder import load_model
from nmt.translation.pair_scorer import PairScorer
from nmt.translation.translator import Translator
from tests.server.conftest import GERMAN, make_service
from tests.tiny import SHORT


def post(client: TestClient, **body: Any) -> dict[str, Any]:
    answer = client.post("/v1/translate", json={"source": "de", "target": "en"} | body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_translations_are_those_of_the_translator(client: TestClient, translator: Translator) -> None:
    answer = post(client, text=GERMAN, format=None)  # as if it were left out
    assert [one["text"] for one in answer["translations"]] == translator.translate(GERMAN)
    assert answer["model"] == {"source": "de", "target": "en"}
    several = post(client, text=f"  {GERMAN[0]}\n\n{GERMAN[1]} ")["translations"][0]["text"]
    first, second = translator.translate(GERMAN[:2])
    assert several == f"  {first}\n\n{second} "


@pytest.fixture(scope="module")
def adapter_folders(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    torch.manual_seed(2)
    found = {name: tmp_path_factory.mktemp(name) / "adapter" for name in ("law", "sport")}
    for folder in found.values():
        model, _, _ = load_model(model_folder)
        add_adapters(model, LoraConfig(rank=4, alpha=40))
        for adapter in adapters(model).values():
            for b in adapter.B:
                torch.nn.init.normal_(b)
        save_adapter(folder, model, "the base")
    return found


def test_requests_choose_an_adapter_by_its_name(model_folder: Path, adapter_folders: dict[str, Path]) -> None:
    service = make_service(model_folder, adapter_folders)
    with TestClient(make_app(service)) as client:
        found = {}
        for name in ("", "law", "sport"):
            found[name] = [one["text"] for one in post(client, text=GERMAN, model=name)["translations"]]
            folder = adapter_folders.get(name)
            alone = Translator.load(model_folder, "cpu", precision="fp32", backend="pytorch", adapter=folder)
            assert found[name] == alone.translate(GERMAN)
        assert len({tuple(texts) for texts in found.values()}) == 3
        listed = client.get("/v1/models").json()["models"]
        base = service.models.all[0].name
        assert [one["name"] for one in listed] == [base, "law", "sport"]
        assert post(client, text=GERMAN, model=base)["translations"] == post(client, text=GERMAN)["translations"]
        wrong = client.post("/v1/translate", json={"text": "a", "target": "en", "model": "lawn"})
        assert wrong.status_code == 400
        assert wrong.json()["error"]["code"] == "no_model"
        assert f"there is {base}, law, sport" in wrong.json()["error"]["message"]
        plain = client.post("/translate", json={"q": GERMAN[0], "source": "de", "target": "en"}).json()
        assert plain["translatedText"] == found[""][0]
    translators = [service.models.translator(("de", "en"), name) for name in found]
    weights = [{p.data_ptr() for p in one.model.parameters()} for one in translators]
    assert weights[0] == weights[0] & weights[1] & weights[2]
    adapted = [module for module in translators[1].model.modules() if isinstance(module, AdaptedLinear)]
    assert len(weights[1] - weights[0]) == 2 * len(adapted)


def test_replaced_adapters_are_reloaded(model_folder: Path, adapter_folders: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(adapter_folders["law"], tmp_path / "adapter"))
    service = make_service(model_folder, {"mine": folder})
    with TestClient(make_app(service)) as client:
        for name in ("law", "sport"):
            shutil.copytree(adapter_folders[name], folder, dirs_exist_ok=True)
            alone = Translator.load(model_folder, "cpu", precision="fp32", backend="pytorch", adapter=folder)
            for _ in range(100):  # until it is loaded
                found = [one["text"] for one in post(client, text=GERMAN, model="mine")["translations"]]
                if found == alone.translate(GERMAN):
                    break
                time.sleep(0.05)
            assert found == alone.translate(GERMAN)


def test_a_model_of_many_directions_is_looked_through_once(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service, look = make_service(model_folder), Mock(return_value=[torch.zeros(3, 4)])
    with TestClient(make_app(service)) as client:
        post(client, text=GERMAN)  # which loads the model
        [served] = service.models.all
        service.models.by_direction |= {("de", str(n)): served for n in range(1000)}
        monkeypatch.setattr(service.models.translator(("de", "en")).model, "parameters", look)
        listed = client.get("/v1/models").json()["models"]
    assert [one["parameters"] for one in listed] == [12] * 1001
    look.assert_called_once()


def test_settings_of_a_search_are_those_of_the_request(client: TestClient, translator: Translator) -> None:
    wide = SearchConfig(**{**SHORT.__dict__, "beam_size": 4, "n_best": 3})
    expected = [one.text for one in translator.translate_n_best(GERMAN[:1], wide)[0]]
    [found] = post(client, text=GERMAN[0], search={"n_best": 3, "beam_size": 4})["translations"]
    assert [found["text"], *(one["text"] for one in found["alternatives"])] == expected
    samples = {"samples": 4, "temperature": 2.0}
    answers = [post(client, text=GERMAN[0], search=samples | {"seed": seed}) for seed in (1, 1, 2)]
    one, same, other = ([t["text"] for t in found["translations"][0]["alternatives"]] for found in answers)
    assert one == same != other
    assert len(one) == 3
    assert make_search(Search(n_best=5), SearchConfig(samples=4)).samples == 5  # as the page asks, of any service


def test_constraints_and_glossaries_are_kept_to(client: TestClient, translator: Translator) -> None:
    body = {"prefix": "The men", "must": [["coffee", "table"]], "must_not": ["dog"]}
    [found] = post(client, text=GERMAN[0], **body)["translations"]
    assert found["text"].startswith("The men")
    constraints = Constraints("The men", (Term(("coffee", "table")),), ("dog",))
    assert [found["text"]] == translator.translate([Request(GERMAN[0], constraints)])
    [found] = post(client, text=GERMAN[0], glossary={"Hund": "coffee"})["translations"]
    assert "coffee" in found["text"]
    assert "note" not in found
    [found] = post(client, text=GERMAN[0], glossary={"Hund": "coffee"}, must_not=["coffee"])["translations"]
    assert "coffee" not in found["text"]
    assert "without some terms of the glossary" in found["note"]


def test_glossaries_are_stored_by_name(client: TestClient) -> None:
    path, entries = "/v1/glossaries/My%20terms", {"Hund": "coffee"}
    info = {"name": "My terms", "source": "de", "target": "en"}
    assert client.put(path, json={"source": "de", "target": "en", "entries": {"Wiese": "men"}}).status_code == 200
    assert client.put(path, json={"source": "de", "target": "en", "entries": entries}).json() == info | {"count": 1}
    assert info | {"count": 1} in client.get("/v1/glossaries").json()["glossaries"]
    assert client.get(path).json() == info | {"entries": entries}
    assert "coffee" in post(client, text=GERMAN[0], glossary="My terms")["translations"][0]["text"]
    assert client.delete(path).status_code == 204
    assert client.get(path).json()["error"]["code"] == "no_glossary"


def test_a_glossary_loses_the_direction_that_is_named(client: TestClient, service: Service) -> None:
    there, back = Dictionary("de", "en", {"Hund": "dog"}), Dictionary("en", "de", {"dog": "Hund"})
    service.glossaries.create("", "both", [there, back])
    path = "/v1/glossaries/both"
    assert client.delete(f"{path}?source=de&target=fr").status_code == 404
    assert client.delete(f"{path}?source=de&target=en").status_code == 204
    assert client.delete(f"{path}?source=de&target=en").json()["error"]["code"] == "no_glossary"
    missing = client.post("/v1/translate", json={"text": "a", "target": "en", "glossary": "both"}).json()["error"]
    assert missing["message"] == "the glossary 'both' has no entries for de to en"
    assert client.get(path).json()["entries"] == back.entries
    assert client.delete(f"{path}?source=EN-us&target=DE").status_code == 204  # as for PUT
    assert client.get(path).status_code == 404
    assert not service.glossaries.named("", "both")


def test_details_are_told_where_they_are_asked_for(client: TestClient, translator: Translator) -> None:
    [[best]] = translator.translate_n_best(GERMAN[:1])
    [found] = post(client, text=GERMAN[0], alignments=True, tokens=True, attention=True)["translations"]
    assert found["alignments"] == [[i, j] for i, j in translator.align(GERMAN[0], best)]
    pieces = translator.tokenizer.target_pieces(best.parts[0].hypothesis.ids)
    assert [token["piece"] for token in found["tokens"]] == [*pieces, "</s>"]
    log_probs = [token["log_probability"] for token in found["tokens"]]
    assert log_probs == pytest.approx(best.token_log_probs, abs=1e-4)
    attention = found["attention"]
    sizes = [len(attention[side]) for side in ("target", "source")]
    assert [len(attention["weights"]), len(attention["weights"][0])] == sizes
    assert all(0 < sum(row) <= 1.001 for row in attention["weights"])
    plain = post(client, text=GERMAN[0])["translations"][0]
    assert not {"alignments", "tokens", "attention", "quality"} & set(plain)


def test_flags_come_with_sentences(client: TestClient) -> None:
    assert set(FLAG_TEXTS) == set(Flag.__args__)  # type: ignore[attr-defined]
    [found] = post(client, text=GERMAN[2], search={"guard": True, "max_length_ratio": 0.1})["translations"]
    assert found["flags"]
    assert found["flag_texts"] == [FLAG_TEXTS[flag] for flag in found["flags"]]


def test_sentences_are_streamed_before_the_whole_answer(client: TestClient, translator: Translator) -> None:
    text = f"{GERMAN[2]}\n{GERMAN[0]}"
    body = {"text": [text, GERMAN[1]], "target": "en", "stream": True, "alignments": True}
    answer = client.post("/v1/translate", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [event.split("\ndata: ") for event in answer.text.strip().split("\n\n")]
    names, data = [name for name, _ in events], [json.loads(value) for _, value in events]
    assert names == ["event: sentence"] * 4 + ["event: done"]
    by_place = {(one["index"], one["line"], one["sentence"]): one["text"] for one in data[:-1]}
    assert sorted(by_place) == [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)]
    sentences = translator.translate(["Wo ist der Bahnhof?", "Er ist dort drüben!", GERMAN[0], GERMAN[1]])
    assert [by_place[place] for place in sorted(by_place)] == sentences
    first, second = data[-1]["translations"]
    assert first["text"] == f"{sentences[0]} {sentences[1]}\n{sentences[2]}"
    assert second["text"] == sentences[3]
    assert {j for _, j in first["alignments"]} == set(range(len(first["text"].split())))
    whole = client.post("/v1/translate", json=body | {"text": "<p>A. B.</p>", "format": "html", "alignments": False})
    assert whole.text.count("event: sentence") == 1  # mark-up isn't cut


def test_other_words_are_told_with_the_rest_decoded_anew(client: TestClient, translator: Translator) -> None:
    body = {"text": GERMAN[2], "target": "en", "translation": "Where is it? It is there!", "word": 4}
    words = client.post("/v1/word_alternatives", json=body).json()["alternatives"]
    assert words
    assert [one["probability"] for one in words] == sorted((one["probability"] for one in words), reverse=True)
    for one in words:
        assert one["text"].startswith(f"Where is it? It {one['word']}")
    [alone] = translator.translate([Request("Er ist dort drüben!", Constraints(f"It {words[0]['word']}"))])
    assert words[0]["text"] == f"Where is it? {alone}"
    answer = client.post("/v1/word_alternatives", json=body | {"word": 6})
    assert answer.status_code == 400
    assert "6 words" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("change", "status", "code", "words"),
    [
        ({"text": None}, 400, "invalid", "text is missing: it must be a text or a list such as [a, b]"),
        ({"target": None}, 400, "invalid", "target is missing"),
        ({"text": 1}, 400, "invalid", "text is 1: it must be a text or a list"),
        ({"text": ["a", None]}, 400, "invalid", "text[1] is null"),
        ({"target": "fr"}, 400, "unknown_direction", "there is de to en"),
        ({"must": [""]}, 400, "constraints", "empty"),
        ({"must": [[]] * 33}, 400, "constraints", "too many"),
        ({"must": ["a"] * 33}, 400, "constraints", "too many"),
        ({"must": ["a"], "search": {"samples": 2}}, 400, "constraints", "samples"),
        ({"must": ["a", {}]}, 400, "invalid", "must[1] is an object: it must be a text or a list such as [a, b], each"),
        ({"quality": True}, 400, "no_scorer", "leave quality out"),
        ({"glossary": {"": "a"}}, 400, "invalid", "no entry"),
        ({"format": "pdf"}, 400, "invalid", "format is 'pdf': it must be one of text, html"),
        ({"text": "a" * 10_001}, 413, "too_long", "10,001 characters"),
        ({"text": ["a"] * 129}, 413, "too_many", "129 texts"),
        ({"text": "a b " * 400, "attention": True}, 413, "too_long", "attention"),
        ({"serach": {}}, 400, "invalid", "the body has no member 'serach': did you mean search?"),
        ({"search": []}, 400, "invalid", "search is a list: it must be an object"),
        ({"search": {"lm_weight": 1}}, 400, "invalid", "no member 'lm_weight'"),
        ({"search": {"n_best": 3, "beam_size": 2}}, 400, "invalid", "n_best is 3"),
        ({"search": {"guard": 1}}, 400, "invalid", "search.guard is 1: it must be true or false or null"),
        ({"search": {"temperature": True}}, 400, "invalid", "search.temperature is true: it must be a number at least"),
        ({"search": {"temperature": math.nan}}, 400, "invalid", "search.temperature is nan: it must be a number at le"),
        ({"search": {"samples": 10**400}}, 400, "invalid", "search.samples is a number that is too large: it must be"),
        ({"search": {"samples": 1.5}}, 400, "invalid", "samples is 1.5: it must be a whole number at least 0 and at m"),
        ({"search": {"beam_size": 17}}, 400, "invalid", "search.beam_size is 17: it must be at least 1 and at most 16"),
    ],
)
def test_wrong_requests_are_told_why(client: TestClient, change: Any, status: int, code: str, words: str) -> None:
    body = {name: value for name, value in ({"text": "a", "target": "en"} | change).items() if value is not None}
    head = {"content-type": "application/json"}
    answer = client.post("/v1/translate", content=json.dumps(body), headers=head)  # which takes NaN
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert words in error["message"]


def test_keys_open_a_service(guarded: TestClient, guarded_service: Service, keys: Path, scorer_folder: Path) -> None:
    client = guarded
    scorer = PairScorer.load(scorer_folder, "cpu", "fp32")
    with pytest.raises(ValueError, match="is for fi to sv: no model translates so"):
        guarded_service.add_scorer(("fi", "sv"), scorer)
    guarded_service.add_scorer(("de-AT", "en"), scorer)
    first, second = make_key(keys, "first", requests=3), make_key(keys, "second")
    body = {"text": GERMAN[0], "target": "en", "quality": True}
    heads = {name: {"Authorization": f"Bearer {key}"} for name, key in (("first", first), ("second", second))}
    wrong = client.post("/v1/translate", json=body, headers={"Authorization": f"Bearer {first[:-1]}"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (403, "wrong_key")
    answer = client.post("/v1/translate", json=body, headers=heads["first"])
    assert 0 <= answer.json()["translations"][0]["quality"] <= 1
    entries = {"source": "de", "target": "en", "entries": {"Hund": "dog"}}
    assert client.put("/v1/glossaries/mine", json=entries, headers=heads["first"]).status_code == 200
    assert client.get("/v1/glossaries/mine", headers=heads["second"]).status_code == 404
    deepl = {"Authorization": f"DeepL-Auth-Key {first}"}
    assert client.post("/v2/translate", json={"text": ["a"], "target_lang": "EN"}, headers=deepl).status_code == 200
    late = client.post("/translate", json={"q": "a", "source": "de", "target": "en", "api_key": first})
    assert late.status_code == 429
    assert 1 <= int(late.headers["Retry-After"]) <= 60
    remove_key(keys, "second")
    assert client.get("/v1/models", headers=heads["second"]).status_code == 403
