"""The layers that blocks are made of: linear layers, norms, dropout, and the feed-forward layer.

All compute in the type of their input: in training, this may be bfloat16 with weights in float32.

Shapes: X any leading sizes, I inputs and O outputs of a linear layer; B batch, T length, M model width, F feed-forward
width, R rows of a cache, N positions.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.functional import linear

from nmt.config import ModelConfig

GATED = ("swiglu", "geglu")  # Shazeer 2020
ALIGNED, NEEDS_ALIGNED = 8, ("cuda",)  # numbers of columns, see `with_bias`
GRAIN = 128  # products that need code for each shape have a multiple of so many rows
TOLERANCE = 0.02  # for bfloat16: how far, as a share of p, the probability may be from p


def needs_code(x: Tensor) -> bool:
    """Whether products of this tensor need code of their own for each shape: in bfloat16 on a CPU. With one thread of a
    Xeon, to make the code for 1,900 × 128 × 256 takes 2 ms, the product 0.15 ms, and each batch has another shape."""
    return x.dtype == torch.bfloat16 and x.device.type == "cpu" and not torch.compiler.is_compiling()


def filled(x_NI: Tensor) -> Tensor:
    """The rows, and zeros up to a multiple of GRAIN if products need code for each shape: so there are few shapes."""
    more = -len(x_NI) % GRAIN if needs_code(x_NI) else 0
    return F.pad(x_NI, (0, 0, 0, more)) if more else x_NI


class Linear(nn.Linear):
    """A linear layer that computes in the type of its input."""

    parts: tuple[int, ...] = ()
    """The rows of each of the matrices that lie one above another in the weight; empty: it is one matrix."""

    def forward(self, x_XI: Tensor) -> Tensor:
        weight, bias = self.weight.to(x_XI.dtype), None if self.bias is None else self.bias.to(x_XI.dtype)
        if not needs_code(x_XI):
            return linear(x_XI, weight, bias)
        x_NI = x_XI.flatten(0, -2)
        return linear(filled(x_NI), weight, bias)[: len(x_NI)].view(*x_XI.shape[:-1], len(weight))


def with_bias(states_NI: Tensor, output: nn.Linear) -> tuple[Tensor, Tensor]:
    """States and a matrix whose product is the output: with a bias, each has one column more, of ones and the bias.

    On a GPU, zeros fill the number of columns up to a multiple of 8: it multiplies such matrices nearly three times as
    fast as others (H200, bf16, width 513 and 27,756 pieces)."""
    if output.bias is None:
        return states_NI, output.weight
    zeros = -(states_NI.size(1) + 1) % ALIGNED if states_NI.device.type in NEEDS_ALIGNED else 0
    states_NI = F.pad(F.pad(states_NI, (0, 1), value=1.0), (0, zeros))
    return states_NI, F.pad(torch.cat([output.weight, output.bias[:, None]], dim=1), (0, zeros))


class LayerNorm(nn.LayerNorm):
    """LayerNorm (Ba et al. 2016) in the type of its input, as `Linear`. Inside, PyTorch computes in float32."""

    def forward(self, x: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.layer_norm(x, self.normalized_shape, self.weight.to(x.dtype), bias, self.eps)


class RMSNorm(nn.RMSNorm):
    """RMSNorm (Zhang and Sennrich 2019) in the type of its input."""

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.eps)


def make_norm(config: ModelConfig) -> nn.Module:
    width, eps = config.d_model, config.epsilon
    return RMSNorm(width, eps) if config.norm == "rms" else LayerNorm(width, eps, bias=config.bias)


def make_last_norm(config: ModelConfig) -> nn.Module:
    """The norm after a stack of blocks: the output of pre-norm blocks is not normalised."""
    return make_norm(config) if config.norm_position == "pre" else nn.Identity()


def apply(layer: Any, x: Tensor) -> Tensor:
    """`layer(x)` without `nn.Module.__call__` and `__getattr__`, which take longer than the arithmetic of one row."""
    parameters: dict[str, Any] = layer._parameters
    if type(layer) is Linear:
        return linear(x, parameters["weight"], parameters["bias"])
    if type(layer) is LayerNorm:
        return torch.layer_norm(x, layer.normalized_shape, parameters["weight"], parameters["bias"], layer.eps)
    return layer.forward(x)


def dropout(x: Tensor, p: float) -> Tensor:
    """Zero each element with probability p (to the nearest 1/65,536; in bfloat16 1/256, if that is near enough) and
    scale the others by 1 / (1 − p) (Srivastava et al. 2014).

    PyTorch's CPU `bernoulli_` samples one number at a time and takes a quarter of a training step of a small
    Transformer. Here a 64-bit random word masks four elements: about eight times faster. In bfloat16 it masks eight,
    which saves another third (4.2 million elements with one thread of an AMD EPYC: 3.9 ms instead of 5.6).
    """
    if p == 0.0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, p)
    few = x.dtype == torch.bfloat16 and abs(round(p * 256) / 256 - p) < TOLERANCE * p
    levels, word, per_word = (1 << 8, torch.int8, 8) if few else (1 << 16, torch.int16, 4)
    dropped = min(round(p * levels), levels - 1)
    words = torch.empty(-(-x.numel() // per_word), dtype=torch.int64).random_(-(2**63), None)
    bits = words.view(word)[: x.numel()].view(x.shape)
    # The comparison writes numbers: through a bool tensor it takes three times as long.
    kept = torch.ge(bits, dropped - levels // 2, out=torch.empty(x.shape, dtype=x.dtype))
    return x * kept.mul_(levels / (levels - dropped))


class Dropout(nn.Module):
    """`dropout` in training mode; the identity in evaluation mode."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training else x


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "relu2": lambda x: torch.relu(x).square(),  # So et al. 2021
    "swiglu": F.silu,
    "geglu": F.gelu,
}


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
        self.up.parts = (config.d_ff,) * 2 if self.activation in GATED else ()
        self.down = Linear(config.d_ff, config.d_model, bias=config.bias)
        self.dropout = Dropout(config.activation_dropout)

    def forward(self, x_BTM: Tensor) -> Tensor:
        return self.down(self.dropout(activate(self.up(x_BTM), self.activation)))

    def step(self, x_RM: Tensor) -> Tensor:
        modules = self._modules
        return apply(modules["down"], activate(apply(modules["up"], x_RM), self.activation))
