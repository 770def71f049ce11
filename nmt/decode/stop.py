"""How a search ends before it is done: its time is up, or another thread ends it, such as a server whose client has
left.

Beam search, sampling and scoring look at a `Stop` before each step or batch. When the time is up, a search ends with
what it has; scoring, whose half result would be wrong, has none.
"""

import math
import time
from threading import Event


class Stopped(Exception):  # noqa: N818
    """A search ended before it was done. It leaves no result."""


class Late(Stopped):
    """The time of a search is up."""


class Stop:
    """When a search must end. Threads may share it."""

    def __init__(self, seconds: float = math.inf) -> None:
        """`seconds`: the time that is left from now on."""
        self.deadline, self.event = time.monotonic() + seconds, Event()

    def set(self) -> None:
        """End the search, from any thread."""
        self.event.set()

    def check(self) -> None:
        """Raise Stopped if the search must end now: Late if its time is up."""
        if self.event.is_set():
            raise Stopped("the search was stopped")
        if time.monotonic() >= self.deadline:
            raise Late("the search took longer than it may")

    def is_late(self) -> bool:
        """Whether the time is up. Raises Stopped if another thread ended the search."""
        try:
            self.check()
        except Late:
            return True
        return False
