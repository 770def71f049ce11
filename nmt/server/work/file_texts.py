"""What runs in the processes that read and write the files of users: a file flows in, its texts flow out; then their
answers flow into it. Nothing here needs torch, which would take memory.

What goes between these processes and the service are files in a folder: the upload, its texts, and their answers.
"""

import json
from pathlib import Path

from nmt.documents.archive import Archive
from nmt.documents.base import Answer, Document, Options, read_document
from nmt.fields import require
from nmt.server.work.processes import allow_memory

LONGEST, BEGINNING = 100_000, 2_000  # characters of a text; of those by which a language is guessed
MOST_NOTES, LONGEST_NOTE = 50, 300  # characters


def read_texts(folder: Path, form: str, options: Options) -> tuple[int, int, str]:
    """Write the texts of a document to a file; the numbers of texts and of characters, and the beginning."""
    document = read(folder, form, options)
    longest = max((len(unit.text) for unit in document.units), default=0)
    require(longest <= LONGEST, f"a text of the file has {longest:,} characters: at most {LONGEST:,} are allowed")
    with (folder / "texts").open("w", encoding="ascii") as file:
        file.writelines(f"{json.dumps([unit.text, unit.markup])}\n" for unit in document.units)
    beginning = " ".join(unit.text[:BEGINNING] for unit in document.units[:BEGINNING])[:BEGINNING]
    return len(document.units), sum(len(unit.text) for unit in document.units), beginning


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
