"""From settings to a model, of whichever family they name; and from a trained model to one for use."""

import copy
from typing import TypeVar

from nmt.config import DecodingPrecision, ModelConfig
from nmt.model.contract import Model
from nmt.model.decoder_only import DecoderOnly
from nmt.model.device import choose_precision
from nmt.model.encoder_decoder import EncoderDecoder, EncoderOnly

AnyModel = TypeVar("AnyModel", bound=Model)


def build_model(config: ModelConfig, src_vocab_size: int, tgt_vocab_size: int) -> Model:
    """A new model with random weights, for vocabularies of these sizes (equal if the family has one embedding)."""
    if config.family == "encoder-decoder":
        return EncoderDecoder(config, src_vocab_size, tgt_vocab_size)
    assert src_vocab_size == tgt_vocab_size, "the settings require a joint vocabulary"
    return (DecoderOnly if config.family == "decoder-only" else EncoderOnly)(config, tgt_vocab_size)


def with_precision(model: AnyModel, name: DecodingPrecision) -> tuple[AnyModel, DecodingPrecision]:
    """The model to use, and its precision: fp32 (the given model), bf16 (a copy), or auto, the faster of both on the
    model's device. int8, in which only CTranslate2 computes, is auto here."""
    if choose_precision("auto" if name == "int8" else name, model.device) == "bf16":
        return copy.deepcopy(model).bfloat16(), "bf16"
    return model, "fp32"
