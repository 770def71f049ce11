"""Records of a run: figures flow in; metrics.jsonl, TensorBoard files, and a progress bar or lines flow out."""

import contextlib
import errno
import json
import math
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from torch import Tensor

from nmt.data.batches import Batch
from nmt.files import naming, write_lines
from nmt.messages import console, say
from nmt.training.distributed import Processes
from nmt.training.loss import Loss

# The time of a run is estimated from TIMED_STEPS steps. The first SLOW_STEPS are left out: memory is allocated and
# kernels are chosen in them, and five of them took five times as long as later ones.
SLOW_STEPS, TIMED_STEPS = 10, 10


@dataclass
class Window:
    """Sums since the last record, over the batches of this process."""

    # Tensors on the device, since to read a number a GPU must finish all work before it; float64 sums, as Python's.
    loss: Tensor | float = 0.0
    nll: Tensor | float = 0.0
    target_tokens: int = 0
    real_positions: int = 0
    positions: int = 0
    """Positions of all sequences that the model read, with padding."""
    sentences: int = 0
    gradient_norm: float = 0.0
    steps: int = 0
    waited: float = 0.0
    """Seconds spent making batches."""
    started: float = field(default_factory=time.perf_counter)

    def add(self, batch: Batch, loss: Loss, lengths: Sequence[Tensor]) -> None:
        """Add a batch; `lengths`: see `Model.sequence_lengths`."""
        self.loss = self.loss + loss.smoothed.double()
        self.nll = self.nll + loss.nll.double()
        self.target_tokens += batch.target_tokens
        self.real_positions += sum(int(lengths_B.sum()) for lengths_B in lengths)
        self.positions += batch.positions(lengths)
        self.sentences += batch.sentences

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time in this context as waiting for data."""
        started = time.perf_counter()
        yield
        self.waited += time.perf_counter() - started

    def figures(self, processes: Processes) -> dict[str, float]:
        """The figures of all processes together, by TensorBoard tag; losses are per target token, in nats."""
        seconds = time.perf_counter() - self.started
        names = ("loss", "nll", "target_tokens", "real_positions", "positions", "sentences", "waited")
        sums = processes.all_reduce_sum([float(getattr(self, name)) for name in names])
        loss, nll, target_tokens, real_positions, positions, sentences, waited = sums
        return {
            "train/loss": loss / target_tokens,
            "train/nll": nll / target_tokens,
            "train/perplexity": math.exp(min(nll / target_tokens, 50)),
            "train/gradient_norm": self.gradient_norm / self.steps,
            "speed/target_tokens_per_second": target_tokens / seconds,
            "speed/sentences_per_second": sentences / seconds,
            "speed/padding_efficiency": real_positions / positions,
            "speed/data_share": waited / processes.size / seconds,
        }


class Monitor:
    """Writes the same records of a run to metrics.jsonl and to TensorBoard; a context manager. What can't be written is
    told once, and doesn't end training."""

    def __init__(self, folder: Path, step: int, max_steps: int) -> None:
        """`step`: the step that the run resumes after; later records, of an interrupted attempt, are removed."""
        self.file = folder / "metrics.jsonl"
        drop_records_after(self.file, step)
        self.writer: Any = None  # without TensorBoard
        with naming(folder / "tensorboard"), contextlib.suppress(ImportError):
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)
        self.lost: set[str] = set()
        self.hook = threading.excepthook
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[figures]}")
        self.bar = Progress(*columns, TimeRemainingColumn(), console=console(), disable=not console().is_terminal)
        self.first_step, self.max_steps, self.started = step, max_steps, 0.0
        self.task: TaskID = self.bar.add_task("training", total=max_steps, completed=step, figures="")

    def __enter__(self) -> "Monitor":
        # TensorBoard writes in a thread, and its next call raises the thread's error: no traceback is needed.
        threading.excepthook = lambda error: None if issubclass(error.exc_type, OSError) else self.hook(error)
        self.bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()
        with self.recording("tensorboard/"):
            self.writer.close() if self.writer else None
        threading.excepthook = self.hook

    @contextlib.contextmanager
    def recording(self, what: str) -> Iterator[None]:
        """Let training go on if these records can't be written in this context; the user is told once."""
        try:
            yield
        except OSError as error:
            if what not in self.lost:
                say(f"{what} can't be written ({error.strerror or error}): training goes on without these records")
            self.lost.add(what)

    def add_scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Record values by their TensorBoard tags."""
        with self.recording("metrics.jsonl"):
            append_line(self.file, json.dumps({"step": step, **values}))
        with self.recording("tensorboard/"):
            for tag, value in values.items() if self.writer else ():
                self.writer.add_scalar(tag, value, step)

    def expect(self, step: int, seconds_left: float = math.inf) -> None:
        """After the first steps, tell how long the others will take, or how many fit into the time that is left."""
        taken = step - self.first_step
        if taken == SLOW_STEPS:
            self.started = time.perf_counter()
        elif taken == SLOW_STEPS + TIMED_STEPS:
            seconds, steps = (time.perf_counter() - self.started) / TIMED_STEPS, max(0, self.max_steps - step)
            if seconds * steps > seconds_left:
                steps = max(0, int(seconds_left / seconds))
                self.bar.update(self.task, total=step + steps)
            say(f"{seconds:.2f} s a step: about {math.ceil(seconds * steps / 60):,} min for {steps:,} more steps")

    def advance(self, step: int, figures: str) -> None:
        """Update the progress bar; print a line instead where stderr is not a terminal."""
        self.bar.update(self.task, completed=step, figures=figures)
        if not console().is_terminal:
            say(f"step {step}: {figures}")


def append_line(path: Path, line: str) -> None:
    """Add a line to a file: all of it or, if OSError is raised, nothing."""
    data = f"{line}\n".encode()
    with path.open("ab", buffering=0) as file:
        size = file.tell()
        try:
            if file.write(data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            file.truncate(size)
            raise


def read_records(metrics: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """The lines of metrics.jsonl that are whole, with their records: a power cut may have damaged the last one."""
    text = metrics.read_text(encoding="utf8", errors="replace") if metrics.exists() else ""
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            record = json.loads(line)
            if isinstance(record, dict) and isinstance(record.get("step"), int):
                yield line, record


def is_validation(record: Mapping[str, float]) -> bool:
    return any(tag.startswith("validation/") for tag in record)


def validation_at(metrics: Path, step: int) -> dict[str, float]:
    """The figures of the validation of this step, by their TensorBoard tags; empty if they aren't recorded."""
    found = [record for _, record in read_records(metrics) if record.pop("step") == step and is_validation(record)]
    return found[-1] if found else {}


def drop_records_after(metrics: Path, step: int, keep_validation: bool = True) -> None:
    """Remove the records of later steps, and damaged lines; without `keep_validation`, also this step's validation."""
    records = ((line, record) for line, record in read_records(metrics) if record["step"] <= step)
    kept = [line for line, record in records if keep_validation or record["step"] < step or not is_validation(record)]
    if metrics.exists():
        write_lines(metrics, kept)
