"""Documents in flight: for who has the token, for a while, and not too many."""

import asyncio

import pytest

from nmt.config.serve import ServeConfig
from nmt.server.document_files import File, Files
from nmt.server.errors import Busy, Refused

pytestmark = pytest.mark.anyio


async def made(file: File) -> bytes:
    file.done = file.of = 1
    return b"text"


async def test_a_document_is_kept_for_a_while() -> None:
    now = 0.0
    files = Files(ServeConfig(file_minutes=1), lambda: now)
    file, token = files.start("a.txt", "text/plain", made)
    assert file.task
    await file.task
    assert files.get(file.id, token) is file
    assert files.path(file).read_bytes() == b"text"
    for identity, wrong in ((file.id, ""), (file.id, token + "x"), ("x", token)):
        with pytest.raises(Refused, match="no such document"):
            files.get(identity, wrong)
    path, now = files.path(file), 61.0
    with pytest.raises(Refused, match="after 1 minutes"):
        files.get(file.id, token)
    assert not path.exists()
    files.close()
    assert not path.parent.exists()


async def test_the_oldest_result_makes_room_but_not_what_is_in_work() -> None:
    files, gate = Files(ServeConfig(files=2)), asyncio.Event()

    async def wait(_: File) -> bytes:
        await gate.wait()
        return b""

    first, token = files.start("a", "text/plain", made)
    assert first.task
    await first.task
    waiting = [files.start("b", "text/plain", wait)[0] for _ in range(2)]
    with pytest.raises(Refused):
        files.get(first.id, token)
    with pytest.raises(Busy):
        files.start("c", "text/plain", made)
    files.close()
    await asyncio.sleep(0)
    assert all(file.task and (file.task.cancelled() or file.task.cancelling()) for file in waiting)


@pytest.mark.parametrize(("error", "message"), [(ValueError("broken"), "broken"), (OSError("secret"), "has failed")])
async def test_what_went_wrong_is_told(error: Exception, message: str) -> None:
    async def fail(_: File) -> bytes:
        raise error

    files = Files(ServeConfig())
    file, _ = files.start("a", "text/plain", fail)
    assert file.task
    await file.task
    assert file.state == "error"
    assert message in file.message
    assert "secret" not in file.message
    files.close()


def test_files_can_be_switched_off() -> None:
    with pytest.raises(Refused, match="no files"):
        Files(ServeConfig(files=0)).start("a", "text/plain", made)
