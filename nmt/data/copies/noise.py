"""Noise: ids of pieces flow in, noised ids flow out. All random numbers come from the generator that is given.

The mask piece is unk: with byte fallback no text has it, and search never writes it. All hidden spans have the same
mask piece, since spans come in the order of the text. Texts have no BOS or EOS here, so noise never changes these.

Shapes: B texts, L pieces of the longest one (padding comes last), G = L + 1 gaps: before each piece, and at the end;
S spans of the text with most spans, X columns of any kind.
"""

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from nmt.data.batches import Sequences
from nmt.vocabulary import FIRST_PIECE, UNK

# Shares of the pieces of a text that are hidden (Devlin et al. 2019, section 3.1; Lewis et al. 2020, section 2.2). Of
# those that mlm hides, some become the mask piece, some a random piece, and the others stay.
OF_MLM, OF_DENOISE = 0.15, 0.35
MASKED, RANDOM = 0.8, 0.1
MEAN_SPAN = 3.0  # pieces


def hidden_counts(lengths_B: Tensor, share: float) -> Tensor:
    """How many pieces of each text to hide: this share, rounded, and at least one of a text that isn't empty. That
    depends on the length alone, so that the number of predictions of a batch is known before its noise."""
    return (lengths_B * share).round().long().clamp(min=1).minimum(lengths_B)


def choose(lengths_B: Tensor, counts_B: Tensor, generator: Generator) -> Tensor:
    """Choose `counts_B` of the first `lengths_B` columns of each row: bool (B, X), with X the largest length."""
    column_X = torch.arange(int(lengths_B.max()))
    keys_BX = torch.rand(len(lengths_B), len(column_X), generator=generator)
    order_BX = keys_BX.masked_fill_(column_X >= lengths_B[:, None], 2).argsort(dim=1)
    return torch.zeros_like(keys_BX, dtype=torch.bool).scatter_(1, order_BX, column_X < counts_B[:, None])


def mask_pieces(ids_BL: Tensor, lengths_B: Tensor, vocab_size: int, generator: Generator) -> tuple[Tensor, Tensor]:
    """Hide pieces as Devlin et al. 2019, section 3.1: the noised ids, and True at hidden pieces, both (B, L)."""
    hidden_BL = choose(lengths_B, hidden_counts(lengths_B, OF_MLM), generator)
    fate_BL = torch.rand(ids_BL.shape, generator=generator)
    pieces_BL = torch.randint(FIRST_PIECE, vocab_size, ids_BL.shape, generator=generator)
    pieces_BL.masked_fill_(fate_BL < MASKED, UNK)
    changed_BL = hidden_BL & (fate_BL < MASKED + RANDOM)
    return torch.where(changed_BL, pieces_BL, ids_BL), hidden_BL


def infill(ids_BL: Tensor, lengths_B: Tensor, generator: Generator) -> Sequences:
    """Text infilling (Lewis et al. 2020, section 2.2); never a longer text."""
    spans_BS, counts_B = poisson_spans(lengths_B, generator)
    starts_BG, hidden_BL = place(lengths_B, spans_BS, counts_B, generator)
    is_piece_BL = torch.arange(int(lengths_B.max())) < lengths_B[:, None]
    return with_masks(ids_BL, is_piece_BL & ~hidden_BL, starts_BG)


def poisson_spans(lengths_B: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
    """Random span lengths (B, S), some of them 0, and how many there are in each text (B).

    Spans are added until enough pieces are hidden; the last one is as long as it takes. There are at most as many spans
    as hidden pieces, so that no text gets longer, and as gaps.
    """
    hidden_B1 = hidden_counts(lengths_B, OF_DENOISE)[:, None]
    most_B1 = hidden_B1.minimum(lengths_B[:, None] - hidden_B1 + 1)
    rates_BS = torch.full((len(lengths_B), max(1, int(most_B1.max()))), MEAN_SPAN)
    ends_BS = torch.poisson(rates_BS, generator=generator).long().cumsum(1).minimum(hidden_B1)
    ends_BS = torch.where(torch.arange(rates_BS.size(1)) >= most_B1 - 1, hidden_B1, ends_BS)
    starts_BS = F.pad(ends_BS[:, :-1], (1, 0))
    return ends_BS - starts_BS, (starts_BS < hidden_B1).sum(1)


def place(lengths_B: Tensor, spans_BS: Tensor, counts_B: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
    """Place the spans in random gaps between the visible pieces: True where a span starts (B, G), and at hidden pieces
    (B, L). The first `counts_B` columns of `spans_BS` are spans, and the others 0."""
    taken_BX = choose(lengths_B - spans_BS.sum(1) + 1, counts_B, generator)
    which_BX = (taken_BX.cumsum(1) - 1).clamp_(min=0, max=spans_BS.size(1) - 1)
    size_BX = spans_BS.gather(1, which_BX) * taken_BX
    gaps = int(lengths_B.max()) + 1
    end_BX = (torch.arange(taken_BX.size(1)) + size_BX.cumsum(1)).clamp_(max=gaps)
    start_BX = end_BX - size_BX  # in the text; gap x is before visible piece x
    starts_BG = torch.zeros(len(lengths_B), gaps + 1, dtype=torch.int64).scatter_add_(1, start_BX, taken_BX.long())
    edges_BG = starts_BG.scatter_add(1, end_BX, -taken_BX.long())
    return starts_BG[:, :gaps] > 0, edges_BG[:, : gaps - 1].cumsum(1) > 0


def with_masks(ids_BL: Tensor, kept_BL: Tensor, starts_BG: Tensor) -> Sequences:
    """The kept pieces, with a mask piece where a span starts."""
    end = (0, 1)  # a column after the last piece, for a span that starts there
    ids_BG, kept_BG = (F.pad(x, end) for x in (ids_BL, kept_BL))
    both_BX = torch.stack([torch.full_like(ids_BG, UNK), ids_BG], dim=2).flatten(1)
    kept_BX = torch.stack([starts_BG, kept_BG], dim=2).flatten(1)
    return Sequences(both_BX[kept_BX], kept_BX.sum(1))
