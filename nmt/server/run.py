"""Listens until it is told to end. After SIGTERM: says that it isn't ready, waits, answers what is in work, closes; the
process ends when its time is over, whatever runs."""

import asyncio
import json
import logging
import os
import re
import resource
import signal
import socket
import sys
import time
from types import FrameType

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nmt.server.app import make_app
from nmt.server.service import Service
from nmt.server.work.processes import clean_up

# Seconds after which a thread that waits for Python's lock gets it. A worker needs the lock for each operation of the
# model, and would stand still for most of Python's 5 ms whenever the event loop has answers to send.
SWITCH_INTERVAL = 0.0002
# Bytes of a request beside its body: its head, sizes and extensions of chunks, what follows; requests sent before they
# are answered; bytes that are parsed at once.
MOST_AROUND, MOST_PIPELINED, PART = 2**16, 16, 2**14
MOST_HEADERS = 1_000  # of a request, with those that follow a body in chunks
HOST = re.compile(rb"(?:[\w.~%!$&'()*+,;=-]*|\[[\da-fA-F:.]+\])(?::\d*)?")
UNREAD = 60  # seconds after which a client that takes no byte of an answer loses its connection (nginx: send_timeout)
GRACE = 2  # seconds after the end of all requests, in which the process must end


class Lines(logging.Formatter):
    """A record of the log as a JSON object on stderr, without texts of users; `extra={"fields": {…}}` adds members."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        line = {"time": moment, "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps(line | getattr(record, "fields", {}), ensure_ascii=False)


def set_up() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    for name in ("nmt.server", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)


class Parser(httptools.HttpRequestParser):
    """Reads requests. One that offers another protocol, as Java's client and curl offer h2c, is read again without the
    offer (RFC 9110, section 7.8): httptools would end it before its body."""

    def __init__(self, connection: "Bounded") -> None:
        super().__init__(connection)
        self.connection = connection
        self.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]
        try:
            super().feed_data(data)
        except httptools.HttpParserUpgrade as offer:  # with the length of what was read, up to the end of the head
            headers = [header for header in self.connection.headers if header[0] != b"upgrade"]
            first = b"%s %s HTTP/%s" % (self.get_method(), self.connection.url, self.get_http_version().encode())
            head = b"\r\n".join([first, *map(b": ".join, headers), b"\r\n"])
            self.connection.parser = Parser(self.connection)  # this one has ended if the connection isn't kept alive
            self.connection.parser.feed_data(head + data[offer.args[0] :])


class Bounded(HttpToolsProtocol):
    """The connection of a client, which ends if what surrounds a body is too large, or a head takes too long."""

    service: Service
    late: asyncio.TimerHandle | None = None
    """Ends the connection if what is awaited doesn't come in time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.parser = Parser(self)
        self.begin_head()

    def begin_head(self) -> None:
        self.around = 0
        self.allow(self.service.config.head_seconds)

    def allow(self, seconds: float | None) -> None:
        """Let the connection end after so many seconds, unless this is called again; None: it may last."""
        if self.late:
            self.late.cancel()
        self.late = self.loop.call_later(seconds, self.transport.close) if seconds is not None else None

    def connection_lost(self, exc: Exception | None) -> None:
        self.allow(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PART):
            if self.transport.is_closing():
                return
            part = data[start : start + PART]
            self.around += len(part)
            super().data_received(part)
            if self.around > MOST_AROUND and not self.transport.is_closing():
                self.send_400_response("What surrounds the body of the request is too large.")

    def on_message_begin(self) -> None:
        self.begin_head()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) >= MOST_HEADERS:  # answered with 400
            raise ValueError("there are too many headers")
        super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self.around -= len(body)
        super().on_body(body)

    def on_headers_complete(self) -> None:
        self.allow(None)
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > MOST_AROUND or len(self.pipeline) >= MOST_PIPELINED:  # answered with 400
            raise ValueError("the head is too large, or too many requests come at once")
        hosts = [value for name, value in self.headers if name == b"host"]
        needed = self.parser.get_http_version() == "1.1"  # RFC 9112, section 3.2
        if not needed <= len(hosts) <= 1 or not all(map(HOST.fullmatch, hosts)):
            raise ValueError("the request must name one host")
        if not self.parser.should_upgrade():  # else the head comes again
            super().on_headers_complete()
        elif self.parser.get_method() == b"CONNECT":
            raise ValueError("the service is no proxy")

    def on_message_complete(self) -> None:
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def on_response_complete(self) -> None:
        if self.service.is_closed:  # requests sent before this answer get none, and are sent again
            self.transport.close()
        super().on_response_complete()
        if self.cycle.response_complete and not self.late:  # what still comes is the rest of its body, or blank lines
            self.allow(self.service.config.body_seconds)


class Server(uvicorn.Server):
    """uvicorn, which by itself refuses new connections at once after SIGTERM."""

    def __init__(self, service: Service) -> None:
        config = service.config
        options = uvicorn.Config(
            make_app(service),
            host=config.host,
            port=config.port,
            http=type("Connection", (Bounded,), {"service": service}),
            ws="none",
            log_config=None,
            access_log=False,  # it would have the query, which has texts
            proxy_headers=bool(config.forwarded),
            forwarded_allow_ips=config.forwarded,
            server_header=False,
            timeout_graceful_shutdown=max(1, round(config.drain_seconds)),
        )
        super().__init__(options)
        self.service = service
        self.is_alone = False
        """Whether the process is the server's, and may be ended with it."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A first SIGTERM begins the end; Ctrl-C, a closed terminal, or a second signal, ends at once."""
        if self.is_alone:
            # The system ends the process then, even if a thread never lets go of Python's interpreter.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            most = self.service.config.ready_seconds + self.service.config.drain_seconds + GRACE
            signal.setitimer(signal.ITIMER_REAL, most)
        if sig != signal.SIGTERM or self.service.ending:
            super().handle_exit(sig, frame)
            return
        self.service.ending = True
        loop = asyncio.get_running_loop()  # which the signal interrupts
        loop.call_soon_threadsafe(loop.call_later, self.service.config.ready_seconds, self.stop)

    def stop(self) -> None:
        """Listen no more, and end when all requests are answered."""
        self.service.is_closed = self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """A socket on this address. ValueError, for the user, if another program has it or the machine lacks it."""
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        problem = f"the service can't listen on {host}, port {port} ({error.strerror})"
        raise ValueError(f"{problem}: choose another --port or --host") from None
    # Its connections inherit this. Otherwise the body of an answer waits until the client has confirmed the head, which
    # clients delay by 40 ms (Nagle's algorithm, RFC 896); asyncio sets it only for sockets that it has made itself.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * UNREAD)
    return listener


def serve(service: Service, listener: socket.socket) -> None:
    """Run the service until it is told to end."""
    set_up()
    sys.setswitchinterval(SWITCH_INTERVAL)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # each connection is one
    server = Server(service)
    server.is_alone = True
    if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:  # else nohup, which ignores it
        signal.signal(signal.SIGHUP, server.handle_exit)
    server.run([listener])
    logging.shutdown()
    clean_up()
    os._exit(0)  # threads may compute what nobody waits for
