"""The blocks of all families of models.

`forward` computes all positions, for training; `step` the newest position of each row of a `DecoderCache`, without
dropout and with the same parameters.

Shapes: B batch, T target length, S source length, M model width, R rows of a cache.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from nmt.config import ModelConfig
from nmt.model.attention import Attention, CrossAttention, Seen, SelfAttention
from nmt.model.cache import DecoderCache, Mask, SourceWeights
from nmt.model.experts import make_feed_forward
from nmt.model.latent import LatentAttention
from nmt.model.layers import Dropout, apply, make_norm


def make_self_attention(config: ModelConfig) -> Attention:
    """Attention of heads with keys and values of their own, or latent attention; add a kind here."""
    return LatentAttention(config) if config.attention == "latent" else SelfAttention(config)


class Residual(nn.Module):
    """The connection around a sublayer f: x + f(norm(x)) if pre-norm, norm(α x + f(x)) if post-norm."""

    alpha: float = 1
    """1 unless the stack sets it, for DeepNorm."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm, self.dropout = make_norm(config), Dropout(config.dropout)
        self.pre_norm = config.norm_position == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(self.dropout(sublayer(x)).add(x, alpha=self.alpha))

    def step(self, x_RM: Tensor, sublayer: Callable[..., Tensor], *arguments: Any) -> Tensor:
        norm = self._modules["norm"]
        if self.pre_norm:
            return sublayer(apply(norm, x_RM), *arguments).add_(x_RM)
        return apply(norm, sublayer(x_RM, *arguments).add_(x_RM, alpha=self.alpha))


class Block(nn.Module):
    """Self-attention, then feed-forward: a block of an encoder, or of a decoder-only model."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention, self.feed_forward = make_self_attention(config), make_feed_forward(config)
        self.around_self, self.around_feed_forward = Residual(config), Residual(config)

    def forward(self, x_BTM: Tensor, mask: Mask, seen: Seen | None = None) -> Tensor:
        """All positions. `mask` as in `SelfAttention.forward`."""
        x_BTM = self.around_self(x_BTM, lambda x: self.self_attention(x, mask, seen))
        return self.around_feed_forward(x_BTM, self.feed_forward)

    def step(self, x_RM: Tensor, cache: DecoderCache, layer: int, weights: list[Tensor] | None) -> Tensor:
        """The newest position. `layer` is this block's number in the cache; `weights` as in `SelfAttention.step`."""
        modules: dict[str, Any] = self._modules
        x_RM = modules["around_self"].step(x_RM, modules["self_attention"].step, cache, layer, weights)
        return modules["around_feed_forward"].step(x_RM, modules["feed_forward"].step)


class DecoderBlock(nn.Module):
    """Causal self-attention, attention to the source, then feed-forward: a block of an encoder–decoder's decoder."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention, self.cross_attention = make_self_attention(config), CrossAttention(config)
        self.feed_forward = make_feed_forward(config)
        self.around_self, self.around_cross, self.around_feed_forward = (Residual(config) for _ in range(3))

    def forward(
        self, x_BTM: Tensor, memory_BSM: Tensor, mask_B11S: Mask, weights: SourceWeights, self_mask: Mask = None
    ) -> Tensor:
        """All target positions, given the encoder's output. `self_mask` as in `SelfAttention.forward`."""
        x_BTM = self.around_self(x_BTM, lambda x: self.self_attention(x, self_mask))
        x_BTM = self.around_cross(x_BTM, lambda x: self.cross_attention(x, memory_BSM, mask_B11S, weights))
        return self.around_feed_forward(x_BTM, self.feed_forward)

    def step(self, x_RM: Tensor, cache: DecoderCache, layer: int, weights: SourceWeights) -> Tensor:
        """The newest position. `layer` is this block's number in the cache."""
        modules: dict[str, Any] = self._modules
        x_RM = modules["around_self"].step(x_RM, modules["self_attention"].step, cache, layer)
        x_RM = modules["around_cross"].step(x_RM, modules["cross_attention"].step, cache, layer, weights)
        return modules["around_feed_forward"].step(x_RM, modules["feed_forward"].step)
