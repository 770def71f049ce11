"""The queue: what is translated together, whose turn it is, and who is refused."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nmt.config import SearchConfig
from nmt.config.serve import ServeConfig
from nmt.reading.request import Constraints, Request, Term, Translation
from nmt.server.errors import Busy, Draining, Refused
from nmt.server.metrics import Metrics
from nmt.server.models import Models
from nmt.server.queue import Engine, Group, Item
from nmt.translation.translator import Translator
from tests.server.conftest import load
from tests.tiny import PAIRS, SHORT

DIRECTION = ("de", "en")
GERMAN = [source for source, _ in PAIRS]


class Slow(Translator):
    """A translator that writes capitals, notes its batches, and waits where it is told to."""

    def __init__(self, translator: Translator) -> None:
        self.__dict__ |= translator.__dict__
        self.batches: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()

    def translate_n_best(  # type: ignore[override]
        self, lines: Sequence[Request], search: SearchConfig | None = None, **options: Any
    ) -> list[list[Translation]]:
        self.gate.wait(10)
        self.batches.append([line.text for line in lines])
        if any("bad" in line.text for line in lines):
            raise ValueError("a bad line")
        return [[Translation(line.text.upper(), 0.0, ())] for line in lines]


@pytest.fixture
def slow(translator: Translator) -> Slow:
    return Slow(translator)


def run(folder: Path, test: Callable[[Engine], Awaitable[None]], slow: Slow | None = None, **settings: Any) -> None:
    async def main() -> None:
        models = Models([folder], (lambda _: slow) if slow else load, lazy=True)
        engine = Engine(models, replace(ServeConfig(workers=1), **settings), Metrics())
        try:
            await test(engine)
        finally:
            if slow:
                slow.gate.set()
            engine.close()

    asyncio.run(main())


async def ask(engine: Engine, *texts: str, key: str = "") -> list[str]:
    lists = await engine.translate(DIRECTION, [Request(text) for text in texts], SHORT, key=key)
    return [best.text for best, *_ in lists]


async def settle() -> None:
    """Let everything run that is due."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_translations_are_those_of_the_translator(model_folder: Path, translator: Translator) -> None:
    search = replace(SHORT, n_best=2)
    texts = [*GERMAN, "", f"{GERMAN[0]}\n\n{GERMAN[1]}", "https://a.de"]
    marked = [f"<p>{GERMAN[0]} <b>{GERMAN[2]}</b></p>"]

    async def test(engine: Engine) -> None:
        found = await engine.translate(DIRECTION, [Request(text) for text in texts], search)
        assert [[t.text for t in some] for some in found] == [
            [t.text for t in some] for some in translator.translate_n_best(texts, search)
        ]
        [html] = await engine.translate(DIRECTION, [Request(marked[0])], search, markup="html")
        assert html[0].text.startswith("<p>")

    run(model_folder, test)


def test_requests_that_wait_share_a_batch(model_folder: Path, slow: Slow) -> None:
    async def test(engine: Engine) -> None:
        slow.gate.clear()
        first = asyncio.create_task(ask(engine, "one"))
        await settle()
        others = [asyncio.create_task(ask(engine, text)) for text in ("two", "three")]
        await settle()
        slow.gate.set()
        assert [*await asyncio.gather(first, *others)] == [["ONE"], ["TWO"], ["THREE"]]
        assert [len(batch) for batch in slow.batches] == [1, 2]

    run(model_folder, test, slow)


def test_keys_take_turns(model_folder: Path, slow: Slow) -> None:
    """A key with a few lines doesn't wait for all lines of a key with many."""

    async def test(engine: Engine) -> None:
        slow.gate.clear()
        blocking = asyncio.create_task(ask(engine, "first"))
        await settle()
        many = asyncio.create_task(ask(engine, *(f"many {n}" for n in range(20)), key="many"))
        few = asyncio.create_task(ask(engine, "few", key="few"))
        await settle()
        slow.gate.set()
        await asyncio.gather(blocking, many, few)
        assert [text for batch in slow.batches for text in batch].index("few") < 10

    run(model_folder, test, slow)


def test_a_batch_is_bounded_and_of_similar_lengths(model_folder: Path, slow: Slow) -> None:
    async def test(engine: Engine) -> None:
        slow.gate.clear()
        first = asyncio.create_task(ask(engine, "x"))
        await settle()
        rest = asyncio.create_task(ask(engine, "a" * 40, "b" * 400, "c" * 41, "d" * 399, "e" * 4000))
        await settle()
        slow.gate.set()
        await asyncio.gather(first, rest)
        assert [{text[0] for text in batch} for batch in slow.batches] == [{"x"}, {"a", "c"}, {"b", "d"}, {"e"}]

    run(model_folder, test, slow, batch_tokens=250)


def test_a_cancelled_call_leaves_the_queue(model_folder: Path, slow: Slow) -> None:
    async def test(engine: Engine) -> None:
        slow.gate.clear()
        first = asyncio.create_task(ask(engine, "one"))
        await settle()
        gone = asyncio.create_task(ask(engine, "gone", "gone too"))
        await settle()
        assert (engine.waiting, engine.running) == (2, 1)
        gone.cancel()
        await settle()
        assert (engine.waiting, engine.waiting_tokens, engine.queues) == (0, 0, {})
        slow.gate.set()
        await first
        assert slow.batches == [["one"]]

    run(model_folder, test, slow)


