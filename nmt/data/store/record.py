"""The files beside the ids of prepared data, and the settings that the data depends on; see `prepared`.

Sizes, times and hashes of input files are recorded with what was made of them, so that changes are noticed. A file
whose size and time are the same is taken to be the same, and not read: to read a large corpus takes minutes.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nmt.config import Config
from nmt.config.recipes import by_dotted_names, make_section
from nmt.data.cleaning.cleaner import Ledger, Pair
from nmt.data.sections import Section, sections_of
from nmt.fields import lasting, require
from nmt.files import iterate_lines, sha256
from nmt.upgrade import take_format, upgrade_settings

RESTORE = "Restore it, or delete"
Fingerprints = dict[str, dict[str, Any]]
"""Size in bytes, time of the last change in nanoseconds, and SHA-256 of each file, by its path, as JSON gives them."""


def data_settings(config: Config) -> dict[str, Any]:
    """The settings that the prepared data depends on, with types as JSON gives them back."""
    settings = {"data": config.data, "cleaning": config.cleaning, "tokenizer": config.tokenizer}
    return dict(json.loads(json.dumps({name: lasting(section) for name, section in settings.items()})))


def flat(settings: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Settings of several sections by their dotted names."""
    return {f"{section}.{name}": value for section, values in settings.items() for name, value in values.items()}


def read_record(folder: Path) -> dict[str, Any] | None:
    """The contents of data/corpus.json; None without the file. ValueError if not nmt, or a newer nmt, wrote it."""
    file = folder / "data" / "corpus.json"
    try:
        record = read_json(file, folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    keys = {"corpus", "pairs", "notes", "settings"}
    whole = isinstance(record, dict) and record.keys() >= keys
    require(whole, f"{file} is damaged: it lacks {', '.join(sorted(keys))}. {RESTORE} {folder} and prepare again")
    take_format(record, file)
    return dict(record)


def sections_in(record: dict[str, Any]) -> list[Section]:
    """The sections of the training text; an older nmt recorded only the settings that name them."""
    if "sections" in record:
        return [Section(**values) for values in record["sections"]]
    names = {"source", "target", "corpus", "text", "many_to_many"}
    data = {name: value for name, value in record["settings"].get("data", {}).items() if name in names | {"more"}}
    return sections_of(make_section("data", by_dotted_names(upgrade_settings({"data": data}, prepared=True))))


def read_ledgers(file: Path) -> dict[str, Ledger]:
    saved = read_json(file, file.parent)
    try:
        require("train" in saved, "it lacks train")
        return {split: Ledger.from_dict(ledger) for split, ledger in saved.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is damaged: {error!r}. {RESTORE} {file.parent} and prepare again") from error


def read_json(file: Path, folder: Path) -> Any:
    """The value in a file of this run folder. Raises ValueError if it is no JSON."""
    try:
        return json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: {error}. {RESTORE} {folder} and prepare again") from error


def read_pairs(folder: Path, split: str, size: int) -> list[Pair]:
    source, target = (list(iterate_lines(folder / f"{split}.{side}", "strict")) for side in ("src", "tgt"))
    counts = f"{folder / split}.src has {len(source):,} lines and {split}.tgt {len(target):,}, not {size:,} each"
    require(len(source) == len(target) == size, f"{counts}. {RESTORE} {folder.parent} and prepare again")
    return list(zip(source, target, strict=True))


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
