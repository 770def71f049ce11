"""The data of training: sentence pairs as text in, ids of pieces out."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from nmt.config import Config
from nmt.data.batches import Pairs, Sequences
from nmt.data.cleaning import Pair
from nmt.data.facts import FACTS, MEASURED_SOURCES, learn_words, usual_sentences
from nmt.data.prepared import Prepared, read_json
from nmt.data.tokenizer import Tokenizer, encode_pairs, load_words
from nmt.training.objectives import Objective, make_objective, validation_objective
from nmt.translation.model_folder import Facts


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
    corpus_N: Tensor | None = None
    """Number of the corpus of each pair of `train` (int64); None if it isn't known."""

    @classmethod
    def load(cls, prepared: Prepared) -> "TrainingData":
        """The data of a prepared run folder: ids and facts are read, and only the validation text is encoded."""
        if not prepared.store:
            return cls.encode(prepared.tokenizer, prepared.train, prepared.val)
        data = prepared.folder / "data"
        tokenizer = prepared.tokenizer.with_words(load_words(data))
        train, corpus_N = prepared.encoded()
        facts = Facts(**{name: n for name, n in read_json(data / FACTS, prepared.folder).items() if n})
        validation = encode_pairs(tokenizer, prepared.val)
        return cls(tokenizer, train, validation, prepared.val, facts, corpus_N=corpus_N)

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


def source_facts(tokenizer: Tokenizer, source: Sequences) -> Facts:
    """How long the training sources are, in pieces and sentences; the defaults if there are no sources."""
    if not source.lengths_N.max():
        return Facts()
    chosen = torch.linspace(0, len(source) - 1, min(len(source), MEASURED_SOURCES)).long()
    usual = usual_sentences(tokenizer.decode_source(source.rows(chosen)))
    return Facts(longest_source=int(source.lengths_N.max()), usual_sentences=usual)