def test_a_line_that_fails_takes_no_others_with_it(model_folder: Path, slow: Slow) -> None:
    async def test(engine: Engine) -> None:
        slow.gate.clear()
        first = asyncio.create_task(ask(engine, "one"))
        await settle()
        bad, good = asyncio.create_task(ask(engine, "bad", "fine")), asyncio.create_task(ask(engine, "good"))
        await settle()
        slow.gate.set()
        with pytest.raises(ValueError, match="a bad line"):
            await bad
        assert (await first, await good) == (["ONE"], ["GOOD"])

    run(model_folder, test, slow)


def test_a_constraint_that_cannot_be_met_is_the_error_of_its_own_call(model_folder: Path) -> None:
    async def test(engine: Engine) -> None:
        request = Request(GERMAN[0], Constraints(must=(Term(("",)),)))
        with pytest.raises(ValueError):  # noqa: PT011 - the sentence is the compiler's
            await engine.translate(DIRECTION, [request], SHORT)

    run(model_folder, test)


def test_a_recent_line_is_not_translated_again(model_folder: Path, slow: Slow) -> None:
    async def test(engine: Engine) -> None:
        assert await ask(engine, "one", "two\nthree") == ["ONE", "TWO\nTHREE"]
        assert await ask(engine, "three", "one") == ["THREE", "ONE"]
        assert [text for batch in slow.batches for text in batch] == ["one", "two", "three"]
        await engine.translate(DIRECTION, [Request("one")], replace(SHORT, beam_size=3))
        assert slow.batches[-1] == ["one"]
        engine.models.on_replaced()  # a new model has translations of its own, and the old one is freed
        assert (engine.cache.size, len(engine.cache.entries)) == (0, 0)

    run(model_folder, test, slow)


def test_the_cache_is_bounded_and_keeps_what_was_used_last(model_folder: Path, slow: Slow) -> None:
    async def test(engine: Engine) -> None:
        for text in ("one", "two", "one", "three"):
            await ask(engine, text)
        kept = [request.text for _, request in engine.cache.entries]
        assert kept == ["one", "three"]
        assert engine.cache.size <= 5

    run(model_folder, test, slow, cache_tokens=5)


def test_a_short_burst_waits_and_a_long_wait_is_refused(model_folder: Path, slow: Slow) -> None:
    async def test(engine: Engine) -> None:
        slow.gate.clear()
        first = asyncio.create_task(ask(engine, "one"))
        await settle()
        engine.speed = 1.0  # pieces a second
        waiting = asyncio.create_task(ask(engine, "two", "three", "four " * 9))
        await settle()
        with pytest.raises(Busy) as busy:
            await ask(engine, "five")
        assert busy.value.retry_after >= 1
        engine.speed = 100.0
        later = asyncio.create_task(ask(engine, "five"))
        await settle()
        slow.gate.set()
        assert [*await asyncio.gather(first, waiting, later)] == [["ONE"], ["TWO", "THREE", "FOUR " * 9], ["FIVE"]]

    run(model_folder, test, slow)


def test_a_slow_first_line_does_not_make_the_service_refuse_a_burst(model_folder: Path, slow: Slow) -> None:
    async def test(engine: Engine) -> None:
        slow.gate.clear()
        first = asyncio.create_task(ask(engine, "one"))
        await settle()
        await asyncio.sleep(0.02)
        slow.gate.set()
        await first
        assert engine.speed == 0
        await ask(engine, *map(str, range(20)))
        assert engine.speed > 0

    run(model_folder, test, slow)


@pytest.mark.parametrize(("seconds", "patience"), [(0.2, 0.02), (0.4, 0.04), (60.0, 0.05)])
def test_under_load_a_batch_waits_for_others_a_tenth_of_the_last_one_but_not_long(
    model_folder: Path, slow: Slow, seconds: float, patience: float
) -> None:
    async def test(engine: Engine) -> None:
        loop = asyncio.get_running_loop()
        await ask(engine, "one")
        done: asyncio.Future[Any] = loop.create_future()
        done.set_result(([[]], seconds))
        before = loop.time()
        item = Item(Group(slow, SHORT, "none"), Request("one"), 1, loop.create_future())
        engine.finish([item], False, done)
        assert before + patience <= engine.patient_until <= loop.time() + patience

    run(model_folder, test, slow)


def test_a_batch_that_may_wait_begins_when_the_others_are_there_or_the_time_is_over(
    model_folder: Path, slow: Slow
) -> None:
    async def test(engine: Engine) -> None:
        for patience in (0.02, 60.0):
            engine.expected, engine.patient_until = 2, asyncio.get_running_loop().time() + patience
            first = asyncio.create_task(ask(engine, f"one {patience}"))
            await settle()
            assert not slow.batches[1:]
            second = asyncio.create_task(ask(engine, f"two {patience}")) if patience > 1 else first
            await asyncio.gather(first, second)
        assert [len(batch) for batch in slow.batches] == [1, 2]

    run(model_folder, test, slow)


def test_the_queue_is_bounded_but_takes_one_request_of_any_size(model_folder: Path, slow: Slow) -> None:
    async def test(engine: Engine) -> None:
        slow.gate.clear()
        first = asyncio.create_task(ask(engine, "one"))
        await settle()
        large = asyncio.create_task(ask(engine, *"abcdef"))
        await settle()
        with pytest.raises(Busy):
            await ask(engine, "g")
        slow.gate.set()
        await asyncio.gather(first, large)

    run(model_folder, test, slow, queue_sentences=3)


def test_no_request_is_taken_while_draining_or_for_an_unknown_direction(model_folder: Path) -> None:
    async def test(engine: Engine) -> None:
        with pytest.raises(Refused, match="no model translates en to de: there is de to en"):
            await engine.translate(("en", "de"), [Request("a")], SHORT)
        engine.draining = True
        with pytest.raises(Draining):
            await ask(engine, "one")

    run(model_folder, test)
