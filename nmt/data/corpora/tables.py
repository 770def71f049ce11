"""Tables of Arrow as text, of Parquet files and of data sets: some thousands of rows at a time are in memory."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.config import DataConfig
from nmt.data.corpora.corpus import ONLY_TEXT, Split
from nmt.fields import require

if TYPE_CHECKING:
    import pyarrow

READ_AT_ONCE = 1 << 14


def read_tables(tables: "Iterable[pyarrow.Table]", split: Split, name: str) -> None:
    """Read the rows of flat tables, by columns: a dict for each of millions of rows takes minutes. `name`: theirs."""
    number = 0
    for table in tables:
        names = table.column_names
        columns = [table.column(names.index(column)) for column in find_columns(names, split.config, name)]
        for row in zip(*map(values_of, columns), strict=True):
            number += 1
            split.add(row, number)


def values_of(column: "pyarrow.ChunkedArray") -> list[Any]:
    """The values of a column; bytes that aren't UTF-8 become lone surrogates (see `tidy`)."""
    try:
        return column.to_pylist()
    except UnicodeDecodeError:  # some programs write text as it is
        values = column.cast("binary").to_pylist()
        return [value if value is None else value.decode("utf-8", "surrogateescape") for value in values]


def find_columns(names: list[str], config: DataConfig, name: str) -> list[str]:
    """The columns of the texts. ValueError if one is missing."""
    sides = [[f"{prefix}{language}" for language in config.languages] for prefix in ("translation.", "")]
    kinds = [*sides, [ONLY_TEXT]] if len(config.languages) == 1 else sides
    columns = next((kind for kind in kinds if set(kind) <= set(names)), [])
    lacks = f"no columns for {' and '.join(config.languages)}, neither of their own nor in translation"
    require(bool(columns), f"{name} has {lacks}; it has {', '.join(names)}")
    return columns


def parquet_tables(path: Path, config: DataConfig) -> "Iterator[pyarrow.Table]":
    """The columns of a Parquet file that are read. ValueError if one is missing, or the file is damaged."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            names = file.schema_arrow.empty_table().flatten().column_names
            columns = find_columns(names, config, str(path))
            for batch in file.iter_batches(READ_AT_ONCE, columns=columns):
                yield pyarrow.Table.from_batches([batch]).flatten()
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{path} can't be read as Parquet: {error}") from None
