"""The queue: what is translated together, whose turn it is, and who is refused."""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from typing import Any
from weakref import ref

import pytest

from nmt.config.serve import ServeConfig
from nmt.decode.stop import Stop
from nmt.reading.request import Constraints, Request
from nmt.server.errors import Busy, Refused
from nmt.server.metrics import Metrics
from nmt.server.work import queue
from nmt.server.work.owners import Places, Work
from nmt.server.work.queue import LONG, Cache, Engine, Group, Item, count, estimate
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
    engine = Engine(ServeConfig(workers=1, **settings), Metrics(), Places(2, "other"))
    yield engine
    slow.gate.set()
    engine.close()


Ask = Callable[..., Coroutine[Any, Any, list[str]]]
First = asyncio.Task[list[str]]


@pytest.fixture
def ask(engine: Engine, slow: Slow) -> Ask:
    """Asks the engine for translations of the slow translator."""

    async def ask(*texts: str, key: str = "") -> list[str]:
        lists = await engine.translate(Work("", key), slow, [Request(text) for text in texts], SHORT)
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


async def test_a_line_that_fails_takes_no_others_with_it(ask: Ask, first: First, slow: Slow) -> None:
    bad, good = await begin(ask("bad", "fine")), await begin(ask("good"))
    slow.gate.set()
    with pytest.raises(ValueError, match="a bad line"):
        await bad
    assert (await first, await good) == (["ONE"], ["GOOD"])


async def test_a_recent_line_is_not_translated_again(engine: Engine, ask: Ask, slow: Slow) -> None:
    assert await ask("one", "two\nthree") == ["ONE", "TWO\nTHREE"]
    assert await ask("three", "one") == ["THREE", "ONE"]
    assert [text for batch in slow.batches for text in batch] == ["one", "two", "three"]
    await engine.translate(Work(""), slow, [Request("one")], replace(SHORT, beam_size=3))
    assert slow.batches[-1] == ["one"]


async def test_a_new_model_has_own_translations_and_the_old_is_freed(engine: Engine, translator: Translator) -> None:
    """Also if its last batch ends after the new one was loaded."""
    for _ in range(2):
        model = Slow(translator)
        await engine.translate(Work(""), model, [Request("one")], SHORT)
        assert model.batches == [["one"]]
        old = ref(model)
        del model
        gc.collect()
        assert old() is None
    assert len(engine.cache.entries) == 2


@pytest.mark.parametrize("settings", [{"cache_tokens": 5}])
async def test_the_cache_is_bounded_and_keeps_what_was_used_last(engine: Engine, ask: Ask) -> None:
    for text in ("one", "two", "one", "three"):
        await ask(text)
    kept = [request.text for *_, request in engine.cache.entries]
    assert kept == ["one", "three"]
    assert engine.cache.size <= 5


def test_the_cache_counts_the_pieces_of_both_sides(translator: Translator) -> None:
    group, request = Group(translator, translator.search, "none"), Request(GERMAN[0])
    [found] = translator.translate_n_best([request])
    kept = sum(len(part.source) + len(part.hypothesis.ids) for part in found[0].parts)
    for most, n in ((kept, 0), (10 * kept, 1)):
        cache = Cache(most)
        cache.put(group, request, found)
        assert len(cache.entries) == n
        assert cache.size > n * kept - 1


async def test_a_burst_waits_and_a_long_wait_is_refused(engine: Engine, ask: Ask, first: First, slow: Slow) -> None:
    engine.speed = 1.0  # pieces a second
    waiting = await begin(ask("two", "three", "four " * 9))
    with pytest.raises(Busy) as busy:
        await ask("five")
    assert busy.value.retry_after >= 1
    engine.speed = 100.0
    later = await begin(ask("five"))
    slow.gate.set()
    assert [*await asyncio.gather(first, waiting, later)] == [["ONE"], ["TWO", "THREE", "FOUR " * 9], ["FIVE"]]


async def test_after_a_slow_first_line_a_burst_is_served(engine: Engine, ask: Ask, first: First, slow: Slow) -> None:
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


async def test_a_batch_may_wait_for_others_until_its_time_is_over(engine: Engine, ask: Ask, slow: Slow) -> None:
    for patience in (0.02, 60.0):
        engine.expected, engine.patient_until = 2, asyncio.get_running_loop().time() + patience
        first = asyncio.create_task(ask(f"one {patience}"))
        await settle()
        assert not slow.batches[1:]
        second = asyncio.create_task(ask(f"two {patience}")) if patience > 1 else first
        await asyncio.gather(first, second)
    assert [len(batch) for batch in slow.batches] == [1, 2]


