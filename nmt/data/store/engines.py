"""Engines: a task that is done for each of many numbers, in this process or in a pool of processes."""

import contextlib
import gc
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from threading import Thread

from nmt.fields import require
from nmt.messages import say

Task = Callable[[int], object]
SELDOM = 1_000_000, 20, 100  # thresholds of Python's garbage collector


@dataclass
class Engine:
    """How tasks are done, and which share of them. A context: at its end, the processes that it started end."""

    workers: int = 0
    """Number of processes; 0 is one for each core."""

    part: tuple[int, int] = (1, 1)
    """(i, n): do the i-th of n parts of the tasks that can be done by machines side by side."""

    pool: ProcessPoolExecutor | None = field(default=None, init=False)
    """Of new processes, for all calls: a fork of a process with threads may stop for ever."""

    @classmethod
    def parse(cls, workers: str, part: str) -> "Engine":
        """From the values of options. ValueError if one is wrong."""
        i, _, n = part.partition("/")
        is_part = i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)
        require(is_part, f"--part is {part}: it must be I/N, with I from 1 to N, such as 1/4")
        require(workers.isdecimal(), f"--workers is {workers!r}: it must be a whole number, 0 or more")
        return cls(int(workers), (int(i), int(n)))

    def __enter__(self) -> "Engine":
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # others keep 45 MB more in each process
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.pool:
            for process in [*self.pool._processes.values()] if kind is KeyboardInterrupt else ():
                process.terminate()
            self.pool.shutdown(cancel_futures=True)
            self.pool = None

    @property
    def most(self) -> int:
        return self.workers or usable_cores()

    def share(self, numbers: Sequence[int]) -> list[int]:
        """Those of the numbers that belong to this part."""
        i, n = self.part
        return [number for number in numbers if number % n == i - 1]

    def run(self, task: Task, numbers: Sequence[int], name: str) -> None:
        """Do the task, of this name, for each number. Raises a task's error, and ValueError if a process is killed."""
        if min(self.most, len(numbers)) < 2:
            for number in numbers:
                task(number)
            return
        try:
            for done, future in enumerate(as_completed(self.submit(task, numbers)), start=1):
                future.result()
                if done % max(1, len(numbers) // 10) == 0:
                    say(f"{name}: {done:,} of {len(numbers):,}")
        except BrokenProcessPool:
            problem = f"{name}: a worker process was killed, perhaps because memory ran out"
            advice = "the same command goes on with what is missing. Fewer --workers need less memory"
            raise ValueError(f"{problem}. What is finished is kept: {advice}") from None

    def start(self, known: object) -> None:
        """Start the processes before there are tasks. They import what `known` needs, while this one does others."""
        if self.most > 1 and not self.pool:
            self.pool = ProcessPoolExecutor(self.most, get_context("spawn"), start_worker, (known,))
            self.submit(abs, range(self.most))  # a call starts one process, unless one is idle

    def submit(self, task: Task, numbers: Iterable[int]) -> list[Future[object]]:
        """Let processes of the pool do the task. They never get the signal of Ctrl-C: each would print a traceback."""
        self.pool = self.pool or ProcessPoolExecutor(self.most, get_context("spawn"), start_worker)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return [self.pool.submit(task, number) for number in numbers]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def usable_cores() -> int:
    """Cores that this process may run on, if the system says so; otherwise all cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def collecting_seldom() -> Iterator[None]:
    """Let Python's garbage collector look seldom for objects that no one needs: preparing makes millions of small
    objects that stay, among which it would look again and again. It took a third of the time of reading."""
    usual = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def start_worker(*_: object) -> None:
    """Let this worker process end when the one that started it is killed: it may hold much memory."""
    gc.set_threshold(*SELDOM)

    def wait(parent: BaseProcess) -> None:
        parent.join()
        os._exit(1)

    if parent := parent_process():
        Thread(target=wait, args=[parent], daemon=True).start()
