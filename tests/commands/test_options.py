"""Settings: strict, documented, the same from YAML and from the command line; every recipe loads."""

import re
import shlex
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import fields, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from nmt.__main__ import COMMANDS
from nmt.commands.options import Parser, make_run_parser, run_command
from nmt.config import CleaningConfig, Config, DataConfig, SearchConfig
from nmt.config.data import CorpusConfig
from nmt.config.names import describe_changes, fixed_settings, flatten, sections, setting_types
from nmt.config.recipes import load_config, make_config
from nmt.config.yaml12 import read_yaml, write_yaml
from nmt.extras import typed
from nmt.generate import make_generate_parser
from nmt.messages import show_value
from nmt.tokenizer import make_tokenizer_parser
from nmt.train import OFTEN_CHANGED, make_train_parser
from nmt.translate import make_translate_parser

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "recipes").glob("*.yaml"))
# Of the tokenizer's command, each action has options of its own.
PARSERS: dict[str, Callable[[], Parser]] = {
    f"nmt.{name}": getattr(import_module(f"nmt.{name}"), f"make_{name}_parser")
    for name in COMMANDS
    if name != "tokenizer"
} | {f"nmt.tokenizer {action}": partial(make_tokenizer_parser, action) for action in ("train", "encode", "decode")}
OF_TRAINING = {"--config", "--help-all", "--resume"}


def settings(*argv: str) -> Config:
    given = make_run_parser("nmt.train", "").parse(argv)
    return make_config(given, Path(given.config) if "config" in given else None)


SPY = ["spy.X", "{class_path: spy.X}", "[spy.X]", "[{class_path: spy.X}]", "[{corpus: x, class_path: spy.X}]"]
SPY += [f"[{{corpus: x, cleaning: {value}}}]" for value in SPY[:2]] + ["[{corpus: {class_path: spy.X}}]"]


