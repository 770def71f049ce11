"""A Transformer as translation uses it: it reads the source once, and writes the target token by token.

What the blocks of `layers` and `attention` compute for all positions in training is computed here for the newest ones,
without modules in between: a step of one sentence is so little arithmetic that the calls around it would cost more.

Shapes: B batch, S source length, N, W, K, L: see `cache`; G query heads for each key–value head, D head width, M model
width, R rows (N × W), V target vocabulary.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nmt.config import ModelConfig
from nmt.model.attention import CrossAttention, SelfAttention
from nmt.model.blocks import DecoderBlock, Residual
from nmt.model.cache import DecoderCache
from nmt.model.encoder_decoder import Transformer
from nmt.model.precision import Int8Linear, some_outputs

Map = Callable[[Tensor], Tensor]


def linear(layer: nn.Module) -> Map:
    """The layer's product for rows (R, M). The weights are the layer's own: what is learned later is seen."""
    if isinstance(layer, Int8Linear):
        return layer.forward
    assert isinstance(layer, nn.Linear)
    weight_IO, bias = layer.weight.t(), layer.bias
    if bias is None:
        return lambda x_RI: torch.mm(x_RI, weight_IO)
    return lambda x_RI: torch.addmm(bias, x_RI, weight_IO)


def norm(layer: nn.Module) -> Map:
    if isinstance(layer, nn.LayerNorm):
        shape, weight, bias, eps = list(layer.normalized_shape), layer.weight, layer.bias, layer.eps
        return lambda x: torch.layer_norm(x, shape, weight, bias, eps)
    return layer.forward


def around(residual: Residual, sublayer: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`Residual.forward` without dropout."""
    normalise = norm(residual.norm)
    if residual.pre_norm:
        return lambda x, *rest: sublayer(normalise(x), *rest).add_(x)
    return lambda x, *rest: normalise(sublayer(x, *rest).add_(x))


@dataclass(frozen=True)
class Step:
    """What all blocks share in one step."""

    cache: DecoderCache
    rows: int
    """Of each sentence: the cache's width, or 1."""
    past: Tensor | None
    cross_weights: list[Tensor] | None


class IncrementalAttention:
    """Both attentions of a block, of the newest rows."""

    def __init__(self, config: ModelConfig, own: SelfAttention, cross: CrossAttention, layer: int) -> None:
        self.layer, self.scale = layer, config.d_head**-0.5
        self.d_head, self.kv_heads, self.groups = config.d_head, config.kv_heads, config.n_heads // config.kv_heads
        self.qkv, self.own_out, self.rotary = linear(own.qkv), linear(own.out), own.rotary
        self.q, self.cross_out = linear(cross.q), linear(cross.out)
        self.nothing = own.qkv.weight.new_empty(1, 1, 1) if isinstance(own.qkv, nn.Linear) else torch.empty(1, 1, 1)

    def to_self(self, x_RM: Tensor, step: Step) -> Tensor:
        """Of each row to its past, itself included."""
        cache, rows = step.cache, step.rows
        qkv_RX = self.qkv(x_RM)
        split = self.groups * self.kv_heads * self.d_head
        q_RX, kv_RX = qkv_RX[:, :split], qkv_RX[:, split:]
        kv_2NKWD = kv_RX.reshape(-1, rows, 2, self.kv_heads, self.d_head).permute(2, 0, 3, 1, 4)
        if self.rotary is not None:
            q_RX = self.rotary.at(q_RX.unflatten(1, (-1, 1, self.d_head)), cache.length - 1).flatten(1)
            kv_2NKWD = torch.stack([self.rotary.at(kv_2NKWD[0], cache.length - 1), kv_2NKWD[1]])
        keys, values = cache.append(self.layer, kv_2NKWD)
        return self.own_out(self.attend(q_RX, rows, keys, values, step.past, None))

    def to_source(self, x_RM: Tensor, step: Step) -> Tensor:
        """Of each row to its sentence's source."""
        layer = step.cache.layers[self.layer]
        return self.cross_out(
            self.attend(
                self.q(x_RM),
                step.rows,
                layer.source_keys,
                layer.source_values,
                step.cache.source_mask_N11S,
                step.cross_weights,
            )
        )

    def attend(
        self, q_RX: Tensor, width: int, keys: Tensor, values: Tensor, mask: Tensor | None, weights: list[Tensor] | None
    ) -> Tensor:
        """Values (R, H × D). The rows of a sentence, and the heads that share keys, are query positions of one product.

        Args:
            keys, values: (N × K, L, D).
            mask: additive, (N, 1, W or 1, L).
            weights: if given, the attention weights (N, H, W, L) are appended to it.
        """
        K, G, D = self.kv_heads, self.groups, self.d_head
        if width == 1:
            q = q_RX.reshape(-1, G, D)
        else:
            q = q_RX.reshape(-1, width, K, G, D).permute(0, 2, 3, 1, 4).reshape(-1, G * width, D)
        scores = torch.baddbmm(self.nothing, q, keys.transpose(1, 2), beta=0, alpha=self.scale)
        if mask is not None:
            by_head = scores.view(-1, K * G, width, scores.size(2))
            # Scores in bfloat16 keep their type: what is masked is as far below them.
            by_head += mask
        probabilities = torch.softmax(scores, dim=-1)
        if weights is not None:
            weights.append(probabilities.view(-1, K * G, width, scores.size(2)))
        y = torch.bmm(probabilities, values)
        if width == 1:
            return y.view(-1, K * G * D)
        return y.view(-1, K, G, width, D).permute(0, 3, 1, 2, 4).reshape(-1, K * G * D)


