"""The end of training: the chosen weights flow in; out flow a model folder, and a report for JSON and for the user.

A translator translates the test sets. Of other models, the losses on the test sets are measured.
"""

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from sacrebleu.metrics.chrf import CHRF
from torch import Tensor

from nmt.config import Config, DataConfig, ObjectiveName
from nmt.data.cleaning.cleaner import Pair
from nmt.data.copies.lexicon import MOST_PAIRS
from nmt.data.tokenizer import Tokenizer, encode_pairs
from nmt.decode.shortlist import learn_shortlist
from nmt.extras import typed
from nmt.files import write_lines
from nmt.messages import say
from nmt.model.build import build_model
from nmt.model.contract import GenerativeModel, Model
from nmt.model.device import choose_numerics
from nmt.model.lora import add_adapters, merge_adapters
from nmt.model.weights import set_weights
from nmt.reading.request import Translation
from nmt.scoring.evaluation import evaluate
from nmt.text.suspicions import width
from nmt.training.data import TrainingData
from nmt.training.distributed import Processes
from nmt.training.loss import Learner
from nmt.training.objectives import make_objective
from nmt.training.validation import measure_losses, plain
from nmt.translation import model_folder
from nmt.translation.adapter import save_adapter
from nmt.translation.model_folder import Facts, ModelInfo, licence_sentence, read_info, require_model
from nmt.translation.translator import Translator
from nmt.version import __version__

# Thresholds of flags: at most so many validation sentences are translated; this fraction of them is below.
CONFIDENCE_SENTENCES, UNSURE_SHARE, MOST_UNSURE = 1000, 1 / 200, 1 / 5
POOR = 40.0  # chrF: translations with less share little with their reference
MUCH_WORSE = 10.0  # chrF below the model's mean: of one that is nearly always right, no translation is below POOR
MOST_SPELLING = 100.0  # letters a piece: no word has so many, and all unknown words are flagged


