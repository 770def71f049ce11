"""Promises of stages: what is finished stays as long as its settings are the same, and a task may be done twice."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from nmt.data.store.engines import Engine
from nmt.data.store.stages import Stage, reports, resume, task, tidy

ONE = Engine(workers=1)


def write(folder: Path, name: str, done: list[str], n: int) -> None:
    with task(folder, name, n) as (working, report):
        (working / f"{n}.txt").write_text(name)
        report["n"] = n
    done.append(f"{name} {n}")


def chain(folder: Path, done: list[str], **settings: int) -> list[Stage]:
    """Three stages of two tasks: b reads a, and c reads b."""
    run: Callable[[str], Callable[[int], None]] = lambda name: partial(write, folder, name, done)  # noqa: E731
    stages = (("a", "read"), ("b", "a"), ("c", "b"))
    return [Stage(name, (before,), run(name), 2, settings.get(name)) for name, before in stages]


def do_all(folder: Path, stages: list[Stage]) -> None:
    for stage in stages:
        stage.do(folder, ONE)
        tidy(folder, stages)


def test_a_task_may_be_done_twice_at_the_same_time(tmp_path: Path) -> None:
    with task(tmp_path, "a", 0) as (first, _), task(tmp_path, "a", 0) as (second, report):
        for working in (first, second):
            (working / "file").write_text("same")
        report["n"] = 1
        assert not list((tmp_path / "a").iterdir()), "nothing is half made"
    assert (tmp_path / "a" / "file").read_text() == "same"
    assert reports(tmp_path, "a") == [{}], "of the one that ended last"
    assert not list((tmp_path / "working").iterdir())


def test_a_task_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(n: int) -> None:
        with task(tmp_path, "a", n) as (working, _):
            (working / "file").write_text("half")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fail(0)
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


@pytest.mark.parametrize(("changed", "again"), [({}, ""), ({"c": 2}, "c"), ({"b": 2}, "abc"), ({"a": 2}, "abc")])
def test_a_changed_setting_repeats_its_own_stage_and_the_later_ones(
    tmp_path: Path, changed: dict[str, int], again: str
) -> None:
    """And earlier ones whose files were not needed any more: a is deleted after b."""
    (tmp_path / "read").mkdir()
    done = list[str]()
    stages = chain(tmp_path, done, a=1, b=1, c=1)
    assert resume(tmp_path, stages, "read")
    do_all(tmp_path, stages)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["b", "c", "reports", "working"]
    done.clear()
    stages = chain(tmp_path, done, **{"a": 1, "b": 1, "c": 1} | changed)
    if "a" in again:
        assert not resume(tmp_path, stages, "read"), "what was read is gone: all starts again"
        assert len(list((tmp_path / "reports").iterdir())) == 6, "and nothing is deleted here"
        (tmp_path / "read").mkdir()
    assert resume(tmp_path, stages, "read")
    do_all(tmp_path, stages)
    assert done == [f"{name} {n}" for name in again for n in range(2)]
