"""Batches: every pair once an epoch, within the budget, padded and masked right; plans that repeat."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.batches import Pairs, Sequences, make_batch, plan_batches, repeated_rows
from nmt.vocabulary import BOS, EOS, PAD

ids = st.lists(st.integers(4, 99), max_size=12)
corpora = st.lists(st.tuples(ids, ids), min_size=1, max_size=40)


def as_pairs(corpus: list[tuple[list[int], list[int]]]) -> Pairs:
    return Pairs(Sequences.of(s for s, _ in corpus), Sequences.of(t for _, t in corpus))


@given(corpora, st.integers(13, 60), st.integers(0, 5), st.integers(0, 5))
def test_an_epoch_holds_every_pair_once_and_no_batch_is_over_the_budget(
    corpus: list[tuple[list[int], list[int]]], budget: int, seed: int, epoch: int
) -> None:
    pairs = as_pairs(corpus)
    plan = plan_batches(pairs.lengths, budget, seed, epoch)
    assert sorted(torch.cat(plan).tolist()) == list(range(len(corpus)))
    for index in plan:
        batch = make_batch(pairs, index)
        assert batch.src_BS.numel() <= budget
        assert batch.tgt_in_BT.numel() <= budget


@given(corpora, st.data())
def test_a_batch_has_pairs_and_marks_padding(corpus: list[tuple[list[int], list[int]]], data: st.DataObject) -> None:
    index = data.draw(st.lists(st.sampled_from(range(len(corpus))), min_size=1, max_size=5))
    batch = make_batch(as_pairs(corpus), torch.tensor(index))
    for i, src, src_mask, tgt_in, tgt_out, tgt_mask in zip(index, *vars(batch).values(), strict=True):
        source, target = corpus[i]
        assert src[src_mask].tolist() == [*source, EOS]
        assert tgt_in[tgt_mask].tolist() == [BOS, *target]
        assert tgt_out[tgt_mask].tolist() == [*target, EOS]
        for padded, mask in ((src, src_mask), (tgt_in, tgt_mask), (tgt_out, tgt_mask)):
            assert (padded[~mask] == PAD).all()
            assert mask.sort(descending=True).values.equal(mask), "padding comes last"
    assert batch.target_tokens == sum(len(corpus[i][1]) + 1 for i in index)
    source_B, target_B = (lengths_B.tolist() for lengths_B in batch.lengths)
    assert source_B == [len(corpus[i][0]) + 1 for i in index]
    assert target_B == [len(corpus[i][1]) + 1 for i in index]


def random_lengths(n: int) -> Pairs:
    generator = torch.Generator().manual_seed(1)
    length_N, difference_N = (torch.randn(2, n, generator=generator) * torch.tensor([[4], [3]])).round().int()
    target_N = (length_N + 14).clamp(3, 40)
    source_N = (target_N + difference_N).clamp(1)
    return as_pairs([([5] * s, [5] * t) for s, t in zip(source_N.tolist(), target_N.tolist(), strict=True)])


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20).filter(any), st.integers(0, 99), st.integers(0, 99))
def test_rows_are_repeated_as_often_as_they_are_taken(times: list[int], start: int, stop: int) -> None:
    times_N = torch.tensor(times * 9000, dtype=torch.int32)  # more than are counted together
    whole = torch.arange(len(times_N)).repeat_interleave(times_N)
    start, stop = sorted((start * len(whole) // 100, stop * len(whole) // 100 + 1))
    assert torch.equal(repeated_rows(times_N, start, stop), whole[start:stop])


@pytest.mark.parametrize(("budget", "share"), [(4096, 0.95), (16_384, 0.9)])
def test_little_of_a_batch_is_padding_on_both_sides(budget: int, share: float) -> None:
    # Sorted by the target's length, then by the source's, 0.91 and 0.80 of the positions were real.
    pairs = random_lengths(20_000)
    batches = [make_batch(pairs, index) for index in plan_batches(pairs.lengths, budget, 1, 0)]
    positions = sum(batch.src_BS.numel() + batch.tgt_in_BT.numel() for batch in batches)
    assert sum(int(lengths_N.sum()) for lengths_N in pairs.lengths) / positions > share
    for side in ("src_mask_BS", "tgt_mask_BT"):
        masks = [getattr(batch, side) for batch in batches]
        assert sum(int(mask.sum()) for mask in masks) / sum(mask.numel() for mask in masks) > share - 0.02
