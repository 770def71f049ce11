"""Plain text, whose lines are units, and tables, CSV and TSV: the cells of chosen columns are units.

All else stays: line breaks, blanks around a line, and how cells are quoted.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from nmt.documents.base import Document, Options, Slot, Text, Unit, decode, has_words, text_document, text_unit
from nmt.fields import require
from nmt.text.normalise import one_line

LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]+")
NUMBER = re.compile("[1-9][0-9]{0,3}")  # of a column, also where a column has a number as its name
STATED = re.compile('"?sep=([^"\r\n])"?(?:\r\n?|\n)')  # a first line that is for programs, such as Excel


def read_txt(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding, options.source)
    slots = list[Slot]()
    for match in LINE.finditer(source.text):
        if line := match[0].strip():
            start = match.start() + match[0].index(line)
            slots.append(Slot(start, start + len(line), Unit(line, place=source.place(start)), one_line))
    return text_document(source, slots)


@dataclass(frozen=True)
class Cell:
    start: int
    end: int
    text: str
    is_quoted: bool
    row: int
    """From 0."""
    column: int


def read_table(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding, options.source)
    first = re.split("[\r\n]", re.sub('"[^"]*+"', "", source.text[:10_000]), maxsplit=1)[0]
    stated = STATED.match(source.text)
    delimiter = stated[1] if stated else "\t" if "\t" in first else max(",;|", key=first.count)
    cells = [*read_cells(source, delimiter, stated.end() if stated else 0)]
    header = [cell.text.strip() for cell in cells if cell.row == 0]
    chosen, has_header = choose(header, options.columns)
    has_quotes = delimiter != "\t" or any(cell.is_quoted for cell in cells)
    slots = list[Slot]()
    for cell in cells:
        if cell.column in chosen and cell.row >= has_header and has_words(cell.text):
            unit = text_unit(cell.text, source.place(cell.start))
            slots.append(Slot(cell.start, cell.end, unit, partial(write, cell, delimiter, has_quotes)))
    return text_document(source, slots)


def choose(header: list[str], columns: tuple[str, ...]) -> tuple[set[int], bool]:
    """The numbers of the columns, and whether the first line has names."""
    if not header:
        return set(), False
    names = ", ".join(header[:20])
    missing = "--columns (in the service: the field columns) is missing"
    require(bool(columns), f"{missing}: it says which columns are translated (of {names})")
    numbers = {int(name) for name in columns if NUMBER.fullmatch(name)}
    named = {n for n, name in enumerate(header) if name in columns and not NUMBER.fullmatch(name)}
    unknown = ",".join(name for name in columns if name not in header and not NUMBER.fullmatch(name))
    require(not unknown, f"--columns {unknown}: the first line has {names}")
    outside = ",".join(str(number) for number in numbers if number > len(header))
    require(not outside, f"--columns {outside}: the first line has {len(header)} columns")
    return named | {number - 1 for number in numbers}, bool(named)


def read_cells(source: Text, delimiter: str, position: int) -> Iterator[Cell]:
    """The cells of a table from this place on; ValueError, with its line, for a quote without end."""
    sign = re.escape(delimiter)
    pattern = re.compile(rf'(?:"((?:[^"]|"")*+)"([^{sign}\r\n]*+)|([^{sign}\r\n]*+))({sign}|\r\n?|\n|\Z)')
    row = column = 0
    while position < len(source.text):
        match = pattern.match(source.text, position)
        assert match
        value = match[3] or ""
        place, is_quoted = source.place(position), match[1] is not None
        require(not value.startswith('"'), f"{place}: a quote has no end")
        require(not match[2], f"{place}: text after a closing quote: {match[2]!r}")
        start, end = match.span(1 if is_quoted else 3)
        yield Cell(start, end, match[1].replace('""', '"') if is_quoted else value, is_quoted, row, column)
        position = match.end()
        row, column = (row, column + 1) if match[4] == delimiter else (row + 1, 0)


def write(cell: Cell, delimiter: str, has_quotes: bool, text: str) -> str:
    """A text as it is written in its cell; in a file without quotes, tabs and line breaks become blanks."""
    if cell.is_quoted:
        return text.replace('"', '""')
    if not has_quotes:
        text = one_line(text).replace(delimiter, " ")
        return text if not text.startswith('"') else f" {text}"
    needs_quotes = delimiter in text or text != one_line(text) or '"' in text
    return '"{}"'.format(text.replace('"', '""')) if needs_quotes else text
