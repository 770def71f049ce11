"""The decoder's cache: keys and values of the tokens decoded so far, and of the source sentences.

Shapes: N sentences, W rows (hypotheses) of each, R all rows (N × W), K key–value heads, X of all sentences (N × K), S
source length, D head width, P prefix length, L slots: one for each position of the prefix, then one for each row of
each target position so far, position after position; 2 keys and values.

A decoder-only model reads the source as the beginning of its only sequence: this prefix takes the first slots, once for
all rows. In an encoder–decoder there is no prefix, and the keys and values of the source are apart.

A row never moves. All rows of a sentence look at all of its slots, through a mask that shows each row its own past.
When a hypothesis continues another one, its row takes over the other's line of the mask: nothing else is copied.

Samples never continue one another: their rows are separate. For the target, a cache then has N × W sentences of one
row: time and memory grow with the rows, not with their square. The source is still stored once; so is the prefix, which
then is the source, to which self-attention attends beside a row's own past.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor

# What a mask adds to hidden scores. Finite, so that a row in which all is hidden is uniform, not NaN; its exp is 0.
MASKED = -1e9


class Rows(NamedTuple):
    """For rows in which several sequences follow one another, see `nmt.data.packing`."""

    hidden_B1TS: Tensor
    """Is added to the scores: 0 where a query sees a key of its own sequence, MASKED elsewhere."""
    place_BT: Tensor
    """The position of each query in its own sequence (int64)."""


Mask = Tensor | Rows | Literal["all"] | None
"""What queries of whole sequences see. A tensor is added to the scores; "all": each query sees all keys; None: query t
sees keys 0 to t (causal attention). On a GPU attention is a little faster where there is no tensor."""

KeysValues = tuple[Tensor, Tensor]
"""Keys (X, D, L or S), transposed as the product with queries needs them, and values (X, L or S, D)."""

SourceWeights = list[Tensor] | None
"""A list to which each decoder layer appends its attention to the source (B, heads, T, S); None: nobody needs it."""


def views(layers_2NKLD: Sequence[Tensor]) -> list[KeysValues]:
    """The keys and values of each layer as attention uses them."""
    return [(kv_2NKLD[0].flatten(0, 1).mT, kv_2NKLD[1].flatten(0, 1)) for kv_2NKLD in layers_2NKLD]


class Cache(Protocol):
    """The state of a batch between two decoding steps. Made by `Decoder.start`, held by the caller."""

    def reorder(self, parents_NW: Tensor) -> None:
        """Let each row continue row `parents_NW` (int64, from 0 to W − 1) of its sentence."""

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences with these numbers (int64, ascending) and drop the others."""


