"""The tests that LibreTranslate and DeepL's client for Python have for themselves, run against the service.

They are fetched, never kept here: LibreTranslate's from its wheel, by pip; DeepL's from its repository, by git, or from
the folder DEEPL_PYTHON, a checkout of it. What they translate by is a table of the phrases that they expect.
"""

import ast
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import nmt.server.apis.deepl.texts as deepl
from nmt.server.store.keys import make_key
from nmt.translation.translator import Translator
from tests.server.conftest import know, make_service, running

pytestmark = pytest.mark.services
LIBRETRANSLATE = "libretranslate==1.9.6"
REPOSITORY = "https://github.com/DeepLcom/deepl-python"
# What the service doesn't do (docs/api.md), and what only a model with DeepL's knowledge can answer.
CHOICES = {
    "test_rephrase_text.py": "writing better text is another product",
    "test_style_rules.py": "style rules are refused",
    "test_translate_text.py::test_custom_instructions": "instructions are refused",
    "test_translate_text.py::test_formality": "formality is that of the model",
    "test_translate_document.py::test_translate_document_formality": "formality is that of the model",
    "test_general.py::test_language": "it expects that German has formality",
    "test_translate_text.py::test_tag_handling_xml": "it expects a translation of DeepL",
    "test_translate_text.py::test_tag_handling_html": "it expects a translation of DeepL",
}
CLIENT = """
import os
import pytest
import requests


class Answer:
    def __init__(self, answer):
        self.status_code, self.data = answer.status_code, answer.content
        self.json = answer.json() if "json" in answer.headers.get("content-type", "") else None


class Client:
    def get(self, path, **further):
        return Answer(requests.get(os.environ["SERVICE"] + path, **further))

    def post(self, path, **further):
        return Answer(requests.post(os.environ["SERVICE"] + path, **further))


@pytest.fixture
def client():
    return Client()
"""
PYDANTIC = """
import pydantic
import pydantic.v1

pydantic.BaseSettings = pydantic.v1.BaseSettings  # where the tests expect it
"""


def run(folder: Path, *options: str, **environment: str) -> None:
    """Run a suite; its output, if a test of it fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *options, "."]
    done = subprocess.run(command, cwd=folder, env=os.environ | environment, capture_output=True, text=True)
    print(done.stdout[-400:])
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]


def test_those_of_libretranslate(model_folder: Path, translator: Translator, tmp_path: Path) -> None:
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(tmp_path), LIBRETRANSLATE]
    if subprocess.run(fetch, check=False).returncode:
        pytest.skip(f"pip can't download {LIBRETRANSLATE}")
    folder = tmp_path / "suite"
    folder.mkdir()
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        for name in wheel.namelist():
            if "/test_api/test_" in name:
                (folder / Path(name).name).write_bytes(wheel.read(name))
    (folder / "conftest.py").write_text(CLIENT)
    service = make_service(model_folder)
    know(service, translator, {"en": "Hello", "es": "Hola"})
    with running(service) as url:
        run(folder, SERVICE=url)


@pytest.fixture
def deepl_tests(tmp_path: Path) -> Path:
    """A copy of DeepL's client with its tests."""
    copy, given = tmp_path / "deepl-python", os.environ.get("DEEPL_PYTHON")
    if given:
        shutil.copytree(given, copy)
    elif (
        not shutil.which("git")
        or subprocess.run(["git", "clone", "--quiet", "--depth", "1", REPOSITORY, str(copy)], timeout=60).returncode
    ):
        pytest.skip(f"git can't fetch {REPOSITORY}: name a checkout in DEEPL_PYTHON")
    (copy / "settings_of_pydantic.py").write_text(PYDANTIC)
    return copy


def test_those_of_deepl(
    deepl_tests: Path, model_folder: Path, translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = ast.parse((deepl_tests / "tests" / "conftest.py").read_text("utf8"))
    [texts] = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "example_text"
    ]
    phrases = {code.lower(): text for code, text in texts.items() if "-" not in code}
    keys = tmp_path / "keys.json"
    key = make_key(keys, "suite")
    service = make_service(model_folder, keys=str(keys), glossaries=str(tmp_path / "glossaries"))
    know(service, translator, phrases)
    known = {text: code for code, text in phrases.items()}
    monkeypatch.setattr(deepl, "likeliest", lambda text, _: (known.get(text.strip(), "en"), 1.0))
    left_out = [f"--deselect=tests/{name}" for name in CHOICES]
    with running(service) as url:
        environment = {"DEEPL_SERVER_URL": url, "DEEPL_AUTH_KEY": key, "PYTHONPATH": str(deepl_tests)}
        run(deepl_tests, "-p", "settings_of_pydantic", *left_out, **environment)
