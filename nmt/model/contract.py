"""The methods of every model. Code outside `nmt.model` uses these, and no attribute of a particular family of models.

Shapes: B batch, S source length, T target length, M model width, V target vocabulary; in decoding N sentences, W rows
(hypotheses) of each, R rows (N × W); elsewhere N real target positions of a batch, or pairs.
"""

import contextlib
from abc import abstractmethod
from collections.abc import Iterator
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from nmt.config import ModelConfig
from nmt.model.blocks import Stack
from nmt.model.cache import Cache, DecoderCache, SourceWeights
from nmt.model.device import on_meta
from nmt.model.layers import Dropout, Linear, apply
from nmt.model.positions import AddedPositions, Place, Table

OUTPUT = ("output.weight", "output.bias")  # the parameters of the output layer; it may have no bias


class Limited(Protocol):
    """How much a model can read and write."""

    @property
    def longest_source(self) -> int | None:
        """The most pieces that a source may have, without EOS; None: no limit."""

    def longest_target(self, n_source: int) -> int | None:
        """The most pieces that a target may have, without EOS, if the source has `n_source`; None: no limit."""


class Decoder(Limited, Protocol):
    """What search calls: a `GenerativeModel` in evaluation mode, or an `Ensemble`."""

    @property
    def vocab_size(self) -> int: ...

    @abstractmethod
    def start(
        self, src_BS: Tensor, src_mask_BS: Tensor, max_length: int, width: int = 1, *, separate: bool = False
    ) -> Cache:
        """Read the sources; return an empty cache for `max_length` target positions of `width` rows of each sentence.
        Source ids are int64, each sentence with its EOS; the mask is True at real positions, which come first.
        `separate`: no row will continue another (`reorder` is not called), so none needs to see the others' slots."""

    @abstractmethod
    def step(self, tokens_NW: Tensor, cache: Cache) -> Tensor:
        """Logits (N, W, V), float32, of the pieces after `tokens_NW` (int64), which are added to the cache. One row
        (W = 1) may stand for all of a sentence, if they are equal, as at first, and not separate."""


