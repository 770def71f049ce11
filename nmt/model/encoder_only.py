"""The encoder-only Transformer: it reads a sequence in both directions, and predicts pieces of it (Devlin et al. 2019).

Shapes: B batch, S source length, T = S, M model width, N positions to predict.
"""

from typing import Literal

from torch import Tensor, nn

from nmt.config import ModelConfig
from nmt.model.attention import padding_mask
from nmt.model.blocks import Block
from nmt.model.cache import Mask
from nmt.model.contract import OUTPUT, Model, make_embedding
from nmt.model.device import move
from nmt.model.layers import Linear, make_norm
from nmt.model.positions import AddedPositions
from nmt.model.stack import Stack


class EncoderOnly(Model):
    """A model that reads: it can't write. Its parts have the names of an encoder–decoder's, which may start from it."""

    def __init__(self, config: ModelConfig, vocab_size: int) -> None:
        super().__init__(config)
        self.src_embedding = make_embedding(vocab_size, config.d_model)
        self.output = Linear(config.d_model, vocab_size, bias=config.output_bias)
        if config.tied_embeddings != "none":
            self.output.weight = self.src_embedding.weight
        self.src_positions = AddedPositions(config, causal=False)
        self.encoder = Stack(config, Block, config.encoder_layers)
        self.encoder_norm = make_norm(config) if config.norm_position == "pre" else nn.Identity()
        self.initialise()

    def target_states(self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, tgt_mask_BT: Tensor) -> Tensor:
        # On the CPU, as in other families.
        chosen_N, padded = tgt_mask_BT.flatten().nonzero().squeeze(1), not bool(src_mask_BS.all())
        src_BS, src_mask_BS, chosen_N = (move(x, self.device) for x in (src_BS, src_mask_BS, chosen_N))
        return self.encode(src_BS, src_mask_BS if padded else None).flatten(0, 1).index_select(0, chosen_N)

    def encode(self, src_BS: Tensor, src_mask_BS: Tensor | None) -> Tensor:
        """The last hidden states (B, S, M); `src_mask_BS`: None if nothing is padded."""
        x_BSM = self.embed(src_BS, self.src_embedding, self.src_positions)
        mask: Mask = "all" if src_mask_BS is None else padding_mask(src_mask_BS, x_BSM)
        self_mask = self.src_positions.self_mask(x_BSM, mask)
        return self.encoder_norm(self.encoder(x_BSM, self_mask))

    def sequence_lengths(self, source_N: Tensor, target_N: Tensor) -> list[Tensor]:
        return [source_N]

    def blocks(self) -> list[nn.Module]:
        return [*self.encoder]

    def parts(self) -> dict[str, list[nn.Module]]:
        embeddings = [self.src_embedding, self.output, self.src_positions]
        return {"embeddings": embeddings, "encoder": [self.encoder, self.encoder_norm]}

    def vocabularies(self) -> dict[str, Literal["source", "target"]]:
        return dict.fromkeys(["src_embedding.weight", *OUTPUT], "source")
