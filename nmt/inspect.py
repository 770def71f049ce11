"""Command: a model folder or a recipe in; its weights, costs and settings out, as tables or JSON, alone or compared."""

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.commands.options import Options, Parser, run_command
from nmt.extras import package
from nmt.fields import require
from nmt.messages import say

if TYPE_CHECKING:
    from nmt.translation.inspection import BackendSpeed

MOST_LINES = 100  # that both ways of running a model translate
EXAMPLES = """
python -m nmt.inspect runs/de-en-phrasebook
python -m nmt.inspect recipes/modern.yaml --compare recipes/paper-base.yaml
python -m nmt.inspect runs/de-en-phrasebook --sentence "Wo ist der Bahnhof?" --picture attention.png
"""
OUTPUT = {
    "--compare": ("OTHER", "Model folder or recipe to show beside the first, with ratios; ≠ marks what differs."),
    "--json": ("", "Print JSON instead of tables."),
    "--exported": (
        "DIR",
        "Folder that nmt.export made of the model for CTranslate2: measure which of the two translates faster here.",
    ),
    "--measure": ("", "Measure the speed of training and decoding on this machine with a batch of random pieces."),
}
ATTENTION = {
    "--sentence": ("TEXT", "Source sentence whose attention is drawn. It needs --picture and a model folder."),
    "--translation": ("TEXT", "Translation of the sentence. Without it, the model translates the sentence."),
    "--picture": ("FILE", "PNG file to write: the attention from each target piece (row) to the source pieces."),
}


def make_inspect_parser() -> Parser:
    text = "Show the weights of a model, what it costs, and its settings. A recipe is built with random weights."
    parser = Parser("nmt.inspect", text, EXAMPLES, "[options] [MODEL]")
    text = "Model folder, run folder or recipe (YAML). Without it, the newest finished run."
    parser.add("model", "MODEL", text, nargs="?")
    parser.begin("What to show")
    parser.add_table(OUTPUT)
    text = "Number of positions of source and target, with BOS or EOS, that FLOPs are given for."
    parser.add("--pieces", "N", text, int, 20)
    parser.begin("Picture of attention")
    parser.add_table(ATTENTION)
    return parser


def main(argv: list[str] | None = None) -> int:
    return run_command("inspect", lambda: command(make_inspect_parser().parse(argv)))


def command(options: Options) -> int:
    from nmt.commands.inspection_tables import differences, print_comparison, print_report
    from nmt.translation.inspection import inspect
    from nmt.translation.translator import find_model

    require(options.pieces > 0, f"--pieces is {options.pieces}: it must be at least 1")
    require(("sentence" in options) == ("picture" in options), "--sentence and --picture belong together: give both")
    require("sentence" in options or "translation" not in options, "--translation needs --sentence")
    others = [options.compare] if "compare" in options else []
    paths = [find_model(name, None) for name in (options.get("model"), *others)]
    if "sentence" in options:
        draw(paths[0], options)
    reports = [inspect(path, options.pieces, measure=options.measure) for path in paths]
    if "exported" in options:
        reports[0] = replace(reports[0], backends=compare(paths[0], Path(options.exported)))
    if options.json:
        value: Any = asdict(reports[0])
        if len(reports) == 2:
            value = {"first": value, "second": asdict(reports[1]), "rows": differences(reports[0], reports[1])}
        print(json.dumps(value, indent=2, ensure_ascii=False))
    elif len(reports) == 2:
        print_comparison(reports[0], reports[1])
    else:
        print_report(reports[0])
    return 0


def compare(folder: Path, exported: Path) -> "BackendSpeed":
    """Measure both ways to run a model on the sentences that exports are checked with."""
    from nmt.interop.export import real_lines
    from nmt.translation.inspection import compare_backends
    from nmt.translation.model_folder import read_info, require_model

    model = require_model(folder)
    return compare_backends(model, exported, real_lines(model, read_info(model / "config.json")[0])[:MOST_LINES])


def draw(folder: Path, options: Options) -> None:
    """Write the picture of the attention of a sentence."""
    package("PIL", "pictures")
    from nmt.translation.pictures import write_attention
    from nmt.translation.translator import Translator

    require(folder.is_dir(), f"{folder} is not a model folder: --sentence needs a trained model")
    translator = Translator.load(folder, precision="fp32")
    write_attention(translator, options.sentence, options.get("translation"), Path(options.picture))
    say(f"Picture: {options.picture}")


if __name__ == "__main__":
    sys.exit(main())
