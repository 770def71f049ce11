"""From settings to a model, of whichever family they name."""

from nmt.config import ModelConfig
from nmt.model.contract import GenerativeModel, Model
from nmt.model.decoder_only import DecoderOnly
from nmt.model.encoder_decoder import EncoderDecoder, EncoderOnly


def build_model(config: ModelConfig, src_vocab_size: int, tgt_vocab_size: int) -> Model:
    """A new model with random weights, for vocabularies of these sizes (equal if the family has one embedding)."""
    if config.family == "encoder-decoder":
        return EncoderDecoder(config, src_vocab_size, tgt_vocab_size)
    assert src_vocab_size == tgt_vocab_size, "the settings require a joint vocabulary"
    return (DecoderOnly if config.family == "decoder-only" else EncoderOnly)(config, tgt_vocab_size)


def build_generative_model(config: ModelConfig, src_vocab_size: int, tgt_vocab_size: int) -> GenerativeModel:
    """As `build_model`, for a family that writes."""
    model = build_model(config, src_vocab_size, tgt_vocab_size)
    assert isinstance(model, GenerativeModel)
    return model
