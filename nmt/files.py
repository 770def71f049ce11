"""Files and folders that are whole or absent: made under a temporary name, flushed to the disk, renamed into place.

A whole folder holds SHA256SUMS, the hashes of its other files, which `sha256sum -c` checks too.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

SUMS = "SHA256SUMS"


def flush_to_disk(path: Path) -> None:
    """fsync a file or a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    """Write a file, in UTF-8 and with the text's own line ends, into a folder that may be new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".partial")
    try:
        temporary.write_text(text, encoding="utf8", newline="")
        flush_to_disk(temporary)
    except OSError as error:  # which names no file if the disk is full
        raise OSError(error.errno, error.strerror, str(path)) from error
    temporary.replace(path)


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines, each ended by LF."""
    write_text(path, "".join(f"{line}\n" for line in lines))


@contextlib.contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A draft to fill with files, which then takes the target's place; if filling it fails, nothing has changed."""
    draft, old = (target.with_name(f"{target.name}.{suffix}") for suffix in ("partial", "old"))
    if old.exists() and not target.exists():  # a crash struck between the two renames below
        old.replace(target)
    for leftover in (draft, old):
        shutil.rmtree(leftover, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        yield draft
        names = sorted(path.name for path in draft.iterdir())
        (draft / SUMS).write_text("".join(f"{sha256(draft / name)}  {name}\n" for name in names), encoding="utf8")
        for path in (*(draft / name for name in names), draft / SUMS, draft):
            flush_to_disk(path)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)  # a full disk needs the room
        raise
    if target.exists():
        target.replace(old)
    draft.replace(target)
    flush_to_disk(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def check_sums(folder: Path, *needed: str) -> None:
    """Raise ValueError unless every file in SHA256SUMS is there, unaltered, and those needed are among them."""
    sums = [line.partition("  ") for line in (folder / SUMS).read_text("utf8", "replace").splitlines()]
    for name in needed:
        if name not in [other for _, _, other in sums]:
            raise ValueError(f"{folder / SUMS} is damaged: it doesn't list {name}")
    for digest, _, name in sums:
        if not (folder / name).is_file():
            raise ValueError(f"{folder} is incomplete: {name} is missing")
        if sha256(folder / name) != digest:
            raise ValueError(f"{folder / name} is damaged or was altered: its hash is not the one in {SUMS}")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
            raise ValueError(f"{folder} is in use by another process: let it end, or choose another name") from None
        yield
