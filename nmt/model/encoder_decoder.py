"""The encoder–decoder Transformer: ids and masks in, logits out (Vaswani et al. 2017, and what came after).

Shapes: B batch, S source length, T target length, M model width, V target vocabulary.
Real positions come first and padding after them, on both sides.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt.config import ModelConfig
from nmt.model.attention import CrossAttention, SelfAttention, padding_mask
from nmt.model.blocks import DecoderBlock, EncoderBlock, FeedForward, make_norm
from nmt.model.dropout import Dropout
from nmt.model.positions import AddedPositions


@dataclass(frozen=True)
class Memory:
    """What the encoder made of the source: states (B, S, M) and the additive mask (B, 1, 1, S) of its padding."""

    states_BSM: Tensor
    mask_B11S: Tensor


class Transformer(nn.Module):
    """Source ids to target logits, for all positions at once; `incremental` decodes them one by one."""

    def __init__(self, config: ModelConfig, src_vocab_size: int, tgt_vocab_size: int) -> None:
        super().__init__()
        self.config, self.scale = config, config.d_model**0.5
        self.tgt_embedding = nn.Embedding(tgt_vocab_size, config.d_model)
        self.src_embedding = (
            self.tgt_embedding
            if config.tied_embeddings == "three-way"
            else nn.Embedding(src_vocab_size, config.d_model)
        )
        self.output = nn.Linear(config.d_model, tgt_vocab_size, bias=False)
        if config.tied_embeddings != "none":
            self.output.weight = self.tgt_embedding.weight
        self.src_positions, self.tgt_positions = AddedPositions(config), AddedPositions(config)
        self.encoder = nn.ModuleList(EncoderBlock(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderBlock(config) for _ in range(config.decoder_layers))
        # Pre-norm blocks leave their sum unnormalised: each stack ends with a norm of its own.
        pre_norm = config.norm_position == "pre"
        self.encoder_norm = make_norm(config) if pre_norm else nn.Identity()
        self.decoder_norm = make_norm(config) if pre_norm else nn.Identity()
        self.dropout = Dropout(config.dropout)
        initialise(self)

    @property
    def decoder_blocks(self) -> list[DecoderBlock]:
        return [block for block in self.decoder if isinstance(block, DecoderBlock)]

    @property
    def max_positions(self) -> int | None:
        """The longest sequence the model can take, in pieces; None: no limit."""
        return self.config.max_positions if self.config.positions == "learned" else None

    def forward(self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, tgt_mask_BT: Tensor | None = None) -> Tensor:
        """Logits (B, T, V) of the token after each target position; masks (bool) are True at real positions."""
        return self.decode(tgt_BT, self.encode(src_BS, src_mask_BS), tgt_mask_BT)

    def encode(self, src_BS: Tensor, src_mask_BS: Tensor) -> Memory:
        """Read the source: ids (B, S) int64, and True (bool) at real positions."""
        mask = padding_mask(src_mask_BS)
        x_BSM = self.embed(src_BS, self.src_embedding, self.src_positions)
        for block in self.encoder:
            x_BSM = block(x_BSM, mask)
        return Memory(self.encoder_norm(x_BSM), mask)

    def decode(self, tgt_BT: Tensor, memory: Memory, tgt_mask_BT: Tensor | None = None) -> Tensor:
        """Logits (B, T, V), float32: position t has seen target ids 0 to t, and the source."""
        return self.logits(self.decode_states(tgt_BT, memory, tgt_mask_BT))

    def decode_states(
        self,
        tgt_BT: Tensor,
        memory: Memory,
        tgt_mask_BT: Tensor | None = None,
        cross_weights: list[Tensor] | None = None,
    ) -> Tensor:
        """The decoder's last hidden states (B, T, M), for those who want logits at some positions only.

        If `cross_weights` is given, each layer's cross-attention weights (B, H, T, S) are appended to it.
        """
        # Needed only if the states at padding are looked at: real positions, which come before it, never see it.
        mask = None if tgt_mask_BT is None else padding_mask(tgt_mask_BT)
        x_BTM = self.embed(tgt_BT, self.tgt_embedding, self.tgt_positions)
        for block in self.decoder_blocks:
            x_BTM = block(x_BTM, mask, memory.states_BSM, memory.mask_B11S, cross_weights)
        states: Tensor = self.decoder_norm(x_BTM)
        return states

    def logits(self, states: Tensor) -> Tensor:
        """Hidden states (…, M) to float32 logits (…, V)."""
        return self.output(states).float()

    def embed(self, ids_BT: Tensor, embedding: nn.Module, positions: nn.Module) -> Tensor:
        """Embeddings scaled by √M (Vaswani et al. 2017, section 3.4), with positions, and dropout."""
        x_BTM: Tensor = self.dropout(positions(embedding(ids_BT) * self.scale))
        return x_BTM


def fused_matrices(model: nn.Module) -> Iterator[tuple[Tensor, list[int]]]:
    """Weights that are several matrices on top of each other, for the sake of speed; and the rows of each of them."""
    for module in model.modules():
        if isinstance(module, SelfAttention):
            yield module.qkv.weight, [n * module.d_head for n in module.heads]
        elif isinstance(module, CrossAttention):
            yield module.kv.weight, [module.kv_heads * module.d_head] * 2
        elif isinstance(module, FeedForward) and module.activation == "swiglu":
            yield module.up.weight, [module.down.in_features] * 2


@torch.no_grad()
def initialise(model: Transformer) -> None:
    """Every weight's first value. Matrices: Xavier uniform (Glorot and Bengio 2010), each of q, k, v and each half of
    SwiGLU's as the matrix it is; embeddings: normal with deviation 1/√M; biases 0; norms 1 (as PyTorch makes them)."""
    for module in model.modules():
        if isinstance(module, nn.Linear) and module is not model.output:
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for fused, rows in fused_matrices(model):
        for part in fused.split(rows):
            nn.init.xavier_uniform_(part)
    for module in model.modules():
        if isinstance(module, AddedPositions) and module.kind == "learned":
            nn.init.normal_(module.table, std=model.config.d_model**-0.5)
    # A dict, not a set: tied matrices come once, and in the same order in every process.
    for weight in dict.fromkeys([model.src_embedding.weight, model.tgt_embedding.weight, model.output.weight]):
        nn.init.normal_(weight, std=model.config.d_model**-0.5)
