"""What a run tells about itself: metrics.jsonl, TensorBoard event files, and a progress bar or lines for the user."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from torch.utils.tensorboard import SummaryWriter

from nmt.cli import console, say
from nmt.files import write_lines


class Monitor:
    """Records of one run; the same scalars go to metrics.jsonl and to TensorBoard. Use as a context manager."""

    def __init__(self, folder: Path, step: int, max_steps: int) -> None:
        """Args:
        folder: the run folder.
        step: where the run starts; records after it (from a run that was cut off) are removed.
        max_steps: for the progress bar.
        """
        self.file = folder / "metrics.jsonl"
        keep_until(self.file, step)
        self.writer = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            console=console(),
            disable=not console().is_terminal,
        )
        self.task: TaskID = self.bar.add_task("training", total=max_steps, completed=step, figures="")

    def __enter__(self) -> "Monitor":
        self.bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()
        self.writer.close()

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Record values by their TensorBoard tags."""
        with self.file.open("a", encoding="utf8") as file:
            file.write(json.dumps({"step": step, **values}) + "\n")
        for tag, value in values.items():
            self.writer.add_scalar(tag, value, step)

    def advance(self, step: int, figures: str) -> None:
        """Show where training is: in the bar, or as a line where the output is no terminal."""
        self.bar.update(self.task, completed=step, figures=figures)
        if not console().is_terminal:
            say(f"step {step}: {figures}")

    def text(self, step: int, tag: str, markdown: str) -> None:
        self.writer.add_text(tag, markdown, step)

    def picture(self, step: int, tag: str, image: NDArray[np.uint8]) -> None:
        """`image`: (height, width, 3)."""
        self.writer.add_image(tag, image, step, dataformats="HWC")

    def settings(self, settings: Mapping[str, Any], results: Mapping[str, float]) -> None:
        """The run's settings beside its results, for TensorBoard's HPARAMS page."""
        plain = {k: v if isinstance(v, int | float | bool | str) else str(v) for k, v in settings.items()}
        self.writer.add_hparams(plain, dict(results), run_name=".")


def keep_until(metrics: Path, step: int) -> None:
    """Drop the records after a step, and what is no record: a last line that was cut off, or damage."""
    if not metrics.exists():
        return
    kept = []
    for line in metrics.read_text(encoding="utf8", errors="replace").splitlines():
        try:
            if json.loads(line)["step"] <= step:
                kept.append(line)
        except (ValueError, TypeError, KeyError):  # not what was written there
            continue
    write_lines(metrics, kept)
