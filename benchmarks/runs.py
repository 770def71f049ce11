"""What a training costs and gives: runs that are finished flow in, rows flow out.

    python -m benchmarks.runs --run runs/de-en-multi30k --name "make train-de-en CORPUS=multi30k"

Of a machine that did other work at the same time, --busy leaves out the minutes. With --together, the models of all
runs translate the test set of the first one together, as an ensemble.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, megabytes, rounded, run_script
from nmt.data.store.prepared import Prepared
from nmt.scoring.evaluation import evaluate
from nmt.translation.translator import Translator

SCORES = ("bleu", "chrf", "exact")


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--run", type=Path, metavar="DIR", action="append", required=True, help="repeatable")
    parser.add_argument("--name", help="what the table calls it; default: the command of make")
    parser.add_argument("--busy", action="store_true", help="keep no minutes")
    parser.add_argument("--together", action="store_true", help="also a row of all runs as an ensemble")
    args = parser.parse_args()
    rows = [*map(row_of, args.run), *([together(args.run)] if args.together else [])]
    for row in rows:
        row["name"] = args.name or row["name"]
        if args.busy:
            row.pop("minutes", None)
    keep(rows, args)
    return 0


def row_of(run: Path) -> Row:
    """The scores of the first test set, the settings that decide them, and the size of the folder."""
    report: dict[str, Any] = json.loads((run / "report.json").read_text(encoding="utf8"))
    name, test = next(iter(report["tests"].items()))
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
        "megabytes": megabytes(run),
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
