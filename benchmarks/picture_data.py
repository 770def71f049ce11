"""Figures for the pictures: a run or a model flows in, rows of benchmarks/results flow out.

    python -m benchmarks.picture_data run runs/de-en-multi30k
    python -m benchmarks.picture_data attention runs/de-en-multi30k --line "Ein Hund läuft."

`pictures.py` draws the rows: those of a run as the picture of training on a GPU.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import benchmark_parser
from benchmarks.rows import RESULTS, Row, add_rows, describe_run, rounded, run_script

BLEU = "validation/bleu"


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("what", choices=["run", "attention"])
    parser.add_argument("folder", type=Path, help="a finished run")
    parser.add_argument("--line", default="", help="attention: the sentence")
    args = parser.parse_args()
    if args.what == "run":
        add_rows(args.json or RESULTS / "gpu_run.jsonl", learning_rows(args.folder, args.note))
    else:
        add_rows(args.json or RESULTS / "attention.jsonl", [attention_row(args.folder, args.line)])
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


def attention_row(folder: Path, line: str) -> Row:
    """The cross-attention of the best translation of a sentence."""
    from nmt.translation.translator import Translator, find_model

    translator = Translator.load(find_model(str(folder)), precision="fp32")
    [[best, *_]] = translator.translate_n_best([line])
    weights_TS, source, target = translator.aligner.attention(best.parts[0])
    weights = [[round(weight, 3) for weight in row] for row in weights_TS.tolist()]
    figures = {"source": source, "target": target, "weights": weights}
    return {"benchmark": "attention", "text": f"{line} → {best.text}", **figures, **describe_run()}


if __name__ == "__main__":
    run_script(main)
