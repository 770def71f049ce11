"""Linear layers for use, not training: with 8-bit weights, with an adapter, or with only some of their outputs.

Shapes: X any leading sizes, I inputs and O outputs of a linear layer; N positions, M model width.
"""

import warnings
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.functional import linear

from nmt.model.layers import Linear, apply

# Products of fewer multiplications than this are faster in float32: quantising their input takes longer.
SMALL = 300_000


class Watched(Linear):
    """A linear layer that remembers the largest absolute value of its inputs."""

    largest: Tensor | None = None

    def forward(self, x_XI: Tensor) -> Tensor:
        now = x_XI.detach().abs().amax()
        self.largest = now if self.largest is None else torch.maximum(self.largest, now)
        return super().forward(x_XI)


def with_bias(states_NM: Tensor, output: nn.Linear) -> tuple[Tensor, Tensor]:
    """States and a matrix whose product is the output: with a bias, each has one column more, of ones and the bias."""
    if output.bias is None:
        return states_NM, output.weight
    return F.pad(states_NM, (0, 1), value=1.0), torch.cat([output.weight, output.bias[:, None]], dim=1)


class Int8Linear(nn.Module):
    """A linear layer that multiplies 8-bit integers (Jacob et al. 2018, section 2.2). The weights have a scale for each
    output. The input has a fixed one, if its range is known; then a row doesn't depend on the others, and the weights
    in float32 are not kept. Else it has one for each call, and small products are computed in float32.

    With a model of Multi30k (1.8 million parameters), 18 of 200 lines differed between batches of 1 and 64 with a scale
    for each call, and none with fixed ones, as fast; BLEU on the validation text was 40.41 and 40.34, in float32 40.67.

    A CPU without VNNI adds two products in 16 bits: there the weights have 7 bits, so that no sum overflows. (Inputs of
    7 bits would err twice as much: a divergence from float32 of 0.0011 nats against 0.0005, on a Multi30k model.)
    """

    def __init__(
        self, quantised_OI: Tensor, bias_O: Tensor | None, input_range: float, linear: nn.Linear | None
    ) -> None:
        """`linear`: the layer in float32, if it is kept. See `of`."""
        super().__init__()
        self.input_range, self.linear = input_range, linear
        self.out_features, self.in_features = quantised_OI.shape
        self.packed = torch.ops.quantized.linear_prepack(quantised_OI, bias_O)

    @classmethod
    def of(cls, linear: nn.Linear, input_range: float = 0.0, *, keep: bool = False) -> "Int8Linear":
        """Args:
        input_range: the largest absolute value of usual inputs, larger ones are clipped; 0: unknown.
        keep: whether the layer is kept in float32, although the range is known.
        """
        weight_OI = linear.weight.detach().float()
        largest = 127 if torch.cpu.get_capabilities().get("avx512_vnni", False) else 63
        scales_O = weight_OI.abs().amax(1).clamp(min=1e-8) / largest
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch moves this call elsewhere in its next release
            zeros_O = torch.zeros_like(scales_O, dtype=torch.int64)
            quantised_OI = torch.quantize_per_channel(weight_OI, scales_O, zeros_O, 0, torch.qint8)
        return cls(quantised_OI, linear.bias, input_range, linear if keep or not input_range else None)

    @cached_property
    def unpacked(self) -> tuple[Tensor, Tensor | None]:
        """The weights (O, I) in 8 bits, and the bias."""
        weight_OI, bias_O = torch.ops.quantized.linear_unpack(self.packed)
        return weight_OI, bias_O

    def forward(self, x_XI: Tensor) -> Tensor:
        if self.input_range:
            multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
            return multiply(x_XI, self.input_range / 127, 128, self.packed)  # of 0 to 255, 128 stands for 0
        if self.linear is not None and x_XI.numel() * self.out_features < SMALL:
            return self.linear(x_XI)
        return torch.ops.quantized.linear_dynamic(x_XI, self.packed)


class AdaptedLinear(nn.Module):
    """A linear layer and an adapter of rank R beside it: W x + b + B (A x). Other models may have the same layer."""

    def __init__(self, layer: nn.Module, a_RI: Tensor, b_OR: Tensor) -> None:
        super().__init__()
        self.layer, self.in_features, self.out_features = layer, a_RI.size(1), b_OR.size(0)
        like = layer.weight if isinstance(layer, nn.Linear) else torch.empty(0)
        self.A, self.B = (nn.Parameter(factor.to(like), requires_grad=False) for factor in (a_RI, b_OR))

    def forward(self, x_XI: Tensor) -> Tensor:
        return torch.add(apply(self.layer, x_XI), linear(linear(x_XI, self.A), self.B))

    def merged(self) -> Linear:
        """The same as a single layer, whose weight is computed anew."""
        whole = full_precision(self.layer)
        return of_weights(whole.weight.detach() + self.B @ self.A, None if whole.bias is None else whole.bias.detach())


def full_precision(layer: nn.Module) -> nn.Linear:
    """A linear layer, the one that an `Int8Linear` was made from, or an `AdaptedLinear` as a single layer. If an
    `Int8Linear` keeps none, its weights are rounded."""
    whole = layer.merged() if isinstance(layer, AdaptedLinear) else layer
    if isinstance(whole, Int8Linear):
        weight_OI, bias_O = whole.unpacked
        whole = whole.linear or of_weights(weight_OI.dequantize(), bias_O)
    assert isinstance(whole, nn.Linear)
    return whole


def of_weights(weight_OI: Tensor, bias_O: Tensor | None) -> Linear:
    """A layer with these weights, which are not trained."""
    layer = Linear(weight_OI.size(1), weight_OI.size(0), bias=bias_O is not None, device="meta")
    layer.weight = nn.Parameter(weight_OI, requires_grad=False)
    layer.bias = None if bias_O is None else nn.Parameter(bias_O, requires_grad=False)  # type: ignore[assignment]
    return layer


def restrict(layer: nn.Module, outputs: Tensor) -> nn.Module:
    """A layer that computes only these outputs (int64) of the given layer."""
    if isinstance(layer, Int8Linear) and layer.linear is None:
        weight_OI, bias_O = layer.unpacked
        rows_OI = torch._make_per_channel_quantized_tensor(
            weight_OI.int_repr()[outputs],
            weight_OI.q_per_channel_scales()[outputs],
            weight_OI.q_per_channel_zero_points()[outputs],
            0,
        )
        return Int8Linear(rows_OI, None if bias_O is None else bias_O[outputs], layer.input_range, None)
    whole = full_precision(layer)
    bias_O = None if whole.bias is None else whole.bias.detach()[outputs]
    smaller = of_weights(whole.weight.detach()[outputs], bias_O)
    return Int8Linear.of(smaller, layer.input_range) if isinstance(layer, Int8Linear) else smaller