def without_sources(n: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The sources (n, 0) and their mask, for `Decoder.start`, of n texts that have no source."""
    return torch.zeros(n, 0, dtype=torch.int64, device=device), torch.zeros(n, 0, dtype=torch.bool, device=device)


class Model(nn.Module):
    """A model of any family: what training needs."""

    output: nn.Linear  # from states (M) to logits (V)

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config, self.dropout = config, Dropout(config.dropout)
        self.scale = config.d_model**0.5 if config.scale_embeddings else 1.0
        self.max_positions = config.max_positions if config.positions == "learned" else None
        """The longest sequence that the model can read; None: no limit."""
        self.dtype: torch.dtype | None = None
        """Type of the states in all blocks, see `computing_in`; None: that of the weights."""

    def make_output(self, embedding: nn.Embedding) -> None:
        """Make the output layer for the pieces of an embedding, whose matrix it shares if the settings say so."""
        self.output = Linear(self.config.d_model, embedding.num_embeddings, bias=self.config.output_bias)
        if self.config.tied_embeddings != "none":
            self.output.weight = embedding.weight

    @abstractmethod
    def target_states(self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, tgt_mask_BT: Tensor) -> Tensor:
        """The last hidden states (N, M) at the real target positions, sentence by sentence.

        Sources as in `Decoder.start`; target ids int64, each sentence with its BOS. All may be on any device. An
        encoder-only model reads the source alone, and returns the states of the source where `tgt_mask_BT` is True.
        """

    @abstractmethod
    def sequence_lengths(self, source_N: Tensor, target_N: Tensor) -> list[Tensor]:
        """The length of each sequence (int64, N) that the model reads for a pair, one tensor for each sequence. Given
        are the lengths of sources with EOS (0: there is no source), and of targets with BOS."""

    def blocks(self) -> list[nn.Module]:
        """The blocks; each is compiled as a whole."""
        return [block for stack in self.stacks() for block in stack]

    def parts(self) -> dict[str, list[nn.Module]]:
        """The modules of each part that `training.freeze` can name: embeddings (with positions and the output layer),
        and the encoder and the decoder, each with its last norm, as far as there are any."""
        parts: dict[str, list[nn.Module]] = {"embeddings": []}
        for name, module in self.named_children():
            stack = name.removesuffix("_norm")
            parts.setdefault(stack if stack in ("encoder", "decoder") else "embeddings", []).append(module)
        return parts

    def vocabularies(self) -> dict[str, Literal["source", "target"]]:
        """The names of the parameters with a row for each piece, and whose pieces these are. Some may be missing."""
        return {"src_embedding.weight": "source", **dict.fromkeys(["tgt_embedding.weight", *OUTPUT], "target")}

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def vocab_size(self) -> int:
        return self.output.out_features

    def reserve(self, end: int) -> None:
        """Make the tables of positions long enough for positions below `end`, before layers are compiled with them."""
        for module in self.modules():
            if isinstance(module, Table):
                module.reserve(end)

    def embed(
        self, ids_BT: Tensor, embedding: nn.Module, positions: AddedPositions, place: Place | None = None
    ) -> Tensor:
        """Embeddings, scaled by √M if the settings say so (Vaswani et al. 2017, section 3.4), with positions, and
        dropout. `place`: the position of each id (B, T); None: 0 to T − 1."""
        x_BTM = positions.at(embedding(ids_BT) * self.scale, slice(0, ids_BT.size(1)) if place is None else place)
        return self.dropout(x_BTM if self.dtype is None else x_BTM.to(self.dtype))

    @contextlib.contextmanager
    def computing_in(self, dtype: torch.dtype | None) -> Iterator[None]:
        """A context in which `target_states` computes in this type (None: that of the weights), with rounded copies of
        the weights, but not of embeddings. Gradients have the type of the weights."""
        self.dtype = dtype
        try:
            yield
        finally:
            self.dtype = None

    def embeddings(self) -> list[Tensor]:
        """The parameters whose rows are embeddings of pieces or of positions."""
        pieces = [p for m in self.modules() if isinstance(m, nn.Embedding) for p in m.parameters()]
        return [*pieces, *self.position_tables()]

    def position_tables(self) -> list[Tensor]:
        return [m.table for m in self.modules() if isinstance(m, AddedPositions) and m.kind == "learned"]

    def stacks(self) -> list[Stack]:
        return [module for module in self.modules() if isinstance(module, Stack)]

    def recompute(self, layers: bool) -> None:
        """Set whether training stores less, and computes each layer again in the backward pass (Chen et al. 2016)."""
        for stack in self.stacks():
            stack.recompute = layers

    def fused_matrices(self) -> Iterator[tuple[Tensor, list[int]]]:
        """The weights that hold several matrices, one above another, and the number of rows of each matrix."""
        yield from ((m.weight, [*m.parts]) for m in self.modules() if isinstance(m, Linear) and m.parts)

    @torch.no_grad()
    def initialise(self) -> None:
        """Set the initial weights. Matrices: Xavier uniform (Glorot and Bengio 2010), separately for q, k, v and for
        the halves of gated layers; embeddings: normal with standard deviation 1/√M;
        biases: 0; norms: 1 (by PyTorch). On the device "meta" there are none."""
        if on_meta():
            return
        for module in self.modules():
            if isinstance(module, nn.Linear):
                if module is not self.output:
                    nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for fused, rows in self.fused_matrices():
            for part in fused.split(rows):
                nn.init.xavier_uniform_(part)
        # A dict, not a set: tied matrices come once, and in the same order in every process.
        named = dict(self.named_parameters())
        of_pieces = (named[name] for name in self.vocabularies() if name in named and name != "output.bias")
        for weight in dict.fromkeys([*self.position_tables(), *of_pieces]):
            nn.init.normal_(weight, std=self.config.d_model**-0.5)


def make_embedding(n_pieces: int, width: int) -> nn.Embedding:
    return nn.Embedding(n_pieces, width, _weight=torch.empty(n_pieces, width) if on_meta() else None)


class GenerativeModel(Model, Decoder):
    """A model that writes: a `Decoder` that can be trained, and can read whole translations."""

    tgt_embedding: nn.Embedding
    tgt_positions: AddedPositions
    decoder: Stack
    decoder_norm: nn.Module

    @abstractmethod
    def forward(self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, weights: SourceWeights = None) -> Tensor:
        """Logits (B, T, V), float32, of the pieces after each target position t, which sees target ids 0 to t. Ids are
        those of `target_states`."""

    def step(self, tokens_NW: Tensor, cache: Cache) -> Tensor:
        return apply(self.output, self.newest_states(tokens_NW, cache)).float().view(*tokens_NW.shape, -1)

    def newest_states(self, tokens_NW: Tensor, cache: Cache) -> Tensor:
        """`step` up to the output layer: the last hidden states (R, M)."""
        assert isinstance(cache, DecoderCache)
        cache.grow(tokens_NW.size(1))
        x_RM = torch.embedding(self.tgt_embedding.weight, tokens_NW.flatten()) * self.scale
        x_RM = self.tgt_positions.at(x_RM, cache.place)
        return apply(self.decoder_norm, self.decoder.step(x_RM, cache))

    def cache_bytes(self) -> dict[str, int]:
        """What decoding stores in all layers together, in bytes of the type of the model's weights: for each `target`
        token of each hypothesis, and for each `source` token, once for all of its hypotheses."""
        itemsize = next(self.parameters()).dtype.itemsize
        of_layer = 2 * self.config.kv_heads * self.config.d_head * itemsize  # keys and values
        return dict.fromkeys(("target", "source"), len(self.decoder) * of_layer)
