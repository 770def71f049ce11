"""Promises of the command: a finished folder is whole and recognised, an unfinished one starts again, pairs add up."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from nmt.config import Config, DataConfig, TokenizerConfig
from nmt.data.cleaning.cleaner import Ledger
from nmt.data.corpora import Corpus
from nmt.data.store import preparing as module
from nmt.data.store.prepared import Prepared, require_own_run_folder
from nmt.data.store.preparing import prepare
from nmt.data.store.record import read_record
from nmt.data.texts import Texts
from nmt.prepare import main
from nmt.training.data import TrainingData
from nmt.upgrade import FORMAT
from tests.data.corpus_files import edited, interrupt, tree, write_corpus
from tests.tiny import Stderr

WORDS = ["Hund dog", "Katze cat", "Haus house", "Baum tree", "Straße street", "Kind child", "Fluss river", "Berg hill"]


def pairs(prefix: str, count: int = 60) -> list[tuple[str, str]]:
    chosen = [WORDS[n % 8].split() + WORDS[n // 8].split() for n in range(count)]
    return [(f"{prefix}: {a} und {c}", f"{prefix}: {b} and {d}") for a, b, c, d in chosen]


def corpus() -> Corpus:
    """A corpus whose training text meets every filter once; val and test have what no filter would leave."""
    train = [
        *pairs("eins"),
        pairs("eins")[0],
        ("a" * 2001, "b" * 2001),
        ("kurz", "long " * 99),
        ("val: Hund und Hund", "seen"),
        ("Hund " * 99 + "x", "dog " * 99 + "x"),
    ]
    val, test = [*pairs("val", 6), *[("a" * 5000, "b")] * 2], [*pairs("test", 6), *[("c", "d" * 5000)] * 2]
    ledgers = {
        "train": Ledger(read=len(train) + 1, dropped=Counter({"a side is blank": 1}), first={"a side is blank": 7}),
        "val": Ledger(read=8),
        "test": Ledger(read=9, dropped=Counter({"a side is blank": 1})),
    }
    return Corpus(
        "mine", Texts.of(train), val, {"test": test}, ledgers, ["mine has a note."], commits={"a/mine": "c0ffee"}
    )


def config(runs: Path, **data: object) -> Config:
    return Config(
        runs=str(runs),
        data=DataConfig(**({"corpus": "mine", "max_pieces": 90} | data)),  # type: ignore[arg-type]
        tokenizer=TokenizerConfig(vocab_size=320),
    )


def test_every_training_pair_is_in_the_folder_or_was_dropped_for_its_cause(tmp_path: Path) -> None:
    """Val and test text is never filtered, and what else is in the folder stays."""
    folder, others = tmp_path / "runs" / "mine", {"config.yaml": b"# Written by nmt 0.1.0.", "mine/file": b"mine"}
    for name, content in others.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    prepared = prepare(corpus(), config(tmp_path), folder)
    assert (prepared.val, prepared.tests) == (corpus().val, corpus().tests)
    assert tree(folder).items() >= others.items()
    assert sorted(prepared.train) == sorted(pairs("eins"))
    causes = ["longer than 2,000 characters", "lengths differ more than 5 times", "longer than 90 pieces"]
    causes += ["a side is blank", "repeated", "source occurs in val"]
    assert prepared.ledgers["train"].dropped == dict.fromkeys(causes, 1)
    assert prepared.ledgers["train"].read == 60 + 6
    of_data = ["SHA256SUMS", "corpus.json", "facts.json", "val.src", "val.tgt", "test.src", "test.tgt", "words.txt"]
    of_data += ["train-00000-of-00001.parquet", "train-00000-of-00001.safetensors"]
    of_tokenizer = [".nmt", "SHA256SUMS", "joint.model"]
    files = {*(f"data/{name}" for name in of_data), *(f"tokenizer/{name}" for name in of_tokenizer), "ledger.json"}
    assert tree(folder).keys() - others.keys() == files
    assert (folder / "data" / "val.tgt").read_bytes() == "".join(f"{en}\n" for _, en in prepared.val).encode()
    loaded = Prepared.load(folder)
    for part in ("folder", "name", "train", "val", "tests", "ledgers", "notes", "commits"):
        assert getattr(loaded, part) == getattr(prepared, part), part
    assert loaded.name == "mine"
    assert TrainingData.load(loaded).commits == loaded.commits == {"a/mine": "c0ffee"}
    assert loaded.tokenizer.encode_source(["Straße"]) == prepared.tokenizer.encode_source(["Straße"])


def test_notes_are_said_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = config(tmp_path)
    object.__setattr__(large.tokenizer, "vocab_size", 8000)
    prepared = prepare(corpus(), large, tmp_path / "run")
    assert prepared.notes[0] == "mine has a note."
    assert "fewer than tokenizer.vocab_size, 8,000" in prepared.notes[1]
    assert set(prepared.notes) <= set(capsys.readouterr().err.splitlines())


# Finished and unfinished folders


def test_a_finished_folder_is_returned_at_once_or_refused_with_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = prepare(corpus(), config(tmp_path), tmp_path / "run")
    monkeypatch.setattr(module, "train_tokenizer", None)
    capsys.readouterr()
    again = prepare(corpus(), config(tmp_path), tmp_path / "run")
    assert again.train == first.train
    assert f"{tmp_path / 'run'} is prepared already: 60 pairs of mine for training" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"other settings: data\.max_ratio was 5\.0, is 3\.0\. Give the run another"):
        prepare(corpus(), config(tmp_path, max_ratio=3.0), tmp_path / "run")


@pytest.mark.parametrize(
    "step", ["shards_for", "train_tokenizer", "write_lines", "write_sums", "flush_to_disk", "move data"]
)
def test_a_preparation_that_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    folder = tmp_path / "run"
    move = Path.replace

    def interrupted_move(path: Path, target: Path) -> Path:
        return interrupt() if step == f"move {path.name}" else move(path, target)

    with monkeypatch.context() as patch:
        if step.startswith("move"):
            patch.setattr(Path, "replace", interrupted_move)
        else:
            patch.setattr(module, step, interrupt)
        with pytest.raises(KeyboardInterrupt):
            prepare(corpus(), config(tmp_path), folder)
    assert read_record(folder) is None
    with pytest.raises(ValueError, match=r"is not prepared: run (\S*python -m nmt\.|nmt )prepare"):
        Prepared.load(folder)
    prepared = prepare(corpus(), config(tmp_path), folder)
    assert Prepared.load(folder).train == prepared.train
    assert sorted(path.name for path in folder.iterdir()) == ["data", "ledger.json", "tokenizer"]


def test_auto_and_what_it_came_to_are_the_same_corpus_and_another_sample_for_the_tokenizer_changes_nothing(
    tmp_path: Path,
) -> None:
    prepare(corpus(), config(tmp_path, corpus="auto"), tmp_path / "run")
    with edited(tmp_path / "run" / "data" / "corpus.json") as record:
        record["settings"]["tokenizer"]["sample_characters"] = 100_000_000  # the default of an older nmt
    without_hashes(tmp_path / "run")
    assert prepare(corpus(), config(tmp_path, corpus="multi30k"), tmp_path / "run").name == "mine"


def without_hashes(folder: Path) -> None:
    """As a folder that an older nmt prepared."""
    for part in ("data", "tokenizer"):
        (folder / part / "SHA256SUMS").unlink()
    with edited(folder / "data" / "corpus.json") as record:
        del record["inputs"]


@pytest.mark.parametrize("names", [["test.tgt"], ["val.src", "val.tgt"]])
def test_a_folder_of_an_older_nmt_whose_text_was_changed_is_refused(tmp_path: Path, names: list[str]) -> None:
    prepare(corpus(), config(tmp_path), tmp_path)
    for name in names:
        path = tmp_path / "data" / name
        path.write_bytes(path.read_bytes() + b"one more\n")
    without_hashes(tmp_path)
    with pytest.raises(ValueError, match=r"lines.*, not .* each.* delete .* and prepare again"):
        Prepared.load(tmp_path)


def test_a_record_of_a_newer_nmt_is_refused(tmp_path: Path) -> None:
    prepare(corpus(), config(tmp_path), tmp_path)
    without_hashes(tmp_path)
    with edited(tmp_path / "data" / "corpus.json") as record:
        assert record["format"] == FORMAT
        record["format"] += 1
    with pytest.raises(ValueError, match=rf"corpus\.json has format {FORMAT + 1}, of a newer nmt"):
        Prepared.load(tmp_path)


# What is not the run's own


@pytest.fixture
def project(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, the current one, with a corpus in data/, a tokenizer in tokenizer/ and a README."""
    project = tmp_path / "proj"
    project.mkdir()
    folder.rename(project / "data")
    (project / "tokenizer").mkdir()
    (project / "tokenizer" / "mine.txt").write_text("mine")
    (project / "README").write_text("mine")
    monkeypatch.chdir(project)
    return project


