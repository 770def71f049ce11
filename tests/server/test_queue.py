"""The queue: what is translated together, whose turn it is, and who is refused."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from nmt.config.serve import ServeConfig
from nmt.reading.request import Constraints, Request, Term
from nmt.server.errors import Busy, Draining
from nmt.server.metrics import Metrics
from nmt.server.queue import Engine, Group, Item
from nmt.server.service import Service
from nmt.translation.translator import Translator
from tests.server.conftest import GERMAN, Slow
from tests.tiny import SHORT

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings() -> dict[str, Any]:
    """Of the engine; a test may give others."""
    return {}


@pytest.fixture
async def engine(slow: Slow, settings: dict[str, Any]) -> AsyncIterator[Engine]:
    engine = Engine(ServeConfig(workers=1, **settings), Metrics())
    yield engine
    slow.gate.set()
    engine.close()


Ask = Callable[..., Coroutine[Any, Any, list[str]]]
First = asyncio.Task[list[str]]


@pytest.fixture
def ask(engine: Engine, slow: Slow) -> Ask:
    """Asks the engine for translations of the slow translator."""

    async def ask(*texts: str, key: str = "") -> list[str]:
        lists = await engine.translate(slow, [Request(text) for text in texts], SHORT, key=key)
        return [best.text for best, *_ in lists]

    return ask


async def settle() -> None:
    """Let everything run that is due."""
    for _ in range(10):
        await asyncio.sleep(0)


async def begin(call: Coroutine[Any, Any, list[str]]) -> First:
    """Make a call, and let it come to where it waits."""
    task = asyncio.create_task(call)
    await settle()
    return task


@pytest.fixture
async def first(ask: Ask, slow: Slow) -> First:
    """A call whose line is in work until the gate opens."""
    slow.gate.clear()
    return await begin(ask("one"))


async def test_translations_are_those_of_the_translator(engine: Engine, translator: Translator) -> None:
    search = replace(SHORT, n_best=2)
    texts = [*GERMAN, "", f"{GERMAN[0]}\n\n{GERMAN[1]}", "https://a.de"]
    marked = [f"<p>{GERMAN[0]} <b>{GERMAN[2]}</b></p>"]
    found = await engine.translate(translator, [Request(text) for text in texts], search)
    assert [[t.text for t in some] for some in found] == [
        [t.text for t in some] for some in translator.translate_n_best(texts, search)
    ]
    [html] = await engine.translate(translator, [Request(marked[0])], search, markup="html")
    assert html[0].text.startswith("<p>")


async def test_requests_that_wait_share_a_batch(ask: Ask, first: First, slow: Slow) -> None:
    others = [await begin(ask(text)) for text in ("two", "three")]
    slow.gate.set()
    assert [*await asyncio.gather(first, *others)] == [["ONE"], ["TWO"], ["THREE"]]
    assert [len(batch) for batch in slow.batches] == [1, 2]


async def test_keys_take_turns(ask: Ask, first: First, slow: Slow) -> None:
    """A key with a few lines doesn't wait for all lines of a key with many."""
    many = asyncio.create_task(ask(*(f"many {n}" for n in range(20)), key="many"))
    few = await begin(ask("few", key="few"))
    slow.gate.set()
    await asyncio.gather(first, many, few)
    assert [text for batch in slow.batches for text in batch].index("few") < 10


@pytest.mark.parametrize("settings", [{"batch_tokens": 250}])
async def test_a_batch_is_bounded_and_of_similar_lengths(ask: Ask, first: First, slow: Slow) -> None:
    rest = await begin(ask("a" * 40, "b" * 400, "c" * 41, "d" * 399, "e" * 4000))
    slow.gate.set()
    await asyncio.gather(first, rest)
    assert [{text[0] for text in batch} for batch in slow.batches] == [{"o"}, {"a", "c"}, {"b", "d"}, {"e"}]


async def test_a_cancelled_call_leaves_the_queue(engine: Engine, ask: Ask, first: First, slow: Slow) -> None:
    gone = await begin(ask("gone", "gone too"))
    assert (engine.waiting, engine.running) == (2, 1)
    gone.cancel()
    await settle()
    assert (engine.waiting, engine.waiting_tokens, engine.queues) == (0, 0, {})
    slow.gate.set()
    await first
    assert slow.batches == [["one"]]


async def test_a_line_that_fails_takes_no_others_with_it(ask: Ask, first: First, slow: Slow) -> None:
    bad, good = await begin(ask("bad", "fine")), await begin(ask("good"))
    slow.gate.set()
    with pytest.raises(ValueError, match="a bad line"):
        await bad
    assert (await first, await good) == (["ONE"], ["GOOD"])


