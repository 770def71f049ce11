"""The end of training: the chosen weights flow in; a model folder flows out, a translator's with facts and more."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from nmt.config import Config, DataConfig, ObjectiveName
from nmt.data.copies.lexicon import MOST_PAIRS
from nmt.decode.shortlist import learn_shortlist
from nmt.model.build import build_model
from nmt.model.contract import GenerativeModel, Model
from nmt.model.lora import add_adapters, merge_adapters
from nmt.model.precision import InputRanges
from nmt.model.weights import set_weights
from nmt.reading.request import Translation
from nmt.training.data import TrainingData
from nmt.training.validation import plain
from nmt.translation.adapter import save_adapter
from nmt.translation.model_folder import Facts, ModelInfo, licence_sentence, read_info, require_model, save_model
from nmt.translation.translator import Translator
from nmt.version import __version__

# Thresholds of flags: at most so many validation sentences are translated; this fraction of them is below.
CONFIDENCE_SENTENCES, UNSURE_SHARE = 1000, 1 / 200
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
    if config.training.start_from:
        base, _ = read_info(require_model(Path(config.training.start_from)) / "config.json")
        info = replace(info, origin=base.origin, licence=base.licence)
    vocabularies = tokenizer.src_vocab_size, tokenizer.tgt_vocab_size
    shortlist = learn_shortlist(data.train.first(MOST_PAIRS), *vocabularies) if translates else None
    parameters = sum(p.numel() for p in model.parameters())
    about = card(info, config.data, parameters, len(data.train), data.commits)
    save_model(folder, weights, tokenizer, info, about, shortlist)


def measure_facts(model: Model, data: TrainingData, config: Config) -> Facts:
    """The facts of a translator."""
    assert isinstance(model, GenerativeModel)
    ranges = InputRanges(model)
    sources, best = list[str](), list[Translation]()
    for tokenizer, rows in data.told:
        translator = Translator(ranges.model, tokenizer, plain(config.search), facts=data.facts)
        chosen = [data.validation_text[n][0] for n in rows[: CONFIDENCE_SENTENCES // len(data.told)]]
        sources += chosen
        best += [translations[0] for translations in translator.translate_n_best(chosen)]
    confidence = lowest([translation.confidence for translation in best])
    pairs = zip(sources, best, strict=True)
    spelling = lowest([min(data.tokenizer.spelling(source, t.text), MOST_SPELLING) for source, t in pairs])
    largest = ranges.largest()
    return replace(data.facts, least_confidence=confidence, least_spelling=spelling, input_ranges=largest)


def card(info: ModelInfo, data: DataConfig, parameters: int, pairs: int, commits: Mapping[str, str]) -> str:
    """The model folder's README. `commits`: of the data sets that were read from the hub."""
    title, use = CARDS[info.objective]
    if data.many_to_many:
        title, use = MANY_TO_MANY
        title = title.format(languages=", ".join(data.many_to_many), source="{source}", target="{target}")
    notes = [(info.corpus, data.licence), *((entry.shown_name, entry.licence) for entry in data.more)]
    texts = ", ".join(f"{name} ({licence or 'licence not noted'})" for name, licence in notes)
    corpora = f"Text that it was trained on: {texts}.\n\n" if data.more or data.licence else ""
    read = [f"{name} at commit {commit}" for name, commit in commits.items()]
    origins = f"Read from the Hugging Face hub: {', '.join(read)}.\n\n" if read else ""
    base = f"Its training started from {info.origin}. {licence_sentence(info.licence)}\n\n" if info.origin else ""
    return (
        f"# {title.format(source=info.source, target=info.target)}, trained on {info.corpus}\n\n"
        f"A Transformer of {parameters:,} parameters, trained by nmt {__version__} on {pairs:,} "
        f"{'sentence pairs' if info.objective in ('translation', 'pair') else 'sentences'} of {info.corpus}. "
        f"{use.format(source=info.source, target=info.target)}\n\n"
        f"{base}{corpora}{origins}"
        f"It was trained {'further ' if base else ''}on {'these corpora' if data.more else 'that corpus'} only: check "
        f"{'their' if data.more else 'its'} terms before you share the model.\n"
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
