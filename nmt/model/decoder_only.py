"""The decoder-only Transformer: source and target are one sequence (Radford et al. 2018; prefix: Liu et al. 2018).

The sequence of a pair is `<s> source </s> <s> target </s>`: the second `<s>` separates the target from the source. That
of a text without a source is `<s> text </s>`. There is no padding between source and target, so that a target's
positions follow its own source's. The source with its `<s>` and `</s>` is the prefix.

Shapes: B batch, S source length, T target length, P prefix length, L length of the sequence, M model width, V
vocabulary; N, W, R, K, D as in `cache`. Real positions come first and padding after them.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmt.config import ModelConfig
from nmt.model.attention import Seen, causal_mask, padding_mask
from nmt.model.blocks import Block, Stack
from nmt.model.cache import DecoderCache, Mask, SourceWeights
from nmt.model.contract import GenerativeModel, make_embedding
from nmt.model.device import move
from nmt.model.layers import make_last_norm
from nmt.model.positions import AddedPositions
from nmt.vocabulary import BOS


def join(src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, longest: int) -> tuple[Tensor, Tensor]:
    """Join sources and targets without padding between them: ids (B, L), arbitrary behind shorter sequences, and the
    position of each target's BOS (B), the length of its prefix. `longest`: length of the longest sequence."""
    if not src_BS.size(1):
        return tgt_BT, torch.zeros(len(tgt_BT), dtype=torch.int64, device=tgt_BT.device)
    starts_B = src_mask_BS.sum(1) + 1
    apart_BX = torch.cat([pad(src_BS, (1, 0), value=BOS), tgt_BT], dim=1)
    place_L = torch.arange(longest, device=src_BS.device)
    gap_B1 = (src_BS.size(1) + 1 - starts_B)[:, None]
    from_BL = torch.where(place_L < starts_B[:, None], place_L, place_L + gap_B1).clamp_(max=apart_BX.size(1) - 1)
    return apart_BX.gather(1, from_BL), starts_B


class DecoderOnly(GenerativeModel):
    """A model that reads the source as the beginning of the sequence that it continues: in both directions, as an
    encoder, or causally (`model.source_attention`)."""

    def __init__(self, config: ModelConfig, vocab_size: int) -> None:
        super().__init__(config)
        self.tgt_embedding = make_embedding(vocab_size, config.d_model)
        self.make_output(self.tgt_embedding)
        self.tgt_positions = AddedPositions(config)
        self.decoder = Stack(config, Block, config.encoder_layers + config.decoder_layers)
        self.decoder_norm = make_last_norm(config)
        self.initialise()

    @property
    def longest_source(self) -> int | None:
        # Half of the positions, so that a translation has as much room as its source.
        return None if self.max_positions is None else (self.max_positions - 3) // 2

    def longest_target(self, n_source: int) -> int | None:
        beside = n_source + 2 if n_source else 0  # a text without a source has no marks of a source
        return None if self.max_positions is None else self.max_positions - 1 - beside

    def sequence_lengths(self, source_N: Tensor, target_N: Tensor) -> list[Tensor]:
        return [torch.where(source_N > 0, source_N + 1, 0) + target_N]

    def forward(self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, weights: SourceWeights = None) -> Tensor:
        T, S = tgt_BT.size(1), src_BS.size(1)
        longest = T + (int(src_mask_BS.sum(1).max()) + 1 if S else 0)
        ids_BL, starts_B = join(src_BS, src_mask_BS, tgt_BT, longest)
        seen = None if weights is None else Seen([], [])
        x_BLM = self.read(ids_BL, starts_B, seen)
        where_BT = starts_B[:, None] + torch.arange(T, device=tgt_BT.device)
        if weights is not None and seen is not None and seen.weights is not None:
            for weights_BHLL in seen.weights:
                H, L = weights_BHLL.size(1), weights_BHLL.size(3)
                weights_BHTL = weights_BHLL.gather(2, where_BT[:, None, :, None].expand(-1, H, -1, L))
                # As in cross-attention: without `<s>` and the target, and with the sum 1.
                weights_BHTS = weights_BHTL[..., 1 : 1 + S] * src_mask_BS[:, None, None]
                weights.append(weights_BHTS / weights_BHTS.sum(-1, keepdim=True).clamp(min=1e-9))
        return self.output(x_BLM.gather(1, where_BT[:, :, None].expand(-1, -1, x_BLM.size(2)))).float()

    def target_states(self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, tgt_mask_BT: Tensor) -> Tensor:
        # Computed before the ids are moved: on a GPU, the CPU would have to wait for the number of positions.
        n_source_B, n_target_B = src_mask_BS.sum(1), tgt_mask_BT.sum(1)
        (lengths_B,) = self.sequence_lengths(n_source_B, n_target_B)
        ids_BL, starts_B = join(src_BS, src_mask_BS, tgt_BT, int(lengths_B.max()))
        place_L = torch.arange(ids_BL.size(1), device=ids_BL.device)
        real_BL = (place_L >= starts_B[:, None]) & (place_L < lengths_B[:, None])
        real_N = real_BL.flatten().nonzero().squeeze(1)
        ids_BL, starts_B, real_N = (move(x, self.device) for x in (ids_BL, starts_B, real_N))
        return self.read(ids_BL, starts_B).flatten(0, 1).index_select(0, real_N)

    def read(self, ids_BL: Tensor, starts_B: Tensor, seen: Seen | None = None) -> Tensor:
        """The last hidden states (B, L, M) of whole sequences, given the lengths of their prefixes (0: none)."""
        x_BLM = self.embed(ids_BL, self.tgt_embedding, self.tgt_positions)
        mask: Mask = None
        if self.config.source_attention == "bidirectional":
            in_prefix_BL = torch.arange(ids_BL.size(1), device=ids_BL.device) < starts_B[:, None]
            mask = causal_mask(ids_BL.size(1), x_BLM).masked_fill(in_prefix_BL[:, None, None], 0.0)
        return self.decoder_norm(self.decoder(x_BLM, mask, seen))

    def start(
        self, src_BS: Tensor, src_mask_BS: Tensor, max_length: int, width: int = 1, *, separate: bool = False
    ) -> DecoderCache:
        prefix_BP, real_BP = src_BS, src_mask_BS
        if src_BS.size(1):
            prefix_BP, real_BP = pad(src_BS, (1, 0), value=BOS), pad(src_mask_BS, (1, 0), value=True)
        is_causal = self.config.source_attention == "causal"
        return self.start_after(prefix_BP, real_BP, max_length, width, separate, is_causal)

    def start_after(
        self, prefix_BP: Tensor, real_BP: Tensor, length: int, width: int, separate: bool = True, causal: bool = True
    ) -> DecoderCache:
        """As `start`, after any ids, which are read as they are. P may be 0. `real_BP`: True at real positions, which
        come first; `causal`: whether each id sees only the ids before it."""
        assert not self.training, "dropout would make the search random: call model.eval() first"
        self.reserve(prefix_BP.size(1) + length)
        seen = Seen([])
        # Padding comes last, so a causal mask hides it from all real positions.
        x_BPM = self.embed(prefix_BP, self.tgt_embedding, self.tgt_positions)
        self.decoder(x_BPM, None if causal else padding_mask(real_BP, x_BPM), seen)
        prefix = seen.keys_values
        if not separate or width == 1:
            return DecoderCache(length, width, prefix, real_BP)
        return DecoderCache(length, width, prefix, real_BP, padding_mask(real_BP, x_BPM.float()), separate=True)
