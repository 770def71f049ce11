"""Input files: their sizes, times and hashes are recorded with what was made of them, so that changes are noticed.

A file whose size and time are the same is taken to be the same, and not read: to read a large corpus takes minutes.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nmt.files import sha256

Fingerprints = dict[str, dict[str, Any]]
"""Size in bytes, time of the last change in nanoseconds, and SHA-256 of each file, by its path, as JSON gives them."""


def fingerprints(files: Iterable[Path]) -> Fingerprints:
    return {
        str(file): {"size": file.stat().st_size, "mtime_ns": file.stat().st_mtime_ns, "sha256": sha256(file)}
        for file in files
    }


def describe_edits(before: Fingerprints | None, files: Iterable[Path]) -> str:
    """What has changed in the input files since they were recorded, for the user; empty if nothing has.

    `before`: None if they were not recorded, by an older nmt; `files`: those that would be read now. If none of them is
    there any more, nothing has changed: what was made of them doesn't need them.
    """
    now = {str(file): file for file in files}
    if not before or not now:
        return ""
    kept = [path for path in before if path in now]
    changed = [path for path in kept if is_changed(before[path], now[path])]
    added, missing = sorted(now.keys() - before.keys()), sorted(before.keys() - now.keys())
    causes = {"was changed": changed, "is new": added, "is missing": missing}
    return "; ".join(f"{path} {cause}" for cause, paths in causes.items() for path in paths)


def is_changed(before: dict[str, Any], file: Path) -> bool:
    status = file.stat()
    if status.st_size != before["size"]:
        return True
    return status.st_mtime_ns != before.get("mtime_ns") and sha256(file) != before["sha256"]  # an older nmt had no time
