"""Lines that other processes read get the translations that this process makes."""

import os
import weakref
from collections.abc import Iterator
from dataclasses import replace

import pytest

from nmt.data.tokenizer import Tokenizer
from nmt.decode.graphs import RecordedModel
from nmt.decode.pytorch import TorchEngine
from nmt.decode.stop import Stop
from nmt.model.encoder_decoder import EncoderDecoder
from nmt.reading.request import Constraints, Request, Term
from nmt.translation import readers
from nmt.translation.readers import Readers
from nmt.translation.translator import Translator
from tests.tiny import SHORT, make_model

ANSWER, CONVERSE = Readers.answer, Readers.converse
LINES: list[str | Request] = [
    "a dog runs",
    "",
    "“A dog”, says {name}. At 10:30!\nthe second line",
    "<b>A man</b> runs &amp; sings.",
    Request("a man", Constraints(must=(Term(("dog",)),), must_not=("man",))),
    Request("a man", Constraints(prefix="the")),
    *(f"line {n} of a long text" for n in range(20)),
]


@pytest.fixture(scope="module")
def translator(tokenizer: Tokenizer) -> Iterator[Translator]:
    """A translator with a process that reads."""
    made = Translator(make_model(tokenizer), tokenizer, replace(SHORT, guard=True))
    made.readers = Readers(made.engine)
    start(made)
    yield made
    readers.end(made.readers.processes)


def start(translator: Translator) -> None:
    assert translator.readers
    translator.readers.start(translator, 1)
    translator.readers.free.put(translator.readers.free.get(timeout=120))


def test_the_same_translations(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, apart = list[str](), list[Request]()

    def answer(self: Readers, name: str, arguments: tuple[object, ...]) -> tuple[bool, object]:
        asked.append(name)
        return ANSWER(self, name, arguments)

    def converse(self: Readers, process: readers.Process, message: tuple[list[Request], object, object]) -> object:
        apart.extend(message[0])
        return CONVERSE(self, process, message)

    monkeypatch.setattr(Readers, "answer", answer)
    monkeypatch.setattr(Readers, "converse", converse)
    found = translator.translate_n_best(LINES, markup="auto")
    assert asked.count("search") >= 20 / 4
    assert len(apart) == len(LINES) - 2  # all without constraints
    apart.clear()
    free = [line for line in LINES if isinstance(line, str)]
    translator.translate(free)
    assert len(apart) == len(free)
    monkeypatch.setattr(translator, "readers", None)
    wanted = translator.translate_n_best(LINES, markup="auto")
    assert [[t.text for t in n_best] for n_best in found] == [[t.text for t in n_best] for n_best in wanted]
    assert [n_best[0].flags for n_best in found] == [n_best[0].flags for n_best in wanted]
    assert [n_best[0].score for n_best in found] == pytest.approx([n_best[0].score for n_best in wanted], abs=1e-4)


def test_errors_of_the_engine_reach_the_caller(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("the logits are not numbers")

    monkeypatch.setattr(type(translator.engine), "search", fail)
    with pytest.raises(ValueError, match="the logits are not numbers"):
        translator.translate(["a dog runs"])
    monkeypatch.undo()
    assert translator.translate(["a dog runs"]) == translator.translate(["a dog runs"])


def test_calls_that_may_be_stopped_stay_here(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Readers, "translate", lambda *_: pytest.fail("the processes know nothing of stops"))
    translator.translate(["a dog"], stop=Stop(60))


def test_a_process_that_ends_loses_nothing(translator: Translator) -> None:
    wanted = translator.translate(LINES)
    assert translator.readers
    translator.readers.processes[0].kill()
    assert translator.translate(LINES) == wanted
    assert translator.readers.free.empty()


def test_without_a_process_lines_are_read_here(tokenizer: Tokenizer) -> None:
    translator = Translator(make_model(tokenizer), tokenizer, SHORT)
    translator.readers = Readers(translator.engine)
    translator.language = lambda: "no pickle holds this"  # type: ignore[assignment]
    translator.readers.start(translator, 1)
    translator.readers.processes[0].wait(timeout=60)
    assert translator.translate(["a dog"])
    assert translator.readers.free.empty()


def test_processes_start_after_many_lines(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "LEAST_LINES", 5)
    monkeypatch.setattr(readers, "usable_cores", lambda: 2)
    model = make_model(tokenizer)
    assert isinstance(model, EncoderDecoder)
    engine = TorchEngine.make([model])
    assert Translator(engine, tokenizer, SHORT).readers is None  # on a CPU
    engine = replace(engine, recorded=(RecordedModel(model),))  # as on a GPU
    translator = Translator(engine, tokenizer, SHORT)
    assert translator.readers
    translator.translate(["a dog"] * 4)
    assert not translator.readers.processes
    translator.translate(["a dog"])
    [process] = translator.readers.processes
    os.kill(process.pid, 0)
    reference = weakref.ref(translator.readers)
    translator.readers.free.put(translator.readers.free.get(timeout=120))
    del translator
    assert reference() is None
    assert process.returncode is not None
