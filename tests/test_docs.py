"""The documentation: its commands and examples run with small settings; its options, names and errors exist."""

import importlib
import json
import os
import re
import shlex
import subprocess
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest
import yaml
from torch.distributed.run import get_args_parser

import nmt
from nmt.commands.options import make_run_parser
from nmt.config import Config, DataConfig, LoraConfig, ObjectiveName, SearchConfig
from nmt.config.names import setting_types
from nmt.config.recipes import dump_config
from nmt.data.tokenizer import Tokenizer
from nmt.decode.hypothesis import Hypothesis
from nmt.model.lora import add_adapters
from nmt.reading.request import Constraints, Part, Request, Term, Translation
from nmt.scoring.evaluation import Evaluation
from nmt.scoring.metrics import Score
from nmt.translation.adapter import save_adapter
from nmt.translation.model_folder import Facts, load_model
from tests import forks, pretend
from tests.commands.test_options import PARSERS
from tests.data.corpus_files import write_corpus
from tests.documents.office_samples import TMX, docx, run
from tests.tiny import TINY, make_model, save_scorer, save_tiny
from tests.training.torchrun import forked

pytestmark = pytest.mark.slow  # all together
ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
    ROOT / "recipes" / "README.md",
]
TEXTS = {page: page.read_text(encoding="utf8").replace("\\\n", " ") for page in PAGES}

# Commands that are not run here, and why.
EXEMPT = {
    "make tensorboard": "it serves until it is stopped",
    "make test": "it runs these tests",
    "make report": "it writes into the repository",
    "make docs": "tests/docs/test_site.py runs its command",
    "make quick": "it runs these tests",
    "make serve": "it serves until it is stopped",
    "-m nmt.serve": "it serves until it is stopped",
    "make student-": "its commands stand below it, and are run",
    "pip install": "it needs the network",
    "--to onnx": "tests/interop/test_onnx.py runs it, which takes seconds",
    "convert_hf_to_gguf.py": "it is a program of llama.cpp",
    "-m pytest": "it runs these tests",
}
# Options of other programs, in the commands and the text.
FOREIGN = {
    "torchrun": {"nproc-per-node", "nnodes", "rdzv-backend", "rdzv-endpoint", "max-restarts"},
    "sacrebleu": {"input", "metrics", "paired-bs", "format"},
    "pip": {"editable"},
    "uv": {"seed"},
    "pytest": {"auto"},
    "tensorboard": {"logdir", "port"},
    "llama.cpp": {"outfile", "outtype", "force"},
}
SMALL = (
    "--tokenizer.vocab_size 360 --model.d_model 16 --model.n_heads 2 --model.d_ff 32 --model.encoder_layers 1 "
    "--model.decoder_layers 2 --model.tied_embeddings none --model.norm layer --model.norm_position post "
    "--model.positions sinusoidal --model.activation relu --model.bias true --training.max_steps 2 "
    "--training.validate_every 2 --training.warmup_steps 1 --training.validation_sentences 2 --training.threads 1 "
    "--search.beam_size 2 --search.max_length_ratio 0.3"
)
# What commands make is put elsewhere if other commands need what is there.
ELSEWHERE = {
    "--output my-corpus-more": "--output made",
    "--output distilled": "--output made-distilled",
    "--output translated": "--output made-translated",
    "--to zip": "--to zip --quantization float32",  # int8 of a random model is far from it without VNNI
    "--only-new": "--only-new --guard false",  # it flags all that random models make
    "nmt.prepare": "nmt.prepare --runs made-runs",
}
CORPORA = re.compile(r"(CORPUS=|--data.corpus )(phrasebook|multi30k|hub:\S+)")

# tests/docs runs the commands of these, in order.
WALKS = {"first-translator.md", "translation-memory.md", "first-of-its-language.md", "how-it-works.md"}
APART = [text for page, text in TEXTS.items() if page.name not in WALKS]
LINES = [line.strip() for text in APART for line in text.splitlines() if re.match(" {4,8}[^ ]", line)]
COMMANDS = [*dict.fromkeys(line for line in LINES if re.match(r"(make|\.venv/\S+|echo|python3?) ", line))]
READY = [command for command in COMMANDS if not any(part in command for part in EXEMPT)]
TRAINING = [command for command in READY if re.search(r"make train-|-m nmt\.train", command)]
TORCHRUN = [command for command in TRAINING if "torchrun" in command]
OTHERS = [command for command in READY if command not in TRAINING]
EXAMPLES = [example for text in APART for example in re.findall(r"```python\n(.*?)```", text, re.DOTALL)]


