"""Promises of engines: the same files whoever makes them; what is finished is not made again."""

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable
from functools import partial, partialmethod
from multiprocessing import get_context
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from nmt import train
from nmt.config import Config, DataConfig, TokenizerConfig
from nmt.data import texts
from nmt.data.cleaning.filters import Repeats
from nmt.data.store import engines, preparing, shards
from nmt.data.store.engines import Engine
from nmt.data.store.prepared import DRAFT, Prepared
from nmt.data.store.preparing import prepare, prepare_part
from nmt.data.store.shards import Draft
from nmt.data.texts import read_rows
from nmt.prepare import main
from tests import forks
from tests.data.corpus_files import interrupt, pairs_of, tree, write_corpus
from tests.tiny import Stderr

ONE = Engine(workers=1)
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")


@pytest.fixture
def cheap_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are forks of this process; test_a_killed_worker_is_told has new processes."""
    monkeypatch.setattr(engines, "get_context", lambda _: get_context("fork"))


def die(file: Path, n: int) -> None:
    """Kill this process at the first call for number 1."""
    if n == 1 and not file.exists():
        file.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    file.with_name(f"{n}.done").touch()


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_workers")
def test_more_workers_make_the_same_bytes(tmp_path: Path, settings: Config) -> None:
    first = prepare(None, settings, tmp_path / "one", engine=ONE)
    assert len(first.store) == 4
    assert first.ledgers["train"].dropped == {"repeated": 8}
    prepare(None, settings, tmp_path / "two", engine=Engine(workers=2))
    assert tree(tmp_path / "two") == tree(tmp_path / "one")


def test_shards_are_sorted_samples_by_hash_whatever_the_order_of_lines(tmp_path: Path, settings: Config) -> None:
    prepare(None, settings, tmp_path / "one", engine=ONE)
    for file in (tmp_path / "mine").glob("train.*"):
        file.write_text("".join(reversed(file.read_text("utf8").splitlines(keepends=True))), "utf8")
    prepare(None, settings, tmp_path / "two", engine=ONE)
    files = [sorted((tmp_path / run / "data").glob("*.safetensors")) for run in ("one", "two")]
    assert [f.read_bytes() for f in files[0]] == [f.read_bytes() for f in files[1]]
    rows = [list(read_rows(f.with_suffix(".parquet"))) for f in files[0]]
    for n, shard in enumerate(rows):
        assert shard == sorted(shard, key=shards.row_order)
        assert all(row.key % 4 == n for row in shard if not row.changed)
    assert sum(len(shard) for shard in rows) > 60 == sum(not row.changed for shard in rows for row in shard)


def test_parts_make_equal_bytes(tmp_path: Path, settings: Config, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(None, settings, tmp_path / "one", engine=ONE)
    first, second = (Engine(workers=1, part=(i, 2)) for i in (1, 2))
    run = tmp_path / "parts"
    assert not prepare_part(settings, run, first)
    assert "2 of 4 shards are not cleaned yet" in capsys.readouterr().err
    assert not prepare_part(settings, run, second), "it encodes its own shards"
    assert "2 of 4 shards are not encoded yet" in capsys.readouterr().err
    assert prepare_part(settings, run, first)
    prepare(None, settings, run, engine=second)
    (run / ".lock").unlink()
    assert tree(run) == tree(tmp_path / "one")


def argv_of(settings: Config) -> list[str]:
    """Options of nmt.prepare: these settings, in one process, for a run called run."""
    runs = ["--runs", settings.runs, "--name", "run", "--workers", "1"]
    return ["--data.corpus", settings.data.corpus, "--tokenizer.vocab_size", "320", *runs]


def test_the_last_part_shows_what_all_do(tmp_path: Path, settings: Config, capsys: pytest.CaptureFixture[str]) -> None:
    """The others say that they don't."""
    argv = [*argv_of(settings), "--explain", "1", "--part"]
    for part in ("1/2", "2/2"):
        assert main([*argv, part]) == 0
        captured = capsys.readouterr()
        assert not captured.out
        assert "The ledger, the warnings and --explain are left to the call" in captured.err
        assert "Ready" not in captured.err
    assert main([*argv, "1/2"]) == 0
    captured = capsys.readouterr()
    assert "\nDropped: repeated\n  train: " in captured.out
    assert re.search("dropped: repeated +│ +8 ", captured.err), "the ledger"
    assert "WARNING: 8 of 68 train pairs (12%) were dropped: repeated." in captured.err
    assert captured.err.splitlines()[-1] == f"Ready: {tmp_path / 'run'}"
    assert main([*argv, "2/2", "--data.max_pieces", "50"]) == 2
    assert "was prepared with other settings: data.max_pieces was 256, is 50" in capsys.readouterr().err


