"""What users are told: messages, tables and bars of progress on stderr, and values as a command line writes them.

Standard output is for results alone, so that it can be piped.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Control characters, which a terminal would obey: messages quote names and texts of files.
CONTROLS = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "\ufffd")
RANK = int(os.environ["RANK"]) if "TORCHELASTIC_RUN_ID" in os.environ else 0  # among the processes of torchrun


@cache
def console() -> "Console":
    """The console for messages to the user, on stderr."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


@contextmanager
def unless_full() -> Iterator[None]:
    """Lose what can't be written in this context, and all messages after it: a log on a full disk ends no work."""
    try:
        yield
    except BrokenPipeError:  # the reader of the messages wants no more of the command
        raise
    except OSError:
        sys.stderr = None  # as if it were closed: else Python would fail at exit once more


def say(line: str) -> None:
    """Print a message to the user on stderr; of several processes, only rank 0 prints."""
    if RANK == 0:
        with unless_full():
            console().print(line.translate(CONTROLS), markup=False, soft_wrap=True)


def show(table: "Table") -> None:
    """Print a table to the user on stderr."""
    with unless_full():
        console().print(table)


def print_to_stderr(line: str) -> None:
    """Print a message to the user on stderr, without a layout; each of several processes prints."""
    if sys.stderr:  # which is None if it is closed: then `print` would take standard output
        with unless_full():
            print(line.translate(CONTROLS), file=sys.stderr, flush=True)


@contextmanager
def status(text: str, output: str | None) -> Iterator[Callable[[str], None]]:
    """A line at the bottom of the terminal that says how far a command is. Yields a function that changes the text.
    Nothing is shown if stderr is no terminal, or if the results go to one. `output`: the file of the results; None if
    they go to stdout."""
    if not os.isatty(2) or (os.isatty(1) and not output):
        yield lambda text: None
        return
    with console().status(text) as line:
        yield line.update


def show_value(value: Any) -> str:
    """A value as it is written on the command line; empty if it is None, an empty text or an empty list."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value in (None, "", (), []) else str(value)
