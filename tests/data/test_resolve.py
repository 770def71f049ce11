"""One answer to which run is meant, for every command: its recipe, its corpus, its name."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from nmt.commands.options import make_run_parser
from nmt.config import OBJECTIVES, TokenizerConfig
from nmt.data import resolve as module
from nmt.data.corpora import Corpus
from nmt.data.resolve import ResolvedRun, resolve
from nmt.data.texts import Texts
from nmt.data.tokenizer import train_tokenizer
from nmt.vocabulary import ITEMS
from tests.data.corpus_files import write_corpus


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus with a recipe of its own."""
    monkeypatch.setattr(module, "RECIPES", tmp_path / "recipes")
    (tmp_path / "recipes").mkdir()
    recipe = "data: {placeholders: 0.5}\ntokenizer: {vocab_size: 300}\ntraining: {max_steps: 2}\n"
    (tmp_path / "recipes" / "mine.yaml").write_text(recipe)
    pairs = [(f"de sentence {'abcdefghij'[i % 10]} {i}", f"en sentence {'abcdefghij'[i % 10]} {i}") for i in range(48)]
    return write_corpus(tmp_path / "mine", train=pairs[:40], val=pairs[40:44], test=pairs[44:])


def resolved(*argv: str) -> ResolvedRun:
    return resolve(make_run_parser("nmt.train", "").parse(argv))


def test_a_corpus_has_its_own_recipe_unless_another_is_named(corpus: Path, tmp_path: Path) -> None:
    run = resolved("--data.corpus", str(corpus), "--training.max_steps", "3")
    assert (run.config.tokenizer.vocab_size, run.config.training.max_steps) == (300, 3)
    assert run.config.name == "de-en-mine"
    (tmp_path / "other.yaml").write_text("training: {seed: 5}\n")
    run = resolved("--data.corpus", str(corpus), "--config", str(tmp_path / "other.yaml"), "--name", "x")
    assert (run.config.tokenizer.vocab_size, run.config.training.seed) == ("auto", 5)
    assert run.folder == Path("runs/x")


