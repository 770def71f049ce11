"""One HTML file in a real browser, opened from the disk: it translates, links words, stops, and doesn't freeze."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nmt.data.tokenizer import Tokenizer
from nmt.export import main
from tests.tiny import PAIRS, make_model, save_tiny

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: it drives the browser")
pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed, such as Debian's package chromium"),
]
WAIT = 60  # seconds: the machine may be busy


@pytest.fixture(scope="module")
def file(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    model = save_tiny(folder / "model", make_model(tokenizer), tokenizer)
    (folder / "lines.txt").write_text("\n".join(source for source, _ in PAIRS), "utf8")
    assert main([str(model), str(folder / "a.html"), "--to", "html", "--check", str(folder / "lines.txt")]) == 0
    return folder / "a.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])


@pytest.fixture
def page(browser: Any, file: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page; its test fails if the browser complains of anything, or the page asks for anything."""
    context = browser.new_context()
    context.set_default_timeout(WAIT * 1000)
    if script := getattr(request, "param", ""):
        context.add_init_script(script)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda r: problems.append(r.url) if not r.url.startswith(("file:", "blob:")) else None)
    page.goto(file.as_uri())
    until(lambda: page.locator("#source").is_enabled())
    yield page
    context.close()
    assert problems == []


def until(value: Callable[[], Any]) -> Any:
    end = time.monotonic() + WAIT
    while not (found := value()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
    return found


def state(page: Any) -> str:
    return str(page.locator("#state").inner_text())


NO_WORKER = "window.Worker = class { constructor() { throw new Error('forbidden'); } }"
NO_KERNEL = "delete window.WebAssembly"


@pytest.mark.parametrize("page", ["", NO_WORKER, f"{NO_WORKER}; {NO_KERNEL}"], indirect=True)
def test_it_translates_and_compares_itself_with_nmt(page: Any) -> None:
    assert page.title() == "German → English · nmt"
    page.fill("#source", "Wo ist <b>der</b> Bahnhof?\n\nשלום")
    until(lambda: state(page) == "Translated")
    assert page.locator("#target .line").count() == 3
    assert page.locator("#target .word").count() > 0
    assert page.locator("#source-words .word").all_inner_texts() == ["Wo", "ist", "<b>der</b>", "Bahnhof?", "שלום"]
    page.click("#check summary")
    until(lambda: "3 of 3 lines" in page.locator("#checked").inner_text())


def test_words_that_belong_together_light_up(page: Any) -> None:
    page.fill("#source", PAIRS[0][0])
    until(lambda: state(page) == "Translated")
    page.focus("#target")
    page.keyboard.press("ArrowRight")
    assert page.locator("#target .linked").count() >= 1
    assert page.locator("#source-words .linked").count() == 1
    assert "→" in page.locator("#reading").inner_text()
    page.locator("#source-words .word").first.hover(force=True)
    assert "Der" in page.locator("#source-words .linked").all_inner_texts() or not page.locator(".linked").count()


def test_hostile_text_does_not_freeze_it_and_can_be_stopped(page: Any) -> None:
    page.evaluate(
        """() => {
            const area = document.querySelector("#source");
            area.value = "Hund\\u0000\\ud800 ".repeat(1_500_000);
            area.dispatchEvent(new Event("input"));
        }"""
    )
    assert page.locator("#notice").is_visible()
    assert len(page.input_value("#source")) == 10_000
    until(lambda: page.locator("#stop").is_enabled())
    page.click("#stop")
    until(lambda: state(page) == "Stopped")
    page.fill("#source", "Hund")
    until(lambda: state(page) == "Translated")
    assert not page.locator("#notice").is_visible()