@pytest.mark.parametrize(
    ("setting", "place"),
    [
        *(("data.corpus", place) for place in ("data", "../proj/data/train", "link", "hub:data", ".")),
        ("data.more", "[{corpus: data}]"),
        ("tokenizer.folder", "tokenizer"),
    ],
)
def test_what_is_read_where_the_run_will_be_is_refused_and_stays(
    project: Path, stderr_of: Stderr, setting: str, place: str
) -> None:
    (project / "link").symlink_to(project / "data")
    before = tree(project)
    given = ["--data.corpus", "phrasebook", "--runs", "..", "--name", "proj", f"--{setting}", place]
    assert re.search(rf"{setting} is .*, but the run in \.\./proj keeps its own", stderr_of(main, given))
    assert tree(project) == before


def test_a_folder_that_is_no_run_is_refused_and_stays(project: Path, tmp_path: Path) -> None:
    (project / "data").rename(tmp_path / "elsewhere")
    (project / "data").mkdir()
    (project / "data" / "corpus.json").write_text('{"corpus": "mine"}')  # not as a run's
    before = tree(project)
    settings = Config(name="proj", runs="..", data=DataConfig(corpus=str(tmp_path / "elsewhere")))
    with pytest.raises(ValueError, match=r"\.\./proj is not empty, and it isn't a run folder that nmt made"):
        prepare(None, settings, Path("..") / "proj")
    assert tree(project) == before


