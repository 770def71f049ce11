"""python -m nmt.train: a corpus and a recipe in, runs/<name>/ out: data, tokenizer, checkpoints, model, scores, report.

Each stage leaves its result when it is done, so that a run that was cut off goes on where it stopped. torchrun starts
several processes on one run (see `nmt.training.distributed`): all train, and the first does all else.
"""

import sys
from dataclasses import replace
from pathlib import Path

from nmt.cli import RANK, as_config, make_parser, parse, run_command, say

RECIPES = Path(__file__).parent.parent / "recipes"


def main(argv: list[str] | None = None) -> int:
    name = f"train, process {RANK}" if RANK else "train"
    return run_command(name, lambda: command(sys.argv[1:] if argv is None else argv))


def command(argv: list[str]) -> int:
    """Read the settings, with the corpus's own recipe if none is named, and run what is not finished."""
    from nmt.data.corpora import corpus_name, load_corpus
    from nmt.data.prepared import is_prepared
    from nmt.training.run import Run

    parser = make_parser(
        "nmt.train",
        "Train a translator from parallel text, measure it, and keep it in runs/<name>/. "
        "Without --config, recipes/CORPUS.yaml is used if there is one.",
    )
    parser.add_argument("--resume", action="store_true", help="Go on with a run that was stopped.")
    options = parse(parser, argv)
    corpus = load_corpus(options.data) if corpus_name(options.data) is None else None
    name = corpus.name if corpus else str(corpus_name(options.data))
    recipe = RECIPES / f"{name}.yaml"
    if not options.config and recipe.is_file():
        say(f"Recipe: {recipe.name}")
        options = parse(parser, ["--config", str(recipe), *argv])
    config = as_config(options)
    data = replace(config.data, corpus=name) if corpus else config.data
    run_name = config.name or f"{data.source}-{data.target}-{name}"
    run = Run(replace(config, data=data, name=run_name), corpus)
    if corpus and is_prepared(run.folder):  # else `prepare` says why this corpus was taken
        for note in corpus.notes:
            say(note)
    run.carry_out(options.resume)
    return 0


if __name__ == "__main__":
    sys.exit(main())
