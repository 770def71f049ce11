"""The decoder's memory while it writes: keys and values of the tokens so far, and of the source sentences.

Shapes: R rows (hypotheses), N sentences, W rows a sentence (beam size, R = N × W), K key–value heads, T target length,
S source length, D head width. The W rows of a sentence stand together and share its source keys and values.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class LayerCache:
    """One decoder block's keys and values; `length` target positions of the preallocated ones are filled."""

    keys_RKTD: Tensor
    values_RKTD: Tensor
    source_NKSD: tuple[Tensor, Tensor]
    length: int = 0

    def append(self, k_RK1D: Tensor, v_RK1D: Tensor) -> tuple[Tensor, Tensor]:
        """Store the newest positions' keys and values; return all so far, each of shape (R, K, length, D)."""
        start, self.length = self.length, self.length + k_RK1D.size(2)
        self.keys_RKTD[:, :, start:self.length] = k_RK1D
        self.values_RKTD[:, :, start:self.length] = v_RK1D
        return self.keys_RKTD[:, :, :self.length], self.values_RKTD[:, :, :self.length]

    def reorder_target(self, index_R: Tensor) -> None:
        """Rebuild the rows; only the filled positions are copied."""
        for name in ("keys_RKTD", "values_RKTD"):
            old = getattr(self, name)
            new = old.new_empty(index_R.size(0), *old.shape[1:])
            new[:, :, :self.length] = old[index_R, :, :self.length]
            setattr(self, name, new)


@dataclass
class DecoderCache:
    """What `Transformer.decode_step` needs of the past. Made by `Transformer.new_cache`, held by the caller."""

    layers: list[LayerCache]
    memory_mask_N11S: Tensor
    beam_size: int

    @property
    def length(self) -> int:
        """Target positions decoded so far."""
        return self.layers[0].length

    @property
    def max_length(self) -> int:
        """Target positions there is room for."""
        return self.layers[0].keys_RKTD.size(2)

    @property
    def n_sentences(self) -> int:
        return self.memory_mask_N11S.size(0)

    def reorder(self, index_R: Tensor) -> None:
        """Keep the rows `index_R` (int64), in that order.

        A row may come again or not at all, and whole sentences may leave; but each successive `beam_size` rows must
        come from one sentence.
        """
        assert index_R.size(0) % self.beam_size == 0, "whole sentences stay or leave"
        sentences_N = index_R[::self.beam_size] // self.beam_size
        leaving = sentences_N.size(0) != self.n_sentences or not torch.equal(
            sentences_N, torch.arange(self.n_sentences, device=sentences_N.device))
        for layer in self.layers:
            layer.reorder_target(index_R)
            if leaving:
                k, v = layer.source_NKSD
                layer.source_NKSD = k[sentences_N], v[sentences_N]
        if leaving:
            self.memory_mask_N11S = self.memory_mask_N11S[sentences_N]
