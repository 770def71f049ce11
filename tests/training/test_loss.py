"""The fused loss is PyTorch's, in value and gradient; the learning rate and the decay groups are the stated ones."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from nmt.config import ModelConfig, TrainingConfig
from nmt.model.encoder_decoder import Transformer
from nmt.training import loss as module
from nmt.training.loss import cross_entropy
from nmt.training.optim import learning_rate, make_optimizer


@given(st.integers(1, 40), st.sampled_from([0.0, 0.1, 0.5]), st.integers(0, 99), st.sampled_from([7, 64, 1 << 21]))
def test_value_and_gradients_are_those_of_pytorch(n: int, label_smoothing: float, seed: int, chunk: int) -> None:
    torch.manual_seed(seed)
    states, weight = torch.randn(n, 6, requires_grad=True), torch.randn(31, 6, requires_grad=True)
    targets = torch.randint(31, (n,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module.CHUNK_LOGITS, "cpu", chunk)
        ours = cross_entropy(states[None], weight, targets, label_smoothing)
        gradients = torch.autograd.grad(ours.smoothed / 3, (states, weight))
    logits = states @ weight.T
    theirs = F.cross_entropy(logits, targets, label_smoothing=label_smoothing, reduction="sum")
    torch.testing.assert_close(ours.smoothed, theirs)
    torch.testing.assert_close(ours.nll, F.cross_entropy(logits, targets, reduction="sum"))
    for mine, expected in zip(gradients, torch.autograd.grad(theirs / 3, (states, weight)), strict=True):
        torch.testing.assert_close(mine, expected, atol=1e-5, rtol=1e-4)


@given(st.integers(1, 20), st.sampled_from([0.0, 0.1]), st.integers(0, 99), st.sampled_from([7, 64, 1 << 21]))
def test_r_drop_is_its_formula(n: int, label_smoothing: float, seed: int, chunk: int) -> None:
    torch.manual_seed(seed)
    states, weight = torch.randn(2, n, 6, requires_grad=True), torch.randn(31, 6, requires_grad=True)
    targets = torch.randint(31, (n,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module.CHUNK_LOGITS, "cpu", chunk)
        ours = cross_entropy(states, weight, targets, label_smoothing, r_drop=5.0)
        gradients = torch.autograd.grad(ours.smoothed, (states, weight))
    one, two = (torch.log_softmax(part @ weight.T, -1) for part in states)
    theirs = sum(
        (F.cross_entropy(part, targets, label_smoothing=label_smoothing, reduction="sum") for part in (one, two)),
        start=torch.zeros(()),
    )
    for a, b in ((one, two), (two, one)):
        theirs = theirs + 5.0 / 2 * F.kl_div(a, b, reduction="sum", log_target=True)
    torch.testing.assert_close(ours.smoothed, theirs / 2)
    for mine, expected in zip(gradients, torch.autograd.grad(theirs / 2, (states, weight)), strict=True):
        torch.testing.assert_close(mine, expected, atol=1e-4, rtol=1e-4)


def test_a_certain_model_has_no_infinite_loss() -> None:
    states = torch.tensor([[1000.0, 0.0], [0.0, 1000.0]])
    loss = cross_entropy(states[None], torch.eye(2), torch.tensor([0, 0]), 0.1)
    assert float(loss.nll) == pytest.approx(1000.0)
    assert loss.smoothed.isfinite()


def test_the_rate_rises_linearly_then_follows_its_schedule() -> None:
    config = TrainingConfig(learning_rate=1.0, warmup_steps=100, max_steps=1100, schedule="inverse-sqrt")
    assert [learning_rate(s, config) for s in (1, 50, 100, 400)] == pytest.approx([0.01, 0.5, 1.0, 0.5])
    cosine = TrainingConfig(
        learning_rate=1.0, warmup_steps=100, max_steps=1100, schedule="cosine", min_learning_rate=0.2
    )
    assert [learning_rate(s, cosine) for s in (50, 100, 600, 1100, 2000)] == pytest.approx([0.5, 1.0, 0.6, 0.2, 0.2])
    constant = TrainingConfig(learning_rate=1.0, warmup_steps=0, schedule="constant")
    assert [learning_rate(s, constant) for s in (1, 10**6)] == [1.0, 1.0]


def test_only_matrices_decay() -> None:
    model = Transformer(ModelConfig(d_model=8, n_heads=2, encoder_layers=1, decoder_layers=1, d_ff=8), 20, 20)
    optimizer = make_optimizer(model, TrainingConfig(weight_decay=0.3))
    names = {id(p): name for name, p in model.named_parameters()}
    groups = {group["weight_decay"]: {names[id(p)] for p in group["params"]} for group in optimizer.param_groups}
    assert set().union(*groups.values()) == set(names.values())
    assert all(name.endswith("weight") and "norm" not in name and "embedding" not in name for name in groups[0.3])
    assert "tgt_embedding.weight" in groups[0.0]
    assert {n for n in names.values() if n.endswith("bias")} <= groups[0.0]
