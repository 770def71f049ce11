"""Commands in forks of this process: processes of their own, without the seconds that loading the libraries takes."""

import os
import runpy
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from multiprocessing import forkserver, resource_tracker
from typing import IO, Any

Popen = subprocess.Popen
LIBRARIES = ("torch._dynamo", "torch.utils.tensorboard", "pandas", "sacrebleu", "ctranslate2")
Main = Callable[[list[str]], int]


@cache
def load_libraries() -> None:
    """Those that commands load when they need them: once here, and not in each fork."""
    for name in LIBRARIES:
        with suppress(ImportError):
            import_module(name)


def start(main: Main, arguments: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
    """As subprocess.Popen of `python -m nmt.COMMAND ARGUMENTS`; `main`: that of the command."""

    def run() -> None:
        os.closerange(3, 1 << 16)  # as the start of a program does; Popen waits for it
        # A new program doesn't know these processes of its parent, which it can't reach.
        vars(resource_tracker._resource_tracker)["_fd"] = vars(forkserver._forkserver)["_forkserver_pid"] = None
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python does
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
        status = 1
        try:
            status = main([*arguments])
        except SystemExit as stop:
            print(stop if isinstance(stop.code, str) else "", end="", file=sys.stderr)
            status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            if sys.stdout:
                sys.stdout.flush()
            os._exit(status)

    load_libraries()
    return Popen([sys.executable], preexec_fn=run, **options)


def start_known(command: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
    """As subprocess.Popen, but `python -m nmt.COMMAND` and those of benchmarks are forks."""
    python, *words = command
    known = python == sys.executable and words[:1] == ["-m"] and words[1].startswith(("nmt.", "benchmarks."))
    if not known or "preexec_fn" in options:
        return Popen(command, **options)

    def run(arguments: list[str]) -> int:
        setattr(subprocess, "Popen", Popen)  # noqa: B010
        sys.argv = [words[1], *arguments]
        warnings.simplefilter("ignore")  # of runpy: that the module is there already
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return 0

    return start(run, words[2:], **options)


@contextmanager
def standard_input(file: IO[Any]) -> Iterator[None]:
    """Let this process have an open file as its standard input."""
    before = os.dup(0)
    os.dup2(file.fileno(), 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)
