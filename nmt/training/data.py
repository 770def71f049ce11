"""The data of training: sentence pairs as text in, ids of pieces out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch

from nmt.config import Config
from nmt.data.batches import Pairs, Sequences
from nmt.data.cleaning import Pair
from nmt.data.tokenizer import Tokenizer, encode_pairs
from nmt.text.sentences import split_sentences
from nmt.text.words import Words
from nmt.training.objectives import Objective, make_objective, validation_objective
from nmt.translation.model_folder import Facts

# Number of sentences that is usual in a training source: a sample of at most so many; this fraction has it, or more.
MEASURED_SOURCES, USUAL_SHARE = 20_000, 1 / 100
WORDS_SOURCES = 500_000  # at most so many sources are read for their words


@dataclass(frozen=True)
class TrainingData:
    """Encoded training and validation pairs, and the validation text, for BLEU."""

    tokenizer: Tokenizer
    train: Pairs
    validation: Pairs
    validation_text: list[Pair]
    facts: Facts
    """What the sources of `train` tell a translator."""
    objective: Objective = field(default_factory=Objective)
    """Makes batches of `train`."""
    validated: Objective = field(default_factory=Objective)
    """Makes batches of `validation`."""

    @classmethod
    def encode(cls, tokenizer: Tokenizer, train: Sequence[Pair], validation: list[Pair]) -> "TrainingData":
        encoded = encode_pairs(tokenizer, train)
        facts = source_facts(tokenizer, encoded.source)
        tokenizer = tokenizer.with_words(learn_words(tokenizer, train))
        return cls(tokenizer, encoded, encode_pairs(tokenizer, validation), validation, facts)

    def as_read(self, config: Config) -> "TrainingData":
        """The data as a model reads them that learns `training.objective`."""
        learned, validated = (make(config, self.tokenizer) for make in (make_objective, validation_objective))
        train, validation = learned.pairs(self.train), validated.pairs(self.validation)
        return replace(self, train=train, validation=validation, objective=learned, validated=validated)


def learn_words(tokenizer: Tokenizer, train: Sequence[Pair]) -> Words | None:
    """The words of a sample of the sources; None without sources, or if they are read by another library's rules."""
    step = math.ceil(len(train) / WORDS_SOURCES)
    has_sources = bool(train and train[0][0]) and not tokenizer.mapped
    chosen = train[::step] if has_sources else []
    texts = (tokenizer.readable(source) for source, _ in chosen), (target for _, target in chosen)
    return Words.learn(*texts) if has_sources else None


def source_facts(tokenizer: Tokenizer, source: Sequences) -> Facts:
    """How long the training sources are, in pieces and sentences; the defaults if there are no sources."""
    if not source.lengths_N.max():
        return Facts()
    chosen = torch.linspace(0, len(source) - 1, min(len(source), MEASURED_SOURCES)).long()
    counts = sorted(len(split_sentences(text)) for text in tokenizer.decode_source(source.rows(chosen)))
    usual = counts[-math.ceil(len(counts) * USUAL_SHARE)]
    return Facts(longest_source=int(source.lengths_N.max()), usual_sentences=usual)
