"""The formulas and figures of docs/architectures.md are those of the models, and the code that it names exists."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from nmt.config import ModelConfig
from nmt.config.recipes import load_config
from nmt.model.build import build_model
from nmt.model.contract import Model
from nmt.translation.inspection import list_parts
from tests.tiny import build_generative_model

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "architectures.md").read_text(encoding="utf8")
BASE = load_config(ROOT / "recipes" / "paper-base.yaml")
V = int(BASE.tokenizer.vocab_size)


def table(first: str) -> list[list[str]]:
    """The rows of the table whose heading begins with `first`."""
    _, _, rest = TEXT.partition(f"\n| {first} |")
    lines = rest.split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in re.sub(r"^\| ?| ?\|$", "", line).split(" |")] for line in lines]


def build(**changes: Any) -> Model:
    """The base model with changed settings, without weights."""
    with torch.device("meta"):
        return build_model(replace(BASE.model, **changes), V, V)


def number(text: str) -> float | None:
    return float(text.replace(",", "")) if text else None


def value(formula: str, config: ModelConfig) -> int:
    letters = {"M": config.d_model, "H": config.n_heads, "K": config.kv_heads, "D": config.d_head, "F": config.d_ff}
    letters["V"] = V
    result: int = eval(formula.replace("·", "*"), {}, letters)
    return result


def parameters(model: Model, part: str) -> int:
    """As `nmt.inspect` shows them: of embeddings, or of a part of a decoder block."""
    found = {(entry.name, bool(entry.blocks)): entry for entry in list_parts(model)}
    if part == "embeddings":
        return found["embeddings", False].parameters
    name = "around_self.norm" if part == "norm" else part
    return sum(w.parameters for w in found["decoder", True].weights if w.name.startswith(name))


@pytest.mark.parametrize("row", table("part"), ids=" ".join)
def test_formulas_and_examples_of_parts_are_those_of_the_model(row: list[str]) -> None:
    part, setting, formula, example = (cell.strip("`") for cell in row)
    model = build(**yaml.safe_load(f"{{{setting}}}"))
    assert value(formula, model.config) == number(example) == parameters(model, part)


@pytest.mark.parametrize("row", table("`model.family` | setting"), ids=" ".join)
def test_bytes_of_the_cache_are_those_of_a_cache(row: list[str]) -> None:
    family, setting, source, target = (cell.strip("`") for cell in row)
    config = build(family=family, **yaml.safe_load(f"{{{setting}}}")).config
    expected = {"source": number(source), "target": number(target)}
    assert build_generative_model(config, 10, 10).cache_bytes() == expected


@pytest.mark.parametrize("row", table("`model.family` | parameters"), ids=" ".join)
def test_figures_of_families_are_those_of_the_models(row: list[str]) -> None:
    model = build_model(replace(BASE.model, family=row[0].strip("`")), V, V)  # type: ignore[arg-type]
    assert number(row[1]) == sum(p.numel() for p in model.parameters())


def test_the_tables_are_found() -> None:
    assert len(table("part")) > 10
    assert len(table("`model.family` | setting")) > 2
    assert [row[0].strip("`") for row in table("`model.family` | parameters")] == [
        row[0].strip("`") for row in table("`model.family` | class")
    ]


def test_the_code_that_is_named_exists() -> None:
    named = re.findall(r"`([\w.]+)`(?:,? (?:and )?`(\w+)`)? in\s`(nmt/[\w/]+\.py)`", TEXT)
    assert len(named) > 8
    for *names, file in named:
        code = (ROOT / file).read_text(encoding="utf8")
        for name in filter(None, ".".join(names).split(".")):
            assert re.search(rf"^ *(class|def) {name}\b", code, re.MULTILINE), f"{file}: {name}"
    for file in re.findall(r"`(nmt/[\w/]+\.py)`", TEXT):
        assert (ROOT / file).is_file(), file


@pytest.mark.parametrize("drawing", ["encoder-decoder", "decoder-only", "encoder-only"])
def test_the_code_that_a_drawing_names_exists(drawing: str) -> None:
    text = (ROOT / "docs" / "pictures" / f"{drawing}.svg").read_text(encoding="utf8")
    named = re.findall(r"(\w+\.py): (\w+)", text)
    assert len(named) >= 3
    for file, name in [*named, *re.findall(r"(blocks\.py), (\w+)", text)]:
        assert f"class {name}(" in (ROOT / "nmt" / "model" / file).read_text(encoding="utf8"), file
