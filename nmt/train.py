"""Command: train a translator. A corpus and a recipe flow in; a run folder flows out (see `nmt.training.run`).

python -m nmt.train --data.corpus=phrasebook
"""

import sys
from collections.abc import Sequence

from nmt.cli import RANK, make_run_parser, parse, run_command


def main(argv: Sequence[str] | None = None) -> int:
    return run_command(f"train, process {RANK}" if RANK else "train", lambda: command(argv))


def command(argv: Sequence[str] | None) -> int:
    parser = make_run_parser("nmt.train", "Train a translator from parallel text, and measure it, in runs/NAME.")
    parser.add_argument("--resume", action="store_true", help="Continue a run that was stopped.")
    given = parse(parser, argv, defaults=False)

    from nmt.training.run import carry_out  # only now: it imports PyTorch, and --help should be quick

    carry_out(parser, given, resume=given.get("resume", False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
