"""Batch size and memory: the search for the fastest batch size that fits."""

import time
from pathlib import Path

import torch

from nmt.data.batches import WINDOW, Pairs, Plan, plan_batches
from nmt.fields import require
from nmt.model.device import is_out_of_memory
from nmt.training.data import TrainingData
from nmt.training.loss import Learner
from nmt.training.objectives import Objective

MIN_BATCH_TOKENS = 1024  # the first size tried
MIN_SPEEDUP = 1.05  # in tokens per second, for a size to be taken instead of half of it
MIN_BATCHES = 100  # in an epoch: fewer steps learn less from the same text, however fast they are
TRIALS = 3  # batches timed for each size


def find_batch_tokens(learner: Learner, data: TrainingData, processes: int = 1) -> int:
    """The number for `training.batch_tokens: auto`: positions of a batch, doubled while that makes training faster.

    A batch must fit in memory beside the optimizer's state, in each of the machine's `processes`, and an epoch must
    have enough batches. Clears the gradients of `learner`. Raises ValueError if no size fits.
    """
    objective, pairs = data.objective, data.objective.pairs(data.train.first(WINDOW))
    size, lengths = MIN_BATCH_TOKENS, learner.model.sequence_lengths(*pairs.lengths)
    longest = data.longest(learner.model)
    while objective.budget(size, len(lengths)) < longest:
        size *= 2
    best, speed = 0, 0.0
    while not best or may_double(learner, processes):
        plan = plan_batches(lengths, objective.budget(size, len(lengths)), seed=0, epoch=0)
        if best and len(plan) < MIN_BATCHES:
            break
        new_speed = tokens_per_second(learner, objective, pairs, plan)
        if new_speed is None or new_speed < MIN_SPEEDUP * speed:
            break
        best, speed, size = size, new_speed, 2 * size
    advice = "take a smaller model, or a smaller data.max_pieces and a number for training.batch_tokens"
    require(best > 0, f"training.batch_tokens is auto, and not even {size:,} positions fit in memory: {advice}")
    return best


def tokens_per_second(learner: Learner, objective: Objective, pairs: Pairs, plan: Plan) -> float | None:
    """Target tokens per second in batches of typical size; None if the largest batch doesn't fit in memory."""
    source_N, target_N = pairs.source.lengths_N, pairs.target.lengths_N
    plan = sorted(plan, key=lambda index: len(index) * int(source_N[index].max() + target_N[index].max()))
    typical = plan[len(plan) // 2 :][:TRIALS]
    tokens = sum(objective.predictions(pairs, index) for index in typical)
    try:
        # As much memory as the optimizer's moments and the moving average will take.
        reserved = [torch.zeros_like(p) for p in learner.parameters() for _ in range(3 if learner.config.ema else 2)]
        forward_backward(learner, objective, pairs, plan[-1:])  # not timed: the first pass is slow
        started = time.perf_counter()
        forward_backward(learner, objective, pairs, typical)
        seconds = time.perf_counter() - started
        del reserved
        return tokens / seconds
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        return None
    finally:
        learner.zero_grad()


def forward_backward(learner: Learner, objective: Objective, pairs: Pairs, plan: Plan) -> None:
    """Compute the gradients of the batches, and wait until a GPU has finished."""
    learner.train()
    for index in plan:
        loss = learner(objective.batch(pairs, index, torch.Generator()))
        loss.smoothed.backward()
        float(loss.nll)


def may_double(learner: Learner, processes: int) -> bool:
    """Whether to try a batch of twice the size. On a CPU each process must have room for twice the memory used so far,
    since the system kills a process that takes too much; a GPU only raises an error."""
    available = memory_available() if learner.numerics.device.type == "cpu" else None
    if available is None:
        return True
    import resource  # Windows has none, and tells no free memory above

    return 2 * processes * 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < available


def memory_available(information: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes of free memory of the machine, or of the container (control group, version 2) if it has less; cached pages
    of files count as free. None if the system reports neither."""
    machine = read_table(information) if information.exists() else {}
    free = [1024 * machine["MemAvailable:"]] if "MemAvailable:" in machine else []
    if (group / "memory.max").exists() and (limit := (group / "memory.max").read_text().strip()) != "max":
        cached = sum(read_table(group / "memory.stat").get(name, 0) for name in ("inactive_file", "active_file"))
        free.append(int(limit) - int((group / "memory.current").read_text()) + cached)
    return min(free, default=None)


def read_table(file: Path) -> dict[str, int]:
    """The numbers in a file of lines NAME NUMBER …, by name."""
    return {name: int(number) for name, number, *_ in map(str.split, file.read_text().splitlines())}
