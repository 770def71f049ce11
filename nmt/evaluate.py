"""Command: a model and a test set in; BLEU, chrF and TER out, each with its signature, as a table and as JSON.

python -m nmt.evaluate --model runs/NAME                                # the run's own test sets
python -m nmt.evaluate --model DIR --source test.de --reference test.en
python -m nmt.evaluate --hypothesis test.out --reference test.en        # translations made elsewhere
"""

import json
import sys
from argparse import SUPPRESS
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.cli import add_decoding_options, add_device_options, override_decoding, parse, run_command

if TYPE_CHECKING:
    from nmt.scoring.evaluation import Evaluation, HeldOut
    from nmt.scoring.metrics import Metric

OPTIONS = (
    ("--model", "DIR", "A model or run folder; otherwise the newest finished run's."),
    ("--source", "FILE", "Text to translate."),
    ("--hypothesis", "FILE", "Translations to score, instead of translating."),
    ("--json", "FILE", "Also write the scores there; -: to standard output, instead of the table."),
)


def make_parser() -> Any:
    from jsonargparse import ArgumentParser

    parser = ArgumentParser(
        prog="python -m nmt.evaluate",
        exit_on_error=False,
        description="Score translations. Without --source and --hypothesis: a run's own test sets.",
    )
    parser.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="FILE",
        help="What the translations should be; may be given several times.",
    )
    for name, metavar, text in OPTIONS:
        parser.add_argument(name, default=SUPPRESS, metavar=metavar, help=text)
    add_decoding_options(parser, "beam_size", "length_penalty", "max_length_ratio", "batch_size")
    parser.add_argument("--ter", action="store_true", help="Also TER, which is slow for long lines.")
    # Whoever compares figures wants the same ones on every machine.
    add_device_options(parser, precision="fp32")
    return parser


def main(argv: list[str] | None = None) -> int:
    return run_command("evaluate", lambda: command(parse(make_parser(), argv)))


def command(options: Any) -> int:
    metrics: list[Metric] = ["bleu", "chrf", "ter"] if options.ter else ["bleu", "chrf"]
    if "hypothesis" in options:
        results = {Path(options.hypothesis).name: evaluate_file(options, metrics)}
    else:
        results = evaluate_model(options, metrics)
    file = options.get("json")
    if file == "-":
        print(as_json(results))
        return 0
    if file is not None:
        Path(file).write_text(as_json(results) + "\n", encoding="utf-8")
    print_table(results)
    return 0


def evaluate_file(options: Any, metrics: Sequence["Metric"]) -> "Evaluation":
    """Score translations that are there already."""
    from nmt.scoring.evaluation import Evaluation
    from nmt.scoring.metrics import score

    if not options.reference or "source" in options:
        raise ValueError("--hypothesis is scored against --reference, without --source")
    translations = read_lines(Path(options.hypothesis))
    references = [read_lines(Path(name)) for name in options.reference]
    return Evaluation(score(translations, *references, metrics=metrics), translations, 0.0)


def evaluate_model(options: Any, metrics: Sequence["Metric"]) -> "dict[str, Evaluation]":
    """Translate and score the test sets that the options name."""
    from nmt.scoring.evaluation import evaluate
    from nmt.translation.translator import Translator, find_model

    folder = find_model(options.get("model"))
    if "model" not in options:
        print(f"Model: {folder}", file=sys.stderr)
    tests = read_test_sets(options, folder)
    translator = Translator.load(folder, options.device, precision=options.precision)
    translator.decoding = override_decoding(replace(translator.decoding, n_best=1), options)
    return {test.name: evaluate(translator, test.sources, *test.references, metrics=metrics) for test in tests}


def read_test_sets(options: Any, folder: Path) -> "list[HeldOut]":
    """The files given; or else all test sets of the run that the model folder is in. Their lengths agree."""
    if ("source" in options) != bool(options.reference):
        raise ValueError("--source and --reference belong together: give both, or neither for a run's own test sets")
    if "source" in options:
        files = [(Path(options.source), [Path(name) for name in options.reference])]
    else:
        sources = sorted((folder.parent / "data").glob("test*.src"))
        files = [(source, [source.with_suffix(".tgt")]) for source in sources]
    if not files:
        raise ValueError(f"{folder} is in no run folder with data/test*.src: give --source FILE and --reference FILE")
    return [read_held_out(source, references) for source, references in files]


def read_held_out(source: Path, references: list[Path]) -> "HeldOut":
    from nmt.scoring.evaluation import HeldOut, require_as_many

    test = HeldOut(source.stem, read_lines(source), [read_lines(path) for path in references])
    for path, lines in zip(references, test.references, strict=True):
        require_as_many(len(test.sources), f"lines in {source}", len(lines), f"in {path}")
    return test


def read_lines(path: Path) -> list[str]:
    """The lines of a text file, which only LF ends; bytes that aren't UTF-8 become U+FFFD."""
    text = path.read_bytes().decode("utf-8", "replace")
    return text.removesuffix("\n").split("\n") if text else []


def as_json(results: "dict[str, Evaluation]") -> str:
    """A list with an object for each test set."""
    return json.dumps(
        [
            {
                "test": name,
                "sentences": len(result.translations),
                "seconds": round(result.seconds, 3),
                "scores": [asdict(score) for score in result.scores],
            }
            for name, result in results.items()
        ],
        indent=2,
    )


def print_table(results: "dict[str, Evaluation]") -> None:
    """A row for each test set, and below, the signatures of the scores."""
    from rich.console import Console
    from rich.table import Table

    scores = next(iter(results.values())).scores
    table = Table("test", "sentences", *(score.name for score in scores), "sentences/s")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, result in results.items():
        speed = f"{len(result.translations) / result.seconds:,.0f}" if result.seconds else ""
        table.add_row(name, f"{len(result.translations):,}", *(f"{s.value:.2f}" for s in result.scores), speed)
    console = Console()
    console.print(table)
    for score in scores:
        console.print(score.signature, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
