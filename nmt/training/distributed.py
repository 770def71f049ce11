"""Training in several processes, which torchrun starts on one machine or on many.

    torchrun --nproc-per-node 4 -m nmt.train --training.accumulate 4

An optimizer step has `training.accumulate` batches for any number of processes: each process takes its share of them,
and the gradients are summed over all processes. So more processes make a run faster and don't change its result. Every
process holds the whole model (DDP, Li et al. 2020). Without torchrun, the functions here return their input.
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
from torch.distributed.rendezvous import rendezvous
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from nmt.fields import require

Item = TypeVar("Item")

# How long other processes wait while rank 0 prepares the corpus: if rank 0 fails, torchrun ends them at once.
PREPARE_TIMEOUT = timedelta(days=7)
# How long a process waits in other collective operations, while rank 0 finds a batch size or writes a checkpoint, or
# another process validates longer. The loss of a whole machine is noticed after this time.
TIMEOUT = timedelta(minutes=30)
# Parts of the RuntimeErrors that PyTorch raises when another process has ended.
PEER_LOST = re.compile(
    r"(?i)(closed|reset) by peer|connection (was )?(closed|reset)|remote process exited|broken pipe|"
    r"timed out waiting|(wait|operation|socket) timeout|connection timed out|got 0 bytes"
)


@dataclass(frozen=True)
class Processes:
    """This process among those of the run. All processes must call the collective methods, in the same order."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    """Processes on this machine."""
    control: Any = None
    """Process group (gloo) for small values on the CPU; gradients use the default group."""
    preparing: Any = None
    """Process group (gloo) with a long timeout, to wait until rank 0 has prepared the corpus."""

    @property
    def is_main(self) -> bool:
        """Whether this process is rank 0, the only one that writes files."""
        return self.rank == 0

    def choose_device(self, name: str) -> str:
        """The device of this process for `training.device`: with several processes and GPUs, a GPU for each."""
        shared = self.local_size > 1 and name.startswith("cuda:")
        require(not shared, f"training.device is {name}, one GPU for {self.local_size} processes: take cuda")
        several_gpus = self.size > 1 and torch.cuda.is_available()
        return f"cuda:{self.local_rank}" if several_gpus and name in ("auto", "cuda") else name

    def shard_items(self, items: Sequence[Item]) -> list[Item]:
        """The share of the items that this process works on."""
        return list(items[self.rank :: self.size])

    def gather_items(self, items: Sequence[Item]) -> list[Item]:
        """Merge the processes' results, one for each item of `shard_items`, in the order of all items."""
        shards = self.all_gather(list(items))
        merged: list[Any] = [None] * sum(map(len, shards))
        for rank, shard in enumerate(shards):
            merged[rank :: self.size] = shard
        return merged

    def all_gather(self, value: Item) -> list[Item]:
        """The JSON values of all processes, by rank."""
        return [self.broadcast(value, rank) for rank in range(self.size)]

    def broadcast(self, value: Item, src: int = 0, group: Any = None) -> Item:
        """The JSON value of rank `src`, in all processes. (PyTorch's broadcast_object_list unpickles what it gets.)"""
        if self.size == 1:
            return value
        text = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        length = torch.tensor([len(text)])
        dist.broadcast(length, src, group=group or self.control)
        text = text if src == self.rank else torch.empty(int(length), dtype=torch.uint8)
        dist.broadcast(text, src, group=group or self.control)
        received: Item = json.loads(text.numpy().tobytes())
        return received

    def all_reduce_sum(self, values: Sequence[float]) -> list[float]:
        """The sums of each value over all processes."""
        if self.size == 1:
            return list(values)
        sums = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(sums, group=self.control)
        return sums.tolist()

    def all_reduce_any(self, flag: Callable[[], bool]) -> Callable[[], bool]:
        """Start to ask, asynchronously, whether the flag of any process is set; the returned function waits for the
        answer. With a single process, it reads the flag when it is called."""
        if self.size == 1:
            return flag
        count = torch.tensor([float(flag())])
        work = dist.all_reduce(count, group=self.control, async_op=True)

        def any_flag() -> bool:
            assert work is not None
            work.wait()
            return bool(count > 0)

        return any_flag

    def gather_tensors(self, part: Tensor) -> Tensor:
        """The tensors of all processes, of one shape, stacked by rank."""
        if self.size == 1:
            return part[None]
        gathered = part.new_empty(self.size, *part.shape)
        dist.all_gather(list(gathered.unbind()), part.contiguous())
        return gathered

    def barrier(self) -> None:
        """Wait until all processes are here."""
        if self.size > 1:
            dist.barrier(group=self.control)

    def wrap_ddp(self, learner: nn.Module) -> nn.Module:
        """Wrap a learner in DDP: all processes get rank 0's weights, and backward passes sum gradients over them."""
        if self.size == 1:
            return learner
        with warnings.catch_warnings():
            # broadcast_buffers is off, since buffers are tables of positions, which each process enlarges when it meets
            # a longer sentence. PyTorch warns of a new name, but under that name it broadcasts buffers once.
            warnings.simplefilter("ignore", FutureWarning)
            ddp = DistributedDataParallel(learner, broadcast_buffers=False, gradient_as_bucket_view=True)
        ddp.register_comm_hook(None, sum_bucket)
        return ddp


