"""How large batches may be: what to do when memory has no room for one, and a size found by trying."""

import resource
import time
from pathlib import Path

import torch

from nmt.data.batches import Pairs, Plan, make_batch, plan_batches
from nmt.training.loss import Learner

SMALLEST = 1024  # the first size tried
FASTER = 1.05  # a size is worth its memory if it reads that many times the tokens a second of half of it
LEAST_BATCHES = 100  # in an epoch: fewer steps learn less from the same text, however fast they are
TRIALS = 3  # batches of a size that are timed


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether PyTorch found no room, on a GPU or on the CPU."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def find_batch_tokens(learner: Learner, pairs: Pairs, processes: int = 1) -> int:
    """The most positions a batch should have (`training.batch_tokens: auto`): doubled while that makes training faster.

    It must fit in memory with the optimizer's moments beside it, for as many `processes` as share the machine, and
    leave enough batches in an epoch. The gradients of `learner` are cleared.
    """
    size = SMALLEST
    while size <= pairs.longest:
        size *= 2
    best, speed = 0, 0.0
    while not best or memory_left(learner, processes):
        plan = plan_batches(pairs, size, seed=0, epoch=0)
        if best and len(plan) < LEAST_BATCHES:
            break
        found = tokens_per_second(learner, pairs, plan)
        if found is None or found < FASTER * speed:
            break
        best, speed, size = size, found, 2 * size
    if not best:
        raise ValueError(
            f"training.batch_tokens is auto, but not even {size:,} positions fit in memory: take a "
            f"smaller model, or a smaller data.max_pieces and a number of your own"
        )
    return best


def tokens_per_second(learner: Learner, pairs: Pairs, plan: Plan) -> float | None:
    """Real target tokens a second of forward and backward over typical batches; None if memory has no room for the
    largest."""
    sizes = [
        len(index) * (int(pairs.source.lengths_N[index].max()) + int(pairs.target.lengths_N[index].max()))
        for index in plan
    ]
    order = sorted(range(len(plan)), key=sizes.__getitem__)
    typical = order[len(order) // 2 :][:TRIALS]
    tokens = sum(int(pairs.target.lengths_N[plan[i]].sum()) + len(plan[i]) for i in typical)
    try:
        moments = [torch.zeros_like(p) for p in learner.parameters() for _ in range(3 if learner.config.ema else 2)]
        learn(learner, pairs, [plan[order[-1]]])  # the first pass is slow, so it is not timed
        started = time.perf_counter()
        learn(learner, pairs, [plan[i] for i in typical])
        seconds = time.perf_counter() - started
        del moments  # they only took their place in memory
        return tokens / seconds
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        return None
    finally:
        learner.zero_grad()


def learn(learner: Learner, pairs: Pairs, plan: Plan) -> None:
    """Forward and backward, waiting for a GPU to be done."""
    learner.train()
    for index in plan:
        loss = learner(make_batch(pairs, index))
        loss.smoothed.backward()
        float(loss.nll)


def memory_left(learner: Learner, processes: int) -> bool:
    """Whether each of the processes could use twice the memory that this one has used; on a GPU, trying tells.

    On a CPU it doesn't: a process that asks for too much is killed.
    """
    available = memory_available() if learner.numerics.device.type == "cpu" else None
    used = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return available is None or 2 * processes * used < available


def memory_available(information: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes that this machine has free, or that a container's limit leaves (of its control group, version 2; pages of
    files, which the system takes back when it needs them, don't count). None if neither is told.
    """
    free = []
    if information.exists():
        free += [
            1024 * int(line.split()[1])
            for line in information.read_text().splitlines()
            if line.startswith("MemAvailable")
        ]
    if (group / "memory.max").exists() and (limit := (group / "memory.max").read_text().strip()) != "max":
        of_files = sum(
            int(line.split()[1])
            for line in (group / "memory.stat").read_text().splitlines()
            if line.startswith(("inactive_file ", "active_file "))
        )
        free.append(int(limit) - int((group / "memory.current").read_text()) + of_files)
    return min(free, default=None)