async def test_a_constraint_that_cannot_be_met_is_the_error_of_its_own_call(
    engine: Engine, translator: Translator
) -> None:
    request = Request(GERMAN[0], Constraints(must=(Term(("",)),)))
    with pytest.raises(ValueError):  # noqa: PT011 - the sentence is the compiler's
        await engine.translate(translator, [request], SHORT)


async def test_a_recent_line_is_not_translated_again(engine: Engine, ask: Ask, slow: Slow) -> None:
    assert await ask("one", "two\nthree") == ["ONE", "TWO\nTHREE"]
    assert await ask("three", "one") == ["THREE", "ONE"]
    assert [text for batch in slow.batches for text in batch] == ["one", "two", "three"]
    await engine.translate(slow, [Request("one")], replace(SHORT, beam_size=3))
    assert slow.batches[-1] == ["one"]


def test_a_new_model_has_translations_of_its_own_and_the_old_one_is_freed(service: Service, client: TestClient) -> None:
    client.post("/v1/translate", json={"text": GERMAN, "target": "en"})
    assert service.engine.cache.entries
    service.models.on_replaced()
    assert (service.engine.cache.size, len(service.engine.cache.entries)) == (0, 0)


@pytest.mark.parametrize("settings", [{"cache_tokens": 5}])
async def test_the_cache_is_bounded_and_keeps_what_was_used_last(engine: Engine, ask: Ask) -> None:
    for text in ("one", "two", "one", "three"):
        await ask(text)
    kept = [request.text for _, request in engine.cache.entries]
    assert kept == ["one", "three"]
    assert engine.cache.size <= 5


async def test_a_short_burst_waits_and_a_long_wait_is_refused(
    engine: Engine, ask: Ask, first: First, slow: Slow
) -> None:
    engine.speed = 1.0  # pieces a second
    waiting = await begin(ask("two", "three", "four " * 9))
    with pytest.raises(Busy) as busy:
        await ask("five")
    assert busy.value.retry_after >= 1
    engine.speed = 100.0
    later = await begin(ask("five"))
    slow.gate.set()
    assert [*await asyncio.gather(first, waiting, later)] == [["ONE"], ["TWO", "THREE", "FOUR " * 9], ["FIVE"]]


async def test_a_slow_first_line_does_not_make_the_service_refuse_a_burst(
    engine: Engine, ask: Ask, first: First, slow: Slow
) -> None:
    await asyncio.sleep(0.02)
    slow.gate.set()
    await first
    assert engine.speed == 0
    await ask(*map(str, range(20)))
    assert engine.speed > 0


@pytest.mark.parametrize(("seconds", "patience"), [(0.2, 0.02), (0.4, 0.04), (60.0, 0.05)])
async def test_under_load_a_batch_waits_for_others_a_tenth_of_the_last_one_but_not_long(
    engine: Engine, ask: Ask, slow: Slow, seconds: float, patience: float
) -> None:
    loop = asyncio.get_running_loop()
    await ask("one")
    done: asyncio.Future[Any] = loop.create_future()
    done.set_result(([[]], seconds))
    before = loop.time()
    item = Item(Group(slow, SHORT, "none"), Request("one"), 1, loop.create_future())
    engine.finish([item], False, done)
    assert before + patience <= engine.patient_until <= loop.time() + patience


async def test_a_batch_that_may_wait_begins_when_the_others_are_there_or_the_time_is_over(
    engine: Engine, ask: Ask, slow: Slow
) -> None:
    for patience in (0.02, 60.0):
        engine.expected, engine.patient_until = 2, asyncio.get_running_loop().time() + patience
        first = asyncio.create_task(ask(f"one {patience}"))
        await settle()
        assert not slow.batches[1:]
        second = asyncio.create_task(ask(f"two {patience}")) if patience > 1 else first
        await asyncio.gather(first, second)
    assert [len(batch) for batch in slow.batches] == [1, 2]


@pytest.mark.parametrize("settings", [{"queue_sentences": 3}])
async def test_the_queue_is_bounded_but_takes_one_request_of_any_size(ask: Ask, first: First, slow: Slow) -> None:
    large = await begin(ask(*"abcdef"))
    with pytest.raises(Busy):
        await ask("g")
    slow.gate.set()
    await asyncio.gather(first, large)


async def test_no_request_is_taken_while_draining(engine: Engine, ask: Ask) -> None:
    engine.draining = True
    with pytest.raises(Draining):
        await ask("one")
