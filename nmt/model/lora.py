"""Low-rank adapters (LoRA): a trained matrix W stays as it is, and W + α / rank × B A is used, with learned A and B.

Shapes: X any leading sizes, O outputs and I inputs of a linear layer, R rank.
Source: Hu et al. 2022, section 4.1.
"""

import copy
import math
from collections.abc import Mapping
from itertools import chain

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.nn.utils import parametrize

from nmt.config import LoraConfig
from nmt.model.attention import Attention
from nmt.model.build import AnyModel
from nmt.model.contract import Model
from nmt.model.layers import FeedForward, apply

KINDS: dict[str, tuple[type[nn.Module], ...]] = {
    "attention": (Attention,),
    "feed_forward": (FeedForward,),
    "all": (Attention, FeedForward),
}


class Adapter(nn.Module):
    """A and B of a linear layer; a pair for each of the matrices that are fused in its weight."""

    def __init__(self, weight_OI: Tensor, rows: list[int], config: LoraConfig) -> None:
        super().__init__()
        self.rank, self.alpha = config.rank * len(rows), config.alpha * len(rows)
        self.A = nn.ParameterList(nn.Parameter(weight_OI.new_empty(config.rank, weight_OI.size(1))) for _ in rows)
        self.B = nn.ParameterList(nn.Parameter(weight_OI.new_zeros(n, config.rank)) for n in rows)
        for a in self.A:
            nn.init.kaiming_uniform_(a, a=math.sqrt(5))

    def factors(self) -> tuple[Tensor, Tensor]:
        """The pairs as a single pair (R, I) and (O, R), where R is the sum of their ranks."""
        return torch.cat([*self.A]), torch.block_diag(*self.B)

    def forward(self, weight_OI: Tensor) -> Tensor:
        return adapted(weight_OI, *self.factors(), self.alpha / self.rank)


def adapted(weight_OI: Tensor, a_RI: Tensor, b_OR: Tensor, scale: float) -> Tensor:
    """The weight with an adapter: always by the same products, so that all ways to add an adapter are equal."""
    return weight_OI + scale * (b_OR @ a_RI)


class AdaptedLinear(nn.Module):
    """A linear layer and an adapter of rank R beside it: W x + b + B (A x). Other models may have the same layer."""

    def __init__(self, layer: nn.Module, a_RI: Tensor, b_OR: Tensor) -> None:
        super().__init__()
        self.layer = layer
        like = layer.weight if isinstance(layer, nn.Linear) else torch.empty(0)
        self.A, self.B = (nn.Parameter(factor.to(like), requires_grad=False) for factor in (a_RI, b_OR))

    def forward(self, x_XI: Tensor) -> Tensor:
        return torch.add(apply(self.layer, x_XI), linear(linear(x_XI, self.A), self.B))


def with_adapter(model: AnyModel, factors: Mapping[str, tuple[Tensor, Tensor]]) -> AnyModel:
    """A model with an adapter, of which only the adapter takes memory: the rest is the given model's. `factors`: for
    the name of each adapted layer, A (R, I) and α / rank × B (O, R)."""
    shared: dict[int, object] = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    other = copy.deepcopy(model, shared)
    for name, (a_RI, b_OR) in factors.items():
        parent, _, child = name.rpartition(".")
        setattr(other.get_submodule(parent), child, AdaptedLinear(other.get_submodule(name), a_RI, b_OR))
    return other


def add_adapters(model: Model, config: LoraConfig) -> None:
    """Freeze a model, and give its layers adapters, which change nothing at first, since B is zero."""
    model.requires_grad_(False)
    rows = {id(weight): rows for weight, rows in model.fused_matrices()}
    layers = [m for part in model.modules() if isinstance(part, KINDS[config.parts]) for m in part.children()]
    for layer in layers:
        if isinstance(layer, nn.Linear):
            adapter = Adapter(layer.weight, rows.get(id(layer.weight), [layer.out_features]), config)
            parametrize.register_parametrization(layer, "weight", adapter)


def adapters(model: Model) -> dict[str, Adapter]:
    found = ((name, module) for name, module in model.named_modules() if isinstance(module, Adapter))
    return {name.removesuffix(".parametrizations.weight.0"): adapter for name, adapter in found}


@torch.no_grad()
def merge_adapters(model: Model) -> None:
    """Add the adapters of a model to its weights; then it is a plain model."""
    for name in adapters(model):
        parametrize.remove_parametrizations(model.get_submodule(name), "weight")
