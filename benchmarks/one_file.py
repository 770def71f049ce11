"""A translator in one file, for people without nmt: size, memory and speed of what `nmt.export` writes.

    python -m benchmarks.one_file runs/de-en-multi30k/model test.de test.en

zip: its program translates all lines; the time is from its start to its end, the memory the most that it had. html:
Chromium, driven by playwright, opens the file from the disk and translates the first --drawn lines; the time is by the
clock, drawing included. `equal` counts the lines that are those of nmt with the same search, in fp32, without guard.
"""

import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from shutil import which
from typing import Any

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, run_script, spread
from nmt.scoring.metrics import score

SHOWN = 10_000  # characters that the page takes at once
MINUTES = 10  # after which a part of the text counts as never translated


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("model", help="model folder")
    parser.add_argument("source", type=Path, help="file of lines")
    parser.add_argument("reference", type=Path, help="file of their translations")
    parser.add_argument("--drawn", type=int, default=300, help="lines that the browser translates")
    parser.add_argument("--rounds", type=int, default=3, help="the median counts")
    args = parser.parse_args()
    lines, references = (file.read_text(encoding="utf8").splitlines() for file in (args.source, args.reference))
    usual = ["--backend", "pytorch", "--precision", "fp32", "--guard", "false"]
    command = [sys.executable, "-m", "nmt.translate", "--model", args.model, *usual]
    of_nmt = {beam: timed([*command, "--beam-size", str(beam)], lines)[0] for beam in (5, 1)}
    measured = list[Row]()
    with tempfile.TemporaryDirectory() as scratch:
        for form, measure in (("zip", of_zip), ("html", of_html)):
            for quantization in ("int8", "float32"):
                file = Path(scratch) / f"{quantization}.{form}"
                how = [args.model, str(file), "--to", form, "--quantization", quantization]
                subprocess.run([sys.executable, "-m", "nmt.export", *how], check=True)
                about = {"benchmark": "one_file", "format": form, "quantization": quantization, "rounds": args.rounds}
                measured += [about | row for row in measure(file, lines, references, of_nmt, args)]
    keep(measured, args)
    return 0


def of_zip(
    file: Path, lines: list[str], references: list[str], of_nmt: dict[int, list[str]], args: Any
) -> Iterator[Row]:
    """The rows of beam search and of greedy search."""
    folder = file.with_suffix("")
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder)
    program = next(folder.rglob("translate.py"))
    for beam, expected in of_nmt.items():
        runs = [timed([sys.executable, str(program), "--beam-size", str(beam)], lines) for _ in range(args.rounds)]
        found = runs[0][0]
        yield {
            "megabytes": megabytes_of(file),
            "memory": round(max(run[2] for run in runs) / 1e6),
            "search": f"beam {beam}" if beam > 1 else "greedy",
            "lines": len(lines),
            "sentences_per_s": spread([len(lines) / run[1] for run in runs]),
            "bleu": round(score(found, references, language="en")[0].value, 2),
            "equal": sum(map(str.__eq__, found, expected)),
        }


def of_html(file: Path, lines: list[str], _: list[str], of_nmt: dict[int, list[str]], args: Any) -> Iterator[Row]:
    """The row of a browser."""
    playwright = import_module("playwright.sync_api")
    lines, seconds, found = lines[: args.drawn], list[float](), list[str]()
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(60_000 * MINUTES)
        page.goto(file.as_uri())
        page.wait_for_selector("#source:enabled")
        for _round in range(args.rounds):
            found, taken = [], 0.0
            for part in parts(lines):
                page.fill("#source", "")
                playwright.expect(page.locator("#state")).not_to_have_text("Translated")
                began = time.perf_counter()
                page.fill("#source", "\n".join(part))
                playwright.expect(page.locator("#state")).to_have_text("Translated", timeout=60_000 * MINUTES)
                taken += time.perf_counter() - began
                found += page.locator("#target .line").all_inner_texts()
            seconds.append(taken)
        version = browser.version
        browser.close()
    words = sum(len(line.split()) for line in lines)
    yield {
        "megabytes": megabytes_of(file),
        "search": "greedy",
        "browser": f"Chromium {version}",
        "lines": len(lines),
        "words_per_s": spread([words / s for s in seconds]),
        "equal": sum(map(str.__eq__, found, of_nmt[1])),
    }


def parts(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines in parts that the page takes at once."""
    part = list[str]()
    for line in lines:
        if sum(map(len, part)) + len(part) + len(line) >= SHOWN:
            yield part
            part = []
        part.append(line)
    yield part


def megabytes_of(file: Path) -> float:
    return round(file.stat().st_size / 1e6, 1)


def timed(command: list[str], lines: list[str]) -> tuple[list[str], float, int]:
    """What a command prints for lines, its seconds, and its most bytes of memory."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as printed:
        given.write("".join(f"{line}\n" for line in lines).encode())
        given.seek(0)
        started = time.perf_counter()
        process = subprocess.Popen(command, stdin=given, stdout=printed)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        if status:
            raise ValueError(f"this command failed: {' '.join(command)}")
        printed.seek(0)
        return printed.read().decode().splitlines(), seconds, usage.ru_maxrss * 1024


if __name__ == "__main__":
    run_script(main)
