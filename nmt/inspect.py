"""Command: a model folder or a recipe in; its weights, costs and settings out, as tables or JSON."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from nmt.commands.options import Options, Parser, as_main
from nmt.extras import package
from nmt.fields import require
from nmt.messages import say

EXAMPLES = """
python -m nmt.inspect runs/de-en-phrasebook
python -m nmt.inspect recipes/modern.yaml --json
python -m nmt.inspect runs/de-en-phrasebook --sentence "Wo ist der Bahnhof?" --picture attention.png
"""
OPTIONS = """
== What to show
--json: Print JSON instead of tables.
== Picture of attention
--sentence TEXT: Source sentence whose attention is drawn. It needs --picture and a model folder.
--translation TEXT: Translation of the sentence. Without it, the model translates the sentence.
--from LANGUAGE: Code of the source language, for a model that must be told it.
--to LANGUAGE: Code of the target language, for a model that knows several.
--picture FILE: PNG file to write: the attention from each target piece (row) to the source pieces.
"""


def make_inspect_parser() -> Parser:
    text = "Show the weights of a model, what it costs, and its settings. A recipe is built with random weights."
    parser = Parser("nmt.inspect", text, EXAMPLES, "[options] [MODEL]", OPTIONS)
    text = "Model folder, run folder or recipe (YAML). Without it, the newest finished run."
    parser.add("model", "MODEL", text, nargs="?")
    return parser


@as_main("inspect", make_inspect_parser)
def main(options: Options) -> None:
    from nmt.commands.inspection_tables import print_report
    from nmt.translation.inspection import inspect
    from nmt.translation.translator import find_model

    require(("sentence" in options) == ("picture" in options), "--sentence and --picture belong together: give both")
    for name in ("translation", "from", "to"):
        require("sentence" in options or name not in options, f"--{name} needs --sentence")
    file = Path(options.get("picture", "x.png"))
    fits = file.suffix.lower() == ".png" and file.parent.is_dir() and not file.is_dir()
    require(fits, f"--picture is {file}: it must be a file with the ending .png, in a folder that exists")
    path = find_model(options.get("model"), None)
    if "sentence" in options:
        draw(path, options)
    report = inspect(path)
    if options.json:
        print(json.dumps(asdict(report), indent=2, ensure_ascii=False))
    else:
        print_report(report)


def draw(folder: Path, options: Options) -> None:
    package("PIL", "pictures")
    from nmt.translation.pictures import write_attention
    from nmt.translation.translator import Translator

    require(folder.is_dir(), f"{folder} is not a model folder: --sentence needs a trained model")
    translator = Translator.load(folder, precision="fp32")
    if languages := {side: options[name] for side, name in (("source", "from"), ("target", "to")) if name in options}:
        translator = translator.between(**languages)
    write_attention(translator, options.sentence, options.get("translation"), Path(options.picture))
    say(f"Picture: {options.picture}")


if __name__ == "__main__":
    sys.exit(main())
