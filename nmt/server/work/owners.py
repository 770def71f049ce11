"""Work has an owner: a request or a document becomes a `Work`, and what clients share is given out by owners.

However much one owner asks for, others find a part of a `Room`, and one of the `Places`, still free.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import torch

from nmt.decode.stop import Stop
from nmt.server.store.keys import NO_KEY, Key

Result = TypeVar("Result")
OWN_NETWORK = 64  # bits of an IPv6 address that are of one owner: all addresses in there are a single client's


@dataclass(eq=False)
class Work:
    """What the service does for one request, or for one document."""

    id: str
    owner: str = ""
    """The hash of the key or, without keys, the address of the client."""
    key: Key = NO_KEY
    texts: int = 0
    characters: int = 0
    """What it costs its owner."""
    stop: Stop = field(default_factory=Stop)
    """Set when its time is over or its client is gone: what runs for it in threads ends."""


def owner_of(address: str) -> str:
    """The owner of an address."""
    try:
        known = ip_address(address)
        known = getattr(known, "ipv4_mapped", None) or known  # some proxies write ::ffff:192.0.2.1
        return str(ip_network(f"{known}/{OWN_NETWORK}", strict=False)) if known.version == 6 else str(known)
    except ValueError:
        return address


class Room:
    """What owners share, such as the places of a queue: one may hold as much as it leaves free."""

    def __init__(self, size: int) -> None:
        self.size, self.used, self.held = size, 0, Counter[str]()

    def take(self, owner: str, n: int) -> bool:
        """Whether there is room for `n` more of an owner, which then are taken."""
        if self.held[owner] + n > self.size - self.used:
            return False
        self.held[owner] += n
        self.used += n
        return True

    def give_back(self, owner: str, n: int) -> None:
        self.held[owner] -= n
        self.used -= n
        if not self.held[owner]:
            del self.held[owner]


class Places:
    """Threads for what would block the event loop, such as reading a file. Who waits has the next one in turn, and one
    owner alone neither has nor waits for all threads."""

    def __init__(self, n: int, name: str) -> None:
        self.n, self.free = n, asyncio.Semaphore(n)
        self.own = WeakValueDictionary[str, asyncio.Semaphore]()  # of each owner, while it has or waits for some
        self.pool = ThreadPoolExecutor(n, name, initializer=torch.set_num_threads, initargs=(1,))

    async def run(self, work: Work, function: Callable[..., Result], *args: Any) -> Result:
        """The result of a function. If the call is cancelled, `work.stop` is set, at which long functions must look."""
        place = self.own.setdefault(work.owner, asyncio.Semaphore(max(1, self.n - 1)))
        await place.acquire()
        try:
            await self.free.acquire()
        except asyncio.CancelledError:
            place.release()
            raise
        running = asyncio.get_running_loop().run_in_executor(self.pool, function, *args)

        def leave(ended: "asyncio.Future[Result]") -> None:
            place.release()
            self.free.release()
            if not ended.cancelled():
                ended.exception()  # of a call that was cancelled, nobody else asks for it

        running.add_done_callback(leave)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            work.stop.set()
            raise

    def close(self) -> None:
        """Take nothing more. What runs goes on."""
        self.pool.shutdown(wait=False, cancel_futures=True)
