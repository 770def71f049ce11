"""A service behind a port, in a thread of the test's process."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from nmt.server.run import Server
from nmt.server.service import Service


@contextmanager
def running(service: Service) -> Iterator[str]:
    """The address of a service, while it runs."""
    server = Server(service)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.stop()
    thread.join()
