"""Command: a model and a test set in; BLEU, chrF, exact matches and TER out, with signatures, as table and as JSON.

Two systems in: whether one is really better."""

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.commands.options import Options, Parser, add_search_options, add_translator_options, as_main, load_translator
from nmt.commands.streams import open_output
from nmt.config import SearchConfig
from nmt.config.names import override_search
from nmt.fields import require
from nmt.files import model_in, read_lines, require_writable, write_lines
from nmt.text.languages import short_code
from nmt.version import __version__

if TYPE_CHECKING:
    from nmt.scoring.evaluation import Evaluation
    from nmt.scoring.metrics import Metric

Tests = dict[str, list[list[str]]]
"""The texts of test sets: sources, then one list of references or several."""
NO_REFERENCE = "--hypothesis is scored against --reference: give that too"
EXAMPLES = """
python -m nmt.evaluate --model runs/de-en-phrasebook --source test.de --reference test.en --json scores.json
python -m nmt.evaluate --hypothesis test.out --reference test.en
python -m nmt.evaluate --model runs/new-1 runs/new-2 --against runs/old-1 runs/old-2
"""
OPTIONS = """
== Texts and scores
--source FILE: Text to translate, one sentence in each line.
--reference FILE...: Reference translations, a line for each source. Several files are several references.
--hypothesis FILE...: Translations to score, a line for each reference. With them, no model is needed.
--against PATH...: Compare A (--hypothesis or --model) with B: files, or folders. Several are its seeds. Options of
    search hold for both.
--ter: Compute TER too, which is slow for long lines.
--save DIR: Folder to write the translations of each test set to, as a new file TEST.out.
--json FILE: File to write the scores to, as JSON. For -, standard output has them instead of the table.
--markup {auto,html,none} = auto: Which lines are HTML or XML, as for nmt.translate: those with tags that all match
    (auto), all, or none.
== Model and device
--model DIR...: Model or run folder. Without it, the newest finished run that translates.
"""

FOR_FILES = ("hypothesis", "reference", "target_language", "ter", "json")  # what scoring a file of translations needs


def make_evaluate_parser() -> Parser:
    text = "Score translations with BLEU and chrF. Without --source and --hypothesis, the test sets of the model's run "
    parser = Parser("nmt.evaluate", f"{text}are translated and scored.", EXAMPLES)
    parser.add_table(OPTIONS, nargs="+")
    add_translator_options(parser, "-language")  # as for translating: what is scored is what users get
    add_search_options(parser, *(f.name for f in fields(SearchConfig) if f.name != "n_best"))
    return parser


@as_main("evaluate", make_evaluate_parser)
def main(options: Options) -> None:
    from nmt.scoring.evaluation import as_json, print_table
    from nmt.scoring.metrics import USUAL_METRICS

    if "save" in options:
        require_writable(Path(options.save))
    file, inputs = options.get("json"), [*options.hypothesis, *options.reference, options.get("source", "")]
    read = [name for name in (*inputs, *options.against) if Path(name).is_file()]
    # Opened now, not after hours of translating.
    opened = nullcontext() if file in (None, "-") else open_output(file, [], read)
    metrics: list[Metric] = [*USUAL_METRICS, "ter"] if options.ter else [*USUAL_METRICS]
    with opened as output:
        if options.against:
            text, show = compare_systems(options, metrics)
        else:
            is_one = len(options.hypothesis) <= 1 and len(options.model) <= 1
            require(is_one, "several systems are given, but one is scored at a time: give --against to compare two")
            results = (evaluate_file if options.hypothesis else evaluate_model)(options, metrics)
            text, show = as_json(results), partial(print_table, results)
        print(text) if file == "-" else show()
        if output:
            output.write(f"{text}\n".encode())


def evaluate_file(options: Options, metrics: "list[Metric]") -> "dict[str, Evaluation]":
    """Score the translations in the file --hypothesis, by the name of that file."""
    from nmt.scoring.evaluation import Evaluation
    from nmt.scoring.metrics import score

    require(bool(options.reference), NO_REFERENCE)
    require_only(options, *FOR_FILES)
    file = Path(options.hypothesis[0])
    translations, references = read_lines(file), [read_lines(Path(name)) for name in options.reference]
    scores = score(translations, *references, metrics=metrics, language=options.get("target_language", ""))
    return {file.name: Evaluation(scores, translations, 0.0)}


def require_only(options: Options, *names: str) -> None:
    """Raise ValueError if options are given that are not in `names`: nothing is translated."""
    usual = make_evaluate_parser().defaults
    given = [name for name, value in options.items() if name not in names and value != usual.get(name)]
    others = ", ".join(f"--{name.replace('_', '-')}" for name in given)
    require(not others, f"{others}: for a model, but the translations are there already; leave it out")


def evaluate_model(options: Options, metrics: "list[Metric]") -> "dict[str, Evaluation]":
    """Translate and score the test sets that the options name: the evaluation of each, by its name."""
    from nmt.scoring.evaluation import read_test_sets
    from nmt.translation.translator import find_model

    folder = find_model(options.model[0] if options.model else None)
    tests = read_test_sets(folder, options.get("source"), options.reference)
    files = {name: Path(options.save) / f"{name}.out" for name in tests} if "save" in options else {}
    existing = next((file for file in files.values() if file.exists()), None)
    require(existing is None, f"{existing} exists already: name another folder for --save, or delete the file")
    results = evaluate_folder(folder, tests, options, metrics)
    for name in results if files else ():
        write_lines(files[name], results[name].translations)
    return results


