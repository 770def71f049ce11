"""The hub: a data set is read by columns, and whether the hub can be used is decided in bounded time."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nmt.config import DataConfig
from nmt.config.data import Text
from nmt.data.corpora import corpus_files, hub
from tests.data.corpus_files import load, pairs_of
from tests.interop.hub_server import COMMIT
from tests.interop.hub_server import hub as serving


@pytest.mark.parametrize("column", ["own", "translation"])
@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_local_data_set_is_read_by_columns(tmp_path: Path, column: str, form: str) -> None:
    from datasets import Dataset

    for split in ("train", "validation", "test"):
        rows = [{"de": de, "en": en, "fr": None} for de, en in [*pairs_of(split), ("Ohne Übersetzung", None)]]
        dataset = Dataset.from_list([{"id": 1, **row} if column == "own" else {"translation": row} for row in rows])
        path = tmp_path / "talks" / f"{split}.{form}"
        path.parent.mkdir(exist_ok=True)
        dataset.to_parquet(path) if form == "parquet" else dataset.to_json(path)
    corpus = load(f"hub:{tmp_path / 'talks'}")
    assert (corpus.name, [*corpus.train], corpus.val) == ("talks", pairs_of("train"), pairs_of("validation"))
    assert corpus.tests == {"test": pairs_of("test")}
    assert corpus.ledgers["train"].dropped == {"no text in one or both languages": 1}
    assert corpus.ledgers["train"].first == {"no text in one or both languages": 4}
    with pytest.raises(ValueError, match=r"no columns for de and cs.* it has "):
        load(f"hub:{tmp_path / 'talks'}", "de", "cs")


@pytest.mark.parametrize(("column", "text"), [("en", "target"), ("de", "source"), ("text", "target")])
def test_a_data_set_of_one_language_is_read(tmp_path: Path, column: str, text: Text) -> None:
    rows = [json.dumps({"id": n, column: f"sentence {n}"}) for n in range(40)]
    (tmp_path / "train.jsonl").write_text("\n".join([*rows, json.dumps({"id": 40, column: None})]))
    corpus = load(f"hub:{tmp_path}", text=text)
    texts = [*corpus.train, *corpus.val, *corpus.tests["test"]]
    assert sorted(texts) == sorted(("", f"sentence {n}") for n in range(40))
    assert corpus.ledgers["train"].dropped[f"no text in {'de' if text == 'source' else 'en'}"] == 1
    with pytest.raises(ValueError, match="no columns for de and en"):
        load(f"hub:{tmp_path}", text="both")


def test_the_configuration_that_is_named_is_read(tmp_path: Path) -> None:
    configs = [f"- config_name: {name}\n  data_files: {name}.jsonl\n" for name in ("one", "two")]
    (tmp_path / "README.md").write_text(f"---\nconfigs:\n{''.join(configs)}---\n")
    for name in ("one", "two"):
        rows = (json.dumps({"de": de, "en": en}) for de, en in pairs_of(name, 40))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows))
    assert {source.split()[0] for source, _ in load(f"hub:{tmp_path}:two").train} == {"two"}


def test_a_data_set_that_cannot_be_used_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text('{"de": "eins", "en": "one"}\n')
    with pytest.raises(ValueError, match="no split named train; it has test"):
        load(f"hub:{tmp_path}")
    (tmp_path / "train.jsonl").write_text('{"de": "eins", "en": "one"}\nnot JSON')
    with pytest.raises(ValueError, match=r"can't be loaded: JSON parse error: Invalid value"):
        load(f"hub:{tmp_path}")
    with pytest.raises(ValueError, match="lacks the data set's name"):
        load("hub:")


@pytest.mark.parametrize(
    ("corpus", "place"),
    [
        ("hub:wmt/wmt14", hub.Place("wmt/wmt14")),
        ("hub:wmt/wmt14:de-en", hub.Place("wmt/wmt14", "", "de-en")),
        ("hub:wmt/wmt14@v1.2:de-en", hub.Place("wmt/wmt14", "v1.2", "de-en")),
        ("hub:wmt/wmt14@refs/pr/1", hub.Place("wmt/wmt14", "refs/pr/1")),
    ],
)
def test_a_name_may_have_a_revision_and_a_configuration(corpus: str, place: hub.Place) -> None:
    assert hub.parse_hub(DataConfig(corpus=corpus)) == place
    assert hub.hub_name(DataConfig(corpus=corpus)) == "wmt14"


def test_a_revision_is_named_and_not_of_a_local_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="lacks a revision after @"):
        load("hub:wmt/wmt14@:de-en")
    (tmp_path / "talks").mkdir()
    with pytest.raises(ValueError, match=r"talks is a local folder, which has no revisions: leave @v1 out"):
        load(f"hub:{tmp_path / 'talks'}@v1")
    (tmp_path / "talks@v1").mkdir()
    assert hub.parse_hub(DataConfig(corpus=f"hub:{tmp_path}/talks@v1")).dataset == f"{tmp_path}/talks@v1"


Read = list[Any]  # name, training pairs, names of test sets, notes, commits


def load_in_a_new_process(home: Path, endpoint: str, *corpora: str) -> list[Read]:
    """Corpora with a hub of our own: its client reads the environment only when it is imported."""
    code = """if True:
        import json, sys
        from types import SimpleNamespace
        from nmt.config import DataConfig
        from nmt.data import corpora, phrasebook
        book = SimpleNamespace(train=[("eins", "one")], val=[("zwei", "two")], test=[("drei", "three")])
        phrasebook.phrasebook = lambda: book
        for name in sys.argv[1:]:
            try:
                c = corpora.load_corpus(DataConfig(corpus=name))
                print("READ", json.dumps([c.name, list(c.train), list(c.tests), c.notes, c.commits]))
            except ValueError as error:
                print("READ", json.dumps([str(error), [], [], [], {}]))"""
    environment = os.environ | {"HF_HOME": str(home), "HF_ENDPOINT": endpoint, "NO_PROXY": "127.0.0.1"}
    environment.pop("HF_HUB_OFFLINE", None)
    command = [sys.executable, "-c", code, *corpora]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [json.loads(line.removeprefix("READ ")) for line in done.stdout.splitlines() if line.startswith("READ ")]


def test_auto_and_revisions_are_read_from_the_hub_then_from_a_copy(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    for split in ("train", "val", "test"):
        rows = [json.dumps({"de": de, "en": en}) for de, en in pairs_of(split)]
        (tmp_path / "files" / f"{split}.jsonl").write_text("".join(f"{row}\n" for row in rows))
    pairs, home, named = [list(pair) for pair in pairs_of("train")], tmp_path / "home", f"hub:{hub.MULTI30K}"
    expected: Read = ["multi30k", pairs, ["test_2016_flickr"], [], {hub.MULTI30K: COMMIT}]
    with serving(tmp_path / "files", name=f"datasets/{hub.MULTI30K}") as (endpoint, _):
        corpora = ["auto", f"{named}@v1", f"{named}@missing"]
        auto, (_, train, _, _, commits), (problem, *_) = load_in_a_new_process(home, endpoint, *corpora)
    assert (auto, train, commits) == (expected, pairs, {f"{hub.MULTI30K}@v1": COMMIT})
    # And not the copy of another revision.
    assert problem.startswith(
        f"the data set {hub.MULTI30K} has no revision 'missing': name a branch, a tag or a commit"
    )
    corpora = ["auto", f"{named}@{COMMIT[:8]}", f"{named}@v1"]
    auto, (_, train, *_), (problem, *_) = load_in_a_new_process(home, endpoint, *corpora)
    assert (auto, train) == (expected, pairs)
    assert f"the copy in the cache is of commit {COMMIT}, which may not be v1" in problem


def test_auto_takes_the_phrasebook_and_says_so_when_the_hub_is_not_there(tmp_path: Path) -> None:
    [(name, train, tests, notes, commits)] = load_in_a_new_process(tmp_path, "http://127.0.0.1:9", "auto")
    assert (name, train, tests, commits) == ("phrasebook", [["eins", "one"]], ["test"], {})
    assert len(notes) == 1
    assert notes[0].startswith("Multi30k can't be loaded (the hub can't be used: ")
    assert notes[0].endswith("so the built-in phrasebook is used.")


@pytest.mark.usefixtures("small_phrasebook")
def test_a_hub_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    monkeypatch.setattr(hub, "ask_hub", lambda name: time.sleep(30))
    assert hub.PROBE_SECONDS <= 10, "of the 15 seconds in which auto is decided, imports need some"
    monkeypatch.setattr(hub, "PROBE_SECONDS", 0.2)
    start = time.monotonic()
    assert load("auto").name == "phrasebook"
    with pytest.raises(ValueError, match=r"multi30k can't be loaded \(the hub didn't answer .*or to phrasebook"):
        load("multi30k")
    with pytest.raises(ValueError, match=r"hub:wmt/wmt14:de-en can't be loaded \(the hub didn't answer within 0\.2 s"):
        load("hub:wmt/wmt14:de-en")
    assert time.monotonic() - start < 10


def test_edits_of_a_local_data_set_are_noticed(tmp_path: Path) -> None:
    for name in ("a.jsonl", "more/b.jsonl", ".git/config"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    files = corpus_files(DataConfig(corpus=f"hub:{tmp_path}"))
    assert files == {"train": [tmp_path / "a.jsonl", tmp_path / "more" / "b.jsonl"]}
    assert corpus_files(DataConfig(corpus="hub:wmt/wmt14")) == {}