def write_model(
    folder: Path, weights: Mapping[str, Tensor], data: TrainingData, config: Config, corpus: str, device: torch.device
) -> None:
    """Write the model folder. `corpus`: its name; `device`: for translating validation sentences."""
    tokenizer, objective = data.tokenizer, config.training.objective
    model = build_model(config.model, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
    if config.lora.rank:
        add_adapters(model, config.lora)
    set_weights(model, weights, folder)
    if config.lora.rank:
        save_adapter(folder.with_name("adapter"), model, config.training.start_from)
        merge_adapters(model)
        weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    translates = objective == "translation"
    facts = measure_facts(model.to(device), data, config) if translates else Facts()
    first, last = config.data.directions[0] if translates else (config.data.languages[0], config.data.languages[-1])
    info = ModelInfo(first, last, corpus, config.model, config.search, facts, objective=objective)
    if start := config.training.start_from:
        try:
            base, _ = read_info(require_model(Path(start)) / "config.json")
            info = replace(info, origin=base.origin, licence=base.licence)
            start = base.origin or f"a model that was trained on {base.corpus}"
        except (OSError, ValueError) as error:  # it was moved: what was trained mustn't be lost
            say(f"The model card doesn't have the origin and licence of the model that training started from: {error}")
    vocabularies = tokenizer.src_vocab_size, tokenizer.tgt_vocab_size
    shortlist = learn_shortlist(data.first_pairs(MOST_PAIRS), *vocabularies) if translates else None
    parameters = sum(p.numel() for p in model.parameters())
    about = card(info, config.data, parameters, len(data.train) - data.texts, data.commits, start)
    model_folder.save_model(folder, weights, tokenizer, info, about, shortlist)


def measure_facts(model: Model, data: TrainingData, config: Config) -> Facts:
    assert isinstance(model, GenerativeModel)
    pairs, best = list[Pair](), list[Translation]()
    most = max(1, CONFIDENCE_SENTENCES // len(data.validation_sets))
    n = sum(len(rows[:most]) for _, rows in data.validation_sets)
    say(f"Translating {n:,} validation sentences, to know when a translation is unsure")
    for tokenizer, rows in data.validation_sets:
        translator = Translator(model, tokenizer, plain(config.search), facts=data.facts)
        chosen = [data.validation_text[row] for row in rows[:most]]
        pairs += chosen
        best += [translations[0] for translations in translator.translate_n_best([source for source, _ in chosen])]
    scores = [CHRF().sentence_score(t.text, [target]).score for t, (_, target) in zip(best, pairs, strict=True)]
    if (poor := sum(score < POOR for score in scores)) > n / 2:
        advice = "the model needs more training, or more text"
        say(f"WARNING: {poor:,} of these {n:,} translations are poor (chrF below {POOR:g}): {advice}")
    familiar = (data.tokenizer.familiar(source, t.text) for (source, _), t in zip(pairs, best, strict=True))
    spellings, shares = zip(*familiar, strict=True)
    lengths = [sum(map(width, side)) for side in zip(*pairs, strict=True)]
    return replace(
        data.facts,
        least_confidence=unsure_below([translation.confidence for translation in best], scores),
        least_spelling=lowest([min(spelling, MOST_SPELLING) for spelling in spellings]),
        least_known=lowest(shares),
        length_ratio=max(0.01, round(lengths[1] / lengths[0], 2)) if all(lengths) else 1.0,
    )


def card(
    info: ModelInfo, data: DataConfig, parameters: int, pairs: int, commits: Mapping[str, str], start: str = ""
) -> str:
    """The model folder's README. `commits`: of data sets of the hub; `start`: the model that training started from."""
    title, use = CARDS[info.objective]
    if data.many_to_many:
        title, use = MANY_TO_MANY
        title = title.format(languages=", ".join(data.many_to_many), source="{source}", target="{target}")
    notes = [(info.corpus, data.licence), *((entry.shown_name, entry.licence) for entry in data.more)]
    names = ", ".join(name for name, _ in notes)
    alone = ", ".join(entry.shown_name for entry in data.more if entry.text != "pairs")
    paired = ", ".join([info.corpus, *(entry.shown_name for entry in data.more if entry.text == "pairs")])
    read_alone = f" and sentences of {alone}" if alone else ""
    texts = ", ".join(f"{name} ({licence or 'licence not noted'})" for name, licence in notes)
    corpora = f"Text that it was trained on: {texts}.\n\n" if data.more or data.licence else ""
    read = [f"{name} at commit {commit}" for name, commit in commits.items()]
    origins = f"Read from the Hugging Face hub: {', '.join(read)}.\n\n" if read else ""
    terms = licence_sentence(info.licence) if info.origin else "Its terms hold too: look at the card of that model."
    base = f"Its training started from {start}. {terms}\n\n" if start else ""
    return (
        f"# {title.format(source=info.source, target=info.target)}, trained on {names}\n\n"
        f"A Transformer of {parameters:,} parameters, trained by nmt {__version__} on {pairs:,} "
        f"{'sentence pairs' if info.objective in ('translation', 'pair') else 'sentences'} of "
        f"{paired}{read_alone}. {use.format(source=info.source, target=info.target)}\n\n"
        f"{base}{corpora}{origins}"
        f"It was trained {'further ' if base else ''}on {'these corpora' if data.more else 'that corpus'} only: check "
        f"{'their licences' if data.more else 'its licence'} before you share the model.\n"
    )


MANY_TO_MANY = (
    "Between any two of {languages}",
    "It translates single sentences of similar text, into the language that --to names.\n\n"
    "    python -m nmt.translate --model FOLDER --to {target} < input.{source}",
)
CARDS: dict[ObjectiveName, tuple[str, str]] = {  # title and use of a model, by what it was trained for
    "translation": (
        "{source} → {target}",
        "It translates single sentences of similar text.\n\n"
        "    python -m nmt.translate --model FOLDER < input.{source}",
    ),
    "lm": (
        "Language model",
        "It continues text, and gives the probability of text.\n\n    python -m nmt.generate --model FOLDER",
    ),
    "mlm": (
        "Masked language model",
        "It predicts hidden pieces; other models can start from its encoder (training.start_from).",
    ),
    "denoise": (
        "Denoising encoder–decoder",
        "It restores noised text; a translator can start from it (training.start_from).",
    ),
    "pair": (
        "Pair scorer of {source} and {target}",
        "It tells true pairs of sentences from false ones.\n\n"
        "    python -m nmt.translate --force-decode --scorer FOLDER --format tsv pairs.tsv",
    ),
}


def lowest(values: Sequence[float]) -> float:
    """What a fraction UNSURE_SHARE of the values is below, rounded down to 4 digits."""
    value = sorted(values)[int(len(values) * UNSURE_SHARE)]
    return math.floor(value * 9999) / 10_000  # a confidence is below 1 even if all are sure


def unsure_below(confidences: Sequence[float], scores: Sequence[float]) -> float:
    """The confidence below which at least half of the translations have a chrF (`scores`, 0 to 100) below POOR, or
    MUCH_WORSE below the mean. A share from UNSURE_SHARE to MOST_UNSURE of all is below it."""
    in_order, least = sorted(zip(confidences, scores, strict=True)), max(POOR, fmean(scores) - MUCH_WORSE)
    poor = [*accumulate(score < least for _, score in in_order)]
    most = int(len(poor) * MOST_UNSURE)
    n = max((n for n in range(1, most + 1) if 2 * poor[n - 1] >= n), default=0)
    return max(lowest(confidences), math.floor(in_order[n][0] * 9999) / 10_000 if n else 0.0)


EXAMPLES = 5  # sentences of each test set that are shown at the end
# The recipe of the corpus may have placeholders, which this tokenizer has no pieces for.
START = ("Start from", "train {text} --data.placeholders 0 --training.start_from {model} --tokenizer.folder {model}")
NEXT: dict[ObjectiveName, tuple[str, str]] = {  # the command that uses a model, by what it was trained for
    "translation": ("Translate", "translate --model {model}"),
    "lm": ("Generate", "generate --model {model}"),
    "mlm": START,
    "denoise": START,
    "pair": ("Score pairs", "translate --scorer {model} --force-decode --format tsv FILE"),
}
LOSSES = {  # names in the report, and how the user sees them
    "nll": "nll {:.3f}",
    "perplexity": "perplexity {:.2f}",
    "accuracy": "accuracy {:.1f}%",
    "bits_per_character": "{:.3f} bits per character",
}


def measure_tests(folder: Path, config: Config, tests: dict[str, list[Pair]]) -> dict[str, Any]:
    """The scores of the test sets and of the first one again, and the parameters, of the model in a run folder."""
    say(f"Measuring the model on {sum(map(len, tests.values())):,} test sentences")
    if config.training.objective == "translation":
        translator = Translator.load(folder / "model", config.training.device, precision="fp32")
        model: Model = translator.model
        scores = {name: translate_test(translator, folder, name, pairs) for name, pairs in tests.items()}
    else:
        numerics = choose_numerics(config.training.device, "fp32")
        model, tokenizer, _ = model_folder.load_model(folder / "model", numerics.device)
        learner = Learner(model, config.training, numerics)
        scores = {name: measure_test(learner, tokenizer, config, pairs) for name, pairs in tests.items()}
    first = next(iter(scores.values()))
    main = {name: first[name] for name in first if name not in ("sentences", "examples", "exact_signature")}
    if config.data.many_to_many:  # the mean of all directions
        numbers = [name for name, value in main.items() if isinstance(value, float)]
        main |= {name: round(sum(score[name] for score in scores.values()) / len(scores), 2) for name in numbers}
    return {**main, "tests": scores, "parameters": sum(p.numel() for p in model.parameters())}


def translate_test(translator: Translator, folder: Path, name: str, pairs: list[Pair]) -> dict[str, Any]:
    """Scores and examples of a test set; the translations are written to translations/NAME.TARGET."""
    sources, references = map(list, zip(*pairs, strict=True))
    translator = translator.between(*translator.tokenizer.languages.direction_in(name))
    evaluation = evaluate(translator, sources, references)
    translations = evaluation.translations
    write_lines(folder / "translations" / f"{name}.{translator.language}", translations)
    chosen = sorted({i * len(sources) // EXAMPLES for i in range(EXAMPLES)})
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
    data, model = report["settings"].get("data", {}), shlex.quote(str(folder / "model"))
    text = " ".join(f"--data.{name} {shlex.quote(str(data.get(name)))}" for name in ("corpus", "source", "target"))
    target = f" --to {data['many_to_many'][0]}" if data.get("many_to_many") else ""
    yield f"{label + ':':<11} {typed(command.format(model=model, text=text))}{target}"
