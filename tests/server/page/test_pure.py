"""What the page computes without a browser: run by Node, and compared with Python where both must agree."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NODE = shutil.which("node")
HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "nmt" / "server" / "page"
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed: it runs the page's modules")


def run(*arguments: str, text: str = "") -> str:
    assert NODE
    done = subprocess.run([NODE, *arguments], input=text, capture_output=True, text=True, timeout=60, encoding="utf8")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def call(module: str, function: str, values: list[Any]) -> Any:
    """What a function of the page returns for each value."""
    script = f"""
        import {{ {function} }} from {json.dumps((PAGE / module).as_uri())};
        import {{ readFileSync }} from "node:fs";
        const values = JSON.parse(readFileSync(0, "utf8"));
        console.log(JSON.stringify(values.map((value) => {function}(value))));
    """
    return json.loads(run("--input-type=module", "--eval", script, text=json.dumps(values)))


def test_the_modules_keep_their_promises() -> None:
    run("--test", str(HERE / "pure.test.mjs"))


def test_words_are_split_as_the_server_splits_them() -> None:
    odd = [chr(c) for c in range(sys.maxunicode) if chr(c).isspace()] + list("\ufeff\u200b\u180e\u2060\x00\x84\x86\xad")
    texts = ["", " ", "a", " Das  ist gut. ", "😀 ok", *(f"a{c}b{c}" for c in odd), "".join(odd), " x ".join(odd)]
    found = call("words.js", "splitWords", texts)
    assert [[word["text"] for word in words] for words in found] == [text.split() for text in texts]


def test_the_page_never_reads_text_as_html() -> None:
    for file in PAGE.glob("*.js"):
        text = file.read_text(encoding="utf8")
        for risky in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert risky not in text, f"{file.name} uses {risky}"
