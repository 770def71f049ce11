"""The command `nmt`, and `python -m nmt`: the name of a command and its words flow in; that command runs with them."""

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module

from nmt.messages import print_to_stderr
from nmt.version import __version__

COMMANDS = {
    "train": "make a translator of sentence pairs, and measure it",
    "translate": "translate text and documents",
    "serve": "translate for programs and for people in a browser",
    "evaluate": "score translations: BLEU, chrF, exact matches",
    "prepare": "clean a corpus and turn it into ids, without training",
    "augment": "make more training pairs with models",
    "tokenizer": "train and use a tokenizer by itself",
    "generate": "continue text with a language model",
    "export": "write a model for other libraries",
    "convert": "make a model folder of a model of another library",
    "inspect": "show the size, the cost and the settings of a model",
    "keys": "make keys for the service",
    "doctor": "show what is installed, what this machine can do, and what is missing",
}


def main(argv: Sequence[str] | None = None) -> int:
    name, *words = (sys.argv[1:] if argv is None else argv) or ["--help"]
    if name in COMMANDS:
        return int(import_module(f"nmt.{name}").main(words))
    if name in ("-h", "--help"):
        print("usage: nmt COMMAND [options]; nmt COMMAND --help shows the options of a command\n")
        print("\n".join(f"  {command:<12}{text}" for command, text in COMMANDS.items()))
        return 0
    if name == "--version":
        print(f"nmt {__version__}")
        return 0
    near = get_close_matches(name[:40], COMMANDS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"it must be one of {', '.join(COMMANDS)}"
    print_to_stderr(f"nmt: there is no command {name}: {hint}")
    return 2


if __name__ == "__main__":
    sys.exit(main())