@pytest.mark.parametrize("settings", [{"queue_sentences": 8}])
async def test_a_text_with_too_many_lines_is_not_cut(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "grow", None)
    with pytest.raises(Refused, match="more than 4 lines"):
        await ask("a\nb\nc\nd\ne")


@pytest.mark.parametrize("settings", [{"queue_sentences": 8}])
async def test_one_client_leaves_room_in_the_queue_for_others(ask: Ask, first: First, slow: Slow) -> None:
    with pytest.raises(Refused, match="more than 4 lines"):
        await ask(*"abcde", key="many")
    large = await begin(ask(*"abcd", key="many"))
    with pytest.raises(Busy):
        await ask("e", key="many")
    others = [await begin(ask("f", "g", key="second")), await begin(ask("h", key="third"))]
    slow.gate.set()
    assert [*map(len, await asyncio.gather(first, large, *others))] == [1, 4, 2, 1]


async def test_lines_that_may_take_long_leave_a_worker_free(slow: Slow) -> None:
    engine = Engine(ServeConfig(workers=2), Metrics(), Places(2, "other"))
    slow.gate.clear()
    wide, prefix = replace(SHORT, beam_size=7), Constraints("House " * 50)
    asked = [(Request(f"{n}"), wide) if n % 2 else (Request(f"{n}", prefix), slow.search) for n in range(99)]
    long = [asyncio.create_task(engine.translate(Work("", "many"), slow, [one], how)) for one, how in asked]
    await settle()
    assert engine.running == 1
    short = asyncio.create_task(engine.translate(Work("", "few"), slow, [Request("short")], slow.search))
    await settle()
    assert engine.running == 2
    slow.gate.set()
    await asyncio.gather(*long, short)
    engine.close()


@pytest.mark.parametrize("text", ["\u0436\u044f" * 150, "xq" * 300])
def test_pieces_of_a_line_that_may_be_long_are_counted(slow: Slow, text: str) -> None:
    """Characters without a piece and unusual letters have a piece for each character, or for each byte."""
    assert count(Request(text), slow.tokenizer) > LONG > estimate(Request(text))
    assert 490 < count(Request("1," * 250), slow.tokenizer) <= LONG, "so are signs and digits, in shorter lines too"


async def test_a_search_ends_when_nobody_waits(engine: Engine, slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def search(lines: Any, *_: Any, stop: Stop, **__: Any) -> Any:
        try:
            while True:
                stop.check()
                time.sleep(0.001)
        finally:
            ended.set()

    monkeypatch.setattr(slow, "translate_n_best", search, raising=False)
    waiting = [asyncio.create_task(engine.translate(Work(""), slow, [Request(text)], SHORT)) for text in "ab"]
    await settle()
    waiting[0].cancel()
    await asyncio.sleep(0.05)
    assert not ended.is_set()
    waiting[1].cancel()
    await asyncio.sleep(0.05)
    assert ended.is_set()


async def test_what_may_block_runs_in_turns_and_one_owner_leaves_a_thread_free() -> None:
    places, gate, order = Places(2, "test"), threading.Event(), list[str]()

    def work(name: str) -> None:
        gate.wait(5)
        order.append(name)

    many = [asyncio.create_task(places.run(Work("", "many"), work, f"many {n}")) for n in range(9)]
    await settle()
    few = asyncio.create_task(places.run(Work("", "few"), order.append, "few"))
    await few
    assert order == ["few"]
    stopped = Work("", "third")
    gone = asyncio.create_task(places.run(stopped, work, "third"))
    await settle()
    gone.cancel()
    await settle()
    assert stopped.stop.event.is_set()
    gate.set()
    await asyncio.gather(*many)
    await asyncio.sleep(0.05)
    del many, few, gone
    assert (places.free._value, dict(places.own)) == (2, {})
    places.close()


async def test_batches_are_small_only_while_several_owners_ask(engine: Engine, slow: Slow) -> None:
    engine.speed = 100.0
    for key in ("one", "one"):
        await engine.translate(Work("", key), slow, [Request(key)], slow.search)
        assert engine.most_pieces() == engine.config.batch_tokens
    engine.speed = 100.0
    await engine.translate(Work("", "two"), slow, [Request("two")], slow.search)
    engine.speed = 100.0
    assert engine.most_pieces() == 50
