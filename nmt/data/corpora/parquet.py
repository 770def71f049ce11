"""Parquet as text: rows flow out, some thousands at a time in memory."""

from collections.abc import Iterator
from pathlib import Path

from nmt.config import DataConfig
from nmt.data.corpora.corpus import ONLY_TEXT
from nmt.fields import require

READ_AT_ONCE = 1 << 14


def parquet_rows(path: Path, config: DataConfig, weights: str = "") -> Iterator[list[object]]:
    """For each row the texts in the languages, from columns of their names or from the members of a column translation;
    text in one language also from a column text; then the weight, if a column is named. ValueError if there are no such
    columns, or the file is damaged."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            names = set(file.schema_arrow.names)
            only = len(config.languages) == 1 and ONLY_TEXT in names
            wanted = list(config.languages) if names.issuperset(config.languages) else []
            wanted = wanted or ([ONLY_TEXT] if only else ["translation"])
            found = f"{path} has the columns {', '.join(sorted(names))}"
            require(names.issuperset(wanted), f"{found}, and none for {' and '.join(config.languages)}")
            last = [weights] if weights else []
            require(names.issuperset(last), f"{found}, and none called {weights}, which data.weights names")
            for batch in file.iter_batches(READ_AT_ONCE, columns=wanted + last):
                for row in batch.to_pylist():
                    cells = row if wanted != ["translation"] else row["translation"]
                    cells = cells if isinstance(cells, dict) else {}
                    texts = [cells.get(ONLY_TEXT if only else language) for language in config.languages]
                    yield texts + [row[name] for name in last]
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{path} can't be read as Parquet: {error}") from None
