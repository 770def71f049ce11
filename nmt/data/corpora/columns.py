"""The columns of a TSV file: its first line flows in; those of the languages flow out. And quotes of spreadsheets."""

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from nmt.config import DataConfig
from nmt.fields import require
from nmt.files import iterate_lines
from nmt.text.languages import BY_LANGUAGE, KNOWN, short_code

ROLES = ("source", "target", "src", "tgt")
COLUMN_NAME = re.compile(rf"[a-z]{{2,3}}([-_][a-z\d]{{2,4}})*|{'|'.join(ROLES)}", re.IGNORECASE)  # de, pt-BR, Source
NUMBER = re.compile(r"[-+]?[\d.,]*\d(e[-+]?\d+)?", re.IGNORECASE)  # 18, 1.0412, 9,5e-05
QUOTED = re.compile(r'"((?:[^"]|"")*)"')  # a cell as spreadsheets write it
LEAST_QUOTED = 10  # cells that show that a comma alone brings quotes: fewer may be what somebody says


def find_columns(path: Path, cells: list[str], config: DataConfig) -> tuple[list[int], bool]:
    """The columns of the languages, and whether the first line (`cells`) names them, in any case, perhaps in quotes.
    Without names, the first column is the source, or the only one, and the second the target. ValueError if the first
    line seems to name other columns, since it would become a pair, or one of these columns has numbers."""
    names, wanted = [bare(cell).lower() for cell in cells], [language.lower() for language in config.languages]
    if set(wanted) <= set(names):
        return [names.index(language) for language in wanted], True
    both = " and ".join(config.languages)
    if seem_names([bare(cell) for cell in cells], wanted):
        problem = f"{path}: its columns seem to be named {', '.join(map(bare, cells))}"
        asked = f"data.source is {config.source} and data.target is {config.target}: name the same languages"
        raise ValueError(f"{problem}, but {asked}. If that is a pair, put a line with {both} before it")
    below = next(islice(iterate_lines(path, "surrogateescape"), 1, 2), "").split("\t")  # the first may be other names
    has_numbers = len(cells) > 2 and any(NUMBER.fullmatch(bare(cell)) for cell in (*cells[:2], *below[:2]))
    advice = f"put a line before the first, with {both} above the columns with their text"
    require(not has_numbers, f"{path}: its first two columns aren't source and target but have numbers: {advice}")
    if len(config.languages) == 1:
        return [0 if config.text == "source" or len(cells) == 1 else 1], False
    return [0, 1], False


def seem_names(cells: list[str], wanted: list[str]) -> bool:
    """Whether cells are names of columns, not a pair such as Ja and No, or ja and yes: codes that differ, for which two
    of three hold: one is wanted, all are known, none is written like a word that begins a sentence."""
    names = [cell.lower() for cell in cells]
    if not all(map(COLUMN_NAME.fullmatch, cells)) or len({*names}) < max(2, len(names)):
        return False
    is_known = all(short_code(name) in KNOWN | BY_LANGUAGE.keys() or name in ROLES for name in names)
    is_code = not any(cell.istitle() and cell.lower() not in ROLES for cell in cells)
    return is_known + is_code + any(name in wanted for name in names) >= 2


def bare(cell: str) -> str:
    """A cell without the blanks and quotes around it."""
    return cell.strip(' "')


def quoted_by_spreadsheet(lines: Iterable[str]) -> bool:
    """Whether a spreadsheet wrote these lines: it puts a cell with a quote into quotes, and doubles the quotes in it.
    Some quote also each cell that has a comma, and no others. A cell with a line break is in quotes, and makes a row
    that is too short and has half of them. In other text, quotes are around what somebody says."""
    doubled = quoted = others = plain = commas = 0
    tabs: int | None = None  # in the first row
    for line in lines:
        tabs = line.count("\t") if tabs is None else tabs
        if '"' not in line:
            commas += "," in line
            continue
        if line.count("\t") < tabs and line.count('"') % 2:
            doubled += 2  # the row with the other half is among the others
            continue
        for cell in line.removesuffix("\r").split("\t"):
            if found := QUOTED.fullmatch(cell):
                quoted += 1
                doubled += '"' in found[1]
                plain += '"' not in found[1] and "," not in found[1]
            else:
                others += '"' in cell
                commas += "," in cell
    return doubled > others or (quoted >= LEAST_QUOTED and not others + plain + commas)


def unquoted(cell: str) -> str:
    """A cell without the quotes of a spreadsheet."""
    found = QUOTED.fullmatch(cell)
    return found[1].replace('""', '"') if found else cell
