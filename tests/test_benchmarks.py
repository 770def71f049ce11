"""The benchmarks run and keep what they measured; tables and pictures are those of the kept rows."""

import json
import os
import re
import shlex
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest
import yaml

from benchmarks import (
    adaptation,
    architectures,
    attention_cache,
    bf16_loss,
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
    terms,
    train_speed,
)
from benchmarks.rows import RESULTS, Row, last_run, run_script
from benchmarks.tables import TABLES
from benchmarks.text_kinds import Sentence
from nmt.documents.base import Answer, Unit
from nmt.model import layers
from nmt.prepare import main as prepare
from nmt.train import main as train
from nmt.training.monitor import Monitor
from tests.data.corpus_files import write_corpus

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
NOUNS = [("Haus", "house"), ("Boot", "boat"), ("Kind", "child"), ("Tier", "animal"), ("Brot", "bread")]
PEER = {"system": "peer", "dtype": "bf16", "sentences_per_second": 2, "target_tokens_per_second": 20}
SMALL = "--tokenizer.vocab_size 300 --model.d_model 16 --model.n_heads 2 --model.d_ff 32"
SPEEDS = [{"nmt": 10.0, "peer": 2.0}, {"nmt": 20.0, "peer": 10.0}]  # of two rounds
Run = Callable[..., list[Row]]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    sizes = {"train": range(20), "val": range(20, 22), "test": range(22, 24)}
    splits = {
        split: [(f"{german} {n}", f"{english} {n}") for german, english in NOUNS for n in numbers]
        for split, numbers in sizes.items()
    }
    return write_corpus(tmp_path / "corpus", **splits)


def needs_peer(name: str) -> None:
    if not setup.python_of(name).exists():
        pytest.skip(f"{name} is not installed: make benchmark-setup")


