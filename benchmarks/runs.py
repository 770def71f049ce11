"""What a training costs and gives: a corpus flows in, or a run that is finished; a row flows out.

    python -m benchmarks.runs --corpus phrasebook
    python -m benchmarks.runs --run runs/de-en-multi30k --name "make train-de-en CORPUS=multi30k"

With --corpus, nmt.train makes a run as its users do, in a folder for temporary files; options that are not listed go to
it. Memory is then measured too. On a machine that does other work at the same time, --busy leaves out the minutes. With
--together, the models of all runs translate the test set of the first one together, as an ensemble.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, rounded, run_script
from nmt.data.store.prepared import Prepared
from nmt.scoring.evaluation import evaluate
from nmt.translation.translator import Translator

SCORES = ("bleu", "chrf", "exact")


def main() -> int:
    parser = benchmark_parser(__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--corpus", help="to train on, as nmt.train's --data.corpus")
    what.add_argument("--run", type=Path, metavar="DIR", action="append", help="a finished run; repeatable")
    parser.add_argument("--name", help="what the table calls it; default: the command of make")
    parser.add_argument("--busy", action="store_true", help="keep no minutes")
    parser.add_argument("--together", action="store_true", help="also a row of all runs as an ensemble")
    args, options = parser.parse_known_args()
    if args.run:
        rows = [*map(row_of, args.run), *([together(args.run)] if args.together else [])]
    else:
        with tempfile.TemporaryDirectory() as runs:
            rows = [train(["--data.corpus", args.corpus, "--runs", runs, *options], Path(runs))]
    for row in rows:
        row["name"] = args.name or row["name"]
        if args.busy:
            row.pop("minutes", None)
    keep(rows, args)
    return 0


def train(options: list[str], runs: Path) -> Row:
    """The row of a new run, with the most memory that its process took, in MiB."""
    process = subprocess.Popen([sys.executable, "-m", "nmt.train", *options], stdout=2)
    _, process.returncode, used = os.wait4(process.pid, 0)
    if process.returncode:
        raise ValueError("nmt.train failed; its message is above")
    [report] = runs.glob("*/report.json")
    return row_of(report.parent) | {"peak_memory_mib": round(used.ru_maxrss / 1024)}


def row_of(run: Path) -> Row:
    """The scores of the first test set, the settings that decide them, and the size of the folder."""
    report: dict[str, Any] = json.loads((run / "report.json").read_text(encoding="utf8"))
    name, test = next(iter(report["tests"].items()))
    size = sum(file.stat().st_size for file in run.rglob("*") if file.is_file())
    return {
        "benchmark": "runs",
        "name": f"make train-{report['source']}-{report['target']} CORPUS={report['corpus']}",
        "corpus": report["corpus"],
        "test": name,
        "sentences": test["sentences"],
        **{score: rounded(test[score]) for score in SCORES},
        "signatures": [test[f"{score}_signature"] for score in SCORES[:2]],
        "parameters": report["parameters"],
        "seed": report["settings"]["training"]["seed"],
        "steps": report["training"]["steps"]["taken"],
        "precision": report["training"]["precision"],
        "minutes": rounded(sum(report["seconds"].values()) / 60),
        "megabytes": rounded(size / 1e6),
    }


def together(runs: Sequence[Path]) -> Row:
    """The scores of the models of several runs that translate together."""
    row = row_of(runs[0])
    texts = Prepared.load(runs[0]).tests[row["test"]]
    evaluation = evaluate(Translator.load(runs), *map(list, zip(*texts, strict=True)))
    found = {score.name.lower(): round(score.value, 2) for score in evaluation.scores}
    alone = ("minutes", "seed", "signatures", *SCORES)
    return {name: value for name, value in row.items() if name not in alone} | found | {"models": len(runs)}


if __name__ == "__main__":
    run_script(main)
