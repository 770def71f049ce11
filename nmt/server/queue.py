"""Batching across requests: lines of many requests flow in; their translations flow out, each to its request.

A batch is made when a worker is free, from what waits then. It begins with the first line of the key whose turn it is,
and takes lines of all keys that need the same translator and settings and are most alike in length. Under load it waits
a moment for more lines: when the answers of a batch go out, their clients send the next ones, and a batch of the first
that arrive would take nearly as long as one of all. A worker is a thread; the event loop never computes.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, zip_longest
from typing import Any, TypeVar

import torch

from nmt.config import SearchConfig
from nmt.config.serve import ServeConfig
from nmt.reading.lines import cut_text
from nmt.reading.loop import Reading, Step, Tree, grow
from nmt.reading.request import Request, Translation
from nmt.server.errors import Busy, Draining
from nmt.server.metrics import Metrics
from nmt.text.markup import Mode
from nmt.translation.translator import Translator

LOOK_AHEAD = 4  # batches' worth of lines among which those of similar length are chosen
BYTES_PER_PIECE = 4  # of a line in UTF-8, about
SMOOTHING = 0.2  # weight of the newest batch in the estimate of the speed
MOST_WORKERS = 8  # each holds the cache of its batch in memory
# Under load, a batch waits for more lines: at most for this share of the last batch's time, and these seconds.
PATIENCE, MOST_PATIENCE = 0.1, 0.05

Result = TypeVar("Result")
Answers = tuple[list[list[Translation] | Exception], float]
"""The answers of a batch, and the seconds that they took."""


@dataclass(frozen=True)
class Group:
    """What the lines of a batch have in common."""

    translator: Translator
    search: SearchConfig
    markup: Mode

    def answer(self, requests: Sequence[Request]) -> list[list[Translation] | Exception]:
        """The translations of each request, or why it has none: one that fails takes no others with it."""
        try:
            return [*self.translator.translate_n_best(requests, self.search, markup=self.markup)]
        except Exception as error:
            if len(requests) == 1:
                return [error]
            return [self.answer([request])[0] for request in requests]


@dataclass(eq=False)
class Item:
    """A line that waits."""

    group: Group
    request: Request
    size: int
    """Its pieces, as estimated."""
    answer: "asyncio.Future[list[Translation]]"


@dataclass
class Cache:
    """The translations of recent lines, up to a size in pieces; those used last stay."""

    most: int
    size: int = 0
    entries: "OrderedDict[tuple[Group, Request], tuple[int, list[Translation]]]" = field(default_factory=OrderedDict)

    def get(self, group: Group, request: Request) -> list[Translation] | None:
        found = self.entries.get((group, request))
        if found is None:
            return None
        self.entries.move_to_end((group, request))
        return found[1]

    def clear(self) -> None:
        self.entries.clear()
        self.size = 0

    def put(self, group: Group, request: Request, size: int, translations: list[Translation]) -> None:
        size *= len(translations)
        if size > self.most or (group, request) in self.entries:
            return
        self.entries[group, request] = size, translations
        self.size += size
        while self.size > self.most:
            _, (old, _) = self.entries.popitem(last=False)
            self.size -= old


def estimate(request: Request) -> int:
    """The number of pieces of a line, about."""
    return len(request.text.encode("utf8", "replace")) // BYTES_PER_PIECE + 2


def put_back(trees: Sequence[Tree], lists: Sequence[list[Translation]]) -> list[list[Translation]]:
    """The translations of texts, from those of the lines or sentences into which they were cut."""
    leaves = (leaf for tree in trees for leaf in tree.leaves())
    found = ([leaf.of_line(t) for t in translations] for leaf, translations in zip(leaves, lists, strict=True))
    return [tree.back(found) for tree in trees]


class Engine:
    """Translates for all requests. Its methods are called in the event loop."""

    def __init__(self, config: ServeConfig, metrics: Metrics) -> None:
        self.config, self.metrics = config, metrics
        self.threads = torch.get_num_threads()
        on_gpu = torch.cuda.is_available()
        self.workers = config.workers or (1 if on_gpu else min(self.threads, MOST_WORKERS))
        self.pool = ThreadPoolExecutor(self.workers, "translate")
        self.other = ThreadPoolExecutor(2, "other", initializer=torch.set_num_threads, initargs=(1,))
        self.queues: dict[str, deque[Item]] = {}  # by key; the first one's turn is next
        self.cache = Cache(config.cache_tokens)
        self.running = self.waiting = self.waiting_tokens = 0
        self.speed = 0.0  # pieces a second, of all workers under load; 0: not measured yet
        self.draining = self.is_due = False
        self.expected, self.patient_until = 0, 0.0  # lines that clients may send after the batch that ended last
        metrics.gauges |= {
            "waiting_lines": lambda: self.waiting,
            "waiting_pieces": lambda: self.waiting_tokens,
            "running_batches": lambda: self.running,
            "cached_pieces": lambda: self.cache.size,
        }

    async def run(self, function: Callable[..., Result], *args: Any) -> Result:
        """Run what would block the event loop, such as reading a file, in a thread; not for translating."""
        return await asyncio.get_running_loop().run_in_executor(self.other, function, *args)

    async def translate(
        self,
        translator: Translator,
        requests: Sequence[Request],
        search: SearchConfig,
        *,
        markup: Mode = "none",
        key: str = "",
    ) -> list[list[Translation]]:
        """The n-best list of each request.

        Args:
            markup: how the texts are read. Lines of a plain text are translated apart, as by `Translator`.
            key: whose request it is: those of different keys take turns.

        Raises:
            Busy: too much waits. Draining: the service ends. ValueError: constraints can't be met, or the model can't
            search so.
        """
        if self.draining:
            raise Draining()
        group = Group(translator, search, markup)
        context = translator.context(search, markup)
        steps: tuple[Step, ...] = (cut_text,) if markup == "none" else ()
        trees = [grow(Reading.of(request), steps, context) for request in requests]
        lines = [line for tree in trees for line in tree.leaves()]
        lists = await self.translate_lines(group, [line.request for line in lines], key)
        if len(lines) == len(trees):
            return lists
        return await self.run(put_back, trees, lists)

    async def translate_lines(self, group: Group, lines: Sequence[Request], key: str) -> list[list[Translation]]:
        """The n-best list of each line: from the cache, or of the queue."""
        cached = [self.cache.get(group, line) for line in lines]
        missing = [n for n, translations in enumerate(cached) if translations is None]
        self.metrics.count("lines", len(lines) - len(missing), cached="yes")
        self.metrics.count("lines", len(missing), cached="no")
        results = [translations or [] for translations in cached]
        if missing:
            new = asyncio.get_running_loop().create_future
            items = [Item(group, lines[n], estimate(lines[n]), new()) for n in missing]
            self.enqueue(items, key)
            try:
                answers = await asyncio.gather(*(item.answer for item in items))
            except BaseException:  # the call was cancelled, or a line of it failed
                self.remove({*self.queues.get(key, ())}.intersection(items))
                raise
            for n, answer in zip(missing, answers, strict=True):
                results[n] = answer
        return results

    def enqueue(self, items: Sequence[Item], key: str) -> None:
        """Let items wait. Busy if there is no room, or if they would wait for too long."""
        tokens = sum(item.size for item in items)
        expected = self.waiting_tokens / self.speed if self.speed else 0.0
        too_many = self.waiting and self.waiting + len(items) > self.config.queue_sentences
        too_large = self.waiting and self.waiting_tokens + tokens > self.config.queue_tokens
        if expected > self.config.longest_wait or too_many or too_large:
            self.metrics.count("refused_lines", len(items))
            raise Busy(max(1.0, expected - self.config.longest_wait / 2))
        self.queues.setdefault(key, deque()).extend(items)
        self.waiting += len(items)
        self.waiting_tokens += tokens
        self.wake()

    def remove(self, items: set[Item]) -> None:
        """Take items out of the queue; keys for which nothing waits are forgotten."""
        for key in [*self.queues]:
            rest = deque(item for item in self.queues[key] if item not in items)
            if rest:
                self.queues[key] = rest
            else:
                del self.queues[key]
        self.waiting -= len(items)
        self.waiting_tokens -= sum(item.size for item in items)

    def wake(self) -> None:
        """Make batches at the end of this turn of the event loop, so that requests that came together share one."""
        if not self.is_due:
            self.is_due = True
            asyncio.get_running_loop().call_soon(self.start_batches)

    def start_batches(self) -> None:
        self.is_due = False
        loop = asyncio.get_running_loop()
        if 0 < self.waiting < self.expected and loop.time() < self.patient_until:
            loop.call_at(self.patient_until, self.wake)
            return
        started = []
        while self.waiting and self.running < self.workers:
            batch = self.next_batch()
            self.remove(set(batch))
            self.running += 1
            # Not more when others rest: their threads would wait for each other (36 ms a sentence became 92).
            threads = max(1, self.threads // self.workers)
            started.append((batch, loop.run_in_executor(self.pool, self.compute, batch, threads)))
        for batch, task in started:
            task.add_done_callback(partial(self.finish, batch, self.waiting > 0))

    def next_batch(self) -> list[Item]:
        """The first item of the key whose turn it is, and the items most like it in length that go with it."""
        key = next(iter(self.queues))
        first = self.queues[key][0]
        self.queues[key] = self.queues.pop(key)  # its next turn comes after that of all others
        in_turn = (item for items in zip_longest(*self.queues.values()) for item in items if item)
        fitting = (item for item in in_turn if item.group == first.group and item is not first)
        most = first.group.search.batch_size
        candidates = [first, *islice(fitting, LOOK_AHEAD * most)]
        share = -(-len(candidates) // (self.workers - self.running))  # of each free worker
        longest, batch = 0, list[Item]()
        for item in sorted(candidates, key=lambda item: abs(item.size - first.size)):
            longest = max(longest, item.size)
            if batch and (len(batch) == min(most, share) or (len(batch) + 1) * longest > self.config.batch_tokens):
                break
            batch.append(item)
        return batch

    @staticmethod
    def compute(batch: Sequence[Item], threads: int) -> Answers:
        """The answers of a batch, and the seconds that they took; in a worker."""
        started = time.perf_counter()
        torch.set_num_threads(threads)
        return batch[0].group.answer([item.request for item in batch]), time.perf_counter() - started

    def finish(self, batch: Sequence[Item], is_loaded: bool, task: "asyncio.Future[Answers]") -> None:
        """Hand out the answers of a batch. `is_loaded`: more lines waited than it could take."""
        if task.cancelled():  # the engine was closed
            return
        answers, seconds = task.result()
        tokens = sum(item.size for item in batch)
        speed = tokens / max(seconds, 1e-6) * self.running
        # Batches of a few lines are slow for their size: they say nothing of the speed under load.
        if is_loaded or 0 < self.speed < speed:
            self.speed += (SMOOTHING if self.speed else 1.0) * (speed - self.speed)
        self.running -= 1
        self.expected = min(self.waiting + len(batch), batch[0].group.search.batch_size)
        self.patient_until = asyncio.get_running_loop().time() + min(PATIENCE * seconds, MOST_PATIENCE)
        self.metrics.count("batches")
        self.metrics.count("pieces", tokens)
        for item, answer in zip(batch, answers, strict=True):
            if not isinstance(answer, Exception):
                self.cache.put(item.group, item.request, item.size, answer)
            if item.answer.done():  # its call was cancelled
                continue
            if isinstance(answer, Exception):
                item.answer.set_exception(answer)
            else:
                item.answer.set_result(answer)
        self.wake()

    def close(self) -> None:
        """End the threads, after what they compute now."""
        self.pool.shutdown(cancel_futures=True)
        self.other.shutdown(cancel_futures=True)
