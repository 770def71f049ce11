"""Command: a corpus and models in; the corpus with what the models make of its sentences out, to train a better one on.

    python -m nmt.augment --data.corpus my-corpus --forward runs/A --backward runs/B --output my-corpus-more

A forward model translates the training sources, and each source goes with its translation into the training text
(sequence-level distillation, Kim & Rush 2016); a backward model translates the targets (back-translation, Sennrich et
al. 2016). Both at once, by models of one size, is data diversification (Nguyen et al. 2020), which needs no other text;
text in one language alone can be added to what they translate. Val and test text stays as it is.

Models for both directions must not know the val and test text: where a corpus lacks that, what is held out of it goes
by its sources, and so differs between the directions. Give it files of its own then.

An interrupted command goes on where it was: what was translated lies beside the output, in a file named by the hash of
all that it depends on, until the output is whole.
"""

import shutil
import sys
from argparse import SUPPRESS
from pathlib import Path
from typing import Any

from nmt.cli import add_decoding_options, add_device_options, console, parse, run_command, say
from nmt.config import DataConfig, require
from nmt.data.cleaning import Ledger, ledger_table
from nmt.data.corpora import Corpus, clean_train, load_corpus, load_sentences
from nmt.files import locked

DECODING = (
    "beam_size",
    "length_penalty",
    "samples",
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "seed",
    "shortlist",
    "guard",
    "batch_size",
)


def make_parser() -> Any:
    from jsonargparse import ArgumentParser, set_parsing_settings

    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    parser = ArgumentParser(
        prog="python -m nmt.augment",
        exit_on_error=False,
        description="Add to a corpus what models make of its sentences.",
    )
    parser.add_class_arguments(DataConfig, "data")
    parser.add_argument(
        "--forward",
        action="append",
        default=[],
        metavar="DIR",
        help="A model or run folder from data.source to data.target: translates the sources. Repeatable.",
    )
    parser.add_argument(
        "--backward",
        action="append",
        default=[],
        metavar="DIR",
        help="One from data.target to data.source: translates the targets. Repeatable.",
    )
    parser.add_argument(
        "--more-source",
        action="append",
        default=[],
        metavar="FILE",
        help="Text in data.source alone, a sentence a line (or .gz of it), for the forward models. Repeatable.",
    )
    parser.add_argument(
        "--more-target",
        action="append",
        default=[],
        metavar="FILE",
        help="Text in data.target alone, for the backward models. Repeatable.",
    )
    parser.add_argument("--output", default=SUPPRESS, metavar="DIR", help="The folder to make, for data.corpus.")
    add_device_options(parser, precision="auto")
    add_decoding_options(parser, *DECODING)
    return parser


def main(argv: list[str] | None = None) -> int:
    return run_command("augment", lambda: command(parse(make_parser(), argv)))


def command(options: Any) -> int:
    from nmt.translation.augmentation import find_models, load, new_pairs, translate, write_corpus

    require("output" in options, "--output DIR is missing: it names the folder that will hold the larger corpus")
    output = Path(options.output).expanduser()
    require_new(output)
    models = find_models(options)
    translators = [load(model, options) for model in models]  # all, so that a wrong one doesn't end hours of work
    corpus = load_corpus(options.data)
    for note in corpus.notes:
        say(note)
    train, ledger = clean_train(corpus, options.data)
    ledgers = {"train": ledger}
    more = [read_more(options, corpus, backward, ledgers) for backward in (False, True)]
    work = output.with_name(f"{output.name}.translating")
    with locked(work):
        require_new(output)  # another such command may just have ended
        known, added = set(train), []
        for model, translator in zip(models, translators, strict=True):
            say(f"{model.name} is {model.folder}, {translator.describe()}")
            lines = list(dict.fromkeys([*(pair[model.backward] for pair in train), *more[model.backward]]))
            found = translate(translator, lines, work, model, say)
            repeated = [line for line in lines for _ in range(translator.decoding.n_best)]
            pairs, ledgers[model.name] = new_pairs(known, zip(*model.sides(repeated, found), strict=True))
            added += pairs
        write_corpus(work / "corpus", corpus, [*train, *added], options.data)
        require_new(output)
        (work / "corpus").replace(output)
        shutil.rmtree(work)
    console().print(ledger_table(ledgers))
    say(f"Ready: {output}, with {len(train) + len(added):,} training pairs instead of {len(train):,}")
    return 0


def read_more(options: Any, corpus: Corpus, backward: bool, ledgers: dict[str, Ledger]) -> list[str]:
    """The lines of the files in one language alone, for the models of a direction; their ledgers join the others."""
    name = "more_target" if backward else "more_source"
    held_out = {pair[backward] for pairs in (corpus.val, *corpus.tests.values()) for pair in pairs}
    read = [load_sentences(Path(file).expanduser(), options.data, held_out) for file in options[name]]
    ledgers |= {f"{name.replace('_', ' ')} {n}": ledger for n, (_, ledger) in enumerate(read, start=1)}
    return [line for lines, _ in read for line in lines]


def require_new(output: Path) -> None:
    require(not output.exists(), f"{output} is there already: name a folder that is not, or delete it")


if __name__ == "__main__":
    sys.exit(main())
