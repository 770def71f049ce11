"""The README's commands run as they stand, with small settings; and what it says of the house is so."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf8").replace("\\\n", "")
COMMANDS = [line.strip() for line in README.splitlines() if re.match(r"    (make|\.venv/|echo) ?", line)]
SMALL = (
    "--tokenizer.vocab_size 320 --model.d_model 16 --model.n_heads 2 --model.d_ff 32 --model.encoder_layers 1 "
    "--model.decoder_layers 1 --training.max_steps 2 --training.validate_every 2 --training.warmup_steps 1 "
    "--training.validation_sentences 5 --training.threads 1 --search.beam_size 3"
)
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}


def write_pairs(folder: Path, languages: tuple[str, str]) -> None:
    folder.mkdir()
    for split, start, n in (("train", 0, 60), ("val", 60, 5), ("test", 65, 5)):
        for language in languages:
            lines = [f"{language} sentence {'abcdefghij'[i % 10]} {i}\n" for i in range(start, start + n)]
            (folder / f"{split}.{language}").write_text("".join(lines), encoding="utf8")


def shell(command: str, folder: Path, auto: str = "") -> str:
    """Run a command line as a user would, with this Python in place of the one in .venv; returns its output.

    `auto`: what precision auto should mean; by default what the machine has.
    """
    python = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'tests' / 'pretend.py'))} {auto}"
    command = command.replace(".venv/bin/python", python if auto else shlex.quote(sys.executable))
    done = subprocess.run(command, shell=True, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stderr[-2000:]}"
    return done.stdout


def as_python(make_command: str) -> str:
    """The Python command that a `make train-…` runs, with small settings after its own."""
    arguments = [*shlex.split(make_command, comments=True), "-n", "-o", ".venv/.core-installed"]
    recipe = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return recipe.replace("\\\n", " ").strip() + " " + SMALL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the README's commands expect: a corpus, input to translate, and finished runs."""
    folder = tmp_path_factory.mktemp("readme")
    write_pairs(folder / "my-corpus", ("fi", "sv"))
    write_pairs(folder / "corpus", ("de", "en"))
    (folder / "input.de").write_text("Guten Morgen!\n\nWo ist der Bahnhof?\n", encoding="utf8")
    (folder / "input.jsonl").write_text('{"text": "Guten Morgen!\\nWo ist er?", "id": 1}\n"Ja"\n', encoding="utf8")
    (folder / "pairs.tsv").write_text("Guten Morgen!\tGood morning!\n", encoding="utf8")
    (folder / "glossary.tsv").write_text("Bahnhof\tstation|stations\n", encoding="utf8")
    (folder / "reference.en").write_text("Good morning!\n\nWhere is the station?\n", encoding="utf8")
    shell(as_python("make train-de-en CORPUS=corpus ARGS='--name de-en-phrasebook'"), folder)
    for direction in ("fi-sv", "sv-fi"):
        shell(as_python(f"make train-{direction} CORPUS=my-corpus"), folder)
    return folder


def test_the_readme_shows_all_doors() -> None:
    shown = " ".join(COMMANDS)
    for door in ("make train-de-en", "nmt.translate", "nmt.evaluate", "make test", "make train-fi-sv", "torchrun"):
        assert door in shown


def commands() -> Iterator[tuple[str, str]]:
    """The commands, with what precision auto means: for those that ask most of a translation each in turn."""
    for command in (command for command in COMMANDS if "-m nmt." in command and "torchrun" not in command):
        every = re.search("--(glossary|format|samples|force-decode)", command)
        for auto in ("fp32", "bf16", "int8") if every else ("",):
            yield command, auto


@pytest.mark.slow
@pytest.mark.parametrize(("command", "auto"), [*commands()])
def test_commands_run_whatever_the_precision(command: str, folder: Path, auto: str) -> None:
    output = shell(command, folder, auto)
    if "nmt.translate" in command and "--output" not in command and ">" not in command:
        lines = 1 if "echo" in command or "pairs.tsv" in command else 2 if "jsonl" in command else 3
        lines = 7 if "--n-best 3" in command else lines  # a blank line has one translation
        assert output.count("\n") == lines


@pytest.mark.slow
@pytest.mark.parametrize("command", [c for c in COMMANDS if "torchrun" in c])
def test_several_processes_train(command: str, folder: Path) -> None:
    command = command.replace(".venv/bin/torchrun", ".venv/bin/python -m torch.distributed.run")
    command = command.replace("--nnodes 2", "--nnodes 1").replace("--nproc-per-node 8", "--nproc-per-node 2")
    name = "two-processes" if "--rdzv" in command else "processes"
    shell(f"{command.replace('HOST:29400', 'localhost:0')} {SMALL} --name {name}", folder)
    assert (folder / "runs" / name / "report.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make train-fi-sv")])
def test_ones_own_language_pair_trains(command: str, folder: Path) -> None:
    shell(as_python(command), folder)
    assert (folder / "runs" / "fi-sv-my-corpus" / "report.json").exists()


def test_make_targets_exist() -> None:
    targets = {c.split("#")[0].split()[1] for c in COMMANDS if c.startswith("make ")}
    for target in {re.sub(r"train-\w+-\w+", "train-de-en", t) for t in targets}:
        subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, check=True)


def test_python_example_runs(folder: Path) -> None:
    [example] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    printed = shell(f".venv/bin/python -c {shlex.quote(example)}", folder)
    assert printed.startswith("[")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs git to know what is part of the project")
def test_only_named_things_stand_at_the_top() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    top = {line.split("/")[0] for line in tracked.splitlines()}
    assert top <= {
        "pyproject.toml",
        "README.md",
        "Makefile",
        "LICENSE",
        ".gitignore",
        ".pre-commit-config.yaml",
        ".ci",
        "nmt",
        "recipes",
        "tokenizers",
        "tests",
        "benchmarks",
    }
