"""Work has an owner: a request or a document becomes a `Work`, and what clients share is given out by owners.

However much one owner asks for, others find a part of a `Room`, and one of the `Places`, still free.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any, TypeVar

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
    """Threads for what would block the event loop, such as reading a file. Owners take turns, and one owner alone never
    has all threads."""

    def __init__(self, n: int, name: str) -> None:
        self.free, self.held = n, Counter[str]()
        self.waiting: dict[str, deque[asyncio.Future[None]]] = {}  # by owner; the first one's turn is next
        self.pool = ThreadPoolExecutor(n, name, initializer=torch.set_num_threads, initargs=(1,))

    async def run(self, work: Work, function: Callable[..., Result], *args: Any) -> Result:
        """The result of a function. If the call is cancelled, `work.stop` is set, at which long functions must look."""
        owner, loop = work.owner, asyncio.get_running_loop()
        turn = loop.create_future()
        self.waiting.setdefault(owner, deque()).append(turn)
        self.next_turns()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(owner)
            raise
        running = loop.run_in_executor(self.pool, function, *args)
        running.add_done_callback(lambda _: self.leave(owner))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            running.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # nobody asks for it
            work.stop.set()
            raise

    def leave(self, owner: str) -> None:
        self.free += 1
        self.held[owner] -= 1
        if not self.held[owner]:
            del self.held[owner]
        self.next_turns()

    def next_turns(self) -> None:
        """Let in who may enter."""
        for owner in [*self.waiting]:
            turns = self.waiting.pop(owner)
            while turns and (turns[0].cancelled() or self.free > bool(self.held[owner])):
                turn = turns.popleft()
                if not turn.cancelled():
                    self.free -= 1
                    self.held[owner] += 1
                    turn.set_result(None)
                    break
            if turns:
                self.waiting[owner] = turns  # its next turn comes after that of all others

    def close(self) -> None:
        """Take nothing more. What runs goes on."""
        self.pool.shutdown(wait=False, cancel_futures=True)
