"""Files of users are read and written in processes of their own: one that takes too much memory or time is ended, and
the service goes on.

The processes are forks of one that has loaded the readers and has no threads, where the system has such (not Windows).
"""

import json
import logging
import multiprocessing
import shutil
import signal
import time
import traceback
from collections.abc import Callable
from multiprocessing import util
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from nmt.decode.stop import Stop
from nmt.fields import require

try:
    import resource
except ImportError:  # Windows bounds no processes in this way
    resource = None  # type: ignore[assignment]

LOG = logging.getLogger("nmt.server")
POLL = 0.05  # seconds between two looks whether the work was stopped
HAS_FORKS = "forkserver" in multiprocessing.get_all_start_methods()
CONTEXT: Any = multiprocessing.get_context("forkserver" if HAS_FORKS else "spawn")
SPARE, GROWTH = 64 << 20, 20  # bytes above what an idle process has, and for each byte of the unpacked file
MOST_RESULT, MOST_PROBLEM = 2**20, 1_000  # bytes of what a process says; characters of a problem, which may quote files
TOO_LARGE = "the file needs too much memory to be read: split it"


def prepare(*modules: str) -> None:
    """Start the process that others are forks of, with these modules loaded."""
    if HAS_FORKS:
        from multiprocessing import forkserver

        CONTEXT.set_forkserver_preload([*modules])
        forkserver.ensure_running()


def clean_up() -> None:
    """Delete what `prepare` made. Python does it too, but not where the process is ended at once."""
    if HAS_FORKS:
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
        require(process.exitcode != -signal.SIGXCPU if resource else True, too_slow)
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
        if resource:
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
        outcome = json.dumps(("", function(*arguments)))
    except MemoryError:
        outcome = json.dumps(("ValueError", TOO_LARGE))
    except ValueError as error:
        outcome = json.dumps(("ValueError", str(error)[:MOST_PROBLEM]))
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        outcome = json.dumps((type(error).__name__, f"{place.filename}:{place.lineno}"))
    sender.send_bytes(outcome.encode())


def allow_memory(unpacked: int) -> None:
    """In the process: bound its memory by what it has, and by the bytes of the file when it is unpacked."""
    if resource and Path("/proc/self/statm").exists():
        has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + SPARE + GROWTH * unpacked, resource.RLIM_INFINITY))
