"""Command: a model of another library in, from a folder or the hub; a model folder of ours out."""

import sys
from pathlib import Path
from typing import Any

from nmt.cli import add_options, make_parser, parse, run_command, say

EXAMPLES = """
python -m nmt.convert Helsinki-NLP/opus-mt-de-en opus-de-en
python -m nmt.convert facebook/m2m100_418M m2m --source de --target en
python -m nmt.convert downloads/opus-mt-de-en opus-de-en
"""
OPTIONS = {
    "--source": (
        "LANGUAGE",
        "Source language. Of a model that knows several, the code of the language that is taken without --source of "
        "nmt.translate.",
    ),
    "--target": ("LANGUAGE", "Target language, in the same way."),
    "--revision": ("NAME", "Branch, tag or commit on the hub. Without it, the newest commit of main is taken."),
}


def make_convert_parser() -> Any:
    text = "Convert a translation model of transformers (Marian, M2M-100, NLLB, mBART-50) to a model folder."
    parser = make_parser("nmt.convert", text, EXAMPLES, "[options] MODEL OUT")
    parser.add_argument(
        "model", metavar="MODEL", help="Folder, or an id on the hub such as Helsinki-NLP/opus-mt-de-en."
    )
    parser.add_argument("out", metavar="OUT", help="Folder to write.")
    add_options(parser.add_argument_group("Languages and version"), OPTIONS)
    return parser


def main(argv: list[str] | None = None) -> int:
    return run_command("convert", lambda: command(parse(make_convert_parser(), argv)))


def command(options: Any) -> int:
    from nmt.interop.convert import convert
    from nmt.interop.hub import fetch

    folder, origin = fetch(options.model, options.get("revision"))
    about = convert(folder, Path(options.out), origin, options.get("source", ""), options.get("target", ""))
    say(f"Converted: {options.out}. {' '.join(about)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
