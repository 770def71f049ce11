"""Preparation and accidents: edited text, damaged files, a full disk, two commands at once."""

import errno
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nmt.config import Config, DataConfig, TokenizerConfig
from nmt.data.corpora import Corpus, load_corpus
from nmt.data.store import preparing as module
from nmt.data.store import record as inputs
from nmt.data.store.engines import Engine
from nmt.data.store.prepared import Prepared
from nmt.data.store.preparing import prepare
from nmt.data.store.shards import Draft
from nmt.data.store.stages import reports, task
from nmt.files import locked
from nmt.prepare import main
from tests.data.corpus_files import edited, interrupt, tree, write_corpus
from tests.tiny import Stderr

PAIRS = [(f"das ist Satz {n} von allen", f"this is sentence {n} of all") for n in range(60)]


@pytest.fixture
def folder(here: Path) -> Path:
    """A corpus, beside the current folder's runs/."""
    return write_corpus(here / "mine", train=PAIRS[:40], val=PAIRS[40:50], test=PAIRS[50:])


CONFIG = Config(data=DataConfig(corpus="mine", text="pairs"), tokenizer=TokenizerConfig(vocab_size=290))
COMMAND = ["--data.corpus", "mine", "--data.placeholders", "0", "--tokenizer.vocab_size", "290"]
RUN = Path("runs/de-en-mine")


def test_an_edited_line_or_tokenizer_is_noticed(folder: Path) -> None:
    prepare(None, CONFIG, RUN)
    for name in ("data/train-00000-of-00001.safetensors", "data/val.tgt", "tokenizer/joint.model", "data/corpus.json"):
        whole = (RUN / name).read_bytes()
        (RUN / name).write_bytes(whole.replace(b"a", b"e", 1))
        with pytest.raises(ValueError, match=rf"{name} is damaged or was altered.* delete {RUN} and prepare again"):
            Prepared.load(RUN)
        (RUN / name).write_bytes(whole)
    Prepared.load(RUN)


@pytest.mark.parametrize("name", ["data/corpus.json", "ledger.json"])
def test_a_broken_record_is_one_message_with_its_name(folder: Path, name: str) -> None:
    prepare(None, CONFIG, RUN)
    for content in ("", "{}", "[1]", '{"train": {}}', "\0", "[" * 99_999):
        (RUN / name).write_text(content)
        with pytest.raises(ValueError, match=rf"{name} is damaged: .* delete {RUN} and prepare again"):
            prepare(None, CONFIG, RUN)


