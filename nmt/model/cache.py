"""The decoder's cache: keys and values of the tokens decoded so far, and of the source sentences.

Shapes: N sentences, W rows (hypotheses) of each, R all rows (N × W), K key–value heads, X of all sentences (N × K), S
source length, D head width, P prefix length, L slots: one for each position of the prefix, then one for each row of
each target position so far, position after position; H heads or, without biases of positions, 1; 2 keys and values (of
latent attention 1: its values are a part of its keys).

A decoder-only model reads the source as the beginning of its only sequence: this prefix takes the first slots, once for
all rows. In an encoder–decoder there is no prefix, and `CrossCache` keeps the keys and values of the source apart.

A row never moves. All rows of a sentence look at all of its slots, through a mask that shows each row the slots of its
own past. When a hypothesis continues another one, its row takes over the other's line of the mask: keys and values are
not copied.

Samples never continue one another: their rows are separate. For the target, a cache then has N × W sentences of one
row: time and memory grow with the rows, not with their square. The source, or the prefix, is still stored once.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

import torch
from torch import Tensor

# What a mask adds to hidden scores. Finite, so that a row in which all is hidden is uniform and never NaN; e to this
# power is exactly 0 in every dtype.
MASKED = -1e9
Mask = Tensor | Literal["all"] | None
"""What queries of whole sequences see. A tensor is added to the scores; "all": each query sees all keys; None: query t
sees keys 0 to t (causal attention). On a GPU attention is a little faster where there is no tensor."""

KeysValues = tuple[Tensor, Tensor]
"""Keys (X, D, L or S), transposed as the product with queries needs them, and values (X, L or S, D)."""

SourceWeights = list[Tensor] | None
"""A list to which each decoder layer appends its attention to the source (N, H heads, T positions or W rows, S); None:
nobody needs these weights."""


def view(kv_2NKLD: Tensor) -> KeysValues:
    """The keys and values of a block as attention uses them; the values are the keys if only keys are stored."""
    return kv_2NKLD[0].flatten(0, 1).mT, kv_2NKLD[-1].flatten(0, 1)


class Cache(Protocol):
    """The state of a batch between two decoding steps. Made by `Decoder.start`, held by the caller."""

    def reorder(self, parents_NW: Tensor) -> None:
        """Let each row continue row `parents_NW` (int64, from 0 to W − 1) of its sentence."""

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences with these numbers (int64, ascending) and drop the others."""


class DecoderCache:
    """The cache of a model: keys and values of all its blocks."""

    def __init__(
        self,
        prefix_2NKPD: Sequence[Tensor],
        max_length: int,
        width: int,
        real_NP: Tensor | None = None,
        bias_HX: Tensor | None = None,
    ) -> None:
        """Make room for `max_length` target positions of `width` rows, after each block's keys and values of a prefix.
        `real_NP`: True at the real positions of the prefix, which come first; None: there is no prefix (P = 0).
        `bias_HX`: as `ScoreBias.past`, of P + max_length positions; None: positions have no biases."""
        first = prefix_2NKPD[0]
        n_sentences, n_prefix = first.size(1), first.size(3)
        self.width, self.length, self.n_prefix = width, 0, n_prefix
        n_slots = n_prefix + max_length * width
        self.target_2NKLD = [p.new_empty(*p.shape[:3], n_slots, p.size(4)) for p in prefix_2NKPD]
        for target_2NKLD, prefix in zip(self.target_2NKLD, prefix_2NKPD, strict=True):
            target_2NKLD[:, :, :, :n_prefix] = prefix
        self.past_NWL = torch.full((n_sentences, width, n_slots), MASKED, device=first.device)
        self.real_NP = real_NP
        if real_NP is not None:
            self.past_NWL[:, :, :n_prefix].masked_fill_(real_NP[:, None], 0.0)
        # Otherwise every row sees every slot.
        self.masked = width > 1 or (real_NP is not None and not bool(real_NP.all()))
        # Of the newest position: rows of each sentence, their place in the sequence, and the mask of their past.
        self.rows = width
        self.place: slice | Tensor = slice(0, 0)
        self.past_NHWL: Tensor | None = None
        self.bias_HX = bias_HX
        self.empty_111 = first.new_empty(1, 1, 1)
        self.target = [view(target) for target in self.target_2NKLD]

    @property
    def filled(self) -> int:
        """Number of slots in use."""
        return self.n_prefix + self.length * self.width

    def grow(self, rows: int) -> None:
        """Make room for the next position, in which the first `rows` rows of each sentence get a token."""
        start, self.length, self.rows, self.past_NHWL = self.filled, self.length + 1, rows, None
        if self.masked:
            self.past_NWL[:, :, start : start + self.width].diagonal(dim1=1, dim2=2).zero_()
            self.past_NHWL = self.past_NWL[:, None, :rows, : start + self.width]
        if self.bias_HX is not None:
            bias_NH1L = self.bias(self.bias_HX)
            self.past_NHWL = bias_NH1L if self.past_NHWL is None else bias_NH1L + self.past_NHWL
        if self.real_NP is None:
            self.place = slice(self.length - 1, self.length)
        else:
            self.place = (self.real_NP.sum(1) + self.length - 1).repeat_interleave(rows)

    def bias(self, bias_HX: Tensor) -> Tensor:
        """The biases (N or 1, H, 1, L) of the newest position, the same for all rows and all blocks."""
        rows_1H1L = bias_HX[:, -self.length :].repeat_interleave(self.width, 1)[None, :, None]
        if self.real_NP is None:
            return rows_1H1L
        prefix_NH1P = prefix_bias(bias_HX, self.real_NP.sum(1) + self.length - 1, self.n_prefix)
        return torch.cat([prefix_NH1P, rows_1H1L.expand(prefix_NH1P.size(0), -1, -1, -1)], dim=3)

    def append(self, layer: int, kv_2NKWD: Tensor) -> KeysValues:
        """Store a block's keys and values of the newest position (W = 1: the same for every row); return those of all
        slots in use."""
        filled = self.filled
        self.target_2NKLD[layer].narrow(3, filled - self.width, self.width).copy_(kv_2NKWD)
        keys_XDL, values_XLD = self.target[layer]
        return keys_XDL.narrow(2, 0, filled), values_XLD.narrow(1, 0, filled)

    def reorder(self, parents_NW: Tensor) -> None:
        if self.width > 1:
            past_NWL = self.past_NWL[:, :, self.n_prefix : self.filled]
            past_NWL.copy_(past_NWL.gather(1, parents_NW[:, :, None].expand(-1, -1, past_NWL.size(2))))

    def keep(self, sentences: Tensor) -> None:
        n, filled = sentences.size(0), self.filled
        for i, target_2NKLD in enumerate(self.target_2NKLD):
            kept = target_2NKLD[:, :, :, :filled].index_select(1, sentences)
            self.target_2NKLD[i] = target_2NKLD[:, :n]
            self.target_2NKLD[i][:, :, :, :filled] = kept
        self.past_NWL = self.past_NWL[sentences]
        if self.real_NP is not None:
            self.real_NP = self.real_NP[sentences]
        self.target = [view(target) for target in self.target_2NKLD]


