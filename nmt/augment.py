"""Command: a corpus and models in; a corpus out that also has the models' translations of its sentences, to train on.

    python -m nmt.augment --data.corpus my-corpus --forward runs/A --backward runs/B --output my-corpus-more

Models of both directions must not have been trained on the validation and test text. A corpus without files for these
has them held out by source sentence, and so differently in each direction: give the corpus such files first.
"""

import sys
from argparse import SUPPRESS
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.cli import add_device_options, add_search_options, console, make_parser, override_search, parse, run_command
from nmt.config import DataConfig
from nmt.fields import require

if TYPE_CHECKING:
    from nmt.translation.augmentation import Model

SEARCH = ("beam_size", "length_penalty", "samples", "temperature", "top_k", "top_p", "min_p", "seed", "shortlist")
OPTIONS = {
    "--forward": ("DIR", "A model or run folder from data.source to data.target; it translates the sources."),
    "--backward": ("DIR", "A model or run folder from data.target to data.source; it translates the targets."),
    "--more-source": ("FILE", "Text in data.source alone, a sentence a line (or .gz of it), for the forward models."),
    "--more-target": ("FILE", "Text in data.target alone, for the backward models."),
}


def make_augment_parser() -> Any:
    parser = make_parser("nmt.augment", "Add models' translations of its sentences to a corpus.")
    parser.add_class_arguments(DataConfig, "data")
    for option, (metavar, text) in OPTIONS.items():
        parser.add_argument(option, action="append", default=[], metavar=metavar, help=f"{text} Repeatable.")
    parser.add_argument("--output", default=SUPPRESS, metavar="DIR", help="The folder to make, for data.corpus.")
    add_device_options(parser, precision="auto")
    add_search_options(parser, *SEARCH, "guard", "batch_size")
    return parser


def main(argv: list[str] | None = None) -> int:
    return run_command("augment", lambda: command(parse(make_augment_parser(), argv)))


def command(options: Any) -> int:
    from nmt.data.cleaning import ledger_table
    from nmt.translation.augmentation import augment, require_new

    require("output" in options, "--output DIR is missing: it names the folder that will hold the larger corpus")
    output = Path(options.output).expanduser()
    require_new(output)
    models = load_models(options)  # all before any work, so that a wrong one doesn't end hours of it
    names = {False: options.more_source, True: options.more_target}
    more = {backward: [Path(name).expanduser() for name in files] for backward, files in names.items()}
    console().print(ledger_table(augment(options.data, models, more, output)))
    return 0


def load_models(options: Any) -> "list[Model]":
    """The models of both directions; ValueError if one is no model for its direction, or a text has no model."""
    from nmt.translation.augmentation import Model, require_languages
    from nmt.translation.translator import Translator, find_model

    hint = "--forward DIR translates the sources, --backward DIR the targets"
    require(bool(options.forward or options.backward), f"name a model: {hint}")
    models = []
    for backward, direction, text in ((False, "forward", "source"), (True, "backward", "target")):
        missing = options[f"more_{text}"] and not options[direction]
        require(not missing, f"--more-{text} needs a model that translates it: --{direction} DIR")
        for number, folder in enumerate(map(find_model, options[direction]), start=1):
            translator = Translator.load(folder, options.device, precision=options.precision)
            require_languages(folder, options.data, backward)
            search = override_search(translator.search, options)
            require(not search.shortlist or translator.shortlist is not None, f"{folder} has no shortlist")
            search = replace(search, n_best=search.samples or 1)
            models.append(Model(f"{direction} {number}", folder, backward, translator, search))
    return models


if __name__ == "__main__":
    sys.exit(main())
