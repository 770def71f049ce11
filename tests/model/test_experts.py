"""Mixtures of experts: what the router chooses, what the experts compute, and what is counted."""

import re
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from nmt.config import ModelConfig
from nmt.model.build import build_model
from nmt.model.experts import Experts
from nmt.model.layers import FeedForward
from nmt.model.precision import with_precision
from tests.model.settings import VOCAB, config, make, sentences


def layer(seed: int = 1, **changes: Any) -> Experts:
    torch.manual_seed(seed)
    experts = Experts(config(**{"experts": 4, "bias": False} | changes)).eval()
    for parameter in experts.parameters():
        nn.init.normal_(parameter, std=0.3)
    return experts


def random_input(*sizes: int) -> Tensor:
    return torch.randn(*sizes, 16, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
@pytest.mark.parametrize("chosen", [1, 2, 4])
def test_equal_experts_are_a_dense_layer(activation: str, chosen: int) -> None:
    settings = config(activation=activation, bias=False)
    dense, experts = FeedForward(settings), layer(activation=activation, experts_per_token=chosen)
    with torch.no_grad():
        experts.up.copy_(dense.up.weight.expand_as(experts.up))
        experts.down.copy_(dense.down.weight.expand_as(experts.down))
    x = random_input(3, 5)
    # The weights of several chosen experts add up to 1; that of a single one is its probability.
    weight = experts.route(x.flatten(0, 1))[2].view(3, 5, 1) if chosen == 1 else 1
    torch.testing.assert_close(experts(x), weight * dense(x))


def plain(experts: Experts, x_M: Tensor) -> Tensor:
    """The output for one position, by the formula."""
    logits_E = experts.router @ x_M
    scores_E = logits_E.softmax(-1) + (0 if experts.choice_bias is None else experts.choice_bias)
    chosen = scores_E.argsort(descending=True)[: experts.per_position].tolist()
    weights = logits_E[chosen].softmax(-1)
    outputs = [experts.down[e] @ torch.relu(experts.up[e] @ x_M) for e in chosen]
    y_M = (weights[:, None] * torch.stack(outputs)).sum(0)
    return y_M if experts.shared is None else y_M + experts.shared(x_M)


@given(st.integers(0, 2**16), st.sampled_from(["loss", "bias"]), st.integers(0, 2), st.integers(1, 40))
def test_each_position_gets_the_experts_of_its_own_choice(seed: int, balance: str, shared: int, length: int) -> None:
    """However many positions choose the same expert: none is dropped."""
    experts = layer(seed, expert_balance=balance, shared_experts=shared)
    x = torch.randn(1, length, 16)
    expected = torch.stack([plain(experts, x_M) for x_M in x[0]])
    torch.testing.assert_close(experts(x)[0], expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(experts.step(x[0]), expected, atol=1e-5, rtol=1e-4)


def test_a_choice_bias_moves_the_choice_and_not_the_weights() -> None:
    experts, x = layer(expert_balance="bias"), random_input(6)
    assert experts.choice_bias is not None
    experts.choice_bias.data = torch.tensor([9.0, 9.0, 0.0, 0.0])
    probabilities, chosen, weights = experts.route(x)
    assert (chosen < 2).all()
    chosen_only = probabilities[:, :2] / probabilities[:, :2].sum(1, keepdim=True)
    torch.testing.assert_close(weights, chosen_only.gather(1, chosen))


def test_gradients_reach_the_router_and_only_the_chosen_experts() -> None:
    experts = layer()
    with torch.no_grad():
        experts.router[3] = -10 * experts.router[0]
    x = 3 * experts.router.detach()[:1]  # the router's first choice is the first expert, its last one the fourth
    experts(x[None]).square().sum().backward()
    gradients = [p.grad for p in (experts.up, experts.down, experts.router)]
    of_up, of_down, of_router = (gradient.abs().sum(-1) for gradient in gradients if gradient is not None)
    _, chosen, _ = experts.route(x)
    for used_E in ((of_up > 0).any(1), (of_down > 0).any(1)):
        assert used_E.nonzero().flatten().tolist() == sorted(chosen[0].tolist())
    assert of_router.sum() > 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_router_computes_in_float32(dtype: torch.dtype) -> None:
    """Its probabilities are float32 where all else is bfloat16: the states alone, or the weights too."""
    experts = layer().to(dtype)
    experts.routes = []
    y = experts(random_input(2, 3).bfloat16())
    assert y.dtype == torch.bfloat16
    (routes,) = experts.routes
    assert routes.probabilities_BTE.dtype == torch.float32
    exact = torch.softmax(random_input(2, 3).bfloat16().float() @ experts.router.float().T, -1)
    torch.testing.assert_close(routes.probabilities_BTE, exact, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("family", "counted"),
    [("encoder-decoder", {"encoder.0": 8, "encoder.1": 8, "decoder.0": 6}), ("decoder-only", 16), ("encoder-only", 8)],
)
def test_loads_count_each_real_position_once(family: str, counted: Any) -> None:
    torch.manual_seed(1)
    model = build_model(config(family=family, experts=3, shared_experts=1), VOCAB, VOCAB)
    (src, src_mask), (tgt, tgt_mask) = sentences(1, [5, 3]), sentences(2, [2, 4])
    lengths = src_mask.sum(1), tgt_mask.sum(1)
    if family == "encoder-only":
        tgt, tgt_mask = src, src_mask

    def counts(src: Tensor, tgt: Tensor) -> dict[str, list[Tensor]]:
        model.forget_batches()
        with model.auxiliary(*lengths) as losses:
            model.target_states(src, src_mask, tgt, tgt_mask)
        layers = model.experts().items()
        return {name: [layer.loads_E, loss] for (name, layer), loss in zip(layers, losses, strict=True)}

    first = counts(src, tgt)
    counted = counted if isinstance(counted, dict) else dict.fromkeys(model.experts(), counted)
    assert {name: float(loads_E.sum()) for name, (loads_E, _) in first.items()} == {
        n: 2 * c for n, c in counted.items()
    }
    # Padding is not counted: other ids there change nothing.
    other = counts(src.where(src_mask, 7), tgt.where(tgt_mask, 7))
    torch.testing.assert_close(list(other.values()), list(first.values()))
    model.eval()
    with model.auxiliary(*lengths) as losses:
        model.target_states(src, src_mask, tgt, tgt_mask)
    assert losses == [], "in training only"


def test_routes_are_noted_only_where_they_are_counted() -> None:
    model = make(config(experts=3), 1).train()
    source, (tgt, tgt_mask) = sentences(1, [5]), sentences(2, [4])
    with pytest.raises(ZeroDivisionError), model.auxiliary(torch.tensor([5]), torch.tensor([4])) as losses:
        raise ZeroDivisionError
    assert losses == []
    model.target_states(*source, tgt, tgt_mask)
    assert all(experts.routes is None for experts in model.experts().values())
    dense = make(config(), 1)
    with dense.auxiliary(torch.tensor([5]), torch.tensor([4])) as losses:
        dense.target_states(*source, tgt, tgt_mask)
    assert losses == []


def test_each_expert_starts_as_a_matrix_of_its_own() -> None:
    """The range of Xavier's uniform distribution is that of one matrix, not of all of them together."""
    model = make(config(experts=5, activation="swiglu", d_model=32, d_ff=64), 1)
    for experts in model.experts().values():
        for weight, inputs, outputs in ((experts.up, 32, 64), (experts.down, 64, 32), (experts.router, 32, 5)):
            limit = (6 / (inputs + outputs)) ** 0.5
            assert 0.95 * limit < float(weight.detach().abs().max()) <= limit


def test_deepnorm_scales_experts_as_it_scales_dense_layers() -> None:
    settings = {"experts": 3, "activation": "geglu", "d_ff": 24}
    deep, plain = (make(config(norm_position=place, **settings), 1) for place in ("deepnorm", "post"))
    new, old, beta = deep.experts()["decoder.0"], plain.experts()["decoder.0"], deep.stacks()[1].beta
    assert beta < 1
    torch.testing.assert_close(new.down, beta * old.down)
    torch.testing.assert_close(new.up[:, 24:], beta * old.up[:, 24:])
    assert torch.equal(new.up[:, :24], old.up[:, :24]), "gates are not scaled"
    assert torch.equal(new.router, old.router)


def test_models_of_fewer_bits_write_about_the_same() -> None:
    model = make(config(experts=4, shared_experts=1, d_model=64, d_ff=128), 1)
    smaller, _ = with_precision(model, "bf16")
    source, (tgt, _) = sentences(1, [6, 4]), sentences(2, [5, 5])
    with torch.inference_mode():
        exact, rounded = (m.step(tgt[:, :1], m.start(*source, 5)).softmax(-1) for m in (model, smaller))
    torch.testing.assert_close(rounded, exact, atol=0.02, rtol=0.2)
    dtypes = {experts.up.dtype for experts in smaller.experts().values()}
    assert dtypes == {torch.bfloat16}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"experts_per_token": 5, "experts": 4}, "model.experts_per_token is 5, and model.experts 4"),
        ({"shared_experts": 1}, "model.shared_experts is 1: it is used only with model.experts above 0"),
        ({"experts": 4, "d_ff": 28}, "both must be multiples of 8"),
    ],
)
def test_impossible_settings_are_refused(changes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        ModelConfig(**{"d_model": 16, "n_heads": 2} | changes)  # type: ignore[arg-type]
