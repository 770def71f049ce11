"""Several processes that train one model together, started by torchrun on one machine or on many.

    torchrun --nproc-per-node 4 -m nmt.train --training.accumulate 4

A step has `training.accumulate` batches, whatever the number of processes: each takes its share of them, and the
gradients are summed over all. So that number decides how fast a run is, not what it learns. By default every process
holds the whole model (DDP, Li et al. 2020); with `training.shard` they share out parameters, gradients and moments as
well (FSDP2, after Zhao et al. 2023). Without torchrun there is one process, and all here is the identity.
"""

import contextlib
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.rendezvous import rendezvous
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from nmt.config import require

Item = TypeVar("Item")

# How long the others wait while the first prepares a corpus: that is no hang, for torchrun ends them when it fails.
PREPARING = timedelta(days=7)
# And for anything else that one does and not all: finding a batch size, writing a checkpoint, a longer share of the
# validation. A machine that is gone without a word is noticed after that.
PATIENCE = timedelta(minutes=30)
# What PyTorch's RuntimeError says when another process is gone.
LOST = re.compile(
    r"(closed|reset) by peer|connection (was )?(closed|reset)|remote process exited|broken pipe|"
    r"timed out waiting|(wait|operation|socket) timeout|connection timed out|got 0 bytes",
    re.I,
)


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
    preparing: Any = None
    """Another, for waiting until the first has prepared the run."""

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def device(self, name: str) -> str:
        """A GPU of its own for each process of a machine; any other device as it is named."""
        require(
            self.local_size == 1 or not name.startswith("cuda:"),
            f"training.device is {name}, one GPU for {self.local_size} processes: with cuda each has its own",
        )
        several_gpus = self.size > 1 and torch.cuda.is_available() and name in ("auto", "cuda")
        return f"cuda:{self.local_rank}" if several_gpus else name

    def share(self, items: Sequence[Item]) -> list[Item]:
        """The items that fall to this process."""
        return list(items[self.rank :: self.size])

    def gather(self, items: Sequence[Item]) -> list[list[Item]]:
        """Each process's items, however many it has."""
        if self.size == 1:
            return [list(items)]
        return [self.broadcast(list(items), rank) for rank in range(self.size)]

    def unshare(self, items: Sequence[Item]) -> list[Item]:
        """What was made of each shared item, of all processes, in the order before `share`."""
        parts = self.gather(items)
        merged: list[Any] = [None] * sum(map(len, parts))
        for rank, part in enumerate(parts):
            merged[rank :: self.size] = part
        return merged

    def told(self, value: Item, preparing: bool = False) -> Item:
        """The first process's value, in all: what JSON can say. A file system that they share may show each another
        state. `preparing`: it may be days until the first has it."""
        if self.size == 1:
            return value
        return self.broadcast(value, 0, self.preparing if preparing else self.control)

    def broadcast(self, value: Item, rank: int, group: Any = None) -> Item:
        """A process's value, in all. As JSON: PyTorch's own way is pickle."""
        text = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        length = torch.tensor([len(text)])
        dist.broadcast(length, rank, group=group or self.control)
        text = text if rank == self.rank else torch.empty(int(length), dtype=torch.uint8)
        dist.broadcast(text, rank, group=group or self.control)
        read: Item = json.loads(text.numpy().tobytes())
        return read

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
        with warnings.catch_warnings():
            # PyTorch means to rename broadcast_buffers; its other name still sends them once. Ours are tables of
            # positions, which each process enlarges when it meets a longer sentence: they must be left alone.
            warnings.simplefilter("ignore", FutureWarning)
            united = DistributedDataParallel(learner, broadcast_buffers=False, gradient_as_bucket_view=True)
        united.register_comm_hook(None, sum_bucket)
        return united


def sum_bucket(state: None, bucket: dist.GradBucket) -> Future[Tensor]:  # type: ignore[name-defined]
    """DDP's hook for a bucket of gradients: their sum, not their mean, since losses are divided by all tokens."""
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


@contextlib.contextmanager
def local_gradients(united: nn.Module, more_follow: bool) -> Iterator[None]:
    """If `more_follow`, a backward pass of DDP leaves the gradients to this process: further ones will add to them."""
    with united.no_sync() if more_follow and isinstance(united, DistributedDataParallel) else contextlib.nullcontext():
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
        int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    )
    on_gpus = torch.cuda.is_available() and device != "cpu"
    if on_gpus:
        require(
            local_rank < torch.cuda.device_count(),
            f"{local_size} processes were started on a machine with "
            f"{torch.cuda.device_count()} GPUs: take --nproc-per-node {torch.cuda.device_count()}",
        )
        torch.cuda.set_device(local_rank)
    try:
        # torchrun keeps one store for all its attempts: without a name of its own, a restarted process could find the
        # address of one that is dead.
        store, _, _ = next(rendezvous("env://"))
        attempt = PrefixStore(f"attempt {os.environ['TORCHELASTIC_RESTART_COUNT']}", store)
        dist.init_process_group("cpu:gloo,cuda:nccl" if on_gpus else "gloo", rank=rank, world_size=size, store=attempt)
        control, preparing = (dist.new_group(backend="gloo", timeout=timeout) for timeout in (PATIENCE, PREPARING))
        yield Processes(rank, size, local_rank, local_size, control, preparing)
    except RuntimeError as error:
        require(dist.is_initialized(), f"process {rank} of {size} can't reach the others: {str(error).splitlines()[0]}")
        if not LOST.search(str(error)):
            raise
        raise ValueError(
            f"process {rank} of {size} can't go on, for another has ended: torchrun's report names the "
            f"first that failed, and its own message says why ({str(error).splitlines()[0]})"
        ) from error
    except KeyboardInterrupt:  # all stop together
        dist.destroy_process_group()
        raise
    # After any other exception it isn't called: it would wait for the others, which wait for this one.
    dist.destroy_process_group()