def write_pairs(folder: Path, *languages: str, kind: str = "sentence") -> None:
    rows = [[f"{language} {kind} {'abcdefghij'[n % 10]} {n}" for language in languages] for n in range(70)]
    write_corpus(folder, *languages, train=rows[:60], val=rows[60:65], test=rows[65:])


def write_run(
    folder: Path, tokenizer: Tokenizer, source: str, target: str, objective: ObjectiveName = "translation"
) -> None:
    """A finished run with a random model, without training it."""
    model = make_model(tokenizer, config=replace(TINY, family="decoder-only") if objective == "lm" else TINY)
    search = SearchConfig(beam_size=3, max_length_ratio=0.3)
    save_tiny(folder / "model", model, tokenizer, search, (source, target), objective)
    config = Config(name=folder.name, data=DataConfig(source=source, target=target), model=model.config)
    (folder / "config.yaml").write_text(dump_config(config), encoding="utf8")
    write_corpus(folder / "data", "src", "tgt", test=[("Guten Morgen!", "Good morning!")])
    (folder / "report.json").write_text("{}", encoding="utf8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Path:
    """A folder with what the commands expect: corpora, input to translate, and finished runs."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "recipes").symlink_to(ROOT / "recipes")
    for corpus in ("my-corpus", "my-corpus-more"):
        write_pairs(folder / corpus, "fi", "sv")
    write_pairs(folder / "translated", "fi", "sv", kind="made")
    for corpus in ("corpus", "my-domain", "distilled"):
        write_pairs(folder / corpus, "de", "en")
    texts = {
        "input.de": "Guten Morgen!\n\nWo ist der Bahnhof?\n",
        "input.fi": "Hyvää huomenta!\n",
        "prompts.txt": "Where is\nThe dog\n",
        "input.jsonl": '{"text": "Guten Morgen!\\nWo ist er?", "id": 1}\n"Ja"\n',
        "letter.md": "# Guten Morgen!\n\nDer **Hund** da.\n",
        "products.csv": "id,title,text\n1,Der Hund,Ja\n",
        "app.po": 'msgid "Der Hund"\nmsgstr ""\n',
        "old.tmx": TMX,
        "pairs.tsv": "Guten Morgen!\tGood morning!\n" + "".join(f"fi {i}\tsv {i}\n" for i in range(40)),
        "glossary.tsv": "Bahnhof\tstation|stations\n",
        "news.en": "".join(f"Sentence {i}\n" for i in range(60)),
        "more.sv": "sv sentence k\nsv sentence l\n",
        **dict.fromkeys(("reference.en", "output.en", "output-a.en"), "Good morning!\n\nWhere is the station?\n"),
        "output-b.en": "Good evening!\n\nWhere is it?\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf8")
    (folder / "letter.docx").write_bytes(docx(run("Guten Morgen!")))
    for name in ("de-en-phrasebook", "de-en-multi30k", "tuned", "r-drop", "long", "longer"):
        write_run(folder / "runs" / name, tokenizer, "de", "en")
    base, _, _ = load_model(folder / "runs" / "de-en-multi30k")
    add_adapters(base, LoraConfig(rank=2))
    save_adapter(folder / "runs" / "adapted" / "adapter", base, "runs/de-en-multi30k/model")
    write_run(folder / "runs" / "en-multi30k-lm", tokenizer, "de", "en", "lm")
    write_run(folder / "runs" / "fi-sv-my-corpus", tokenizer, "fi", "sv")
    write_run(folder / "runs" / "fi-sv-my-corpus-denoise", tokenizer, "fi", "sv")
    write_run(folder / "runs" / "sv-fi-my-corpus", tokenizer, "sv", "fi")
    save_scorer(folder / "runs" / "fi-sv-my-corpus-pair" / "model", tokenizer, ("fi", "sv"))
    save_scorer(folder / "runs" / "de-en-multi30k-pair" / "model", tokenizer)
    return folder


def run_here(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> str:
    """Run `.venv/bin/python -m nmt.COMMAND …` in this process, which saves seconds, with `echo TEXT |`, `< FILE` and
    `> FILE`; returns its output."""
    words, files = shlex.split(command, comments=True), {"<": os.devnull}
    monkeypatch.chdir(folder)
    if words[0] == "echo":
        Path("echoed").write_text(f"{words[1]}\n", "utf8")
        words, files["<"] = words[3:], "echoed"
    while words[-2] in ("<", ">"):
        *words, sign, file = words
        files[sign] = file
    python, option, module, *arguments = words
    assert (python, option) == (".venv/bin/python", "-m")
    with open(files["<"]) as text, forks.standard_input(text):
        status = importlib.import_module(module).main(arguments)
    captured = capfd.readouterr()
    assert status == 0, f"{command}\n{captured.err}"
    if ">" in files:
        Path(files[">"]).write_text(captured.out, "utf8")
    return captured.out


def as_python(command: str) -> str:
    """The Python command of a `make train-…`; other commands are returned as they are."""
    if not command.startswith("make "):
        return command
    arguments = [*shlex.split(command, comments=True), "-n", "-o", ".venv/.core-installed"]
    recipe = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return " ".join(recipe.replace("\\\n", " ").split())


def small(command: str, runs: str) -> str:
    """A training command on a small corpus with small settings, whose run is made in the folder `runs`."""
    corpus = "" if re.search(r"CORPUS=|--data.corpus ", command) else " --data.corpus corpus"
    local = CORPORA.sub(r"\g<1>corpus", command.partition("#")[0])
    others = " --data.placeholders 0" if "multi30k-long.yaml" in local else ""  # its first model is a small one here
    return f"{as_python(local)}{corpus} {SMALL}{others} --runs {runs}"


def with_precisions() -> Iterator[tuple[str, str]]:
    """The commands that don't train, with what precision auto means: each in turn where a translation is demanding."""
    every = re.compile("--(glossary|format jsonl|samples|force-decode)")
    for command in OTHERS:
        for auto in ("fp32", "bf16") if every.search(command) else ("",):
            yield command, auto


@pytest.mark.parametrize(("command", "auto"), [*with_precisions()])
def test_commands_run_whatever_the_precision(
    command: str, auto: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for owner, name, value in pretend.patches(auto) if auto else ():
        monkeypatch.setattr(owner, name, value)
    for documented, here in ELSEWHERE.items():
        command = command.replace(documented, here)
    command = CORPORA.sub(r"\g<1>corpus", command)
    output = run_here(command, folder, monkeypatch, capfd)
    if "nmt.translate" in command and "--output" not in command and " > " not in command:
        lines = 41 if "pairs.tsv" in command else 2 if "jsonl" in command else 1 if "echo" in command else 3
        assert output.count("\n") == (3 * lines if "--n-best 3" in command else lines)


@pytest.mark.parametrize("command", [command for command in TRAINING if command not in TORCHRUN])
def test_training_commands_train(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    runs = f"trained-{TRAINING.index(command)}"
    run_here(small(command, runs), folder, monkeypatch, capfd)
    [report] = (folder / runs).glob("*/report.json")
    assert json.loads(report.read_text(encoding="utf8"))["parameters"] < 50_000


@pytest.mark.parametrize("command", TORCHRUN)
def test_several_processes_train(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On one machine, in two forks of this process; `tests/training/test_distributed.py` starts torchrun itself."""
    monkeypatch.chdir(folder)
    runs = f"trained-{TRAINING.index(command)}"
    given = get_args_parser().parse_args(shlex.split(small(command, runs))[1:])
    assert (given.module, given.training_script) == (True, "nmt.train")
    forked(given.training_script_args, 2, folder / "log")
    assert [*(folder / runs).glob("*/report.json")]


@pytest.mark.parametrize("example", EXAMPLES)
def test_python_examples_run(example: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    exec(compile(example, "docs", "exec"), {})


def test_commands_that_are_left_out_or_changed_are_in_the_pages() -> None:
    assert [part for part in (*EXEMPT, *ELSEWHERE) if not any(part in command for command in COMMANDS)] == []


def test_make_targets_exist(folder: Path) -> None:
    made = (command for command in COMMANDS if command.startswith("make "))
    teacher = f"TEACHER={folder / 'runs' / 'de-en-multi30k'}"
    for target in {re.sub(r"train-\w+-\w+", "train-de-en", command.split()[1]) for command in made}:
        subprocess.run(["make", "-n", target, teacher], cwd=ROOT, capture_output=True, check=True)


def test_pages_are_short() -> None:
    lesson = ROOT / "docs" / "how-it-works.md"  # it shows a whole program
    for page, most in {**dict.fromkeys(PAGES, 150), PAGES[0]: 100, PAGES[-1]: 60, lesson: 700}.items():
        assert page.read_text(encoding="utf8").count("\n") <= most, page
    assert len(TEXTS[ROOT / "README.md"].split()) <= 900


SCORE = r"\d\s(?:BLEU|chrF|points|(?:sentences|tokens|pieces)/s)\b"
FIGURE = rf"\d+\.\d+|\d\s?%|\d\s(?:minutes?|seconds?|hours?|days?|ms|[KMGT]i?B|times)\b|{SCORE}"


def figures_by_hand(text: str, kind: str = FIGURE) -> list[str]:
    """Measured numbers that `make report` hasn't written: not in its tables, in code, links, or names of versions."""
    made = r"<!-- table: .*?<!-- end -->|`[^`]*`|\]\(.*?\)|^    .*?$|Python \d\.\d+|Apache-2\.0"
    return re.findall(kind, re.sub(made, "", text, flags=re.DOTALL | re.MULTILINE))


def test_scores_and_the_figures_of_the_readme_and_of_the_comparison_come_from_rows() -> None:
    assert figures_by_hand("It has 42.9 BLEU, takes 18 minutes and 2 GB, is 2 times as fast: 60% of 300 sentences/s")
    assert not figures_by_hand("Python 3.11, `--rate 0.1`, 29,000 pairs\n<!-- table: x -->\n| 0.74 |\n<!-- end -->")
    benchmarks = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf8")
    assert not figures_by_hand(TEXTS[ROOT / "README.md"] + benchmarks.partition("## How to repeat it")[0])
    pages = [text for page, text in TEXTS.items() if page.parent.name != "notes"]
    assert not [figure for text in [*pages, benchmarks] for figure in figures_by_hand(text, SCORE)]


def options_of(*parsers: ArgumentParser) -> set[str]:
    """All options of these commands, and their short names: --max-steps for --training.max_steps."""
    names = [name.lstrip("-") for p in parsers for action in p._actions for name in action.option_strings]
    return {name.replace("-", "_") for full in names for name in (full, full.rpartition(".")[2])}


def test_options_and_settings_exist() -> None:
    settings = setting_types()
    options = options_of(make_run_parser("nmt.train", ""), *(make() for make in PARSERS.values())) | {"resume"}
    options |= {name.replace("-", "_") for names in FOREIGN.values() for name in names}
    for page, text in TEXTS.items():
        for option in re.findall(r"(?<![\w-])--([a-z][\w.-]*\w)", text):
            assert option.replace("-", "_") in options, f"{page}: --{option}"
        for setting in re.findall(r"`((?:data|cleaning|tokenizer|model|training|lora|noise|search)\.[a-z]\w+)", text):
            assert setting in settings or setting.endswith(".py"), f"{page}: {setting}"


def test_options_in_the_text_are_those_of_the_command_beside_them() -> None:
    for page, text in TEXTS.items():
        for command, rest in re.findall(r"`(nmt\.\w+)(\s[^`]*)`", text):
            known = options_of(*(make() for name, make in PARSERS.items() if name.partition(" ")[0] == command))
            for option in re.findall(r"(?<![\w-])--([a-z][\w.-]*\w)", rest):
                assert option.replace("-", "_") in known, f"{page}: {command} --{option}"


def test_the_api_is_documented() -> None:
    text = TEXTS[ROOT / "docs" / "python.md"]
    without_examples = re.sub("```.*?```", "", text, flags=re.DOTALL)
    named = set(re.findall(r"\w+", " ".join(re.findall("`([^`]+)`", without_examples))))
    classes = [SearchConfig, Request, Constraints, Term, Translation, Part, Hypothesis, Facts, Evaluation, Score]
    wanted = {*nmt.__all__, *(kind.__name__ for kind in classes)}
    for kind in classes:
        assert isinstance(kind, type)
        wanted |= {f.name for f in fields(kind)} | {name for name, v in vars(kind).items() if isinstance(v, property)}
    wanted |= {"load", "translate", "translate_n_best", "scorer", "describe", "align"}
    assert wanted <= named, wanted - named
    code = "\n".join(path.read_text("utf8") for path in (ROOT / "nmt").rglob("*.py"))
    camels = {name for name in named if re.fullmatch(r"(?!\w+Error)(?:[A-Z][a-z]+){2,}", name)}
    assert camels <= {*re.findall(r"class (\w+)", code)}


def test_errors_in_troubleshooting_are_errors_of_the_code() -> None:
    code = "".join(path.read_text(encoding="utf8") for path in sorted((ROOT / "nmt").rglob("*.py")))
    code = re.sub(r'"\s*\n\s*f?"', "", code)
    for section in re.split("^## ", TEXTS[ROOT / "docs" / "troubleshooting.md"], flags=re.MULTILINE):
        if re.match("Corpora|Runs|Memory", section):
            for message in re.findall(r"^\| `([^`]+)`", section, re.MULTILINE):
                for part in (part.strip() for part in message.split("…")):
                    assert part in code, f"{message}: {part}"


def test_citation_and_changelog_are_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf8"))
    assert {"cff-version", "message", "title", "authors", "date-released"} <= citation.keys()
    assert (citation["version"], citation["license"]) == (nmt.__version__, "Apache-2.0")
    assert f"## [{nmt.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf8")
