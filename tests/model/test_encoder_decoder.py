"""Models with an encoder: tables of positions, tied embeddings, initial weights; what a model sees that only reads."""

import pytest
import torch

from nmt.config import ModelConfig
from nmt.model.encoder_decoder import EncoderDecoder, EncoderOnly
from nmt.vocabulary import EOS
from tests.model.settings import VOCAB, config, sentences


def make(config: ModelConfig, seed: int) -> EncoderDecoder:
    torch.manual_seed(seed)
    return EncoderDecoder(config, VOCAB, VOCAB if config.tied_embeddings == "three-way" else VOCAB + 5).eval()


def test_a_learned_table_ends_with_an_error() -> None:
    with pytest.raises(ValueError, match=r"300 pieces.*end at 40"):
        make(config(positions="learned"), 1).encode(*sentences(1, [300]))


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_a_table_that_grew_while_translating_serves_training_too(positions: str) -> None:
    model, fresh = make(config(positions=positions), 1), make(config(positions=positions), 1)
    source, (tgt, _) = sentences(1, [5]), sentences(2, [4])
    with torch.inference_mode():
        model.encode(*sentences(1, [600]))
    for trained in (model, fresh):
        trained(*source, tgt)[..., 5].sum().backward()
    for (name, parameter), expected in zip(model.named_parameters(), fresh.parameters(), strict=True):
        assert parameter.grad is not None, name
        assert float(parameter.grad.abs().sum()) > 0, name
        torch.testing.assert_close(parameter.grad, expected.grad, msg=name)


@pytest.mark.parametrize("source_end", [True, False])
def test_eos_of_sources_is_read_only_if_the_settings_say_so(source_end: bool) -> None:
    model = make(config(tied_embeddings="none", source_end=source_end), 1)
    (src, mask), (tgt, _) = sentences(1, [5, 3]), sentences(2, [4, 4])
    src[0, 4] = src[1, 2] = EOS
    cases = [(src, mask), (src[:1], mask[:1])]  # with padding, and without
    with torch.inference_mode():
        before = [model(*case, tgt[: len(case[0])]) for case in cases]
        model.get_parameter("src_embedding.weight")[EOS] += 1
        after = [model(*case, tgt[: len(case[0])]) for case in cases]
        steps = model.step(tgt[:1, :1], model.start(src[:1], mask[:1], 4))
    assert [torch.equal(one, other) for one, other in zip(before, after, strict=True)] == [not source_end] * 2
    torch.testing.assert_close(steps[0, 0], after[1][0, 0], atol=1e-5, rtol=1e-4)


def test_states_of_an_encoder_only_model_are_those_of_the_chosen_positions_and_see_both_sides_but_no_padding() -> None:
    torch.manual_seed(1)
    model, (ids, mask) = EncoderOnly(config(family="encoder-only"), VOCAB).eval(), sentences(1, [6, 4])
    chosen = torch.zeros_like(mask)
    chosen[0, 2] = chosen[1, 0] = chosen[1, 3] = True
    states = model.target_states(ids, mask, ids, chosen)
    torch.testing.assert_close(states, model.encode(ids, mask)[0][chosen])
    torch.testing.assert_close(states[1:], model.target_states(ids[1:, :4], mask[1:, :4], ids[1:, :4], chosen[1:, :4]))
    for place in (1, 5):
        other = ids.clone()
        other[0, place] = 4 + (other[0, place] - 3) % (VOCAB - 4)
        assert not torch.allclose(states[0], model.target_states(other, mask, other, chosen)[0])
