"""The decoder-only model: one sequence without padding, what its attention sees, texts without a source, limits."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import ModelConfig, SearchConfig
from nmt.decode.beam import search
from nmt.model.decoder_only import DecoderOnly, join
from nmt.vocabulary import BOS
from tests.model.settings import VOCAB, combinations, config, make, sentences


def one_stack(settings: ModelConfig, seed: int) -> DecoderOnly:
    model = make(replace(settings, family="decoder-only", source_end=True), seed)
    assert isinstance(model, DecoderOnly)
    return model


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4))
def test_a_sequence_is_the_source_between_bos_and_eos_then_the_target(lengths: list[tuple[int, int]]) -> None:
    (src, src_mask), (tgt, _) = sentences(1, [s for s, _ in lengths]), sentences(2, [t for _, t in lengths])
    ids_BL, starts_B = join(src, src_mask, tgt, max(s + 1 + t for s, t in lengths))
    for ids, start, source, target, (s, t) in zip(ids_BL.tolist(), starts_B, src, tgt, lengths, strict=True):
        assert ids[: s + 1 + t] == [BOS, *source[:s].tolist(), *target[:t].tolist()]
        assert start == s + 1


def test_a_source_piece_sees_later_source_pieces_only_if_attention_is_bidirectional() -> None:
    ids = torch.tensor([[BOS, 5, 6, 7, 2, BOS, 8]])
    other = ids.clone()
    other[0, 3] = 9
    for source_attention, differs in (("bidirectional", True), ("causal", False)):
        model = one_stack(config(family="decoder-only", source_attention=source_attention), 1)
        one, two = (model.read(x, torch.tensor([5]))[0] for x in (ids, other))
        assert torch.allclose(one[:3], two[:3]) != differs
        assert not torch.allclose(one[6], two[6])


@given(combinations(), st.integers(1, 3), st.booleans())
def test_a_text_without_source_and_a_prompt_stay_as_they_are(settings: ModelConfig, width: int, separate: bool) -> None:
    model = one_stack(settings, 1)
    nothing = torch.zeros(2, 0, dtype=torch.int64), torch.zeros(2, 0, dtype=torch.bool)
    ids, _ = sentences(1, [7, 7])
    ids[:, 0] = BOS
    with torch.inference_mode():
        whole = model(*nothing, ids)
        cache = model.start(*nothing, 7, width, separate=separate)
        steps = [model.step(ids[:, t : t + 1].expand(-1, width), cache)[:, 0] for t in range(7)]
        real = torch.arange(4) < torch.tensor([4, 2])[:, None]
        after = model.start_after(ids[:, :4], real, 3, width)
        from_4 = [model.step(ids[:, t : t + 1].expand(-1, width), after)[:, 0] for t in range(4, 7)]
        shorter = model(nothing[0][:1], nothing[1][:1], ids[1:, [0, 1, 4, 5, 6]])
    torch.testing.assert_close(torch.stack(steps, dim=1), whole, atol=1e-5, rtol=1e-4)
    continued = torch.stack(from_4, dim=1)
    torch.testing.assert_close(continued[0], whole[0, 4:], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(continued[1], shorter[0, 2:], atol=1e-5, rtol=1e-4)


def test_learned_positions_hold_source_and_target_together() -> None:
    model = one_stack(config(positions="learned", max_positions=20), 1)
    assert model.longest_source == 8
    source, mask = sentences(1, [9, 5])
    for n_source, (hypothesis,) in zip((8, 4), search(model, source, mask, SearchConfig(beam_size=1)), strict=True):
        assert model.longest_target(n_source) == 17 - n_source
        assert len(hypothesis.ids) <= 17 - n_source
    with pytest.raises(ValueError, match="positions end at 20"):
        model(source, mask, sentences(2, [12, 12])[0])


def test_lengths_are_those_of_the_sequences_that_are_read() -> None:
    model = one_stack(config(), 1)
    (lengths_N,) = model.sequence_lengths(torch.tensor([4, 0]), torch.tensor([3, 5]))
    assert lengths_N.tolist() == [8, 5]
    assert model.vocab_size == VOCAB
