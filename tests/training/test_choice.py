"""Without a recipe, a run chooses its settings by its corpus and its machine, once."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nmt.config import Config
from nmt.config.choice import (
    DENOISE_SHARE,
    LEAST_DENOISED,
    MORE_STEPS,
    MOST_DENOISED,
    TEXTS_SHARE,
    Row,
    choose_models,
    choose_steps,
    is_fast_enough,
    passes_over,
    row_for,
    usual_minutes,
)
from nmt.config.recipes import load_config, make_config
from nmt.train import main
from nmt.training import choice as module
from tests.data.corpus_files import write_corpus
from tests.test_train import SENTENCES

PIECES = ["--tokenizer.byte_fallback", "false", "--tokenizer.vocab_size", "60"]
TINY = ["--model.d_model=16", "--model.encoder_layers=1", "--model.decoder_layers=1", "--training.threads=1"]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("nmt.config.choice.passes_over", lambda pairs: 2.0)
    return write_corpus(tmp_path / "houses", train=SENTENCES[:20], val=SENTENCES[20:22], test_a=SENTENCES[22:])


@pytest.fixture
def without_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run ends when its settings are chosen."""
    for name in ("train", "evaluate", "print_report"):
        monkeypatch.setattr(f"nmt.training.run.Run.{name}", lambda *_: None)


def train(corpus: Path, *more: str, pieces: Sequence[str] = PIECES) -> int:
    return main(["--data.corpus", str(corpus), "--runs", str(corpus.parent / "runs"), *TINY, *pieces, *more])


def settings_of(corpus: Path, run: str = "de-en-houses") -> Config:
    return load_config(corpus.parent / "runs" / run / "config.yaml")


@pytest.mark.parametrize("pairs", [1, 500, 3_000, 30_000, 300_000, 3_000_000, 10**9])
def test_every_corpus_has_settings(pairs: int) -> None:
    config = make_config(next(choose_models(pairs, {})))
    assert config.model.d_head % 2 == 0
    assert choose_steps(pairs, steps_a_pass=1, fitting=1e9) >= 20
    assert choose_steps(pairs, steps_a_pass=1e6, fitting=777) == 770, "no more than fit, in two figures"
    assert is_fast_enough(pairs, steps_a_pass=1e6, fitting=1e6 * passes_over(pairs)), "all passes that suit the corpus"
    assert not is_fast_enough(pairs, steps_a_pass=1e6, fitting=2.9e6)


@pytest.mark.parametrize("width", [2, 6, 16, 96, 100, 128, 384, 1024])
def test_a_width_that_the_user_gives_has_fitting_heads(width: int) -> None:
    given = {"model.d_model": width}
    assert make_config(next(choose_models(30_000, given)) | given).model.d_head % 2 == 0


