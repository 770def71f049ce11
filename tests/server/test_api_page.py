"""The examples of docs/api.md work as they are written."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

HOST = "http://127.0.0.1:5000"
PAGE = Path(__file__).parent.parent.parent / "docs" / "api.md"
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf8"), re.DOTALL)
EXAMPLES = [block.replace("\\\n", " ").strip().splitlines() for block in BLOCKS]


def request(line: str) -> dict[str, Any]:
    """What a command line of curl sends."""
    words = shlex.split(line)
    options = [(words[i], words[i + 1]) for i, word in enumerate(words) if re.fullmatch("-[XHdF]", word)]
    found: dict[str, Any] = {"headers": dict(v.split(": ") for o, v in options if o == "-H")}
    [found["url"]] = [word.removeprefix(HOST) for word in words if word.startswith(HOST)]
    data = [value for option, value in options if option == "-d"]
    form = [value.split("=", 1) for option, value in options if option == "-F"]
    if found["headers"].get("Content-Type"):
        found["content"] = data[0]
    elif data:
        found["data"] = dict(value.split("=", 1) for value in data)
    elif form:
        found["files"] = {name: (value[1:], b"Wo ist der Bahnhof?") for name, value in form if value[0] == "@"}
        found["data"] = {name: value for name, value in form if value[0] != "@"}
    method = next((value for option, value in options if option == "-X"), "POST" if data or form else "GET")
    return found | {"method": method}


@pytest.mark.parametrize("lines", EXAMPLES, ids=lambda lines: lines[0].split()[1][-30:])
def test_examples_are_answered(client: TestClient, lines: list[str]) -> None:
    for line in lines:
        assert line.startswith("curl ")
        answer = client.request(**request(line))
        assert answer.status_code < 300, answer.text