def evaluate_folder(folder: Path, tests: Tests, options: Options, metrics: "list[Metric]") -> "dict[str, Evaluation]":
    """Translate and score those of the test sets that are in the languages of the options, with a model folder."""
    from nmt.scoring.evaluation import evaluate

    languages = [options.get(f"{side}_language", "") for side in ("source", "target")]
    translator = load_translator(options, [folder], *languages)
    search = override_search(replace(translator.search, n_best=1), options)
    chosen = {"metrics": metrics, "search": search, "markup": options.markup}
    directions = {name: translator.tokenizer.languages.direction_in(name) for name in tests}
    fitting = [n for n, pair in directions.items() if all(a in ("", b) for a, b in zip(languages, pair, strict=True))]
    wanted = [name for name in tests if name in fitting or not any(directions[name])]
    if not translator.tokenizer.languages.several:  # tests of several directions are of others too
        direction = f".{translator.source}-{translator.language}"
        wanted = [name for name in wanted if name.endswith(direction)] or wanted
    require(bool(wanted), f"no test set has these languages: there is {', '.join(tests)}")
    return {name: evaluate(translator.between(*directions[name]), *tests[name], **chosen) for name in wanted}


def evaluate_systems(names: list[str], tests: Tests, options: Options) -> "dict[str, dict[str, Evaluation]]":
    """The translations of each system, a file or a folder, by test sets. What is wrong with a system is told before
    anything is translated."""
    from nmt.scoring.evaluation import Evaluation
    from nmt.translation.model_folder import instead_of, require_model

    for name in names:
        require(Path(name).exists(), f"{name}: there is no such file or folder{instead_of(Path(name))}")
    folders = {name: model_in(Path(name)) for name in names if Path(name).is_dir()}
    problem = "--adapter would be added to A and B: leave it out, and name the run folder of the adapter as a system"
    require("adapter" not in options or sum(name in folders for name in names) < 2, problem)
    for name, folder in folders.items():
        require("source" in options or not options.hypothesis, f"{name} is a folder, whose translations need --source")
        if options.backend != "ctranslate2":
            require_model(folder)
    found = {name: read_lines(Path(name)) for name in names if name not in folders}
    for name, lines in found.items():
        require(len(tests) == 1, f"{name} is of one test set, but there are several: give --source and --reference")
        n = len(next(iter(tests.values()))[0])
        require(len(lines) == n, f"{name} has {len(lines):,} lines, but the test set {n:,}: each needs its own")
    if not folders:
        require_only(options, *FOR_FILES, "against", "source", "model")
    seeds = {name: dict.fromkeys(tests, Evaluation([], lines, 0.0)) for name, lines in found.items()}
    return seeds | {name: evaluate_folder(folder, tests, options, []) for name, folder in folders.items()}


def compare_systems(options: Options, metrics: "list[Metric]") -> "tuple[str, Callable[[], None]]":
    """Compare --hypothesis or --model with --against: the comparisons as JSON, and what prints them."""
    from nmt.scoring.evaluation import read_test_sets
    from nmt.scoring.significance import compare, print_comparisons
    from nmt.translation.translator import find_model

    require("save" not in options, "--save is for one system, without --against")
    require(not (options.hypothesis and options.model), "--hypothesis and --model are both system A: give one of them")
    systems = {"A": options.hypothesis or options.model or [str(find_model(None))], "B": options.against}
    require(bool(options.reference or not options.hypothesis), NO_REFERENCE)
    reads = "source" in options or not options.hypothesis  # else nothing is translated: references are enough
    source = options.get("source") if reads else next(iter(options.reference), None)
    tests = read_test_sets(find_model(systems["A"][0]), source, options.reference)
    seeds = evaluate_systems(systems["A"] + systems["B"], tests, options)
    found = {}
    for test in (test for test in tests if all(test in of for of in seeds.values())):
        codes = [code for of in seeds.values() if (code := of[test].settings.get("language"))]
        into = " and ".join(sorted({*map(short_code, codes)}))
        require(" " not in into, f"the translations of {test} are in {into}: compare models of one target language")
        a, b = ([seeds[name][test].translations for name in names] for names in systems.values())
        language = options.get("target_language", [*codes, ""][0])
        found[test] = compare(a, b, tests[test][1:], metrics, language)
    require(bool(found), f"no test set is in the languages of all systems: there is {', '.join(tests)}")
    settings = {name: next(iter(of.values())).settings for name, of in seeds.items()}
    about = {label: {name: settings[name] for name in names} for label, names in systems.items()}
    comparisons = {test: asdict(comparison) for test, comparison in found.items()}
    text = json.dumps({"nmt": __version__, "systems": about, "tests": comparisons}, indent=2)
    return text, partial(print_comparisons, found)


if __name__ == "__main__":
    sys.exit(main())
