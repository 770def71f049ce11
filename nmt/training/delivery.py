"""The end of training: the chosen weights flow in; a model folder flows out, with shortlist and `Facts`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from nmt import __version__
from nmt.config import Config
from nmt.decode.shortlist import learn_shortlist
from nmt.model.build import build_generative_model
from nmt.model.weights import set_weights
from nmt.training.data import TrainingData
from nmt.translation.model_folder import Facts, ModelInfo, save_model
from nmt.translation.translator import Translator

# Threshold of confidence: at most so many validation sentences are translated; this fraction of them is below it.
CONFIDENCE_SENTENCES, UNSURE_SHARE = 1000, 1 / 200


def write_model(
    folder: Path, weights: Mapping[str, Tensor], data: TrainingData, config: Config, corpus: str, device: torch.device
) -> None:
    """Write the model folder. `corpus`: its name; `device`: for translating the sentences of `least_confidence`."""
    tokenizer, pairs = data.tokenizer, data.train
    model = build_generative_model(config.model, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
    set_weights(model, weights, folder)
    facts = Facts(longest_source=int(pairs.source.lengths_N.max()))
    plain = replace(config.search, guard=False, samples=0, shortlist=0, mbr="none", n_best=1)
    translator = Translator(model.to(device), tokenizer, plain, facts=facts)
    sources = [source for source, _ in data.validation_text[:CONFIDENCE_SENTENCES]]
    facts = replace(facts, least_confidence=least_confidence(translator, sources))
    info = ModelInfo(config.data.source, config.data.target, corpus, config.model, config.search, facts)
    shortlist = learn_shortlist(pairs, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
    parameters = sum(p.numel() for p in model.parameters())
    save_model(folder, weights, tokenizer, info, card(info, parameters, len(pairs.source)), shortlist)


def card(info: ModelInfo, parameters: int, pairs: int) -> str:
    """The model folder's README."""
    return (
        f"# {info.source} → {info.target}, trained on {info.corpus}\n\n"
        f"A Transformer of {parameters:,} parameters, trained by nmt {__version__} on {pairs:,} sentence pairs of "
        f"{info.corpus}. It translates single sentences of similar text.\n\n"
        f"    python -m nmt.translate --model FOLDER < input.{info.source}\n\n"
        f"It was trained on that corpus only: check the terms of the corpus before you share the model.\n"
    )


def least_confidence(translator: Translator, sources: Sequence[str]) -> float:
    """The confidence that a fraction UNSURE_SHARE of the translations is below, rounded down to 4 digits."""
    confidences = sorted(best.confidence for best, *_ in translator.translate_n_best(sources))
    lowest = confidences[int(len(confidences) * UNSURE_SHARE)]
    return math.floor(lowest * 9999) / 10_000  # below 1 even if all are sure
