"""Multi-head attention, of a sequence to itself and of the target to the source.

`forward` computes all positions, for training; `step` the newest position of each row of a `DecoderCache`.

Shapes: B batch, T target (query) length, S source (key) length, H heads, K key–value heads, D head width, M model
width. In a step: N, W, X, L see `cache`; R rows (N × W), G query heads for each key–value head (H / K), Q = H × D.
Masks are additive: 0 where a query may attend, MASKED elsewhere. See `cache.Mask` for what needs none.
Source: Vaswani et al. 2017, section 3.2; grouped queries: Ainslie et al. 2023; norms of queries and keys: Henry et al.
2020, section 3, as RMSNorm over the width of a head.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nmt.config import ModelConfig
from nmt.model.cache import MASKED, DecoderCache, KeysValues, Mask, Rows, SourceWeights
from nmt.model.layers import Linear, RMSNorm, apply, dropout, needs_code
from nmt.model.positions import Place, RotaryPositions

SHORT = 96  # key positions up to which `explicit_attention` is faster on a CPU
VECTOR = 64  # bytes of the longest vectors of a CPU


def padding_mask(real_BS: Tensor, like: Tensor) -> Tensor:
    """The mask (B, 1, 1, S) that hides padding, from True at real positions, for states such as `like`."""
    return like.new_zeros(real_BS.shape).masked_fill_(~real_BS, MASKED)[:, None, None]


def causal_mask(length: int, like: Tensor) -> Tensor:
    """The mask (1, 1, T, T) that hides the future: position t sees positions 0 to t; for states such as `like`."""
    return like.new_full((length, length), MASKED).triu_(1)[None, None]


def rows_mask(query_place_BT: Tensor, key_place_BS: Tensor, like: Tensor, *, causal: bool = False) -> Rows:
    """Rows in which sequence n of the queries sees sequence n of the keys; `causal`: its keys up to each query."""
    query_BT1, key_B1S = (query_place_BT == 0).cumsum(1)[:, :, None], (key_place_BS == 0).cumsum(1)[:, None]
    hidden_BTS = query_BT1 != key_B1S
    if causal:
        hidden_BTS |= torch.ones_like(hidden_BTS[0]).triu_(1)
    return Rows(like.new_zeros(hidden_BTS.shape).masked_fill_(hidden_BTS, MASKED)[:, None], query_place_BT)


def softmax(scores_XL: Tensor) -> Tensor:
    """Softmax over the last dimension.

    PyTorch's CPU kernel is slow for rows that don't fill a vector: with AVX-512, rows of 12 numbers took 10 times as
    long as rows of 16 in fp32, and in bf16, with the backward pass, rows of 24 took 4 times as long as rows of 32. So
    short rows are filled up with -inf, but not in compiled and exported graphs, which have no branches by length.
    """
    length, full = scores_XL.size(-1), VECTOR // scores_XL.element_size()
    if scores_XL.device.type != "cpu" or torch.compiler.is_compiling() or length >= full:
        return torch.softmax(scores_XL, -1)
    return torch.softmax(F.pad(scores_XL, (0, full - length), value=-torch.inf), -1)[..., :length]


def explicit_attention(q_BHTD: Tensor, k_BKSD: Tensor, v_BKSD: Tensor, mask: Mask, p: float) -> tuple[Tensor, Tensor]:
    """Attention written out: softmax(q kᵀ / √D + mask) v. Returns (values (B, H, T, D), weights (B, H, T, S)).

    Heads that share a key–value head are computed as more query positions of it: keys and values are never copied.
    Where products need code for each shape (`needs_code`), all is computed in float32: these products are small.
    """
    dtype = q_BHTD.dtype
    if needs_code(q_BHTD):
        q_BHTD, k_BKSD, v_BKSD = q_BHTD.float(), k_BKSD.float(), v_BKSD.float()
    (B, H, T, D), (_, K, S, _) = q_BHTD.shape, k_BKSD.shape
    rows = H // K * T
    mask = causal_mask(T, q_BHTD) if mask is None else mask
    scores = torch.matmul((q_BHTD * D**-0.5).reshape(B, K, rows, D), k_BKSD.transpose(-1, -2)).view(B, H, T, S)
    scores = scores + mask if isinstance(mask, Tensor) else scores
    weights = softmax(scores)
    dropped = (dropout(weights, p) if p else weights).view(B, K, rows, S)
    return torch.matmul(dropped, v_BKSD).view(B, H, T, D).to(dtype), weights


def attention(q_BHTD: Tensor, k_BKSD: Tensor, v_BKSD: Tensor, mask: Mask, p: float) -> Tensor:
    """Attended values (B, H, T, D), computed in the fastest way for the device and the dropout probability p."""
    # On a CPU the library's kernel samples dropout bit by bit (ten times slower than ours), and for the few positions
    # of a sentence batched matrix products are faster than its blocks: twice as fast at 18 positions, equal at 128.
    in_rows = isinstance(mask, Rows)
    mask = mask.hidden_B1TS if isinstance(mask, Rows) else mask
    on_cpu = q_BHTD.device.type == "cpu" and (p > 0 or not torch.is_grad_enabled() or k_BKSD.size(2) <= SHORT)
    # In rows, which are short, a compiler fuses what is between the products.
    if on_cpu or (in_rows and torch.compiler.is_compiling()):
        return explicit_attention(q_BHTD, k_BKSD, v_BKSD, mask, p)[0]
    shared = k_BKSD.size(1) != q_BHTD.size(1)
    additive = mask if isinstance(mask, Tensor) else None
    return F.scaled_dot_product_attention(q_BHTD, k_BKSD, v_BKSD, additive, p, mask is None, enable_gqa=shared)


class Seen(NamedTuple):
    """Lists to which each block appends what its self-attention computed for a whole sequence."""

    keys_values: list[Tensor]
    """Keys and values (2, B, K, T, D), rotated, as a `DecoderCache` takes them."""
    weights: list[Tensor] | None = None
    """Attention weights (B, H, T, T); None: nobody needs these weights."""


class Attention(nn.Module):
    """What all kinds of attention share: sizes, an output layer, and the attention of whole sequences and of steps."""

    out: Linear

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.sizes = config.n_heads, config.kv_heads, config.d_head
        self.scale, self.p_dropout = config.d_head**-0.5, config.attention_dropout
        self.qk_norm = config.qk_norm
        if config.qk_norm:
            self.q_norm, self.k_norm = (RMSNorm(config.d_head, eps=1e-6) for _ in range(2))

    def attend(
        self, q_BHTD: Tensor, k_BKSD: Tensor, v_BKSD: Tensor, mask: Mask, weights: list[Tensor] | None
    ) -> Tensor:
        """The output (B, T, M) for whole sequences; the attention weights (B, H, T, S) are appended to `weights`."""
        p = self.p_dropout if self.training else 0.0
        if weights is None:
            y_BHTD = attention(q_BHTD, k_BKSD, v_BKSD, mask, p)
        else:
            y_BHTD, layer_weights = explicit_attention(q_BHTD, k_BKSD, v_BKSD, mask, p)
            weights.append(layer_weights)
        return self.out(y_BHTD.transpose(1, 2).flatten(2))

    def attend_rows(self, q_RQ: Tensor, kv: KeysValues, mask: Tensor | None, cache: DecoderCache) -> Tensor:
        """The attended values (R, H × width of a value); `mask` is (N or 1, H or 1, W or 1, L). The rows of a sentence,
        and the heads that share keys, are query positions of one product."""
        return self.mix(softmax(self.scores(q_RQ, kv[0], mask, cache)), kv[1])

    def attend_past(self, q_RQ: Tensor, kv: KeysValues, cache: DecoderCache, layer: int) -> Tensor:
        """As `attend_rows`, to the past of each row, with these keys and values, and to its prefix if that is apart."""
        if not cache.prefix_is_apart:
            return self.attend_rows(q_RQ, kv, cache.past_N1WL, cache)
        keys, values = cache.source[layer]
        scores_X = self.scores(q_RQ, keys, cache.source_mask_N11S, cache)
        past_X = self.scores(q_RQ, kv[0], cache.past_N1WL, cache)
        R, H, W, P = q_RQ.size(0), self.sizes[0], cache.n_separate, keys.size(2)
        prefix_RHP = scores_X.view(R // W, H, W, P).transpose(1, 2).reshape(R, H, P)
        probabilities_RHL = softmax(torch.cat([prefix_RHP, past_X.view(R, H, -1)], dim=2))
        prefix_RHP, past_RHL = probabilities_RHL.split([P, past_X.size(2)], dim=2)
        y_RQ = self.mix(past_RHL.reshape(past_X.shape), kv[1])
        prefix_X = prefix_RHP.unflatten(0, (-1, W)).transpose(1, 2).reshape(scores_X.shape)
        return y_RQ + self.mix(prefix_X, values)

    def scores(self, q_RQ: Tensor, keys_XDL: Tensor, mask: Tensor | None, cache: DecoderCache) -> Tensor:
        """The scores (X, H / K × rows, L), where each sentence of the keys has as many rows, one after another."""
        H, K, D = self.sizes
        rows = q_RQ.size(0) * K // keys_XDL.size(0)  # of each sentence
        if rows == 1:
            q = q_RQ.reshape(-1, H // K, D)
        else:
            q = q_RQ.reshape(-1, rows, K, H // K, D).permute(0, 2, 3, 1, 4).reshape(-1, H // K * rows, D)
        scores = torch.baddbmm(cache.empty_111, q, keys_XDL, beta=0, alpha=self.scale)
        if mask is not None:
            by_head = scores.view(keys_XDL.size(0) // K, H, rows, scores.size(2))
            by_head += mask  # in place: bfloat16 scores keep their dtype, in which MASKED hides a key just as well
        return scores

    def mix(self, probabilities: Tensor, values_XLD: Tensor) -> Tensor:
        """The means (R, H × D) of values, weighted by probabilities of the shape of `scores`."""
        y, (H, K, _) = torch.bmm(probabilities, values_XLD), self.sizes
        rows = y.size(1) * K // H
        if rows == 1:
            return y.view(-1, H * y.size(2))
        return y.view(-1, K, H // K, rows, y.size(2)).permute(0, 3, 1, 2, 4).reshape(-1, H * y.size(2))


class SelfAttention(Attention):
    """Attention of a sequence to itself."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        H, K, D = self.sizes
        self.qkv = Linear(config.d_model, (H + 2 * K) * D, bias=config.bias)
        self.qkv.parts = H * D, K * D, K * D
        self.out = Linear(config.d_model, config.d_model, bias=config.bias)
        self.rotary = RotaryPositions(D) if config.positions == "rotary" else None
        self.as_computed = self.rotary is None and not self.qk_norm

    def forward(self, x_BTM: Tensor, mask: Mask, seen: Seen | None = None) -> Tensor:
        """The attended values (B, T, M). A tensor as mask is broadcastable to (B, H, T, T)."""
        q, k, v = self.heads(x_BTM, mask.place_BT if isinstance(mask, Rows) else slice(0, x_BTM.size(1)))
        if seen is not None:
            seen.keys_values.append(torch.stack([k, v]))
        return self.attend(q, k, v, mask, None if seen is None else seen.weights)

    def heads(self, x_BTM: Tensor, place: Place) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, H, T, D), keys and values (B, K, T, D) of inputs at these T positions."""
        H, K, D = self.sizes
        qk, v = self.qkv(x_BTM).unflatten(2, (-1, D)).split([H + K, K], dim=2)
        q, k = (qk if self.as_computed else self.placed(qk, place)).split([H, K], dim=2)
        return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)

    def placed(self, qk_XHD: Tensor, place: Place) -> Tensor:
        """Queries and keys (X, H + K, D), of whole sequences (X = B, T) or of rows (X = R), as scores compare them."""
        if self.qk_norm:
            q, k = qk_XHD.split_with_sizes(list(self.sizes[:2]), -2)
            qk_XHD = torch.cat([apply(self._modules["q_norm"], q), apply(self._modules["k_norm"], k)], dim=-2)
        return qk_XHD if self.rotary is None else self.rotary.at(qk_XHD, place)

    def step(self, x_RM: Tensor, cache: DecoderCache, layer: int) -> Tensor:
        """Attention of each row to its past and to itself; its keys and values are appended to the cache."""
        H, K, D = self.sizes
        qkv_RX = apply(self._modules["qkv"], x_RM)
        if not self.as_computed:
            qk_RX, v_RX = qkv_RX.split_with_sizes([(H + K) * D, K * D], 1)
            qk_RX = self.placed(qk_RX.unflatten(1, (-1, D)), cache.place).flatten(1)
            qkv_RX = torch.cat([qk_RX, v_RX], dim=1)
        q_RQ, kv_RX = qkv_RX.split_with_sizes([H * D, 2 * K * D], 1)
        kv = cache.append(layer, kv_RX.view(-1, cache.rows, 2, K, D).permute(2, 0, 3, 1, 4))
        return apply(self._modules["out"], self.attend_past(q_RQ, kv, cache, layer))


class CrossAttention(Attention):
    """Attention of target positions to the encoder's output, whose keys and values are computed once a sentence."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.q = Linear(config.d_model, config.d_model, bias=config.bias)
        self.kv = Linear(config.d_model, 2 * config.kv_heads * config.d_head, bias=config.bias)
        self.kv.parts = (config.kv_heads * config.d_head,) * 2
        self.out = Linear(config.d_model, config.d_model, bias=config.bias)

    def keys_values(self, states_BSM: Tensor) -> tuple[Tensor, Tensor]:
        """The encoder's output as keys and values, each (B, K, S, D)."""
        _, K, D = self.sizes
        k, v = self.kv(states_BSM).unflatten(2, (-1, D)).transpose(1, 2).split(K, dim=1)
        return self.k_norm(k) if self.qk_norm else k, v

    def forward(self, x_BTM: Tensor, states_BSM: Tensor, mask_B11S: Mask, weights: SourceWeights) -> Tensor:
        """The attended values (B, T, M) of the encoder's output, whose padding `mask_B11S` hides."""
        q = self.q(x_BTM).unflatten(2, (-1, self.sizes[2])).transpose(1, 2)
        q = self.q_norm(q) if self.qk_norm else q
        return self.attend(q, *self.keys_values(states_BSM), mask_B11S, weights)

    def step(self, x_RM: Tensor, cache: DecoderCache, layer: int) -> Tensor:
        """Attention of each row to the source of its sentence."""
        q_RQ = apply(self._modules["q"], x_RM)
        if self.qk_norm:
            q_RQ = apply(self._modules["q_norm"], q_RQ.unflatten(1, (-1, self.sizes[2]))).flatten(1)
        y_RQ = self.attend_rows(q_RQ, cache.source[layer], cache.source_mask_N11S, cache)
        return apply(self._modules["out"], y_RQ)
