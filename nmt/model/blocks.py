"""The blocks that the encoder and the decoder are stacks of.

Shapes: B batch, T target length, S source length, M model width, F feed-forward width.
"""

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional as F

from nmt.config import ModelConfig
from nmt.model.attention import CrossAttention, SelfAttention
from nmt.model.dropout import Dropout


def make_norm(config: ModelConfig) -> nn.Module:
    """LayerNorm (Ba et al. 2016) or RMSNorm (Zhang and Sennrich 2019) over the model width."""
    if config.norm == "rms":
        return nn.RMSNorm(config.d_model, eps=1e-6)
    return nn.LayerNorm(config.d_model, bias=config.bias)


class Residual(nn.Module):
    """The connection around a sublayer f: x + f(norm(x)) if pre-norm, norm(x + f(x)) if post-norm."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm, self.dropout = make_norm(config), Dropout(config.dropout)
        self.pre_norm = config.norm_position == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            return x + self.dropout(sublayer(self.norm(x)))
        y: Tensor = self.norm(x + self.dropout(sublayer(x)))
        return y


class FeedForward(nn.Module):
    """Two linear layers with ReLU or GELU between; or SwiGLU (Shazeer 2020): down(silu(gate(x)) × up(x))."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.activation = config.activation
        inner = config.d_ff * (2 if self.activation == "swiglu" else 1)
        self.up = nn.Linear(config.d_model, inner, bias=config.bias)
        self.down = nn.Linear(config.d_ff, config.d_model, bias=config.bias)
        self.dropout = Dropout(config.activation_dropout)

    def forward(self, x_BTM: Tensor) -> Tensor:
        return self.down(self.dropout(self.activate(self.up(x_BTM))))

    def activate(self, x_BTF: Tensor) -> Tensor:
        if self.activation == "swiglu":
            gate, up = x_BTF.chunk(2, dim=-1)
            return F.silu(gate) * up
        return F.relu(x_BTF) if self.activation == "relu" else F.gelu(x_BTF)


class EncoderBlock(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention, self.feed_forward = SelfAttention(config), FeedForward(config)
        self.around_self, self.around_feed_forward = Residual(config), Residual(config)

    def forward(self, x_BSM: Tensor, mask: Tensor) -> Tensor:
        x_BSM = self.around_self(x_BSM, lambda x: self.self_attention(x, mask))
        return self.around_feed_forward(x_BSM, self.feed_forward)


class DecoderBlock(nn.Module):
    """Self-attention, attention to the source, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention, self.cross_attention = SelfAttention(config), CrossAttention(config)
        self.feed_forward = FeedForward(config)
        self.around_self, self.around_cross, self.around_feed_forward = (Residual(config) for _ in range(3))

    def forward(
        self,
        x_BTM: Tensor,
        self_mask: Tensor | None,
        memory_BSM: Tensor,
        memory_mask: Tensor,
        weights: list[Tensor] | None = None,
    ) -> Tensor:
        """All target positions at once, after the encoder's output: each sees itself, and of those before it what
        `self_mask` leaves. `weights`: see `CrossAttention`.
        """
        source = self.cross_attention.keys_values(memory_BSM)
        x_BTM = self.around_self(x_BTM, lambda x: self.self_attention(x, self_mask, causal=True))
        x_BTM = self.around_cross(x_BTM, lambda x: self.cross_attention(x, source, memory_mask, weights))
        return self.around_feed_forward(x_BTM, self.feed_forward)
