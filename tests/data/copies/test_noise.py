"""Noise: it hides the share that is asked for, loses nothing that it shouldn't, and repeats itself."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import NoiseConfig
from nmt.data.batches import Sequences
from nmt.data.copies.noise import hidden_counts, infill, mask_pieces
from nmt.vocabulary import FIRST_PIECE, UNK

VOCAB = 1000
INFILLING = NoiseConfig()
batches = st.lists(st.lists(st.integers(FIRST_PIECE, VOCAB - 1), max_size=40), min_size=1, max_size=6)
shares = st.one_of(st.none(), st.floats(0.01, 0.99))
seeds = st.integers(0, 1000)


def padded(texts: list[list[int]], seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Generator]:
    sequences = Sequences.of(texts)
    ids, _ = sequences.padded(torch.arange(len(texts)))
    return ids, sequences.lengths_N, torch.Generator().manual_seed(seed)


def rows(sequences: Sequences) -> list[list[int]]:
    return [row.tolist() for row in sequences.flat[:-1].split(sequences.lengths_N.tolist())]


def without_masks(ids: list[int]) -> list[int]:
    return [i for i in ids if i != UNK]


def test_hidden_pieces_are_masked_random_or_kept_in_the_shares_of_the_settings() -> None:
    ids, lengths, generator = padded([[7] * 2000] * 10, 1)
    noise = NoiseConfig(share=0.5, masked=0.6, random=0.3)
    noised, hidden = mask_pieces(ids, lengths, noise, VOCAB, generator)
    n = int(hidden.sum())
    assert n == 10_000
    assert int((noised == UNK).sum()) / n == pytest.approx(0.6, abs=0.02)
    assert int((noised[hidden] == 7).sum()) / n == pytest.approx(0.1, abs=0.02)
    assert int(noised[hidden & (noised != UNK)].min()) >= FIRST_PIECE
    assert int(noised.max()) > 0.99 * VOCAB


@given(batches, shares, st.floats(1, 10), seeds)
def test_infilling_keeps_order_and_share(texts: list[list[int]], share: float | None, mean: float, seed: int) -> None:
    noise = replace(INFILLING, share=share, mean_span=mean)
    ids, lengths, generator = padded([[*range(FIRST_PIECE, FIRST_PIECE + len(text))] for text in texts], seed)
    hidden = hidden_counts(lengths, noise.share_of("denoise"))
    found = rows(infill(ids, lengths, noise, generator))
    for n, length, source in zip(hidden.tolist(), lengths.tolist(), found, strict=True):
        visible = without_masks(source)
        assert visible == sorted(visible)
        assert len(visible) == length - n
        assert len(source) <= length
        assert (UNK in source) == (length > 0)


def test_spans_have_the_mean_length_are_spread_over_the_text_and_may_be_empty() -> None:
    ids, lengths, generator = padded([[*range(4, 104)]] * 2000, 1)
    source = rows(infill(ids, lengths, INFILLING, generator))
    masks = sum(row.count(UNK) for row in source)
    hidden = int(hidden_counts(lengths, INFILLING.share_of("denoise")).sum())
    assert hidden / masks == pytest.approx(3, rel=0.06)
    visible = torch.tensor([without_masks(row) for row in source]).flatten().bincount(minlength=104)[14:94]
    # Less often near the ends, where fewer spans can start that cover a piece.
    assert float(visible.float().std() / visible.float().mean()) < 0.05, "every place is hidden equally often"
    # A Poisson distribution with mean 3 has 5% of zeros: a mask piece between two pieces that are neighbours.
    empty = sum(b == UNK and c == a + 1 for row in source for a, b, c in zip(row, row[1:], row[2:], strict=False))
    assert empty / masks == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize(
    ("wrong", "message"), [({"share": 1.0}, "noise.share is 1.0"), ({"masked": 0.8, "random": 0.3}, "1.1 together")]
)
def test_settings_that_contradict_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NoiseConfig(**wrong)
