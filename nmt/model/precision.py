"""A model for translating alone, in fewer bits: bfloat16, or 8-bit weights where the CPU has no bf16 instructions.

Shapes: X any leading sizes, I inputs and O outputs of a linear layer.
"""

import copy
import warnings

import torch
from torch import Tensor, nn

from nmt.config import DecodingPrecision
from nmt.model.device import choose_precision
from nmt.model.encoder_decoder import Transformer

# Products of fewer multiplications than this are the faster in float32: quantising their input takes longer.
SMALL = 300_000


class Int8Linear(nn.Module):
    """A linear layer whose weights are 8-bit integers with a scale for each output, and its input one for each call.

    The product is one of integers (Jacob et al. 2018, section 2.2). A CPU without VNNI adds two products in 16 bits:
    there weights have 7 bits, so that no sum overflows. (Inputs of 7 bits would do too, but err twice as much: 0.0011
    nats of Kullback–Leibler divergence from float32 against 0.0005, on a model of Multi30k.)
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.linear, self.in_features, self.out_features = linear, linear.in_features, linear.out_features
        weight_OI = linear.weight.detach().float()
        largest = 127 if torch.cpu.get_capabilities().get("avx512_vnni", False) else 63
        scales_O = weight_OI.abs().amax(1).clamp(min=1e-8) / largest
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch moves this call elsewhere in its next release
            zeros_O = torch.zeros_like(scales_O, dtype=torch.int64)
            quantised = torch.quantize_per_channel(weight_OI, scales_O, zeros_O, 0, torch.qint8)
        self.packed = torch.ops.quantized.linear_prepack(quantised, linear.bias)

    def forward(self, x_XI: Tensor) -> Tensor:
        if x_XI.numel() * self.out_features < SMALL:
            return self.linear(x_XI)
        return torch.ops.quantized.linear_dynamic(x_XI, self.packed)


def some_outputs(layer: nn.Module, outputs: Tensor) -> nn.Module:
    """The layer with these of its outputs (int64) only."""
    quantised = isinstance(layer, Int8Linear)
    linear = layer.linear if isinstance(layer, Int8Linear) else layer
    assert isinstance(linear, nn.Linear)
    some = nn.Linear(linear.in_features, outputs.size(0), bias=linear.bias is not None, device="meta")
    some.weight = nn.Parameter(linear.weight.detach()[outputs])
    if linear.bias is not None:
        some.bias = nn.Parameter(linear.bias.detach()[outputs])
    return Int8Linear(some) if quantised else some


def with_precision(model: Transformer, name: DecodingPrecision) -> tuple[Transformer, DecodingPrecision]:
    """The model to translate with, and its precision: fp32, bf16 or int8; auto: the fastest that the device has.

    Raises:
        ValueError: the device has no int8.
    """
    device = model.tgt_embedding.weight.device
    if name == "auto":
        has_bf16 = choose_precision("auto", device) == "bf16"
        name = "bf16" if has_bf16 else "int8" if device.type == "cpu" and int8_is_there() else "fp32"
    if name == "bf16":
        return copy.deepcopy(model).bfloat16(), name
    if name == "int8":
        if device.type != "cpu" or not int8_is_there():
            raise ValueError(f"precision int8 is not there on {device}: take auto, fp32 or bf16")
        return to_int8(model), name
    return model, name


def int8_is_there() -> bool:
    return "fbgemm" in torch.backends.quantized.supported_engines


def to_int8(model: Transformer) -> Transformer:
    """A copy whose linear layers multiply 8-bit integers. Embeddings, norms and attention stay as they are."""
    quantised = copy.deepcopy(model)
    for module in list(quantised.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, Int8Linear(child))
    return quantised
