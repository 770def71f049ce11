"""The life of the service: it ends without losing a request, and frees what a client that hangs up would have used."""

import asyncio
import json
import logging
import signal
import socket
from pathlib import Path
from types import FrameType

import pytest

from nmt.server.run import Lines, Server, listen, set_up
from nmt.translation.translator import Translator
from tests.server.conftest import make_service
from tests.server.test_queue import Slow

BODY = b"q=Hund&source=de&target=en"
HEAD = f"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: {len(BODY)}\r\nContent-Type: {{}}\r\n\r\n"
ASK = HEAD.format("application/x-www-form-urlencoded").encode() + BODY
HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def started(server: Server) -> int:
    while not server.started:
        await asyncio.sleep(0.001)
    port: int = server.servers[0].sockets[0].getsockname()[1]
    return port


async def send(port: int, request: bytes) -> Streams:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    return reader, writer


async def status(streams: Streams) -> int:
    return int((await streams[0].readuntil(b"\r\n")).split()[1])


async def until_running(server: Server, n: int) -> None:
    while server.service.engine.running != n:
        await asyncio.sleep(0.001)


def serve(folder: Path, slow: Slow, **settings: float) -> Server:
    """A server, without the handlers of signals."""
    service = make_service(folder, **settings)
    service.models.load = lambda _: slow
    return Server(service)


def test_after_sigterm_it_is_not_ready_answers_and_closes(model_folder: Path, translator: Translator) -> None:
    slow = Slow(translator)
    frame: FrameType | None = None

    async def main() -> None:
        server = serve(model_folder, slow, ready_seconds=0.2)
        running = asyncio.create_task(server.serve())
        port = await started(server)
        slow.gate.clear()
        first = await send(port, ASK)
        await until_running(server, 1)
        server.handle_exit(signal.SIGTERM, frame)
        assert await status(await send(port, HEALTH)) == 503
        second = await send(port, ASK.replace(b"Hund", b"Mann"))  # until it closes, requests are taken
        while not server.should_exit:
            await asyncio.sleep(0.001)
        slow.gate.set()
        assert [await status(first), await status(second)] == [200, 200]
        first[1].close()
        second[1].close()
        await running
        with pytest.raises(OSError, match="Connect call failed"):
            await send(port, HEALTH)

    asyncio.run(main())


def test_a_client_that_hangs_up_frees_its_place(model_folder: Path, translator: Translator) -> None:
    slow = Slow(translator)

    async def main() -> None:
        server = serve(model_folder, slow)
        running = asyncio.create_task(server.serve())
        port = await started(server)
        engine = server.service.engine
        slow.gate.clear()
        first = await send(port, ASK)
        await until_running(server, 1)
        _, gone = await send(port, ASK.replace(b"Hund", b"Mann"))
        while not engine.waiting:
            await asyncio.sleep(0.001)
        gone.close()
        while engine.waiting:
            await asyncio.sleep(0.001)
        slow.gate.set()
        assert await status(first) == 200
        first[1].close()
        server.stop()
        await running
        assert slow.batches == [["Hund"]]

    asyncio.run(main())


def test_a_slow_body_is_given_up(model_folder: Path, translator: Translator) -> None:
    async def main() -> None:
        server = serve(model_folder, Slow(translator), body_seconds=0.05)
        running = asyncio.create_task(server.serve())
        assert await status(await send(await started(server), ASK[:-1])) == 408
        server.stop()
        await running

    asyncio.run(main())


def test_the_log_is_json_lines() -> None:
    record = logging.makeLogRecord({"msg": "request", "fields": {"status": 200, "key": "ü"}})
    line = json.loads(Lines().format(record))
    assert (line["event"], line["status"], line["key"]) == ("request", 200, "ü")


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ValueError, match="choose another --port"):
        listen("127.0.0.1", taken.getsockname()[1])


def test_parts_of_bodies_are_not_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nmt.server", "uvicorn.error"):
        for attribute in ("handlers", "propagate"):
            monkeypatch.setattr(logging.getLogger(name), attribute, getattr(logging.getLogger(name), attribute))
    set_up()
    assert not logging.getLogger("python_multipart.multipart").isEnabledFor(logging.ERROR)


def test_the_body_of_an_answer_never_waits_for_the_client_to_confirm_the_head() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
