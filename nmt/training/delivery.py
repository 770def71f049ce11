"""A run's end: chosen weights flow in; a model folder flows out, with what translating has to know of the corpus."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from nmt import __version__
from nmt.config import Config, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.shortlist import learn_shortlist
from nmt.model.encoder_decoder import Transformer
from nmt.model.weights import set_weights
from nmt.training.data import TrainingData
from nmt.translation.model_folder import ModelInfo, save_model
from nmt.translation.translator import Translator

# Validation sentences that are translated to learn how confident translations are, at most; and which share of them may
# be less confident than what is still called sure.
CONFIDENCE_SENTENCES, UNSURE_SHARE = 1000, 1 / 200


def deliver(
    folder: Path, weights: Mapping[str, Tensor], data: TrainingData, config: Config, corpus: str, device: torch.device
) -> None:
    """Write the model folder.

    Args:
        corpus: the name of what the weights were trained on.
        device: where to translate meanwhile.
    """
    tokenizer = data.tokenizer
    pairs = data.of_epoch(seed=0, epoch=0)
    model = Transformer(config.model, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
    set_weights(model, weights, folder)
    decoding = replace(config.decoding, split_above=min(int(pairs.source.lengths_N.max()), config.decoding.split_above))
    sources = [source for source, _ in data.validation_text[:CONFIDENCE_SENTENCES]]
    confidence = least_confidence(model.to(device), tokenizer, decoding, sources)
    info = ModelInfo(
        config.data.source, config.data.target, corpus, config.model, replace(decoding, least_confidence=confidence)
    )
    shortlist = learn_shortlist(pairs, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
    parameters = sum(p.numel() for p in model.parameters())
    save_model(folder, weights, tokenizer, info, card(info, parameters, len(pairs.source)), shortlist)


def card(info: ModelInfo, parameters: int, pairs: int) -> str:
    """The model folder's README."""
    return (
        f"# {info.source} → {info.target}, trained on {info.corpus}\n\n"
        f"A Transformer of {parameters:,} parameters, trained by nmt {__version__} on {pairs:,} sentence pairs of "
        f"{info.corpus}. It translates single sentences of text like that.\n\n"
        f"    python -m nmt.translate --model FOLDER < input.{info.source}\n\n"
        f"It knows only what its corpus holds: check its terms before you share it or rely on it.\n"
    )


def least_confidence(model: Transformer, tokenizer: Tokenizer, decoding: SearchConfig, sources: Sequence[str]) -> float:
    """What the confidence of UNSURE_SHARE of the translations is below."""
    plain = replace(decoding, guard=False, samples=0, shortlist=0, mbr="none", n_best=1)
    found = Translator(model, tokenizer, plain).translate_n_best(sources)
    confidences = sorted(best.confidence for best, *_ in found)
    lowest = confidences[int(len(confidences) * UNSURE_SHARE)]
    return math.floor(lowest * 9999) / 10_000  # below 1 even if all are sure