SINGLE_PROCESS = Processes()


def sum_bucket(state: None, bucket: dist.GradBucket) -> Future[Tensor]:  # type: ignore[name-defined]
    """DDP's hook for a bucket of gradients: their sum, not their mean, since losses are divided by all tokens."""
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


def no_sync(learner: nn.Module, enabled: bool) -> contextlib.AbstractContextManager[None]:
    """If enabled, DDP's backward pass adds gradients up in this process, without an all-reduce."""
    return learner.no_sync() if enabled and isinstance(learner, DistributedDataParallel) else contextlib.nullcontext()


@contextlib.contextmanager
def process_group(device: str) -> Iterator[Processes]:
    """Join the processes that torchrun started; without torchrun, this process is the only one. Raises ValueError if
    another process has failed, was killed, or can't be reached."""
    if not dist.is_torchelastic_launched() or os.environ["WORLD_SIZE"] == "1":
        yield Processes()
        return
    variables = "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"
    rank, size, local_rank, local_size = (int(os.environ[name]) for name in variables)
    on_gpus, gpus = torch.cuda.is_available() and device != "cpu", torch.cuda.device_count()
    if on_gpus:
        require(local_rank < gpus, f"{local_size} processes share {gpus} GPUs: take --nproc-per-node {gpus}")
        torch.cuda.set_device(local_rank)
    try:
        # torchrun keeps one store for all attempts: without a prefix, a restarted process could read an old address.
        store, _, _ = next(rendezvous("env://"))
        attempt = PrefixStore(f"attempt {os.environ['TORCHELASTIC_RESTART_COUNT']}", store)
        dist.init_process_group("cpu:gloo,cuda:nccl" if on_gpus else "gloo", rank=rank, world_size=size, store=attempt)
        control, preparing = (dist.new_group(backend="gloo", timeout=timeout) for timeout in (TIMEOUT, PREPARE_TIMEOUT))
        yield Processes(rank, size, local_rank, local_size, control, preparing)
    except RuntimeError as error:
        require(dist.is_initialized(), f"process {rank} of {size} can't reach the others: {str(error).splitlines()[0]}")
        if not PEER_LOST.search(str(error)):
            raise
        raise ValueError(
            f"process {rank} of {size} stops because another process has ended: torchrun's report names "
            f"the process that failed first; its own message has the cause ({str(error).splitlines()[0]})"
        ) from error
    except KeyboardInterrupt:  # all processes stop together
        dist.destroy_process_group()
        raise
    # Not after other exceptions: it would wait for the other processes, which wait for this one.
    dist.destroy_process_group()