@pytest.mark.parametrize("part", ["1/1", "1/2"])
@pytest.mark.parametrize(("step", "told"), [("clean", "goes on with what is missing"), ("load_corpus", "starts again")])
def test_ctrl_c_says_what_the_same_command_will_do(
    settings: Config, monkeypatch: pytest.MonkeyPatch, stderr_of: Stderr, part: str, step: str, told: str
) -> None:
    monkeypatch.setattr(preparing if step == "load_corpus" else Draft, step, interrupt)
    said = stderr_of(main, [*argv_of(settings), "--part", part], status=130)
    assert f"the same command {told}" in said.splitlines()[-1]


@pytest.mark.slow
def test_a_killed_worker_is_told_and_the_rest_is_kept(tmp_path: Path) -> None:
    task = partial(die, tmp_path / "killed")
    killed = r"Cleaning: a worker process was killed.* the same command goes on"
    with pytest.raises(ValueError, match=killed), Engine(workers=2) as engine:
        engine.run(task, [0, 1, 2, 3], "Cleaning")
    with engine:
        engine.start(Engine)
        assert len(engine.pool._processes if engine.pool else ()) == 2, "all start before there are tasks"
        engine.run(task, [n for n in range(4) if not (tmp_path / f"{n}.done").exists()], "Cleaning")
    assert len(list(tmp_path.glob("*.done"))) == 4


def note_id(file: Path, n: int) -> None:
    with file.open("a") as out:
        out.write(f"{os.getpid()}\n")


@needs_proc
@pytest.mark.usefixtures("cheap_workers")
def test_processes_stay_for_next_tasks_and_end_with_the_engine(tmp_path: Path) -> None:
    with Engine(workers=2) as engine:
        for _ in range(3):
            engine.run(partial(note_id, tmp_path / "ids"), range(4), "Noting")
        ids = (tmp_path / "ids").read_text().split()
        assert len(ids) == 3 * 4
    assert len({*ids}) <= 2
    assert not any(is_running(int(process)) for process in ids)
    with engine:  # again, as for another corpus
        engine.run(partial(note_id, tmp_path / "others"), range(4), "Noting")
    assert not {*ids}.intersection((tmp_path / "others").read_text().split())


def write_id(folder: Path, n: int) -> None:
    (folder / str(n)).write_text(str(os.getpid()))
    time.sleep(100)


