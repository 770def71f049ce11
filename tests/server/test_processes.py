"""Files are read in processes that end, whatever the file is."""

import json
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import active_children
from pathlib import Path

import pytest

from nmt.decode.stop import Stop, Stopped
from nmt.documents.base import Options, Unit
from nmt.server.work.processes import MOST_NOTES, SPARE, clean_up, groups, in_process, read_texts, write_result
from tests.server.jobs import compute, end, fail, fill, has_torch, sleep

pytestmark = pytest.mark.slow
MIB = 2**20


def test_what_a_process_finds_comes_back() -> None:
    assert in_process(Stop(), 60, sleep, 0) == "awake"
    with pytest.raises(ValueError, match="the file is odd"):
        in_process(Stop(), 60, fail, "ValueError")
    with pytest.raises(RuntimeError, match="OSError") as error:
        in_process(Stop(), 60, fail, "OSError")
    assert "secret" not in str(error.value)


def test_a_process_has_no_torch_and_says_only_what_json_can() -> None:
    assert in_process(Stop(), 60, has_torch, 0) is False
    with pytest.raises(RuntimeError, match="TypeError"):
        in_process(Stop(), 60, has_torch, 1)


def test_a_process_that_lacks_the_memory_to_say_so_is_told_as_one_without_memory(tmp_path: Path) -> None:
    for status in (1, -signal.SIGABRT, -signal.SIGSEGV):
        with pytest.raises(ValueError, match="too much memory"):
            in_process(Stop(), 60, end, status)
    with pytest.raises(RuntimeError, match="ended"):
        in_process(Stop(), 60, end, 3)
    (tmp_path / "source").write_text("*_" * 50_000)
    with pytest.raises(ValueError, match="too much memory"):
        in_process(Stop(), 60, read_texts, tmp_path, "md", Options(), 9)


def test_there_are_only_so_many_remarks(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("".join(f"a{n}: b\n" for n in range(60)))
    (tmp_path / "answers").write_text('[" ", []]\n' * 60)
    notes = in_process(Stop(), 60, write_result, tmp_path, "yaml", Options())
    assert len(notes) == MOST_NOTES + 1
    assert notes[-1] == "and 10 more remarks"


def test_a_process_ends_at_its_time_and_when_the_work_or_the_service_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    in_process(Stop(), 60, sleep, 0)  # the first one waits until its modules are loaded
    started, stop = time.monotonic(), Stop(0.3)
    with pytest.raises(Stopped):
        in_process(stop, 60, sleep, 60)
    with pytest.raises(ValueError, match=r"more than 0.5 s"):
        in_process(Stop(), 0.5, compute, "")
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)  # other tests need the folder
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(in_process, Stop(), 60, sleep, 60)
        while not active_children():
            time.sleep(0.01)
        clean_up()
        with pytest.raises(RuntimeError, match="ended"):
            running.result()
    assert time.monotonic() - started < 3


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system bounds no memory")
def test_the_memory_of_a_process_is_bounded_by_its_file() -> None:
    assert in_process(Stop(), 60, fill, MIB, SPARE // 2) == SPARE // 2
    with pytest.raises(ValueError, match="too much memory"):
        in_process(Stop(), 60, fill, MIB, SPARE + 25 * MIB)
    assert in_process(Stop(), 60, fill, 5 * MIB, SPARE + 25 * MIB) == SPARE + 25 * MIB


def test_the_answers_of_a_document_are_written_into_it(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"Hund\r\n\r\nMann")
    assert in_process(Stop(), 60, read_texts, tmp_path, "txt", Options(), 9) == [2, 8, "Hund Mann"]
    texts = [json.loads(line) for line in (tmp_path / "texts").read_text().splitlines()]
    assert texts == [[["Hund", False], ["Mann", False]]]
    (tmp_path / "answers").write_text('["dog", []]\n["\\ud83d\\ude00", ["copy"]]\n')
    assert in_process(Stop(), 60, write_result, tmp_path, "txt", Options()) == []
    assert (tmp_path / "result").read_bytes().decode() == "dog\r\n\r\n😀"
    [note] = in_process(Stop(), 60, write_result, tmp_path, "txt", Options(encoding="cp1252"))
    assert "cp1252 has no 😀" in note
    (tmp_path / "source").write_bytes(b"a" * 100_001)
    with pytest.raises(ValueError, match="a text of the file has 100,001 characters"):
        in_process(Stop(), 60, read_texts, tmp_path, "txt", Options(), 9)
    (tmp_path / "source").write_text("ä" * 200_000)
    with pytest.raises(ValueError, match="the field columns"):  # with the names of all columns
        in_process(Stop(), 60, read_texts, tmp_path, "csv", Options(), 9)


def test_groups_of_texts_find_room_in_the_queue() -> None:
    long, lines = "a" * 60_000, "a\na\ta\t"
    for texts, sizes in (([], []), (["a"] * 130, [64, 64, 2]), ([long] * 3, [1, 1, 1]), ([lines, "a", "b"], [2, 1])):
        found = [*groups([Unit(text) for text in texts], 5 if lines in texts else 99)]
        assert [len(group) for group in found] == sizes
        assert [text for group in found for text, _ in group] == texts
    assert [*groups([Unit(lines, markup=True)], 1)]  # is read as a whole
    with pytest.raises(ValueError, match="a text of the file has 4 lines: at most 3"):
        [*groups([Unit("a"), Unit(lines)], 3)]
