"""The data of training: sentence pairs as text in, ids of pieces out."""

from dataclasses import dataclass, field, replace

from nmt.config import Config
from nmt.data.batches import Pairs
from nmt.data.cleaning import Pair
from nmt.data.tokenizer import Tokenizer, encode_pairs
from nmt.training.objectives import Objective, make_objective, validation_objective


@dataclass(frozen=True)
class TrainingData:
    """Encoded training and validation pairs, and the validation text, for BLEU."""

    tokenizer: Tokenizer
    train: Pairs
    validation: Pairs
    validation_text: list[Pair]
    longest_source: int
    """Pieces of the longest source of `train`; 1 if there are no sources."""
    objective: Objective = field(default_factory=Objective)
    """Makes batches of `train`."""
    validated: Objective = field(default_factory=Objective)
    """Makes batches of `validation`."""

    @classmethod
    def encode(cls, tokenizer: Tokenizer, train: list[Pair], validation: list[Pair]) -> "TrainingData":
        encoded = encode_pairs(tokenizer, train)
        longest = max(1, int(encoded.source.lengths_N.max()))
        return cls(tokenizer, encoded, encode_pairs(tokenizer, validation), validation, longest)

    def as_read(self, config: Config) -> "TrainingData":
        """The data as a model reads them that learns `training.objective`."""
        learned, validated = (make(config, self.tokenizer) for make in (make_objective, validation_objective))
        train, validation = learned.pairs(self.train), validated.pairs(self.validation)
        return replace(self, train=train, validation=validation, objective=learned, validated=validated)
