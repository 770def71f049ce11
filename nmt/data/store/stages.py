"""Stages of a preparation: what a corpus becomes, step by step, in a draft folder.

A stage has a folder, and tasks with numbers, which any process can do in any order. A task leaves files and, last of
all, a report: what has one is finished. The key of a stage is a hash of the settings on which its files depend, and of
the keys of its inputs. So the same command goes on where it was stopped, and a changed setting repeats later stages.
"""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from nmt.data.store.engines import Engine
from nmt.files import flush_to_disk, write_json

KEYS, REPORTS, WORKING = "keys.json", "reports", "working"


@dataclass(frozen=True)
class Stage:
    """One step for all shards."""

    name: str
    """Its folder in the draft; its reports have the same name."""
    inputs: tuple[str, ...]
    """The stages whose files it reads."""
    run: Callable[[int], None]
    """Does the task of this number; can be sent to other processes."""
    size: int
    settings: Any = None
    """The settings on which its files depend, as values of JSON. Those of its inputs are in their keys."""
    where: Literal["here", "workers", "parts"] = "workers"
    """Who does the tasks: this process, its workers, or the workers of all machines that share a preparation."""
    verb: str = ""

    def missing(self, folder: Path) -> list[int]:
        """The numbers of the tasks that are not finished yet."""
        return [n for n in range(self.size) if not report_file(folder, self.name, n).exists()]

    def do(self, folder: Path, engine: Engine) -> None:
        """Do the tasks that are missing. If several machines share the stage: this engine's part of them."""
        missing = self.missing(folder)
        if self.where == "here":
            for n in missing:
                self.run(n)
        else:
            engine.run(self.run, engine.share(missing) if self.where == "parts" else missing, self.verb)


def report_file(folder: Path, name: str, n: int) -> Path:
    return folder / REPORTS / f"{name}-{n:05}.json"


def reports(folder: Path, name: str) -> list[dict[str, Any]]:
    """What the finished tasks of a stage have reported, in their order."""
    files = sorted((folder / REPORTS).glob(f"{name}-*.json"))
    return [json.loads(file.read_text("utf-8")) for file in files]


@contextlib.contextmanager
def task(folder: Path, name: str, n: int) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A folder for the files that a task makes, and its report to fill. At the end of the block both move into place,
    the report last. The folder is the task's own, so that a task may be done twice at the same time."""
    report: dict[str, Any] = {}
    for part in (WORKING, REPORTS, name):
        (folder / part).mkdir(exist_ok=True)  # not `folder`, which another process may have finished and deleted
    with TemporaryDirectory(dir=folder / WORKING) as working:
        yield Path(working), report
        files = {file: folder / name / file.name for file in sorted(Path(working).iterdir())}
        last = Path(working) / "report"
        last.write_text(json.dumps(report, ensure_ascii=False), "utf-8")
        for file, place in [*files.items(), (last, report_file(folder, name, n))]:
            flush_to_disk(file)
            file.replace(place)


def resume(folder: Path, stages: Sequence[Stage], first_input: str) -> bool:
    """Keep the files of the stages whose keys are the same, and delete those of the others, which run again. If files
    that the first stage reads (`first_input`) are needed and gone, nothing is deleted, and False says so."""
    keys, names = dict[str, str](), [stage.name for stage in stages]
    for stage in stages:
        of_inputs = [keys[name] for name in stage.inputs if name in keys]
        text = json.dumps([stage.name, stage.size, stage.settings, of_inputs], sort_keys=True)
        keys[stage.name] = hashlib.sha256(text.encode()).hexdigest()
    known = json.loads((folder / KEYS).read_text("utf-8")) if (folder / KEYS).exists() else {}
    first = next((n for n, name in enumerate(names) if known.get(name) != keys[name]), len(stages))
    while True:
        needed = {name for stage in stages[first:] for name in stage.inputs} - {*names[first:]}
        gone = [name for name in needed if not (folder / name).exists()]
        if first_input in gone:
            return False
        if not gone:
            break
        first = min(map(names.index, gone))
    for stage in stages[first:]:
        shutil.rmtree(folder / stage.name, ignore_errors=True)
        for n in range(stage.size):
            report_file(folder, stage.name, n).unlink(missing_ok=True)
    write_json(folder / KEYS, keys)
    return True


def tidy(folder: Path, stages: Sequence[Stage]) -> None:
    """Delete the inputs that no stage reads any more. Those of the last stage stay: its settings may be changed."""
    reading = [stage for stage in stages[:-1] if stage.missing(folder)] + [stages[-1]]
    needed = {name for stage in reading for name in (stage.name, *stage.inputs)}
    for name in {name for stage in stages for name in stage.inputs} - needed:
        shutil.rmtree(folder / name, ignore_errors=True)
