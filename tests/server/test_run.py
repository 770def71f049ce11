"""The life of the service: it ends without losing a request, and frees what a client that hangs up would have used."""

import asyncio
import errno
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType

import pytest

from nmt.serve import address, main
from nmt.server import run
from nmt.server.run import MOST_HEADERS, Lines, Server, listen
from nmt.server.service import Service
from tests.server.attacks import file
from tests.server.conftest import Slow, make_service
from tests.tiny import PAIRS

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parent.parent.parent
BODY = b"q=Hund&source=de&target=en"
HEAD = f"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: {len(BODY)}\r\nContent-Type: {{}}\r\n\r\n"
ASK = HEAD.format("application/x-www-form-urlencoded").encode() + BODY
HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def send(port: int, request: bytes) -> Streams:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    return reader, writer


async def status(streams: Streams) -> int:
    return int((await streams[0].readuntil(b"\r\n")).split()[1])


async def until(holds: Callable[[], object]) -> None:
    while not holds():
        await asyncio.sleep(0.001)


@asynccontextmanager
async def serving(folder: Path, slow: Slow, **settings: float) -> AsyncIterator[tuple[Server, int]]:
    """A server, without the handlers of signals, and its port; it ends with the block."""
    service = make_service(folder, **settings)
    service.models.load = lambda _: slow
    server = Server(service)
    running = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    yield server, server.servers[0].sockets[0].getsockname()[1]
    server.stop()
    await running


