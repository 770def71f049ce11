"""What training reads: sentence pairs as text in, their ids out, with the tokenizer that made them."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt.config import TrainingConfig
from nmt.data.batches import Pairs
from nmt.data.sampling import SampledPairs
from nmt.data.tokenizer import Tokenizer, encode_pairs
from nmt.training.memory import SMALLEST


@dataclass(frozen=True)
class TrainingData:
    """Encoded training and validation pairs, and the validation text for BLEU."""

    tokenizer: Tokenizer
    train: Pairs | SampledPairs
    validation: Pairs
    validation_text: list[tuple[str, str]]

    @classmethod
    def encode(
        cls,
        tokenizer: Tokenizer,
        train: Sequence[tuple[str, str]],
        validation: Sequence[tuple[str, str]],
        config: TrainingConfig,
    ) -> "TrainingData":
        alpha = config.subword_sampling
        if not alpha:
            encoded: Pairs | SampledPairs = encode_pairs(tokenizer, train)
        else:
            # What batches have room for at least: with auto it is found only after the text is read.
            room = SMALLEST if config.batch_tokens == "auto" else config.batch_tokens
            encoded = SampledPairs(tokenizer, train, alpha, longest=room - 1)
        return cls(tokenizer, encoded, encode_pairs(tokenizer, validation), list(validation))

    def of_epoch(self, seed: int, epoch: int) -> Pairs:
        """The training pairs of an epoch: always the same, or segmented anew."""
        return self.train if isinstance(self.train, Pairs) else self.train.draw(seed, epoch)
