"""The report of a run: a finished model and test sets flow in; scores and examples flow out, for JSON and for the user.

A translator translates the test sets. Of other models, the losses on the test sets are measured.
"""

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nmt.config import Config, ObjectiveName
from nmt.data.cleaning import Pair
from nmt.data.tokenizer import Tokenizer, encode_pairs
from nmt.files import write_lines
from nmt.model.device import choose_numerics
from nmt.scoring.evaluation import evaluate
from nmt.training.distributed import Processes
from nmt.training.loss import Learner
from nmt.training.objectives import make_objective
from nmt.training.validation import measure_losses
from nmt.translation.model_folder import load_model
from nmt.translation.translator import Translator

EXAMPLES = 5  # sentences of each test set that are shown at the end
START = ("Start from", "nmt.train --training.start_from {model} --tokenizer.folder {model}")
NEXT: dict[ObjectiveName, tuple[str, str]] = {  # the command that uses a model, by what it was trained for
    "translation": ("Translate", "nmt.translate --model {model}"),
    "lm": ("Generate", "nmt.generate --model {model}"),
    "mlm": START,
    "denoise": START,
    "pair": ("Score pairs", "nmt.translate --scorer {model} --force-decode --format tsv FILE"),
}
LOSSES = {  # names in the report, and how the user sees them
    "nll": "nll {:.3f}",
    "perplexity": "perplexity {:.2f}",
    "accuracy": "accuracy {:.1f}%",
    "bits_per_character": "{:.3f} bits per character",
}


def measure_tests(folder: Path, config: Config, tests: dict[str, list[Pair]]) -> dict[str, Any]:
    """The scores of the test sets, those of the first one again, and the number of parameters, of the model in the run
    folder `folder`, loaded in fp32."""
    if config.training.objective == "translation":
        translator = Translator.load(folder / "model", config.training.device, precision="fp32")
        parameters = sum(p.numel() for p in translator.model.parameters())
        scores = {name: translate_test(translator, folder, config, name, pairs) for name, pairs in tests.items()}
    else:
        numerics = choose_numerics(config.training.device, "fp32")
        model, tokenizer, _ = load_model(folder / "model", numerics.device)
        parameters = sum(p.numel() for p in model.parameters())
        learner = Learner(model, config.training, numerics)
        scores = {name: measure_test(learner, tokenizer, config, pairs) for name, pairs in tests.items()}
    first = next(iter(scores.values()))
    main = {name: first[name] for name in first if name not in ("sentences", "examples", "exact_signature")}
    if config.data.many_to_many:  # the mean of all directions
        numbers = [name for name, value in main.items() if isinstance(value, float)]
        main |= {name: round(sum(score[name] for score in scores.values()) / len(scores), 2) for name in numbers}
    return {**main, "tests": scores, "parameters": parameters}


def translate_test(
    translator: Translator, folder: Path, config: Config, name: str, pairs: list[Pair]
) -> dict[str, Any]:
    """Scores and examples of a test set; the translations are written to translations/NAME.TARGET."""
    sources, references = map(list, zip(*pairs, strict=True))
    translator = translator.between(*translator.tokenizer.languages.direction_in(name))
    evaluation = evaluate(translator, sources, references)
    translations = evaluation.translations
    write_lines(folder / "translations" / f"{name}.{translator.language}", translations)
    chosen = [i * len(sources) // EXAMPLES for i in range(min(EXAMPLES, len(sources)))]
    examples = [{"source": sources[i], "translation": translations[i], "reference": references[i]} for i in chosen]
    result: dict[str, Any] = {"sentences": len(sources), "examples": examples}
    for score in evaluation.scores:
        key = score.name.lower()
        result |= {key: round(score.value, 2), f"{key}_signature": score.signature}
    return result


def measure_test(learner: Learner, tokenizer: Tokenizer, config: Config, pairs: list[Pair]) -> dict[str, Any]:
    """The losses on a test set. Bits per character: of a language model, with a character for the end of each text."""
    objective = make_objective(config, tokenizer)
    encoded = objective.pairs(encode_pairs(tokenizer, pairs))
    losses = measure_losses(learner, objective, encoded, Processes())
    if config.training.objective == "lm":
        pieces = int(encoded.target.lengths_N.sum()) + len(pairs)
        characters = sum(len(text) + 1 for _, text in pairs)
        losses["bits_per_character"] = losses["nll"] * pieces / math.log(2) / characters
    return {"sentences": len(pairs), **{name: round(losses[name], 4) for name in LOSSES if name in losses}}


def describe(report: dict[str, Any], folder: Path) -> Iterator[str]:
    """Lines for the user: examples, scores, and how to use the model in the run folder `folder`."""
    for name, test in report["tests"].items():
        for example in test.get("examples", ()):
            yield ""
            for key, label in (("source", "source"), ("translation", "nmt"), ("reference", "reference")):
                yield f"{label:>10}  {example[key]}"
        exact = f", exact match {test['exact']:.1f}%" if "exact" in test else ""  # a report of nmt 0.2.0 has none
        losses = ", ".join(text.format(test[key]) for key, text in LOSSES.items() if key in test)
        scores = f"BLEU {test['bleu']:.2f}, chrF {test['chrf']:.2f}{exact}" if "bleu" in test else losses
        yield f"\n{name}: {scores} on {test['sentences']:,} sentences of {report['corpus']}"
        yield from (f"  {test[key]}" for key in ("bleu_signature", "chrf_signature") if key in test)
    validation = report.get("validation", {})  # an older report has none
    for label in (tag.removeprefix("nll/") for tag in validation if tag.startswith("nll/")):
        bleu = f"BLEU {validation[f'bleu/{label}']:.2f} (greedy search), " if f"bleu/{label}" in validation else ""
        yield f"validation on {label}: {bleu}nll {validation[f'nll/{label}']:.3f}"
    seconds = ", ".join(f"{stage} {seconds:,.0f} s" for stage, seconds in report["seconds"].items())
    yield f"\n{seconds}; report: {folder / 'report.json'}\n"
    # A report of nmt 0.2.0 has no objective.
    label, command = NEXT[report["settings"]["training"].get("objective", "translation")]
    several = report["settings"].get("data", {}).get("many_to_many")
    target = f" --to {several[0]}" if several else ""
    yield f"{label + ':':<12}{sys.executable} -m {command.format(model=folder / 'model')}{target}"
