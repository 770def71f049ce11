"""The report of a model as tables."""

import re
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table

from nmt.messages import show_value
from nmt.translation.inspection import Part, Report


def print_report(report: Report) -> None:
    """Print the facts, the table of weights, and the settings that differ from the defaults."""
    console = Console(markup=False, highlight=False)
    known = plain_table("", "")
    settings = plain_table("settings that differ from the defaults", "value", "default", right=2)
    known.show_header = False
    for name, value in facts(report).items():
        known.add_row(name, shown(value))
    for name, default in report.changed.items():
        settings.add_row(name, shown(report.settings[name]), shown(default))
    for table in (known, weights_table(report), *([settings] if report.changed else [])):
        console.print(table)
        console.print()


def plain_table(*columns: str, right: int = 0) -> Table:
    """A table without a frame; the last `right` columns hold figures."""
    table = Table(*columns, box=None, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns[len(columns) - right :]:
        column.justify, column.overflow = "right", "fold"
    return table


def title(part: Part) -> str:
    """The name of a part, with the numbers of its blocks: encoder, blocks 1 to 6."""
    if not part.blocks:
        return part.name
    first, last = part.blocks[0], part.blocks[-1]
    numbers = f"{first} to {last}" if part.blocks == tuple(range(first, last + 1)) else ", ".join(map(str, part.blocks))
    return f"{part.name}, block {first}" if first == last else f"{part.name}, blocks {numbers}"


def weights_table(report: Report) -> Table:
    table = plain_table("weights (+ bias)", "shape", "parameters", right=2)
    for part in report.parts:
        table.add_row(title(part))
        for layer, (weight, *bias) in groupby(
            part.weights, lambda weight: re.sub(r"\.(weight|bias)$", "", weight.name)
        ):
            shape = " + ".join(" × ".join(map(str, tensor.shape)) for tensor in (weight, *bias))
            count = f"{sum(tensor.parameters for tensor in (weight, *bias)):,}"
            tied = weight.tied_to and f"= {weight.tied_to.removesuffix('.weight')}"
            table.add_row(f"  {layer}", shape, tied or count)
        if len(part.blocks) > 1:
            table.add_row("  a block", "", f"{sum(weight.parameters for weight in part.weights):,}")
        together = f"{len(part.blocks)} blocks" if len(part.blocks) > 1 else "together"
        table.add_row(f"  {together}", "", f"{part.parameters:,}")
    embeddings = report.embedding_parameters / report.parameters
    table.add_row("all", f"embeddings are {embeddings:.1%}", f"{report.parameters:,}")
    return table


def facts(report: Report) -> dict[str, Any]:
    """What a report says besides weights and settings, by its name in tables; without what is unknown."""
    apart = ("parameters", "embedding_parameters", "parts", "settings", "changed")
    known = {name: value for name, value in vars(report).items() if name not in apart and value is not None}
    names = {"cache_bytes": "cache bytes of a position", "version": "nmt version"}
    return {names.get(name, name.replace("_", " ")): value for name, value in known.items()}


def shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {shown(member)}" for name, member in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else show_value(value)
