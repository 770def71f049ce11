"""Transformers with an encoder: ids and masks in, logits out (Vaswani et al. 2017, and later variants).

Shapes: B batch, S source length, T target length, M model width, V target vocabulary; in decoding N, W, K, D see
`cache`, R rows (N × W). Real positions come first and padding after them, on both sides.
"""

from typing import Any, Literal

import torch
from torch import Tensor, nn

from nmt.config import ModelConfig
from nmt.model.attention import padding_mask, rows_mask
from nmt.model.blocks import Block, DecoderBlock, Stack
from nmt.model.cache import DecoderCache, Mask, SourceWeights
from nmt.model.contract import OUTPUT, GenerativeModel, Model, make_embedding
from nmt.model.device import move
from nmt.model.layers import make_last_norm
from nmt.model.positions import AddedPositions
from nmt.vocabulary import EOS


class WithEncoder(Model):
    """A model with an encoder, which reads the source in both directions."""

    src_embedding: nn.Embedding
    src_positions: AddedPositions
    encoder: Stack
    encoder_norm: nn.Module

    def encode(self, src_BS: Tensor, src_mask_BS: Tensor | None) -> tuple[Tensor, Mask]:
        """Read the source (None: it has no padding): states (B, S, M), and the mask (B, 1, 1, S) of what isn't read:
        its padding and, with `source_end: false`, EOS."""
        if not self.config.source_end:
            read_BS = src_BS != EOS
            src_mask_BS = read_BS if src_mask_BS is None else src_mask_BS & read_BS
        x_BSM = self.embed(src_BS, self.src_embedding, self.src_positions)
        mask_B11S: Mask = "all" if src_mask_BS is None else padding_mask(src_mask_BS, x_BSM)
        return self.encoder_norm(self.encoder(x_BSM, mask_B11S)), mask_B11S


class EncoderDecoder(WithEncoder, GenerativeModel):
    """A model that reads the source in both directions, and writes the target from left to right."""

    def __init__(self, config: ModelConfig, src_vocab_size: int, tgt_vocab_size: int) -> None:
        super().__init__(config)
        self.tgt_embedding = self.src_embedding = make_embedding(tgt_vocab_size, config.d_model)
        if config.tied_embeddings != "three-way":
            self.src_embedding = make_embedding(src_vocab_size, config.d_model)
        self.make_output(self.tgt_embedding)
        self.src_positions = AddedPositions(config)
        self.tgt_positions = AddedPositions(config)
        self.encoder = Stack(config, Block, config.encoder_layers)
        self.decoder = Stack(config, DecoderBlock, config.decoder_layers)
        self.encoder_norm, self.decoder_norm = make_last_norm(config), make_last_norm(config)
        self.initialise()

    @property
    def longest_source(self) -> int | None:
        return None if self.max_positions is None else self.max_positions - 1

    def longest_target(self, n_source: int) -> int | None:
        return self.longest_source

    def sequence_lengths(self, source_N: Tensor, target_N: Tensor) -> list[Tensor]:
        return [source_N, target_N]

    def forward(self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, weights: SourceWeights = None) -> Tensor:
        return self.output(self.decode(tgt_BT, *self.encode(src_BS, src_mask_BS), weights)).float()

    def target_states(self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, tgt_mask_BT: Tensor) -> Tensor:
        # Computed before the masks are moved: on a GPU, the CPU would have to wait for the number of positions.
        real_N, padded = tgt_mask_BT.flatten().nonzero().squeeze(1), not bool(src_mask_BS.all())
        batch = (src_BS, src_mask_BS, tgt_BT, real_N)
        src_BS, src_mask_BS, tgt_BT, real_N = (move(x, self.device) for x in batch)
        states_BTM = self.decode(tgt_BT, *self.encode(src_BS, src_mask_BS if padded else None))
        return states_BTM.flatten(0, 1).index_select(0, real_N)

    def packed_states(self, src_BS: Tensor, src_place_BS: Tensor, tgt_BT: Tensor, tgt_place_BT: Tensor) -> Tensor:
        """The last hidden states (B, T, M) of rows in which several pairs follow one another. A place is the position
        of an id in its own sequence (int64), so each sequence, and each id of padding, begins at place 0. No size
        depends on the values: on a GPU, a step can be recorded (see `nmt.training.recorded`)."""
        x_BSM = self.embed(src_BS, self.src_embedding, self.src_positions, src_place_BS)
        memory_BSM = self.encoder_norm(self.encoder(x_BSM, rows_mask(src_place_BS, src_place_BS, x_BSM)))
        x_BTM = self.embed(tgt_BT, self.tgt_embedding, self.tgt_positions, tgt_place_BT)
        seen = rows_mask(tgt_place_BT, src_place_BS, x_BTM)
        past = rows_mask(tgt_place_BT, tgt_place_BT, x_BTM, causal=True)
        return self.decoder_norm(self.decoder(x_BTM, memory_BSM, seen, None, past))

    def decode(self, tgt_BT: Tensor, memory_BSM: Tensor, mask_B11S: Mask, weights: SourceWeights = None) -> Tensor:
        """The last hidden states (B, T, M), given the output of `encode`: position t sees target ids 0 to t."""
        x_BTM = self.embed(tgt_BT, self.tgt_embedding, self.tgt_positions)
        return self.decoder_norm(self.decoder(x_BTM, memory_BSM, mask_B11S, weights))

    def start(
        self, src_BS: Tensor, src_mask_BS: Tensor, max_length: int, width: int = 1, *, separate: bool = False
    ) -> DecoderCache:
        assert not self.training, "dropout would make the search random: call model.eval() first"
        memory_BSM, mask = self.encode(src_BS, None if bool(src_mask_BS.all()) else src_mask_BS)
        blocks: list[Any] = list(self.decoder)
        source_2NKSD = [torch.stack(block.cross_attention.keys_values(memory_BSM)) for block in blocks]
        mask_N11S = mask if isinstance(mask, Tensor) else None
        return DecoderCache(max_length, width, source_2NKSD, None, mask_N11S, separate=separate)


class EncoderOnly(WithEncoder):
    """A model that reads: it can't write (Devlin et al. 2019). It predicts pieces of the sequence that it reads. Its
    parts have the names of an encoder–decoder's, which may start from it."""

    def __init__(self, config: ModelConfig, vocab_size: int) -> None:
        super().__init__(config)
        self.src_embedding = make_embedding(vocab_size, config.d_model)
        self.make_output(self.src_embedding)
        self.src_positions = AddedPositions(config)
        self.encoder = Stack(config, Block, config.encoder_layers)
        self.encoder_norm = make_last_norm(config)
        self.initialise()

    def target_states(self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, tgt_mask_BT: Tensor) -> Tensor:
        # On the CPU, as in an encoder–decoder.
        chosen_N, padded = tgt_mask_BT.flatten().nonzero().squeeze(1), not bool(src_mask_BS.all())
        src_BS, src_mask_BS, chosen_N = (move(x, self.device) for x in (src_BS, src_mask_BS, chosen_N))
        states_BSM, _ = self.encode(src_BS, src_mask_BS if padded else None)
        return states_BSM.flatten(0, 1).index_select(0, chosen_N)

    def sequence_lengths(self, source_N: Tensor, target_N: Tensor) -> list[Tensor]:
        return [source_N]

    def vocabularies(self) -> dict[str, Literal["source", "target"]]:
        return dict.fromkeys(["src_embedding.weight", *OUTPUT], "source")
