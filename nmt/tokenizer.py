"""Command: tokenizers with names, in `tokenizers/`. `train` makes one from text, `encode` and `decode` use it.

Lines are read as by nmt.translate: only LF ends a line, each line becomes one line, and a blank line a blank one.
"""

import sys
from contextlib import ExitStack
from pathlib import Path

from nmt.commands.options import Options, Parser, make_run_parser, run_command
from nmt.commands.streams import open_input, open_output, read_chunks
from nmt.config.data import ONLY_OF_RUNS
from nmt.config.names import setting_types
from nmt.fields import require
from nmt.files import tokenizer_in

CHUNK = 1 << 16  # bytes read at once
SHOWN = {n for n in setting_types() if n.startswith(("data.", "tokenizer."))} - {*ONLY_OF_RUNS, "tokenizer.folder"}
NAME = "NAME is a folder in tokenizers/ or, with a / in it, the path of any folder."
TEXTS = {
    "": f"Train a tokenizer with a name, or use it. {NAME} train, encode and decode have a --help of their own.",
    "train": f"Train a tokenizer as nmt.prepare does, for --tokenizer.folder. {NAME}",
    "encode": f"Turn lines of text into lines of pieces, with spaces between the pieces. {NAME}",
    "decode": f"Turn lines of pieces, with spaces between the pieces, into lines of text. {NAME}",
}
TRAIN = """
python -m nmt.tokenizer train mine --data.corpus phrasebook --tokenizer.vocab_size 3000
python -m nmt.tokenizer train german --tokenizer.kind bpe --data.corpus text.de --data.text source
"""
USE = """
python -m nmt.tokenizer encode mine --ids --output output.ids input.de
python -m nmt.tokenizer decode mine --ids output.ids
"""
OPTIONS = """
files FILE...: File to read. Without a file, or for -, standard input is read.
--ids: Write and read ids, which are whole numbers, instead of pieces.
--side {source,target}: Language whose tokenizer to use, if each language has its own.
--output FILE: File to write instead of standard output.
"""


def make_tokenizer_parser(action: str) -> Parser:
    if action == "":
        return Parser("nmt.tokenizer", TEXTS[action], TRAIN + USE.lstrip(), "{train,encode,decode} NAME ...")
    if action == "train":
        return make_run_parser("nmt.tokenizer train", TEXTS[action], TRAIN, "NAME [options]", shown=SHOWN)
    return Parser(f"nmt.tokenizer {action}", TEXTS[action], USE, "NAME [options] [FILE ...]", OPTIONS)


def main(argv: list[str] | None = None) -> int:
    return run_command("tokenizer", lambda: command(sys.argv[1:] if argv is None else argv))


def command(argv: list[str]) -> None:
    """Do an action; its name and the tokenizer's come first, so that options may stand before FILE or after it."""
    action = argv[0] if argv and argv[0] in TEXTS else ""
    words = argv[1:] if action else argv
    require(bool(action) or words[:1] in (["-h"], ["--help"]), "write train, encode or decode, then a name")
    name = words[0] if action and words and not words[0].startswith("-") else ""
    given = make_tokenizer_parser(action).parse(words[1:] if name else words)
    require(name not in ("", ".", ".."), f"write the name of a tokenizer after {action}")
    folder = Path(name).expanduser() if "/" in name else Path("tokenizers", name)
    if action == "train":
        from nmt.data.store.named_tokenizer import train_named

        train_named(given, folder)
    else:
        convert(action, given, folder)


def convert(action: str, options: Options, folder: Path) -> None:
    """Encode or decode all inputs. The output is opened last, so that a wrong option doesn't create the file."""
    from nmt.data.tokenizer import LineCodec, Tokenizer

    with ExitStack() as stack:
        names = options.files or ["-"]
        inputs = [stack.enter_context(open_input(name)) for name in names]
        codec = LineCodec(Tokenizer.load(tokenizer_in(folder)).side(options.get("side")), ids=options.ids)
        output = stack.enter_context(open_output(options.get("output"), inputs))
        for name, file in zip(names, inputs, strict=True):
            done = 0
            for chunk in read_chunks(file, CHUNK):
                lines = codec.encode(chunk) if action == "encode" else codec.decode(chunk, name, done)
                output.write("".join(f"{line}\n" for line in lines).encode())
                output.flush()
                done += len(chunk)


if __name__ == "__main__":
    sys.exit(main())
