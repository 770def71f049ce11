"""How a search ends before it is done: its time is up, or another thread ends it, such as a server whose client has
left.

Beam search, sampling and scoring look at a `Stop` before each step or batch.
"""

import math
import time
from threading import Event


class Stopped(Exception):  # noqa: N818
    """A search ended before it was done. It leaves no result."""


class Stop:
    """When a search must end. Threads may share it."""

    def __init__(self, seconds: float = math.inf) -> None:
        """`seconds`: the time that is left from now on."""
        self.deadline, self.event = time.monotonic() + seconds, Event()

    def set(self) -> None:
        """End the search, from any thread."""
        self.event.set()

    def check(self) -> None:
        """Raise Stopped if the search must end now."""
        if self.event.is_set():
            raise Stopped("the search was stopped")
        if time.monotonic() >= self.deadline:
            raise Stopped("the search took longer than it may")
