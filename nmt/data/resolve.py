"""A command line flows in; a run flows out: its settings (with the recipe of its corpus), corpus and name."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nmt.cli import make_config, say
from nmt.config import Config
from nmt.data.corpora import Corpus, corpus_name, load_corpus

RECIPES = Path(__file__).parents[2] / "recipes"


@dataclass(frozen=True)
class ResolvedRun:
    """A run whose name is known and whose data.corpus is not `auto`."""

    config: Config
    corpus: Corpus | None
    """The corpus, if data.corpus was `auto`: then it was read to choose one. None: not read yet."""

    @property
    def folder(self) -> Path:
        return Path(self.config.runs) / self.config.name


def resolve(parser: Any, given: Any) -> ResolvedRun:
    """Decide the settings, the corpus and the name of a run; without --config, `recipes/CORPUS.yaml` is used.

    `parser`: of `nmt.cli.make_run_parser`; `given`: the command line, parsed by it without defaults. Raises ValueError
    if a setting is wrong, or the corpus is `auto` and the languages are not German and English.
    """
    recipe = Path(given.config) if given.get("config") else None
    data = make_config(parser, given, recipe).data
    corpus = load_corpus(data) if data.corpus == "auto" else None
    name = corpus.name if corpus else str(corpus_name(data))
    if recipe is None and (RECIPES / f"{name}.yaml").is_file():
        recipe = RECIPES / f"{name}.yaml"
        say(f"Recipe: {recipe.name}")
    config = make_config(parser, given, recipe)
    data = replace(config.data, corpus=name) if corpus else config.data
    return ResolvedRun(replace(config, data=data, name=config.name or f"{data.source}-{data.target}-{name}"), corpus)
