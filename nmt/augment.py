"""Command: back-translation and distillation. A corpus and models flow in; a corpus with added pairs flows out.

No model may have been trained on the validation and test text. If a corpus has no files for them, sentences are held
out by their source side, so each direction holds out others: make val and test files before you train the models.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from nmt.commands.options import DEVICE, Options, Parser, add_search_options, as_main
from nmt.config.data import ONLY_OF_RUNS
from nmt.config.names import override_search, setting_types
from nmt.config.recipes import make_section
from nmt.fields import require
from nmt.files import require_new
from nmt.messages import say, show

if TYPE_CHECKING:
    from nmt.commands.pieces import Model
    from nmt.config import DataConfig, DecodingPrecision

SEARCH = ("beam_size", "length_penalty", "samples", "temperature", "top_k", "top_p", "min_p", "seed")
EXAMPLES = """
python -m nmt.augment --data.corpus my-corpus --backward runs/en-de-my-corpus --output my-corpus-more
python -m nmt.augment --data.corpus my-corpus --backward runs/en-de --more-target more.en --only-new --output made
python -m nmt.augment --data.corpus my-corpus --forward runs/de-en-my-corpus --distil --output distilled
"""
OPTIONS = """
== More text, and output
--more-source FILE...: Text in data.source, a sentence in each line, that the forward models also translate.
--more-target FILE...: Text in data.target, a sentence in each line, that the backward models also translate.
--distil: Replace the target of each training pair by a translation of the only model, --forward, in place of adding
    pairs: the hypothesis of its beam that is closest to the target by chrF. A pair without a usable translation stays.
--only-new: Write the made pairs alone: a folder for data.more, where they can have a tag and a weight. Of a language
    with --more-source or --more-target, only that text is translated, not the corpus.
--output DIR: New folder for the corpus with the added pairs.
== Sharing the work
--part I/N: Do part I of N, on machines with a shared folder; the last one makes the output.
--workers N: Worker processes, each of which loads the models; 0 is one for each core (default: 1).
== Models and device
--forward DIR...: Model or run folder from data.source to data.target. It translates the source sentences.
--backward DIR...: Model or run folder from data.target to data.source. It translates the target sentences.
"""


def make_augment_parser() -> Parser:
    text = "Back-translation and distillation: translate a corpus with trained models, for more pairs or other targets."
    parser = Parser("nmt.augment", text, EXAMPLES)
    shown = [name for name in setting_types() if name.startswith("data.") and name not in ONLY_OF_RUNS]
    parser.add_settings("data", shown)
    parser.add_table(OPTIONS + DEVICE)
    add_search_options(parser, *SEARCH, "guard", "batch_size")
    return parser


@as_main("augment", make_augment_parser)
def main(options: Options) -> None:
    from nmt.commands.augmentation import Plan, augment
    from nmt.data.cleaning.cleaner import ledger_table
    from nmt.data.store.engines import Engine

    data: DataConfig = make_section("data", options)
    kind = f"data.text is {data.text}, but only pairs can be added to"
    require(data.unit == "pair", f"{kind}: text in one language goes to --more-source or --more-target")
    require("output" in options, "--output DIR is missing: it names the folder that will hold the larger corpus")
    output = Path(options.output).expanduser()
    require_new(output)
    is_one = len(options.forward) == 1 and not options.backward
    several = "--distil replaces the pairs by translations of one model: give --forward DIR once"
    require(not options.distil or is_one, several)
    whole = "--distil replaces pairs of the corpus, and --only-new leaves the corpus out: give one of them"
    require(not (options.distil and options.only_new), whole)
    engine = Engine.parse(options.get("workers", "1"), options.get("part", "1/1"))
    models = load_models(options, data)  # all models first: a wrong one is reported before hours of work
    names = {False: options.more_source, True: options.more_target}
    more = {backward: [Path(name).expanduser() for name in files] for backward, files in names.items()}
    plan = Plan(data, tuple(models), more, options.distil, options.only_new)
    if ledgers := augment(plan, output, engine):
        show(ledger_table(ledgers))


def load_models(options: Options, data: "DataConfig") -> "list[Model]":
    """Load the models. Raises ValueError if one has another direction, or a file of more text has no model."""
    from nmt.commands.pieces import Model, load
    from nmt.translation.translator import find_model

    hint = "--forward DIR translates the sources, --backward DIR the targets"
    require(bool(options.forward or options.backward), f"name a model: {hint}")
    models = []
    for backward, direction, text in ((False, "forward", "source"), (True, "backward", "target")):
        missing = options[f"more_{text}"] and not options[direction]
        require(not missing, f"--more-{text} needs a model that translates it: --{direction} DIR")
        for number, folder in enumerate(map(find_model, options[direction]), start=1):
            languages = (data.target, data.source) if backward else (data.source, data.target)
            translator = load(folder, languages, options.device, options.precision)
            search = override_search(replace(translator.search, n_best=1), options)
            search = replace(search, n_best=search.samples or (search.beam_size if options.distil else 1))
            name = f"{direction} {number}"
            say(f"{name} is {folder}, {translator.describe()}")
            precision: DecodingPrecision = options.precision
            if precision == "auto":  # what it stands for may differ on another machine
                exact = translator.plain and not search.samples
                precision = "fp32" if exact else cast("DecodingPrecision", translator.precision)
                translator = load(folder, languages, options.device, precision)
            models.append(Model(name, folder, languages, backward, options.device, precision, search, translator))
    return models


if __name__ == "__main__":
    sys.exit(main())
