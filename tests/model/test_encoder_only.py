"""The encoder-only model: it sees both directions, predicts where it is asked, and shares names with an encoder."""

import torch

from nmt.model.build import build_model
from nmt.model.encoder_decoder import EncoderOnly
from tests.model.settings import VOCAB, config, make, sentences


def encoder() -> EncoderOnly:
    torch.manual_seed(1)
    model = build_model(config(family="encoder-only"), VOCAB, VOCAB).eval()
    assert isinstance(model, EncoderOnly)
    return model


def test_states_are_those_of_the_chosen_positions_and_see_both_sides_but_no_padding() -> None:
    model, (ids, mask) = encoder(), sentences(1, [6, 4])
    chosen = torch.zeros_like(mask)
    chosen[0, 2] = chosen[1, 0] = chosen[1, 3] = True
    states = model.target_states(ids, mask, ids, chosen)
    torch.testing.assert_close(states, model.encode(ids, mask)[0][chosen])
    torch.testing.assert_close(states[1:], model.target_states(ids[1:, :4], mask[1:, :4], ids[1:, :4], chosen[1:, :4]))
    for place in (1, 5):
        other = ids.clone()
        other[0, place] = 4 + (other[0, place] - 3) % (VOCAB - 4)
        assert not torch.allclose(states[0], model.target_states(other, mask, other, chosen)[0])


def test_its_names_and_shapes_are_those_of_an_encoder_of_a_translator() -> None:
    translator = dict(make(config(tied_embeddings="decoder"), 1).named_parameters())
    for name, parameter in encoder().named_parameters():
        assert translator[name].shape == parameter.shape
