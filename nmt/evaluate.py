"""Command: a model and a test set in; BLEU, chrF, exact matches and TER out, with signatures, as table and as JSON."""

import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.commands.options import (
    Options,
    Parser,
    add_backend_option,
    add_device_options,
    add_search_options,
    add_translator_options,
    load_translator,
    require_lm,
    run_command,
)
from nmt.config import SearchConfig
from nmt.config.names import override_search
from nmt.fields import require
from nmt.files import read_lines, write_lines

if TYPE_CHECKING:
    from nmt.scoring.evaluation import Evaluation
    from nmt.scoring.metrics import Metric

EXAMPLES = """
python -m nmt.evaluate --model runs/de-en-phrasebook
python -m nmt.evaluate --model runs/de-en-phrasebook --source test.de --reference test.en --json scores.json
python -m nmt.evaluate --hypothesis test.out --reference test.en
"""
TEXTS = {
    "--source": ("FILE", "Text to translate, one sentence in each line."),
    "--reference": ("FILE...", "Reference translations, a line for each source. Several files are several references."),
    "--hypothesis": ("FILE", "Translations to score, a line for each reference. With them, no model is needed."),
    "--ter": ("", "Compute TER too, which is slow for long lines."),
    "--save": ("DIR", "Folder to write the translations of each test set to, as a new file TEST.out."),
    "--json": ("FILE", "File to write the scores to, as JSON. For -, standard output has them instead of the table."),
}


def make_evaluate_parser() -> Parser:
    text = "Score translations with BLEU and chrF. Without --source and --hypothesis, the test sets of the model's run "
    parser = Parser("nmt.evaluate", f"{text}are translated and scored.", EXAMPLES)
    parser.begin("Texts and scores")
    parser.add_table(TEXTS)
    text = "Which lines are HTML or XML, as for nmt.translate: those with tags that all match (auto), all, or none."
    parser.add("--markup", "{auto,html,none}", text, default="auto")
    parser.begin("Model and device")
    text = "Model or run folder. Without it, the newest finished run that translates."
    parser.add("--model", "DIR...", text)
    add_translator_options(parser, "-language")
    add_backend_option(parser)
    add_device_options(parser)  # as for translating: what is scored is what users get
    add_search_options(parser, *(f.name for f in fields(SearchConfig) if f.name != "n_best"))
    return parser


def main(argv: list[str] | None = None) -> int:
    return run_command("evaluate", lambda: command(make_evaluate_parser().parse(argv)))


def command(options: Options) -> int:
    from nmt.scoring.evaluation import as_json, print_table
    from nmt.scoring.metrics import USUAL_METRICS

    metrics: list[Metric] = [*USUAL_METRICS, "ter"] if options.ter else [*USUAL_METRICS]
    results = (evaluate_file if "hypothesis" in options else evaluate_model)(options, metrics)
    file = options.get("json")
    if file == "-":
        print(as_json(results))
        return 0
    if file is not None:
        Path(file).write_text(as_json(results) + "\n", encoding="utf-8")
    print_table(results)
    return 0


def evaluate_file(options: Options, metrics: "list[Metric]") -> "dict[str, Evaluation]":
    """Score the translations in the file --hypothesis, by the name of that file."""
    from nmt.scoring.evaluation import Evaluation
    from nmt.scoring.metrics import score

    fits = bool(options.reference) and "source" not in options and "save" not in options
    require(fits, "--hypothesis is scored against --reference, without --source and --save")
    translations = read_lines(Path(options.hypothesis))
    references = [read_lines(Path(name)) for name in options.reference]
    scores = score(translations, *references, metrics=metrics, language=options.get("target_language", ""))
    result = Evaluation(scores, translations, 0.0)
    return {Path(options.hypothesis).name: result}


def evaluate_model(options: Options, metrics: "list[Metric]") -> "dict[str, Evaluation]":
    """Translate and score the test sets that the options name: the evaluation of each, by its name."""
    from nmt.scoring.evaluation import evaluate, read_test_sets
    from nmt.translation.translator import find_model

    require(len(options.model) <= 1, "--model is given twice, but one model is scored at a time")
    folder = find_model(options.model[0] if options.model else None)
    tests = read_test_sets(folder, options.get("source"), options.reference)
    files = {name: Path(options.save) / f"{name}.out" for name in tests} if "save" in options else {}
    existing = next((file for file in files.values() if file.exists()), None)
    require(existing is None, f"{existing} exists already: name another folder for --save, or delete the file")
    languages = [options.get(f"{side}_language", "") for side in ("source", "target")]
    translator = load_translator(options, [folder], *languages)
    search = override_search(replace(translator.search, n_best=1), options)
    require_lm(options, search)
    chosen = {"metrics": metrics, "search": search, "markup": options.markup}
    directions = {name: translator.tokenizer.languages.direction_in(name) for name in tests}
    fitting = [n for n, pair in directions.items() if all(a in ("", b) for a, b in zip(languages, pair, strict=True))]
    wanted = [name for name in tests if name in fitting or not any(directions[name])]
    require(bool(wanted), f"no test set has these languages: there is {', '.join(tests)}")
    results = {name: evaluate(translator.between(*directions[name]), *tests[name], **chosen) for name in wanted}
    for name in wanted if files else ():
        write_lines(files[name], results[name].translations)
    return results


if __name__ == "__main__":
    sys.exit(main())
