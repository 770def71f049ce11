"""Files that are whole or absent: written under a temporary name, flushed to the disk, then renamed into place."""

import json
import os
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
