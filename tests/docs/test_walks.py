"""The walks: what their pages say runs from top to bottom, in one folder. `--whole`: as it is written, else small."""

import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from textwrap import dedent
from time import monotonic, sleep

import pytest

from nmt import serve
from tests import forks
from tests.test_docs import ELSEWHERE, ROOT, SMALL, as_python, run_here, write_pairs

OVER_LINES = re.MULTILINE | re.DOTALL
# A line of a command, or a program, which may have a name.
ACTION = re.compile(r"^ {4}(\S[^\n]*)$|(?:`(\w+\.py)`:\n\n)?^```python\n(.*?)^```$", OVER_LINES)
SKIPPED = ("make tensorboard", "pip install")  # it serves until it is stopped; it needs the network
WALKS = ("first-translator", "translation-memory")
# Sentences that stand in for a file that is fetched.
CURL = 'curl() { seq 70 | tr 0-9 a-j | sed "s|.*|$3 sentence &|" > $3; }\n'
ENVIRONMENT = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}


def smaller(command: str) -> str:
    """A command that trains a tiny model of a small corpus."""
    if not re.search("make train|nmt.train", command):
        return command.replace("--only-new", ELSEWHERE["--only-new"])
    local = re.sub(r"--training.max_steps \d+", "", command.replace("CORPUS=phrasebook", "CORPUS=corpus"))
    return f"{as_python(local)} {SMALL.replace('beam_size 2', 'beam_size 3')}"


def run(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> str:
    command = as_python(command)
    if "-m nmt." in command:
        return run_here(command, folder, monkeypatch, capfd)
    command = command.replace(".venv/bin/python", sys.executable)
    done = subprocess.run(command, shell=True, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stderr[-3000:]}"
    return done.stdout


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


@contextmanager
def served(model: str, port: int, folder: Path) -> Iterator[None]:
    with forks.start(serve.main, [model, "--port", str(port)], cwd=folder) as process:
        try:
            end, ready = monotonic() + 120, False
            while not ready and monotonic() < end and process.poll() is None:
                with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                    ready = answer.status == 200
                sleep(0.2)
            assert ready
            yield
        finally:
            process.terminate()


@pytest.mark.slow
@pytest.mark.parametrize("name", WALKS)
def test_a_walk_can_be_walked(
    name: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    whole, port, model = bool(request.config.getoption("--whole")), free_port(), ""
    write_pairs(tmp_path / "corpus", "de", "en")
    printed: dict[str, str] = {}
    page = re.sub("^```text\n.*?^```$", "", (ROOT / "docs" / f"{name}.md").read_text("utf8"), flags=OVER_LINES)
    for command, file, code in ACTION.findall(page):
        if any(part in command for part in SKIPPED):
            continue
        if command.startswith("make serve"):
            model = command.partition("MODEL=")[2]
        elif command:
            printed[command] = run(command if whole else smaller(command), tmp_path, monkeypatch, capfd)
        elif file:
            (tmp_path / file).write_text(code if whole else code.replace("6_000", "300"), "utf8")
        else:
            (tmp_path / "client.py").write_text(code.replace(":5000", f":{port}"), "utf8")
            with served(model, port, tmp_path):
                printed["client"] = run(".venv/bin/python client.py", tmp_path, monkeypatch, capfd)
    if name == "first-translator":
        with served(model, port, tmp_path):
            pass
    else:
        assert all("physician" in text for line, text in printed.items() if "--glossary g" in line and "echo" in line)
        assert "physician" in printed["client"]
        assert (tmp_path / "letter.en.txt").read_text("utf8").count("\n") == 3


@pytest.mark.slow
def test_a_language_can_be_the_first_of_its_kind(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = bool(request.config.getoption("--whole"))
    page = (ROOT / "docs" / "first-of-its-language.md").read_text("utf8").replace("\\\n", " ")
    (tmp_path / "input.chr").write_text("ᎣᏏᏲ!\n", "utf8")
    for block in map(dedent, re.findall(r"(?:^ {4}.*\n)+", page, re.MULTILINE)):
        if re.match(r"base=|\(printf", block):
            subprocess.run(["bash", "-ec", block if whole else CURL + block], cwd=tmp_path, check=True)
        for command in block.splitlines():
            if re.match(r"make train|\.venv", command):
                run(command if whole else smaller(command), tmp_path, monkeypatch, capfd)
    assert (tmp_path / "output.en").read_text("utf8").count("\n") == 1
