"""The decoder's memory while it writes: keys and values of the tokens so far, and of the source sentences.

Shapes: N sentences, W rows (hypotheses) of each, K key–value heads, S source length, D head width, L slots: one for
each row of each target position so far, position after position.

A row never moves. All rows of a sentence look at all of its slots, through a mask that shows each row the slots of its
own past; a beam that goes on from another hypothesis takes over its line of that mask and copies no key or value.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.model.attention import MASKED


@dataclass
class LayerCache:
    """One decoder block's keys and values, of a sentence's heads one after the other: (N × K, L or S, D)."""

    keys: Tensor
    values: Tensor
    source_keys: Tensor
    source_values: Tensor


class DecoderCache:
    """What the next step needs of the past. Made by `IncrementalDecoder.start`, held by the caller."""

    def __init__(
        self, source_2NKSD: list[Tensor], source_mask_N11S: Tensor | None, max_length: int, width: int
    ) -> None:
        """Args:
        source_2NKSD: each block's keys and values of the source.
        source_mask_N11S: additive; None if there is no padding.
        max_length: target positions to make room for.
        width: rows of each sentence.
        """
        _, n_sentences, n_heads, _, d_head = source_2NKSD[0].shape
        self.width, self.max_length, self.length = width, max_length, 0
        self.source_2NKSD, self.source_mask_N11S = source_2NKSD, source_mask_N11S
        self.target_2NKLD = [s.new_empty(2, n_sentences, n_heads, max_length * width, d_head) for s in source_2NKSD]
        self.past_NWL = torch.full((n_sentences, width, max_length * width), MASKED, device=source_2NKSD[0].device)
        self.layers = self.make_layers()

    def make_layers(self) -> list[LayerCache]:
        return [
            LayerCache(*(part.flatten(0, 1) for pair in both for part in pair))
            for both in zip(self.target_2NKLD, self.source_2NKSD, strict=True)
        ]

    @property
    def n_sentences(self) -> int:
        return self.past_NWL.size(0)

    def grow(self, rows: int) -> Tensor | None:
        """Make room for a position; return the mask (N, 1, rows, filled) of the first rows' past with it, if needed."""
        start, self.length = self.length * self.width, self.length + 1
        if self.width == 1:
            return None
        self.past_NWL[:, :, start : start + self.width].diagonal(dim1=1, dim2=2).zero_()
        return self.past_NWL[:, None, :rows, : start + self.width]

    def append(self, layer: int, kv_2NKWD: Tensor) -> tuple[Tensor, Tensor]:
        """Store a block's keys and values of the newest position; return all so far, each (N × K, filled, D).

        Those of one row are every row's.
        """
        filled = self.length * self.width
        self.target_2NKLD[layer][:, :, :, filled - self.width : filled] = kv_2NKWD
        cache = self.layers[layer]
        return cache.keys[:, :filled], cache.values[:, :filled]

    def reorder(self, parents_NW: Tensor) -> None:
        """Let each row go on from row `parents_NW` (int64, from 0 to W − 1) of its sentence; some may have no heir."""
        if self.width > 1:
            filled = self.length * self.width
            index_NWL = parents_NW[:, :, None].expand(-1, -1, filled)
            self.past_NWL[:, :, :filled] = self.past_NWL[:, :, :filled].gather(1, index_NWL)

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences with these numbers (int64, rising), and let the others go."""
        n, filled = sentences.size(0), self.length * self.width
        for i, target_2NKLD in enumerate(self.target_2NKLD):
            kept = target_2NKLD[:, :, :, :filled].index_select(1, sentences)
            self.target_2NKLD[i] = target_2NKLD[:, :n]
            self.target_2NKLD[i][:, :, :, :filled] = kept
        self.source_2NKSD = [source.index_select(1, sentences) for source in self.source_2NKSD]
        self.past_NWL = self.past_NWL[sentences]
        if self.source_mask_N11S is not None:
            self.source_mask_N11S = self.source_mask_N11S[sentences]
        self.layers = self.make_layers()