def test_another_corpus_than_that_of_the_recipe_leaves_its_licence_and_companions_behind(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "config.yaml"
    old.write_text("data: {corpus: general, licence: CC0-1.0, more: [{corpus: crawl}]}\nmodel: {d_ff: 32}\n")
    data = resolved("--config", str(old), "--data.corpus", str(corpus)).config.data
    assert (data.more, data.licence) == ((), "")
    said = " ".join(capsys.readouterr().err.split())
    assert f"has data.licence and data.more for the corpus general, left out here: give what goes with {corpus}" in said
    data = resolved("--config", str(old), "--data.corpus", str(corpus), "--data.licence", "mine").config.data
    assert (data.more, data.licence) == ((), "mine")
    data = resolved("--config", str(old), "--data.corpus", "general").config.data
    assert (data.more[0].corpus, data.licence) == ("crawl", "CC0-1.0")


@pytest.mark.parametrize(
    ("more", "fails"),
    [
        (["--config", "multi30k"], True),
        (["--config", "multi30k", "--training.denoise_steps", "9"], False),
        (["--config", "none.yaml"], False),
        (["--config", "none.yaml", "--training.denoise_steps", "0"], True),
        (["--config", "none.yaml", "--training.start_from", "a"], True),
    ],
)
def test_text_that_no_step_would_read_is_told_before_it_is_prepared(
    corpus: Path, here: Path, more: list[str], fails: bool
) -> None:
    Path("none.yaml").write_text("training: {seed: 2}\n")
    command = ["--data.corpus", str(corpus), "--data.more", f"[{{corpus: {corpus}, name: alone, text: both}}]", *more]
    with pytest.raises(ValueError, match=r"alone of data.more has no translations: .* Set") if fails else nullcontext():
        assert resolved(*command).config.data.more[0].text == "both"


@pytest.mark.parametrize(
    ("more", "steps"),
    [
        ([], 9),
        (["--training.start_from", "a"], 0),
        (["--training.teacher", "a"], 0),
        (["--training.start_from", "a", "--training.denoise_steps", "2"], 2),
    ],
)
def test_a_run_from_a_model_restores_no_texts_again(corpus: Path, tmp_path: Path, more: list[str], steps: int) -> None:
    (tmp_path / "config.yaml").write_text("training: {denoise_steps: 9}\n")
    run = resolved("--data.corpus", str(corpus), "--config", str(tmp_path / "config.yaml"), *more)
    assert run.config.training.denoise_steps == steps


@pytest.mark.parametrize(
    ("recipe", "chosen"),
    [
        ("tokenizer: {vocab_size: 300}\ndata: {typos: 0.1}\n", {"tokenizer.vocab_size": 300, "model.d_model": 16}),
        ("data: {placeholders: 0}\n", {"data.placeholders": 0, "model.d_model": 16}),
        ("model: {d_ff: 32}\n", None),
        ("training: {seed: 5}\n", {"training.seed": 5, "model.d_model": 16}),
    ],
)
def test_a_missing_model_is_chosen(corpus: Path, tmp_path: Path, recipe: str, chosen: dict[str, float] | None) -> None:
    (tmp_path / "mine.yaml").write_text(recipe)
    argv = ["--data.corpus", str(corpus), "--config", str(tmp_path / "mine.yaml"), "--model.d_model", "16"]
    run = resolved(*argv)
    assert run.given == chosen
    assert run.config.data.placeholders == (0 if chosen is None or "placeholders" in recipe else 0.1)


def test_a_tokenizer_that_has_pieces_for_placeholders_gets_copies_with_them(corpus: Path, tmp_path: Path) -> None:
    pairs = [(f"ein Hund {n}", f"a dog {n}") for n in range(50)]
    for name, symbols in (("with", ITEMS), ("without", ())):
        train_tokenizer(
            pairs, TokenizerConfig(vocab_size=300, user_defined_symbols=symbols), tmp_path / name, "de", "en"
        )
    for name, share in (("with", 0.1), ("without", 0), ("missing", 0)):
        run = resolved("--data.corpus", str(corpus.with_name("b")), "--tokenizer.folder", str(tmp_path / name))
        assert run.config.data.placeholders == share, name


def test_auto_is_decided_by_reading_and_read_again_if_its_recipe_wants_other_text(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Corpus("mine", Texts.of([("a", "b")]), [("c", "d")], {"test": [("e", "f")]}, {}, ["why it was taken"])
    monkeypatch.setattr(module, "load_corpus", lambda config: read)
    run = resolved()
    assert run.corpus is read
    assert (run.config.data.corpus, run.config.name, run.config.tokenizer.vocab_size) == ("mine", "de-en-mine", 300)
    (corpus.parent / "recipes" / "mine.yaml").write_text("data: {text: target}\n")
    assert resolved().corpus is None
    assert resolved("--data.text", "target").corpus is read


@pytest.mark.parametrize(
    ("argv", "objective", "text", "name"),
    [
        ([], "translation", "pairs", "de-en-mine"),
        (["--data.many_to_many", "[de, en]"], "translation", "pairs", "de-en-mine"),
        (["--data.text", "target"], "translation", "target", "en-mine"),
        (["--data.text", "source"], "translation", "source", "de-mine"),
        (["--data.text", "both"], "translation", "both", "de-en-mine"),
        (["--data.source", "en"], "lm", "target", "en-mine-lm"),
        ([], "mlm", "both", "de-en-mine-mlm"),
        (["--data.text", "source"], "denoise", "source", "de-mine-denoise"),
        ([], "pair", "pairs", "de-en-mine-pair"),
    ],
)
def test_the_objective_says_what_text_auto_is_and_the_name_says_both(
    corpus: Path, argv: list[str], objective: str, text: str, name: str
) -> None:
    family = OBJECTIVES[objective].families[0]  # type: ignore[index]
    argv = [*argv, "--training.objective", objective, "--model.family", family]
    run = resolved("--data.corpus", str(corpus), *argv)
    config, copies = run.config, 0.5 if text == "pairs" and "--data.many_to_many" not in argv else 0
    assert (config.data.text, config.name) == (text, name)
    assert {config.data.placeholders, (run.given or {})["data.placeholders"]} == {copies}
    assert config.training.best_metric == ("bleu" if objective == "translation" else "nll")
    assert config.training.label_smoothing == (0.1 if objective in ("translation", "denoise") else 0)


def test_an_objective_of_one_family_chooses_it_unless_the_settings_name_another(corpus: Path, tmp_path: Path) -> None:
    for objective, family in (("lm", "decoder-only"), ("mlm", "encoder-only"), ("translation", "encoder-decoder")):
        run = resolved("--data.corpus", str(corpus), "--training.objective", objective, "--model.d_model", "64")
        assert (run.config.model.family, run.config.model.d_model) == (family, 64)
    with pytest.raises(ValueError, match=r"objective mlm needs model\.family encoder-only: it is decoder-only"):
        resolved("--data.corpus", str(corpus), "--training.objective", "mlm", "--model.family", "decoder-only")
    (tmp_path / "other.yaml").write_text("training: {objective: pair}\nmodel: {d_model: 32}\n")
    assert resolved("--config", str(tmp_path / "other.yaml"), "--data.corpus", str(corpus)).config.model.d_model == 32