class IncrementalBlock:
    """One decoder block."""

    def __init__(self, config: ModelConfig, block: DecoderBlock, layer: int) -> None:
        attention = IncrementalAttention(config, block.self_attention, block.cross_attention, layer)
        up, down, activate = linear(block.feed_forward.up), linear(block.feed_forward.down), block.feed_forward.activate
        self.own = around(block.around_self, attention.to_self)
        self.cross = around(block.around_cross, attention.to_source)
        self.feed_forward = around(block.around_feed_forward, lambda x_RM: down(activate(up(x_RM))))

    def step(self, x_RM: Tensor, step: Step) -> Tensor:
        return self.feed_forward(self.cross(self.own(x_RM, step), step))


class IncrementalDecoder:
    """`start` a batch of sentences, then `step` through their translations."""

    def __init__(self, model: Transformer) -> None:
        """`model` must be in evaluation mode; its weights are used, not copied."""
        assert not model.training, "dropout would make the search random: call model.eval() first"
        self.model, self.config = model, model.config
        self.vocab_size, self.max_positions = model.output.out_features, model.max_positions
        self.blocks = [IncrementalBlock(model.config, b, i) for i, b in enumerate(model.decoder_blocks)]
        self.norm = norm(model.decoder_norm) if model.config.norm_position == "pre" else None
        self.output = linear(model.output)
        self.pieces_L: Tensor | None = None

    def restricted(self, pieces_L: Tensor) -> "IncrementalDecoder":
        """The same with a smaller vocabulary, whose piece i is piece `pieces_L[i]` (int64) of the model's."""
        other = copy.copy(self)
        other.pieces_L, other.vocab_size = pieces_L, pieces_L.size(0)
        other.output = linear(some_outputs(self.model.output, pieces_L))
        return other

    def start(self, src_BS: Tensor, src_mask_BS: Tensor, max_length: int, width: int = 1) -> DecoderCache:
        """Read the sources, and make an empty cache for `max_length` target positions of `width` rows of each.

        Args:
            src_BS: source ids, int64, each sentence with its EOS.
            src_mask_BS: True at real positions.
        """
        memory = self.model.encode(src_BS, src_mask_BS)
        states_BSM = memory.states_BSM
        source_2NKSD = [torch.stack(b.cross_attention.keys_values(states_BSM)) for b in self.model.decoder_blocks]
        mask = None if bool(src_mask_BS.all()) else memory.mask_B11S
        return DecoderCache(source_2NKSD, mask, max_length, width)

    def step(self, tokens_NW: Tensor, cache: DecoderCache, cross_weights: list[Tensor] | None = None) -> Tensor:
        """Logits (N, W, V), float32, of what follows `tokens_NW` (int64), each row's newest; the cache grows by one.

        Where all rows of a sentence are alike, as at first, one may stand for them (W = 1).
        If `cross_weights` is given, each block's cross-attention weights (N, H, W, S) are appended to it.
        """
        position, rows = cache.length, tokens_NW.size(1)
        step = Step(cache, rows, cache.grow(rows), cross_weights)
        tokens_R = tokens_NW.flatten() if self.pieces_L is None else self.pieces_L[tokens_NW.flatten()]
        x_RM = F.embedding(tokens_R, self.model.tgt_embedding.weight)
        x_RM = self.model.tgt_positions((x_RM * self.model.scale)[:, None], position)[:, 0]
        for block in self.blocks:
            x_RM = block.step(x_RM, step)
        logits_RV = self.output(x_RM if self.norm is None else self.norm(x_RM))
        return logits_RV.float().view(*tokens_NW.shape, -1)
