"""The table of docs/exporting.md, which settings each format can express, is what the formats say."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from nmt.config import ModelConfig, SearchConfig
from nmt.fields import annotations
from nmt.interop.export import FORMATS, load_format
from nmt.messages import show_value
from nmt.translation.model_folder import ModelInfo

pytest.importorskip("nmt.interop.huggingface")  # a column of the table

PAGE = Path(__file__).parents[2] / "docs" / "exporting.md"
MODERN: dict[str, Any] = {"norm": "rms", "norm_position": "pre", "positions": "rotary", "activation": "swiglu"}
USUAL: dict[str, dict[str, Any]] = {  # a usual model of each family that translates, as changes of the defaults
    "encoder-decoder": {},
    "decoder-only": {**MODERN, "source_attention": "causal", "bias": False},
}
# Values for the settings that are numbers.
NUMBERS: dict[str, list[Any]] = {"n_kv_heads": [2], "norm_epsilon": [1e-4]}


def changed_settings() -> Iterator[tuple[str, dict[str, Any]]]:
    """In words, and as changes of a usual model; without what all usual models have."""
    defaults = ModelConfig()
    for name, (hint, *_) in annotations(ModelConfig).items():
        values = NUMBERS.get(name) or ([True, False] if hint is bool else get_args(hint))
        for value in values if name != "family" else ():
            is_new = any(usual.get(name, getattr(defaults, name)) != value for usual in USUAL.values())
            if isinstance(value, str | float | int) and is_new:
                yield f"`model.{name}` {show_value(value)}", {name: value}


def expressible(name: str, changes: dict[str, Any]) -> str:
    """The families of which the format can express a usual model with these changes."""
    found = []
    for family, usual in USUAL.items():
        try:
            config = replace(ModelConfig(family=family, **usual), **changes)  # type: ignore[arg-type]
        except ValueError:  # the family has no such setting
            continue
        found += [] if load_format(name).obstacles(ModelInfo("de", "en", "", config, SearchConfig())) else [family]
    return ", ".join(found) or "–"


def test_the_page_has_the_table_that_the_formats_give() -> None:
    """A row for all settings that have the same cells; none for those with the cells of a usual model."""
    formats = [name for name in FORMATS if name != "zip"]  # which has what ctranslate2 has of encoder-decoders
    usual = tuple(expressible(name, {}) for name in formats)
    settings: dict[tuple[str, ...], list[str]] = {usual: []}
    for words, changes in changed_settings():
        settings.setdefault(tuple(expressible(name, changes) for name in formats), []).append(words)
    settings[usual] = ["a usual model"]
    rows = [["model", *formats], ["---"] * (1 + len(formats))]
    rows += [[", ".join(names), *cells] for cells, names in settings.items()]
    wanted = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    assert wanted in PAGE.read_text(encoding="utf8"), f"write this into docs/exporting.md:\n{wanted}"
