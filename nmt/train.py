"""Command: train a translator. A corpus and a recipe flow in; a run folder flows out (see `nmt.training.run`)."""

import shlex
import sys

from nmt.commands.options import Options, Parser, as_main, make_run_parser
from nmt.messages import RANK

EXAMPLES = """
python -m nmt.train --data.corpus phrasebook
python -m nmt.train --resume --data.corpus phrasebook --training.max_steps 3000 --name longer
python -m nmt.train --config recipes/modern.yaml --data.corpus my-corpus --data.source fi --data.target sv
"""
OPTIONS = "--resume: Continue a run that was stopped, if there is one."
# What recipes and examples of the documentation change most; --help-all shows all settings.
OFTEN_CHANGED = shlex.split("""
    name data.corpus data.source data.target cleaning.profile tokenizer.vocab_size tokenizer.folder search.beam_size
    model.d_model model.n_heads model.d_ff model.encoder_layers model.decoder_layers model.dropout
    training.objective training.seed training.start_from training.max_steps training.max_minutes training.batch_tokens
    training.learning_rate training.schedule training.warmup_steps training.validate_every training.device
""")


def make_train_parser() -> Parser:
    text = "Prepare a corpus, train a translator on it and measure the translator, in the folder runs/NAME."
    return make_run_parser("nmt.train", text, EXAMPLES, shown=OFTEN_CHANGED, options=OPTIONS)


@as_main(f"train, process {RANK}" if RANK else "train", make_train_parser)
def main(given: Options) -> None:
    from nmt.training.run import carry_out  # only now: it imports PyTorch, and --help should be quick

    carry_out(given, resume=given.resume)


if __name__ == "__main__":
    sys.exit(main())
