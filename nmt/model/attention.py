"""Multi-head attention, of a sequence to itself and of the target to the source.

Shapes: B batch, T target (query) length, S source (key) length, H heads, K key–value heads, D head width, M model
width. Masks are additive: 0 where a query may look, MASKED elsewhere. Source: Vaswani et al. 2017, section 3.2; grouped
queries: Ainslie et al. 2023.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nmt.config import ModelConfig
from nmt.model.dropout import dropout
from nmt.model.positions import RotaryPositions

# Finite, so that a row with nothing to look at is uniform and never NaN; e to this power is exactly 0 in every dtype.
MASKED = -1e9
SHORT = 96  # key positions up to which attention written out is the faster on a CPU


def padding_mask(real_BS: Tensor) -> Tensor:
    """The additive mask (B, 1, 1, S) that hides padding, from True at real positions."""
    return torch.zeros(real_BS.shape, device=real_BS.device).masked_fill_(~real_BS, MASKED)[:, None, None]


def causal_mask(length: int, device: torch.device) -> Tensor:
    """The additive mask (1, 1, T, T) that hides the future: position t sees positions 0 to t."""
    return torch.full((length, length), MASKED, device=device).triu_(1)[None, None]


def explicit_attention(
    q_BHTD: Tensor, k_BKSD: Tensor, v_BKSD: Tensor, mask: Tensor | None, p_dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Attention written out: softmax(q kᵀ / √D + mask) v. Returns (values (B, H, T, D), weights (B, H, T, S)).

    The heads that share a key–value head stand as further query positions of it, so keys and values are never copied.
    """
    (B, H, T, D), K = q_BHTD.shape, k_BKSD.size(1)
    scores = torch.matmul((q_BHTD * D**-0.5).reshape(B, K, -1, D), k_BKSD.transpose(-1, -2)).view(B, H, T, -1)
    # A mask is float32, and so are masked scores then.
    weights = torch.softmax(scores if mask is None else scores + mask, dim=-1).to(v_BKSD.dtype)
    dropped = dropout(weights, p_dropout).view(B, K, -1, k_BKSD.size(2))
    return torch.matmul(dropped, v_BKSD).view(B, H, T, D), weights


def attention(
    q_BHTD: Tensor, k_BKSD: Tensor, v_BKSD: Tensor, mask: Tensor | None, p_dropout: float = 0.0, causal: bool = False
) -> Tensor:
    """Attended values (B, H, T, D), by whichever form is the fastest for the device and the dropout.

    `causal`: query t sees keys 0 to t, of those that the mask leaves. Without a mask, a GPU's flash attention serves.
    """
    # On CPU the library's kernel draws dropout bit by bit (ten times slower than ours), and for the few positions of a
    # sentence batched matrix products beat its blocks: twice as fast at 18 positions, even at 128.
    explicit = q_BHTD.device.type == "cpu" and (p_dropout > 0 or not torch.is_grad_enabled() or k_BKSD.size(2) <= SHORT)
    if causal and (explicit or mask is not None):
        past = causal_mask(q_BHTD.size(2), q_BHTD.device)
        mask, causal = past if mask is None else torch.minimum(mask, past), False
    if explicit:
        return explicit_attention(q_BHTD, k_BKSD, v_BKSD, mask, p_dropout)[0]
    return F.scaled_dot_product_attention(
        q_BHTD,
        k_BKSD,
        v_BKSD,
        attn_mask=mask,
        dropout_p=p_dropout,
        is_causal=causal,
        enable_gqa=k_BKSD.size(1) != q_BHTD.size(1),
    )


def split_heads(x_BTX: Tensor, d_head: int) -> Tensor:
    """(B, T, heads × D) → (B, heads, T, D)."""
    return x_BTX.unflatten(2, (-1, d_head)).transpose(1, 2)


class SelfAttention(nn.Module):
    """Attention of a sequence to itself."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.d_head, self.p_dropout = config.d_head, config.attention_dropout
        self.heads = [config.n_heads, config.kv_heads, config.kv_heads]
        self.qkv = nn.Linear(config.d_model, sum(self.heads) * self.d_head, bias=config.bias)
        self.out = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.rotary = RotaryPositions(self.d_head) if config.positions == "rotary" else None

    def forward(self, x_BTM: Tensor, mask: Tensor | None, causal: bool = False) -> Tensor:
        """The attended values, shape (B, T, M), of the sublayer's input; `mask` is broadcastable to (B, 1, T, T)."""
        q, k, v = split_heads(self.qkv(x_BTM), self.d_head).split(self.heads, dim=1)
        if self.rotary is not None:
            q, k = self.rotary(q), self.rotary(k)
        y_BHTD = attention(q, k, v, mask, self.p_dropout if self.training else 0.0, causal)
        return self.out(y_BHTD.transpose(1, 2).flatten(2))


class CrossAttention(nn.Module):
    """Attention of target positions to the encoder's output, whose keys and values are made once a sentence."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.d_head, self.p_dropout, self.kv_heads = config.d_head, config.attention_dropout, config.kv_heads
        self.q = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.kv = nn.Linear(config.d_model, 2 * config.kv_heads * config.d_head, bias=config.bias)
        self.out = nn.Linear(config.d_model, config.d_model, bias=config.bias)

    def keys_values(self, states_BSM: Tensor) -> tuple[Tensor, Tensor]:
        """The encoder's output as keys and values, each (B, K, S, D)."""
        k, v = split_heads(self.kv(states_BSM), self.d_head).split(self.kv_heads, dim=1)
        return k, v

    def forward(
        self, x_BTM: Tensor, source: tuple[Tensor, Tensor], mask: Tensor, weights: list[Tensor] | None = None
    ) -> Tensor:
        """Args:
            x_BTM: the sublayer's input.
            source: from `keys_values`.
            mask: additive, broadcastable to (B, 1, T, S).
            weights: if given, this layer's attention weights (B, H, T, S) are appended to it.

        Returns:
            The attended values, shape (B, T, M).
        """
        q = split_heads(self.q(x_BTM), self.d_head)
        p_dropout = self.p_dropout if self.training else 0.0
        if weights is None:
            y_BHTD = attention(q, *source, mask, p_dropout)
        else:
            y_BHTD, layer_weights = explicit_attention(q, *source, mask, p_dropout)
            weights.append(layer_weights)
        return self.out(y_BHTD.transpose(1, 2).flatten(2))
