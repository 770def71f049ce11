"""Fewer bits translate nearly as float32 does, and what a device can't do is said."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from nmt.config import DecodingPrecision, ModelConfig
from nmt.model import precision as module
from nmt.model.build import build_generative_model
from nmt.model.contract import GenerativeModel
from nmt.model.linear import Int8Linear, restrict
from nmt.model.precision import InputRanges, with_precision
from tests.tiny import needs_int8

WIDE = ModelConfig(d_model=64, n_heads=4, encoder_layers=2, decoder_layers=2, d_ff=128)


def model(settings: ModelConfig = WIDE) -> GenerativeModel:
    torch.manual_seed(1)
    return build_generative_model(settings, 600, 600).eval()


@pytest.mark.parametrize(
    ("name", "largest"), [("fp32", 1e-5), ("bf16", 0.1), pytest.param("int8", 0.1, marks=needs_int8())]
)
@pytest.mark.parametrize(
    "changes", [{}, {"attention": "latent", "positions": "rotary"}, {"positions": "relative", "qk_norm": True}]
)
def test_logits_in_fewer_bits_are_near_those_in_32(
    changes: dict[str, Any], name: DecodingPrecision, largest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmt.model.linear.SMALL", 0)
    plain, ids = model(replace(WIDE, **changes)), torch.randint(4, 600, (6, 9))
    chosen, kept = with_precision(plain, name)
    assert kept == name
    decoder = chosen
    with torch.inference_mode():
        expected_BTV = plain(ids[:2], ids[:2] > 0, ids[2:4])
        cache = decoder.start(ids[:2], ids[:2] > 0, 9)
        logits_BTV = torch.cat([decoder.step(ids[2:4, t : t + 1], cache) for t in range(9)], dim=1)
    assert logits_BTV.dtype == torch.float32
    assert float((logits_BTV - expected_BTV).abs().mean() / expected_BTV.abs().mean()) < largest


@needs_int8()
def test_int8_multiplies_integers_unless_that_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = nn.Linear(64, 32)
    int8, x = Int8Linear.of(layer), torch.randn(5, 64)
    with torch.inference_mode():
        assert torch.equal(int8(x), layer(x)), "320 × 32 products are few"
        monkeypatch.setattr("nmt.model.linear.SMALL", 0)
        error = (int8(x) - layer(x)).abs().mean() / layer(x).abs().mean()
    assert 0 < float(error) < 0.05


@needs_int8()
def test_with_the_ranges_of_its_inputs_int8_gives_a_row_the_same_logits_in_any_batch() -> None:
    plain, ids = model(), torch.randint(4, 600, (6, 9))
    watched = InputRanges(plain)
    with torch.inference_mode():
        expected_BTV = plain(ids, ids > 0, ids)
        assert torch.equal(watched.model(ids, ids > 0, ids), expected_BTV)
        ranges = watched.largest()
        chosen, _ = with_precision(plain, "int8", ranges)
        logits_BTV, alone_BTV = (chosen(some, some > 0, some) for some in (ids, ids[2:3]))
    layers = [layer for layer in chosen.modules() if isinstance(layer, Int8Linear)]
    assert len(layers) == len(ranges)
    chosen_too = restrict(chosen.output, torch.tensor([3, 2, 599]))
    with torch.inference_mode():
        x = torch.randn(5, 64)
        assert torch.equal(chosen_too(x), chosen.output(x)[:, [3, 2, 599]])
    assert {layer.input_range for layer in layers} == set(ranges.values())
    assert torch.equal(alone_BTV[0], logits_BTV[2])
    assert 0 < float((logits_BTV - expected_BTV).abs().mean() / expected_BTV.abs().mean()) < 0.1


@needs_int8()
@pytest.mark.parametrize("changes", [{}, {"tied_embeddings": "none", "output_bias": True}])
def test_int8_keeps_no_weights_in_float32_if_ranges_are_known_and_copies_none(changes: dict[str, Any]) -> None:
    plain = model(replace(WIDE, **changes))
    layers = [name for name, layer in plain.named_modules() if isinstance(layer, nn.Linear)]
    of_layers = {f"{name}.{part}" for name in layers for part in ("weight", "bias")}
    others = {id(weight) for name, weight in plain.named_parameters() if name not in of_layers}
    for ranges, kept in ((dict.fromkeys(layers, 1.0), others), ({}, {id(weight) for weight in plain.parameters()})):
        assert {id(weight) for weight in with_precision(plain, "int8", ranges)[0].parameters()} == kept


@needs_int8()
def test_the_model_that_is_given_stays_as_it_is() -> None:
    plain = model()
    before = {name: weight.clone() for name, weight in plain.state_dict().items()}
    assert with_precision(plain, "bf16")[0] is not plain
    assert with_precision(plain, "int8")[0] is not plain
    assert all(torch.equal(before[name], weight) for name, weight in plain.state_dict().items())


@pytest.mark.parametrize(
    ("instructions", "int8", "expected"),
    [({"avx512_bf16": True}, True, "bf16"), ({}, True, "int8"), ({}, False, "fp32")],
)
def test_auto_takes_what_the_machine_is_fast_in(
    instructions: dict[str, bool], int8: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: instructions)
    monkeypatch.setattr(module, "has_int8", lambda: int8)
    assert with_precision(model(), "auto")[1] == expected


def test_int8_where_there_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "has_int8", lambda: False)
    with pytest.raises(ValueError, match="int8 is not available on cpu"):
        with_precision(model(), "int8")
