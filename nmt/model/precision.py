"""A model for use, not training, in fewer bits: bfloat16, or 8-bit weights where the CPU has no bf16 instructions."""

import copy
from typing import TypeVar

import torch
from torch import nn

from nmt.config import DecodingPrecision
from nmt.fields import require
from nmt.model.contract import Model
from nmt.model.device import choose_precision
from nmt.model.linear import Int8Linear

AnyModel = TypeVar("AnyModel", bound=Model)


def with_precision(model: AnyModel, name: DecodingPrecision) -> tuple[AnyModel, DecodingPrecision]:
    """The model to use, and its precision: fp32, bf16 or int8 (ValueError if the device can't compute in
    it); auto: the fastest on the model's device. In int8, only linear layers change."""
    int8 = model.device.type == "cpu" and has_int8()
    if name == "auto":
        name = "bf16" if choose_precision("auto", model.device) == "bf16" else "int8" if int8 else "fp32"
    require(int8 or name != "int8", f"precision int8 is not available on {model.device}: take auto, fp32 or bf16")
    if name == "fp32":
        return model, name
    smaller = copy.deepcopy(model)
    if name == "bf16":
        return smaller.bfloat16(), name
    for module in list(smaller.modules()):
        for child_name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, child_name, Int8Linear(child))
    return smaller, name


def has_int8() -> bool:
    return "fbgemm" in torch.backends.quantized.supported_engines
