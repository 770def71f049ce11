"""The service under load: nothing fails, and the memory stays what it was. The benchmark measures it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny import PAIRS

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.services
def test_nothing_fails_under_load_and_the_memory_stays(model_folder: Path, tmp_path: Path) -> None:
    sentences, rows = tmp_path / "lines.de", tmp_path / "rows.jsonl"
    sentences.write_text("".join(f"{source}\n" for source, _ in PAIRS * 20), encoding="utf8")
    options = {"--model": model_folder, "--sentences": sentences, "--json": rows, "--seconds": 2}
    command = [str(part) for option in options.items() for part in option]
    for further in ([], ["--requests", "20000"]):
        subprocess.run([sys.executable, "-m", "benchmarks.serve_speed", *command, *further], cwd=ROOT, check=True)
    measured = [json.loads(row) for row in rows.read_text().splitlines()]
    assert [(row["clients"], row["texts"]) for row in measured[:4]] == [(1, 1), (8, 1), (64, 1), (64, 8)]
    assert all(row["failed"] == 0 for row in measured)
    assert [row["cache"] for row in measured[4:]] == ["on", "off"]
    assert all(row["growth"] < 0.05 for row in measured[4:])
