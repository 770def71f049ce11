"""A model that is filled with weights is the model that they come from."""

from pathlib import Path

import pytest
import torch

from nmt.config import ModelConfig
from nmt.model.build import build_model
from nmt.model.weights import fill
from tests.model.settings import VOCAB, make, sentences, some_combinations


@pytest.mark.parametrize("config", some_combinations(60))
def test_a_model_without_memory_is_filled_with_weights_and_tables(config: ModelConfig) -> None:
    model = make(config, 1)
    weights = dict(model.named_parameters())
    with torch.device("meta"):
        other = build_model(config, VOCAB, model.vocab_size).eval()
    fill(other, weights, Path("here"))
    assert [*dict(other.named_parameters())] == [*weights], "what modules share, they still share"
    for name, parameter in other.named_parameters():
        assert torch.equal(parameter, weights[name])
        assert parameter.requires_grad == weights[name].requires_grad
        assert parameter.data_ptr() != weights[name].data_ptr()
    buffers = dict(model.named_buffers())
    assert {name for name, _ in other.named_buffers()} == buffers.keys()
    for name, buffer in other.named_buffers():
        assert torch.equal(buffer, buffers[name])
    (src, mask), (tgt, tgt_mask) = sentences(1, [5, 3]), sentences(2, [4, 4])
    with torch.no_grad():
        assert torch.equal(other.target_states(src, mask, tgt, tgt_mask), model.target_states(src, mask, tgt, tgt_mask))
