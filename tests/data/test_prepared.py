"""Promises of the command: a finished folder is whole and recognised, an unfinished one starts again, pairs add up."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nmt.config import Config, DataConfig, TokenizerConfig
from nmt.data import prepared as module
from nmt.data.cleaning import Ledger
from nmt.data.corpora import Corpus, load_corpus
from nmt.data.prepared import Prepared, is_prepared, prepare, prepare_run
from nmt.prepare import main

WORDS = ["Hund dog", "Katze cat", "Haus house", "Baum tree", "Straße street", "Kind child", "Fluss river", "Berg hill"]


def pairs(prefix: str, count: int = 60) -> list[tuple[str, str]]:
    chosen = [WORDS[n % 8].split() + WORDS[n // 8].split() for n in range(count)]
    return [(f"{prefix}: {a} und {c}", f"{prefix}: {b} and {d}") for a, b, c, d in chosen]


def corpus() -> Corpus:
    """A corpus whose training text meets every filter once."""
    train = [
        *pairs("eins"),
        pairs("eins")[0],
        ("a" * 2001, "b" * 2001),
        ("kurz", "long " * 99),
        ("val: Hund und Hund", "seen"),
        ("Hund " * 99 + "x", "dog " * 99 + "x"),
    ]
    val, test = pairs("val", 8), pairs("test", 8)
    ledgers = {
        "train": Ledger(read=len(train) + 1, dropped={"a side is blank": 1}, first={"a side is blank": 7}),
        "val": Ledger(read=8),
        "test": Ledger(read=9, dropped={"a side is blank": 1}),
    }
    return Corpus("mine", train, val, {"test": test}, ledgers, ["mine has a note."])


def config(runs: Path, **data: object) -> Config:
    return Config(
        runs=str(runs),
        data=DataConfig(**({"corpus": "mine", "max_pieces": 90} | data)),  # type: ignore[arg-type]
        tokenizer=TokenizerConfig(vocab_size=320),
    )


def silent(_: str) -> None:
    pass


def test_every_training_pair_is_kept_or_dropped_for_its_cause(tmp_path: Path) -> None:
    prepared = prepare(corpus(), config(tmp_path), tmp_path / "run", silent)
    assert prepared.train == pairs("eins")
    ledger = prepared.ledgers["train"]
    assert ledger.dropped == {
        "a side is blank": 1,
        "repeated": 1,
        "longer than 2,000 characters": 1,
        "lengths differ more than 5 times": 1,
        "source occurs in val or test": 1,
        "longer than 90 pieces": 1,
    }
    assert ledger.read == len(prepared.train) + sum(ledger.dropped.values())


def test_val_and_test_text_is_never_filtered(tmp_path: Path) -> None:
    long = Corpus(
        "mine",
        pairs("eins"),
        [("a" * 5000, "b")] * 2,
        {"test": [("c", "d" * 5000)] * 2},
        {"train": Ledger(read=60), "val": Ledger(read=2), "test": Ledger(read=2)},
    )
    prepared = prepare(long, config(tmp_path), tmp_path / "run", silent)
    assert prepared.val == long.val
    assert prepared.tests == long.tests


def test_the_folder_holds_what_was_prepared(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "mine"
    prepared = prepare(corpus(), config(tmp_path), folder, silent)
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()) == [
        "data/corpus.json",
        "data/test.src",
        "data/test.tgt",
        "data/train.src",
        "data/train.tgt",
        "data/val.src",
        "data/val.tgt",
        "ledger.json",
        "tokenizer/joint.model",
    ]
    assert (folder / "data" / "val.tgt").read_bytes() == "".join(f"{en}\n" for _, en in prepared.val).encode()
    loaded = Prepared.load(folder)
    for part in ("folder", "corpus", "train", "val", "tests", "ledgers", "notes"):
        assert getattr(loaded, part) == getattr(prepared, part), part
    assert loaded.corpus == "mine"
    assert loaded.tokenizer.encode_source(["Straße"]) == prepared.tokenizer.encode_source(["Straße"])


def test_preparing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        prepare(corpus(), config(tmp_path), tmp_path / name, silent)
    for path in (tmp_path / "one").rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


def test_notes_are_said_and_kept(tmp_path: Path) -> None:
    said: list[str] = []
    large = config(tmp_path)
    object.__setattr__(large.tokenizer, "vocab_size", 8000)
    prepared = prepare(corpus(), large, tmp_path / "run", said.append)
    assert prepared.notes[0] == "mine has a note."
    assert "fewer than tokenizer.vocab_size, 8,000" in prepared.notes[1]
    assert set(prepared.notes) <= set(said)


# Finished and unfinished folders


def test_a_finished_folder_is_returned_at_once_and_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = prepare(corpus(), config(tmp_path), tmp_path / "run", silent)
    monkeypatch.setattr(module, "train_tokenizer", None)
    said: list[str] = []
    again = prepare(corpus(), config(tmp_path), tmp_path / "run", said.append)
    assert again.train == first.train
    assert said == [f"{tmp_path / 'run'} is prepared already: 60 training pairs of mine"]


@pytest.mark.parametrize(
    "step", ["clean_train", "train_tokenizer", "_write_lines", "flush_to_disk", "move tokenizer", "move data"]
)
def test_a_preparation_that_was_interrupted_starts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    folder = tmp_path / "run"
    move = Path.replace

    def interrupt(*_: object) -> Path:
        raise KeyboardInterrupt

    def interrupted_move(path: Path, target: Path) -> Path:
        return interrupt() if step == f"move {path.name}" else move(path, target)

    with monkeypatch.context() as patch:
        if step.startswith("move"):
            patch.setattr(Path, "replace", interrupted_move)
        else:
            patch.setattr(module, step, interrupt)
        with pytest.raises(KeyboardInterrupt):
            prepare(corpus(), config(tmp_path), folder, silent)
    assert not is_prepared(folder)
    with pytest.raises(ValueError, match=r"is not prepared: run python -m nmt\.prepare"):
        Prepared.load(folder)
    prepared = prepare(corpus(), config(tmp_path), folder, silent)
    assert Prepared.load(folder).train == prepared.train
    assert sorted(path.name for path in folder.iterdir()) == ["data", "ledger.json", "tokenizer"]


def test_what_else_is_in_the_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("name: mine")
    prepare(corpus(), config(tmp_path), tmp_path, silent)
    assert (tmp_path / "config.yaml").read_text() == "name: mine"


def test_a_folder_prepared_with_other_settings_is_refused(tmp_path: Path) -> None:
    prepare(corpus(), config(tmp_path), tmp_path / "run", silent)
    with pytest.raises(ValueError, match=r"other settings: data\.max_ratio was 5\.0, is 3\.0\. Give the run another"):
        prepare(corpus(), config(tmp_path, max_ratio=3.0), tmp_path / "run", silent)


def test_auto_and_the_name_of_what_it_came_to_are_the_same_corpus(tmp_path: Path) -> None:
    prepare(corpus(), config(tmp_path, corpus="auto"), tmp_path / "run", silent)
    assert prepare(corpus(), config(tmp_path, corpus="multi30k"), tmp_path / "run", silent).corpus == "mine"


@pytest.mark.parametrize("names", [["train.src"], ["test.tgt"], ["val.src", "val.tgt"]])
def test_a_folder_whose_text_was_changed_is_refused(tmp_path: Path, names: list[str]) -> None:
    prepare(corpus(), config(tmp_path), tmp_path, silent)
    for name in names:
        path = tmp_path / "data" / name
        path.write_bytes(path.read_bytes() + b"one more\n")
    with pytest.raises(ValueError, match="was changed since it was prepared"):
        Prepared.load(tmp_path)


# What cannot be prepared


def test_a_corpus_of_which_nothing_is_left_says_where_it_went(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no training pair is left of 66: .*65 longer than 3 characters"):
        prepare(corpus(), config(tmp_path, max_characters=3), tmp_path / "run", silent)


def test_a_corpus_whose_pieces_are_all_too_many_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no training pair is left of 66: .* longer than 1 pieces"):
        prepare(corpus(), config(tmp_path, max_pieces=1), tmp_path / "run", silent)


# From settings to a run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split in ("train", "val", "test"):
        for side, language in enumerate(("de", "en")):
            (tmp_path / "mine").mkdir(exist_ok=True)
            text = "".join(f"{pair[side]}\n" for pair in pairs(split))
            (tmp_path / "mine" / f"{split}.{language}").write_text(text, encoding="utf-8")
    return tmp_path / "mine"


@pytest.fixture
def counted_loads(monkeypatch: pytest.MonkeyPatch) -> list[DataConfig]:
    loads: list[DataConfig] = []

    def load(data: DataConfig) -> Corpus:
        loads.append(data)
        return load_corpus(data)

    monkeypatch.setattr(module, "load_corpus", load)
    return loads


@pytest.mark.parametrize(("name", "run"), [("", "de-en-mine"), ("experiment", "experiment")])
def test_a_corpus_is_read_once_and_its_name_is_the_runs(
    tmp_path: Path, folder: Path, counted_loads: list[DataConfig], name: str, run: str
) -> None:
    settings = Config(
        name=name,
        runs=str(tmp_path / "runs"),
        data=DataConfig(corpus=str(folder)),
        tokenizer=TokenizerConfig(vocab_size=320),
    )
    first = prepare_run(settings, silent)
    again = prepare_run(settings, silent)
    assert len(counted_loads) == 1
    assert first.folder == again.folder == tmp_path / "runs" / run
    assert first.train == again.train == pairs("train")


def test_the_command_prepares_shows_the_ledger_and_names_the_folder(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["--data.corpus", str(folder), "--runs", str(tmp_path / "runs"), "--tokenizer.vocab_size", "320"]
    assert main(argv) == 0
    shown = capsys.readouterr().err
    assert f"Ready: {tmp_path / 'runs' / 'de-en-mine'}" in shown
    assert json.loads((tmp_path / "runs" / "de-en-mine" / "ledger.json").read_text())["train"]["kept"] == 60
    assert "kept" in shown
    assert main(argv) == 0
    assert "is prepared already: 60 training pairs of mine" in capsys.readouterr().err


def test_the_command_answers_a_mistake_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data.corpus", "nowhere"]) != 0
    assert capsys.readouterr().err.count("\n") == 1


def test_importing_the_command_loads_nothing_heavy() -> None:
    heavy = {"torch", "sentencepiece", "datasets", "huggingface_hub", "rich", "numpy", "jsonargparse"}
    code = f"import sys, nmt.prepare; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
