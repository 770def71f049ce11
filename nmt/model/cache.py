"""The decoder's cache: keys and values of the tokens decoded so far, and of the source sentences.

Shapes: N sentences, W rows (hypotheses) of each, K key–value heads, X of all sentences (N × K), S source length, D head
width, L slots: one for each row of each target position so far, position after position.

A row never moves. All rows of a sentence look at all of its slots, through a mask that shows each row the slots of its
own past. When a hypothesis continues another one, its row takes over the other's line of the mask: keys and values are
not copied.
"""

import torch
from torch import Tensor

# What a mask adds to hidden scores. Finite, so that a row in which all is hidden is uniform and never NaN; e to this
# power is exactly 0 in every dtype.
MASKED = -1e9

KeysValues = tuple[Tensor, Tensor]
"""Keys (X, D, L or S), transposed as the product with queries needs them, and values (X, L or S, D)."""

CrossWeights = list[Tensor] | None
"""A list to which each decoder block appends its cross-attention weights (N, H heads, T positions or W rows, S);
None: nobody needs them."""


class DecoderCache:
    """The state of a batch between two decoding steps. Made by `Decoder.start`, held by the caller."""

    def __init__(self, source_2NKSD: list[Tensor], mask_N11S: Tensor | None, max_length: int, width: int) -> None:
        """Make room for `max_length` target positions of `width` rows. Given are each block's keys and values of the
        source, and the additive mask of the source's padding (None: there is no padding)."""
        first = source_2NKSD[0]
        _, n_sentences, n_heads, _, d_head = first.shape
        self.width, self.length = width, 0
        self.source_2NKSD, self.source_mask_N11S = source_2NKSD, mask_N11S
        self.target_2NKLD = [s.new_empty(2, n_sentences, n_heads, max_length * width, d_head) for s in source_2NKSD]
        self.past_NWL = torch.full((n_sentences, width, max_length * width), MASKED, device=first.device)
        # Of the newest position: rows of each sentence, and the mask of their past (None if they see every slot).
        self.rows, self.past_N1WL = width, None if width == 1 else self.past_NWL[:, None]
        self.empty_111 = first.new_empty(1, 1, 1)
        self.view()

    def view(self) -> None:
        """Make the views of all keys and values that attention uses."""
        layers = (self.source_2NKSD, self.target_2NKLD)
        self.source, self.target = ([(kv[0].flatten(0, 1).mT, kv[1].flatten(0, 1)) for kv in kvs] for kvs in layers)

    def grow(self, rows: int) -> None:
        """Make room for the next position, in which the first `rows` rows of each sentence get a token."""
        start, self.length, self.rows = self.length * self.width, self.length + 1, rows
        if self.width > 1:
            self.past_NWL[:, :, start : start + self.width].diagonal(dim1=1, dim2=2).zero_()
            self.past_N1WL = self.past_NWL[:, None, :rows, : start + self.width]

    def append(self, layer: int, kv_2NKWD: Tensor) -> KeysValues:
        """Store a block's keys and values of the newest position (W = 1: the same for every row); return those of all
        positions so far."""
        filled = self.length * self.width
        self.target_2NKLD[layer].narrow(3, filled - self.width, self.width).copy_(kv_2NKWD)
        keys_XDL, values_XLD = self.target[layer]
        return keys_XDL.narrow(2, 0, filled), values_XLD.narrow(1, 0, filled)

    def reorder(self, parents_NW: Tensor) -> None:
        """Let each row continue row `parents_NW` (int64, from 0 to W − 1) of its sentence."""
        if self.width > 1:
            filled = self.length * self.width
            index_NWL = parents_NW[:, :, None].expand(-1, -1, filled)
            self.past_NWL[:, :, :filled] = self.past_NWL[:, :, :filled].gather(1, index_NWL)

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences with these numbers (int64, ascending) and drop the others."""
        n, filled = sentences.size(0), self.length * self.width
        for i, target_2NKLD in enumerate(self.target_2NKLD):
            kept = target_2NKLD[:, :, :, :filled].index_select(1, sentences)
            self.target_2NKLD[i] = target_2NKLD[:, :n]
            self.target_2NKLD[i][:, :, :, :filled] = kept
        self.source_2NKSD = [source.index_select(1, sentences) for source in self.source_2NKSD]
        self.past_NWL = self.past_NWL[sentences]
        if self.source_mask_N11S is not None:
            self.source_mask_N11S = self.source_mask_N11S[sentences]
        self.view()
