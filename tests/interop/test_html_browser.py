"""One HTML file in a real browser, opened from the disk: it translates, links words, stops, and doesn't freeze."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nmt.data.tokenizer import Tokenizer
from nmt.export import main
from tests.browser import opened, until
from tests.tiny import PAIRS, make_model, save_tiny

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def file(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    model = save_tiny(folder / "model", make_model(tokenizer), tokenizer)
    (folder / "lines.txt").write_text("\n".join(source for source, _ in PAIRS), "utf8")
    assert main([str(model), str(folder / "a.html"), "--to", "html", "--check", str(folder / "lines.txt")]) == 0
    return folder / "a.html"


@pytest.fixture
def page(browser: Any, file: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page; its test fails if it asks for anything."""
    with opened(browser, file.as_uri(), getattr(request, "param", "")) as page:
        until(lambda: page.locator("#source").is_enabled())
        yield page
        assert all(address.startswith(("file:", "blob:")) for address in page.asked)


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


def test_it_compares_itself_as_soon_as_it_can_and_says_what_fails(browser: Any, file: Path) -> None:
    late = "window.Worker = class { constructor() { window.late = this; } postMessage() {} }"
    with opened(browser, file.as_uri(), late) as page:
        page.click("#check summary")
        page.evaluate("late.onerror()")
        until(lambda: "3 of 3 lines" in page.locator("#checked").inner_text())
    with opened(browser, file.as_uri(), f"{NO_WORKER}; window.atob = () => {{ throw new Error('damaged') }}") as page:
        until(lambda: "failed: damaged" in page.locator("#notice").inner_text())


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
