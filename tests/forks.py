"""Commands in forks of this process: processes of their own, without the seconds that loading the libraries takes."""

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

Main = Callable[[list[str]], int]


def start(main: Main, arguments: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
    """As subprocess.Popen of `python -m nmt.COMMAND ARGUMENTS`; `main`: that of the command."""

    def run() -> None:
        os.closerange(3, 1 << 16)  # as the start of a program does; Popen waits for it
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python does
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
        status = 1
        try:
            status = main([*arguments])
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    return subprocess.Popen([sys.executable], preexec_fn=run, **options)


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
