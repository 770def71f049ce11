"""The benchmarks run and keep what they measured; tables and pictures are those of the kept rows."""

import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
import yaml

from benchmarks import (
    adaptation,
    architectures,
    attention_cache,
    decode_speed,
    document_files,
    documents,
    marian,
    pair_scorer,
    picture_data,
    pictures,
    precision,
    prepare_speed,
    quality,
    report,
    runs,
    setup,
    students,
    train_speed,
)
from benchmarks.rows import RESULTS, Row
from benchmarks.text_kinds import Sentence
from nmt.documents.base import Answer, Unit
from nmt.model import layers
from nmt.train import main as train
from nmt.training.monitor import Monitor
from tests.data.corpus_files import write_corpus

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
NOUNS = [("Haus", "house"), ("Boot", "boat"), ("Kind", "child"), ("Tier", "animal"), ("Brot", "bread")]
PEER = {"system": "peer", "dtype": "bf16", "sentences_per_second": 2, "target_tokens_per_second": 20}
SMALL = (
    "--tokenizer.vocab_size 300 --model.d_model 16 --model.n_heads 2 --model.d_ff 32 --training.max_steps 2 "
    "--training.validate_every 2 --training.warmup_steps 1 --training.threads 1"
)
FEW_STEPS = "--steps 2 --warmup 1 --batch-tokens 64 --threads 1 --dtype fp32"
SPEEDS = [{"nmt": 10.0, "peer": 2.0}, {"nmt": 20.0, "peer": 10.0}]  # of two rounds
Run = Callable[..., list[Row]]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = {"train": range(20), "val": range(20, 22), "test": range(22, 24)}
    splits = {
        split: [(f"{german} {n}", f"{english} {n}") for german, english in NOUNS for n in numbers]
        for split, numbers in sizes.items()
    }
    return write_corpus(tmp_path_factory.mktemp("home") / "corpus", **splits)


@pytest.fixture(scope="module")
def finished(corpus: Path) -> Path:
    """A finished run on the corpus."""
    options = f"{SMALL} --model.encoder_layers 1 --model.decoder_layers 1 --training.seed 3 --name run"
    places = ["--data.corpus", str(corpus), "--runs", str(corpus.parent), "--data.source", "de", "--data.target", "en"]
    assert train([*places, *options.split()]) == 0
    return corpus.parent / "run"


TEXTS = "--source CORPUS/val.de --reference CORPUS/val.en"
SIZES = "--d-model 128 --layers 1 --batch 2 --beam 2 --steps 2 --length 4 --rounds 2"
TRAINED = {"steps": 2, "seed": 3, "sentences": 10, "test": "test", "name": "make train-de-en CORPUS=corpus"}


