"""Documents in flight: for who has the token, for a while, and not too many."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from nmt.config.serve import ServeConfig
from nmt.server.errors import Busy, Refused
from nmt.server.store.document_files import File, Files
from nmt.server.work.owners import Work

pytestmark = pytest.mark.anyio
ME, YOU = Work("", "me"), Work("", "you")


async def made(file: File) -> None:
    file.done = file.of = 1
    (file.folder / "result").write_bytes(b"text")


async def test_a_document_is_kept_for_a_while_and_deleted_even_if_nobody_asks_for_it() -> None:
    files = Files(ServeConfig(file_minutes=0.01))
    file, token = files.start(ME, "a.txt", "text/plain", made)
    await file.task
    assert files.get(file.id, token) is file
    for identity, wrong in ((file.id, ""), (file.id, token + "x"), ("x", token)):
        with pytest.raises(Refused, match="no such document"):
            files.get(identity, wrong)
    assert file.folder.exists()
    await asyncio.sleep(0.7)
    assert not file.folder.exists()
    with pytest.raises(Refused, match=r"up to 0\.01 minutes, and at most 50"):
        files.get(file.id, token)
    files.close()
    assert not file.folder.parent.exists()


async def test_documents_of_killed_services_go_and_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    killed, foreign = tmp_path / "nmt-files-killed", tmp_path / "nmt-files-of-something-else"
    for folder in (killed, foreign):
        folder.mkdir()
        (folder / "result").write_text("text")
    (killed / ".lock").touch()
    os.utime(killed, (0, 0))
    (tmp_path / "nmt-files-link").symlink_to(killed)
    runs = Files(ServeConfig())
    assert not killed.exists()
    assert (foreign / "result").exists()
    file, _ = runs.start(ME, "a.txt", "text/plain", made)
    await file.task
    os.utime(file.folder.parent, (0, 0))
    Files(ServeConfig())
    assert (file.folder / "result").exists()
    runs.close()
    assert not file.folder.parent.exists()


async def test_the_oldest_result_makes_room_but_not_what_is_in_work() -> None:
    files = Files(ServeConfig(files=2))
    first, token = files.start(ME, "a", "text/plain", made)
    await first.task
    waiting = [files.start(owner, "b", "text/plain", lambda _: asyncio.sleep(60))[0] for owner in (ME, YOU)]
    with pytest.raises(Refused):
        files.get(first.id, token)
    with pytest.raises(Busy):
        files.start(Work("", "other"), "c", "text/plain", made)
    files.close()
    await asyncio.sleep(0)
    assert all(file.task.cancelled() or file.task.cancelling() for file in waiting)


@pytest.mark.parametrize(("error", "message"), [(ValueError("broken"), "broken"), (OSError("secret"), "has failed")])
async def test_what_went_wrong_is_told(error: Exception, message: str) -> None:
    async def fail(_: File) -> None:
        raise error

    files = Files(ServeConfig())
    file, _ = files.start(ME, "a", "text/plain", fail)
    await file.task
    assert file.state == "error"
    assert message in file.message
    assert "secret" not in file.message
    files.close()


def test_files_can_be_switched_off() -> None:
    with pytest.raises(Refused, match="no files"):
        Files(ServeConfig(files=0)).start(ME, "a", "text/plain", made)


async def test_one_client_leaves_room_for_the_files_of_others() -> None:
    files, gate = Files(ServeConfig(files=8)), asyncio.Event()

    async def wait(_: File) -> None:
        await gate.wait()

    for _ in range(4):
        files.start(ME, "a", "text/plain", wait)
    with pytest.raises(Busy):
        files.start(ME, "a", "text/plain", wait)
    mine, token = files.start(YOU, "b", "text/plain", made)
    await mine.task
    gate.set()
    while any(file.ended is None for file in files.known.values()):
        await asyncio.sleep(0)
    for _ in range(20):  # results of who has most make room
        file, _ = files.start(ME, "a", "text/plain", made)
        await file.task
    assert files.get(mine.id, token) is mine
    files.close()


async def test_what_fails_at_its_beginning_takes_no_place() -> None:
    files = Files(ServeConfig(files=2))
    for _ in range(3):
        file, _ = files.start(ME, "a", "text/plain", made)
        file.task.cancel()  # before its first step: nothing of it runs
        await asyncio.sleep(0.01)
        assert file.ended is not None
    shutil.rmtree(file.folder.parent)  # as a program does that clears /tmp
    file, token = files.start(ME, "a", "text/plain", made)
    await file.task
    assert files.get(file.id, token).state == "done"
    shutil.rmtree(file.folder.parent)
    file.folder.parent.touch()
    for _ in range(3):
        with pytest.raises(OSError, match=r"exist|directory"):
            files.start(ME, "a", "text/plain", made)
    file.folder.parent.unlink()
    file, _ = files.start(ME, "a", "text/plain", made)
    await file.task
    files.close()
