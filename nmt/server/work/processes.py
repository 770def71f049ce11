"""Files of users are read and written in processes of their own: one that takes too much memory or time is ended, and
the service goes on.

The processes are forks of one that has loaded this module and has no threads. So nothing here may need torch, which
would take memory. What goes between them and the service are files in a folder: the upload, its texts, and their
answers.
"""

import contextlib
import json
import logging
import multiprocessing
import resource
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import forkserver, util
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from nmt.decode.stop import Stop
from nmt.documents.archive import Archive
from nmt.documents.base import Answer, Document, Options, Unit, read_document
from nmt.fields import require
from nmt.text.normalise import BREAK

LOG = logging.getLogger("nmt.server")
POLL = 0.05  # seconds between two looks whether the work was stopped
CONTEXT = multiprocessing.get_context("forkserver")
SPARE, GROWTH = 64 << 20, 20  # bytes above what an idle process has, and for each byte of the unpacked file
MOST_RESULT, MOST_PROBLEM = 2**20, 1_000  # bytes of what a process says; characters of a problem, which may quote files
LONGEST, BEGINNING = 100_000, 2_000  # characters of a text, or of a group; of those by which a language is guessed
AT_ONCE = 64  # texts of a group
MOST_NOTES, LONGEST_NOTE = 50, 300  # characters
TOO_LARGE = "the file needs too much memory to be read: split it"


def prepare() -> None:
    """Start the process that others are forks of."""
    CONTEXT.set_forkserver_preload([__name__])
    forkserver.ensure_running()


def clean_up() -> None:
    """End what still reads a file, and delete what `prepare` made. Python does both too, but not where the process is
    ended at once."""
    for process in multiprocessing.active_children():
        process.kill()
    shutil.rmtree(util.get_temp_dir(), ignore_errors=True)


def in_process(stop: Stop, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function in a process that is killed after so many seconds, or when the work is stopped. It comes
    as JSON: a process that reads hostile files may write anything. ValueError, for the user, if the function raises
    one, or if the process takes too long or too much memory."""
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=run, args=(sender, seconds, function, arguments), daemon=True)
    end, too_slow = time.monotonic() + seconds, f"the file takes more than {seconds:g} s to be read: split it"
    try:
        process.start()
        sender.close()
        while not receiver.poll(POLL):
            stop.check()
            require(time.monotonic() < end, too_slow)
        kind, value = json.loads(receiver.recv_bytes(MOST_RESULT))
    except EOFError:
        process.join(1)
        require(process.exitcode != -signal.SIGXCPU, too_slow)
        require(process.exitcode not in (1, -signal.SIGABRT, -signal.SIGSEGV), TOO_LARGE)  # it can't even say so
        kind, value = "ended", f"exit status {process.exitcode}"
    finally:
        receiver.close()
        process.kill()
        process.join()
    if kind == "":
        return value
    if kind == "ValueError":
        raise ValueError(value)
    LOG.error("failed", extra={"fields": {"error": kind, "place": value}})
    raise RuntimeError(kind)


def run(sender: Connection, seconds: float, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """In the process: send the result, or the name of the error and its sentence or place."""
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
        outcome = json.dumps(("", function(*arguments)))
    except MemoryError:
        outcome = json.dumps(("ValueError", TOO_LARGE))
    except ValueError as error:
        outcome = json.dumps(("ValueError", str(error)[:MOST_PROBLEM]))
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        outcome = json.dumps((type(error).__name__, f"{place.filename}:{place.lineno}"))
    with contextlib.suppress(BrokenPipeError):  # the service was killed
        sender.send_bytes(outcome.encode())


def allow_memory(unpacked: int) -> None:
    """In the process: bound its memory by what it has, and by the bytes of the file when it is unpacked."""
    if Path("/proc/self/statm").exists():  # Linux
        has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)  # which only root may raise
        resource.setrlimit(resource.RLIMIT_AS, (has + SPARE + GROWTH * unpacked, most))


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
        n = 1 if unit.markup else 1 + sum(1 for _ in BREAK.finditer(unit.text))  # as the engine counts
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
    allow_memory(len(data) + sum(member.file_size for member in members))
    return read_document(data, form, options)
