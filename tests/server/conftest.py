"""A service with a tiny model: inside the test's process, and for real clients behind one port."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from nmt.config import SearchConfig
from nmt.config.serve import ServeConfig
from nmt.reading.request import Request, Translation
from nmt.server.app import make_app
from nmt.server.models import Models
from nmt.server.service import Service
from nmt.translation.translator import Translator
from tests.server.running import running


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


def load(folder: Path) -> Translator:
    return Translator.load(folder, "cpu", precision="fp32")


def make_service(folder: Path, adapters: Mapping[str, Path] | None = None, /, **settings: object) -> Service:
    config = ServeConfig(**({"port": 0, "workers": 1, "ready_seconds": 0.0} | settings))  # type: ignore[arg-type]
    return Service(Models([folder], load, lazy=True, adapters=adapters), config)


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


@pytest.fixture(scope="session")
def url(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service that real clients can call."""
    with running(make_service(model_folder, glossaries=str(tmp_path_factory.mktemp("glossaries")))) as address:
        yield address
