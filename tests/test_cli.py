"""Settings: strict, documented, the same from YAML and from the command line; every recipe loads."""

from dataclasses import fields
from pathlib import Path

import pytest

from nmt.cli import as_config, dump_config, flatten, load_config, make_parser, parse, run_command
from nmt.config import Config, DataConfig, ModelConfig, SearchConfig, TokenizerConfig, TrainingConfig

RECIPES = sorted((Path(__file__).parent.parent / "recipes").glob("*.yaml"))


def settings(*argv: str) -> Config:
    return as_config(parse(make_parser("nmt.train", ""), list(argv)))


def test_later_wins_of_defaults_recipe_and_command_line(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("training: {max_steps: 7, learning_rate: 3e-3}\nmodel: {d_model: 64}\n")
    config = settings("--config", str(recipe), "--training.max_steps", "8")
    assert (config.training.max_steps, config.training.learning_rate) == (8, 3e-3)
    assert (config.model.d_model, config.model.d_ff) == (64, ModelConfig().d_ff)
    assert settings() == Config()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--training.max_stepz", "5"], "no setting training.max_stepz: did you mean training.max_steps?"),
        (["--training.max_steps", "many"], "training.max_steps: Expected a whole number. Got value: many"),
        (["--model.norm", "batch"], "model.norm: Expected one of ['layer', 'rms']. Got value: batch"),
        (["--model.d_model", "30"], "multiple of model.n_heads, 8"),
        (["--model.n_kv_heads", "3"], "must divide model.n_heads, 8"),
        (["--model.dropout", "1.5"], "model.dropout is 1.5"),
        (["--data.source", "en"], "both 'en'"),
        (["--decoding.n_best", "9"], "decoding.n_best is 9"),
        (["--decoding.max_length_ratio", ".inf"], "decoding.max_length_ratio is inf"),
        (["--decoding.length_penalty", "1000"], "decoding.length_penalty is 1000"),
        (["--decoding.temperature", "1e-39"], "decoding.temperature is 1e-39"),
        (["--decoding.repetition_penalty", ".nan"], "decoding.repetition_penalty is nan"),
        (["--training.seed", "99999999999999"], "training.seed is 99999999999999"),
        (["--training.beta2", "1.0"], "training.beta2 is 1.0: a decay"),
        (["--training.epsilon", "0"], "training.epsilon is 0.0: it must be positive"),
        (["--tokenizer.joint", "false"], "three-way"),
        (["--config", "/no/such.yaml"], "/no/such.yaml"),
    ],
)
def test_a_mistake_is_one_line_that_names_it(argv: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=r"(?s).+") as error:
        settings(*argv)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_typo_in_a_recipe_names_the_nearest_setting(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("training: {lerning_rate: 1e-3}\n")
    with pytest.raises(ValueError, match=r"did you mean training\.learning_rate"):
        load_config(recipe)


def test_saved_settings_load_as_they_were(tmp_path: Path) -> None:
    config = settings(
        "--tokenizer.user_defined_symbols",
        '["<br>", "{name}"]',
        "--model.n_kv_heads",
        "2",
        "--training.learning_rate",
        "1e-3",
        "--data.corpus",
        "hub:a/b:c",
    )
    (tmp_path / "config.yaml").write_text(dump_config(config))
    assert load_config(tmp_path / "config.yaml") == config


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_loads_and_opens_with_its_command(recipe: Path) -> None:
    load_config(recipe)
    first = recipe.read_text(encoding="utf8").splitlines()[0]
    assert first.startswith(("# make train-", f"# python -m nmt.train --config recipes/{recipe.name}"))


@pytest.mark.parametrize("kind", [Config, DataConfig, TokenizerConfig, ModelConfig, TrainingConfig, SearchConfig])
def test_help_tells_every_field_by_its_docstring(kind: type) -> None:
    text = " ".join(make_parser("nmt.train", "").format_help().split())
    prefix = "" if kind is Config else kind.__name__.removesuffix("Config").lower() + "."
    for field in fields(kind):
        if kind is Config and field.name not in ("name", "runs"):
            continue
        start = text.index(f" --{prefix}{field.name} ", text.index("options:"))
        words = text[start:].split(" --")[1].split("(type:")[0].split()
        assert len(words) > 3, f"{prefix}{field.name} has no docstring"


def test_flat_settings_have_every_leaf_once() -> None:
    flat = flatten(Config())
    assert flat["training.max_steps"] == TrainingConfig().max_steps
    assert len(flat) == 2 + sum(
        len(fields(k)) for k in (DataConfig, TokenizerConfig, ModelConfig, TrainingConfig, SearchConfig)
    )


def test_a_users_mistake_is_printed_and_ours_is_not_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    def mistake() -> int:
        raise ValueError("the value is 3: take 4")

    def bug() -> int:
        raise KeyError("x")

    def interrupt() -> int:
        raise KeyboardInterrupt("stopped; --resume goes on")

    assert run_command("train", mistake) == 2
    assert capsys.readouterr().err == "nmt.train: the value is 3: take 4\n"
    assert run_command("train", lambda: len(Path("/no/file").read_bytes())) == 2
    assert capsys.readouterr().err == "nmt.train: /no/file: No such file or directory\n"
    assert run_command("train", interrupt) == 130
    assert "--resume goes on" in capsys.readouterr().err
    with pytest.raises(KeyError):
        run_command("train", bug)
