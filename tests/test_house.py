"""The order of the house: sizes, names, layers, no circles of imports, and the way of a plain sentence."""

import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import FrameType

import torch

from nmt.data.tokenizer import Tokenizer
from nmt.translation.translator import Translator
from nmt.vocabulary import EOS
from tests.tiny import SHORT, make_model

ROOT = Path(__file__).parent.parent
MOST_LINES, MOST_LINES_OF_A_FUNCTION, MOST_FILES_OF_A_NAME = 450, 50, 2

# What a plain sentence may enter: lower these when it enters less.
MOST_FUNCTIONS_ENTERED, MOST_FILES_ENTERED = 140, 30


Import = ast.Import | ast.ImportFrom
Node = Import | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def files() -> dict[str, Path]:
    """Each file of nmt by the name of its module."""
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in (ROOT / "nmt").rglob("*.py")}
    return {name.removesuffix(".__init__"): path for name, path in names.items()}


@cache
def nodes(name: str) -> list[Node]:
    """The imports and functions of a file, wherever they stand in it."""
    return [node for node in ast.walk(ast.parse(files()[name].read_text("utf8"))) if isinstance(node, Node)]


def imports(name: str) -> Iterator[str]:
    """The modules of nmt that a file imports."""
    for node in nodes(name):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files())
        elif isinstance(node, ast.ImportFrom) and node.module:
            found = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from found & files().keys()
            if not found <= files().keys() and node.module in files():
                yield node.module


def reached(name: str, below: dict[str, set[str]]) -> set[str]:
    """What a file imports, and what that imports, and so on."""
    found, left = set[str](), [*below[name]]
    while left:
        if (module := left.pop()) not in found:
            found.add(module)
            left += below[module]
    return found


def test_files_do_not_import_each_other_in_a_circle() -> None:
    below = {name: {*imports(name)} for name in files()}
    assert {name for name in files() if name in reached(name, below)} == set()


def test_a_file_is_in_one_layer() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["tool"]["importlinter"]["contracts"]
    [rows] = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    layers = [layer.strip() for row in rows for layer in row.split("|")]
    assert len(layers) == len(set(layers))
    assert {name for name in files() if not any(f"{name}.".startswith(f"{layer}.") for layer in layers)} == {"nmt"}


def test_files_and_functions_are_short() -> None:
    too_long = {name for name, path in files().items() if path.read_text("utf8").count("\n") > MOST_LINES}
    assert too_long == set()
    functions = [(name, node) for name in files() for node in nodes(name) if not isinstance(node, Import)]
    sizes = {f"{name}.{node.name}": (node.end_lineno or 0) - node.lineno + 1 for name, node in functions}
    assert {name for name, size in sizes.items() if size > MOST_LINES_OF_A_FUNCTION} == set()


def test_a_file_name_stands_for_few_things() -> None:
    """But those of the APIs of the service, which have the same parts."""
    names = [path.name for path in files().values() if "apis" not in path.parts]
    often = {name for name, n in Counter(names).items() if n > MOST_FILES_OF_A_NAME}
    assert often == {"__init__.py"}


def test_names_are_no_pronouns() -> None:
    """But the slots of the phrasebook's patterns, which are functions."""
    names = {
        (name, found.id if isinstance(found, ast.Name) else found.arg)
        for name in files()
        for found in ast.walk(ast.parse(files()[name].read_text("utf8")))
        if isinstance(found, ast.arg) or (isinstance(found, ast.Name) and isinstance(found.ctx, ast.Store))
    }
    assert {(file, name) for file, name in names if name in {"one", "some", "own", "told", "none", "its"}} == set()


def test_a_plain_sentence_enters_few_functions(tokenizer: Tokenizer) -> None:
    """From the line to its translation, with a guard that has nothing to mend."""
    model = make_model(tokenizer, seed=7)
    with torch.no_grad():
        model.output.weight[EOS] *= 3  # so that the translation ends
    translator = Translator(model, tokenizer, replace(SHORT, guard=True, max_length_ratio=2.0))
    entered = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        # Without comprehensions and lambdas: some versions of Python inline them.
        if event == "call" and code.co_filename.startswith(str(ROOT / "nmt")) and not code.co_name.startswith("<"):
            entered.add((code.co_filename, code.co_qualname))

    [[best]] = translator.translate_n_best(["Wo ist der Bahnhof?"])
    assert best.text
    assert not best.flags
    sys.setprofile(note)
    try:
        translator.translate(["Wo ist der Bahnhof?"])
    finally:
        sys.setprofile(None)
    assert len(entered) <= MOST_FUNCTIONS_ENTERED
    assert len({file for file, _ in entered}) <= MOST_FILES_ENTERED
