"""Command: a model of another library in, from a folder or the hub; a model folder of ours out."""

import sys
from pathlib import Path

from nmt.commands.options import Options, Parser, as_main
from nmt.files import require_new
from nmt.messages import say

EXAMPLES = """
python -m nmt.convert Helsinki-NLP/opus-mt-de-en opus-de-en
python -m nmt.convert facebook/m2m100_418M m2m --source de --target en --shortlist my-corpus
python -m nmt.convert sockeye-model ours --tokenizer joint.model --source de --target en
"""
OPTIONS = """
model MODEL: Folder, checkpoint file, or an id on the hub such as Helsinki-NLP/opus-mt-de-en.
out OUT: Folder to write. It must not exist.
== Languages and version
--source LANGUAGE: Source language. Of a model that knows several, the code of the language that is taken without
    --source of nmt.translate.
--target LANGUAGE: Target language, in the same way.
--tokenizer FILE...: SentencePiece model of a checkpoint of OpenNMT-py, Eole, JoeyNMT or Sockeye, if it isn't in its
    folder. Of two, the first is for sources.
--shortlist CORPUS: Pairs, as nmt.train's --data.corpus; needs --source and --target. A shortlist is learned from them,
    for the word alignment, which puts tags at the right words.
--revision NAME: Branch, tag or commit on the hub. Without it, the newest commit of main is taken.
"""


def make_convert_parser() -> Parser:
    text = "Convert a translation model of transformers (Marian, M2M-100, NLLB, mBART-50), Eole, OpenNMT-py, JoeyNMT "
    text += "or Sockeye to a model folder."
    return Parser("nmt.convert", text, EXAMPLES, "[options] MODEL OUT", OPTIONS)


@as_main("convert", make_convert_parser)
def main(options: Options) -> None:
    from nmt.interop.convert import convert, pairs_for
    from nmt.interop.hub import fetch

    require_new(Path(options.out))
    languages = options.get("source", ""), options.get("target", "")
    pairs = pairs_for(options.shortlist, *languages) if options.get("shortlist") else None
    path, origin = fetch(options.model, options.get("revision"))
    about = convert(path, Path(options.out), origin, languages, tokenizers=options.tokenizer, pairs=pairs)
    say(f"Converted: {options.out}. {' '.join(about)}")


if __name__ == "__main__":
    sys.exit(main())
