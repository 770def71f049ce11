"""The page in a real browser, against a real service with two tiny models: German to English, and back.

The models have random weights: translations are no language, but what the page does with them must be right.
"""

import json
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from nmt.config.serve import ServeConfig
from nmt.data.tokenizer import Tokenizer
from nmt.server.models import Models
from nmt.server.service import Service
from tests.browser import answer, opened, replace_answers, translated, until
from tests.server.conftest import load, running
from tests.tiny import PAIRS, make_model, save_tiny

pytestmark = pytest.mark.services
TEXT = PAIRS[0][0]


@pytest.fixture(scope="module")
def address(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with both directions."""
    folder = tmp_path_factory.mktemp("page")
    there = save_tiny(folder / "de-en", make_model(tokenizer), tokenizer)
    back = save_tiny(folder / "en-de", make_model(tokenizer, seed=2), tokenizer, languages=("en", "de"))
    config = ServeConfig(port=0, workers=1, ready_seconds=0.0, glossaries=str(folder / "glossaries"))
    with running(Service(Models([there, back], load), config)) as address:
        yield address


@pytest.fixture
def page(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    with opened(browser, f"{address}/", accept_downloads=True, **getattr(request, "param", {})) as page:
        page.wait_for_selector("#from option", state="attached")
        yield page


def test_a_text_is_translated_while_it_is_typed(page: Any) -> None:
    page.locator("#source").press_sequentially("Wo ist", delay=20)
    until(lambda: page.input_value("#target"))
    page.locator("#source").press_sequentially(" der Bahnhof?", delay=20)
    page.keyboard.press("Control+Enter")
    until(lambda: page.locator(".stale").count() == 0)
    assert page.locator("#versions .version").count() >= 1
    assert page.input_value("#target").split() == page.locator("#target-pane .word").all_inner_texts()
    assert page.locator("#confidence-text").inner_text().endswith("% sure")
    until(lambda: page.locator("#said").inner_text().startswith("Translated: "))


def test_languages_are_swapped_remembered_and_in_the_address(page: Any) -> None:
    translation = translated(page)
    page.click("#swap")
    until(lambda: page.input_value("#source") == translation)
    assert (page.input_value("#from"), page.input_value("#to")) == ("en", "de")
    assert "source=en" in page.url
    assert "target=de" in page.url
    page.goto(page.url.split("?")[0])
    page.wait_for_selector("#from option", state="attached")
    assert page.input_value("#from") == "en"
    assert page.input_value("#source") == translation
    page.goto(f"{page.url}#text=Good%20day")  # of a page that is open
    until(lambda: page.input_value("#source") == "Good day")


def test_words_that_belong_together_and_doubts_and_flags_are_shown(page: Any) -> None:
    probable = {"one": 0.0, "two": -3.0}
    tokens = [{"piece": f"▁{word}", "text": word, "log_probability": score} for word, score in probable.items()]
    more = {"tokens": tokens, "flags": ["unsure"], "flag_texts": ["Not sure."], "alignments": [[0, 2], [1, 0]]}
    replace_answers(page, lambda body: answer("one two three", **more))
    translated(page, "eins zwei")
    assert page.locator(".doubted").all_inner_texts() == ["two"]
    assert page.locator("#flags").inner_text() == "Not sure."
    page.hover("#target-pane .word >> nth=2", force=True)
    until(lambda: page.locator(".linked").all_inner_texts() == ["eins", "three"])
    assert page.locator("#threads path").count() == 1
    assert page.locator("#reading").inner_text() == "three ← eins"
    page.hover("#source-pane .word >> nth=1", force=True)
    until(lambda: page.locator(".linked").all_inner_texts() == ["zwei", "one"])


def test_the_rest_is_decoded_anew_from_what_is_typed(page: Any) -> None:
    def make(body: dict[str, Any]) -> dict[str, Any]:
        prefix = body.get("prefix", "")
        return answer(f"{prefix.rstrip()} black cat sat." if prefix.startswith("A small") else f"{prefix}dog ran."[:8])

    replace_answers(page, make)
    assert translated(page) == "dog ran."
    page.focus("#target")
    page.keyboard.press("Control+Home")
    page.keyboard.type("A small ")
    until(lambda: page.input_value("#target") == "A small black cat sat.")
    assert page.locator(".proposal").all_inner_texts() == ["black", "cat", "sat."]
    page.keyboard.press("Control+ArrowRight")
    until(lambda: page.locator(".proposal").all_inner_texts() == ["cat", "sat."])
    page.keyboard.press("Tab")
    until(lambda: page.locator(".proposal").count() == 0)
    assert page.evaluate("document.activeElement.id") == "target"
    page.keyboard.type("!")
    assert page.input_value("#target").endswith("sat.!")
    page.keyboard.press("Control+z")
    assert page.input_value("#target") == "A small black cat sat."


def test_lines_that_are_pasted_or_joined_stay_lines_of_the_text(page: Any) -> None:
    replace_answers(page, lambda body: answer(body["text"].upper()))
    assert translated(page, "a b\nc d") == "A B\nC D"
    page.focus("#target")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("X\nY\nZ")
    assert page.input_value("#target") == "X\nY Z"
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    assert page.input_value("#target") == "\n"
    page.keyboard.press("Enter")
    assert page.input_value("#target") == "\n"


def test_escape_brings_the_old_words_back(page: Any) -> None:
    replace_answers(
        page, lambda body: answer(f"{body['prefix'].rstrip()} new end" if body.get("prefix") else "old end")
    )
    translated(page, "a\nb")
    page.focus("#target")
    page.keyboard.press("Control+Home")
    page.keyboard.type("My ")
    until(lambda: page.input_value("#target") == "My new end\nold end")
    page.keyboard.press("Escape")
    assert page.input_value("#target") == "My old end\nold end"
    page.keyboard.press("Control+Enter")
    until(lambda: page.input_value("#target") == "My new end\nold end")
    page.evaluate("document.querySelector('#target').setSelectionRange(14, 14)")  # in the other line, as far right
    page.wait_for_timeout(50)
    page.keyboard.type(" ")  # which is no word of the proposal
    assert page.input_value("#target") == "My new end\nold  end"


def test_a_real_model_continues_the_prefix_and_has_other_words(page: Any) -> None:
    translated(page)
    page.focus("#target")
    page.keyboard.press("Control+Home")
    page.keyboard.type("The little ")
    with page.expect_response("**/v1/translate") as waiting:
        page.keyboard.press("Control+Enter")
    assert waiting.value.json()["translations"][0]["text"].startswith("The little")
    assert json.loads(waiting.value.request.post_data)["search"]["samples"] == 0  # which have no prefix
    assert page.input_value("#target").startswith("The little ")
    with page.expect_response("**/v1/word_alternatives") as waiting:
        page.keyboard.press("Alt+ArrowDown")
    assert waiting.value.ok
    page.wait_for_selector(".option, #alternatives p")
    page.focus("#target")
    page.keyboard.insert_text("a " * 1001)  # more than the service takes before a proposal
    until(lambda: "too long" in page.locator("#said").inner_text())


def test_a_click_on_a_word_lists_other_words(page: Any) -> None:
    words = [{"word": "cat", "probability": 0.2, "text": "A cat ran."}]
    words += [{"word": "fox", "probability": 0.001, "text": "A fox"}]
    replace_answers(page, lambda body: answer("A dog ran."))
    page.route("**/v1/word_alternatives", lambda route: route.fulfill(json={"alternatives": words}))
    translated(page)
    box = page.locator("#target-pane .word >> nth=1").bounding_box()
    page.mouse.click(box["x"] + 5, box["y"] + 10)
    page.click(".option >> nth=0")
    assert page.input_value("#target") == "A cat ran."
    page.keyboard.press("Alt+ArrowDown")
    page.wait_for_selector(".option:focus")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.input_value("#target") == "A fox"
    page.keyboard.press("Alt+ArrowDown")
    page.wait_for_selector(".option:focus")
    source = "const source = document.querySelector('#source')"
    page.evaluate(f"{source}; source.value = 'Hund'; source.dispatchEvent(new Event('input'))")
    until(lambda: page.locator("#alternatives").is_hidden())  # its words stood in another text
    assert page.evaluate("document.activeElement.id") == "target"


def test_corrected_pairs_are_exported(page: Any) -> None:
    replace_answers(page, lambda body: answer("The & dog"))
    translated(page, "Der & Hund")
    page.focus("#target")
    page.keyboard.press("Control+End")
    page.keyboard.type(" <runs>")
    page.click("#keep")
    page.click("#tab-corrections")
    with page.expect_download() as waiting:
        page.click("text=Export as TMX")
    sides = ElementTree.fromstring(waiting.value.path().read_bytes()).iter("tuv")
    found = [(*side.attrib.values(), side.findtext("seg")) for side in sides]
    assert found == [("de", "Der & Hund"), ("en", "The & dog <runs>")]
    with page.expect_download() as waiting:
        page.click("text=Export de-en as TSV")
    assert waiting.value.path().read_text(encoding="utf8") == "Der & Hund\tThe & dog <runs>\n"
    page.click("text=Undo my changes")
    assert page.input_value("#target") == "The & dog"


def test_a_glossary_is_stored_and_used(page: Any) -> None:
    translated(page, "Hund")
    page.click("#tab-glossary")
    page.fill("#glossary [aria-label=Term]", "Hund")
    page.fill("#glossary input[aria-label=Translation]", "dog")
    page.click("#glossary tbody tr:last-child button")  # the row for a new term stays
    assert page.locator("#glossary tbody tr").count() == 2
    with page.expect_request("**/v1/translate") as asked:
        page.click("text=Save and use")
    assert json.loads(asked.value.post_data)["glossary"] == "de-en"
    until(lambda: "dog" in page.input_value("#target"))
    assert page.evaluate("document.querySelector('#glossary').contains(document.activeElement)")
    for used in ("", "de-en"):  # a request with a glossary for other languages would fail
        page.click("#swap")
        until(lambda: page.input_value("#glossary-choice") == used)  # noqa: B023
    page.fill("#glossary [aria-label=Term] >> nth=1", "Hund")
    page.fill("#glossary input[aria-label=Translation] >> nth=1", "cat")
    page.click("text=Save and use")
    until(lambda: "there twice" in page.locator("#glossary").inner_text())
    page.click("text=Delete de-en")
    until(lambda: page.input_value("#glossary-choice") == "")


def test_late_answers_change_no_glossary(page: Any) -> None:
    asked, known = list[Any](), [{"name": name, "source": "de", "target": "en"} for name in "ab"]
    page.evaluate("""localStorage.setItem("nmt.glossaries", '{"de-en": "b"}')""")
    page.route(re.compile("/v1/glossaries"), lambda route: asked.append(route))
    page.click("#swap")
    page.click("#swap")
    until(lambda: page.title() and len(asked) == 2)
    for route in asked:
        route.fulfill(json={"glossaries": known})
    until(lambda: page.title() and len(asked) == 3)
    assert "/b?" in asked[2].request.url
    asked[2].fulfill(json={"entries": {"b": "b"}})
    page.click("#tab-glossary")
    page.focus("#glossary-choice")
    page.select_option("#glossary-choice", "a")
    page.select_option("#glossary-choice", "b")
    until(lambda: page.title() and len(asked) == 5)
    asked[4].fulfill(json={"entries": {"b": "b"}})
    asked[3].fulfill(json={"entries": {"a": "a"}})
    page.wait_for_timeout(300)
    assert page.locator("#glossary [aria-label=Term]").first.input_value() == "b"
    assert page.evaluate("document.activeElement.id") == "glossary-choice"


def test_attention_and_history_are_shown(page: Any) -> None:
    translated(page)
    page.click("#tab-attention")
    page.wait_for_selector("#attention svg rect")
    page.click("#tab-history")
    until(lambda: page.locator("#history .version").count() == 1)
    page.fill("#source", "")
    page.click("#history .version")
    assert page.input_value("#source") == TEXT
    page.click("#tab-attention")
    asked = list[Any]()
    translated(page, "eins\nzwei")
    page.wait_for_timeout(500)  # in which the attention is asked for
    page.route("**/v1/translate", lambda route: asked.append(route))
    for n, key in enumerate(["Home", "End"]):
        page.focus("#source")
        page.keyboard.press(f"Control+{key}")
        until(lambda: page.title() and len(asked) > n)  # noqa: B023
    for n in (1, 0):
        attention = {"source": [["eins"], ["zwei"]][n], "target": ["x"], "weights": [[1]]}
        asked[n].fulfill(json={"translations": [answer("x", attention=attention)]})
    page.wait_for_timeout(300)
    assert page.get_attribute("#attention svg", "aria-label") == "Attention: x from zwei"


def test_a_text_is_remembered_only_with_its_own_translation(page: Any) -> None:
    translated(page)
    page.route("**/v1/translate", lambda route: route.abort())
    page.fill("#source", f"{TEXT} Und noch ein Satz.")
    page.wait_for_timeout(3000)  # in which a text is remembered
    page.unroute("**/v1/translate")
    translated(page, "Hund")
    page.route("**/v1/glossaries", lambda route: None)  # what the page waits for with other languages
    page.select_option("#from", "en")
    page.wait_for_timeout(3000)
    page.click("#tab-history")
    assert "Nothing yet" in page.locator("#history").inner_text()
    page.problems.clear()  # the browser tells the failure, too


def test_text_stays_text(page: Any) -> None:
    evil = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"
    replace_answers(
        page, lambda body: answer(evil, flags=["x"], flag_texts=[evil], alternatives=[answer(f"{evil} two")])
    )
    translated(page, evil)
    for tab in ("attention", "glossary", "corrections", "history", "versions"):
        page.click(f"#tab-{tab}")
    page.hover("#target-pane .word >> nth=1", force=True)
    page.wait_for_timeout(2300)
    page.locator("#versions .version").last.press("Enter")
    assert page.evaluate("document.activeElement.className") == "version"
    assert page.input_value("#target") == f"{evil} two"
    assert page.locator("img").count() == 0
    assert page.locator("body script").count() == 0
    assert page.title() != "hacked"
    assert evil in page.locator("#flags").inner_text()


def test_a_busy_server_is_asked_again(page: Any) -> None:
    replies = iter([429, 200])

    def reply(route: Any) -> None:
        if next(replies) == 429:
            error = {"error": {"code": "busy", "message": "busy"}}
            route.fulfill(status=429, headers={"Retry-After": "1"}, json=error)
        else:
            route.fulfill(json={"translations": [answer("done")]})

    page.route("**/v1/translate", reply)
    page.fill("#source", "Hallo")
    until(lambda: "asked again in 1 second" in page.locator("#notice").inner_text())
    until(lambda: page.input_value("#target") == "done")
    assert page.locator("#notice").is_hidden()
    page.problems.clear()  # the browser notes the status 429


def test_a_key_is_asked_for_where_one_is_needed(page: Any) -> None:
    def reply(route: Any) -> None:
        if route.request.headers.get("authorization") == "Bearer secret":
            route.continue_()
        else:
            error = {"error": {"code": "no_key", "message": "this service needs a key"}}
            route.fulfill(status=401, json=error)

    page.route("**/v1/models", reply)
    page.reload()
    until(lambda: "needs a key" in page.locator("#notice").inner_text())
    page.fill("[aria-label=Key]", "secret")
    page.click("text=Use this key")
    page.wait_for_selector("#from option", state="attached")
    assert page.locator("#notice").is_hidden()
    page.problems.clear()  # the browser notes the status 401


def test_problems_are_told_in_words(page: Any) -> None:
    translated(page, "eins")
    page.fill("#source", "viel Text " * 1500)
    until(lambda: "at most 10,000 are allowed" in page.locator("#notice").inner_text())
    translated(page, "eins")
    page.focus("#target")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("mine")
    page.context.set_offline(True)
    page.fill("#source", "eins\nzwei")
    until(lambda: "You are offline" in page.locator("#notice").inner_text())
    page.context.set_offline(False)
    until(lambda: page.locator("#notice").is_hidden())
    until(lambda: page.locator(".stale").count() == 0)
    assert page.input_value("#target").startswith("mine\n")
    page.problems.clear()  # the browser notes both failures


def test_a_file_is_translated_and_its_progress_and_problem_are_shown(page: Any) -> None:
    data = f"{TEXT} ß".encode("cp1252")
    file = {"name": "brief.txt", "mimeType": "text/plain", "buffer": data}
    page.click("#tab-documents")
    page.set_input_files("#file", file)
    with page.expect_download() as waiting:
        page.click("text=Download brief.en.txt")
    assert waiting.value.suggested_filename == "brief.en.txt"
    assert waiting.value.path().read_bytes().strip() not in (b"", data)
    assert "in the encoding cp1252" in page.locator("#jobs").inner_text()
    states = iter([(1, 4, "translating", ""), None, (1, 4, "error", "brief.txt is no text: save it as UTF-8")])

    def reply(route: Any) -> None:
        if route.request.method == "POST":
            route.fulfill(status=202, json={"id": "a", "token": "t"})
        elif found := next(states):
            route.fulfill(json=dict(zip(("done", "of", "state", "message"), found, strict=True)))
        else:
            route.abort()

    page.route(re.compile("/v1/documents"), reply)
    page.set_input_files("#file", file)
    until(lambda: "1 of 4 texts" in page.locator("#jobs").inner_text())
    until(lambda: "save it as UTF-8" in page.locator("#jobs").inner_text())
    page.problems.clear()  # the browser notes the failure


@pytest.mark.parametrize("page", [{"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"}], indirect=True)
def test_it_fits_a_phone_and_follows_the_system_into_the_dark(page: Any) -> None:
    translated(page, f"{TEXT} Donaudampfschifffahrtsgesellschaftskapitänskajütenschlüsselbund" * 2)
    for tab in ("versions", "attention", "glossary", "corrections", "history"):
        page.click(f"#tab-{tab}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, tab
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.select_option("#theme", "light")
    assert page.evaluate(ground) != dark
    page.reload()
    assert page.evaluate(ground) != dark


def test_right_to_left_text_begins_on_the_right(page: Any) -> None:
    replace_answers(page, lambda body: answer("הכלב רץ"))
    translated(page)
    word = page.locator("#target-pane .word >> nth=0").bounding_box()
    pane = page.locator("#target-pane").bounding_box()
    assert word["x"] > pane["x"] + pane["width"] / 2


def test_the_layer_below_a_pane_has_its_words_where_the_text_is(page: Any) -> None:
    for text in (f"{TEXT}\n\n  zwei  Wörter\n" * 3, "Ein  sehr langes Wort: " + "x" * 300):
        translated(page, text)
        sizes = page.evaluate("""['source', 'target'].map((side) => {
            const pane = document.getElementById(`${side}-pane`);
            return [pane.querySelector('textarea').scrollHeight, pane.clientHeight];
        })""")
        assert all(text_height <= height for text_height, height in sizes), sizes


def test_a_screen_reader_finds_its_way(page: Any) -> None:
    translated(page)
    tree = page.locator("body").aria_snapshot()
    for expected in (
        'combobox "Translate from"', 'combobox "Translate into"', 'button "Swap the languages"',
        'textbox "Text to translate"', 'textbox "Translation, which you can edit"', 'tab "Versions" [selected]',
        'tabpanel "Versions"', "main", "banner",
    ):  # fmt: skip
        assert expected in tree, f"{expected} is not in\n{tree}"
    page.click("h1")
    panes = ("source", "clear", "target", "copy", "tab-versions", "versions")
    for name in ("tab-text", "theme", "from", "swap", "to", *panes):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == name
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-attention"
    assert page.locator("#attention").is_visible()
