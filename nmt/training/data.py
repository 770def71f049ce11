"""The data of training: sentence pairs as text in, ids of pieces out."""

from dataclasses import dataclass

from nmt.data.batches import Pairs
from nmt.data.cleaning import Pair
from nmt.data.tokenizer import Tokenizer, encode_pairs


@dataclass(frozen=True)
class TrainingData:
    """Encoded training and validation pairs, and the validation text, for BLEU."""

    tokenizer: Tokenizer
    train: Pairs
    validation: Pairs
    validation_text: list[Pair]

    @classmethod
    def encode(cls, tokenizer: Tokenizer, train: list[Pair], validation: list[Pair]) -> "TrainingData":
        return cls(tokenizer, encode_pairs(tokenizer, train), encode_pairs(tokenizer, validation), validation)
