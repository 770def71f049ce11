"""The number of CPU threads on a machine that does other things: how busy others are flows in, a number flows out.

The threads of a matrix product wait for each other. If another program keeps one of two cores busy, one of two threads
is often stopped, and the other waits in vain: a step then takes many times as long as with one thread.
"""

import os
import time
from pathlib import Path

import torch

EVERY = 3.0  # seconds between two looks
SPARE = 0.25  # of a core: so much may others take from the last thread's core
TICKS = os.sysconf("SC_CLK_TCK")


class Threads:
    """Keeps PyTorch's number of threads at the number of cores that other programs leave free.

    It changes nothing where the number was chosen, or is 1, or the system doesn't tell how busy its cores are (macOS).
    """

    def __init__(self, *, fixed: bool, counters: Path = Path("/proc/stat")) -> None:
        self.most, self.counters = torch.get_num_threads(), counters
        self.is_fixed = fixed or self.most == 1 or not counters.exists()
        self.looked, self.before, self.free_before = 0.0, (0.0, 0.0), 0

    def start(self, number: int) -> None:
        """Begin with a number that a checkpoint has recorded; 0 for none."""
        if number and not self.is_fixed:
            torch.set_num_threads(min(number, self.most))

    def adapt(self) -> int:
        """Between two steps: look how busy others are, a few times a minute. Returns the new number of threads, or 0 if
        it stays. More threads are taken only if two looks in a row find the cores free."""
        now = time.monotonic()
        if self.is_fixed or now - self.looked < EVERY:
            return 0
        passed, self.looked = now - self.looked, now
        before, self.before = self.before, (busy_seconds(self.counters), sum(os.times()[:2]))
        if passed > 10 * EVERY:  # a validation, or the first look
            return 0
        others = max(0.0, self.before[0] - before[0] - (self.before[1] - before[1])) / passed
        cores = len(os.sched_getaffinity(0))
        free = max(1, min(self.most, int(cores - others + SPARE)))
        number = min(free, max(self.free_before, torch.get_num_threads()))
        self.free_before = free
        if number == torch.get_num_threads():
            return 0
        torch.set_num_threads(number)
        return number


def busy_seconds(counters: Path) -> float:
    """Seconds that the cores of this process have worked so far, for whatever program."""
    cores = os.sched_getaffinity(0)
    rows = (line.split() for line in counters.read_text().splitlines() if line[:3] == "cpu" and line[3:4].isdigit())
    # The columns: user, nice, system, idle, waiting, interrupts, soft interrupts, stolen by the host of this machine.
    busy = (sum(map(int, row[1:4] + row[6:9])) for row in rows if int(row[0][3:]) in cores)
    return sum(busy) / TICKS
