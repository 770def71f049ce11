"""Fewer bits translate nearly as float32 does, and what a device can't do is said."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from nmt.config import DecodingPrecision, ModelConfig
from nmt.model import layers
from nmt.model.build import with_precision
from nmt.model.contract import GenerativeModel
from tests.tiny import build_generative_model

WIDE = ModelConfig(d_model=64, n_heads=4, encoder_layers=2, decoder_layers=2, d_ff=128)


def model(settings: ModelConfig = WIDE) -> GenerativeModel:
    torch.manual_seed(1)
    return build_generative_model(settings, 600, 600).eval()


@pytest.mark.parametrize(("name", "largest"), [("fp32", 1e-5), ("bf16", 0.1)])
@pytest.mark.parametrize("changes", [{}, {"positions": "rotary", "qk_norm": True}])
def test_logits_in_fewer_bits_are_near_fp32(changes: dict[str, Any], name: DecodingPrecision, largest: float) -> None:
    plain, ids = model(replace(WIDE, **changes)), torch.randint(4, 600, (6, 9))
    with torch.inference_mode():
        expected_BTV = plain(ids[:2], ids[:2] > 0, ids[2:4])
    decoder, kept = with_precision(plain, name)
    assert kept == name
    with torch.inference_mode():
        assert torch.equal(plain(ids[:2], ids[:2] > 0, ids[2:4]), expected_BTV), "the model that is given stays"
        cache = decoder.start(ids[:2], ids[:2] > 0, 9)
        logits_BTV = torch.cat([decoder.step(ids[2:4, t : t + 1], cache) for t in range(9)], dim=1)
    assert logits_BTV.dtype == torch.float32
    assert float((logits_BTV - expected_BTV).abs().mean() / expected_BTV.abs().mean()) < largest


@pytest.mark.parametrize("shape", [(1, 1, 64), (3, 7, 64), (2, 64, 64), (5, 61, 64), (0, 4, 64)])
def test_bf16_products_have_few_shapes_and_stay_equal(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    layer, x, shapes = layers.Linear(64, 24), torch.randn(shape, dtype=torch.bfloat16), list[int]()

    def seen(x_NI: Tensor, *others: Tensor) -> Tensor:
        shapes.append(len(x_NI))
        return F.linear(x_NI, *others)

    monkeypatch.setattr(layers, "linear", seen)
    found, expected = x.clone().requires_grad_(), x.clone().requires_grad_()
    upstream = torch.randn(*shape[:-1], 24, dtype=torch.bfloat16)
    gradients = []
    for given in (found, expected):
        layer.zero_grad()
        y = layer(given) if given is found else F.linear(given, layer.weight.bfloat16(), layer.bias.bfloat16())
        y.backward(upstream)
        gradients.append((y, given.grad, layer.weight.grad, layer.bias.grad))
    assert shapes == [-(-shape[0] * shape[1] // layers.GRAIN) * layers.GRAIN]
    for ours, its in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, its, rtol=0.02, atol=0.05)


@pytest.mark.parametrize(("instructions", "expected"), [({"avx512_bf16": True}, "bf16"), ({}, "fp32")])
def test_auto_takes_what_the_machine_is_fast_in_and_int8_is_auto_for_pytorch(
    instructions: dict[str, bool], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: instructions)
    assert with_precision(model(), "auto")[1] == with_precision(model(), "int8")[1] == expected
