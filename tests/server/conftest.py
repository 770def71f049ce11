"""A service with a tiny model: inside the test's process, and for real clients behind one port."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from nmt.config import SearchConfig
from nmt.config.serve import ServeConfig
from nmt.reading.request import Request, Translation
from nmt.server.app import make_app
from nmt.server.models import Direction, Models, Served, stamp_of
from nmt.server.run import Server
from nmt.server.service import Service
from nmt.server.store.keys import make_key
from nmt.translation.translator import Translator
from tests.tiny import PAIRS

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


class Phrases(Translator):
    """Knows the translations of some texts. Of others it has the terms that are asked for, or else the text itself."""

    def __init__(self, translator: Translator, known: Mapping[str, str]) -> None:
        self.__dict__ |= translator.__dict__
        self.known = known

    def translate_n_best(  # type: ignore[override]
        self, lines: Sequence[Request], search: SearchConfig | None = None, **options: Any
    ) -> list[list[Translation]]:
        return [[Translation(self.answer(line), 0.0, ())] for line in lines]

    def answer(self, line: Request) -> str:
        terms = " ".join(term.targets[0] for term in line.constraints.must)
        return terms or self.known.get(line.text, line.text)


def know(service: Service, translator: Translator, phrases: Mapping[str, str]) -> None:
    """Let a service have all directions between some languages. `phrases`: one phrase in each of them."""
    models, folder = service.models, service.models.all[0].folder

    def served(source: str, target: str) -> Served:
        phrase = Phrases(translator, {phrases[source]: phrases[target]})
        return Served(folder, [(source, target)], stamp_of(folder), phrase)

    pairs: list[Direction] = [(a, b) for a in phrases for b in phrases if a != b]
    models.by_direction = {pair: served(*pair) for pair in pairs}
    models.all = [*models.by_direction.values()]
    models.languages = {a: [b for b in phrases if a != b] for a in phrases}
    models.targets = [*phrases]


def load(folder: Path) -> Translator:
    return Translator.load(folder, "cpu", precision="fp32", backend="pytorch")  # as the fixture `translator`


def make_service(folder: Path, adapters: Mapping[str, Path] | None = None, /, **settings: object) -> Service:
    config = ServeConfig(**({"port": 0, "workers": 1, "ready_seconds": 0.0} | settings))  # type: ignore[arg-type]
    return Service(Models([folder], load, lazy=True, adapters=adapters), config)


@contextmanager
def running(service: Service) -> Iterator[str]:
    """The address of a service behind a port, while it runs in a thread of the test's process."""
    server = Server(service)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.stop()
    thread.join()


@pytest.fixture
def slow(translator: Translator) -> Slow:
    return Slow(translator)


@pytest.fixture
def anyio_backend() -> str:
    """What runs tests that are coroutines."""
    return "asyncio"


@pytest.fixture(scope="session")
def service(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Service:
    return make_service(model_folder, glossaries=str(tmp_path_factory.mktemp("glossaries")))


@pytest.fixture(scope="session")
def client(service: Service) -> Iterator[TestClient]:
    """Calls the service without a port. An error that the service doesn't handle would be raised."""
    with TestClient(make_app(service)) as client:
        yield client


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A file of keys."""
    make_key(tmp_path / "keys.json", "nobody")
    return tmp_path / "keys.json"


@pytest.fixture
def guarded_service(model_folder: Path, keys: Path, tmp_path: Path) -> Service:
    """A service for who has one of `keys`."""
    return make_service(model_folder, keys=str(keys), glossaries=str(tmp_path / "glossaries"))


@pytest.fixture
def guarded(guarded_service: Service) -> Iterator[TestClient]:
    with TestClient(make_app(guarded_service)) as client:
        yield client


@pytest.fixture(scope="session")
def url(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service that real clients can call."""
    with running(make_service(model_folder, glossaries=str(tmp_path_factory.mktemp("glossaries")))) as address:
        yield address
