"""The blocks of all families of models, and stacks of them.

`forward` computes all positions, for training; `step`, without dropout, the newest one of each row of a `DecoderCache`.

Shapes: B batch, T target length, S source length, M model width, R rows of a cache.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from nmt.config import ModelConfig
from nmt.model.attention import CrossAttention, Seen, SelfAttention
from nmt.model.cache import DecoderCache, Mask, Rows, SourceWeights
from nmt.model.layers import Dropout, FeedForward, apply, make_norm


class Residual(nn.Module):
    """The connection around a sublayer f: x + f(norm(x)) if pre-norm, norm(x + f(x)) if post-norm."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm, self.dropout = make_norm(config), Dropout(config.dropout)
        self.pre_norm = config.norm_position == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(self.dropout(sublayer(x)) + x)

    def step(self, x_RM: Tensor, sublayer: Callable[..., Tensor], *arguments: Any) -> Tensor:
        norm = self._modules["norm"]
        if self.pre_norm:
            return sublayer(apply(norm, x_RM), *arguments).add_(x_RM)
        return apply(norm, sublayer(x_RM, *arguments).add_(x_RM))


class Block(nn.Module):
    """Self-attention, then feed-forward: a block of an encoder, or of a decoder-only model."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention, self.feed_forward = SelfAttention(config), FeedForward(config)
        self.around_self, self.around_feed_forward = Residual(config), Residual(config)

    def forward(self, x_BTM: Tensor, mask: Mask, seen: Seen | None = None) -> Tensor:
        """All positions. `mask` as in `SelfAttention.forward`."""
        x_BTM = self.around_self(x_BTM, lambda x: self.self_attention(x, mask, seen))
        return self.around_feed_forward(x_BTM, self.feed_forward)

    def step(self, x_RM: Tensor, cache: DecoderCache, layer: int) -> Tensor:
        """The newest position. `layer` is this block's number in the cache."""
        modules: dict[str, Any] = self._modules
        x_RM = modules["around_self"].step(x_RM, modules["self_attention"].step, cache, layer)
        return modules["around_feed_forward"].step(x_RM, modules["feed_forward"].step)


class DecoderBlock(nn.Module):
    """Causal self-attention, attention to the source, then feed-forward: a block of an encoder–decoder's decoder."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention, self.cross_attention = SelfAttention(config), CrossAttention(config)
        self.feed_forward = FeedForward(config)
        self.around_self, self.around_cross, self.around_feed_forward = (Residual(config) for _ in range(3))

    def forward(
        self, x_BTM: Tensor, memory_BSM: Tensor, mask: Mask, weights: SourceWeights, past: Rows | None = None
    ) -> Tensor:
        """All target positions, given the encoder's output. `mask`: what of it is seen; `past`: what of the target, if
        several sequences share a row."""
        x_BTM = self.around_self(x_BTM, lambda x: self.self_attention(x, past))
        x_BTM = self.around_cross(x_BTM, lambda x: self.cross_attention(x, memory_BSM, mask, weights))
        return self.around_feed_forward(x_BTM, self.feed_forward)

    def step(self, x_RM: Tensor, cache: DecoderCache, layer: int) -> Tensor:
        """The newest position. `layer` is this block's number in the cache."""
        modules: dict[str, Any] = self._modules
        x_RM = modules["around_self"].step(x_RM, modules["self_attention"].step, cache, layer)
        x_RM = modules["around_cross"].step(x_RM, modules["cross_attention"].step, cache, layer)
        return modules["around_feed_forward"].step(x_RM, modules["feed_forward"].step)


class Stack(nn.ModuleList):
    """`depth` layers of the same kind of block, the encoder or the decoder of a model."""

    def __init__(self, config: ModelConfig, kind: type[Block | DecoderBlock], depth: int) -> None:
        super().__init__(kind(config) for _ in range(depth))
        self.recompute = False
        """Whether training stores only the input of each layer, and computes the layer again in the backward pass."""
        self.compiled: list[Any] = []

    def compile_rows(self) -> None:
        """Compile the blocks for rows of several sequences, which all have one shape; nothing else is compiled."""
        self.compiled = [torch.compile(block, dynamic=False) for block in self]

    def forward(self, x_BTM: Tensor, *arguments: Any) -> Tensor:
        """The output of the last layer. `arguments`: those of the blocks after x."""
        in_rows = self.training and any(isinstance(argument, Rows) for argument in arguments)
        for block in self.compiled if self.compiled and in_rows else self:
            if self.training and self.recompute:
                x_BTM = checkpoint(block, x_BTM, *arguments, use_reentrant=False)
            else:
                x_BTM = block(x_BTM, *arguments)
        return x_BTM

    def step(self, x_RM: Tensor, cache: DecoderCache) -> Tensor:
        """The output of the last layer at the newest position of each row."""
        blocks: list[Any] = list(self)
        for layer, block in enumerate(blocks):
            x_RM = block.step(x_RM, cache, layer)
        return x_RM
