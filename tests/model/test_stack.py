"""Stacks: layers that share weights, are skipped, or are computed twice; and DeepNorm's factors."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.functional import gelu

from nmt.config import Config, ModelConfig, TrainingConfig
from nmt.model.blocks import Residual, Stack
from nmt.model.build import build_model
from nmt.model.contract import Model
from nmt.model.layers import FeedForward
from tests.model.settings import VOCAB, config, make, sentences

FAMILIES = ["encoder-decoder", "decoder-only", "encoder-only"]


def build(config: ModelConfig, seed: int = 1) -> Model:
    torch.manual_seed(seed)
    return build_model(config, VOCAB, VOCAB)


def states(model: Model, seed: int = 1) -> Tensor:
    """The states of a batch, with dropout and skipped layers of this seed."""
    ids, mask = sentences(1, [7, 4])
    torch.manual_seed(seed)
    return model.target_states(ids, mask, ids, mask)


@pytest.mark.parametrize(
    ("depth", "share", "sharing", "order"),
    [
        (6, 1, "sequence", [0, 1, 2, 3, 4, 5]),
        (6, 2, "sequence", [0, 0, 1, 1, 2, 2]),
        (6, 2, "cycle", [0, 1, 2, 0, 1, 2]),
        (5, 2, "sequence", [0, 0, 1, 1, 2]),
        (5, 3, "cycle", [0, 1, 0, 1, 0]),
        (3, 9, "sequence", [0, 0, 0]),
    ],
)
def test_layers_share_blocks_in_order(depth: int, share: int, sharing: str, order: list[int]) -> None:
    model = build(config(encoder_layers=depth, share_layers=share, sharing=sharing))
    stack = model.get_submodule("encoder")
    assert isinstance(stack, Stack)
    assert stack.order == order
    assert len(stack) == max(order) + 1
    assert [stack[i] for i in order] == stack.layers()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sharing", ["sequence", "cycle"])
def test_shared_layers_compute_what_layers_of_equal_weights_compute(family: str, sharing: str) -> None:
    depths = {"family": family, "encoder_layers": 4, "decoder_layers": 2}
    shared, plain = build(config(**depths, share_layers=2, sharing=sharing)), build(config(**depths))
    with torch.no_grad():
        for name, stack in plain.named_children():
            if isinstance(stack, Stack):
                blocks: Any = shared.get_submodule(name)
                for own, block in zip(stack, blocks.layers(), strict=True):
                    own.load_state_dict(block.state_dict())
        for embedding, other in zip(plain.embeddings(), shared.embeddings(), strict=True):
            embedding.copy_(other)
    assert torch.equal(states(shared), states(plain))
    n_blocks = sum(1 for name, _ in shared.named_parameters() if name.endswith("feed_forward.up.weight"))
    assert n_blocks == {"encoder-only": 2}.get(family, 3)


@pytest.mark.parametrize("family", FAMILIES)
def test_skipped_layers_are_chosen_by_the_seed_and_none_is_skipped_in_evaluation(family: str) -> None:
    model = build(config(family=family, encoder_layers=3, decoder_layers=3, layer_drop=0.5)).train()
    assert torch.equal(states(model, 2), states(model, 2))
    assert len({float(states(model, seed).detach().sum()) for seed in range(20)}) > 5
    plain = build(config(family=family, encoder_layers=3, decoder_layers=3)).eval()
    assert torch.equal(states(model.eval()), states(plain))


def test_a_skipped_layer_passes_its_input_on() -> None:
    stack = build(config(encoder_layers=4, layer_drop=0.25)).train().get_submodule("encoder")
    called: list[int] = []
    for number, block in enumerate(stack.children()):
        block.register_forward_hook(lambda *_, number=number: called.append(number))
    x_BTM, mask = torch.randn(1, 3, 16), torch.zeros(1, 1, 1, 3)
    torch.manual_seed(1)
    for _ in range(400):
        stack(x_BTM, mask)
    assert len(called) == pytest.approx(400 * 4 * 0.75, rel=0.05)
    assert set(called) == {0, 1, 2, 3}


def test_plain_layers_draw_no_random_numbers() -> None:
    model = build(config()).train()
    states(model, 5)
    after = torch.get_rng_state()
    torch.manual_seed(5)
    assert torch.equal(after, torch.get_rng_state())


def gradients(model: Model) -> list[Tensor]:
    model.zero_grad()
    states(model).sin().sum().backward()
    return [torch.zeros(()) if p.grad is None else p.grad for p in model.parameters()]


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


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("more", [{}, {"layer_drop": 0.4, "share_layers": 2}])
def test_layers_computed_twice_have_the_same_gradients_bit_for_bit(family: str, more: dict[str, Any]) -> None:
    p = {"dropout": 0.2, "attention_dropout": 0.2, "activation_dropout": 0.2}
    model = build(config(family=family, encoder_layers=4, decoder_layers=2, **p, **more)).train()
    expected, state = gradients(model), torch.get_rng_state()
    plain = saved_bytes(lambda: states(model))
    model.recompute(True)
    for got, gradient in zip(gradients(model), expected, strict=True):
        assert torch.equal(got, gradient)
    assert torch.equal(torch.get_rng_state(), state), "what comes after is equal too"
    if not more:
        assert saved_bytes(lambda: states(model)) < plain / 2


@pytest.mark.parametrize(
    ("family", "stack", "alpha", "beta"),
    [
        ("encoder-only", "encoder", (2 * 6) ** 0.25, (8 * 6) ** -0.25),
        ("decoder-only", "decoder", (2 * 9) ** 0.25, (8 * 9) ** -0.25),
        ("encoder-decoder", "encoder", 0.81 * (6**4 * 3) ** (1 / 16), 0.87 * (6**4 * 3) ** (-1 / 16)),
        ("encoder-decoder", "decoder", (3 * 3) ** 0.25, (12 * 3) ** -0.25),
    ],
)
def test_deepnorm_has_the_published_factors(family: str, stack: str, alpha: float, beta: float) -> None:
    settings = {"family": family, "encoder_layers": 6, "decoder_layers": 3, "activation": "swiglu"}
    deep, plain = (build(config(**settings, norm_position=position)) for position in ("deepnorm", "post"))
    weights = dict(plain.named_parameters())
    for name, weight in deep.named_parameters():
        expected = weights[name].detach().clone()
        if name.startswith(f"{stack}.") and "norm" not in name:
            if name.endswith(("out.weight", "down.weight")):
                expected *= beta
            elif name.endswith("qkv.weight"):
                expected[32:] *= beta
            elif name.endswith(("kv.weight", "up.weight")):
                expected[len(expected) // 2 :] *= beta
            torch.testing.assert_close(weight, expected, msg=name)
    residuals = [module for module in deep.get_submodule(stack).modules() if isinstance(module, Residual)]
    assert len(residuals) >= 6
    assert {module.alpha for module in residuals} == {alpha}


def test_deepnorm_normalises_the_weighted_sum() -> None:
    model = make(config(norm_position="deepnorm"), 1)
    around: Any = model.get_submodule("encoder.0.around_self")
    x, y = torch.randn(3, 16), torch.randn(3, 16)
    expected = torch.nn.functional.layer_norm(around.alpha * x + y, [16])
    torch.testing.assert_close(around(x, lambda _: y), expected)
    torch.testing.assert_close(around.step(x, lambda _: y.clone()), expected)


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


def test_skipped_layers_are_refused_where_they_would_fail() -> None:
    training = TrainingConfig(freeze=("embeddings",))
    Config(training=training)
    with pytest.raises(ValueError, match=r"training.freeze names embeddings: .* Set model.layer_drop to 0"):
        Config(training=training, model=config(layer_drop=0.1))
