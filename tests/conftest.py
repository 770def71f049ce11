"""Settings of all tests: one CPU thread, so that results repeat and tests can share a machine; no hub, no make."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import settings

from benchmarks.rows import Row, last_run
from nmt.data.tokenizer import Tokenizer
from nmt.translation.translator import Translator
from tests import forks, pretend
from tests.tiny import SHORT, Stderr, make_model, save_scorer, save_tiny

# What `--quick` leaves out: files that train, start commands, import large libraries or search a lot. They take two
# thirds of the time of one case of each test.
NOT_QUICK = (
    *("interop", "data/corpora/test_hub.py", "data/phrasebook/test_phrasebook.py", "data/test_resolve.py"),
    *("data/store/test_prepared_accidents.py", "translation/test_exported.py", "model/test_cost.py"),
    *("data/store/test_engines.py", "translation/test_pair_scorer.py"),
    *("decode/test_beam.py", "decode/test_graphs.py", "decode/test_phrase_search.py"),
    *("translation/test_jobs.py", "training/test_checkpoint.py", "training/test_finetuning.py"),
    *("model/test_combinations.py", "model/test_device.py", "training/test_counts.py", "training/test_lora.py"),
    *("training/test_loop.py", "training/test_objectives.py", "test_augment.py", "test_docs.py", "test_inspect.py"),
    *("test_many_to_many.py", "test_saved.py", "test_tokenizer.py", "test_train.py", "test_translate.py"),
)

os.environ["NMT_CACHE"] = tempfile.mkdtemp(prefix="nmt-cache-")
os.environ["HF_HUB_OFFLINE"] = "1"  # read by the hub's client, which no test module imports at its top
for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):  # a test that calls make is no part of the make that runs the tests
    os.environ.pop(name, None)
# Where tests run in the background, Ctrl-C is ignored, and every process they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
torch.set_num_threads(1)
os.fsync = lambda fd: None  # takes 10 ms a file, and only a machine that stops shows what it is for
# Where several processes share the tests, each stays on a core of its own, and so does what its tests start.
if (worker := os.environ.get("PYTEST_XDIST_WORKER")) and hasattr(os, "sched_setaffinity"):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})
settings.register_profile("nmt", deadline=None, max_examples=25)
settings.register_profile("quick", deadline=None, max_examples=2)
settings.load_profile("nmt")


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["NMT_CACHE"], ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--auto", choices=["fp32", "bf16"], help="what precision auto means, whatever the machine has")
    parser.addoption(
        "--quick",
        action="store_true",
        help="one case of each test of the fast files, and two examples of each property",
    )
    parser.addoption("--whole", action="store_true", help="the walks of the documentation as they are written: minutes")


def pytest_configure(config: pytest.Config) -> None:
    if wanted := config.getoption("--auto"):
        for patch in pretend.patches(wanted):
            setattr(*patch)
    if config.getoption("--quick"):
        settings.load_profile("quick")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    path = collection_path.relative_to(Path(__file__).parent)
    return True if config.getoption("--quick") and path.as_posix() in NOT_QUICK else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that no process waits for another at the end."""
    if config.getoption("--quick"):
        fast = (item for item in items if not any(map(item.get_closest_marker, ("slow", "services"))))
        chosen = {item.nodeid.partition("[")[0]: item for item in reversed([*fast])}
        items[:] = reversed(chosen.values())
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture
def auto(monkeypatch: pytest.MonkeyPatch) -> str:
    """What precision `auto` is for translating, on a machine that could compute in bfloat16."""
    for owner, name, value in pretend.patches("bf16"):
        monkeypatch.setattr(owner, name, value)
    return "fp32"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, as the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def stderr_of(request: pytest.FixtureRequest) -> Stderr:
    """Makes a call of a command, which must return this status; gives what it then wrote to stderr."""
    capture = request.getfixturevalue("capfd" if "capfd" in request.fixturenames else "capsys")

    def call(command: Callable[..., int], *arguments: Any, status: int = 2) -> str:
        capture.readouterr()
        assert command(*arguments) == status
        captured = capture.readouterr()
        assert status == 0 or not captured.out
        return str(captured.err)

    return call


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    """A tokenizer of the pairs of tests/tiny.py, stored: what random models say depends on its pieces."""
    return Tokenizer.load(Path(__file__).parent / "saved" / "tokenizer")


@pytest.fixture(scope="session")
def translator(tokenizer: Tokenizer) -> Translator:
    """A tiny random model in fp32, which translates without the guard."""
    return Translator(make_model(tokenizer), tokenizer, SHORT)


@pytest.fixture(scope="session")
def model_folder(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the model of `translator`."""
    return save_tiny(tmp_path_factory.mktemp("model") / "model", make_model(tokenizer), tokenizer)


@pytest.fixture(scope="session")
def scorer_folder(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a pair scorer with random weights."""
    return save_scorer(tmp_path_factory.mktemp("scorer") / "model", tokenizer)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: it drives the browser")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not found:
        pytest.skip("no Chromium is installed, such as Debian's package chromium")
    with playwright.sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=found, args=["--no-sandbox"])


@pytest.fixture
def run_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Row]]:
    """Runs a benchmark with the options of a command line in this process, and its parts in forks of it; gives the rows
    that it adds."""
    monkeypatch.setattr(subprocess, "Popen", forks.start_known)

    def run(module: ModuleType, *options: object) -> list[Row]:
        words = [
            word for part in options for word in ([str(part)] if isinstance(part, Path) else shlex.split(str(part)))
        ]
        rows = tmp_path / "rows.jsonl"
        monkeypatch.setattr(sys, "argv", [str(module.__file__), *words, "--json", str(rows)])
        assert module.main() == 0
        return last_run(rows)

    return run