def is_running(process: int) -> bool:
    """Whether a process is there, and no zombie that nobody has waited for."""
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@needs_proc
@pytest.mark.usefixtures("cheap_workers")
def test_ctrl_c_ends_all_processes_at_once_and_they_say_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A terminal sends it to all of them; those that wait or start would print tracebacks above the message."""
    started, processes = time.monotonic(), list[int]()

    def wait_and_stop() -> None:
        with Engine(workers=2) as engine:
            engine.submit(partial(write_id, tmp_path), [1, 1])
            assert engine.pool
            processes.extend(engine.pool._processes)
            for process in processes:
                os.kill(process, signal.SIGINT)
            wait_for(lambda: (tmp_path / "1").exists())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wait_and_stop()
    assert time.monotonic() < started + 50, "a task takes longer"
    assert not any(map(is_running, processes))
    assert "Traceback" not in capfd.readouterr().err


@needs_proc
@pytest.mark.usefixtures("cheap_workers")
def test_workers_end_when_their_driver_is_killed(tmp_path: Path) -> None:

    def drive(_: list[str]) -> int:
        Engine(workers=2).run(partial(write_id, tmp_path), [0, 1], "Waiting")
        return 0

    with forks.start(drive, []) as driver:
        files = [tmp_path / "0", tmp_path / "1"]
        wait_for(lambda: all(file.exists() and file.read_text() for file in files))
        driver.kill()
    wait_for(lambda: not any(is_running(int(file.read_text())) for file in files))


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


STEPS = ["clean", "encode"]


@pytest.mark.parametrize(("step", "at"), [("clean", 2), ("encode", 0), ("encode", 3)])
def test_an_interrupted_preparation_does_only_what_is_missing(
    tmp_path: Path, settings: Config, monkeypatch: pytest.MonkeyPatch, step: str, at: int
) -> None:
    whole, calls, run = {name: getattr(Draft, name) for name in STEPS}, list[tuple[str, int]](), tmp_path / "run"

    def interrupted(draft: Draft, n: int) -> None:
        if n == at:
            raise KeyboardInterrupt
        whole[step](draft, n)

    def counted(draft: Draft, name: str, n: int) -> None:
        calls.append((name, n))
        whole[name](draft, n)

    prepare(None, settings, tmp_path / "one", engine=ONE)
    with monkeypatch.context() as patch:
        patch.setattr(Draft, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            prepare(None, settings, run, engine=ONE)
    for name in STEPS:
        monkeypatch.setattr(Draft, name, partialmethod(counted, name))
    prepare(None, settings, run, engine=ONE)
    later = [(name, n) for name in STEPS[STEPS.index(step) + 1 :] for n in range(4)]
    assert calls == [*((step, n) for n in range(at, 4)), *later]
    assert tree(run) == tree(tmp_path / "one")


def test_text_of_other_corpora_is_not_taken(tmp_path: Path, settings: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Draft, "encode", interrupt)
        with pytest.raises(KeyboardInterrupt):
            prepare(None, settings, tmp_path / "run", engine=ONE)
    assert (tmp_path / "run" / DRAFT).exists()
    for language, text in (("de", "Neu ist das"), ("en", "That is new")):
        with (tmp_path / "mine" / f"train.{language}").open("a") as file:
            file.write(f"{text}\n")
    assert ("Neu ist das", "That is new") in prepare(None, settings, tmp_path / "run", engine=ONE).train


def test_a_killed_driver_goes_on(tmp_path: Path, settings: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    argv = argv_of(settings)
    with monkeypatch.context() as patch:
        patch.setattr(Draft, "encode", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        assert forks.start(main, argv).wait(60) == -signal.SIGKILL
    assert len(list((tmp_path / "run" / DRAFT / "clean").iterdir())) == 4
    assert main(argv) == 0
    assert not (tmp_path / "run" / DRAFT).exists()
    assert len(Prepared.load(tmp_path / "run").train) == 60 + 5, "with copies that have placeholders"


@pytest.mark.parametrize("part", ["0/4", "5/4", "1", "a/b"])
def test_a_part_that_is_none_is_refused(part: str) -> None:
    with pytest.raises(ValueError, match=r"--part is .*: it must be I/N"):
        Engine.parse("0", part)


# Many shards: few files are open at a time, few are opened in all, and nothing large is made twice


def write(folder: Path, n_pairs: int) -> DataConfig:
    write_corpus(folder, train=pairs_of("train", n_pairs), val=pairs_of("val", 4), test=pairs_of("test", 4))
    return DataConfig(corpus=str(folder), text="pairs")


def prepare_and_train(data: list[str]) -> int:
    """In a process that may open few files."""
    resource = pytest.importorskip("resource")
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    shards.SHARD, texts.CHUNK = 1, 8
    model = "--model.d_model 16 --model.n_heads 2 --model.d_ff 32 --model.encoder_layers 1 --model.decoder_layers 1"
    steps = "--training.max_steps 2 --training.validate_every 2 --training.batch_tokens 512 --training.device cpu"
    return main([*data, "--workers", "1"]) or train.main([*data, *model.split(), *steps.split()])


def test_hundreds_of_shards_are_prepared_and_trained_on_with_few_open_files(tmp_path: Path) -> None:
    write(tmp_path / "mine", 400)
    data = ["--data.corpus", str(tmp_path / "mine"), "--runs", str(tmp_path), "--name", "run"]
    process = forks.start(prepare_and_train, [*data, "--tokenizer.vocab_size", "320"], stderr=PIPE, text=True)
    _, errors = process.communicate()
    assert process.returncode == 0, errors[-3000:]
    assert len(list((tmp_path / "run" / "data").glob("*.safetensors"))) == 512
    assert (tmp_path / "run" / "report.json").exists()


def test_files_that_dividing_opens_grow_as_shards_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of S shards, each file that was read was once divided into S groups, which each shard looked for: S² files."""
    size = 128
    config = Config(data=write(tmp_path / "mine", size * 8), tokenizer=TokenizerConfig(vocab_size=320))
    opened: Counter[str] = Counter()
    read, make = texts.read_rows, texts.writer_of

    def count(file: Path) -> Any:
        opened[file.parent.name if file.parent.parent.name == ".preparing" else "made"] += 1

    monkeypatch.setattr(shards, "SHARD", 8)
    monkeypatch.setattr(texts, "CHUNK", 8)
    monkeypatch.setattr(shards, "read_rows", lambda file: count(file) or read(file))
    monkeypatch.setattr(texts, "writer_of", lambda file: count(file) or make(file))
    monkeypatch.setattr(shards.Draft, "encode", interrupt)
    with pytest.raises(KeyboardInterrupt):
        prepare(None, config, tmp_path / "run", engine=ONE)
    divided = opened["read"] + opened["buckets"] + opened["parts"] + opened["made"]
    assert divided <= 4 * size + 2 * 32 * 64


def test_tables_of_held_out_text_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not for each shard and direction."""
    languages = ("de", "en", "fr")
    write_corpus(tmp_path, *languages, train=[[f"{language} Satz {n}" for language in languages] for n in range(100)])
    made, whole = list[Any](), Repeats.__init__
    monkeypatch.setattr(shards, "SHARD", 64)

    def counted(repeats: Repeats, *given: Any, **named: Any) -> None:
        made.append(given)
        whole(repeats, *given, **named)

    monkeypatch.setattr(Repeats, "__init__", counted)
    data = DataConfig(corpus=str(tmp_path), many_to_many=languages, text="pairs")
    prepared = prepare(None, Config(data=data, tokenizer=TokenizerConfig(vocab_size=320)), tmp_path / "run", engine=ONE)
    assert (len(prepared.store), len(made)) == (16, 1)
