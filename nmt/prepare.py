"""Command: prepare a corpus. Text flows in; clean pairs (or texts), a tokenizer and a ledger flow out."""

import sys
from collections.abc import Sequence
from typing import Any

from nmt.cli import console, make_run_parser, parse, run_command, say

EXAMPLES = """
python -m nmt.prepare --data.corpus phrasebook
python -m nmt.prepare --data.corpus my-corpus --data.source fi --data.target sv --tokenizer.vocab_size 4000
python -m nmt.prepare --config recipes/modern.yaml --data.corpus my-corpus
"""
# A separate tokenizer for each language goes only with some values of model.tied_embeddings.
SHOWN = ("name", "runs", "data", "tokenizer", "model.tied_embeddings")


def make_prepare_parser() -> Any:
    text = "Clean a corpus and train its tokenizer, as nmt.train does before training. All settings of nmt.train are "
    text += "accepted, on the command line and in a recipe; those that are not shown here have no effect, but "
    text += "data.text auto depends on training.objective, and data.scorer runs on training.device."
    return make_run_parser("nmt.prepare", text, EXAMPLES, shown=SHOWN)


def main(argv: Sequence[str] | None = None) -> int:
    return run_command("prepare", lambda: command(argv))


def command(argv: Sequence[str] | None) -> int:
    parser = make_prepare_parser()
    given = parse(parser, argv, defaults=False)

    from nmt.data.cleaning import ledger_table  # only now: these import PyTorch, and --help should be quick
    from nmt.data.corpora import corpus_files
    from nmt.data.losses import describe_losses
    from nmt.data.prepared import prepare, require_own_run_folder
    from nmt.data.resolve import resolve
    from nmt.files import locked
    from nmt.translation.pair_scorer import load_scorer

    run = resolve(parser, given)
    require_own_run_folder(run.config, run.folder)  # before the lock is written there
    with locked(run.folder):
        prepared = prepare(run.corpus, run.config, run.folder, load_scorer)
    console().print(ledger_table(prepared.ledgers))
    for warning in describe_losses(prepared.ledgers, corpus_files(run.config.data)):
        say(warning)
    say(f"Ready: {prepared.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
