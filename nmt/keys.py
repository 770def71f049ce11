"""Command: API keys of the service. `add` makes one and prints it, once; `remove` takes one out; `list` shows all."""

import os
import sys
from pathlib import Path

from nmt.commands.options import Options, Parser, as_main

EXAMPLES = """
python -m nmt.keys add keys.json website --requests 60 --characters 50000
python -m nmt.keys list keys.json
python -m nmt.keys remove keys.json website
"""


def make_keys_parser() -> Parser:
    text = "Make and remove the API keys of a service that is started with --keys FILE."
    usage = "{add,remove,list} FILE [NAME] [options]"
    parser = Parser("nmt.keys", f"{text} Running services notice changes.", EXAMPLES, usage)
    text = "What to do: add makes a key and prints it, once; remove deletes one; list shows their names."
    parser.add("action", "{add,remove,list}", text)
    parser.add("file", "FILE", "File of keys, which has only their hashes. add makes it.")
    parser.add("name", "NAME", "Name of the key, such as who uses it.", default="", nargs="?")
    for option, unit in (("--requests", "requests"), ("--characters", "characters to translate")):
        parser.add(option, "N", f"Maximum number of {unit} a minute with this key; 0: no limit.", int, 0)
    return parser


@as_main("keys", make_keys_parser)
def main(options: Options) -> None:
    from nmt.server.store.keys import make_key, read_keys, remove_key

    file = Path(os.path.realpath(options.file))  # the file that services read, in place of a link to it
    if options.action == "add":
        print(make_key(file, options.name, options.requests, options.characters))
    elif options.action == "remove":
        remove_key(file, options.name)
    else:
        for key in read_keys(file):
            limits = {"requests": key.requests, "characters": key.characters}
            shown = [f"{n} {name} a minute" if n else f"no limit of {name}" for name, n in limits.items()]
            print(key.name, key.created, *shown, sep="\t")


if __name__ == "__main__":
    sys.exit(main())
