"""What runs in the processes that read and write the files of users: a file flows in, its texts flow out; then their
answers flow into it. Nothing here needs torch, which would take memory.

What goes between these processes and the service are files in a folder: the upload, its texts, and their answers.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from nmt.documents.archive import Archive
from nmt.documents.base import Answer, Document, Options, Unit, read_document
from nmt.fields import require
from nmt.server.work.processes import allow_memory

LONGEST, BEGINNING = 100_000, 2_000  # characters of a text, or of a group; of those by which a language is guessed
AT_ONCE = 64  # texts of a group
MOST_NOTES, LONGEST_NOTE = 50, 300  # characters


def read_texts(folder: Path, form: str, options: Options, most_lines: int) -> tuple[int, int, str]:
    """Write the texts of a document to a file, a group a line; the numbers of texts and of characters, and the
    beginning. `most_lines`: of a group. ValueError if a text alone is too long."""
    document = read(folder, form, options)
    longest = max((len(unit.text) for unit in document.units), default=0)
    require(longest <= LONGEST, f"a text of the file has {longest:,} characters: at most {LONGEST:,} are allowed")
    with (folder / "texts").open("w", encoding="ascii") as file:
        file.writelines(f"{json.dumps(group)}\n" for group in groups(document.units, most_lines))
    beginning = " ".join(unit.text[:BEGINNING] for unit in document.units[:BEGINNING])[:BEGINNING]
    return len(document.units), sum(len(unit.text) for unit in document.units), beginning


def groups(units: Sequence[Unit], most_lines: int) -> Iterator[list[tuple[str, bool]]]:
    """The text of each unit, and whether it has mark-up, in groups that find room in the queue."""
    group, lines, characters = list[tuple[str, bool]](), 0, 0
    for unit in units:
        n = 1 if unit.markup else len(f"{unit.text}.".splitlines())  # what follows the last break is a line too
        require(n <= most_lines, f"a text of the file has {n:,} lines: at most {most_lines:,} are allowed")
        lines, characters = lines + n, characters + len(unit.text)
        if group and (len(group) == AT_ONCE or lines > most_lines or characters > LONGEST):
            yield group
            group, lines, characters = [], n, len(unit.text)
        group.append((unit.text, unit.markup))
    if group:
        yield group


def write_result(folder: Path, form: str, options: Options) -> list[str]:
    """Write the document with its answers to a file; remarks for its user."""
    document = read(folder, form, options)
    with (folder / "answers").open(encoding="ascii") as lines:
        answers = [Answer(text, tuple(flags)) for text, flags in map(json.loads, lines)]
    (folder / "result").write_bytes(document.join(answers))
    notes = [note[:LONGEST_NOTE] for note in document.notes[:MOST_NOTES]]
    more = len(document.notes) - len(notes)
    return [*notes, f"and {more:,} more remarks"] if more else notes


def read(folder: Path, form: str, options: Options) -> Document:
    """The upload; it bounds the memory of this process. ValueError for a zip file that is broken or hostile."""
    data = (folder / "source").read_bytes()
    members = Archive(data, options.zip).members.values() if data.startswith(b"PK") else ()
    allow_memory(len(data) + sum(member.size for member in members))
    return read_document(data, form, options)
