"""Several processes that train one model together, started by torchrun on one machine or on many.

    torchrun --nproc-per-node 4 -m nmt.train --training.accumulate 4

A step has `training.accumulate` batches, whatever the number of processes: each takes its share of them, and the
gradients are summed over all. So that number decides how fast a run is, not what it learns. By default every process
holds the whole model (DDP, Li et al. 2020); with `training.shard` they share out parameters, gradients and moments as
well (FSDP2, after Zhao et al. 2023). Without torchrun there is one process, and all here is the identity.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

Item = TypeVar("Item")

# The others wait at the control group while the first prepares a corpus: that may take long, and it is no hang, for
# torchrun ends them when it fails.
PATIENCE = timedelta(days=7)
# What PyTorch's RuntimeError says when another process is gone.
LOST = re.compile(r"closed by peer|connection (was )?(closed|reset|refused)|socket|NCCL|gloo", re.IGNORECASE)


@dataclass(frozen=True)
class Processes:
    """This process among those of the run. Its collective methods must be called by all of them, in one order."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    """Processes on this machine."""
    control: Any = None
    """The group for what is small and on the CPU; gradients have the default group."""

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def device(self, name: str) -> str:
        """A GPU of its own for each process of a machine; any other device as it is named."""
        several_gpus = self.size > 1 and torch.cuda.is_available() and name in ("auto", "cuda")
        return f"cuda:{self.local_rank}" if several_gpus else name

    def share(self, items: Sequence[Item]) -> Sequence[Item]:
        """The items that fall to this process."""
        return items[self.rank::self.size]

    def gather(self, items: Sequence[Item]) -> list[Item]:
        """All processes' items, in the order before `share`."""
        if self.size == 1:
            return list(items)
        parts: list[Any] = [None] * self.size
        dist.all_gather_object(parts, list(items), group=self.control)
        merged: list[Any] = [None] * sum(map(len, parts))
        for rank, part in enumerate(parts):
            merged[rank::self.size] = part
        return merged

    def total(self, values: Sequence[float]) -> list[float]:
        """Each value summed over all processes."""
        if self.size == 1:
            return list(values)
        sums = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(sums, group=self.control)
        return sums.tolist()

    def ask(self, flag: Callable[[], bool]) -> Callable[[], bool]:
        """Whether it is so in any process, to be asked for later: the others' answers arrive during other work.

        Alone, the flag is read when the answer is; among several, now.
        """
        if self.size == 1:
            return flag
        count = torch.tensor([float(flag())])
        work = dist.all_reduce(count, group=self.control, async_op=True)

        def answer() -> bool:
            assert work is not None
            work.wait()
            return bool(count > 0)

        return answer

    def wait(self) -> None:
        """Go on when all processes are here."""
        if self.size > 1:
            dist.barrier(group=self.control)

    def unite(self, learner: nn.Module) -> nn.Module:
        """The learner, whose backward pass then sums gradients over all processes; all get the first's weights."""
        if self.size == 1:
            return learner
        united = DistributedDataParallel(learner, gradient_as_bucket_view=True)
        united.register_comm_hook(None, sum_bucket)
        return united


def sum_bucket(state: None, bucket: dist.GradBucket) -> Future[Tensor]:  # type: ignore[name-defined]
    """DDP's hook for a bucket of gradients: their sum, not their mean, since losses are divided by all tokens."""
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


@contextlib.contextmanager
def local_gradients(united: nn.Module, alone: bool) -> Iterator[None]:
    """If `alone`, backward leaves a DDP learner's gradients as they are in this process: another pass will follow."""
    with united.no_sync() if alone and isinstance(united, DistributedDataParallel) else contextlib.nullcontext():
        yield


def shard(learner: nn.Module, blocks: Sequence[nn.Module]) -> None:
    """Share out the parameters of a learner, block by block; what is in no block is held together by the learner."""
    for module in (*blocks, learner):
        fully_shard(module)
        assert isinstance(module, FSDPModule)
        module.set_force_sum_reduction_for_comms(True)
        module.set_gradient_divide_factor(1.0)


def whole(tensor: Tensor) -> Tensor:
    """A tensor that may be shared out, whole, in every process."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def shared_as(tensor: Tensor, model: Tensor) -> Tensor:
    """A whole tensor, shared out as `model` is, and on its device."""
    tensor = tensor.to(model.device)
    if not isinstance(model, DTensor):
        return tensor
    return distribute_tensor(tensor, model.device_mesh, model.placements, src_data_rank=None)


@contextlib.contextmanager
def joined(device: str) -> Iterator[Processes]:
    """Meet the other processes that torchrun started; without torchrun, be the only one.

    Raises:
        ValueError: another process has ended before its time.
    """
    if not dist.is_torchelastic_launched() or os.environ["WORLD_SIZE"] == "1":
        yield Processes()
        return
    rank, size, local_rank, local_size = (
        int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"))
    on_gpus = torch.cuda.is_available() and device != "cpu"
    if on_gpus:
        torch.cuda.set_device(local_rank)
    try:
        dist.init_process_group("cpu:gloo,cuda:nccl" if on_gpus else "gloo")
        yield Processes(rank, size, local_rank, local_size, dist.new_group(backend="gloo", timeout=PATIENCE))
    except RuntimeError as error:
        if not LOST.search(str(error)):
            raise
        raise ValueError(f"process {rank} of {size} can't go on, for another has ended; the last checkpoint is good. "
                         f"torchrun's report names the first that failed, and its own message says why") from error
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
