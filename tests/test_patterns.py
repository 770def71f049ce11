"""Every regular expression over users' text (`nmt/documents`, `nmt/text`) takes linear time.

The patterns are found in the source, with the methods that they are used with. Each is run on its own literals and
characters, alone and in pairs, many times over: what is quadratic takes 16 times as long for four times the text.
"""

import ast
import importlib
import re
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted(path for room in ("documents", "text") for path in (ROOT / "nmt" / room).glob("*.py"))
FUNCTIONS = frozenset(("compile", "search", "match", "fullmatch", "split", "sub", "findall", "finditer"))
MOST, QUICK = 9, 0.003  # times as slow for four times the text, which counts from so many seconds
# Values of the names in patterns that functions make.
NAMES = {
    "sign": ",",
    "name": "lang",
    "quotes": ('"', '"'),
    "tag": SimpleNamespace(name="p"),
    "self": SimpleNamespace(number="2"),
}
# Patterns that take more than linear time, or that are made of texts, and why that is no harm.
HARMLESS = {
    "nmt.documents.json.TOKEN": "sees valid JSON, whose strings have an end",
    "nmt.text.edges.TRAIL": "sees the last 40 characters",
    "nmt.text.user_items.SYNTAX": "sees expressions of at most 1,000 characters",
    "nmt.text.sentences.BEFORE_TOUCHING": "sees two words, each cut to a length",
    "pattern": "accelerators: a letter that is looked for",
    "expression": "of the user of the command, who waits for it; the service takes none that `user_items` can't judge",
    "re.escape(self.text).replace('\\\\ ', ' +')": "a term, found in a few of its lines",
    "f\"({'|'.join(spellings)})\"": "known words, one after the other",
}


def value(node: ast.expr, module: ModuleType) -> Any:
    """What an expression is in a module."""
    return eval(compile(ast.Expression(node), "", "eval"), {**NAMES, **vars(module)})


def patterns(path: Path, everything: str) -> Iterator[tuple[str, re.Pattern[str], str]]:
    """The patterns of a file: a name, the pattern, and the method that is called."""
    module = importlib.import_module(f"nmt.{path.parent.name}.{path.stem}")
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        called = node.func if isinstance(node, ast.Call) else None
        if not isinstance(called, ast.Attribute) or ast.unparse(called.value) != "re" or called.attr not in FUNCTIONS:
            continue
        assert isinstance(node, ast.Call)
        flags = [
            value(one, module)
            for one in (*node.args[1:], *(k.value for k in node.keywords))
            if re.fullmatch(r"re\.[A-Z]+( \| re\.[A-Z]+)*", ast.unparse(one))
        ]
        if ast.unparse(node.args[0]) in HARMLESS:
            continue
        written = value(node.args[0], module)
        pattern = re.compile(written.decode("latin-1") if isinstance(written, bytes) else written, sum(flags))
        name = next(
            (key for key, one in vars(module).items() if isinstance(one, re.Pattern) and one.pattern == written), ""
        )
        used = {called.attr} if called.attr != "compile" else calls_of(name, path, everything)
        yield from (
            (f"{module.__name__}.{name or written}", pattern, method) for method in used & FUNCTIONS or {"search"}
        )


def calls_of(name: str, path: Path, everything: str) -> set[str]:
    """The methods that a pattern is called with: in its file, or else in others."""
    in_file, elsewhere = (re.findall(rf"\b{name}\.(\w+)\(", text) for text in (path.read_text("utf8"), everything))
    return {*(in_file or elsewhere)}


def parts(parsed: Any) -> Iterator[str]:
    """The runs of literals in a parsed pattern, and characters of its sets."""
    run = ""
    for kind, values in parsed:
        if str(kind) == "LITERAL":
            run += chr(values)
            continue
        yield run
        run = ""
        if str(kind) in ("IN", "BRANCH") and isinstance(values, list):
            yield from (
                chr(one[0] if isinstance(one, tuple) else one)
                for code, one in values
                if str(code) in ("LITERAL", "RANGE")
            )
        for inner in values if isinstance(values, (tuple, list)) else [values]:
            for one in inner if isinstance(inner, list) else [inner]:
                if hasattr(one, "data"):
                    yield from parts(one.data)
    yield run


def attacks(pattern: re.Pattern[str]) -> Iterator[tuple[str, str, str]]:
    """Beginnings, parts that are repeated, and ends of texts."""
    words = list(dict.fromkeys(filter(None, parts(re._parser.parse(pattern.pattern, pattern.flags).data))))  # type: ignore[attr-defined]
    singles = list(dict.fromkeys([*words, *(char for word in words for char in word)]))[:7]
    pumps = [*singles, *'a0 \n"<', *map("".join, product([*singles, " ", "a"], repeat=2))]
    return product(dict.fromkeys(("", "".join(words[:2]))), dict.fromkeys(pumps), ("", "\1"))


def slow(pattern: re.Pattern[str], method: str) -> str:
    """A text for which the pattern takes more than linear time; empty if there is none."""

    def seconds(start: str, part: str, end: str, size: int) -> float:
        text, begun = start + part * (size // len(part)) + end, time.process_time()
        if method == "sub":
            pattern.sub("", text)
        elif method in ("match", "fullmatch"):
            getattr(pattern, method)(text)
        else:
            all(pattern.finditer(text))
        return time.process_time() - begun

    for attack in [*attacks(pattern)]:
        if min(seconds(*attack, 20) for _ in range(2)) > QUICK:  # it grows as powers do
            return repr((*attack, 20))
        if seconds(*attack, 8000) > QUICK:
            least, most = (min(seconds(*attack, size) for _ in range(3)) for size in (2000, 8000))
            if most > QUICK and most > MOST * least:
                return repr((*attack, 8000))
    return ""


@pytest.mark.slow
def test_patterns_take_linear_time() -> None:
    everything = "\n".join(path.read_text("utf8") for path in (ROOT / "nmt").rglob("*.py"))
    found = {one[1:]: one[0] for path in FILES for one in patterns(path, everything)}
    assert len(found) > 150
    slow_ones = {name: text for one, name in found.items() if name not in HARMLESS and (text := slow(*one))}
    assert slow_ones == {}


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"[ \t]*(?:a|b)?[ \t]*(?:\n|\Z)", "match"),
        (r"(\]\(.*[ \t\n])(?:\"(.*)\"|'(.*)')([ \t\n]*\))", "fullmatch"),
        (r"\s*x", "sub"),
    ],
)
def test_slow_patterns_are_found(pattern: str, method: str) -> None:
    assert slow(re.compile(pattern, re.DOTALL), method)
