"""Command: parallel text becomes what training reads: clean pairs, a tokenizer, and a ledger of every pair.

python -m nmt.prepare --data.corpus=phrasebook
"""

import sys

from nmt.cli import as_config, make_parser, parse, run_command


def main(argv: list[str] | None = None) -> int:
    return run_command("prepare", lambda: command(argv))


def command(argv: list[str] | None) -> int:
    from nmt.cli import console, say
    from nmt.data.cleaning import ledger_table
    from nmt.data.prepared import prepare_run

    parser = make_parser("nmt.prepare", "Make clean pairs, a tokenizer and a ledger of parallel text.")
    prepared = prepare_run(as_config(parse(parser, argv)), say)
    console().print(ledger_table(prepared.ledgers))
    say(f"Ready: {prepared.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
