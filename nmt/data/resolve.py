"""Settings flow in; a run flows out: its settings with the recipe of its corpus, its corpus and its name."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nmt.config import Config
from nmt.config.choice import CHOSEN, PLACEHOLDER_SHARE
from nmt.config.names import flatten
from nmt.config.recipes import RECIPES, find_recipe, make_config, read_settings
from nmt.data.corpora import Corpus, corpus_name, load_corpus
from nmt.data.tokenizer import Tokenizer
from nmt.fields import require
from nmt.files import tokenizer_in
from nmt.messages import say


@dataclass(frozen=True)
class ResolvedRun:
    """A run whose name is known, and whose data.corpus is not `auto`."""

    config: Config
    corpus: Corpus | None
    """The corpus, if data.corpus was `auto`: then it was read to choose one. None: not read yet."""
    given: dict[str, Any] | None = None
    """Those given settings that would be chosen otherwise; None if nothing is chosen: the recipe has the others."""

    @property
    def folder(self) -> Path:
        return Path(self.config.runs) / self.config.name


def resolve(given: Mapping[str, Any]) -> ResolvedRun:
    """Decide the settings, the corpus and the name of a run, with the recipe of --config or else CORPUS.yaml of nmt.

    `given`: the settings of a command line by their dotted names, and config, a recipe (see `find_recipe`). Raises
    ValueError if a setting is wrong, or the corpus is `auto` and the languages are not German and English.
    """
    recipe = find_recipe(given["config"]) if given.get("config") else None
    given = {**(without_old_corpus(given, recipe) if recipe else {}), **given}
    if given.get("training.start_from") or given.get("training.teacher"):  # those of the first run are not for this one
        given = {"training.denoise_steps": 0, **given}
    data = make_config(given, recipe).data
    corpus = load_corpus(data) if data.corpus == "auto" else None
    name = corpus.name if corpus else str(corpus_name(data))
    if recipe is None and (RECIPES / f"{name}.yaml").is_file():
        recipe = RECIPES / f"{name}.yaml"
        say(f"Recipe: {recipe.name}")
    config = make_config(given, recipe)
    found = read_settings(recipe) if recipe else {}
    chooses = not any(setting.startswith("model.") for setting in found)
    if chooses and "data.placeholders" not in found and takes_placeholders(config):
        config = make_config({"data.placeholders": PLACEHOLDER_SHARE, **given}, recipe)
    corpus = corpus if config.data.text == data.text else None  # else the recipe asks for other text of it
    data = replace(config.data, corpus=name) if data.corpus == "auto" else config.data
    objective = config.training.objective
    parts = [*config.data.languages, name, *([] if objective == "translation" else [objective])]
    named = {**found, **given}
    known = {n: value for n, value in flatten(config).items() if n in named and n.startswith(CHOSEN)}
    config = replace(config, data=data, name=config.name or "-".join(parts))
    is_read = config.training.denoise_steps > 0 or (chooses and "training.denoise_steps" not in known)
    problem = f"{data.texts}: only the first steps read it, and training.denoise_steps is 0"
    require(is_read or not data.texts, f"{problem}. Set it to half of the steps, for instance")
    return ResolvedRun(config, corpus, known if chooses else None)


def without_old_corpus(given: Mapping[str, Any], recipe: Path) -> dict[str, Any]:
    """What replaces the licence, and the corpora beside, of the corpus of a recipe or a run, if another is given."""
    found = read_settings(recipe)
    before, now = found.get("data.corpus"), given.get("data.corpus")
    of_corpus = {name: type(found[name])() for name in ("data.more", "data.licence") if found.get(name)}
    if None in (before, now) or before == now or not of_corpus.keys() - given.keys():
        return {}
    left = " and ".join(sorted(of_corpus.keys() - given.keys()))
    say(f"{recipe} has {left} for the corpus {before}, left out here: give what goes with {now}")
    return of_corpus


def takes_placeholders(config: Config) -> bool:
    """Whether a translator of one pair of languages is trained anew, with a tokenizer that has or gets their pieces."""
    is_translator = config.training.objective == "translation" and config.data.unit == "pair"
    anew = not config.training.start_from and not config.data.many_to_many
    return is_translator and anew and (not config.tokenizer.folder or has_placeholders(Path(config.tokenizer.folder)))


def has_placeholders(folder: Path) -> bool:
    """Whether the tokenizer in a folder has pieces for placeholders; False if there is no whole tokenizer."""
    try:
        return Tokenizer.load(tokenizer_in(folder)).has_placeholders
    except (OSError, ValueError):  # preparing says what is wrong with it
        return False
