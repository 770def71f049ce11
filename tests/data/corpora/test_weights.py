"""Weights of pairs: whatever the reader, each pair keeps its own, and training sees it as often."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nmt.config import Config, DataConfig, TokenizerConfig
from nmt.config.data import CorpusConfig
from nmt.data.corpora import corpus_files, load_corpus
from nmt.data.corpora.corpus import weight_of
from nmt.data.mixing import Mixture, WeightedPairs
from nmt.data.store import shards
from nmt.data.store.corpus_report import page
from nmt.data.store.engines import Engine
from nmt.data.store.ids import Shard
from nmt.data.store.prepared import Prepared
from nmt.data.store.preparing import prepare
from nmt.data.texts import read_rows
from nmt.training.data import TrainingData
from tests.data.store.test_prepared import tree
from tests.data.test_mixing import rows_of

ROWS = [(f"Satz {n}", f"sentence {n}", f"{n % 4 / 2:g}") for n in range(60)]
BAD = {3: "", 5: "nan", 8: "-1", 9: "inf", 11: "viel", 14: "100.5", 17: "1e999"}  # by line
CAUSE = "no weight from 0 to 100"
Row = tuple[str, str, str]


def plain(folder: Path, rows: Sequence[Row]) -> str:
    for name, lines in zip(("de", "en", "quality"), zip(*rows, strict=True), strict=True):
        (folder / f"train.{name}").write_text("".join(f"{line}\n" for line in lines))
    return str(folder)


def prefix(folder: Path, rows: Sequence[Row]) -> str:
    return plain(folder, rows) + "/train"


def opus(folder: Path, rows: Sequence[Row]) -> str:
    """Two corpora that are named by their languages."""
    for part, some in (("a", rows[:20]), ("b", rows[20:])):
        plain(folder, some)
        for name in ("de", "en", "quality"):
            (folder / f"train.{name}").rename(folder / f"{part}.de-en.{name}")
    return str(folder)


def tsv(folder: Path, rows: Sequence[Row]) -> str:
    lines = ["en\tquality\tother\tde", *(f"{target}\t{weight}\tx\t{source}" for source, target, weight in rows)]
    (folder / "train.tsv").write_text("".join(f"{line}\r\n" for line in lines))
    return str(folder / "train.tsv")


def number(text: str) -> Any:
    """As JSON has it: mostly a number."""
    try:
        return float(text)
    except ValueError:
        return text or None


def jsonl(folder: Path, rows: Sequence[Row]) -> str:
    lines = [json.dumps({"de": source, "en": target, "quality": number(weight)}) for source, target, weight in rows]
    (folder / "train.jsonl").write_text("\n".join(lines))
    return str(folder / "train.jsonl")


def nested_jsonl(folder: Path, rows: Sequence[Row]) -> str:
    lines = [json.dumps({"quality": w, "translation": {"de": source, "en": target}}) for source, target, w in rows]
    (folder / "train.jsonl").write_text("\n".join(lines))
    return str(folder / "train.jsonl")


def parquet(folder: Path, rows: Sequence[Row]) -> str:
    import pyarrow
    from pyarrow.parquet import write_table

    source, target, weights = zip(*rows, strict=True)
    columns: dict[str, Any] = {"de": source, "quality": weights, "en": target}
    write_table(pyarrow.table(columns), folder / "train.parquet")
    return str(folder / "train.parquet")


def data_set(folder: Path, rows: Sequence[Row]) -> str:
    (folder / "hub").mkdir()
    parquet(folder / "hub", rows)
    return f"hub:{folder / 'hub'}"


READERS: list[Callable[[Path, Sequence[Row]], str]] = [plain, prefix, opus, tsv, jsonl, nested_jsonl, parquet, data_set]


@pytest.mark.parametrize("write", READERS)
def test_each_pair_has_its_weight_whatever_the_reader(
    tmp_path: Path, write: Callable[[Path, Sequence[Row]], str]
) -> None:
    data = DataConfig(corpus=write(tmp_path, ROWS), weights="quality")
    corpus = load_corpus(data)
    weights = {(source, target): float(weight) for source, target, weight in ROWS}
    rows = list(corpus.train.rows())
    assert len(rows) + len(corpus.val) + sum(map(len, corpus.tests.values())) == 60
    assert all(row.weight == weights[row.pair] for row in rows)
    assert all(row.weight == 1 for row in load_corpus(replace(data, weights="")).train.rows())


@pytest.mark.parametrize("write", READERS)
def test_a_row_without_a_proper_weight_is_dropped_and_counted_with_its_line(
    tmp_path: Path, write: Callable[[Path, Sequence[Row]], str]
) -> None:
    rows = [(source, target, BAD.get(n, weight)) for n, (source, target, weight) in enumerate(ROWS, start=1)]
    corpus = load_corpus(DataConfig(corpus=write(tmp_path, rows), weights="quality"))
    ledger = corpus.ledgers["train"]
    assert ledger.dropped[CAUSE] == 7
    assert ledger.first[CAUSE] == (4 if write is tsv else 3), "with its header a TSV has a line more"
    assert ledger.kept == len(corpus.train)


@pytest.mark.parametrize(
    "value", [None, True, "", "x", "nan", float("inf"), -0.1, 101, 10**400, [1], {"a": 1}, "\udcff"]
)
def test_what_is_no_weight(value: object) -> None:
    assert weight_of(value) is None


@pytest.mark.parametrize(("value", "weight"), [(0, 0), (" 0.5\r", 0.5), ("1e-3", 0.001), (100, 100), ("0", 0)])
def test_what_is_a_weight(value: object, weight: float) -> None:
    assert weight_of(value) == weight


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("x.tsv", "de\ten\nja\tyes\n", "needs a first line that names the columns de, en, quality, but it has de, en"),
        ("x.tsv", "ja\tyes\t1\n", "x.tsv: data.weights needs a first line .* but it names no columns"),
        ("x.tmx", "<tmx></tmx>", "data.weights is quality, but .*x.tmx has no weights: take plain files, or tsv"),
        (
            "train.de",
            "ja\n",
            r"no .*train.quality with a weight for each line of .*train.de; .* holds train.de, train.en",
        ),
        (
            "train.quality",
            "1\n1\n",
            "train.de has 1 lines, .*train.quality has 2: line n of each must be of the same pair",
        ),
    ],
)
def test_a_corpus_without_weights_is_refused(tmp_path: Path, name: str, text: str, problem: str) -> None:
    files = {"train.de": "ja\n", "train.en": "yes\n"} if name.startswith("train") else {}
    for file, content in (files | {name: text}).items():
        (tmp_path / file).write_text(content)
    corpus = tmp_path if files else tmp_path / name
    with pytest.raises(ValueError, match=problem):
        load_corpus(DataConfig(corpus=str(corpus), weights="quality"))


def test_a_missing_column_of_parquet_and_of_a_data_set_is_refused(tmp_path: Path) -> None:
    table, hub = parquet(tmp_path, ROWS), data_set(tmp_path, ROWS)
    for corpus in (table, hub):
        with pytest.raises(ValueError, match=r"no column score, which data\.weights names; it has de, quality, en"):
            load_corpus(DataConfig(corpus=corpus, weights="score"))
    with pytest.raises(ValueError, match="the phrasebook has no weights"):
        load_corpus(DataConfig(corpus="phrasebook", weights="score"))
    with pytest.raises(ValueError, match=r"data.weights is en, a language"):
        DataConfig(corpus=table, weights="en")


def test_texts_without_translations_have_weights_too(tmp_path: Path) -> None:
    plain(tmp_path, ROWS)
    weights = {target: float(weight) for _, target, weight in ROWS}
    english = DataConfig(corpus=f"{tmp_path}/train", text="target", weights="quality")
    for data in (english, replace(english, corpus=tsv(tmp_path, ROWS))):
        assert all(row.weight == weights[row.target] for row in load_corpus(data).train.rows())
    with pytest.raises(ValueError, match="is one plain file: give its name without the ending"):
        load_corpus(replace(english, corpus=f"{tmp_path}/train.en"))
    (tmp_path / "train.quality").write_text("1\n" * 61)
    with pytest.raises(ValueError, match=r"train.quality must have a weight for each line: it has more or fewer"):
        load_corpus(english)


@pytest.fixture
def data(tmp_path: Path) -> DataConfig:
    """A corpus with weights in a plain file, one with other weights in a TSV, and one without any."""
    for name in ("main", "bare"):
        (tmp_path / name).mkdir()
        rows = [(f"{name} {source}", f"{name} {target}", weight) for source, target, weight in ROWS]
        plain(tmp_path / name, [*rows, (*rows[1][:2], "50")])
        for split in ("val", "test"):
            for side in ("de", "en"):
                (tmp_path / name / f"{split}.{side}").write_text(f"{name} {split} {side}\n")
    (tmp_path / "bare" / "train.quality").unlink()
    crawl = tsv(tmp_path, [(f"crawl {source}", f"crawl {target}", "0.5") for source, target, _ in ROWS])
    more = (
        CorpusConfig(corpus=crawl, name="crawl", weights="quality", weight=3),
        CorpusConfig(corpus=str(tmp_path / "bare")),
    )
    return DataConfig(corpus=str(tmp_path / "main"), weights="quality", more=more)


def prepared_of(data: DataConfig, folder: Path, workers: int = 1) -> Prepared:
    config = Config(data=data, tokenizer=TokenizerConfig(vocab_size=330))
    return prepare(None, config, folder, engine=Engine(workers=workers))


def weight_in(prepared: Prepared) -> dict[tuple[str, str], float]:
    rows = [row for file in prepared.store for row in read_rows(file.with_suffix(".parquet"))]
    weight_N = next(prepared.encoded().columns()).weight_N
    assert weight_N is not None
    assert [row.weight for row in rows] == weight_N.tolist()
    return {row.pair: row.weight for row in rows}


def test_prepared_data_has_the_weights_and_training_sees_the_pairs_as_often(
    tmp_path: Path, data: DataConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "SHARD", 32)
    prepared = prepared_of(data, tmp_path / "run")
    assert len(prepared.store) > 2
    weights = weight_in(prepared)
    assert weights["main Satz 1", "main sentence 1"] == 0.5, "of repeated pairs the first is kept, with its weight"
    assert {weights[pair] for pair in weights if pair[0].startswith("bare")} == {1}
    assert {weights[pair] for pair in weights if pair[0].startswith("crawl")} == {0.5}
    read = TrainingData.load(prepared, data).as_read(Config(data=data))
    assert isinstance(read.mixture, WeightedPairs)
    seen: Counter[tuple[str, str]] = Counter()
    for epoch in range(4):
        for n in rows_of(read.mixture, 1, epoch).tolist():
            seen[prepared.train[n]] += 1
    for (source, _), weight in weights.items():
        times = seen[source, source.replace("Satz", "sentence")]
        assert times == 4 * weight * (3 if source.startswith("crawl") else 1)
    report = "".join(page(prepared))
    assert "The pairs have weights: 0.75 on average, 1.5 at most; 15 have weight 0." in report
    assert tmp_path / "main" / "train.quality" in corpus_files(data)["train"]


def test_copies_have_the_weight_of_their_pair(tmp_path: Path, data: DataConfig) -> None:
    alone = replace(data, more=(), typos=0.5, placeholders=0.5)
    weights = weight_in(prepared_of(alone, tmp_path / "run"))
    copies = 0
    for (_, target), weight in weights.items():
        digits = "".join(filter(str.isdigit, target))
        if digits:
            copies += 1
            assert weight == float(ROWS[int(digits)][2])
    assert copies > 90


def test_each_direction_of_several_languages_has_the_weights_of_the_rows(tmp_path: Path) -> None:
    plain(tmp_path, ROWS)
    (tmp_path / "train.cs").write_text("".join(f"veta {n}\n" for n in range(60)))
    data = DataConfig(corpus=str(tmp_path), many_to_many=("de", "en", "cs"), weights="quality")
    rows = list(load_corpus(data).train.rows())
    assert {row.corpus for row in rows} == set(range(6))
    assert all(row.weight == float(ROWS[int(row.source.split()[1])][2]) for row in rows)


@pytest.mark.slow
def test_processes_make_the_same_bytes_as_one(
    tmp_path: Path, data: DataConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "SHARD", 32)
    for workers in (1, 2):
        prepared_of(replace(data, typos=0.3), tmp_path / f"run-{workers}", workers)
    assert tree(tmp_path / "run-1") == tree(tmp_path / "run-2")


def test_without_weights_nothing_has_any(tmp_path: Path, data: DataConfig) -> None:
    bare = replace(data, weights="", more=data.more[1:])
    prepared = prepared_of(bare, tmp_path / "run")
    assert next(prepared.encoded().columns()).weight_N is None
    assert b"weight" not in prepared.store[0].read_bytes()
    assert b"weight" not in prepared.store[0].with_suffix(".parquet").read_bytes()
    assert Shard.read(prepared.store[0]).weights is None
    heavier = replace(bare, more=(replace(bare.more[0], weight=2),))
    read = TrainingData.load(prepared, heavier).as_read(Config(data=heavier))
    assert isinstance(read.mixture, Mixture), "planned as before there were weights of pairs"
    with pytest.raises(ValueError, match=r"prepared with other settings: data\.weights was"):
        prepared_of(replace(bare, weights="quality"), tmp_path / "run")
