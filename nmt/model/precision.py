"""A model for use, not training, in bfloat16 where the device has instructions for it."""

import copy
from typing import TypeVar

from nmt.config import DecodingPrecision
from nmt.model.contract import Model
from nmt.model.device import choose_precision

AnyModel = TypeVar("AnyModel", bound=Model)


def with_precision(model: AnyModel, name: DecodingPrecision) -> tuple[AnyModel, DecodingPrecision]:
    """The model to use, and its precision: fp32 (the given model), bf16 (a copy), or auto, the faster of both on the
    model's device. int8, in which only CTranslate2 computes, is auto here."""
    if choose_precision("auto" if name == "int8" else name, model.device) == "bf16":
        return copy.deepcopy(model).bfloat16(), "bf16"
    return model, "fp32"
