"""What is typed here: the commands of nmt in this installation, and those that install optional packages."""

import importlib
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

DISTRIBUTION = "bitext-nmt"  # the name on the package index
CLONE = Path(__file__).parents[1]


def is_clone() -> bool:
    """Whether nmt runs from its repository, and not from an installed package."""
    return (CLONE / "pyproject.toml").is_file()


def python() -> str:
    """The Python that runs, as it can be typed in the current folder."""
    path = Path(sys.executable)
    return shlex.quote(os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path))


def typed(command: str) -> str:
    """How a command of nmt is typed here: `nmt train` where the shell finds it, else with the Python that runs."""
    script = shutil.which("nmt")
    # pipx and the like make a link to it.
    ours = script and Path(script).resolve().parent == Path(sys.executable).parent.resolve()
    return f"nmt {command}" if ours else f"{python()} -m nmt.{command}"


def install(extra: str = "") -> str:
    """The command that installs an extra of nmt here; without one, what nmt needs, in versions that suit it."""
    source, option = (CLONE, "--editable ") if is_clone() else (DISTRIBUTION, "")
    place = "." if Path.cwd() == source else source
    return f"{python()} -m pip install {option}{shlex.quote(f'{place}[{extra}]' if extra else str(place))}"


class MissingPackageError(ValueError):
    """A package isn't installed."""


def package(name: str, extra: str) -> Any:
    """The package of this name. Raises MissingPackageError, which names the extra of nmt, if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        problem = f"this needs the package {name.split('.')[0]}, which can't be imported ({error})"
        raise MissingPackageError(f"{problem}: {install(extra)}") from error