@pytest.mark.parametrize("step", ["load_corpus", "write_lines", "train_tokenizer", "write_sums"])
def test_a_failed_preparation_leaves_what_is_finished(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], step: str
) -> None:
    """Before all text was read, that is nothing."""

    def fail(*_: object, **_named: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def never(*_: object) -> None:
        raise AssertionError("it was cleaned already")

    with monkeypatch.context() as patch:
        patch.setattr(module, step, fail)
        assert main(COMMAND) == 2
    assert "No space left on device" in (said := capsys.readouterr().err.splitlines()[-1])
    assert step == "load_corpus" or f"nmt.prepare: {RUN / '.preparing'}" in said
    if step in ("load_corpus", "write_lines"):
        assert list(Path("runs").iterdir()) == []
    else:
        assert not list((RUN / ".preparing" / "working").iterdir()), "half-made files take no room"
        monkeypatch.setattr(Draft, "clean", never)
    assert main(COMMAND) == 0


def prepared_with(monkeypatch: pytest.MonkeyPatch, before: Config, now: Config) -> set[str]:
    """The steps that are done for the second settings, after the first ones ended with an error."""
    with pytest.raises(ValueError, match=r"the characters of the text .* need at least|no training .* is left"):
        prepare(None, before, RUN, engine=Engine(workers=1))
    done = set[str]()

    def counted(step: str, whole: Callable[[Draft, int], None]) -> Callable[[Draft, int], None]:
        def call(draft: Draft, n: int) -> None:
            done.add(step)
            whole(draft, n)

        return call

    def read(data: DataConfig) -> Corpus:
        done.add("read")
        return load_corpus(data)

    for step in ("divide", "clean", "encode"):
        monkeypatch.setattr(Draft, step, counted(step, getattr(Draft, step)))
    monkeypatch.setattr(module, "load_corpus", read)
    prepare(None, now, RUN, engine=Engine(workers=1))
    return done


def test_a_wrong_setting_costs_only_its_stage_and_later_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing finished is deleted, and nothing is done again whose settings are the same."""
    tokenizer = replace(CONFIG, tokenizer=TokenizerConfig(vocab_size=262))
    encoding = replace(CONFIG, data=replace(CONFIG.data, max_pieces=1))
    cleaning = replace(CONFIG, data=replace(CONFIG.data, max_characters=3))
    reading = replace(encoding, data=replace(encoding.data, text="source"))
    for wrong, repeated in (
        (tokenizer, {"encode"}),
        (encoding, {"encode"}),
        (cleaning, {"read", "divide", "clean", "encode"}),  # what was divided is deleted after cleaning
        (reading, {"read", "divide", "clean", "encode"}),
    ):
        with monkeypatch.context() as patch:
            assert prepared_with(patch, wrong, CONFIG) == repeated
        whole = tree(RUN)
        shutil.rmtree(RUN)
        prepare(None, CONFIG, RUN)
        assert tree(RUN) == whole
        shutil.rmtree(RUN)


def test_two_commands_at_once_do_not_mix(folder: Path, monkeypatch: pytest.MonkeyPatch, stderr_of: Stderr) -> None:
    finish = module.finish

    def while_another_starts(draft: Draft, folder: Path) -> None:
        assert f"{RUN} is in use by another process" in stderr_of(main, [*COMMAND[:-1], "300"])
        finish(draft, folder)

    monkeypatch.setattr(module, "finish", while_another_starts)
    assert main(COMMAND) == 0
    assert sorted(prepare(None, CONFIG, RUN).train) == sorted(PAIRS[:40])
    with locked(RUN):  # as by a training there
        assert main(COMMAND) == 2


def test_text_that_did_not_change_is_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(read: object) -> str:
        raise AssertionError(f"{read} is read")

    with monkeypatch.context() as patch:
        patch.setattr(module, "train_tokenizer", interrupt)
        with pytest.raises(KeyboardInterrupt):
            prepare(None, CONFIG, RUN)
    monkeypatch.setattr(inputs, "sha256", never)
    monkeypatch.setattr(module, "load_corpus", never)
    for _ in ("a preparation that goes on", "a finished one"):
        assert len(prepare(None, CONFIG, RUN).train) == 40
    (folder / "train.de").touch()
    with pytest.raises(AssertionError, match=r"train\.de is read"):
        prepare(None, CONFIG, RUN)


def test_the_record_of_an_older_nmt_has_no_times(folder: Path) -> None:
    prepare(None, CONFIG, RUN)
    with edited(RUN / "data" / "corpus.json") as record:
        for known in record["inputs"].values():
            del known["mtime_ns"]
    (RUN / "data" / "SHA256SUMS").unlink()
    assert len(prepare(None, CONFIG, RUN).train) == 40
    (folder / "train.de").write_bytes((folder / "train.de").read_bytes().replace(b"Satz 7", b"Satz 8"))
    with pytest.raises(ValueError, match=r"mine/train\.de was changed"):
        prepare(None, CONFIG, RUN)


def test_an_edited_corpus_is_noticed(folder: Path, capsys: pytest.CaptureFixture[str], stderr_of: Stderr) -> None:
    assert main(COMMAND) == 0
    (folder / "train.de").touch()
    assert main(COMMAND) == 0, "the time of a file is not its text"
    (folder / "train.de").write_bytes((folder / "train.de").read_bytes().replace(b"Satz 7", b"Satz 8"))
    (folder / "test_b.tsv").write_text("eins\tone\n")
    for language in ("de", "en"):
        (folder / f"val.{language}").rename(folder / f"valid.{language}")
    said = stderr_of(main, COMMAND).splitlines()
    assert len(said) == 1
    for change in ("mine/train.de was changed;", "mine/test_b.tsv is new;", "mine/valid.en is new;"):
        assert change in said[0]
    assert f"mine/val.en is missing. {RUN} keeps the text as it was. To use the new text, give" in said[0]
    (RUN / "checkpoints" / "step-00000001").mkdir(parents=True)
    assert main(COMMAND) == 0, "a training goes on with the text that it has"
    assert "mine/train.de was changed;" in capsys.readouterr().err
    folder.rename("elsewhere")
    assert "changed" not in stderr_of(main, COMMAND, status=0)


def test_a_task_may_be_done_twice_at_the_same_time(tmp_path: Path) -> None:
    with task(tmp_path, "a", 0) as (first, _), task(tmp_path, "a", 0) as (second, report):
        for working in (first, second):
            (working / "file").write_text("same")
        report["n"] = 1
        assert not list((tmp_path / "a").iterdir()), "nothing is half made"
    assert (tmp_path / "a" / "file").read_text() == "same"
    assert reports(tmp_path, "a") == [{}], "of the one that ended last"
    assert not list((tmp_path / "working").iterdir())
