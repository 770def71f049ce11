"""Pieces before each source and target change a model as if the caller had written them, and aren't seen."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from nmt.decode.pytorch import Begun, TorchEngine
from nmt.vocabulary import BOS
from tests.model.settings import config, make, sentences


def begin(ids_BS: Tensor, mask_BS: Tensor, first: list[int]) -> tuple[Tensor, Tensor]:
    """The ids with these pieces before each sequence."""
    first_BX = torch.tensor([first] * len(ids_BS), dtype=torch.int64).view(len(ids_BS), -1)
    return torch.cat([first_BX, ids_BS], 1), pad(mask_BS, (len(first), 0), value=True)


@pytest.mark.parametrize(("source", "target"), [([7], [8]), ([9, 7], []), ([], [8, 10]), ([5], [6, 8])])
@pytest.mark.parametrize("family", ["encoder-decoder", "decoder-only"])
@pytest.mark.parametrize("separate", [False, True])
def test_logits_are_those_after_the_pieces(source: list[int], target: list[int], family: Any, separate: bool) -> None:
    model = make(config(family=family), 1)
    src, mask = sentences(1, [5, 3])
    tgt, _ = sentences(2, [4, 4])
    tgt[:, 0] = BOS
    whole = torch.cat([tgt[:, :1], torch.tensor([target] * 2, dtype=torch.int64).view(2, -1), tgt[:, 1:]], 1)
    expected_BTV = model(*begin(src, mask, source), whole)[:, len(target) :]
    begun = Begun(model, source, target)
    torch.testing.assert_close(begun(src, mask, tgt), expected_BTV, atol=1e-5, rtol=1e-4)
    cache = begun.start(src, mask, 5, 2, separate=separate)
    for t in range(tgt.size(1)):
        logits_NWV = begun.step(tgt[:, t : t + 1].repeat(1, 2 if separate or t else 1), cache)
        torch.testing.assert_close(logits_NWV[:, 0], expected_BTV[:, t], atol=1e-5, rtol=1e-4)
        cache.reorder(torch.zeros(2, 2, dtype=torch.int64))


def test_attention_is_that_to_the_callers_pieces() -> None:
    model = make(config(decoder_layers=2), 1)
    begun, (src, mask), weights = Begun(model, [7, 9], [8]), sentences(1, [5]), list[Tensor]()
    begun(src, mask, torch.tensor([[BOS, 4, 5]]), weights)
    assert [tuple(part.shape[2:]) for part in weights] == [(3, 5), (3, 5)]
    whole = list[Tensor]()
    model(*begin(src, mask, [7, 9]), torch.tensor([[BOS, 8, 4, 5]]), whole)
    torch.testing.assert_close(weights, [part[..., 1:, 2:] for part in whole])


def test_fixed_pieces_need_room() -> None:
    model = make(config(positions="learned"), 1)
    begun = Begun(model, [7, 9], [8])
    assert (model.longest_source, begun.longest_source, begun.longest_target(5)) == (39, 37, 38)


@pytest.mark.parametrize("family", ["encoder-decoder", "decoder-only"])
def test_attention_in_a_batch_is_that_of_each_pair_alone(family: Any) -> None:
    engine = TorchEngine.make([make(config(family=family), 1)]).begun([7], [8])
    pairs = [([5, 6, 9], [4, 5]), ([9], [6, 4, 5, 9, 9]), ([6] * 8, [9]), ([5, 4], [])]
    together = engine.attention(pairs)
    assert [tuple(weights_TS.shape) for weights_TS in together] == [(2, 3), (5, 1), (1, 8), (0, 2)]
    alone = [weights_TS for pair in pairs for weights_TS in engine.attention([pair])]
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)
