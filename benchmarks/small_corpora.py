"""Translators of small corpora: nmt with the settings that it chooses, beside other toolkits given as long.

    python -m benchmarks.small_corpora ../corpora/chr-en --direction chr-en --minutes 12 --systems nmt,transformers

The folder has `train`, `val` and `test` files, one sentence a line. All systems train for the same minutes, validation
included, and translate `test` with beam 5; preparing the text and the final search don't count, and `whole` is the time
of all. nmt uses bf16 where the processor has it, and MarianMT fp32, which is faster at its width. Both keep the weights
that are best by chrF on `val`; for JoeyNMT and Eole see `benchmarks.toolkits`. MarianMT has a fixed recipe for little
text and time: nmt's shape for Multi30k, dropout 0.1, label smoothing 0.1, batches of 1,024 tokens, Glorot's initial
weights, AdamW whose rate rises in the first 15% of the time and then falls linearly to 0. With the initial weights of
transformers, which are smaller, and with dropout 0.3, as for longer trainings, it learned less.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import toolkits
from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, run_script
from benchmarks.setup import peer_command, version_of
from nmt.scoring.metrics import score
from tests.data.corpus_files import write_corpus


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("folder", type=Path, help="folder of the corpus")
    parser.add_argument("--direction", required=True, metavar="SOURCE-TARGET", help="the endings of the files")
    parser.add_argument("--minutes", type=float, required=True, help="of training")
    parser.add_argument("--test", default="test", help="the beginning of the test files")
    parser.add_argument("--unspaced", default="", metavar="LANGUAGE", help="whose words get no blanks between them")
    parser.add_argument("--systems", default="nmt", help="of nmt, transformers, joeynmt, eole")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of both systems")
    parser.add_argument("--seed", type=int, default=1, help="of both systems")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the run folders")
    args = parser.parse_args()
    systems = args.systems.split(",")
    peers = {name: version_of(name) for name in systems if name != "nmt"}
    keep([measure(system, args) for system in systems], args, "small_corpora_peers", peers)
    return 0


def measure(system: str, args: argparse.Namespace) -> Row:
    """The row of a system. Raises ValueError if its training fails."""
    source, target = args.direction.split("-")
    files = {"train": "train", "val": "val", "test": args.test}
    lines = {part: read(args.folder, name, (source, target), args.unspaced) for part, name in files.items()}
    name = f"{args.folder.name}-{args.direction}-{len(lines['train'])}-{args.minutes:g}-{system}-seed{args.seed}"
    scratch = args.runs / name
    started = time.perf_counter()
    corpus = scratch / "corpus" / args.folder.name
    write_corpus(corpus, source, target, **lines)
    out = ({"nmt": run_nmt, "transformers": run_marian} | toolkits.RUN)[system](corpus, scratch, args)
    whole = (time.perf_counter() - started) / 60
    scores = {s.name.lower(): s for s in score(out, [pair[1] for pair in lines["test"]], language=target)}
    about = {"benchmark": "small_corpora_peers", "corpus": args.folder.name, "direction": args.direction}
    figures: Row = {name: round(scores[name].value, 2) for name in ("bleu", "chrf")}
    signatures = {f"{name}_signature": scores[name].signature for name in ("bleu", "chrf")}
    times = {"minutes": args.minutes, "whole": round(whole, 1), "threads": args.threads, "seed": args.seed}
    return {**about, "system": system, "pairs": len(lines["train"]), **figures, **times, **signatures}


def read(folder: Path, name: str, languages: Sequence[str], unspaced: str = "") -> list[tuple[str, str]]:
    """The pairs of a file; the text of the language `unspaced` without its blanks."""
    sides = [(folder / f"{name}.{language}").read_text(encoding="utf8").split("\n") for language in languages]
    if unspaced in languages:
        side = languages.index(unspaced)
        sides[side] = [line.replace(" ", "") for line in sides[side]]
    return [(a, b) for a, b in zip(*sides, strict=True) if a or b]


def run_nmt(corpus: Path, scratch: Path, args: argparse.Namespace) -> list[str]:
    """The translations of the test set by a model with the settings that nmt chooses."""
    source, target = args.direction.split("-")
    options = {"--data.corpus": corpus, "--data.source": source, "--data.target": target, "--runs": scratch}
    options |= {"--name": "run", "--training.max_minutes": args.minutes, "--training.seed": args.seed}
    options |= {"--training.threads": args.threads}
    run([sys.executable, "-m", "nmt.train", "--resume", *flat(options)], scratch)
    return run([sys.executable, "-m", "nmt.translate", "--model", str(scratch / "run"), str(corpus / f"test.{source}")])


def run_marian(corpus: Path, scratch: Path, args: argparse.Namespace) -> list[str]:
    """The translations of the test set by MarianMT."""
    options = {"--minutes": args.minutes, "--threads": args.threads, "--seed": args.seed, "--out": scratch / "out"}
    command = [*peer_command("benchmarks.marian", "transformers"), str(corpus), args.direction]
    run([*command, *flat(options)], scratch)
    return (scratch / "out").read_text(encoding="utf8").split("\n")


def flat(options: dict[str, Any]) -> list[str]:
    return [str(part) for option in options.items() for part in option]


def run(command: Sequence[str], scratch: Path | None = None) -> list[str]:
    """The lines that a command prints. With a folder, they go into its log. Raises ValueError if the command fails."""
    if scratch:
        with (scratch / "log").open("a", encoding="utf8") as log:
            status, lines = subprocess.run(command, stdout=log, stderr=log, check=False).returncode, list[str]()
    else:
        done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf8", check=False)
        status, lines = done.returncode, done.stdout.removesuffix("\n").split("\n")
    if status:
        raise ValueError(f"this command failed: {' '.join(command)}{f'; see {scratch}/log' if scratch else ''}")
    return lines


if __name__ == "__main__":
    run_script(main)
