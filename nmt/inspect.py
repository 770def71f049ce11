"""Command: a model folder or a recipe in; its weights and settings out, as tables or JSON."""

import json
import sys
from dataclasses import asdict

from nmt.commands.options import Options, Parser, as_main

EXAMPLES = """
python -m nmt.inspect runs/de-en-phrasebook
python -m nmt.inspect recipes/modern.yaml --json
"""
OPTIONS = """
== What to show
--json: Print JSON instead of tables.
"""


def make_inspect_parser() -> Parser:
    text = "Show weights, memory of the cache and settings of a model. A recipe is built with random weights."
    parser = Parser("nmt.inspect", text, EXAMPLES, "[options] [MODEL]", OPTIONS)
    text = "Model folder, run folder or recipe (YAML). Without it, the newest finished run."
    parser.add("model", "MODEL", text, nargs="?")
    return parser


@as_main("inspect", make_inspect_parser)
def main(options: Options) -> None:
    from nmt.commands.inspection_tables import print_report
    from nmt.translation.inspection import inspect
    from nmt.translation.translator import find_model

    report = inspect(find_model(options.get("model"), None))
    if options.json:
        print(json.dumps(asdict(report), indent=2, ensure_ascii=False))
    else:
        print_report(report)


if __name__ == "__main__":
    sys.exit(main())
