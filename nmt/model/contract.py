"""The methods of every model. Code outside `nmt.model` uses these, and no attribute of a particular family of models.

Shapes: B batch, S source length, T target length, M model width, V target vocabulary, L size of a restricted one; in
decoding N sentences, W rows (hypotheses) of each, R rows (N × W); elsewhere N real target positions of a batch.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from nmt.config import ModelConfig
from nmt.model.attention import CrossAttention, SelfAttention
from nmt.model.blocks import FeedForward
from nmt.model.cache import CrossWeights, DecoderCache
from nmt.model.linear import apply, some_outputs
from nmt.model.positions import AddedPositions


class Decoder(Protocol):
    """What search calls: a `Model` in evaluation mode, a model with a `Restricted` vocabulary, or an `Ensemble`."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def max_positions(self) -> int | None:
        """The longest sequence that the model can read, in pieces; None: no limit."""

    def restricted(self, pieces_L: Tensor) -> "Decoder":
        """This decoder with a smaller vocabulary: its piece i is piece `pieces_L[i]` (int64) of the present one."""

    @abstractmethod
    def start(self, src_BS: Tensor, src_mask_BS: Tensor, max_length: int, width: int = 1) -> DecoderCache:
        """Read the sources; return an empty cache for `max_length` target positions of `width` rows of each sentence.
        Source ids are int64, each sentence with its EOS; the mask is True at real positions, which come first."""

    def step(self, tokens_NW: Tensor, cache: DecoderCache, cross_weights: CrossWeights = None) -> Tensor:
        """Logits (N, W, V), float32, of the pieces after `tokens_NW` (int64), which are added to the cache.

        If all rows of a sentence are equal, as at first, `tokens_NW` may have one row (W = 1) for all of them.
        """


class Model(nn.Module, Decoder):
    """A model of any family: a `Decoder` that can be trained, and can read whole translations."""

    config: ModelConfig
    output: nn.Linear  # from states (M) to logits (V)

    @abstractmethod
    def forward(self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, weights: CrossWeights = None) -> Tensor:
        """Logits (B, T, V), float32, of the pieces after each target position t, which sees target ids 0 to t. Sources
        as in `start`; target ids int64, each sentence with its BOS."""

    @abstractmethod
    def target_states(self, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, tgt_mask_BT: Tensor) -> Tensor:
        """The last hidden states (N, M) at the real target positions, sentence by sentence. Arguments as in `forward`,
        but on any device."""

    @abstractmethod
    def newest_states(self, tokens_NW: Tensor, cache: DecoderCache, cross_weights: CrossWeights) -> Tensor:
        """`step` up to the output layer: the last hidden states (R, M)."""

    @abstractmethod
    def blocks(self) -> list[nn.Module]:
        """The blocks; each is sharded or compiled as a whole."""

    @abstractmethod
    def parts(self) -> dict[str, list[nn.Module]]:
        """The modules of each part that `training.freeze` can name."""

    @abstractmethod
    def vocabularies(self) -> dict[str, Literal["source", "target"]]:
        """The names of the parameters that have a row for each piece, and whose pieces these are."""

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def vocab_size(self) -> int:
        return self.output.out_features

    @property
    def max_positions(self) -> int | None:
        return self.config.max_positions if self.config.positions == "learned" else None

    def restricted(self, pieces_L: Tensor) -> "Restricted":
        return Restricted(self, pieces_L)

    def step(self, tokens_NW: Tensor, cache: DecoderCache, cross_weights: CrossWeights = None) -> Tensor:
        states_RM = self.newest_states(tokens_NW, cache, cross_weights)
        return apply(self.output, states_RM).float().view(*tokens_NW.shape, -1)

    def embeddings(self) -> list[nn.Parameter]:
        """The parameters whose rows are embeddings, of pieces or of positions."""
        return [p for m in self.modules() if isinstance(m, nn.Embedding | AddedPositions) for p in m.parameters()]

    def fused_matrices(self) -> Iterator[tuple[Tensor, list[int]]]:
        """The weights that hold several matrices, one above another, and the number of rows of each matrix."""
        for module in self.modules():
            if isinstance(module, SelfAttention):
                H, K, D = module.sizes
                yield module.qkv.weight, [H * D, K * D, K * D]
            elif isinstance(module, CrossAttention):
                yield module.kv.weight, [module.kv.out_features // 2] * 2
            elif isinstance(module, FeedForward) and module.activation == "swiglu":
                yield module.up.weight, [module.down.in_features] * 2


class Restricted:
    """A `Decoder` that can write only some pieces of a model's vocabulary."""

    def __init__(self, model: Model, pieces_L: Tensor) -> None:
        self.model, self.pieces_L, self.start = model, pieces_L, model.start
        self.vocab_size, self.max_positions = pieces_L.size(0), model.max_positions
        self.output = some_outputs(model.output, pieces_L)

    def restricted(self, pieces_L: Tensor) -> "Restricted":
        return Restricted(self.model, self.pieces_L[pieces_L])

    def step(self, tokens_NW: Tensor, cache: DecoderCache, cross_weights: CrossWeights = None) -> Tensor:
        states_RM = self.model.newest_states(self.pieces_L[tokens_NW], cache, cross_weights)
        return apply(self.output, states_RM).float().view(*tokens_NW.shape, -1)