def prefix_bias(bias_HX: Tensor, newest_N: Tensor, n_prefix: int) -> Tensor:
    """The biases (N, H, 1, P) of the positions of a prefix, for queries at the positions `newest_N`."""
    distance_NP = torch.arange(n_prefix, device=bias_HX.device) - newest_N[:, None]
    return bias_HX[:, distance_NP.clamp(max=0) - 1].transpose(0, 1)[:, :, None]  # padding is hidden anyway


class CrossCache(DecoderCache):
    """The cache of a decoder with cross-attention: also the keys and values of the source."""

    def __init__(
        self,
        source_2NKSD: list[Tensor],
        mask_N11S: Tensor | None,
        target_2NKPD: Sequence[Tensor],
        max_length: int,
        width: int,
        bias_HX: Tensor | None,
    ) -> None:
        """Given are each layer's keys and values of the source, the additive mask of the source's padding (None: there
        is no padding), and each layer's keys and values of no target position (P = 0). For separate rows these have
        N × W sentences, and `width` is 1."""
        super().__init__(target_2NKPD, max_length, width, bias_HX=bias_HX)
        self.source_2NKSD, self.source_mask_N11S = source_2NKSD, mask_N11S
        self.source = [view(source) for source in source_2NKSD]
        self.n_separate = target_2NKPD[0].size(1) // source_2NKSD[0].size(1)
        """Separate rows of each sentence; 1: the rows are not separate."""

    def grow(self, rows: int) -> None:
        super().grow(rows // self.n_separate)

    def keep(self, sentences: Tensor) -> None:
        rows_W = torch.arange(self.n_separate, device=sentences.device)
        super().keep((sentences[:, None] * self.n_separate + rows_W).flatten())
        distinct = {id(source): source for source in self.source_2NKSD}  # layers of one block share theirs
        kept = {i: source.index_select(1, sentences) for i, source in distinct.items()}
        self.source_2NKSD = [kept[id(source)] for source in self.source_2NKSD]
        if self.source_mask_N11S is not None:
            self.source_mask_N11S = self.source_mask_N11S[sentences]
        self.source = [view(source) for source in self.source_2NKSD]


class PrefixCache(CrossCache):
    """The cache of a decoder-only model with separate rows: the prefix is the source, to which self-attention attends
    beside a row's own past."""

    def __init__(
        self, prefix_2NKPD: list[Tensor], max_length: int, width: int, real_NP: Tensor, bias_HX: Tensor | None
    ) -> None:
        """Arguments as for `DecoderCache`."""
        none_2RK0D = [p.new_empty(p.size(0), p.size(1) * width, p.size(2), 0, p.size(4)) for p in prefix_2NKPD]
        mask_N11P = torch.zeros(real_NP.shape, device=real_NP.device).masked_fill_(~real_NP, MASKED)[:, None, None]
        super().__init__(prefix_2NKPD, mask_N11P, none_2RK0D, max_length, 1, bias_HX)
        self.lengths_N = real_NP.sum(1)
        self.prefix_mask_NH1P = mask_N11P

    def grow(self, rows: int) -> None:
        super().grow(rows)
        newest_N = self.lengths_N + self.length - 1
        self.place = newest_N.repeat_interleave(self.n_separate)
        if self.bias_HX is not None and self.source_mask_N11S is not None:
            biases_NH1P = prefix_bias(self.bias_HX, newest_N, self.source_mask_N11S.size(3))
            self.prefix_mask_NH1P = self.source_mask_N11S + biases_NH1P

    def keep(self, sentences: Tensor) -> None:
        super().keep(sentences)
        self.lengths_N = self.lengths_N[sentences]
        self.prefix_mask_NH1P = self.prefix_mask_NH1P[sentences]
