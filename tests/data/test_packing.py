"""Packed batches: every pair once an epoch, in rows of one shape, with each id in its place."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.batches import Pairs, make_batch
from nmt.data.packing import LEAST_ROW, LONGEST_ROW, RowShape, pack, plan_rows
from nmt.training.objectives import Denoising
from nmt.vocabulary import BOS, EOS, PAD
from tests.data.test_batches import as_pairs

ids = st.lists(st.integers(4, 99), max_size=30)
corpora = st.lists(st.tuples(ids, ids), min_size=1, max_size=60)
Corpus = list[tuple[list[int], list[int]]]


@given(corpora, st.integers(31, 70), st.integers(1, 5), st.integers(0, 5))
def test_rows_hold_every_pair_once_and_nothing_else(corpus: Corpus, length: int, rows: int, epoch: int) -> None:
    pairs, shape = as_pairs(corpus), RowShape(rows, length)
    plan = plan_rows(pairs.lengths, shape, 1, epoch)
    assert sorted(torch.cat(plan).tolist()) == list(range(len(corpus)))
    for index in plan:
        plain = make_batch(pairs, index)
        batch = pack(plain, shape)
        assert batch.src_BS.shape == batch.tgt_in_BT.shape == batch.tgt_out_BT.shape == tuple(shape)
        assert (batch.sentences, batch.target_tokens) == (len(index), plain.target_tokens)
        in_rows = [pair for row in range(rows) for pair in read(batch.src_BS[row], batch.src_place_BS[row])]
        assert in_rows == [[*corpus[n][0], EOS] for n in index]
        in_rows = [pair for row in range(rows) for pair in read(batch.tgt_in_BT[row], batch.tgt_place_BT[row])]
        assert in_rows == [[BOS, *corpus[n][1]] for n in index]
        assert batch.tgt_out_BT[batch.tgt_mask_BT].tolist() == [i for n in index for i in (*corpus[n][1], EOS)]
        for mask, ids, place in (
            (batch.src_mask_BS, batch.src_BS, batch.src_place_BS),
            (batch.tgt_mask_BT, batch.tgt_in_BT, batch.tgt_place_BT),
        ):
            assert torch.equal(mask, ids != PAD)
            assert not place[~mask].any()
        # A row of the target has the pairs of the row of the source.
        sources, targets = batch.src_mask_BS & (batch.src_place_BS == 0), batch.tgt_mask_BT & (batch.tgt_place_BT == 0)
        assert torch.equal(sources.sum(1), targets.sum(1))
        for side in (pairs.source, pairs.target):  # as `training.denoise_steps` has them
            noised = Denoising().batch(Pairs(side, side), index, torch.Generator().manual_seed(epoch))
            assert pack(noised, shape).sentences == len(index), "rows have room for the texts of one side"


def read(ids: torch.Tensor, places: torch.Tensor) -> list[list[int]]:
    """The sequences of a row."""
    found: list[list[int]] = []
    for i, place in zip(ids.tolist(), places.tolist(), strict=True):
        if i != PAD:
            found += [[]] if place == 0 else []
            assert place == len(found[-1])
            found[-1].append(i)
    return found


def test_a_row_is_as_long_as_the_longest_sequence_needs() -> None:
    assert RowShape.of(17, 4096) == (32, LEAST_ROW)
    assert RowShape.of(129, 4096) == (21, 192)
    assert RowShape.of(17, 100) is None, "no room for a row"
    assert RowShape.of(LONGEST_ROW + 1, 100_000) is None


def test_most_positions_are_real() -> None:
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(5, 40, (20_000,), generator=generator)
    lengths = [source, source + torch.randint(-3, 4, source.shape, generator=generator)]
    plan = plan_rows(lengths, shape := RowShape(64, 128), 1, 0)
    for side in lengths:
        assert side.sum() > 0.93 * len(plan) * shape.rows * shape.length
    assert plan[0].tolist() != plan_rows(lengths, shape, 1, 1)[0].tolist(), "another epoch"


def test_both_sides_of_a_pair_must_fit() -> None:
    short, long = torch.full((10,), 2), torch.full((10,), 30)
    for lengths in ([short, long], [long, short]):
        assert [len(index) for index in plan_rows(lengths, RowShape(2, 64), 1, 0)] == [4, 4, 2]
