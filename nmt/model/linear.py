"""Linear layers: with an adapter beside them, and with their bias as a column more.

Shapes: X any leading sizes, I inputs and O outputs of a linear layer; R rank; N positions, M model width.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.functional import linear

from nmt.model.layers import Linear, apply

ALIGNED, NEEDS_ALIGNED = 8, ("cuda",)


def with_bias(states_NM: Tensor, output: nn.Linear) -> tuple[Tensor, Tensor]:
    """States and a matrix whose product is the output: with a bias, each has one column more, of ones and the bias.

    On a GPU, zeros fill the number of columns up to a multiple of 8: it multiplies such matrices nearly three times as
    fast as others (H200, bf16, width 513 and 27,756 pieces)."""
    if output.bias is None:
        return states_NM, output.weight
    zeros = -(states_NM.size(1) + 1) % ALIGNED if states_NM.device.type in NEEDS_ALIGNED else 0
    states_NM = F.pad(F.pad(states_NM, (0, 1), value=1.0), (0, zeros))
    return states_NM, F.pad(torch.cat([output.weight, output.bias[:, None]], dim=1), (0, zeros))


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
        base = whole(self.layer)
        layer = Linear(self.in_features, self.out_features, bias=base.bias is not None, device="meta")
        layer.weight = nn.Parameter(base.weight.detach() + self.B @ self.A, requires_grad=False)
        if base.bias is not None:
            layer.bias = nn.Parameter(base.bias.detach(), requires_grad=False)
        return layer


def whole(layer: nn.Module) -> nn.Linear:
    """A linear layer, or an `AdaptedLinear` as a single layer."""
    single = layer.merged() if isinstance(layer, AdaptedLinear) else layer
    assert isinstance(single, nn.Linear)
    return single
