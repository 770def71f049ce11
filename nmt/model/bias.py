"""Positions as biases of the scores of self-attention, which depend only on the distance between query and key.

A distance is the position of the key minus that of the query: negative for the past.

Shapes: H heads, T length, X distances.
"""

import math

import torch
from torch import Tensor, nn

from nmt.config import ModelConfig
from nmt.model.cache import MASKED

BUCKETS, FARTHEST = 32, 128  # of relative positions; the paper's values


def buckets(distances_X: Tensor, causal: bool) -> Tensor:
    """The bucket of each distance (Raffel et al. 2020, section 2.1): half of the buckets are for one distance each, the
    others grow with the logarithm up to FARTHEST. Without `causal`, keys of the past and of the future have 16 each."""
    n = BUCKETS if causal else BUCKETS // 2
    size_X = -distances_X.clamp(max=0) if causal else distances_X.abs()
    exact = n // 2
    growth_X = torch.log(size_X.clamp(min=1).float() / exact) / math.log(FARTHEST / exact)
    far_X = (exact + (growth_X * (n - exact)).long()).clamp(max=n - 1)
    future_X = 0 if causal else (distances_X > 0) * n
    return torch.where(size_X < exact, size_X, far_X) + future_X


class ScoreBias(nn.Module):
    """The biases of a stack of layers: ALiBi (Press et al. 2022, section 3), which falls linearly with the distance, or
    a learned bias for each bucket of distances and each head (Raffel et al. 2020, section 2.1).

    ALiBi was made for causal attention. In both directions it is symmetric here, which its authors propose for encoders
    (github.com/ofirpress/attention_with_linear_biases, issue 5).
    """

    def __init__(self, config: ModelConfig, causal: bool) -> None:
        super().__init__()
        self.n_heads, self.causal = config.n_heads, causal
        self.table = nn.Parameter(torch.empty(BUCKETS, config.n_heads)) if config.positions == "relative" else None

    def at(self, distances_X: Tensor) -> Tensor:
        """The biases (H, X), float32."""
        if self.table is not None:
            return self.table[buckets(distances_X, self.causal)].T.float()
        heads_H = torch.arange(1, self.n_heads + 1, device=distances_X.device)
        return -torch.exp2(heads_H * (-8 / self.n_heads))[:, None] * distances_X.abs()

    def whole(self, length: int, device: torch.device, hide_future: bool) -> Tensor:
        """The biases (1, H, T, T) of a whole sequence; with `hide_future`, they are a causal mask too."""
        distances_X = torch.arange(-length, length, device=device)
        bias_HX = self.at(distances_X)
        if hide_future:
            bias_HX = bias_HX.masked_fill(distances_X > 0, MASKED)
        return bias_HX.unfold(1, length, 1)[:, 1:].flip(1)[None]  # each query sees keys one place further to the left

    def past(self, length: int, device: torch.device) -> Tensor:
        """The biases (H, X) of the last of `length` positions."""
        return self.at(torch.arange(1 - length, 1, device=device))
