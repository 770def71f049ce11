"""Batches that a thread makes while the step before runs. Planned batches flow in; batches flow out."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from nmt.data.batches import Batch, PlannedBatch


class Ahead:
    """Makes batches when they are needed or, if `in_thread`, from the time on when they are known.

    A GPU works on a step while the program starts the next operations, so it must not wait for a batch. On a CPU the
    thread would take its time from the step.
    """

    def __init__(self, make: Callable[[PlannedBatch], Batch], *, in_thread: bool) -> None:
        self.make, self.pool = make, ThreadPoolExecutor(1, "batches") if in_thread else None
        self.started: dict[tuple[int, int], Future[Batch]] = {}

    def start(self, planned: PlannedBatch) -> None:
        """Say that this batch will probably be needed. Those of the epoch before the last one will not be: a new stage
        has ended it."""
        self.started = {place: batch for place, batch in self.started.items() if place[0] >= planned.epoch - 1}
        if self.pool:
            self.started[planned.epoch, planned.number] = self.pool.submit(self.make, planned)

    def take(self, planned: PlannedBatch) -> Batch:
        """The batch. Raises the errors of `make`."""
        found = None if planned.part else self.started.pop((planned.epoch, planned.number), None)
        return found.result() if found else self.make(planned)
