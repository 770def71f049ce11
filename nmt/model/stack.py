"""A stack of blocks, the encoder or the decoder of a model, and how its layers are run.

A layer is one pass through a block. Layers may share a block (Lan et al. 2020), and a cache counts layers, not blocks.

Shapes: B batch, T length, M model width, R rows of a cache.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from nmt.config import ModelConfig
from nmt.model.blocks import Block, DecoderBlock, Residual
from nmt.model.cache import DecoderCache, SourceWeights

# The weights that DeepNorm scales: those of fused matrices hold the values, or a gate and the layer beside it.
SCALED = ("qkv.weight", "kv.weight", "out.weight", "up.weight", "down.weight", ".up", ".down")


class Stack(nn.ModuleList):
    """`depth` layers of the same kind of block."""

    def __init__(self, config: ModelConfig, kind: type[Block | DecoderBlock], depth: int) -> None:
        n_blocks = -(-depth // config.share_layers)
        super().__init__(kind(config) for _ in range(n_blocks))
        cycle = config.sharing == "cycle"
        self.order = [layer % n_blocks if cycle else layer // config.share_layers for layer in range(depth)]
        """The number of each layer's block."""
        self.p_skip = config.layer_drop
        self.recompute = False
        """Whether training stores only the input of each layer, and computes the layer again in the backward pass."""
        self.beta = 1.0
        """Factor of some initial weights."""
        if config.norm_position == "deepnorm":
            alpha, self.beta = deepnorm(config, depth, kind)
            for module in self.modules():
                if isinstance(module, Residual):
                    module.alpha = alpha

    def layers(self) -> list[Any]:
        """The block of each layer, in order."""
        blocks = list(self)
        return [blocks[number] for number in self.order]

    def forward(self, x_BTM: Tensor, *arguments: Any) -> Tensor:
        """The output of the last layer. `arguments`: those of the blocks after x.

        In training each layer is skipped with the probability `model.layer_drop` (LayerDrop, Fan et al. 2020).
        """
        for block in self.layers():
            if self.training and self.p_skip and float(torch.rand(())) < self.p_skip:
                continue
            if self.training and self.recompute:
                x_BTM = checkpoint(block, x_BTM, *arguments, use_reentrant=False)
            else:
                x_BTM = block(x_BTM, *arguments)
        return x_BTM

    def step(self, x_RM: Tensor, cache: DecoderCache, weights: SourceWeights) -> Tensor:
        """The output of the last layer at the newest position of each row."""
        for layer, block in enumerate(self.layers()):
            x_RM = block.step(x_RM, cache, layer, weights)
        return x_RM

    def scale_weights(self, last: Mapping[int, int]) -> None:
        """Scale the initial weights of values, attention output and feed-forward layers for DeepNorm. `last`: for a
        fused weight, by its id, the rows of its last matrix; this is that of the values, or the one beside the gate."""
        if self.beta != 1.0:
            for name, weight in self.named_parameters():
                if name.endswith(SCALED):
                    weight[..., -last.get(id(weight), weight.size(-2)) :, :] *= self.beta


def deepnorm(config: ModelConfig, depth: int, kind: type[Block | DecoderBlock]) -> tuple[float, float]:
    """The factors of DeepNorm for a stack: α of the residual, and β of the initial weights of values, attention output
    and feed-forward layers (Wang et al. 2022, figure 2)."""
    if config.family != "encoder-decoder":
        return (2 * depth) ** 0.25, (8 * depth) ** -0.25
    if kind is DecoderBlock:
        return (3 * depth) ** 0.25, (12 * depth) ** -0.25
    both = (depth**4 * config.decoder_layers) ** (1 / 16)
    return 0.81 * both, 0.87 / both
