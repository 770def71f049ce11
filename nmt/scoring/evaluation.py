"""Evaluation: a model, sources and references flow in; translations and their scores flow out."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from nmt.config import SearchConfig
from nmt.fields import require
from nmt.files import read_lines, run_of
from nmt.scoring.metrics import USUAL_METRICS, Metric, Score, check_lines, score
from nmt.text.markup import Mode
from nmt.translation.model_folder import EXPORTED, require_model
from nmt.translation.translator import Translator
from nmt.version import __version__


@dataclass(frozen=True)
class Evaluation:
    """How well a test set was translated."""

    scores: list[Score]
    translations: list[str]
    seconds: float
    """Time of translating; 0 if the translations were given."""

    settings: dict[str, Any] = field(default_factory=dict)
    """Target language, precision, device, plain searches (as `Translator.plain_searches`) and search settings of the
    translator, and which lines are read as mark-up; empty if the translations were given."""


def read_test_sets(folder: Path, source: str | None, references: Sequence[str]) -> dict[str, list[list[str]]]:
    """The test set in these files, or else those of the run of a model folder: [sources, *references] by name."""
    hint = "give both, or neither for a run's own test sets"
    require((source is not None) == bool(references), f"--source and --reference belong together: {hint}")
    prepared = sorted((run_of(folder) / "data").glob("test*.src"), key=lambda path: path.stem)
    tests_of_run = [[path, path.with_suffix(".tgt")] for path in prepared]
    files = tests_of_run if source is None else [[Path(source), *map(Path, references)]]
    if not files and not (folder / EXPORTED).is_file():
        require_model(folder)  # its message first: training may not have finished
    require(bool(files), f"{folder} is in no run folder with data/test*.src: give --source and --reference")
    tests = {paths[0].stem: [read_lines(path) for path in paths] for paths in files}
    for paths, lines in zip(files, tests.values(), strict=True):
        for path, side in zip(paths, lines, strict=True):
            n = len(lines[0])
            require(len(side) == n, f"{n:,} lines in {paths[0]} but {len(side):,} in {path}: each line needs its own")
    return tests


def evaluate(
    translator: Translator,
    sources: Sequence[str],
    *references: Sequence[str],
    metrics: Sequence[Metric] = USUAL_METRICS,
    search: SearchConfig | None = None,
    markup: Mode = "auto",
) -> Evaluation:
    """Translate and score a test set; `search`: None for the model's own settings. Raises ValueError as `score`."""
    texts, metrics = check_lines(sources, references, metrics)  # before the time that translating takes
    started = time.perf_counter()
    found = translator.translate_n_best(texts[0], search, markup=markup)
    translations = [best.text for best, *_ in found]
    seconds = time.perf_counter() - started
    settings: dict[str, Any] = {"language": translator.language, "precision": translator.precision}
    settings["device"] = str(translator.device)
    settings["plain_searches"] = translator.plain_searches
    settings["search"] = asdict(search or translator.search)
    settings["markup"] = markup
    scores = score(translations, *texts[1:], metrics=metrics, language=translator.language)
    return Evaluation(scores, translations, seconds, settings)


def as_json(results: dict[str, Evaluation]) -> str:
    """A list with an object for each test set."""
    rows = []
    for name, result in results.items():
        n, seconds, scores = len(result.translations), round(result.seconds, 3), [asdict(s) for s in result.scores]
        about = {"nmt": __version__, **result.settings}
        rows.append({"test": name, "sentences": n, "seconds": seconds, "scores": scores, "settings": about})
    return json.dumps(rows, indent=2)


def describe(settings: dict[str, Any]) -> str:
    """Precision, device, plain searches, and the search settings that matter most or differ from the defaults."""
    usual = {name: value for name, value in asdict(SearchConfig()).items() if name not in ("beam_size", "guard")}
    shown = [pair for pair in settings["search"].items() if pair not in usual.items()]
    values = [f"{name} {str(value).lower()}" for name, value in shown]
    plain = f" (plain searches: {settings['plain_searches']})" if settings["plain_searches"] else ""
    return ", ".join([f"{settings['precision']} on {settings['device']}{plain}", *values])


def print_table(results: dict[str, Evaluation]) -> None:
    """Print a row for each test set, and below, the settings of the translator and the signatures of the scores."""
    first = next(iter(results.values()))
    scores = first.scores
    table = Table("test", "sentences", *(s.name for s in scores), "sentences/s")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, result in results.items():
        speed = f"{len(result.translations) / result.seconds:,.0f}" if result.seconds else ""
        table.add_row(name, f"{len(result.translations):,}", *(f"{s.value:.2f}" for s in result.scores), speed)
    console = Console(markup=False, highlight=False)  # names of files may have brackets
    console.print(table)
    for line in [*([describe(first.settings)] if first.settings else []), *(s.signature for s in scores)]:
        console.print(line, soft_wrap=True)
