"""The records of a run: every step in one of them, the same figures in both files, and none of an attempt cut off."""

import errno
import itertools
import math
import re
import threading
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from nmt.training.checkpoint import list_checkpoints, step_of
from nmt.training.data import TrainingData
from nmt.training.monitor import Monitor, Window, append_line, drop_records_after, validation_at
from tests.training.reversal import new_trainer, records, run


def test_every_step_is_logged_once_whenever_validation_is(data: TrainingData, tmp_path: Path) -> None:
    run(new_trainer(data, tmp_path / "often", log_every=1))
    run(new_trainer(data, tmp_path / "rarely", log_every=5, validate_every=3))
    norms = [
        {int(r["step"]): r["train/gradient_norm"] for r in records(tmp_path / part) if "train/loss" in r}
        for part in ("often", "rarely")
    ]
    assert list(norms[1]) == [3, 5, 6, 9, 10, 12]
    for first, last in itertools.pairwise([0, *norms[1]]):
        mean = sum(norms[0][step] for step in range(first + 1, last + 1)) / (last - first)
        assert norms[1][last] == pytest.approx(mean)


@pytest.mark.parametrize(("left", "minutes", "steps"), [(math.inf, 115, 6880), (110.0, 2, 110)])
def test_the_expected_time_is_told_once_and_leaves_out_the_first_slow_steps(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    left: float,
    minutes: int,
    steps: int,
) -> None:
    """The first steps take 10 s, and later ones 1 s, as where each length of a batch is new to the kernels. It is at
    most the time that is left, as with training.max_minutes."""
    monitor, now = Monitor(tmp_path, 100, max_steps=7000), 0.0
    monkeypatch.setattr("nmt.training.monitor.time.perf_counter", lambda: now)
    for step in range(101, 200):
        now += 10.0 if step <= 105 else 1.0
        monitor.expect(step, seconds_left=left)
    said = re.findall(".* a step.*", capsys.readouterr().err)
    assert said == [f"1.00 s a step: about {minutes} min for {steps:,} more steps"]
    assert monitor.bar.tasks[0].total == 120 + steps


def test_a_run_tells_the_time_that_is_left(data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[float] = []
    monkeypatch.setattr(Monitor, "expect", lambda monitor, step, seconds_left: left.append(seconds_left))
    run(new_trainer(data, tmp_path, max_steps=2, max_minutes=60.0))
    assert 3000 < left[1] < left[0] < 3600, "seconds"


def test_event_files_hold_the_same_scalars_as_metrics(data: TrainingData, tmp_path: Path) -> None:
    run(new_trainer(data, tmp_path))
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    written: dict[str, list[tuple[int, float]]] = {}
    for record in records(tmp_path):
        for tag, value in record.items():
            if tag != "step":
                written.setdefault(tag, []).append((int(record["step"]), value))
    tags = {
        "train": ("loss", "nll", "perplexity", "learning_rate", "gradient_norm"),
        "speed": ("target_tokens_per_second", "padding_efficiency"),
        "validation": ("loss", "bleu", "chrf"),
    }
    assert {f"{part}/{name}" for part, names in tags.items() for name in names} <= written.keys()
    for tag, values in written.items():
        read = [(e.step, e.value) for e in events.Scalars(tag)]
        assert [step for step, _ in read] == [step for step, _ in values]
        assert [v for _, v in read] == pytest.approx([v for _, v in values], rel=1e-5)


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_costs_records_and_not_the_run(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    trainer, hook = new_trainer(data, tmp_path), threading.excepthook
    step = trainer.step

    def fill_disk(window: Window) -> None:
        if trainer.progress.step == 5:
            monkeypatch.setattr("nmt.training.monitor.append_line", full)
            monkeypatch.setattr("nmt.training.loop.write_lines", full)
            monkeypatch.setattr("tensorboard.summary.writer.record_writer.RecordWriter.write", full)
            monkeypatch.setattr("tensorboard.summary.writer.record_writer.RecordWriter.flush", full)
        step(window)

    monkeypatch.setattr(trainer, "step", fill_disk)
    run(trainer)
    assert [step_of(checkpoint) for checkpoint in list_checkpoints(trainer.checkpoints)] == [4, 8, 12]
    said = capfd.readouterr().err
    for what in ("metrics.jsonl", "tensorboard/", "translations/"):
        assert said.count(f"{what} can't be written (No space left on device): training goes on") == 1, what
    assert "Traceback" not in said
    assert [record["step"] for record in records(tmp_path)] == [4, 4]
    assert threading.excepthook is hook


def test_a_line_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    append_line(tmp_path / "file", "ä 1")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, before[1]))
    try:
        for _ in range(2):
            with pytest.raises(OSError, match=r"No space left|too large"):
                append_line(tmp_path / "file", "ä 2345")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    append_line(tmp_path / "file", "ä 3")
    assert (tmp_path / "file").read_text(encoding="utf8") == "ä 1\nä 3\n"


def test_damaged_lines_are_not_read_and_removed_as_records_of_later_steps_are(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    kept = ['{"step": 1, "train/loss": 2.5}', '{"step": 2, "validation/loss": 2.25}']
    damaged = ["[1]", '{"loss": 2.0}', '{"step": "1"}', '{"step": 2, "tra', "\0\0"]
    file.write_text("\n".join([kept[0], *damaged, '{"step": 3, "train/loss": 2.0}', kept[1], "{"]))
    assert validation_at(file, 2) == {"validation/loss": 2.25}
    drop_records_after(file, 2)
    assert file.read_text() == "".join(f"{line}\n" for line in kept)
