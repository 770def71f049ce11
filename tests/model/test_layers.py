"""Layers: dropout, activations, and layers that are computed twice."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.functional import gelu

from nmt.config import ModelConfig
from nmt.model.build import build_model
from nmt.model.contract import Model
from nmt.model.layers import FeedForward, dropout
from tests.model.settings import VOCAB, config, sentences


def build(config: ModelConfig, seed: int = 1) -> Model:
    torch.manual_seed(seed)
    return build_model(config, VOCAB, VOCAB)


def states(model: Model, seed: int = 1) -> Tensor:
    """The states of a batch, with dropout of this seed."""
    ids, mask = sentences(1, [7, 4])
    torch.manual_seed(seed)
    return model.target_states(ids, mask, ids, mask)


def saved_bytes(call: Callable[[], Any]) -> int:
    """Bytes of the tensors that are stored for the backward pass; each storage counts once."""
    sizes: dict[int, int] = {}
    kept: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        kept.append(tensor)
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        call()
    return sum(sizes.values())


@pytest.mark.parametrize("family", ["encoder-decoder", "decoder-only", "encoder-only"])
def test_layers_computed_twice_store_little(family: str) -> None:
    """`test_loop.py` sees that they learn the same."""
    p = {"dropout": 0.2, "attention_dropout": 0.2, "activation_dropout": 0.2}
    model = build(config(family=family, encoder_layers=4, decoder_layers=2, **p)).train()
    plain = saved_bytes(lambda: states(model))
    model.recompute(True)
    assert saved_bytes(lambda: states(model)) < plain / 2


@pytest.mark.parametrize(
    ("activation", "formula"),
    [
        ("relu2", lambda x: torch.relu(x) ** 2),
        ("swiglu", lambda x: x[:, :24] * x[:, :24].sigmoid() * x[:, 24:]),
        ("geglu", lambda x: gelu(x[:, :24]) * x[:, 24:]),
    ],
)
def test_activations_are_as_published(activation: str, formula: Callable[[Tensor], Tensor]) -> None:
    layer, x = FeedForward(config(activation=activation)), torch.randn(5, 16)
    torch.testing.assert_close(layer(x), layer.down(formula(layer.up(x))))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("p", [0.001, 0.1, 0.3, 0.5])
def test_dropout_keeps_the_share_and_the_mean_it_should(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    x = torch.ones(1001, 997, requires_grad=True, dtype=dtype)
    y = dropout(x, p)
    shown = y.detach()
    assert float((shown == 0).float().mean()) == pytest.approx(p, rel=0.12 if p < 0.1 else 0.025)
    assert float(shown.float().mean()) == pytest.approx(1, abs=0.005)
    assert float(shown.max()) == pytest.approx(1 / (1 - p), rel=1e-4 if dtype == torch.float32 else 5e-3)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, shown)
    other = dropout(x.detach(), p)
    both = float(((other == 0) & (shown == 0)).float().mean())
    assert both == pytest.approx(p * p, abs=0.003), "two masks are independent"


def test_dropout_of_almost_all_is_finite() -> None:
    assert dropout(torch.ones(100, 100), 1 - 1e-9).isfinite().all()
