"""Mixture of experts: a feed-forward layer of which each position uses only a few parts (Shazeer et al. 2017).

A router chooses k of E experts for each position, and the layer's output is the weighted sum of theirs. No position is
ever left out, however many choose the same expert.

Shapes: B batch, T length, N positions, E experts, K chosen experts of a position, C choices of all positions (N × K), M
model width, F feed-forward width, L layers, R rows of a cache.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nmt.config import ModelConfig
from nmt.model.device import move
from nmt.model.layers import GATED, Dropout, FeedForward, activate


def make_feed_forward(config: ModelConfig) -> nn.Module:
    """The feed-forward layer of a block: dense, or a mixture of experts."""
    return Experts(config) if config.experts else FeedForward(config)


SumOver = Callable[[Sequence[float]], list[float]]
"""The sums of values over all processes."""


class Routes(NamedTuple):
    """Where a router sent the positions of a batch."""

    probabilities_BTE: Tensor
    chosen_BTK: Tensor


class Experts(nn.Module):
    """A router and E feed-forward layers without biases, and a dense layer that all positions use, if the settings ask
    for shared experts (Dai et al. 2024): n of them are one layer, n times as wide.

    The weight of a chosen expert is the softmax over the chosen ones. With K = 1 that would always be 1, and the router
    would learn nothing: there it is the softmax over all (Fedus et al. 2022). The router computes in float32.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        E, M, inner = config.experts, config.d_model, config.d_ff
        self.per_position = config.experts_per_token
        self.router = nn.Parameter(torch.empty(E, M))
        has_bias = config.expert_balance == "bias"
        self.choice_bias = nn.Parameter(torch.zeros(E), requires_grad=False) if has_bias else None
        self.up = nn.Parameter(torch.empty(E, inner * (2 if config.activation in GATED else 1), M))
        self.down = nn.Parameter(torch.empty(E, M, inner))
        self.dropout = Dropout(config.activation_dropout)
        self.activation = config.activation
        wide = replace(config, d_ff=inner * max(1, config.shared_experts))
        self.shared = FeedForward(wide) if config.shared_experts else None
        self.routes: list[Routes] | None = None
        """Where `forward` notes its routes, while `Model.auxiliary` asks for them."""
        self.loads_E = self.logged_E = torch.zeros(E)
        """How often each expert was chosen since the last step, and since the last figures."""
        self.product = grouped_product

    def leave_uncompiled(self) -> None:
        """Keep grouped products out of torch.compile, which knows those of bfloat16 only (PyTorch 2.13)."""
        self.product = torch.compiler.disable(grouped_product)

    def forward(self, x_BTM: Tensor) -> Tensor:
        x_NM = x_BTM.flatten(0, 1)
        probabilities_NE, chosen_NK, weights_NK = self.route(x_NM)
        if self.routes is not None:
            by_sentence = (part.view(*x_BTM.shape[:2], -1) for part in (probabilities_NE, chosen_NK))
            self.routes.append(Routes(*by_sentence))
        y_BTM = self.mixture(x_NM, chosen_NK, weights_NK).view(x_BTM.shape)
        return y_BTM if self.shared is None else y_BTM + self.shared(x_BTM)

    def step(self, x_RM: Tensor) -> Tensor:
        _, chosen_RK, weights_RK = self.route(x_RM)
        y_RM = self.mixture(x_RM, chosen_RK, weights_RK)
        return y_RM if self.shared is None else y_RM + self.shared.step(x_RM)

    def route(self, x_NM: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The router's probabilities (N, E), the experts that it chooses (N, K) and their weights (N, K)."""
        logits_NE = F.linear(x_NM.float(), self.router.float())
        probabilities_NE = torch.softmax(logits_NE, -1)
        scores_NE = probabilities_NE if self.choice_bias is None else probabilities_NE + self.choice_bias
        chosen_NK = scores_NE.topk(self.per_position).indices
        if self.per_position == 1:
            return probabilities_NE, chosen_NK, probabilities_NE.gather(1, chosen_NK)
        return probabilities_NE, chosen_NK, torch.softmax(logits_NE.gather(1, chosen_NK), -1)

    def mixture(self, x_NM: Tensor, chosen_NK: Tensor, weights_NK: Tensor) -> Tensor:
        """The weighted sum (N, M) of the chosen experts' outputs."""
        experts_C, n_chosen = chosen_NK.flatten(), chosen_NK.size(1)
        sorted_C, order_C = experts_C.sort(stable=True)
        numbers_E = torch.arange(self.router.size(0), device=sorted_C.device)
        ends_E = torch.searchsorted(sorted_C, numbers_E, right=True, out_int32=True)
        h_CF = self.product(x_NM.index_select(0, order_C // n_chosen), self.up.to(x_NM.dtype), ends_E)
        h_CF = self.dropout(activate(h_CF, self.activation))
        y_CM = self.product(h_CF, self.down.to(x_NM.dtype), ends_E)
        place_C = torch.empty_like(order_C).scatter_(0, order_C, torch.arange(len(order_C), device=order_C.device))
        y_NKM = y_CM.index_select(0, place_C).unflatten(0, (-1, n_chosen))
        return torch.bmm(weights_NK.to(y_NKM.dtype).unsqueeze(1), y_NKM).squeeze(1)

    def count(self, lengths_B: Tensor) -> list[Tensor]:
        """Count how often real positions chose each expert, and return the loss of each pass through the layer, unless
        biases balance it: E × Σ share of choices × mean probability, 1 at best (Fedus et al. 2022, equation 4)."""
        losses = []
        for p_BTE, chosen_BTK in self.routes or []:
            place_T = torch.arange(p_BTE.size(1), device=p_BTE.device)
            real_BT = (place_T < move(lengths_B, p_BTE.device)[:, None]).float()
            loads_E = torch.zeros_like(p_BTE[0, 0])
            loads_E.index_add_(0, chosen_BTK.flatten(), real_BT.flatten().repeat_interleave(chosen_BTK.size(2)))
            self.loads_E = self.loads_E.to(loads_E.device) + loads_E
            if self.choice_bias is None:
                mean_E = (p_BTE * real_BT[:, :, None]).sum((0, 1)) / real_BT.sum()
                losses.append(len(loads_E) * (loads_E / loads_E.sum() * mean_E).sum())
        return losses


@torch.no_grad()
def end_step(layers: Collection[Experts], rate: float, sum_over: SumOver) -> None:
    """Raise the biases of experts that were chosen less often than the mean in this step, and lower the others (Wang et
    al. 2024, algorithm 1). Those of frozen routers stay."""
    if any(layer.choice_bias is not None for layer in layers):
        for layer, loads_E in zip(layers, summed([layer.loads_E for layer in layers], sum_over), strict=True):
            if layer.router.requires_grad and layer.choice_bias is not None:
                step_E = rate * (loads_E.mean() - loads_E).sign()
                layer.choice_bias.add_(step_E.to(layer.choice_bias.device))
    for layer in layers:
        layer.logged_E = layer.logged_E.to(layer.loads_E.device) + layer.loads_E
        layer.loads_E = torch.zeros_like(layer.loads_E)


def load_figures(layers: Mapping[str, Experts], sum_over: SumOver) -> dict[str, float]:
    """By TensorBoard tag, since the last time: the least and the largest share of an expert in the choices of its
    layer, times E, so that 1 is the mean; and the coefficient of variation of each layer's loads, 0 at best."""
    relative_LE = summed([layer.logged_E for layer in layers.values()], sum_over)
    for layer in layers.values():
        layer.logged_E = torch.zeros_like(layer.logged_E)
    relative_LE /= relative_LE.mean(1, keepdim=True).clamp(min=1e-9)  # layers may have been skipped
    variations = relative_LE.std(1, correction=0).tolist()
    figures = {f"experts/variation_{name}": v for name, v in zip(layers, variations, strict=True)}
    return {"experts/least_load": float(relative_LE.min()), "experts/largest_load": float(relative_LE.max()), **figures}


def summed(loads: Sequence[Tensor], sum_over: SumOver) -> Tensor:
    """The sums (L, E) over all processes of the loads of L layers, in float32 on the CPU."""
    here_LE = torch.stack([loads_E.to(loads[-1].device) for loads_E in loads])
    return torch.tensor(sum_over(here_LE.flatten().tolist())).view(here_LE.shape)


def grouped_product(x_CI: Tensor, weight_EOI: Tensor, ends_E: Tensor) -> Tensor:
    """The products (C, O) of inputs, sorted by expert, with the matrices of their experts; `ends_E` (int32): where the
    inputs of each expert end.

    On a CPU (8 experts, 2 chosen, widths 256 and 512, 1 to 4,096 positions, fp32 and bf16) it is as fast as a loop of
    products over the experts, give or take a tenth, and in training up to a third faster than products padded to the
    largest group. A GPU, unlike with those two, need not tell the CPU how large the groups are.
    """
    return F.grouped_mm(x_CI, weight_EOI.mT, offs=ends_E)