@pytest.mark.parametrize(
    ("module", "options", "expected", "shown"),
    [
        (students, "--teacher MODEL --student RUN --rounds 2", {"runtime": "ctranslate2"}, "| BLEU lost |"),
        (precision, f"--rounds 1 --model MODEL {TEXTS}", {"beam": 1}, "16 wide"),
        (prepare_speed, "CORPUS/train --pairs 1000 --workers 1", {"pairs": 1000}, "| 1,000 |"),
        (attention_cache, SIZES, {"cache_ratio": 0.5}, "| multi-query |"),
        (runs, "--run RUN --busy", TRAINED, "| `make train-de-en CORPUS=corpus` | corpus test, 10 sentences |"),
    ],
)
def test_a_benchmark_measures_and_shows_a_table(
    module: ModuleType,
    options: str,
    expected: Row,
    shown: str,
    model_folder: Path,
    finished: Path,
    run_benchmark: Run,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(layers, "TOLERANCE", layers.TOLERANCE)  # a benchmark changes it
    Path("tiny.yaml").write_text("tokenizer: {vocab_size: 290}\nmodel: {d_model: 16, n_heads: 2, d_ff: 32}\n")
    for name, place in (("MODEL", model_folder), ("RUN", finished), ("CORPUS", finished.with_name("corpus"))):
        options = options.replace(name, str(place))
    *_, row = run_benchmark(module, options)
    assert row | expected == row
    assert shown in capsys.readouterr().out
    assert str(finished) not in str(row.get("command")), "private paths"


def test_train_speed_sets_nmt_beside_a_peer(
    corpus: Path, run_benchmark: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    peer = shlex.quote(shlex.join([sys.executable, "-c", f"print('loading …'); print({json.dumps(PEER)!r})"]))
    ours, theirs = run_benchmark(train_speed, FEW_STEPS, "--corpus", corpus, f"--peer {peer}")
    assert (theirs["system"], theirs["dtype"], theirs["target_tokens_per_second"]["rounds"]) == ("peer", "bf16", [20])
    assert 0 < ours["peak_share"]["median"] < 1
    speed = ours["sentences_per_second"]["median"]
    assert theirs["ratios"]["nmt"]["median"] == pytest.approx(speed / 2, rel=1e-3)
    assert "peer bf16 | 2 | 20" in capsys.readouterr().out


def test_speeds_of_several_rounds_are_compared_within_each() -> None:
    training = [
        [PEER | {"system": name, "sentences_per_second": n, "target_tokens_per_second": 10 * n} for name, n in both]
        for both in map(dict.items, SPEEDS)
    ]
    first, second = train_speed.make_rows(training)
    assert first["sentences_per_second"] == {"median": 15, "min": 10, "max": 20, "rounds": [10, 20]}
    assert second["ratios"]["nmt"]["rounds"] == second["token_ratios"]["nmt"]["rounds"] == [5, 2]
    decoding = [[figures | {"beam": 5, "batch": 64, "bleu": 30.0} for figures in systems] for systems in training]
    first, second = decode_speed.make_rows(decoding)
    assert (first["ratios"], second["ratios"]["bf16"]["rounds"]) == ({}, [5, 2])


def test_ways_to_adapt_a_model_are_set_beside_it(
    model_folder: Path, corpus: Path, tmp_path: Path, run_benchmark: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = (
        f"{SMALL} --data.source de --data.target en --training.start_from {{base}} --tokenizer.folder {{base}} "
        "--model.encoder_layers 1 --model.decoder_layers 2 --model.tied_embeddings none --search.max_length_ratio 0.3"
    ).replace("--tokenizer.vocab_size 300 ", "")
    variants = {"LoRA": ["--lora.rank 2"]}
    file = tmp_path / "adapt.yaml"
    file.write_text(json.dumps({"corpus": str(corpus), "seeds": [1], "settings": settings, "variants": variants}))
    options = [str(file), "--runs", str(tmp_path), "--folder", f"base={model_folder}"]
    base, adapted = run_benchmark(adaptation, *options, "--before", corpus / "test")
    assert adapted["megabytes"] < base["megabytes"]
    assert "| LoRA |" in capsys.readouterr().out
    [row] = run_benchmark(quality, *options, "--rounds 1")
    assert row["bleu"]["median"] == pytest.approx(adapted["bleu"], abs=0.01)
    assert all(row[f"{kind}_speed"]["median"] > 0 for kind in ("training", "greedy", "beam_5"))


def test_decode_speed_sets_nmt_beside_a_peer(
    model_folder: Path, corpus: Path, tmp_path: Path, run_benchmark: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "ENVIRONMENTS", tmp_path / "peers")
    monkeypatch.chdir(ROOT)
    options = "--dtype fp32 --dtype fp32:pytorch --setting 2x4 --threads 1 --repeats 1 --peer ctranslate2-int8"
    with pytest.raises(SystemExit, match="transformers is not installed: run make benchmark-setup"):
        run_benchmark(decode_speed, options, "--model", model_folder, "--corpus", corpus)
    python = setup.python_of("transformers")
    python.parent.mkdir(parents=True)
    figures = {"sentences_per_second": 2.0, "bleu": 1.5, "version": "4.5"}
    python.write_text(f"#!/bin/sh\necho '{json.dumps(figures)}'\n")
    python.chmod(0o755)
    fp32, int8, peer = run_benchmark(decode_speed, options, "--model", model_folder, "--corpus", corpus)
    assert [row["dtype"] for row in (fp32, int8, peer)] == ["fp32", "fp32:pytorch", "int8"]
    assert all((row["beam"], row["batch"], row["rounds"]) == (2, 4, 1) for row in (fp32, int8, peer))
    assert peer["versions"]["ctranslate2"] == "4.5"
    assert peer["ratios"]["fp32:pytorch"]["max"] == pytest.approx(int8["sentences_per_second"]["max"] / 2, rel=1e-3)
    assert set(fp32["ratios"]) == {"fp32:pytorch"}


def test_marian_learns_a_small_corpus(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    options = ["--minutes", "0.01", "--threads", "1", "--seed", "1", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["marian.py", str(corpus), "de-en", *options])
    assert marian.main() == 0
    assert len((tmp_path / "out").read_text(encoding="utf8").split("\n")) == 2 * len(NOUNS)


def test_the_setup_trains_the_reference_once(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def become(python: str, command: list[str]) -> None:
        assert command[:3] == [python, "-m", "nmt.train"]
        assert train(command[3:]) == 0

    monkeypatch.setattr(os, "execv", become)
    argv = ["setup.py", "--peers", "", "--corpus", str(corpus), *SMALL.split(), "--runs", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", argv)
    for told in ("Training the tokenizer", "is finished"):
        setup.main()
        assert told in capsys.readouterr().err
    settings = json.loads((tmp_path / "reference" / "report.json").read_text())["settings"]
    assert (settings["model"]["encoder_layers"], settings["model"]["dropout"]) == (3, 0.3)


def test_a_pair_scorer_is_set_beside_a_translator_and_lengths(corpus: Path, tmp_path: Path, run_benchmark: Run) -> None:
    experiment = yaml.safe_load(pair_scorer.MODELS.read_text(encoding="utf8"))
    experiment["settings"] += f" {SMALL}"
    experiment["variants"] = {
        name: [f"{options} --training.max_steps 2"] for name, [options] in experiment["variants"].items()
    }
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(experiment, sort_keys=False), encoding="utf8")
    true, *false = run_benchmark(pair_scorer, tmp_path / "small.yaml", "--corpus", corpus, "--runs", tmp_path / "runs")
    assert (true["pairs"], [row["way"] for row in false]) == (10, [*pair_scorer.WAYS])
    assert all(row["pairs"] > 0 for row in false if row["way"] != "another name")
    for row in false:
        assert row["dropped"].keys() == {"scorer", "translator", "lengths", "half"}
        assert all(0 <= share <= 1 for share in row["dropped"].values())


def test_pages_have_the_tables_of_the_kept_rows() -> None:
    texts = [page.read_text(encoding="utf8") for page in report.PAGES]
    assert [report.with_tables(text, RESULTS) for text in texts] == texts, "run make report"
    text = texts[0]
    changed = text.replace("| nmt fp32 |", "| nmt fp33 |")
    assert changed != text
    assert report.with_tables(changed, RESULTS) == text


def test_the_pictures_are_those_of_the_kept_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for script in (pictures, architectures):
        monkeypatch.setattr(script, "PICTURES", tmp_path)
        script.main()
    drawn = {file.name: file.read_text(encoding="utf8") for file in tmp_path.iterdir()}
    kept = {file.name: file.read_text(encoding="utf8") for file in (ROOT / "docs" / "pictures").glob("*.svg")}
    assert drawn == kept, "run make pictures"
    for picture in drawn.values():
        ElementTree.fromstring(picture)


def test_the_course_of_a_run_is_kept(tmp_path: Path) -> None:
    for resumed_after in (0, 1):
        with Monitor(tmp_path, resumed_after, 2) as monitor:
            step = resumed_after + 1
            monitor.add_scalars(step, {"validation/bleu": 10.0 * step, "validation/nll": 3.0 / step})
            monitor.add_scalars(step, {"train/loss": 1.0})
    report_of_run = {"corpus": "nouns", "source": "de", "target": "en", "parameters": 1_840_000, "bleu": 21.3}
    versions = {"nmt": "0.0.1", "torch": "2.0"}
    (tmp_path / "report.json").write_text(json.dumps(report_of_run | {"versions": versions}))
    rows = picture_data.learning_rows(tmp_path, "busy")
    assert [(row["step"], row["bleu"]) for row in rows] == [(1, 10), (2, 20)]
    assert 0 <= rows[0]["minutes"] <= rows[1]["minutes"] < 1
    assert rows[0]["about"] == "1.8 million parameters, test set 21.3 BLEU"
    assert rows[0]["versions"] == versions
    assert "test set 21.3 BLEU; " in pictures.learning(rows)
    assert "; busy<" in pictures.learning(rows)


@pytest.mark.parametrize("name", document_files.KINDS)
def test_made_documents_come_back_and_their_tags_are_judged(name: str) -> None:
    sentences = [Sentence(f"Der Hund {n} da.", "", (("Hund", "dog"),)) for n in range(6)]

    def translate(units: Sequence[Unit]) -> list[Answer]:
        return [Answer(unit.text.replace("Hund", "dog" if n else "cat")) for n, unit in enumerate(units)]

    row = documents.measure(name, document_files.KINDS[name], sentences, translate)
    assert (row["identity"], row["well_formed"], row["left"]) == (True, True, 0)
    assert (row["tags_kept"], row["right"], row["reworded"]) == ((None,) * 3 if name in ("txt", "resx") else (6, 5, 1))
