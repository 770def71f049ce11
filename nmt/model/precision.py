"""A model for use, not training, in fewer bits: bfloat16, or 8-bit weights where the CPU has no bf16 instructions."""

import copy
from collections.abc import Mapping
from itertools import chain
from typing import Generic, TypeVar

import torch
from torch import nn

from nmt.config import DecodingPrecision
from nmt.fields import require
from nmt.model.contract import Model
from nmt.model.device import choose_precision
from nmt.model.latent import LatentAttention
from nmt.model.layers import Linear
from nmt.model.linear import Int8Linear, Watched

AnyModel = TypeVar("AnyModel", bound=Model)


def with_precision(
    model: AnyModel, name: DecodingPrecision, input_ranges: Mapping[str, float] | None = None
) -> tuple[AnyModel, DecodingPrecision]:
    """The model to use, and its precision: fp32, bf16 or int8 (ValueError if the device can't compute in
    it); auto: the fastest on the model's device. In int8, only linear layers change; all else is shared with the given
    model. `input_ranges`: as those of `InputRanges`."""
    int8 = model.device.type == "cpu" and has_int8()
    if name == "auto":
        name = "bf16" if choose_precision("auto", model.device) == "bf16" else "int8" if int8 else "fp32"
    require(int8 or name != "int8", f"precision int8 is not available on {model.device}: take auto, fp32 or bf16")
    if name == "fp32":
        return model, name
    if name == "bf16":
        return copy.deepcopy(model).bfloat16(), name
    shared: dict[int, object] = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    keep = {id(module.kv) for module in model.modules() if isinstance(module, LatentAttention)}
    for path, layer in model.named_modules():
        if isinstance(layer, nn.Linear):
            shared[id(layer)] = Int8Linear.of(layer, (input_ranges or {}).get(path, 0.0), keep=id(layer) in keep)
    return copy.deepcopy(model, shared), name


class InputRanges(Generic[AnyModel]):
    """A copy of a model that remembers the largest inputs of its linear layers, for int8."""

    def __init__(self, model: AnyModel) -> None:
        self.model = copy.deepcopy(model)
        for module in list(self.model.modules()):
            if type(module) is Linear:
                module.__class__ = Watched

    def largest(self) -> dict[str, float]:
        """For each linear layer that was used, by its name."""
        found = {name: module.largest for name, module in self.model.named_modules() if isinstance(module, Watched)}
        return {name: round(float(value), 4) for name, value in found.items() if value is not None}


def has_int8() -> bool:
    return "fbgemm" in torch.backends.quantized.supported_engines
