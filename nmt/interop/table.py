"""The table of docs/exporting.md: which settings each format can express. `python -m nmt.interop.table` prints it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

from nmt.config import ModelConfig, ObjectiveName, SearchConfig
from nmt.fields import annotations
from nmt.interop.export import FORMATS, load_format
from nmt.messages import show_value
from nmt.translation.model_folder import ModelInfo

MODERN: dict[str, Any] = {
    "norm": "rms",
    "norm_position": "pre",
    "positions": "rotary",
    "activation": "swiglu",
    "bias": False,
}
USUAL: dict[str, dict[str, Any]] = {  # a usual model of each family, as changes of the defaults
    "encoder-decoder": {},
    "decoder-only": {**MODERN, "source_attention": "causal"},
    "encoder-only": MODERN,
}
# Values for the settings that are numbers.
NUMBERS: dict[str, list[Any]] = {"n_kv_heads": [2], "share_layers": [2], "norm_epsilon": [1e-4]}
ONLY_WITH_OTHERS = ("family", "sharing")


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows: in words, and as changes of a usual model; none for what all usual models have."""
    defaults = ModelConfig()
    yield "a usual model", {}
    for name, (hint, *_) in annotations(ModelConfig).items():
        values = NUMBERS.get(name) or ([True, False] if hint is bool else get_args(hint))
        for value in values if name not in ONLY_WITH_OTHERS else ():
            is_new = any(usual.get(name, getattr(defaults, name)) != value for usual in USUAL.values())
            if isinstance(value, str | float | int) and is_new:
                yield f"`model.{name}` {show_value(value)}", {name: value}


def expressible(name: str, changes: dict[str, Any]) -> str:
    """The families of which the format can express a usual model with these changes."""
    form, found = load_format(name), list[str]()
    for family, usual in USUAL.items():
        try:
            config = replace(ModelConfig(family=family, **usual), **changes)  # type: ignore[arg-type]
        except ValueError:  # the family has no such setting
            continue
        objective: ObjectiveName = "mlm" if family == "encoder-only" else "translation"
        info = ModelInfo("de", "en", "", config, SearchConfig(), objective=objective)
        found += [] if form.obstacles(info) else [family]
    return ", ".join(found) or "–"


def table() -> str:
    """The table in Markdown: a row for each setting, and a column for each format."""
    formats = [name for name in FORMATS if name != "zip"]  # which has what ctranslate2 has of encoder-decoders
    lines = [["model", *formats], ["---"] * (1 + len(formats))]
    lines += [[words, *(expressible(name, changes) for name in formats)] for words, changes in rows()]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    print(table())
