"""FLOPs by formulas are those that PyTorch counts, for every family and any settings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import ModelConfig
from nmt.model.build import build_model
from nmt.model.cost import (
    blocks_of,
    counted_decoding_flops,
    counted_training_flops,
    decoding_flops,
    training_flops,
    used_parameters,
)
from tests.model.settings import VOCAB, combinations, config, make

lengths = st.integers(1, 12)


@given(combinations(), lengths, lengths)
def test_flops_are_those_that_are_computed(config: ModelConfig, n_source: int, n_target: int) -> None:
    model = make(config, 1)
    assert sum(training_flops(model, n_source, n_target)) == counted_training_flops(model, n_source, n_target)
    assert decoding_flops(model, n_source, n_target) == counted_decoding_flops(model, n_source, n_target)
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("n_predicted", [1, 7])
def test_a_model_that_can_t_write_predicts_some_positions(n_predicted: int) -> None:
    model = build_model(config(family="encoder-only", n_kv_heads=2, activation="swiglu"), VOCAB, VOCAB).eval()
    both = training_flops(model, 7, n_predicted)
    assert sum(both) == counted_training_flops(model, 7, n_predicted)
    assert both.target == n_predicted * 6 * VOCAB * model.config.d_model


def test_flops_of_the_base_model_are_those_of_a_calculation_by_hand() -> None:
    model = make(ModelConfig(), 1)
    M, F, S, T = 512, 2048, 20, 30
    attention, feed_forward = 2 * 4 * M * M, 2 * 2 * M * F
    encoder = 6 * S * (attention + feed_forward + 4 * M * S)
    of_memory, of_target = 2 * 2 * M * M, 2 * attention + feed_forward
    decoder = 6 * T * (of_target - of_memory + 4 * M * (T + S))
    expected = encoder + 6 * S * of_memory, decoder + 2 * T * M * VOCAB
    assert training_flops(model, S, T) == tuple(3 * flops for flops in expected)


def test_blocks_of_a_part_are_in_their_order() -> None:
    model = make(config(encoder_layers=2, decoder_layers=3), 1)
    assert [*blocks_of(model, "encoder"), *blocks_of(model, "decoder")] == model.blocks()
    assert len(blocks_of(model, "encoder")) == 2
    assert blocks_of(model, "embeddings") == blocks_of(model, "no such part") == []


def test_a_position_uses_some_experts_only() -> None:
    dense, mixture = make(config(), 1), make(config(experts=5, experts_per_token=2, shared_experts=1), 1)
    n_parameters = sum(parameter.numel() for parameter in mixture.parameters())
    of_expert = 2 * 16 * 24
    assert used_parameters(mixture) == n_parameters - len(mixture.blocks()) * 3 * of_expert
    assert used_parameters(dense) == sum(parameter.numel() for parameter in dense.parameters())


def test_layers_that_share_a_block_take_time_but_no_weights() -> None:
    plain, shared = (make(config(encoder_layers=4, share_layers=n), 1) for n in (1, 2))
    assert [len(blocks_of(model, "encoder")) for model in (plain, shared)] == [4, 2]
    assert training_flops(plain, 5, 6) == training_flops(shared, 5, 6)