def test_requests_may_sample_with_settings_of_the_service(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    services = list[Service]()
    monkeypatch.setattr(run, "serve", lambda service, listener: services.append(service))
    with socket.socket() as listener:
        monkeypatch.setattr(run, "listen", lambda host, port: listener)
        main([str(model_folder), "--temperature", "0.5", "--seed", "7"])
    search = services[0].models.load(model_folder).search
    assert (search.temperature, search.seed, search.samples) == (0.5, 7, 0)


async def test_after_sigterm_it_is_not_ready_answers_and_closes(model_folder: Path, slow: Slow) -> None:
    frame: FrameType | None = None
    async with serving(model_folder, slow, ready_seconds=0.2) as (server, port):
        slow.gate.clear()
        first = await send(port, ASK)
        await until(lambda: server.service.engine.running)
        server.handle_exit(signal.SIGTERM, frame)
        assert await status(await send(port, HEALTH)) == 503
        second = await send(port, ASK.replace(b"Hund", b"Mann"))  # until it closes, requests are taken
        await until(lambda: server.should_exit)
        slow.gate.set()
        assert [await status(first), await status(second)] == [200, 200]
        first[1].close()
        second[1].close()
    with pytest.raises(OSError, match="Connect call failed"):
        await send(port, HEALTH)


async def test_a_client_that_hangs_up_frees_its_place(model_folder: Path, slow: Slow) -> None:
    async with serving(model_folder, slow) as (server, port):
        engine = server.service.engine
        slow.gate.clear()
        first = await send(port, ASK)
        await until(lambda: server.service.engine.running)
        _, gone = await send(port, ASK.replace(b"Hund", b"Mann"))
        await until(lambda: engine.lines.used)
        gone.close()
        await until(lambda: not engine.lines.used)
        assert (engine.pieces.used, engine.queues) == (0, {})
        slow.gate.set()
        assert await status(first) == 200
        first[1].close()
    assert slow.batches == [["Hund"]]


async def test_a_request_has_only_so_many_headers_even_after_its_body(model_folder: Path, slow: Slow) -> None:
    head = b"POST /detect HTTP/1.1\r\nHost: a\r\n%sTransfer-Encoding: chunked\r\n\r\n3\r\nq=a\r\n0\r\n%s\r\n"
    few, many = b"X: b\r\n" * (MOST_HEADERS - 10), b"X: b\r\n" * (MOST_HEADERS + 1)
    async with serving(model_folder, slow) as (_, port):
        for first, last, expected in ((few, b"", 200), (b"", few, 200), (many, b"", 400), (b"", many, 400)):
            assert await status(await send(port, head % (first, last))) == expected


async def test_a_body_in_chunks_has_few_extensions_and_no_tiny_chunks(model_folder: Path, slow: Slow) -> None:
    head = b"POST /detect HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    letter, large = b"1\r\na\r\n", b"20000\r\n%s\r\n" % (b"a" * 2**17)
    async with serving(model_folder, slow, text_characters=2**20) as (_, port):
        for chunks, expected in (
            (b"3;a=b\r\nq=a\r\n0\r\n\r\n", 200),
            (b"2\r\nq=\r\n" + letter * 9_000 + b"0\r\n\r\n", 200),
            (b"2\r\nq=\r\n" + large * 2 + b"0\r\n\r\n", 200),
            (b"3;%s" % (b"a" * 100_000), 400),
            ((b"1;%s\r\na\r\n" % (b"a" * 100)) * 1_000, 400),
            (letter * 20_000, 400),
        ):
            assert await asyncio.wait_for(status(await send(port, head + chunks)), 20) == expected


async def test_a_body_that_comes_no_more_is_answered_also_when_the_service_ends(model_folder: Path, slow: Slow) -> None:
    async with serving(model_folder, slow, body_seconds=0.05) as (_, port):
        assert await status(await send(port, ASK[:-1])) == 408
    async with serving(model_folder, slow, drain_seconds=1, body_seconds=20) as (server, port):
        waiting = await send(port, ASK[:-1])
        await asyncio.sleep(0.1)
        server.stop()
        assert await status(waiting) == 503


async def test_at_the_end_requests_that_were_sent_before_an_answer_get_none(model_folder: Path, slow: Slow) -> None:
    async with serving(model_folder, slow, drain_seconds=20) as (server, port):
        slow.gate.clear()
        reader, _ = await send(port, ASK + ASK + ASK)
        await until(lambda: server.service.engine.running)
        server.stop()
        slow.gate.set()
        found = await asyncio.wait_for(reader.read(), 10)
        assert (found.startswith(b"HTTP/1.1 200"), found.count(b"HTTP/1.1 ")) == (True, 1)


async def test_what_was_taken_before_the_end_is_translated_to_its_end(model_folder: Path, slow: Slow) -> None:
    """Though it asks the engine again and again: a file for each group of its texts, a stream for each sentence."""
    lines = "\n".join(f"Hund {n}." for n in range(200))
    body = json.dumps({"text": lines, "target": "en", "stream": True}).encode()
    head = b"POST /v1/translate HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    async with serving(model_folder, slow, drain_seconds=20) as (server, port):
        slow.gate.clear()
        upload = await send(port, file("a.txt", lines.encode(), "/translate_file"))
        stream, _ = await send(port, head % len(body) + body)
        await until(lambda: server.service.engine.lines.used >= 64)  # both have begun
        server.stop()
        slow.gate.set()
        assert await status(upload) == 200
        assert b"event: done" in await stream.read()


async def test_a_file_that_comes_when_the_service_ends_is_not_called_broken(model_folder: Path, slow: Slow) -> None:
    async with serving(model_folder, slow) as (server, port):
        server.service.engine.draining = True
        answer = await send(port, file("a.txt", b"Hund", "/translate_file"))
        assert await status(answer) == 503


async def answers(port: int, parts: Iterable[bytes]) -> bytes:
    """All that is answered to a request that comes in these parts."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await asyncio.sleep(0.002)
    found = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return found


async def test_an_offer_of_another_protocol_is_ignored(model_folder: Path, slow: Slow) -> None:
    """As Java's client and curl make it, for HTTP/2: the request is answered as without it."""
    offers = [b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"]
    offers += [b"UPGRADE: websocket\r\nX: y\r\nConnection: keep-alive, upgrade\r\n"]
    chunked = ASK.replace(b"Content-Length: %d" % len(BODY), b"Transfer-Encoding: chunked")
    chunked = chunked.replace(BODY, b"6\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (BODY[:6], len(BODY) - 6, BODY[6:]))
    last = HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    async with serving(model_folder, slow) as (_, port):
        for n, ask in enumerate([ASK, ASK, ASK.replace(b"HTTP/1.1", b"HTTP/1.0"), HEALTH, chunked]):
            offered = ask.replace(b"\r\n", b"\r\n" + offers[n % 2], 1)
            is_last = b"HTTP/1.0" in ask
            whole = offered if is_last else offered + offered + ask + last
            for size in (len(whole), len(offered) - 3, 7):
                found = await answers(port, (whole[i : i + size] for i in range(0, len(whole), size)))
                assert found.count(b"HTTP/1.1 200 ") == (1 if is_last else 4), (offered, size, found)
                assert found.count(b"HUND") == (0 if ask == HEALTH else 1 if is_last else 3)


async def test_what_offers_another_protocol_is_bounded_too(model_folder: Path, slow: Slow) -> None:
    offer = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
    async with serving(model_folder, slow) as (_, port):
        for request in (
            b"GET /health HTTP/1.1\r\nHost: a\r\n%s%s\r\n" % (offer, b"X: b\r\n" * (MOST_HEADERS + 1)),
            b"GET /health HTTP/1.1\r\n%sHost: a\r\nHost: b\r\n\r\n" % offer,
            b"POST /detect HTTP/1.1\r\nHost: a\r\n%sContent-Length: 1\r\nContent-Length: 2\r\n\r\nab" % offer,
            b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n" % (b"a" * 100_000),
            b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
        ):
            assert b"HTTP/1.1 400 " in await answers(port, [request])
        many = HEALTH.replace(b"\r\n", b"\r\n" + offer, 1) * 100
        assert b"HTTP/1.1 400 " in await answers(port, [many])


@pytest.mark.parametrize("ask", [ASK[:-20], HEALTH[:-2] + b"Content-Length: 99\r\n\r\n", HEALTH])
async def test_what_comes_slowly_after_answers_keeps_no_connection(model_folder: Path, slow: Slow, ask: bytes) -> None:
    async with serving(model_folder, slow, body_seconds=0.1) as (server, port):
        streams = await send(port, ask)
        await status(streams)
        for _ in range(20):
            streams[1].write(b"\r\n")
            await asyncio.sleep(0.02)
        assert not server.server_state.connections
        streams[1].transport.abort()


def test_the_log_is_json_lines() -> None:
    record = logging.makeLogRecord({"msg": "request", "fields": {"status": 200, "key": "ü"}})
    line = json.loads(Lines().format(record))
    assert (line["event"], line["status"], line["key"]) == ("request", 200, "ü")


def test_the_address_of_the_page_is_one_that_browsers_take() -> None:
    known = {"0.0.0.0": "127.0.0.1", "::1": "[::1]", "::": "[::1]", "our.example": "our.example"}
    assert {host: address(host, 80) for host in known} == {host: f"http://{name}:80" for host, name in known.items()}


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ValueError, match="choose another --port"):
        listen("127.0.0.1", taken.getsockname()[1])


def test_the_body_of_an_answer_never_waits_for_the_client_to_confirm_the_head() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the system has no such limit")
def test_a_client_that_takes_no_answer_loses_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "UNREAD", 1)
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        connection.settimeout(10)
        with connection, pytest.raises(OSError, match=os.strerror(errno.ETIMEDOUT)):
            connection.sendall(b"a" * 2**26)


@pytest.mark.services
def test_nothing_fails_under_load_and_the_memory_stays(model_folder: Path, tmp_path: Path) -> None:
    """The benchmark measures both."""
    sentences, rows = tmp_path / "lines.de", tmp_path / "rows.jsonl"
    sentences.write_text("".join(f"{source}\n" for source, _ in PAIRS * 20), encoding="utf8")
    options = {"--model": model_folder, "--sentences": sentences, "--json": rows, "--seconds": 2}
    command = [str(part) for option in options.items() for part in option]
    for further in ([], ["--requests", "20000"]):
        subprocess.run([sys.executable, "-m", "benchmarks.serve_speed", *command, *further], cwd=ROOT, check=True)
    measured = [json.loads(row) for row in rows.read_text().splitlines()]
    assert [(row["clients"], row["texts"]) for row in measured[:4]] == [(1, 1), (8, 1), (64, 1), (64, 8)]
    assert all(row["failed"] == 0 for row in measured)
    assert [row["cache"] for row in measured[4:]] == ["on", "off"]
    assert all(row["growth"] < 0.05 for row in measured[4:])
