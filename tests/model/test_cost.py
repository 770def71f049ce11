"""FLOPs are those of a calculation by hand."""

import pytest

from nmt.config import ModelConfig
from nmt.model.build import build_model
from nmt.model.cost import decoding_flops, training_flops
from tests.model.settings import VOCAB, config, make


def test_flops_of_the_base_model_are_those_of_a_calculation_by_hand() -> None:
    model = make(ModelConfig(), 1)
    M, F, S, T = 512, 2048, 20, 30
    attention, feed_forward = 2 * 4 * M * M, 2 * 2 * M * F
    encoder = 6 * S * (attention + feed_forward + 4 * M * S)
    of_memory, of_target = 2 * 2 * M * M, 2 * attention + feed_forward
    fixed = encoder + 6 * S * of_memory
    decoder = 6 * T * (of_target - of_memory) + 2 * T * M * VOCAB
    assert training_flops(model, S, T) == 3 * (fixed + decoder + 6 * T * 4 * M * (T + S))
    assert decoding_flops(model, S, T) == (fixed, decoder + 6 * 4 * M * (T * S + T * (T + 1) // 2))
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("n_predicted", [1, 7])
def test_a_model_that_can_t_write_predicts_some_positions(n_predicted: int) -> None:
    model = build_model(config(family="encoder-only"), VOCAB, VOCAB).eval()
    of_none = training_flops(model, 7, 0)
    assert training_flops(model, 7, n_predicted) - of_none == n_predicted * 6 * VOCAB * model.config.d_model
