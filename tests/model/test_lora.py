"""Low-rank adapters: they change nothing at first, only they learn, and adding them to the weights changes nothing."""

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nmt.config import LoraConfig, ModelConfig
from nmt.model.build import build_model, with_precision
from nmt.model.contract import Model
from nmt.model.lora import AdaptedLinear, adapters, add_adapters, merge_adapters, with_adapter

TINY = ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=2, d_ff=32)
KINDS = {
    "plain": TINY,
    "modern": replace(TINY, norm="rms", positions="rotary", activation="swiglu", n_kv_heads=1, bias=False),
    "encoder": replace(TINY, family="encoder-only"),
}


def states(model: Model) -> Tensor:
    ids = torch.tensor([[5, 6, 7, 8], [9, 10, 11, 0]])
    return model.eval().target_states(ids, ids > 0, ids, ids > 0)


def learn(model: Model, steps: int = 3) -> None:
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], 1e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        model.output(states(model)).log_softmax(-1)[:, 5].sum().backward()
        optimizer.step()


def new_model(kind: str) -> Model:
    torch.manual_seed(1)
    return build_model(KINDS[kind], 40, 40)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parts", ["all", "attention", "feed_forward"])
def test_at_first_nothing_changes_then_only_adapters_and_adding_them_changes_nothing(kind: str, parts: Any) -> None:
    model = new_model(kind)
    plain, before = copy.deepcopy(model), states(model)
    names = [name for name, _ in model.named_parameters()]
    add_adapters(model, LoraConfig(rank=2, alpha=4, parts=parts))
    assert torch.equal(states(model), before)
    kept = {name: p.detach().clone() for name, p in model.named_parameters()}
    learn(model)
    changed = {name for name, p in model.named_parameters() if not torch.equal(p, kept[name])}
    assert changed == {name for name in kept if ".weight.0." in name}
    after = states(model)
    assert not torch.equal(after, before)
    merge_adapters(model)
    assert torch.equal(states(model), after)
    assert {name for name, _ in model.named_parameters()} == {*names}
    moved = {name for name, p in model.named_parameters() if not torch.equal(p, plain.get_parameter(name))}
    adaptable = [f"{name}.weight" for name, module in plain.named_modules() if isinstance(module, nn.Linear)]
    places = ["attention", "feed_forward"] if parts == "all" else [parts]
    assert moved == {name for name in adaptable if any(place in name for place in places)}


@pytest.mark.parametrize("kind", KINDS)
def test_an_adapter_beside_a_model_is_the_merged_one_and_shares_all_weights(kind: str) -> None:
    model = new_model(kind)
    merged = copy.deepcopy(model)
    add_adapters(merged, LoraConfig(rank=2, alpha=4))
    learn(merged)
    factors = factors_of(merged)
    merge_adapters(merged)
    before = states(model)
    beside = with_adapter(model.requires_grad_(False), factors)
    assert torch.allclose(states(beside), states(merged), atol=1e-5)
    assert not torch.allclose(states(beside), before, atol=1e-3)
    assert torch.equal(states(model), before)
    new = {p.data_ptr() for p in beside.parameters()} - {p.data_ptr() for p in model.parameters()}
    assert len(new) == 2 * len(factors)


def test_an_adapter_beside_a_model_in_fewer_bits_shares_its_layers() -> None:
    merged = new_model("plain")
    add_adapters(merged, LoraConfig(rank=2, alpha=4))
    small, _ = with_precision(new_model("plain"), "bf16")
    learn(merged)
    factors = factors_of(merged)
    beside = with_adapter(small, factors)
    expected, plain = (states(model).float() for model in (merged, small))
    found = states(beside).float()
    assert (found - expected).norm() < (plain - expected).norm() / 3
    name = "decoder.1.self_attention.qkv"
    adapted, shared = beside.get_submodule(name), small.get_submodule(name)
    assert isinstance(adapted, AdaptedLinear)
    assert adapted.layer.get_parameter("weight").data_ptr() == shared.get_parameter("weight").data_ptr()


def factors_of(model: Model) -> dict[str, tuple[Tensor, Tensor]]:
    """A and α / rank × B of a model's adapters."""
    found = {name: (*adapter.factors(), adapter.alpha / adapter.rank) for name, adapter in adapters(model).items()}
    return {name: (a.detach(), scale * b.detach()) for name, (a, b, scale) in found.items()}


def test_each_fused_matrix_has_a_pair_of_its_own() -> None:
    model = new_model("modern")
    add_adapters(model, LoraConfig(rank=2))
    found = adapters(model)
    assert [len(b) for b in found["encoder.0.self_attention.qkv"].B] == [16, 8, 8]
    assert [len(b) for b in found["encoder.0.feed_forward.up"].B] == [32, 32]
    assert [len(b) for b in found["decoder.1.cross_attention.kv"].B] == [8, 8]
    assert len(found["decoder.1.cross_attention.q"].B) == 1


def test_in_bfloat16_an_adapter_is_added_before_the_weight_is_rounded() -> None:
    """A small adapter would be lost in a sum of rounded weights."""
    model = new_model("plain")
    add_adapters(model, LoraConfig(rank=2))
    learn(model)
    layer: Any = model.get_submodule("encoder.0.feed_forward.up")
    x = torch.randn(3, layer.in_features).bfloat16()
    exact = torch.nn.functional.linear(x, layer.weight.bfloat16(), layer.bias.bfloat16())
    assert torch.equal(layer(x), exact)
