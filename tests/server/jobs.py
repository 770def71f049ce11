"""What runs in other processes in tests: its module must have the same name there."""

import os
import resource
import sys
import time

from nmt.server.work.processes import allow_memory


def sleep(seconds: float) -> str:
    time.sleep(seconds)
    return "awake"


def compute(_: str) -> None:
    while True:
        pass


def fail(kind: str) -> None:
    raise {"ValueError": ValueError("the file is odd"), "OSError": OSError("secret")}[kind]


def end(status: int) -> None:
    os.kill(os.getpid(), -status) if status < 0 else os._exit(status)


def fill(unpacked: int, wanted: int) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (2**40, 2**40))
    allow_memory(unpacked)
    assert resource.getrlimit(resource.RLIMIT_AS)[1] == 2**40  # only root may raise it
    return len(bytes(wanted))


def has_torch(n: int) -> object:
    """Whether torch is loaded; for 1, what JSON can't say."""
    return {object()} if n else "torch" in sys.modules
