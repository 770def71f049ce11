"""Kept figures: measurements flow in, rows of a JSON-lines file flow out, and back in for tables and pictures.

A row says what was measured, the figures of each round, and when, how and where. A benchmark adds the rows of a run to
the end of its file; tables and pictures show the last run. A file in `benchmarks/results` has the name of its table in
the pages.
"""

import json
import shlex
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

RESULTS = Path(__file__).parent / "results"
Row = dict[str, Any]


def run_script(main: Callable[[], int]) -> NoReturn:
    """Run a script; a mistake of the user becomes a line on stderr."""
    try:
        status = main()
    except (OSError, ValueError) as error:
        sys.exit(f"{Path(sys.argv[0]).stem}: {error}")
    sys.exit(status)


def spread(rounds: Sequence[float]) -> dict[str, Any]:
    """The figures of all rounds, and their median, least and greatest."""
    figures = {"median": statistics.median(rounds), "min": min(rounds), "max": max(rounds)}
    return {name: rounded(figure) for name, figure in figures.items()} | {"rounds": [rounded(x) for x in rounds]}


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Any]:
    """The spread of the ratio, which is taken within each round: the speed of a shared machine drifts."""
    return spread([a / b for a, b in zip(ours, theirs, strict=True)])


def rounded(figure: float) -> float:
    """Five significant digits: more would only be noise."""
    return float(f"{figure:.5g}")


def read_pairs(folder: Path, name: str, *languages: str) -> list[tuple[str, str]]:
    """The pairs of two files of lines."""
    sides = [(folder / f"{name}.{language}").read_text(encoding="utf8").split("\n")[:-1] for language in languages]
    return list(zip(*sides, strict=True))


def megabytes(folder: Path) -> float:
    """The size of a folder's files, in millions of bytes."""
    return rounded(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6)


def describe_run(peers: Mapping[str, str] | None = None) -> Row:
    """When, how, where and with which versions a run was measured; `peers`: versions of the other systems, by name."""
    import torch

    from nmt import __version__

    arguments = [Path(part).name if part.startswith("/") else part for part in sys.argv[1:]]  # no private paths
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "commit": commit(),
        "command": shlex.join(["python", "-m", f"benchmarks.{Path(sys.argv[0]).stem}", *arguments]),
        "machine": describe_machine(),
        "versions": {"nmt": __version__, "torch": torch.__version__, **(peers or {})},
    }


def commit() -> str:
    """Of the code that was measured, which should be in main: a rebase renames it. Empty without a repository."""
    asked = ["git", "-C", str(RESULTS), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def describe_machine() -> Row:
    """What decides the speed of this machine."""
    import torch

    has = torch.cpu.get_capabilities()
    gpu = {"gpu": torch.cuda.get_device_name()} if torch.cuda.is_available() else {}
    return {
        "cpu": has.get("cpu_name") or has.get("architecture"),
        "cores": has.get("num_physical_cores"),
        "avx512": bool(has.get("avx512_f")),
        "bf16": bool(has.get("avx512_bf16") or has.get("amx_bf16")),
        "vnni": bool(has.get("avx512_vnni") or has.get("avx_vnni")),
        **gpu,
    }


def add_rows(file: Path, rows: Sequence[Row]) -> None:
    """Add the rows of a run to the end of a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf8") as lines:
        lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def all_rows(file: Path) -> list[Row]:
    """The rows of a file; ValueError if it has none."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf8").splitlines()] if file.is_file() else []
    if not rows:
        raise ValueError(f"{file} has no rows: run the benchmark of that name, which adds them")
    return rows


def last_run(file: Path) -> list[Row]:
    """The rows of the last run in a file; ValueError if it has none."""
    rows = all_rows(file)
    run = [(row["date"], row["command"]) for row in rows]
    return [row for row, its_run in zip(rows, run, strict=True) if its_run == run[-1]]