def test_train_speed_sets_nmt_beside_a_peer(
    corpus: Path, tmp_path: Path, run_benchmark: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = "--steps 2 --warmup 1 --batch-tokens 64 --threads 1 --dtype fp32"
    peer = shlex.quote(shlex.join([sys.executable, "-c", f"print('loading …'); print({json.dumps(PEER)!r})"]))
    ours, theirs = run_benchmark(train_speed, settings, "--corpus", corpus, f"--peer {peer}")
    assert (theirs["system"], theirs["dtype"], theirs["target_tokens_per_second"]["rounds"]) == ("peer", "bf16", [20])
    assert 0 < ours["peak_share"]["median"] < 1
    speed = ours["sentences_per_second"]["median"]
    assert theirs["ratios"]["nmt"]["median"] == pytest.approx(speed / 2, rel=1e-3)
    assert str(tmp_path) not in ours["command"], "private paths"
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


def test_train_speed_tells_a_mistake(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["train_speed.py", "--rounds", "0"])
    with pytest.raises(SystemExit):
        train_speed.main()
    assert "--rounds is 0: it must be at least 1" in capfd.readouterr().err
    monkeypatch.setattr(sys, "argv", ["train_speed.py", "--corpus", "/nowhere"])
    assert train_speed.main() == 2
    assert "'/nowhere': there is no such folder or file" in capfd.readouterr().err
    assert prepare(["--data.corpus", str(corpus), *SMALL.split(), "--runs", str(tmp_path), "--name", "run"]) == 0
    run = ["--run", str(tmp_path / "run"), "--batch-tokens", "2", "--model", "base", "--dtype", "fp32"]
    monkeypatch.setattr(sys, "argv", ["train_speed.py", *run])
    with pytest.raises(SystemExit, match=r"train_speed: .* a batch has room for 2"):
        run_script(train_speed.main)
    with pytest.raises(SystemExit, match="train_speed: false ended with status 1"):
        train_speed.measure(["false"])


def test_students_stand_beside_their_teacher(
    model_folder: Path, tmp_path: Path, run_benchmark: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path / "data", "src", "tgt", test=NOUNS[:2])
    (tmp_path / "model").symlink_to(model_folder)
    rows = run_benchmark(students, "--teacher", model_folder, "--student", tmp_path, "--rounds 2")
    assert rows[0]["ratios"]["teacher"]["rounds"] == [1.0, 1.0]
    assert {row["model"] for row in rows} == {"teacher", "student"}
    assert {row["runtime"] for row in rows} == {"nmt", "ctranslate2"}
    assert "| BLEU lost |" in capsys.readouterr().out


def test_ways_to_adapt_a_model_are_set_beside_it(
    model_folder: Path, corpus: Path, tmp_path: Path, run_benchmark: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = (
        "--data.source de --data.target en --training.start_from {base} --tokenizer.folder {base} --model.d_model 16 "
        "--model.n_heads 2 --model.encoder_layers 1 --model.decoder_layers 2 --model.d_ff 32 --training.max_steps 2 "
        "--model.tied_embeddings none --training.validate_every 2 --training.threads 1 --training.batch_tokens 64 "
        "--search.max_length_ratio 0.3"
    )
    variants = {"LoRA": ["--lora.rank 2"]}
    file = tmp_path / "adapt.yaml"
    file.write_text(json.dumps({"corpus": str(corpus), "seeds": [1], "settings": settings, "variants": variants}))
    options = [str(file), "--runs", str(tmp_path), "--folder", f"base={model_folder}"]
    base, adapted = run_benchmark(adaptation, *options, "--before", corpus / "test")
    assert adapted["megabytes"] < base["megabytes"]
    assert adapted["mebibytes"] > 100
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


def test_precisions_are_set_beside_each_other(
    model_folder: Path, tmp_path: Path, run_benchmark: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path, val=[("Ein Hund läuft.", "A dog runs.")] * 3)
    texts = "--source", tmp_path / "val.de", "--reference", tmp_path / "val.en"
    beams = run_benchmark(precision, "--rounds 1 --model", model_folder, *texts)
    assert [row["beam"] for row in beams] == [5, 1]
    assert all(speed > 0 for row in beams for batch in row["speeds"].values() for speed in batch.values())
    assert all(0 <= share <= 100 for row in beams for share in row["same"].values())
    assert "16 wide" in capsys.readouterr().out


def test_a_missing_model_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["decode_speed.py", "--model", "/nowhere"])
    with pytest.raises(SystemExit, match=r"^decode_speed: /nowhere: there is no such folder"):
        run_script(decode_speed.main)


@pytest.mark.parametrize("peers", [[], ["--sockeye"]])
def test_preparation_is_set_beside_others(
    peers: list[str], corpus: Path, run_benchmark: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    if peers:
        needs_peer("sockeye")
    options = [corpus / "train", "--pairs 1000 --workers 1", *peers]
    (row,) = run_benchmark(prepare_speed, *options)
    others = ["load", *(["sockeye"] if peers else [])]
    assert all(row[name]["seconds"] > 0 and row[name]["memory"] > 1 << 20 for name in ("prepare", *others))
    assert ('"pairs": 1000' if peers else "| 1,000 |") in capsys.readouterr().out


def test_bf16_loss_compares_equal_updates(
    corpus: Path, tmp_path: Path, run_benchmark: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "TOLERANCE", layers.TOLERANCE)  # the benchmark changes it
    recipe = tmp_path / "tiny.yaml"
    recipe.write_text("tokenizer: {vocab_size: 290}\nmodel: {d_model: 16, n_heads: 2, d_ff: 32}\n")
    options = "--updates 2 --every 1 --seeds 2 --threads 1"
    rows = run_benchmark(bf16_loss, options, "--corpus", corpus, "--config", recipe)
    assert [row["updates"] for row in rows] == [1, 2]
    for row in rows:
        assert len(set(row["fp32"])) == 2, "each seed has a start of its own"
        assert all(0 < abs(bf16 - fp32) < 0.1 for bf16, fp32 in zip(row["bf16"], row["fp32"], strict=True))


def test_attention_cache_compares_kinds_of_attention_with_the_first(
    run_benchmark: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = "--d-model 128 --layers 1 --batch 2 --beam 2 --steps 2 --length 4 --rounds 2"
    rows = run_benchmark(attention_cache, sizes)
    assert [row["cache_bytes"]["target"] for row in rows] == [1024, 1024, 512]
    assert rows[2]["cache_ratio"] == 0.5
    rounds = [row["decoding"]["rounds"] for row in rows]
    expected = sorted(a / b for a, b in zip(rounds[2], rounds[0], strict=True))
    assert sorted(rows[2]["decoding_ratios"]["multi-head"]["rounds"]) == pytest.approx(expected, rel=1e-3)
    assert "| multi-query |" in capsys.readouterr().out


@pytest.mark.parametrize("peer", ["transformers", "eole"])
def test_a_peer_trains(peer: str, corpus: Path, run_benchmark: Run) -> None:
    needs_peer(peer)
    settings = "--steps 2 --warmup 1 --batch-tokens 64 --threads 1 --dtype fp32"
    _, row = run_benchmark(train_speed, settings, "--corpus", corpus, "--peer", peer)
    assert row["system"] == peer
    assert row["target_tokens_per_second"]["median"] > row["sentences_per_second"]["median"] > 0


def test_peers_translate_as_nmt_does(model_folder: Path, corpus: Path, run_benchmark: Run) -> None:
    needs_peer("transformers")
    options = "--dtype fp32 --setting 1x4 --threads 1 --repeats 1 --peer all"
    rows = run_benchmark(decode_speed, options, "--model", model_folder, "--corpus", corpus)
    assert [row["system"] for row in rows] == ["nmt", "ctranslate2", "ctranslate2", "transformers"]


def test_marian_learns_a_small_corpus(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    options = ["--minutes", "0.01", "--threads", "1", "--seed", "1", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["marian.py", str(corpus), "de-en", *options])
    assert marian.main() == 0
    assert len((tmp_path / "out").read_text(encoding="utf8").split("\n")) == 2 * len(NOUNS)


def test_the_setup_makes_an_environment_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a pip that only looks for an impossible package: the real one takes seconds."""
    for name in ("ENVIRONMENTS", "REQUIREMENTS", "ROOT"):
        monkeypatch.setattr(setup, name, tmp_path)
    monkeypatch.setattr(setup, "PEERS", {"peer": []})
    create = venv.create

    def create_with_this_pip(folder: Path, clear: bool, with_pip: bool) -> None:
        assert with_pip
        create(folder, clear=clear)
        [site] = folder.glob("lib/*/site-packages")
        (site / "pip.py").write_text("import sys; sys.exit('/no/such' in open(sys.argv[-1]).read())")

    monkeypatch.setattr(venv, "create", create_with_this_pip)
    (tmp_path / "peer.txt").write_text("# nothing\n")
    for told in ("Installing peer", "peer is installed already"):
        setup.make_environment("peer")
        assert told in capsys.readouterr().err
    assert subprocess.run([*setup.peer_command("x", "peer")[:1], "-c", ""], check=False).returncode == 0
    (tmp_path / "peer.txt").write_text("/no/such/package.whl\n")
    with pytest.raises(SystemExit, match="pip could not install peer"):
        setup.make_environment("peer")


def test_the_setup_trains_the_reference_once(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def become(python: str, command: list[str]) -> None:
        assert command[:3] == [python, "-m", "nmt.train"]
        assert train(command[3:]) == 0

    monkeypatch.setattr(os, "execv", become)
    small = [*SMALL.split(), "--training.max_steps", "2", "--training.threads", "1"]
    argv = ["setup.py", "--peers", "", "--corpus", str(corpus), *small, "--runs", str(tmp_path)]
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
    assert [row["way"] for row in false] == [*pair_scorer.WAYS]
    assert true["pairs"] == 10
    assert all(row["pairs"] > 0 for row in false if row["way"] != "another name")
    for row in false:
        assert row["dropped"].keys() == {"scorer", "translator", "lengths", "half"}
        assert all(0 <= share <= 1 for share in row["dropped"].values())
    assert pair_scorer.share_below([0.1, 0.2, 0.3, 0.4], 0.2) == 0.25


def test_false_pairs_are_spoiled_in_the_way_that_their_name_says() -> None:
    pair = "Tom kaufte 3 Bücher in Boston.", "In Boston, Tom bought 3 books."
    names = ["Boston", "Mary", "Paris", "Tom"]
    material = pair_scorer.Material(["Ja."], ["No."], names, {pair[0]: "Tom buy."}, Random(1))
    false = {name: way(pair, material) for name, way in pair_scorer.WAYS.items()}
    assert false["the target of another pair"] == (pair[0], "No.")
    assert pair[0].startswith(false["source cut"][0])
    assert pair[1].startswith(false["target cut"][1])
    assert false["source cut"][0] != pair[0]
    assert false["target cut"][1] != pair[1]
    assert false["source cut, full stop kept"][0][-1] == false["target cut, full stop kept"][1][-1] == "."
    assert len(false["source cut, full stop kept"][0]) < len(pair[0])
    assert len(false["target cut, full stop kept"][1]) < len(pair[1])
    number = re.sub(r"\d", "3", false["another number"][1])
    assert (number, false["another number"][1] != pair[1]) == (pair[1], True)
    changed = [word for word in re.findall(r"\w+", false["another name"][1]) if word not in pair[1]]
    assert changed in (["Mary"], ["Paris"])
    assert false["target in the source's language"][1] in (pair[0], "Ja.")
    assert sorted(false["target's words in random order"][1].split()) == sorted(pair[1].split())
    assert false["translation by a weak model"] == (pair[0], "Tom buy.")
    plain = "ein Hund", "a dog"
    assert pair_scorer.wrong_number(plain, material) == pair_scorer.wrong_name(plain, material) == plain


def test_forms_of_terms_begin_alike_and_words_at_the_start_lose_their_capital() -> None:
    forms = terms.Forms(["The dogs run, dogs ran.", "Dogs sleep; a sleeping runner slept.", "sleeps sleepwalking"])
    assert forms.others("sleep") == ["sleeping", "sleeps"], "sleepwalking has too long an ending"
    assert forms.others("run") == [], "short words have none"
    assert [forms.inside(word) for word in ("Dogs", "Anna", "sleep")] == ["dogs", "Anna", "sleep"]


def test_an_export_that_is_compared_by_its_logits_is_in_the_table_of_doors() -> None:
    row = {"door": "to hf, float32", "model": "encoder-decoder", "compared": "logits, largest difference"}
    assert "| to hf, float32 | encoder-decoder | 1.8e-06 |" in TABLES["doors"]([row | {"result": "1.8e-06"}])


def test_results_that_are_missing_are_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no rows: run the benchmark"):
        last_run(tmp_path / "rows.jsonl")


def test_pages_have_the_tables_of_the_kept_rows() -> None:
    texts = [page.read_text(encoding="utf8") for page in report.PAGES]
    assert [report.with_tables(text, RESULTS) for text in texts] == texts, "run make report"
    text = texts[0]
    changed = text.replace("| nmt fp32 |", "| nmt fp33 |")
    assert changed != text
    assert report.with_tables(changed, RESULTS) == text


def test_a_training_becomes_a_row(
    corpus: Path, tmp_path: Path, run_benchmark: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    small = f"{SMALL} --model.encoder_layers 1 --model.decoder_layers 1 --training.max_steps 2 --training.threads 1"
    options = f"{small} --training.validate_every 2 --training.warmup_steps 1 --training.seed 3 --name run"
    options += " --data.source de --data.target en"
    assert train(["--data.corpus", str(corpus), "--runs", str(tmp_path), *options.split()]) == 0
    [row] = run_benchmark(runs, "--run", tmp_path / "run", "--busy")
    assert (row["steps"], row["seed"], row["sentences"], row["test"]) == (2, 3, 10, "test")
    assert row["name"] == "make train-de-en CORPUS=corpus"
    assert row["megabytes"] > 0.1
    assert "minutes" not in row, "on a busy machine they say nothing"
    assert row["commit"] or not (ROOT / ".git").exists()
    assert "| `make train-de-en CORPUS=corpus` | corpus test, 10 sentences |" in capsys.readouterr().out


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