class DecoderCache:
    """The cache of a model: keys and values of all its layers."""

    def __init__(
        self,
        max_length: int,
        width: int,
        layers_2NKSD: Sequence[Tensor],
        real_NS: Tensor | None = None,
        source_mask_N11S: Tensor | None = None,
        *,
        separate: bool = False,
    ) -> None:
        """Make room for `max_length` target positions of `width` rows of each sentence.

        Args:
            layers_2NKSD: each layer's keys and values of the source, or of a prefix.
            real_NS: True at the real positions of a prefix, which come first; None: it is a source.
            source_mask_N11S: the additive mask of padding, where the source, or the prefix, is apart; None: there is
                no padding.
            separate: whether rows are separate. Then a prefix is apart, as a source.
        """
        self.prefix_is_apart = real_NS is not None and separate
        first, in_slots = layers_2NKSD[0], real_NS is not None and not separate
        self.n_separate = width if separate else 1
        """Separate rows of each sentence; 1: the rows are not separate."""
        self.width, self.n_prefix = width // self.n_separate, first.size(3) if in_slots else 0
        self.length, self.filled = 0, self.n_prefix  # slots in use: `filled`
        n_sentences, n_slots = first.size(1) * self.n_separate, self.n_prefix + max_length * self.width
        self.target_2NKLD = [kv.new_empty(2, n_sentences, kv.size(2), n_slots, kv.size(4)) for kv in layers_2NKSD]
        self.past_NWL = torch.full((n_sentences, self.width, n_slots), MASKED, device=first.device)
        self.source_2NKSD, self.source_mask_N11S = [] if in_slots else list(layers_2NKSD), source_mask_N11S
        self.lengths_N = None if real_NS is None else real_NS.sum(1)
        self.masked = self.width > 1  # otherwise every row sees every slot
        if real_NS is not None and in_slots:
            for target_2NKLD, prefix in zip(self.target_2NKLD, layers_2NKSD, strict=True):
                target_2NKLD[:, :, :, : self.n_prefix] = prefix
            self.past_NWL[:, :, : self.n_prefix].masked_fill_(real_NS[:, None], 0.0)
            self.masked |= not bool(real_NS.all())
        # Of the newest position: rows of each sentence, their place in the sequence, and the mask of their past.
        self.rows = self.width
        self.place: slice | Tensor = slice(0, 0)
        self.past_N1WL: Tensor | None = None
        self.empty_111 = first.new_empty(1, 1, 1)
        self.target, self.source = views(self.target_2NKLD), views(self.source_2NKSD)

    def grow(self, rows: int) -> None:
        """Make room for the next position, in which the first `rows` rows of each sentence get a token."""
        start, self.filled = self.filled, self.filled + self.width
        self.length, self.rows, self.past_N1WL = self.length + 1, rows // self.n_separate, None
        if self.masked:
            self.past_NWL[:, :, start : self.filled].diagonal(dim1=1, dim2=2).zero_()
            self.past_N1WL = self.past_NWL[:, None, : self.rows, : self.filled]
        newest_N = None if self.lengths_N is None else self.lengths_N + self.length - 1
        one_place = slice(self.length - 1, self.length)
        self.place = one_place if newest_N is None else newest_N.repeat_interleave(rows)

    def append(self, layer: int, kv_2NKWD: Tensor) -> KeysValues:
        """Store a layer's keys and values of the newest position (W = 1: the same for every row); return those of all
        slots in use."""
        self.target_2NKLD[layer].narrow(3, self.filled - self.width, self.width).copy_(kv_2NKWD)
        keys_XDL, values_XLD = self.target[layer]
        return keys_XDL.narrow(2, 0, self.filled), values_XLD.narrow(1, 0, self.filled)

    def reorder(self, parents_NW: Tensor) -> None:
        if self.width > 1:
            past_NWL = self.past_NWL[:, :, self.n_prefix : self.filled]
            past_NWL.copy_(past_NWL.gather(1, parents_NW[:, :, None].expand(-1, -1, past_NWL.size(2))))

    def keep(self, sentences: Tensor) -> None:
        rows_W = torch.arange(self.n_separate, device=sentences.device)
        targets = (sentences[:, None] * self.n_separate + rows_W).flatten()
        for i, target_2NKLD in enumerate(self.target_2NKLD):
            kept = target_2NKLD[:, :, :, : self.filled].index_select(1, targets)
            self.target_2NKLD[i] = target_2NKLD[:, : targets.size(0)]
            self.target_2NKLD[i][:, :, :, : self.filled] = kept
        self.past_NWL = self.past_NWL[targets]
        distinct = {id(source): source for source in self.source_2NKSD}  # layers of one block share theirs
        kept_sources = {i: source.index_select(1, sentences) for i, source in distinct.items()}
        self.source_2NKSD = [kept_sources[id(source)] for source in self.source_2NKSD]
        if self.source_mask_N11S is not None:
            self.source_mask_N11S = self.source_mask_N11S[sentences]
        if self.lengths_N is not None:
            self.lengths_N = self.lengths_N[sentences]
        self.target, self.source = views(self.target_2NKLD), views(self.source_2NKSD)
