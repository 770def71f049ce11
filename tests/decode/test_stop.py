"""A search ends when another thread stops it, or with what it has when its time is up, at most a step later, and leaves
all as it was."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from nmt.config import SearchConfig
from nmt.decode.ctranslate2 import CALL, POLL, CTranslate2Engine
from nmt.decode.engine import Engine
from nmt.decode.graphs import RecordedCache, RecordedModel
from nmt.decode.hypothesis import UNSEARCHED
from nmt.decode.pytorch import TorchEngine, pad
from nmt.decode.stop import Late, Stop, Stopped
from nmt.model.encoder_decoder import EncoderDecoder
from tests.decode.families import TINY, Looks, random_model

SOURCES = [[5, 6, 7], [8, 9]]
LONG = SearchConfig(beam_size=2, max_length=1000, min_length=1000, guard=False)
SETTINGS = {"beam": LONG, "greedy": replace(LONG, beam_size=1), "samples": replace(LONG, samples=3, n_best=3)}


def slow(monkeypatch: pytest.MonkeyPatch, before_step: Callable[[int], None]) -> TorchEngine:
    """An engine that calls a function with the number of each step before it takes it."""
    engine, steps, step = TorchEngine.make([random_model(1, config=TINY)]), [0], EncoderDecoder.newest_states

    def noted(*arguments: Any) -> torch.Tensor:
        steps[0] += 1
        before_step(steps[0])
        return step(*arguments)

    monkeypatch.setattr(EncoderDecoder, "newest_states", noted)
    return engine


@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
def test_a_search_ends_in_the_step_after_it_was_stopped(options: SearchConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, taken = Stop(), list[int]()

    def before_step(number: int) -> None:
        taken.append(number)
        if number == 7:
            stop.set()

    engine = slow(monkeypatch, before_step)
    with pytest.raises(Stopped, match="was stopped"):
        engine.search(SOURCES, options, stop=stop)
    assert taken[-1] == 7


def test_nothing_begins_when_the_time_is_up() -> None:
    engine, stop = TorchEngine.make([random_model(1, config=TINY)]), Stop(0.0)
    assert engine.search(SOURCES, SearchConfig(), stop=stop) == [[UNSEARCHED]] * 2
    with pytest.raises(Late):
        engine.score([(SOURCES[0], SOURCES[1])], stop)


@torch.inference_mode()
def test_a_search_that_was_stopped_changes_none_that_follows() -> None:
    """With recorded steps, whose buffers all searches share."""
    model = random_model(1, config=TINY)
    assert isinstance(model, EncoderDecoder)
    engine = replace(TorchEngine.make([model]), recorded=(RecordedModel(model),))
    options = SearchConfig(beam_size=3, n_best=3, max_length=9, guard=False)
    expected = engine.search(SOURCES, options)
    for steps in range(1, 5):
        with pytest.raises(Stopped):
            engine.search(SOURCES[:1], options, stop=Looks(steps, Stopped))
        assert isinstance(engine.recorded[0].start(*pad(SOURCES, engine.device), 9, 3), RecordedCache), "free buffers"
        assert engine.search(SOURCES, options, stop=Stop(1000)) == expected


class Library:
    """A stand-in of CTranslate2 whose calls end when `ended` is set. Before that, a `Stop` ends the search."""

    device, compute_type = "cpu", "float32"

    def __init__(self, stop: Stop, late: bool) -> None:
        self.stop, self.late, self.calls, self.ended = stop, late, 0, Event()

    def translate_batch(self, *_: Any, **__: Any) -> list[Any]:
        self.calls += 1
        if self.late:
            self.stop.deadline = time.monotonic()
        else:
            self.stop.set()
        assert self.ended.wait(60), "the call is waited for"
        return []

    score_batch = translate_batch


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", ["search", "score"])
def test_a_call_of_ctranslate2_is_left_when_it_is_stopped(name: str, late: bool) -> None:
    pieces, stop = [str(n) for n in range(20)], Stop(1000)
    library = Library(stop, late)
    engine: Engine = CTranslate2Engine(library, pieces, pieces, {}, None)
    pair = SOURCES[0], SOURCES[1]
    call = partial(engine.search, SOURCES, SearchConfig()) if name == "search" else partial(engine.score, [pair])
    for _ in range(2):
        if late and name == "search":
            assert call(stop=stop) == [[UNSEARCHED]] * 2
        else:
            with pytest.raises(Late if late else Stopped):
                call(stop=stop)
    assert library.calls == 1, "nothing begins after the end"
    library.ended.set()


class Timed:
    """A stand-in of CTranslate2 with searches that take a time for each sentence. `stop` ends the search in a call."""

    device, compute_type = "cpu", "float32"

    def __init__(self, clock: list[float], seconds: float, stop: Stop, last: int) -> None:
        self.clock, self.seconds, self.stop, self.last = clock, seconds, stop, last
        self.sizes: list[int] = []

    def translate_batch(self, sources: Sequence[Any], **_: Any) -> list[Any]:
        self.sizes.append(len(sources))
        self.clock[0] += self.seconds * len(sources)
        if len(self.sizes) == self.last:
            self.stop.set()
        found = SimpleNamespace(hypotheses=[["7"]], scores=[-1.0])
        return [found] * len(sources)


@pytest.mark.parametrize("seconds", [0.001, 0.02, 0.3])
def test_calls_of_ctranslate2_that_may_stop_take_half_a_second(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces, clock, stop = [str(n) for n in range(20)], [0.0], Stop(1000)
    monkeypatch.setattr("nmt.decode.ctranslate2.perf_counter", lambda: clock[0])
    library = Timed(clock, seconds, stop, last=10**9)
    engine = CTranslate2Engine(library, pieces, pieces, {piece: n for n, piece in enumerate(pieces)}, None)
    sources = [[5, 6, 7, 8]] * 64
    for _ in range(6):
        assert len(engine.search(sources, SearchConfig(), stop=stop)) == 64
    assert max(library.sizes[-1:]) * seconds <= CALL or library.sizes[-1] == 1
    assert sum(size * seconds > CALL for size in library.sizes[1:]) == 0, "only the first call is a guess"
    if seconds == 0.001:
        assert library.sizes[-1] == 64, "a fast model has whole batches"
    library.sizes.clear()
    library.last = 1
    if seconds > 0.001:
        with pytest.raises(Stopped):
            engine.search(sources, SearchConfig(), stop=stop)
        assert len(library.sizes) == 1, "nothing begins after the end"
    library.sizes.clear()
    monkeypatch.setattr("nmt.decode.ctranslate2.monotonic", lambda: clock[0])
    near, library.last = Stop(1000), 10**9
    near.deadline = clock[0] + 1.2
    monkeypatch.setattr("nmt.decode.stop.time.monotonic", lambda: clock[0])
    found = engine.search(sources, SearchConfig(), stop=near)
    assert sum(hypotheses == [UNSEARCHED] for hypotheses in found) == 64 - sum(library.sizes), "no call begins late"
    assert clock[0] <= near.deadline + seconds
    library.sizes.clear()
    engine.search(sources, SearchConfig())
    assert library.sizes == [64], "a search that can't be stopped stays whole"


def test_looks_at_a_call_of_ctranslate2_are_few() -> None:
    engine, stop = CTranslate2Engine(None, (), (), {}, None), Looks(10)
    assert engine.run(lambda: [Event().wait(0.1)], stop) == [False]
    assert 10 - stop.looks <= 1 + 0.1 / POLL
