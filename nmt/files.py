"""Files that are whole or absent: written under a temporary name, flushed to the disk, then renamed into place.

And folders that only one process may fill at a time.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def flush_to_disk(path: Path) -> None:
    """fsync a file or a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON."""
    temporary = path.with_name(path.name + ".partial")
    temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf8")
    flush_to_disk(temporary)
    temporary.replace(path)


def write_lines(path: Path, lines: list[str]) -> None:
    """Write lines, each ended by LF, into a file whose folder may be new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf8", newline="\n")


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, made if need be, against other processes; the system lets go when this one ends, however it ends.

    Raises:
        ValueError: another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{folder} is in use by another process: let it end, or take --name NAME") from None
        yield
