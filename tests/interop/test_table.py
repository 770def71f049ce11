"""The table of docs/exporting.md is what the formats say."""

from pathlib import Path

import pytest

from nmt.interop.table import table

pytest.importorskip("nmt.interop.huggingface")  # a column of the table

PAGE = Path(__file__).parents[2] / "docs" / "exporting.md"


def test_the_page_has_the_table_that_the_formats_give() -> None:
    problem = "write the output of python -m nmt.interop.table into docs/exporting.md"
    assert table() in PAGE.read_text(encoding="utf8"), problem


def test_a_row_changes_one_setting() -> None:
    row = next(line for line in table().splitlines() if "`model.positions` learned" in line)
    assert [cell.strip() for cell in row.split("|")[2:5]] == ["encoder-decoder, decoder-only", "–", "encoder-decoder"]
