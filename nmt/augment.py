"""Command: back-translation and distillation. A corpus and models flow in; a corpus with added pairs flows out.

    python -m nmt.augment --data.corpus my-corpus --forward runs/A --backward runs/B --output my-corpus-more

No model may have been trained on the validation and test text. If a corpus has no files for them, sentences are held
out by their source side, so each direction holds out others: make val and test files before you train the models.
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
    parser = make_parser("nmt.augment", "Back-translation and distillation: add models' translations to a corpus.")
    parser.add_class_arguments(DataConfig, "data")
    for option, (metavar, text) in OPTIONS.items():
        parser.add_argument(option, action="append", default=[], metavar=metavar, help=f"{text} Repeatable.")
    parser.add_argument("--output", default=SUPPRESS, metavar="DIR", help="The corpus folder to make.")
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
    models = load_models(options)  # all models first: a wrong one is reported before hours of work
    names = {False: options.more_source, True: options.more_target}
    more = {backward: [Path(name).expanduser() for name in files] for backward, files in names.items()}
    console().print(ledger_table(augment(options.data, models, more, output)))
    return 0


def load_models(options: Any) -> "list[Model]":
    """Load the models. Raises ValueError if one has another direction, or a file of more text has no model."""
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
