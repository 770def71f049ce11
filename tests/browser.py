"""Pages in a real browser, driven by Playwright. `browser` is a fixture of conftest.py, which skips without both."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

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
