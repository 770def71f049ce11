"""Command: prepare a corpus. Text flows in; clean pairs (or texts), a tokenizer and a ledger flow out."""

import sys
from typing import TYPE_CHECKING

from nmt.commands.options import Options, Parser, as_main, make_run_parser
from nmt.config.names import setting_types
from nmt.fields import require
from nmt.messages import say, show

if TYPE_CHECKING:
    from nmt.config import Config
    from nmt.data.store.shards import Scorer

EXAMPLE_LINES = """
python -m nmt.prepare --data.corpus phrasebook
python -m nmt.prepare --data.corpus my-corpus --data.source fi --data.target sv --tokenizer.vocab_size 4000
python -m nmt.prepare --data.corpus crawl.tsv --cleaning.profile crawled --explain 3
"""
OPTIONS = """
--explain N: Show N dropped pairs of each cause, at most 20.
--workers N: Worker processes (default: one for each core).
--part I/N: Do part I of N, on machines with a shared folder.
"""
FOR_RECIPES = {"data.many_to_many", "data.more", "data.licence"}
# A separate tokenizer for each language goes only with some values of model.tied_embeddings.
SHOWN = {"name", "runs", "cleaning.profile", "model.tied_embeddings"} | {
    name for name in setting_types() if name.startswith(("data.", "tokenizer.")) and name not in FOR_RECIPES
}


def make_prepare_parser() -> Parser:
    text = "Clean a corpus and train its tokenizer, as nmt.train does before training. All settings of nmt.train are "
    text += "accepted (--help-all): of the others, training.objective, training.device and cleaning.* count."
    return make_run_parser("nmt.prepare", text, EXAMPLE_LINES, shown=SHOWN, options=OPTIONS)


def load_scorer(config: "Config") -> "Scorer":
    from nmt.translation import pair_scorer  # only now: it imports PyTorch, which takes seconds

    return pair_scorer.load_scorer(config)


@as_main("prepare", make_prepare_parser)
def main(given: Options) -> None:
    from nmt.data.cleaning.cleaner import EXAMPLES, ledger_table  # only now: --help should be quick
    from nmt.data.cleaning.losses import describe_losses
    from nmt.data.corpora import corpus_files
    from nmt.data.resolve import resolve
    from nmt.data.store.engines import Engine
    from nmt.data.store.prepared import explain, require_own_run_folder, suspicious_corpora
    from nmt.data.store.preparing import prepare, prepare_part
    from nmt.files import locked

    shown = given.get("explain", "0")
    problem = f"--explain is {shown}: it must be a whole number from 0 to {EXAMPLES}"
    require(shown in map(str, range(EXAMPLES + 1)), problem)
    engine = Engine.parse(given.get("workers", "0"), given.get("part", "1/1"))
    run = resolve(given)
    require_own_run_folder(run.config, run.folder)  # before the lock is written there
    is_part = engine.part[1] > 1
    if is_part and not prepare_part(run.config, run.folder, engine):
        say("The ledger, the warnings and --explain are left to the call that finishes all parts.")
        return
    with locked(run.folder, wait=is_part):
        prepared = prepare(run.corpus, run.config, run.folder, load_scorer, engine)
    show(ledger_table(prepared.ledgers))
    for line in explain(prepared.dropped, int(shown)):
        print(line)
    losses = describe_losses(prepared.ledgers, corpus_files(run.config.data), run.config.data.languages)
    for warning in (*losses, *suspicious_corpora(prepared)):
        say(warning)
    say(f"Ready: {prepared.folder}")


if __name__ == "__main__":
    sys.exit(main())
