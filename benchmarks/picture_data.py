"""Figures for the picture of training on a GPU: a run flows in, rows of benchmarks/results flow out.

python -m benchmarks.picture_data runs/de-en-multi30k
"""

import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import benchmark_parser
from benchmarks.rows import RESULTS, Row, add_rows, describe_run, rounded, run_script

BLEU = "validation/bleu"


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("folder", type=Path, help="a finished run")
    args = parser.parse_args()
    add_rows(args.json or RESULTS / "gpu_run.jsonl", learning_rows(args.folder, args.note))
    return 0


def learning_rows(run: Path, note: str) -> list[Row]:
    """Step, minutes and BLEU of each validation of a run that this machine trained."""
    report = json.loads((run / "report.json").read_text(encoding="utf8"))
    records = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf8").splitlines())
    minutes = dict(validation_minutes(run / "tensorboard"))
    said = {
        "benchmark": "learning",
        "name": f"{report['corpus']}, {report['source']}–{report['target']}",
        "about": f"{report['parameters'] / 1e6:.1f} million parameters, test set {report['bleu']:.1f} BLEU",
        **describe_run(),
        "versions": {name: report["versions"][name] for name in ("nmt", "torch")},
    } | ({"note": note} if note else {})
    return [
        {"step": record["step"], "minutes": rounded(minutes[record["step"]]), "bleu": rounded(record[BLEU]), **said}
        for record in records
        if BLEU in record
    ]


def validation_minutes(folder: Path) -> Iterator[tuple[int, float]]:
    """Steps of validations, and the minutes of the run when each was finished, by the times of TensorBoard's events.

    A run that was resumed has several files; the time between them doesn't count.
    """
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    files = [[*EventFileLoader(str(file)).Load()] for file in folder.glob("events.*")]
    before = 0.0
    for events in sorted(files, key=lambda events: events[0].wall_time):  # names of one second have no order
        for event in events:
            minutes = (before + event.wall_time - events[0].wall_time) / 60
            if any(value.tag == BLEU for value in event.summary.value):
                yield event.step, minutes
        before = 60 * minutes


if __name__ == "__main__":
    run_script(main)
