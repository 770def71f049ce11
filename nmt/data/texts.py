"""Pairs of text in their order, each with its origin: appended one by one, read again one by one.

The newest pairs are in memory; each CHUNK of them goes to a Parquet file, so that the memory does not grow with the
corpus. The training text of a prepared run is read from its Parquet files by the same class.
"""

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nmt.data.cleaning.cleaner import Pair

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetWriter

CHUNK = 1 << 17  # pairs in memory: about 60 MB
WRITTEN_AT_ONCE = 1 << 15  # pairs; for more, Python's garbage collector takes most of the time
READ_AT_ONCE = 1 << 10  # rows; often only the first ones of a file are wanted (see `nmt.data.store.shards.least_pairs`)
TYPES = ("string", "string", "uint16", "uint32", "uint64", "bool")  # of a row's columns


class Row(NamedTuple):
    """A pair, and where it comes from."""

    source: str
    target: str
    corpus: int = 0
    line: int = 0
    """Its line (or row) in the corpus, from 1, which goes on from file to file; 0 if that is not known."""
    key: int = 0
    """Hash of the normalised pair: decides its shard and its place there. 0 before it is computed."""
    changed: bool = False
    """Whether it is a changed copy of a pair (data.typos and its like)."""

    @property
    def pair(self) -> Pair:
        return self.source, self.target


class Texts(Sequence[Pair]):
    """Pairs in their order. As a sequence it has the pairs alone, and equals a list of them; `rows` has all."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.files: list[Path] = []
        self.in_files = 0  # number of rows
        self.newest: list[Row] = []
        self.folder: Any = None
        for row in rows:
            self.append(row)

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> "Texts":
        """Pairs whose origins are their numbers, from 1."""
        return cls(Row(a, b, 0, n) for n, (a, b) in enumerate(pairs, start=1))

    @classmethod
    def stored(cls, files: Sequence[Path], sizes: Sequence[int]) -> "Texts":
        """The pairs in Parquet files with so many rows."""
        texts = cls()
        texts.files, texts.in_files = list(files), sum(sizes)
        return texts

    def append(self, row: Row) -> None:
        self.newest.append(row)
        if len(self.newest) >= CHUNK:
            self.folder = self.folder or tempfile.TemporaryDirectory(prefix="nmt-")
            file = Path(self.folder.name) / f"{len(self.files):05}.parquet"
            write_rows(file, self.newest)
            self.files.append(file)
            self.in_files += len(self.newest)
            self.newest = []

    def take(self, places: Collection[int]) -> dict[int, Row]:
        """Remove the rows at these places, and return them in their order."""
        from pyarrow.parquet import read_table, write_table

        taken, first = dict[int, Row](), 0
        for file in self.files:
            table = read_table(file)
            here = np.array([n - first for n in sorted(places) if first <= n < first + len(table)], np.int64)
            taken |= zip((here + first).tolist(), map(Row, *table.take(here).to_pydict().values()), strict=True)
            is_left = np.ones(len(table), np.bool_)
            is_left[here] = False
            write_table(table.filter(is_left), file, row_group_size=WRITTEN_AT_ONCE, compression="zstd")
            first += len(table)
        taken |= {first + n: row for n, row in enumerate(self.newest) if first + n in places}
        self.newest = [row for n, row in enumerate(self.newest, first) if n not in places]
        self.in_files -= sum(place < first for place in taken)
        return taken

    def move(self, folder: Path) -> list[Path]:
        """Move all rows to files in a folder, and return these: each has about CHUNK rows, the last ones have fewer."""
        folder.mkdir(parents=True, exist_ok=True)
        files = [Path(shutil.move(file, folder / file.name)) for file in self.files]
        size = len(self.newest)
        several = 1 + (size > CHUNK // 2)  # two, so that two processes can divide them
        for n in range(several if size else 0):
            files.append(folder / f"{len(files):05}.parquet")
            write_rows(files[-1], self.newest[n * size // several : (n + 1) * size // several])
        return files

    def rows(self) -> Iterator[Row]:
        for file in self.files:  # a generator keeps this object, and so the temporary files, as long as it is read
            yield from read_rows(file)
        yield from self.newest

    def __iter__(self) -> Iterator[Pair]:
        for file in self.files:
            yield from read_columns(file, ("source", "target"))
        yield from (row.pair for row in self.newest)

    def __len__(self) -> int:
        return self.in_files + len(self.newest)

    def __getitem__(self, n: Any) -> Any:
        """A pair, or a list of the pairs of a slice."""
        if isinstance(n, slice):
            return list(islice(self, *n.indices(len(self))))
        return next(islice(self, range(len(self))[n], None))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))


def write_rows(file: Path, rows: Iterable[Row], *, at_once: int = WRITTEN_AT_ONCE) -> None:
    """Write rows in groups of `at_once`."""
    divide_rows(rows, lambda _: 0, [file], at_once=at_once)


def divide_rows(
    rows: Iterable[Row], place_of: Callable[[Row], int], files: Sequence[Path], *, at_once: int = WRITTEN_AT_ONCE
) -> None:
    """Write each row into the file with the number that `place_of` gives it; of the rest, see `write_rows`."""
    import pyarrow

    rows = iter(rows)
    with ExitStack() as stack:
        writers = [stack.enter_context(writer_of(file)) for file in files]
        while chunk := list(islice(rows, at_once)):
            groups: list[list[Row]] = [[] for _ in files]
            for row in chunk:
                groups[place_of(row)].append(row)
            for writer, group in zip(writers, groups, strict=True):
                if group:
                    columns = dict(zip(writer.schema.names, zip(*group, strict=True), strict=True))
                    writer.write_table(pyarrow.table(columns, writer.schema), row_group_size=len(group))


def writer_of(file: Path) -> "ParquetWriter":
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    kinds = zip(Row._fields, map(pyarrow.type_for_alias, TYPES), strict=True)
    return ParquetWriter(file, pyarrow.schema(list(kinds)), compression="zstd")


def read_rows(file: Path) -> Iterator[Row]:
    """The rows of a file."""
    return starmap(Row, read_columns(file, Row._fields))


def read_columns(file: Path, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Some columns of the rows of a file."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(file, pre_buffer=False) as parquet:  # else it would read all groups before the first row
        for batch in parquet.iter_batches(READ_AT_ONCE, columns=list(names)):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
