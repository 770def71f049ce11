"""Command: prepare a corpus. Parallel text flows in; clean pairs, a tokenizer and a ledger of dropped pairs flow out.

python -m nmt.prepare --data.corpus=phrasebook
"""

import sys
from collections.abc import Sequence

from nmt.cli import console, make_run_parser, parse, run_command, say


def main(argv: Sequence[str] | None = None) -> int:
    return run_command("prepare", lambda: command(argv))


def command(argv: Sequence[str] | None) -> int:
    from nmt.data.cleaning import ledger_table
    from nmt.data.prepared import prepare
    from nmt.data.resolve import resolve

    parser = make_run_parser("nmt.prepare", "Prepare a corpus: clean pairs, tokenizer, ledger of dropped pairs.")
    run = resolve(parser, parse(parser, argv, defaults=False))
    prepared = prepare(run.corpus, run.config, run.folder)
    console().print(ledger_table(prepared.ledgers))
    say(f"Ready: {prepared.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
