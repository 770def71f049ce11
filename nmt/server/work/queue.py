"""Batching across requests: lines of many requests flow in; their translations flow out, each to its request.

A batch is made when a worker is free, from what waits then. It begins with the first line of the owner whose turn it
is, and takes lines of all owners that need the same translator and settings and are most alike in length. Under load it
waits a moment for more lines: when the answers of a batch go out, their clients send the next ones, and a batch of the
first that arrive would take nearly as long as one of all. A worker is a thread; the event loop never computes.

So that nobody waits long for another one: lines that may take long are searched apart, and never by the last free
worker; batches take half a second while several owners ask; and a search ends when nobody waits for its answers.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, zip_longest
from weakref import ref

import torch

from nmt.config import SearchConfig
from nmt.config.serve import ServeConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.stop import Stop, Stopped
from nmt.reading.lines import cut_text
from nmt.reading.loop import Context, Reading, Step, Tree, grow
from nmt.reading.request import Request, Translation
from nmt.server.errors import Busy, Draining, Refused
from nmt.server.metrics import Metrics
from nmt.server.work.owners import Places, Room, Work
from nmt.text.markup import Mode
from nmt.text.normalise import BREAK
from nmt.translation.translator import Translator

LOOK_AHEAD = 4  # batches' worth of lines among which those of similar length are chosen
BYTES_PER_PIECE = 4  # of a line in UTF-8, about
PER_PART = 10  # pieces, of about 50 bytes, that take as much memory as what else the cache keeps of a sentence
SMOOTHING = 0.2  # weight of the newest batch in the estimate of the speed
MOST_WORKERS = 8  # each holds the cache of its batch in memory
# Under load, a batch waits for more lines: at most for this share of the last batch's time, and these seconds.
PATIENCE, MOST_PATIENCE = 0.1, 0.05
SHORT = 2_000  # characters that are cut into lines at once: a thread would take longer
# Pieces of a line, and characters of its prefix, from which on it may take long.
LONG, LONG_PREFIX = 512, 100
SHARED, SHARED_BATCH = 10.0, 0.5  # seconds after which an owner counts as alone; of a batch while none is

Answers = tuple[list[list[Translation] | Exception], float]
"""The answers of a batch, and the seconds that they took."""


@dataclass(frozen=True)
class Group:
    """What the lines of a batch have in common."""

    translator: Translator
    search: SearchConfig
    markup: Mode

    def answer(self, requests: Sequence[Request], stop: Stop) -> list[list[Translation] | Exception]:
        """The translations of each request, or why it has none: one that fails takes no others with it."""
        try:
            return [*self.translator.translate_n_best(requests, self.search, markup=self.markup, stop=stop)]
        except Exception as error:
            if len(requests) == 1 or isinstance(error, Stopped):
                return [error for _ in requests]
            return [self.answer([request], stop)[0] for request in requests]


@dataclass(eq=False)
class Item:
    """A line that waits."""

    group: Group
    request: Request
    size: int
    """Its pieces, about."""
    answer: "asyncio.Future[list[Translation]]"
    owner: str = ""
    is_long: bool = False
    """Whether its search may take long."""


class Unwanted(Stop):
    """Ends the search of a batch when nobody waits for its answers any more."""

    def __init__(self, batch: Sequence[Item]) -> None:
        super().__init__()
        self.batch = batch

    def check(self) -> None:
        if all(item.answer.done() for item in self.batch):
            raise Stopped("nobody waits for the answers")


Key = tuple["ref[Translator]", SearchConfig, Mode, Request]


def key_of(group: Group, request: Request) -> Key:
    """What a translation is found by; it keeps no model in memory that is replaced."""
    return ref(group.translator), group.search, group.markup, request


@dataclass
class Cache:
    """The translations of recent lines, up to a size in pieces of both sides; those used last stay."""

    most: int
    size: int = 0
    entries: OrderedDict[Key, tuple[int, list[Translation]]] = field(default_factory=OrderedDict)

    def get(self, group: Group, request: Request) -> list[Translation] | None:
        found = self.entries.get(key := key_of(group, request))
        if found is None:
            return None
        self.entries.move_to_end(key)
        return found[1]

    def put(self, group: Group, request: Request, translations: list[Translation]) -> None:
        parts = [part for translation in translations for part in translation.parts]
        size = estimate(request) + sum(len(part.source) + len(part.hypothesis.ids) + PER_PART for part in parts)
        key = key_of(group, request)
        if size > self.most or key in self.entries:
            return
        self.entries[key] = size, translations
        self.size += size
        while self.size > self.most:
            _, (old, _) = self.entries.popitem(last=False)
            self.size -= old


def estimate(request: Request) -> int:
    """The number of pieces of a line, about: signs and digits are pieces of their own."""
    text = f"{request.text}{request.constraints.prefix}"
    signs = sum(not (character.isalpha() or character.isspace()) for character in text)
    return (len(text.encode("utf8", "replace")) + (BYTES_PER_PIECE - 1) * signs) // BYTES_PER_PIECE + 2


def count(request: Request, tokenizer: Tokenizer) -> int:
    """The number of pieces of a line: counted if there may be more than LONG, for each byte can be one."""
    if len(request.text.encode("utf8", "replace")) <= LONG:
        return estimate(request)
    (ids,) = tokenizer.encode_source([request.text])
    return len(ids) + len(request.constraints.prefix)


def cut(requests: Sequence[Request], steps: Sequence[Step], context: Context, most: int) -> list[Tree]:
    """Texts in their lines or sentences, which are the leaves of the trees. Refused if there are more than `most`."""
    trees, n = list[Tree](), 0
    for request in requests:
        n_lines = 1 + (sum(1 for _ in BREAK.finditer(request.text)) if steps else 0)
        if n + n_lines <= most:  # a million lines would take ten seconds, and 300 MB
            trees.append(grow(Reading.of(request), steps, context))
            n_lines = sum(1 for _ in trees[-1].leaves())
        n += n_lines
        if n > most:
            problem = f"the request has more than {most:,} lines or sentences: send several requests"
            raise Refused(problem, status=413, code="too_many")
    return trees


def cut_and_count(
    requests: Sequence[Request], steps: Sequence[Step], context: Context, most: int
) -> tuple[list[Tree], list[int]]:
    """As `cut`, and the number of pieces of each leaf."""
    trees = cut(requests, steps, context, most)
    return trees, [count(leaf.request, context.tokenizer) for tree in trees for leaf in tree.leaves()]


def put_back(trees: Sequence[Tree], lists: Sequence[list[Translation]]) -> list[list[Translation]]:
    """The translations of texts, from those of the lines or sentences into which they were cut."""
    leaves = (leaf for tree in trees for leaf in tree.leaves())
    found = ([leaf.of_line(t) for t in translations] for leaf, translations in zip(leaves, lists, strict=True))
    return [tree.back(found) for tree in trees]


class Engine:
    """Translates for all requests. Its methods are called in the event loop."""

    def __init__(self, config: ServeConfig, metrics: Metrics, places: Places) -> None:
        """`places`: for what isn't translating."""
        self.config, self.metrics, self.places = config, metrics, places
        threads, on_gpu = torch.get_num_threads(), torch.cuda.is_available()
        self.workers = config.workers or (1 if on_gpu else min(max(2, threads), MOST_WORKERS))
        # Not more when others rest: their threads would wait for each other (36 ms a sentence became 92).
        self.threads = max(1, threads // self.workers)  # of each worker
        self.pool = ThreadPoolExecutor(self.workers, "translate")
        self.queues: dict[str, deque[Item]] = {}  # by owner; the first one's turn is next
        self.lines, self.pieces = Room(config.queue_sentences), Room(config.queue_tokens)  # that wait
        self.most_lines = max(1, config.queue_sentences // 2)  # of a request
        self.cache = Cache(config.cache_tokens)
        self.running = 0
        self.speed = 0.0  # pieces a second, of all workers under load; 0: not measured yet
        self.draining = self.is_due = False
        self.newest: str | None = None  # the owner that asked last
        self.shared_until = 0.0  # when several owners no longer count as asking
        self.expected, self.patient_until = 0, 0.0  # lines that clients may send after the batch that ended last
        metrics.gauges |= {
            "waiting_lines": lambda: self.lines.used,
            "waiting_pieces": lambda: self.pieces.used,
            "running_batches": lambda: self.running,
            "cached_pieces": lambda: self.cache.size,
        }

    async def translate(
        self,
        work: Work,
        translator: Translator,
        requests: Sequence[Request],
        search: SearchConfig,
        *,
        markup: Mode = "none",
    ) -> list[list[Translation]]:
        """The n-best list of each request. If the call is cancelled, what only it waits for is searched no further.
        Lines of a plain text are translated apart, as by `Translator`. Raises Busy if too much waits, Draining if the
        service ends, Refused for too many lines, ValueError if constraints can't be met or the model can't search so.
        """
        if self.draining:
            raise Draining()
        group = Group(translator, search, markup)
        steps: tuple[Step, ...] = (cut_text,) if markup == "none" else ()
        parts = requests, steps, translator.context(search, markup), self.most_lines
        is_short = sum(len(request.text) for request in requests) <= SHORT
        trees, sizes = cut_and_count(*parts) if is_short else await self.places.run(work, cut_and_count, *parts)
        lines = [line.request for tree in trees for line in tree.leaves()]
        lists = await self.translate_lines(group, lines, sizes, work.owner)
        return lists if len(lines) == len(trees) else await self.places.run(work, put_back, trees, lists)

    async def translate_lines(
        self, group: Group, lines: Sequence[Request], sizes: Sequence[int], owner: str
    ) -> list[list[Translation]]:
        """The n-best list of each line, of so many pieces: from the cache, or of the queue."""
        cached = [self.cache.get(group, line) for line in lines]
        missing = [n for n, translations in enumerate(cached) if translations is None]
        self.metrics.count("lines", len(lines) - len(missing), cached="yes")
        self.metrics.count("lines", len(missing), cached="no")
        results = [translations or [] for translations in cached]
        if missing:
            is_usual, new = group.search == group.translator.search, asyncio.get_running_loop().create_future
            items = [Item(group, lines[n], sizes[n], new(), owner) for n in missing]
            for item in items:
                given = item.request.constraints
                has_more = given.must or given.must_not or len(given.prefix) > LONG_PREFIX
                item.is_long = not is_usual or bool(has_more) or item.size > LONG
            self.enqueue(items, owner)
            try:
                answers = await asyncio.gather(*(item.answer for item in items))
            except BaseException:  # the call was cancelled, or a line of it failed: nobody waits for the others
                for item in items:
                    item.answer.cancel()
                self.remove({*self.queues.get(owner, ())}.intersection(items))
                raise
            for n, answer in zip(missing, answers, strict=True):
                results[n] = answer
        return results

    def enqueue(self, items: Sequence[Item], owner: str) -> None:
        """Let items wait. Busy if their owner has no room, or if they would wait for too long."""
        tokens = sum(item.size for item in items)
        # Of what waits, the owner's turns come before those of all others.
        before = min(self.pieces.used, self.pieces.held[owner] * max(1, len(self.queues)))
        expected = before / self.speed if self.speed else 0.0
        has_room = expected <= self.config.longest_wait and self.lines.take(owner, len(items))
        if has_room and not self.pieces.take(owner, tokens):
            self.lines.give_back(owner, len(items))
            has_room = False
        if not has_room:
            self.metrics.count("refused_lines", len(items))
            raise Busy(max(1.0, expected - self.config.longest_wait / 2))
        if owner != self.newest:  # the first one is alone
            self.shared_until = time.monotonic() + SHARED if self.newest is not None else 0.0
            self.newest = owner
        self.queues.setdefault(owner, deque()).extend(items)
        self.wake()

    def remove(self, items: set[Item]) -> None:
        """Take items out of the queue; owners for whom nothing waits are forgotten."""
        for owner in {item.owner for item in items}:
            rest = deque(item for item in self.queues[owner] if item not in items)
            if rest:
                self.queues[owner] = rest
            else:
                del self.queues[owner]
        for item in items:
            self.lines.give_back(item.owner, 1)
            self.pieces.give_back(item.owner, item.size)

    def wake(self) -> None:
        """Make batches at the end of this turn of the event loop, so that requests that came together share one."""
        if not self.is_due:
            self.is_due = True
            asyncio.get_running_loop().call_soon(self.start_batches)

    def start_batches(self) -> None:
        self.is_due = False
        loop = asyncio.get_running_loop()
        if 0 < self.lines.used < self.expected and loop.time() < self.patient_until:
            loop.call_at(self.patient_until, self.wake)
            return
        started = []
        while self.running < self.workers and (batch := self.next_batch()):
            self.remove(set(batch))
            self.running += 1
            started.append((batch, loop.run_in_executor(self.pool, self.compute, batch)))
        for batch, task in started:
            task.add_done_callback(partial(self.finish, batch, self.lines.used > 0))

    def next_batch(self) -> list[Item]:
        """The first item of the owner whose turn it is, and the items most like it in length that go with it; none if
        what waits may take long, and only the last worker is free."""
        is_last = 0 < self.running == self.workers - 1
        owner = next((owner for owner, items in self.queues.items() if not (is_last and items[0].is_long)), None)
        if owner is None:
            return []
        first = self.queues[owner][0]
        self.queues[owner] = self.queues.pop(owner)  # its next turn comes after that of all others
        queues = [self.queues[owner]] if first.is_long else self.queues.values()
        in_turn = (item for items in zip_longest(*queues) for item in items if item)
        same = (item for item in in_turn if item.is_long == first.is_long and item.group == first.group)
        most = first.group.search.batch_size
        candidates = [first, *islice((item for item in same if item is not first), LOOK_AHEAD * most)]
        share = -(-len(candidates) // (self.workers - self.running))  # of each free worker
        longest, batch = 0, list[Item]()
        for item in sorted(candidates, key=lambda item: abs(item.size - first.size)):
            longest = max(longest, item.size)
            if batch and (len(batch) == min(most, share) or (len(batch) + 1) * longest > self.most_pieces()):
                break
            batch.append(item)
        return batch

    def most_pieces(self) -> int:
        """Of a batch: the others wait for its end."""
        is_shared = self.speed and time.monotonic() < self.shared_until
        fair = SHARED_BATCH * self.speed / self.workers if is_shared else self.config.batch_tokens
        return min(self.config.batch_tokens, int(fair))

    def compute(self, batch: Sequence[Item]) -> Answers:
        """The answers of a batch, and the seconds that they took; in a worker."""
        started = time.perf_counter()
        torch.set_num_threads(self.threads)
        answers = batch[0].group.answer([item.request for item in batch], Unwanted(batch))
        return answers, time.perf_counter() - started

    def finish(self, batch: Sequence[Item], is_loaded: bool, task: "asyncio.Future[Answers]") -> None:
        """Hand out the answers of a batch. `is_loaded`: more lines waited than it could take."""
        if task.cancelled():  # the engine was closed
            return
        answers, seconds = task.result()
        tokens = sum(item.size for item in batch)
        speed = tokens / max(seconds, 1e-6) * self.running
        # Batches of a few lines are slow for their size: they say nothing of the speed under load.
        if not batch[0].is_long and (is_loaded or 0 < self.speed < speed):
            self.speed += (SMOOTHING if self.speed else 1.0) * (speed - self.speed)
        self.running -= 1
        self.expected = min(self.lines.used + len(batch), batch[0].group.search.batch_size)
        self.patient_until = asyncio.get_running_loop().time() + min(PATIENCE * seconds, MOST_PATIENCE)
        self.metrics.count("batches")
        self.metrics.count("pieces", tokens)
        for item, answer in zip(batch, answers, strict=True):
            if not isinstance(answer, Exception):
                self.cache.put(item.group, item.request, answer)
            if item.answer.done():  # its call was cancelled
                continue
            if isinstance(answer, Exception):
                item.answer.set_exception(answer)
            else:
                item.answer.set_result(answer)
        self.wake()

    def close(self) -> None:
        """Take nothing more. What the threads compute goes on, unless it looks whether it is wanted."""
        for items in [*self.queues.values()]:
            for item in items:
                item.answer.cancel()
        self.pool.shutdown(wait=False, cancel_futures=True)
