"""Promises of stages: a task may be done twice. `test_prepared_accidents.py` has what is done again, and what stays."""

from pathlib import Path

from nmt.data.store.stages import reports, task


def test_a_task_may_be_done_twice_at_the_same_time(tmp_path: Path) -> None:
    with task(tmp_path, "a", 0) as (first, _), task(tmp_path, "a", 0) as (second, report):
        for working in (first, second):
            (working / "file").write_text("same")
        report["n"] = 1
        assert not list((tmp_path / "a").iterdir()), "nothing is half made"
    assert (tmp_path / "a" / "file").read_text() == "same"
    assert reports(tmp_path, "a") == [{}], "of the one that ended last"
    assert not list((tmp_path / "working").iterdir())
