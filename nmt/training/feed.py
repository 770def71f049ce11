"""The batches of a run, in groups of a step, from any place on: training data flow in, batches flow out.

On a GPU, which must not wait, threads work ahead: one reads and plans the next window of the corpus, and another one
makes the batches of the next step. On a CPU they would take their time from the step.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import torch
from torch import Tensor

from nmt.config import TrainingConfig
from nmt.data import batches
from nmt.data.batches import Batch, Pairs, Plan, PlannedBatch, plan_batches, repeated_rows, window_starts
from nmt.data.mixing import Mixture, WeightedPairs
from nmt.model.contract import Model
from nmt.training.data import TrainingData
from nmt.training.distributed import Processes

Item = TypeVar("Item")
Place = tuple[int, int]
"""An epoch, and the number of a batch in it."""


@dataclass(frozen=True)
class Window:
    """Pairs of the corpus that are in memory, as the model reads them, and the plan of their batches."""

    pairs: Pairs
    rows_N: Tensor | None
    """Their numbers in the corpus; None: they are all of it."""
    plan: Plan
    epoch: int
    first: int
    """Number of its first batch."""
    is_last: bool
    """Whether the epoch ends with it."""


class Feed:
    """Endless batches of training data. Which they are depends on the data, the settings and the place alone."""

    def __init__(
        self, data: TrainingData, model: Model, config: TrainingConfig, processes: Processes, *, in_threads: bool
    ) -> None:
        self.data, self.model, self.config, self.processes = data, model, config, processes
        self.whole = data.objective.pairs(data.train) if isinstance(data.train, Pairs) else None
        self.planner, self.maker = (ThreadPoolExecutor(1) if in_threads else None for _ in range(2))
        self.started: dict[Place, Future[Batch]] = {}

    def go_to(self, place: Place, step: int) -> None:
        """Go on with the batch at this place, mixed as the stage of the step after `step` says."""
        self.planned = self.plan(place, self.data.mixture_after(step))
        self.following: list[PlannedBatch] = []
        self.started = {}

    def group(self) -> list[PlannedBatch]:
        """The batches of the next step. If there are threads, one begins with those that this process will need for the
        step after it."""
        size = self.config.accumulate
        group = self.following or list(islice(self.planned, size))
        if self.maker:
            self.following = list(islice(self.planned, size))
            for planned in self.processes.shard_items(self.following):
                self.started[planned.epoch, planned.number] = self.maker.submit(self.make, planned)
        return group

    def take(self, planned: PlannedBatch) -> Batch:
        """The batch, on the CPU. Raises the errors of making it."""
        found = None if planned.part else self.started.pop((planned.epoch, planned.number), None)
        return found.result() if found else self.make(planned)

    def make(self, planned: PlannedBatch) -> Batch:
        """The batch, which depends on its place in the run alone."""
        return self.data.objective.batch(planned.pairs, planned.index_B, planned.generator(self.config.seed))

    def plan(self, place: Place, mixture: Mixture | WeightedPairs | None) -> Iterator[PlannedBatch]:
        """The batches from this place on."""
        for window in ahead(self.windows(place, mixture), self.planner):
            epoch, pairs, rows_N = window.epoch, window.pairs, window.rows_N
            for number, index_B in enumerate(window.plan, start=window.first):
                if (epoch, number) >= place:
                    ends = window.is_last and number + 1 == window.first + len(window.plan)
                    after = (epoch + 1, 0) if ends else (epoch, number + 1)
                    yield PlannedBatch(pairs, index_B, epoch, number, after=after, rows_N=rows_N)

    def windows(self, place: Place, mixture: Mixture | WeightedPairs | None) -> Iterator[Window]:
        """The windows from that of this place on."""
        epoch, number = place
        while True:
            times_N = mixture.times(self.config.seed, epoch) if mixture else None
            n = len(self.data.train) if times_N is None else int(times_N.sum())
            in_windows = self.data.stored and n > batches.WINDOW
            size = batches.WINDOW if in_windows else n
            starts = window_starts(n, self.config.seed, epoch) if in_windows else [0]
            for turn in range(number // batches.WINDOW if in_windows else 0, len(starts)):
                start, stop = starts[turn], min(starts[turn] + size, n)
                entries_E = torch.arange(start, stop) if times_N is None else repeated_rows(times_N, start, stop)
                yield self.window(entries_E, epoch, turn * batches.WINDOW, is_last=turn + 1 == len(starts))
            epoch, number = epoch + 1, 0

    def window(self, entries_E: Tensor, epoch: int, first: int, *, is_last: bool) -> Window:
        """The window of these pairs (rising numbers; each as often as it is seen)."""
        pairs, rows_N = self.whole, None
        if pairs is None:
            rows_N, entries_E = entries_E.unique_consecutive(return_inverse=True)
            pairs = self.data.objective.pairs(self.data.train.chosen(rows_N))
        lengths = [lengths_N[entries_E] for lengths_N in self.model.sequence_lengths(*pairs.lengths)]
        budget = self.data.objective.budget(int(self.config.batch_tokens), len(lengths))
        plan = [entries_E[index] for index in plan_batches(lengths, budget, self.config.seed, epoch)]
        return Window(pairs, rows_N, plan, epoch, first, is_last)


def ahead(items: Iterator[Item], pool: ThreadPoolExecutor | None) -> Iterator[Item]:
    """Endless items; if there is a pool, a thread makes each while the one before is used."""
    if not pool:
        yield from items
        return
    following = pool.submit(next, items)
    while True:
        item = following.result()
        following = pool.submit(next, items)
        yield item
