"""Pages in a real browser, driven by Playwright. `browser` is a fixture of conftest.py, which skips without both."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.tiny import PAIRS

WAIT = 60  # seconds: the machine may be busy


def until(value: Callable[[], Any]) -> Any:
    """The value as soon as it is true. (The policies of pages forbid Playwright's own waiting for functions.)"""
    end = time.monotonic() + WAIT
    while not (found := value()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
    return found


@contextmanager
def opened(browser: Any, address: str, script: str = "", **options: Any) -> Iterator[Any]:
    """A page, with `script` run before its own; an error in the end if `page.problems` has what the browser complains
    of. `page.asked`: the addresses that it asks for."""
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * WAIT)
    if script:
        context.add_init_script(script)
    page = context.new_page()
    page.problems, page.asked = [], []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda message: page.problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(address)
    yield page
    context.close()
    assert page.problems == []


def translated(page: Any, text: str = PAIRS[0][0]) -> str:
    """The translation of a text that is put into the page of the service."""
    page.fill("#source", text)
    busy = page.locator(".stale")
    page.wait_for_timeout(350)
    until(lambda: busy.count() == 0 and page.input_value("#target").strip())
    return str(page.input_value("#target"))


def answer(text: str, **more: Any) -> dict[str, Any]:
    found = {"text": text, "score": -0.5, "confidence": 0.6, "flags": [], "flag_texts": [], "alternatives": []}
    return {**found, "alignments": [], "tokens": [], **more}


def replace_answers(page: Any, make: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Let the page of the service get these translations instead of the model's."""

    def reply(route: Any) -> None:
        body = json.loads(route.request.post_data)
        made = [make({**body, "text": text}) for text in body["text"]]
        route.fulfill(json={"translations": made, "model": {}, "seconds": 0})

    page.route("**/v1/translate", reply)
