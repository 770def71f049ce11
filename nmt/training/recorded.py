"""Training steps as CUDA graphs: a step is recorded once, and then replayed as a whole.

A small step consists of a thousand small kernels, and a GPU ends each one sooner than Python can start the next. A
replay starts all at once. Batches must have one shape (`nmt.data.packing`), and what changes keeps its place in memory.

Source: CUDA C++ Programming Guide, section CUDA Graphs.
"""

from collections.abc import Callable
from typing import Any

import torch

from nmt.data.packing import PackedBatch
from nmt.model.device import pinned, record, try_to
from nmt.training.loss import Learner, Loss

WARM_UP = 3  # calls in which libraries prepare, and compilers write, what can't be recorded


class Recorded:
    """Calls a function, and records a call after the third. The function's tensors stay in place."""

    def __init__(self, function: Callable[[], None]) -> None:
        self.function, self.calls, self.failed = function, 0, False
        self.stream = torch.cuda.Stream() if torch.cuda.is_available() else None
        self.replay: Callable[[], None] | None = None

    def __call__(self, *, may_record: bool = True) -> None:
        self.calls += 1
        if self.calls > WARM_UP and may_record and not self.failed:
            self.replay = self.replay or try_to(record, self.function)
            self.failed = self.replay is None
        if self.replay:
            self.replay()
            return
        if not self.stream:
            self.function()
            return
        # Apart from the stream of the rest of the program, as a recording is.
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.function()
        torch.cuda.current_stream().wait_stream(self.stream)


class RecordedLoss:
    """The loss of a learner for packed batches, and its backward pass."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.batch: PackedBatch | None = None
        self.share_1 = torch.zeros(1, device=learner.numerics.device)
        """What the gradient is multiplied by."""
        self.sums_3 = torch.zeros(3, dtype=torch.float64, device=learner.numerics.device)
        """The newest `Loss`."""
        self.first, self.more = Recorded(self.begin), Recorded(self.backward)
        self.is_empty = True
        """Whether the next gradient takes the place of the gradients, and is not added to them."""

    def __call__(self, batch: PackedBatch, share: float) -> Loss:
        """Add `share` times the gradient of a batch's loss to the parameters' gradients; return the loss."""
        batch = self.learner.prepared(batch)
        if self.batch is None:
            device = self.learner.numerics.device
            self.batch = PackedBatch(*(torch.empty_like(t, device=device) for t in batch.tensors()))
        for source, target in zip(batch.tensors(), self.batch.tensors(), strict=True):
            target.copy_(pinned(source), non_blocking=True)
        self.share_1.fill_(share)
        if self.is_empty:
            self.first()
        else:
            self.more(may_record=self.is_recorded)
        self.is_empty = False
        return Loss(*self.sums_3.clone())

    @property
    def is_recorded(self) -> bool:
        """Whether gradients stay in place."""
        return self.first.replay is not None

    def begin(self) -> None:
        for parameter in self.learner.parameters():
            parameter.grad = None
        self.backward()

    def backward(self) -> None:
        assert self.batch is not None
        loss = self.learner.of_rows(self.batch)
        (loss.smoothed * self.share_1).backward()
        self.sums_3.copy_(torch.stack([loss.smoothed.detach(), loss.nll, loss.right]))


class RecordedUpdate:
    """The step of an optimizer, with the gradients of a `RecordedLoss`."""

    def __init__(self, optimizer: torch.optim.Optimizer, loss: RecordedLoss) -> None:
        self.optimizer, self.loss = optimizer, loss
        self.rate = torch.zeros((), device=loss.share_1.device)
        self.compute = Recorded(self.step)

    def __call__(self) -> None:
        self.rate.fill_(self.optimizer.param_groups[0]["lr"])
        self.compute(may_record=self.loss.is_recorded)

    def step(self) -> None:
        groups: list[dict[str, Any]] = self.optimizer.param_groups
        rates = [group["lr"] for group in groups]
        for group in groups:
            group |= {"lr": self.rate, "capturable": True}
        self.optimizer.step()
        for group, rate in zip(groups, rates, strict=True):
            group |= {"lr": rate, "capturable": False}
