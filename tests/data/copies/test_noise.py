"""Noise: it hides the share that is asked for, loses nothing that it shouldn't, and repeats itself."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.batches import Sequences
from nmt.data.copies.noise import OF_DENOISE, hidden_counts, infill, mask_pieces
from nmt.vocabulary import FIRST_PIECE, UNK

VOCAB = 1000
batches = st.lists(st.lists(st.integers(FIRST_PIECE, VOCAB - 1), max_size=40), min_size=1, max_size=6)
seeds = st.integers(0, 1000)


def padded(texts: list[list[int]], seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Generator]:
    sequences = Sequences.of(texts)
    ids, _ = sequences.padded(torch.arange(len(texts)))
    return ids, sequences.lengths_N, torch.Generator().manual_seed(seed)


def rows(sequences: Sequences) -> list[list[int]]:
    return [row.tolist() for row in sequences.flat[:-1].split(sequences.lengths_N.tolist())]


def without_masks(ids: list[int]) -> list[int]:
    return [i for i in ids if i != UNK]


def test_hidden_pieces_are_masked_random_or_kept_in_their_shares() -> None:
    ids, lengths, generator = padded([[7] * 2000] * 10, 1)
    noised, hidden = mask_pieces(ids, lengths, VOCAB, generator)
    n = int(hidden.sum())
    assert n == 3_000
    assert int((noised == UNK).sum()) / n == pytest.approx(0.8, abs=0.02)
    assert int((noised[hidden] == 7).sum()) / n == pytest.approx(0.1, abs=0.02)
    assert int(noised[hidden & (noised != UNK)].min()) >= FIRST_PIECE
    assert int(noised.max()) > 0.97 * VOCAB


@given(batches, seeds)
def test_infilling_keeps_order_and_share(texts: list[list[int]], seed: int) -> None:
    ids, lengths, generator = padded([[*range(FIRST_PIECE, FIRST_PIECE + len(text))] for text in texts], seed)
    hidden = hidden_counts(lengths, OF_DENOISE)
    found = rows(infill(ids, lengths, generator))
    for n, length, source in zip(hidden.tolist(), lengths.tolist(), found, strict=True):
        visible = without_masks(source)
        assert visible == sorted(visible)
        assert len(visible) == length - n
        assert len(source) <= length
        assert (UNK in source) == (length > 0)


def test_spans_have_the_mean_length_are_spread_over_the_text_and_may_be_empty() -> None:
    ids, lengths, generator = padded([[*range(4, 104)]] * 2000, 1)
    source = rows(infill(ids, lengths, generator))
    masks = sum(row.count(UNK) for row in source)
    hidden = int(hidden_counts(lengths, OF_DENOISE).sum())
    assert hidden / masks == pytest.approx(3, rel=0.06)
    visible = torch.tensor([without_masks(row) for row in source]).flatten().bincount(minlength=104)[14:94]
    # Less often near the ends, where fewer spans can start that cover a piece.
    assert float(visible.float().std() / visible.float().mean()) < 0.05, "every place is hidden equally often"
    # A Poisson distribution with mean 3 has 5% of zeros: a mask piece between two pieces that are neighbours.
    empty = sum(b == UNK and c == a + 1 for row in source for a, b, c in zip(row, row[1:], row[2:], strict=False))
    assert empty / masks == pytest.approx(0.05, abs=0.015)
