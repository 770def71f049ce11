"""Real clients of LibreTranslate's API work with the service."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from deep_translator import LibreTranslator
from libretranslate_aio import AsyncLibreTranslate, LibreTranslate
from libretranslate_aio.exceptions import BadRequestError, ForbiddenError
from libretranslatepy import LibreTranslateAPI

from nmt.translation.translator import Translator
from tests.server.conftest import GERMAN

PROGRAM = """
const { translate } = require("libretranslate");
const [apiurl, query] = process.argv.slice(2);
translate({ query, source: "de", target: "en", apiurl }).then(text => console.log(JSON.stringify(text)));
"""


@pytest.fixture(scope="module")
def english(translator: Translator) -> list[str]:
    return translator.translate(GERMAN)


def test_libretranslatepy(url: str, english: list[str]) -> None:
    api = LibreTranslateAPI(url)
    assert api.translate(GERMAN[0], "de", "en") == english[0]
    assert {language["code"]: language["targets"] for language in api.languages()} == {"de": ["en"], "en": []}
    assert api.detect("Wo ist der Bahnhof?")[0]["language"] == "de"


def test_libretranslate_aio(url: str, english: list[str]) -> None:
    with LibreTranslate(url) as api:
        assert api.health()
        assert api.translate(GERMAN, "de", "en").translated_text == english
        found = api.translate(GERMAN[0], "auto", "en", format="html", alternatives=1)
        assert found.translated_text == english[0]
        assert found.alternatives is not None
        assert len(found.alternatives) == 1
        assert api.frontend_settings().char_limit == 10_000
        with pytest.raises(BadRequestError, match="fi is not supported"):
            api.translate("a", "de", "fi")
        with pytest.raises(ForbiddenError, match="Suggestions are disabled"):
            api.suggest("a", "b", "de", "en")

    async def main() -> None:
        async with AsyncLibreTranslate(url) as api:
            found = await asyncio.gather(*(api.translate(text, "de", "en") for text in GERMAN))
            assert [one.translated_text for one in found] == english

    asyncio.run(main())


def test_deep_translator(url: str, english: list[str]) -> None:
    """It sends a query without a body."""
    api = LibreTranslator(source="de", target="en", custom_url=f"{url}/", api_key="any")
    assert api.translate(GERMAN[0]) == english[0]
    assert api.translate_batch(GERMAN) == english


@pytest.mark.services
def test_libretranslate_of_npm(url: str, tmp_path: Path, english: list[str]) -> None:
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        pytest.skip("npm and node are not installed")
    done = subprocess.run([npm, "install", "--no-audit", "libretranslate@1.0.1"], cwd=tmp_path, check=False)
    if done.returncode:
        pytest.skip("npm can't install libretranslate@1.0.1")
    (tmp_path / "ask.js").write_text(PROGRAM)
    output = subprocess.check_output(["node", "ask.js", url, GERMAN[0]], cwd=tmp_path)
    assert json.loads(output) == english[0]
