"""Command: a model of another library in, from a folder or the hub; a model folder of ours out."""

import sys
from pathlib import Path
from typing import Any

from nmt.cli import add_options, make_parser, parse, run_command
from nmt.messages import say

EXAMPLES = """
python -m nmt.convert Helsinki-NLP/opus-mt-de-en opus-de-en
python -m nmt.convert facebook/m2m100_418M m2m --source de --target en --shortlist my-corpus
python -m nmt.convert sockeye-model ours --tokenizer joint.model --source de --target en
"""
OPTIONS = {
    "--source": (
        "LANGUAGE",
        "Source language. Of a model that knows several, the code of the language that is taken without --source of "
        "nmt.translate.",
    ),
    "--target": ("LANGUAGE", "Target language, in the same way."),
    "--tokenizer": (
        "FILE...",
        "SentencePiece model of a checkpoint of OpenNMT-py, Eole, JoeyNMT or Sockeye, if it isn't in its folder. Of "
        "two, the first is for sources.",
    ),
    "--shortlist": (
        "CORPUS",
        "Pairs, as nmt.train's --data.corpus; needs --source and --target. A shortlist is learned from "
        "them, for search.shortlist and for the word alignment, which puts tags at the right words.",
    ),
    "--revision": ("NAME", "Branch, tag or commit on the hub. Without it, the newest commit of main is taken."),
}


def make_convert_parser() -> Any:
    text = (
        "Convert a translation model of transformers (Marian, M2M-100, NLLB, mBART-50), Eole, OpenNMT-py, JoeyNMT or "
        "Sockeye to a model folder."
    )
    parser = make_parser("nmt.convert", text, EXAMPLES, "[options] MODEL OUT")
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="Folder, checkpoint file, or an id on the hub such as Helsinki-NLP/opus-mt-de-en.",
    )
    parser.add_argument("out", metavar="OUT", help="Folder to write.")
    add_options(parser.add_argument_group("Languages and version"), OPTIONS)
    return parser


def main(argv: list[str] | None = None) -> int:
    return run_command("convert", lambda: command(parse(make_convert_parser(), argv)))


def command(options: Any) -> int:
    from nmt.interop.convert import add_shortlist, convert, pairs_for
    from nmt.interop.hub import fetch

    languages = options.get("source", ""), options.get("target", "")
    pairs = pairs_for(options.shortlist, *languages) if options.get("shortlist") else None
    path, origin = fetch(options.model, options.get("revision"))
    about = convert(path, Path(options.out), origin, *languages, tokenizers=options.tokenizer)
    if pairs is not None:
        about.append(add_shortlist(Path(options.out), pairs))
    say(f"Converted: {options.out}. {' '.join(about)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
