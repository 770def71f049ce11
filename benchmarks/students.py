"""A student beside its teacher: size on disk, speed, and the BLEU that is lost.

    python -m benchmarks.students --teacher runs/de-en-multi30k --student runs/de-en-student

Each model translates the first test set of the student's run with the settings in its own folder, as its users do; the
teacher also with the student's settings. All do so in precision auto and int8. They run in one thread and in turn, in
some rounds; the speed is that of processor seconds. Both are also exported to CTranslate2 as int8, which gives the size
of models in 8 bits.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, megabytes, ratios, rounded, run_script, spread
from nmt.commands.options import keep_what_is_loaded
from nmt.files import model_in
from nmt.interop.export import export
from nmt.scoring.evaluation import read_test_sets
from nmt.scoring.metrics import score
from nmt.translation.translator import Translator


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--teacher", type=Path, required=True, metavar="DIR", help="run or model folder")
    parser.add_argument("--student", type=Path, required=True, metavar="DIR", help="run folder")
    parser.add_argument("--rounds", type=int, default=3, help="times that each translates")
    args = parser.parse_args()
    keep(measure(args), args)
    return 0


def measure(args: argparse.Namespace) -> list[Row]:
    """A row for each model and way to run it. The first is the teacher as its users run it."""
    torch.set_num_threads(1)
    sources, references = next(iter(read_test_sets(model_in(args.student), None, []).values()))
    with tempfile.TemporaryDirectory() as exports:
        systems = list(make_systems(args, Path(exports)))
        keep_what_is_loaded()
        for _, translator, search in systems:
            translator.translate(sources[:64], search)  # not timed: the first batches are slow
        speeds: list[list[float]] = [[] for _ in systems]
        outputs: list[list[str]] = [[] for _ in systems]
        for _ in range(args.rounds):
            for number, (_, translator, search) in enumerate(systems):
                started = time.process_time()
                outputs[number] = translator.translate(sources, search)
                speeds[number].append(len(sources) / (time.process_time() - started))
    rows = []
    for (about, _, _), speed, output in zip(systems, speeds, outputs, strict=True):
        scores = {s.name.lower(): rounded(s.value) for s in score(output, references, metrics=["bleu", "chrf"])}
        figures = {"sentences_per_second": spread(speed), "ratios": {"teacher": ratios(speed, speeds[0])}}
        rows.append({"benchmark": "students", "rounds": args.rounds, **about, **scores, **figures})
    return rows


def make_systems(args: argparse.Namespace, exports: Path) -> Iterator[tuple[Row, Translator, Any]]:
    """Each way to run the models: what it is, the translator, and its settings."""
    folders = {"teacher": model_in(args.teacher), "student": model_in(args.student)}
    students = Translator.load(folders["student"], "cpu").search
    for name, folder in folders.items():
        for precision in ("auto", "int8"):
            translator = Translator.load(folder, "cpu", precision=precision)
            n = sum(p.numel() for p in translator.model.parameters())
            searches = {name: translator.search} | ({"student": students} if name == "teacher" else {})
            for search in searches.values():
                about = {"dtype": precision, "megabytes": megabytes(folder), "parameters": n}
                yield {"model": name, "runtime": "nmt", **about, **described(search)}, translator, search
        export(folder, exports / name, "ctranslate2", "int8")
        translator = Translator.load(exports / name, "cpu", backend="ctranslate2")
        about = {"dtype": "int8", "megabytes": megabytes(exports / name)}
        search = translator.search
        yield {"model": name, "runtime": "ctranslate2", **about, **described(search)}, translator, search


def described(search: Any) -> Row:
    return {"beam": search.beam_size, "batch": search.batch_size}


if __name__ == "__main__":
    run_script(main)
