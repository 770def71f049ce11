"""Multi-head latent attention: the cache holds one vector for all heads, from which their keys and values are computed.

For an input x, with the projections W and the norm RMS:

    c = RMS(W_c x)                     the latent vector, C wide
    r = rotate(W_r x)                  the rotated key, shared by all heads; only with rotary positions
    k, v = W_k c, W_v c                of each head, D wide
    q, s = W_q x, rotate(W_s x)        of each head; or of RMS(W_l x) instead of x, a latent vector of queries
    scores = (q · k + s · r) / √(D + width of r)

`forward` computes all positions as written here; `step` never computes keys and values: since q · W_k c = (W_kᵀ q) · c,
it takes W_kᵀ q as the query of c, and applies W_v after the attention. A position costs C + E values in the cache.

Shapes: B batch, T length, M model width, H heads, D head width, C width of the latent vector, E width of the rotated
part (0: there is none); R rows, N, W, L see `cache`.
Source: DeepSeek-V2, Liu et al. 2024, sections 2.1.2 and 2.1.3.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from nmt.config import ModelConfig
from nmt.model.attention import Attention, Seen
from nmt.model.cache import DecoderCache, Mask
from nmt.model.layers import Linear, RMSNorm, apply
from nmt.model.linear import whole
from nmt.model.positions import Place, RotaryPositions


class LatentAttention(Attention):
    """Attention of a sequence to itself, with the methods of `SelfAttention`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        H, D, M, (C, E) = config.n_heads, config.d_head, config.d_model, config.latent_widths
        self.sizes = H, 1, C + E  # as `step` sees them: all heads share one key, which is the latent vector and r
        self.cache_shape = 1, 1, C + E
        self.widths, self.scale = (H, D, C, E), (D + E) ** -0.5
        n_query = config.query_latent_width
        if n_query:
            self.query_latent, self.query_norm = Linear(M, n_query, bias=config.bias), RMSNorm(n_query)
        self.query = Linear(n_query or M, H * (D + E), bias=config.bias)
        self.latent, self.latent_norm = Linear(M, C + E, bias=config.bias), RMSNorm(C)
        self.kv = Linear(C, 2 * H * D, bias=False)
        self.out = Linear(H * D, M, bias=config.bias)
        self.rotary = RotaryPositions(E) if E else None

    def fused_matrices(self) -> Iterator[tuple[Tensor, list[int]]]:
        H, D, C, E = self.widths
        yield self.kv.weight, [H * D, H * D]
        if E:
            yield self.query.weight, [H * D, H * E]
            yield self.latent.weight, [C, E]

    def project(self, x_XM: Tensor, place: Place) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """q (X, H, D), its rotated part (X, H, E), c (X, C) and the rotated key (X, E) of inputs at these positions: of
        rows (X = R) or of whole sequences (X = B, T)."""
        modules: dict[str, Any] = self._modules
        H, D, C, E = self.widths
        call = apply if x_XM.dim() == 2 else nn.Module.__call__
        queries_XM = x_XM
        if "query_latent" in modules:
            queries_XM = call(modules["query_norm"], call(modules["query_latent"], x_XM))
        q, q_rotated = call(modules["query"], queries_XM).split([H * D, H * E], -1)
        c, k_rotated = call(modules["latent"], x_XM).split([C, E], -1)
        q, q_rotated = q.unflatten(-1, (H, D)), q_rotated.unflatten(-1, (H, E))
        if self.rotary is not None:
            heads = self.rotary.at(torch.cat([q_rotated, k_rotated.unsqueeze(-2)], dim=-2), place)
            q_rotated, k_rotated = heads[..., :H, :], heads[..., H, :]
        return q, q_rotated, call(modules["latent_norm"], c), k_rotated

    def forward(self, x_BTM: Tensor, mask: Mask, seen: Seen | None = None) -> Tensor:
        """The attended values (B, T, M). `mask` as in `SelfAttention.forward`."""
        H, D, _, _ = self.widths
        q_BTHD, q_BTHE, c_BTC, k_BTE = self.project(x_BTM, slice(0, x_BTM.size(1)))
        if seen is not None:
            seen.keys_values.append(torch.cat([c_BTC, k_BTE], dim=2)[None, :, None])
        k_BTHD, v_BTHD = self.kv(c_BTC).unflatten(2, (2 * H, D)).split(H, dim=2)
        q = torch.cat([q_BTHD, q_BTHE], dim=3).transpose(1, 2)
        k = torch.cat([k_BTHD, k_BTE[:, :, None].expand(-1, -1, H, -1)], dim=3).transpose(1, 2)
        return self.attend(q, k, v_BTHD.transpose(1, 2), mask, None if seen is None else seen.weights)

    def step(self, x_RM: Tensor, cache: DecoderCache, layer: int, weights: list[Tensor] | None = None) -> Tensor:
        """As `SelfAttention.step`; c and the rotated key are appended to the cache."""
        modules: dict[str, Any] = self._modules
        H, D, C, E = self.widths
        q_RHD, q_RHE, c_RC, k_RE = self.project(x_RM, cache.place)
        # Nothing is kept of these products with parameters, since parameters may be replaced after a step.
        w_k, w_v = whole(modules["kv"]).weight.view(2, H, D, C)
        q_RHC = torch.bmm(q_RHD.transpose(0, 1), w_k).transpose(0, 1)
        q_RQ = torch.cat([q_RHC, q_RHE], dim=2).flatten(1)
        keys = torch.cat([c_RC, k_RE], dim=1).view(-1, cache.rows, 1, 1, C + E).permute(2, 0, 3, 1, 4)
        keys_XDL, values_XLD = cache.append(layer, keys)
        y_RQ = self.attend_past(q_RQ, (keys_XDL, values_XLD[..., :C]), cache, layer, weights)
        y_HRD = torch.bmm(y_RQ.view(-1, H, C).transpose(0, 1), w_v.mT)
        return apply(modules["out"], y_HRD.transpose(0, 1).flatten(1))