@pytest.mark.usefixtures("without_training")
def test_without_time_for_four_passes_over_the_text_a_narrower_model_is_chosen(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pass has 1,000 steps, and half of the time is for validations: 40 minutes have room for one with the widest
    model, and for four with the narrowest."""
    monkeypatch.setattr(module, "time_steps", lambda config, data: (config.model.d_model / 512, 1000.0))
    monkeypatch.setattr("nmt.config.choice.passes_over", lambda pairs: 10.0)
    monkeypatch.setattr(
        "nmt.config.choice.ROWS", (Row(1, 60, 128, 4, 0.3), Row(2, 60, 256, 4, 0.2), Row(9e9, 60, 512, 6, 0.1))
    )
    usual = ["--data.corpus", str(corpus), "--runs", str(corpus.parent / "runs"), "--tokenizer.vocab_size", "60"]
    usual += ["--tokenizer.byte_fallback", "false"]
    for minutes, width in ((40, 128), (80, 256), (150, 512), (200, 512)):
        assert main([*usual, "--training.max_minutes", str(minutes)]) == 0
        assert f"layers of width {width}, dropout 0.1;" in capsys.readouterr().err
    assert main([*usual, "--training.max_minutes", "40", "--model.d_model", "512"]) == 0
    assert "6+6 layers of width 512" in capsys.readouterr().err, "a width that the user gives keeps its layers"


def test_the_choice_is_told_recorded_and_kept(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(corpus) == 0
    run, said = corpus.parent / "runs" / "de-en-houses", capsys.readouterr().err
    assert "Timing steps of a model of width 16 on this machine" in said
    assert "Chosen for 20 pairs: 57 pieces, 1+1 layers of width 16, dropout 0.3; 20 steps" in said
    assert "has read all of the text" not in said
    config = settings_of(corpus)
    assert (config.training.max_steps, config.training.best_metric, config.training.optimizer) == (20, "chrf", "muon")
    assert config.training.weight_decay == 0.3
    assert (config.tokenizer.vocab_size, config.model.d_ff, config.model.positions) == (60, 32, "rotary")
    (run / "report.json").unlink()
    assert train(corpus, "--resume") == 0
    assert "Chosen for" not in capsys.readouterr().err, "a run that goes on keeps its settings"
    assert train(corpus, "--model.dropout", "0.4") == 2
    assert "trained with other settings: model.dropout was 0.3, is 0.4" in capsys.readouterr().err
    assert train(corpus) == 0


def test_a_run_that_goes_on_with_other_minutes_or_epochs_gets_the_steps_that_fit(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(corpus) == 0
    run = corpus.parent / "runs" / "de-en-houses"
    before = settings_of(corpus)
    (run / "report.json").unlink()
    shutil.rmtree(run / "model")
    monkeypatch.setattr(module, "time_steps", lambda config, data: (1.0, 1000.0))
    assert train(corpus, "--resume", "--training.max_minutes", "1.2") == 0
    said = capsys.readouterr().err
    assert "dropout 0.3; 33 steps, 0.0 passes over the text" in said
    assert "WARNING: training ends before it has read all of the text once" in said
    after = settings_of(corpus)
    assert (before.training.max_steps, after.training.max_steps) == (20, 33)
    assert after.training.warmup_steps == before.training.warmup_steps, "which may not change"
    (run / "report.json").unlink()
    shutil.rmtree(run / "model")
    monkeypatch.setattr("nmt.config.choice.passes_over", lambda pairs: 20.0)
    monkeypatch.setattr(module, "time_steps", lambda config, data: (0.001, 5.0))
    assert train(corpus, "--resume", "--training.max_epochs", "8") == 0
    assert settings_of(corpus).training.max_steps == 40


@pytest.mark.usefixtures("without_training")
@pytest.mark.parametrize(
    ("seconds", "limit", "values", "steps"),
    [(1.0, "max_minutes", [2, 1], [98, 42]), (0.001, "max_epochs", [8, 6], [40, 30])],
)
def test_minutes_and_epochs_limit_the_steps_and_so_the_course_of_the_rate(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, limit: str, values: list[int], steps: list[int]
) -> None:
    """A pass has 5 steps, of the pairs alone. Before the first step, the choice is made anew."""
    monkeypatch.setattr("nmt.config.choice.passes_over", lambda pairs: 20.0)
    monkeypatch.setattr(module, "time_steps", lambda config, data: (seconds, 5.0))
    texts = ["--data.more", f"[{{corpus: {corpus}, name: alone, text: target}}]"]
    for value, expected in zip(values, steps, strict=True):
        for name, more in (("pairs", []), ("texts", texts)):
            assert train(corpus, f"--training.{limit}", str(value), f"--name={name}", *more) == 0
            assert settings_of(corpus, name).training.max_steps == expected, name


@pytest.mark.parametrize(
    ("least", "more", "steps"), [(20, [], 6), (21, [], 0), (20, ["--model.family=decoder-only"], 0)]
)
def test_noised_text_is_restored_first_in_trainings_that_are_long_enough(
    least: int, more: list[str], steps: int, corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("nmt.config.choice.LEAST_DENOISED", least)
    assert train(corpus, *more) == 0
    assert settings_of(corpus).training.denoise_steps == steps
    assert ("; the first 6 steps restore noised text" in capsys.readouterr().err) == (steps > 0)


@pytest.mark.parametrize(("more", "steps"), [([], 70), (["--training.max_steps=20"], 10)])
def test_texts_without_translations_are_restored_first_in_any_training(
    corpus: Path, more: list[str], steps: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nmt.config.choice.passes_over", lambda pairs: 20.0)
    monkeypatch.setattr(module, "time_steps", lambda config, data: (0.001, 5.0))
    assert train(corpus, "--data.more", f"[{{corpus: {corpus}, name: alone, text: target}}]", *more) == 0
    assert settings_of(corpus).training.denoise_steps == steps
    said = re.search(r"Chosen for (\d+) pairs and (\d+) texts: ", capsys.readouterr().err)
    assert said
    report = json.loads((corpus.parent / "runs" / "de-en-houses" / "report.json").read_text())
    assert report["pairs"]["train"] < int(said[1]) + int(said[2])


@pytest.mark.parametrize(
    ("first", "objective", "family"),
    [
        ("--model.family=decoder-only", "translation", "decoder-only"),
        ("--training.objective=mlm", "translation", "encoder-decoder"),
        ("--training.objective=lm", "denoise", "encoder-decoder"),
    ],
)
def test_the_family_of_the_first_model_stays_if_it_can(corpus: Path, first: str, objective: str, family: str) -> None:
    base = corpus.parent / "runs" / "base"
    assert train(corpus, "--name=base", first) == 0
    taken = ["--training.start_from", str(base), "--tokenizer.folder", str(base / "model"), "--name=tuned"]
    assert train(corpus, *taken, f"--training.objective={objective}", pieces=[]) == 0, "of a tokenizer, nothing is set"
    config = settings_of(corpus, "tuned")
    assert config.model.family == family
    assert config.training.denoise_steps == 0, "the weights know the languages"


def test_what_the_user_gives_is_not_chosen(corpus: Path) -> None:
    assert train(corpus, "--training.max_steps", "3", "--training.optimizer", "adamw", "--model.dropout", "0") == 0
    config = settings_of(corpus)
    assert config.training.denoise_steps == 0
    assert (config.training.max_steps, config.training.optimizer, config.model.dropout) == (3, "adamw", 0)
    assert (config.training.warmup_steps, config.training.validate_every) == (0, 1), "they follow the steps"


def test_noised_text_is_restored_first_with_one_vocabulary(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of a tokenizer that is taken don't say how many it has."""
    monkeypatch.setattr("nmt.config.choice.LEAST_DENOISED", 20)
    base, more = corpus.parent / "runs" / "base", ["--data.placeholders=0", "--model.tied_embeddings=decoder"]
    for name, tokenizer in (("base", "joint=false"), ("taken", f"folder={base / 'model'}")):
        assert train(corpus, *more, f"--name={name}", f"--tokenizer.{tokenizer}") == 0
        assert settings_of(corpus, name).training.denoise_steps == 0
    assert train(corpus, *more, "--name=joint") == 0
    assert settings_of(corpus, "joint").training.denoise_steps == 6


def test_the_page_shows_what_is_chosen() -> None:
    page = (Path(module.__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf8")
    rows = re.findall(
        r"^\| ([\d,]+)( million)? \| ([\d,]+) \| (\d)\+\4, (\d+) \| ([\d.]+) \| (\d+) \| (\d+)( hours)? \|$", page, re.M
    )
    assert len(rows) == 4
    text = " ".join(page.split())
    assert f"Up to {MOST_DENOISED:,} pairs and from {LEAST_DENOISED:,} steps, the first {DENOISE_SHARE:.0%} of" in text
    assert TEXTS_SHARE == 0.5
    assert f"half of the steps, which then are {MORE_STEPS} times as many" in text
    for number, million, *shown, minutes, hours in rows:
        pairs = int(number.replace(",", "")) * (10**6 if million else 1)
        chosen = next(choose_models(pairs, {}))
        found = [chosen["model.encoder_layers"], chosen["model.d_model"], chosen["model.dropout"]]
        expected = [row_for(pairs).pieces, *found, round(passes_over(pairs))]
        assert [float(value.replace(",", "")) for value in shown] == expected
        assert float(minutes) * (60 if hours else 1) == pytest.approx(usual_minutes(pairs), rel=0.08)