@pytest.mark.parametrize("value", [*SPY, "!!python/name:spy.X"])
def test_no_value_of_a_setting_is_imported(value: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recipe of a stranger must not run code, even if the current folder has a module of that name."""
    (here / "spy.py").write_text("open('imported', 'w').close()\nclass X: pass\n")
    monkeypatch.syspath_prepend(here)
    parser, kinds = make_run_parser("nmt.train", ""), {hint: name for name, (hint, *_) in setting_types().items()}
    for name in [*kinds.values(), *sections(), "data.class_path", "class_path"]:  # one setting of each type
        monkeypatch.delitem(sys.modules, "spy", raising=False)
        section, _, setting = name.rpartition(".")
        (here / "config.yaml").write_text(f"{section}: {{{setting}: {value}}}" if section else f"{name}: {value}")
        with suppress(ValueError):
            load_config(here / "config.yaml")
        for argv in ([f"--{name}", value], [f"--{name}.class_path", "spy.X"], [f"--{name}.help=spy.X"]):
            with suppress(ValueError):
                make_config(parser.parse(argv))
        assert not (here / "imported").exists(), name


def test_settings_are_yaml_1_2(tmp_path: Path) -> None:
    """YAML 1.1 reads `no`, the code of Norwegian, as false, 010 as 8, a date as no text, and 1e-1 as a text."""
    data = "{source: no, corpus: main, more: [{corpus: x, weight: 1e-1, cleaning: {letters: 2e-1}}]}"
    (tmp_path / "recipe.yaml").write_text(f"name: 2026-11-26\ndata: {data}\ntraining: {{max_steps: 010}}\n")
    config = load_config(tmp_path / "recipe.yaml")
    assert (config.name, config.data.source, config.training.max_steps) == ("2026-11-26", "no", 10)
    assert config.data.more == (CorpusConfig(corpus="x", weight=0.1, cleaning=CleaningConfig(letters=0.2)),)
    assert settings("--training.max_steps=010").training.max_steps == 10


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8"))
LIKE_NUMBERS = st.from_regex(r"[-+.0-9eExo_:~nN]{0,9}", fullmatch=True) | st.sampled_from(
    ["no", "Yes", "null", "=", "<<"]
)


@example(value="\x85", flow=False)
@given(
    value=st.recursive(SCALARS | LIKE_NUMBERS, lambda v: st.lists(v) | st.dictionaries(LIKE_NUMBERS, v)),
    flow=st.booleans(),
)
def test_what_is_written_as_yaml_is_read_again(value: Any, flow: bool) -> None:
    assert read_yaml(write_yaml(value, flow=flow)) == value
    assert yaml.safe_load(write_yaml(value, flow=flow)) == value, "other programs read YAML 1.1"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_loads_and_opens_with_its_command(recipe: Path) -> None:
    load_config(recipe)
    first = recipe.read_text(encoding="utf8").splitlines()[0]
    assert first.startswith(
        ("# make train-", "# make student-", f"# python -m nmt.train --config recipes/{recipe.name}")
    )


@pytest.mark.parametrize("command", PARSERS)
def test_help_describes_every_option_in_sentences_and_with_its_default(command: str) -> None:
    parser = PARSERS[command]()
    hidden, kinds = dict(parser.hidden), {"": Config} | {f"{name}.": kind for name, kind in sections().items()}
    defaults = {f"{prefix}{f.name}": f.default for prefix, kind in kinds.items() for f in fields(kind)}
    defaults = {name: defaults[name] for name in setting_types()}
    for action in parser._actions:
        text = " ".join((hidden.get(action) or action.help or "").replace("%%", "%").split())
        found = re.fullmatch(r"([A-Z].*[.])(?: \(default: (.+)\))?", text)
        assert found, f"{action.option_strings}: {text}"
        assert len(found[1].split()) > 2, action.option_strings
        default = defaults.get(action.dest, parser.defaults.get(action.dest))
        if show_value(default) and action.nargs != 0:
            assert found[2] == show_value(default), action.option_strings
    for group in parser._action_groups:
        assert "\n" not in (group.title or "")


@pytest.mark.parametrize("command", PARSERS)
def test_help_has_a_short_usage_and_examples_that_parse(command: str) -> None:
    parser = PARSERS[command]()
    text = parser.format_help()
    shown = re.escape(typed(command.removeprefix("nmt.")))
    assert re.match(rf"usage: {shown} [^\n]{{,60}}\n\n[A-Z]", text)
    _, found, examples = text.partition("\nExamples:\n")
    assert found
    assert len(examples.splitlines()) in (1, 2, 3)
    for line in examples.splitlines():
        words = shlex.split(re.split(" [<>|] ", line.replace(typed(""), "python -m nmt."))[0])
        program, *action = command.split()
        assert words[:3] == ["python", "-m", program]
        if action:  # the action and the tokenizer's name come first
            PARSERS[f"{program} {words[3]}"]().parse(words[5:])
            continue
        given = parser.parse(words[3:])
        if command in ("nmt.prepare", "nmt.train"):
            make_config(given, ROOT / given.config if "config" in given else None)


def shown_options(text: str) -> set[str]:
    return set(re.findall(r"^  (--[\w.-]+)", text, re.MULTILINE))


def test_each_command_shows_its_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    texts = {command: make().format_help() for command, make in PARSERS.items()}
    settings = {f"--{name}" for name in flatten(Config())}
    assert shown_options(texts["nmt.train"]) == {f"--{n}" for n in OFTEN_CHANGED} | OF_TRAINING
    assert len(OFTEN_CHANGED) == 25
    kept = {name for name in settings if name.startswith(("--data", "--tokenizer", "--name", "--runs"))}
    kept -= {"--data.many_to_many", "--data.more", "--data.licence"}  # for recipes
    more = "--config --help-all --model.tied_embeddings --cleaning.profile --explain --workers --part"
    assert shown_options(texts["nmt.prepare"]) == kept | {*more.split()}
    assert "--training" not in texts["nmt.prepare"]
    assert len(texts["nmt.prepare"].splitlines()) < 110
    searching = {f"--{field.name.replace('_', '-')}" for field in fields(SearchConfig)}
    assert searching <= shown_options(texts["nmt.translate"])
    assert "--data.max_pieces" not in texts["nmt.augment"]
    assert [name for name, text in texts.items() if "change on resume" in " ".join(text.split())] == ["nmt.train"]
    assert shown_options(texts["nmt.tokenizer train"]) < kept | {"--config", "--help-all"}
    assert all("CONFIG" not in text.replace("CONFIGURATION", "") for text in texts.values())


def test_metavars_name_the_kind_of_a_value_and_help_says_that_the_model_decides() -> None:
    shown = {action.dest: action.metavar for action in PARSERS["nmt.train"]()._actions}
    expected = {"data.corpus": "CORPUS", "training.max_steps": "N", "model.n_kv_heads": "N", "runs": "DIR"}
    expected |= {"training.learning_rate": "X", "tokenizer.folder": "DIR", "model.norm": "{layer,rms}"}
    expected |= {"model.bias": "{true,false}", "tokenizer.user_defined_symbols": "[TEXT,...]"}
    assert shown | expected == shown
    actions = {action.dest: action for action in PARSERS["nmt.translate"]()._actions}
    assert actions["guard"].metavar == "{true,false}"
    for name, default in (("beam_size", "5"), ("guard", "true")):
        assert (actions[name].help or "").endswith(f"(default: the model's, else {default})")


def test_help_all_shows_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        PARSERS["nmt.train"]().parse(["--help-all"])
    assert stop.value.code == 0
    assert shown_options(capsys.readouterr().out) == {f"--{n}" for n in setting_types()} | OF_TRAINING


@pytest.mark.parametrize(
    ("command", "shows_all"), [("nmt.train", "--help-all"), ("nmt.prepare", "--help-all"), ("nmt.serve", "--help")]
)
def test_an_unknown_option_names_the_help_that_lists_all(command: str, shows_all: str) -> None:
    with pytest.raises(ValueError, match=f"there is no setting qqqq; {shows_all} lists all$"):
        PARSERS[command]().parse(["--qqqq", "1"])


@pytest.mark.parametrize(
    "argv",
    [
        ["--search.beam_size", "3", "--training.max_steps", "7"],
        ["--beam-size", "3", "--max-steps=7"],
        ["--search.beam-size=3", "--max_steps", "7"],
    ],
)
def test_a_setting_is_spelled_in_one_dialect_on_every_command_line(argv: list[str]) -> None:
    config = settings(*argv)
    assert (config.search.beam_size, config.training.max_steps) == (3, 7)
    assert make_translate_parser().parse([argv[0].split("=")[0], "3"]).beam_size == 3


def test_an_option_that_is_given_twice_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert settings("--training.max_steps", "5", "--max-steps=7").training.max_steps == 7
    assert capsys.readouterr().err == "--training.max_steps is given more than once: the last value counts\n"
    argv = ["--model", "a", "--model", "b", "--scores", "--scores", "--from", "de", "--", "--from", "--from"]
    assert make_translate_parser().parse(argv).model == ["a", "b"]
    assert capsys.readouterr().err == ""


def test_settings_of_format_1_are_read_under_today_s_names(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("decoding: {beam_size: 3, split_above: 200, mbr: none, prefix_bias: 0.5}\n")
    assert load_config(recipe).search == SearchConfig(beam_size=3)
    recipe.write_text("decoding: {split_above: 90}\nsearch: {beam_size: 2}\n")
    assert load_config(recipe).search == SearchConfig(beam_size=2, split_above=90)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "holds no settings"),
        ("training: 3", "training is a section"),
        *((text, "is not valid YAML") for text in ("training: [", "name: !!bool x", "name: !!timestamp x")),
        ("data: &a {more: *a}", "is not valid YAML: an alias is not read"),
        ("training: {max_steps: 2, 'max_steps': 3}", "is not valid YAML: 'max_steps' is there twice"),
        ("training: {lerning_rate: 1e-3}", "there is no setting training.lerning_rate: did you mean training.learning"),
        ("format: 9", "format 9, of a newer nmt"),
        ("training: {max_steps: x}", "training.max_steps is 'x': it must be a whole number"),
        ("training: {max_steps: }", "training.max_steps is null: it must be a whole number"),
        ("data: {more: }", "data.more is null: it must be a list"),
        ("training: {teacher: [a, b]}", "training.teacher is a list of 2 folders: several teachers were removed"),
        ("trainin: {}", "there is no setting trainin"),
        ("3: 4", "there is no setting 3"),
    ],
)
def test_a_recipe_that_can_t_be_read_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "recipe.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"recipe\.yaml") as error:
        load_config(tmp_path / "recipe.yaml")
    assert message in str(error.value)


def test_a_run_folder_in_place_of_its_settings_is_answered_with_their_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"^{tmp_path} is a folder: name a file, such as {tmp_path}/config\.yaml$"):
        load_config(tmp_path)
    with pytest.raises(ValueError, match=r"there is no such file; recipes of nmt are .*modern, multi30k"):
        load_config(Path("modren"))


@pytest.mark.parametrize(
    ("section", "name", "unused", "used"),
    [
        ("training", "shard", False, True),
        ("training", "stages", [], ["{step: 5, weights: {crawl: 0}}"]),
        ("training", "beta2", 0.98, 0.999),
        ("data", "variants", 0.0, 0.1),
        ("data", "weights", "''", "quality"),
        ("search", "terms", "must", "hint"),
        ("model", "experts", 0, 8),
        ("noise", "kind", "infilling", "spans"),
        ("cleaning", "near", "null", 0.9),
    ],
)
def test_a_setting_that_was_removed_is_refused_where_it_was_used(
    tmp_path: Path, section: str, name: str, unused: object, used: object
) -> None:
    recipe, reason = tmp_path / "recipe.yaml", "it was removed, since .*(; leave it out|; take |nmt 1.0.0)"
    recipe.write_text(f"{section}: {{{name}: {unused}}}")
    assert load_config(recipe) == Config()
    recipe.write_text(f"{section}: {{{name}: {used}}}")
    with pytest.raises(ValueError, match=re.escape(f"{section}.{name} is {used}: ") + reason):
        load_config(recipe)
    short = [name.replace("_", "-")] if name not in ("kind", "weights") else []  # others have such names
    for option in (f"{section}.{name}", *short):
        with pytest.raises(ValueError, match=f"there is no setting {option}: {reason}"):
            make_train_parser().parse([f"--{option}", str(used)])
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "corpus.json").touch()  # a run, whose text is prepared
    if name == "weights" or section not in ("data", "cleaning", "search"):
        with pytest.raises(ValueError, match=reason):
            load_config(recipe)
    else:
        assert load_config(recipe) == Config()


REMOVED_WEIGHTS = r"data\.more\.weights is quality: it was removed, since .*; take data.scorer and data.least_quality"


def test_weights_of_pairs_are_refused_in_an_entry_too(tmp_path: Path) -> None:
    """In a recipe and on a command line; what says nothing is read."""
    recipe, more = tmp_path / "recipe.yaml", "[{corpus: x, weight: 2, weights: %s}]"
    parser, expected = make_run_parser("nmt.train", ""), (CorpusConfig(corpus="x", weight=2),)
    for weights in ("''", "quality"):
        recipe.write_text(f"data: {{more: {more % weights}}}")
        with nullcontext() if weights == "''" else pytest.raises(ValueError, match=REMOVED_WEIGHTS):
            assert load_config(recipe).data.more == expected
        with nullcontext() if weights == "''" else pytest.raises(ValueError, match=REMOVED_WEIGHTS):
            assert parser.parse(["--data.more", more % weights])["data.more"] == expected


def test_only_settings_that_alter_what_was_learned_are_fixed() -> None:
    fixed = fixed_settings(Config())
    assert {"model.d_model", "training.seed", "training.ema", "data.corpus", "tokenizer.kind"} <= fixed.keys()
    assert not {"training.max_steps", "training.device", "runs", "training.compile"} & fixed.keys()


def failing(error: BaseException) -> Callable[[], int]:
    def work() -> int:
        raise error

    return work


@pytest.mark.parametrize(
    ("work", "status", "said"),
    [
        (failing(ValueError("the value is 3: take 4")), 2, "nmt.train: the value is 3: take 4"),
        (failing(OSError(28, "No space left on device")), 2, "nmt.train: No space left on device"),
        (lambda: len(Path("/no/file").read_bytes()), 2, "nmt.train: /no/file: No such file or directory"),
        (lambda: len(Path("/no\x1b\x9b").read_bytes()), 2, "nmt.train: /no\ufffd\ufffd: No such file or directory"),
        (lambda: bool(import_module("nowhere")), 2, "nmt.train: No module named 'nowhere': "),
        (failing(KeyboardInterrupt("stopped; --resume goes on")), 130, "stopped; --resume goes on"),
        (failing(ValueError("a\x07\x1b]0;x")), 2, "nmt.train: a\ufffd\ufffd]0;x"),  # which terminals obey
    ],
)
def test_a_users_mistake_is_printed(
    work: Callable[[], int], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command("train", work) == status
    [line] = capsys.readouterr().err.strip().splitlines()
    assert line.startswith(said)
    assert "nowhere" not in said or line.endswith(f"{typed('doctor')} shows what is missing")


def test_a_mistake_of_ours_is_not_hidden() -> None:
    with pytest.raises(KeyError):
        run_command("train", failing(KeyError("x")))


def test_changed_entries_are_told_as_a_recipe_has_them() -> None:
    """Those of a run, with what may change on resume, and those of records, which older versions wrote too."""
    more = CorpusConfig(corpus="x", weight=2.0, languages=("de", "fi"), cleaning=CleaningConfig(profile="crawled"))
    data = DataConfig(corpus="main", many_to_many=("de", "fi"))
    before, now = (flatten(Config(data=replace(data, more=entries))) for entries in ((), (more,)))
    entry = "{corpus: x, weight: 2.0, languages: [de, fi], cleaning: {profile: crawled}}"
    assert describe_changes(before, now) == f"data.more was [], is [{entry}]"
    assert describe_changes(now, before) == f"data.more was [{entry}], is []"
    older = {
        "data.more": [{"corpus": "x", "weight": 2.0, "languages": ["de", "fi"], "cleaning": {"profile": "crawled"}}]
    }
    assert describe_changes(older, {"data.more": now["data.more"]}) == ""
    assert describe_changes({"data.corpus": "./a"}, {"data.corpus": "a/"}) == ""
    assert describe_changes({"data.corpus": "a"}, {"data.corpus": "../a"})
    assert "cleaning: {}" in describe_changes({}, {"data.more": (replace(more, cleaning=CleaningConfig()),)})


@pytest.mark.parametrize("text", ["letter #2.txt", '"quoted"', "'a'", "a: b", " a ", "null", "~", "7", "- x", "[a]"])
def test_texts_are_taken_as_they_are_written(text: str) -> None:
    assert make_translate_parser().parse(["--output", text])["output"] == text
    assert make_generate_parser().parse(["--prompt", text])["prompt"] == text
    assert make_run_parser("nmt.train", "").parse([f"--data.corpus={text}"])["data.corpus"] == text