def test_a_place_of_runs_that_is_no_folder_to_write_to_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cap.xlsx").touch()
    (tmp_path / "ro").mkdir()
    monkeypatch.setattr("os.access", lambda place, mode: place != tmp_path / "ro")
    for place in (tmp_path / "cap.xlsx", tmp_path / "ro"):
        for run in (place, place / "new"):
            with pytest.raises(ValueError, match=rf"^--runs is runs, but {place} is no folder that can be written to"):
                require_own_run_folder(Config(), run)


@pytest.mark.parametrize("name", ["data", "tokenizer", ".preparing"])
def test_a_folder_of_the_user_s_own_in_a_run_is_refused_and_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.yaml").write_text("# Written by nmt 0.1.0.\n")
    (tmp_path / name).mkdir()
    (tmp_path / name / "thesis").write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(ValueError, match=rf"{name} is in the way, .* move it elsewhere"):
        prepare(corpus(), config(tmp_path), tmp_path)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("names", [[], [".lock"], [".lock", "config.yaml.partial"]])
def test_a_folder_in_which_a_run_has_only_begun_is_its_own(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).touch()
    require_own_run_folder(config(tmp_path), tmp_path)
    require_own_run_folder(config(tmp_path), tmp_path / "new")


# What cannot be prepared


@pytest.mark.parametrize(
    ("setting", "said"),
    [({"max_characters": 3}, ".*65 longer than 3 characters"), ({"max_pieces": 1}, ".* longer than 1 pieces")],
)
def test_a_corpus_of_which_nothing_is_left_says_why(tmp_path: Path, setting: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=f"no training pair is left of 66: {said}"):
        prepare(corpus(), config(tmp_path, **setting), tmp_path / "run")


# From settings to a run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "mine", **{split: pairs(split) for split in ("train", "val", "test")})


@pytest.mark.parametrize(("text", "read"), [("pairs", 67), ("source", 67), ("target", 67), ("both", 134)])
def test_texts_out_are_texts_in_without_those_in_the_ledger(
    tmp_path: Path, folder: Path, text: str, read: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """In each language there are 60 good texts, and one for each cause."""
    held_out, known = pairs("val")[3], pairs("train")[5]
    for side, language in enumerate(("de", "en")):
        faulty = ["", held_out[side], known[side], "b" * 2001, "a b c " * 30 + language, held_out[side]]
        with (folder / f"train.{language}").open("ab") as file:
            file.write("".join(f"{line}\n" for line in faulty).encode() + b"\xff\n")
    settings = replace(config(tmp_path, corpus=str(folder), text=text), name="run")
    prepared = prepare(None, settings, tmp_path / "run")
    ledger = prepared.ledgers["train"]
    assert ledger.read == read
    assert ledger.read - len(prepared.train) == sum(ledger.dropped.values()) == 7 * read // 67
    cause = "source occurs in val" if text == "pairs" else "occurs in val"
    assert ledger.dropped[cause] == 2 * read // 67
    sides = {"source": (0,), "target": (1,), "both": (0, 1)}.get(text, ())
    good = [("", pair[side]) for pair in pairs("train") for side in sides] or pairs("train")
    assert sorted(prepared.train) == sorted(good)
    assert [len(prepared.val), len(prepared.tests["test"])] == [len(good)] * 2
    loaded = Prepared.load(tmp_path / "run")
    assert (loaded.train, loaded.val, loaded.ledgers) == (prepared.train, prepared.val, prepared.ledgers)
    assert loaded.ledgers["val"].unit == ("pair" if text == "pairs" else "text")
    if text != "pairs":
        assert {source for source, _ in prepared.train} == {""}
        assert f"Training the tokenizer on {len(good) + read // 67} texts of mine" in capsys.readouterr().err
