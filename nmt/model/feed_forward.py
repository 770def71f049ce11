"""The feed-forward layer of a block.

Shapes: B batch, T length, M model width, F feed-forward width, R rows of a cache.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nmt.config import ModelConfig
from nmt.model.dropout import Dropout
from nmt.model.linear import Linear, apply

GATED = ("swiglu", "geglu")  # Shazeer 2020


def relu2(x: Tensor) -> Tensor:
    """Squared ReLU (So et al. 2021)."""
    return torch.relu(x).square()


ACTIVATIONS = {"relu": torch.relu, "gelu": F.gelu, "silu": F.silu, "relu2": relu2, "swiglu": F.silu, "geglu": F.gelu}


def activate(x_BTF: Tensor, activation: str) -> Tensor:
    """The activation function f of a feed-forward layer, or f(gate) × up, which has half the width."""
    function = ACTIVATIONS[activation]
    if activation in GATED:
        gate, up = x_BTF.chunk(2, dim=-1)
        return function(gate) * up
    return function(x_BTF)


class FeedForward(nn.Module):
    """Two linear layers with an activation f between: down(f(up(x))); or a gated one: down(f(gate(x)) × up(x))."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.activation = config.activation
        inner = config.d_ff * (2 if self.activation in GATED else 1)
        self.up = Linear(config.d_model, inner, bias=config.bias)
        self.down = Linear(config.d_ff, config.d_model, bias=config.bias)
        self.dropout = Dropout(config.activation_dropout)

    def forward(self, x_BTM: Tensor) -> Tensor:
        return self.down(self.dropout(activate(self.up(x_BTM), self.activation)))

    def step(self, x_RM: Tensor) -> Tensor:
        modules = self._modules
        return apply(modules["down"], activate(apply(modules["up"], x_RM), self.activation))
