"""From settings to a model, of whichever family they name."""

from nmt.config import ModelConfig
from nmt.model.contract import Model
from nmt.model.encoder_decoder import EncoderDecoder


def build_model(config: ModelConfig, src_vocab_size: int, tgt_vocab_size: int) -> Model:
    """A new model with random weights, for vocabularies of these sizes."""
    return EncoderDecoder(config, src_vocab_size, tgt_vocab_size)
