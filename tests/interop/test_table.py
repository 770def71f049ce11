"""The table of docs/exporting.md is what the formats say."""

from pathlib import Path

import pytest

from nmt.interop.table import table

pytest.importorskip("nmt.interop.huggingface")  # a column of the table

PAGE = Path(__file__).parents[2] / "docs" / "exporting.md"


def shorter(rows: list[str]) -> list[str]:
    """The rows of a table, with one row for all settings that have the same cells; those of a usual model left out."""
    head, rule, usual, *others = rows
    settings: dict[str, list[str]] = {}
    for row in others:
        setting, cells = row.removeprefix("| ").split(" | ", 1)
        settings.setdefault(cells, []).append(setting)
    settings.pop(usual.removeprefix("| ").split(" | ", 1)[1], None)
    return [head, rule, usual, *(f"| {', '.join(names)} | {cells}" for cells, names in settings.items())]


def test_the_page_has_the_table_that_the_formats_give() -> None:
    wanted = "\n".join(shorter(table().splitlines()))
    assert wanted in PAGE.read_text(encoding="utf8"), f"write this into docs/exporting.md:\n{wanted}"


def test_rows_with_the_same_cells_are_one() -> None:
    rows = ["| model | a |", "| --- | --- |", "| usual | x |", "| p | – |", "| q | x |", "| r | y |", "| s | – |"]
    assert shorter(rows) == [*rows[:3], "| p, s | – |", "| r | y |"]


def test_a_row_changes_one_setting() -> None:
    row = next(line for line in table().splitlines() if "`model.positions` learned" in line)
    assert [cell.strip() for cell in row.split("|")[2:5]] == ["encoder-decoder, decoder-only", "–", "encoder-decoder"]
