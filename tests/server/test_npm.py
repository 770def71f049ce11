"""The client of npm works with the service."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from nmt.translation.translator import Translator
from tests.tiny import PAIRS

PROGRAM = """
const { translate } = require("libretranslate");
const [apiurl, query] = process.argv.slice(2);
translate({ query, source: "de", target: "en", apiurl }).then(text => console.log(JSON.stringify(text)));
"""


@pytest.mark.services
def test_npm_libretranslate(url: str, tmp_path: Path, translator: Translator) -> None:
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        pytest.skip("npm and node are not installed")
    done = subprocess.run([npm, "install", "--no-audit", "libretranslate@1.0.1"], cwd=tmp_path, check=False)
    if done.returncode:
        pytest.skip("npm can't install libretranslate@1.0.1")
    (tmp_path / "ask.js").write_text(PROGRAM)
    text = PAIRS[0][0]
    output = subprocess.check_output(["node", "ask.js", url, text], cwd=tmp_path)
    assert json.loads(output) == translator.translate([text])[0]
