"""The fused loss is PyTorch's, in value and gradient, and R-Drop's is the one of its paper."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from nmt.data.batches import make_batch
from nmt.model.linear import with_bias
from nmt.training import loss as module
from nmt.training.data import TrainingData
from nmt.training.loss import Learner, Loss, Terms, cross_entropy
from nmt.training.teacher import Lesson
from tests.training.reversal import NO_DROPOUT, new_trainer


@given(st.integers(1, 40), st.sampled_from([0.0, 0.1, 0.5]), st.integers(0, 99), st.sampled_from([7, 64, 1 << 21]))
def test_value_and_gradients_are_those_of_pytorch(n: int, label_smoothing: float, seed: int, chunk: int) -> None:
    torch.manual_seed(seed)
    states, weight = torch.randn(n, 6, requires_grad=True), torch.randn(31, 6, requires_grad=True)
    targets = torch.randint(31, (n,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module.CHUNK_LOGITS, "cpu", chunk)
        ours = cross_entropy(states[None], weight, targets, Terms(label_smoothing))
        gradients = torch.autograd.grad(ours.smoothed / 3, (states, weight))
    logits = states @ weight.T
    theirs = F.cross_entropy(logits, targets, label_smoothing=label_smoothing, reduction="sum")
    torch.testing.assert_close(ours.smoothed, theirs)
    torch.testing.assert_close(ours.nll, F.cross_entropy(logits, targets, reduction="sum"))
    with torch.no_grad():
        assert int(cross_entropy(states[None], weight, targets, Terms(0.1)).right) == int(
            (logits.argmax(-1) == targets).sum()
        )
    for mine, expected in zip(gradients, torch.autograd.grad(theirs / 3, (states, weight)), strict=True):
        torch.testing.assert_close(mine, expected, atol=1e-5, rtol=1e-4)


@given(st.integers(1, 20), st.sampled_from([0.0, 0.1]), st.integers(0, 99), st.sampled_from([7, 64, 1 << 21]))
def test_r_drop_is_its_formula(n: int, label_smoothing: float, seed: int, chunk: int) -> None:
    torch.manual_seed(seed)
    states, weight = torch.randn(2, n, 6, requires_grad=True), torch.randn(31, 6, requires_grad=True)
    targets = torch.randint(31, (n,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module.CHUNK_LOGITS, "cpu", chunk)
        ours = cross_entropy(states, weight, targets, Terms(label_smoothing, 5.0))
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


@pytest.mark.parametrize("r_drop", [0.0, 5.0])
def test_a_bias_of_the_output_layer_is_part_of_the_loss_and_learns(r_drop: float) -> None:
    torch.manual_seed(1)
    states, output = torch.randn(2 if r_drop else 1, 9, 6), torch.nn.Linear(6, 31)
    targets = torch.randint(31, (9,))
    loss = cross_entropy(*with_bias(states, output), targets, Terms(0.1, r_drop))
    passes = [torch.log_softmax(output(part), -1) for part in states]
    expected = torch.stack([F.cross_entropy(p, targets, label_smoothing=0.1, reduction="sum") for p in passes]).mean()
    for a, b in (passes, passes[::-1]) if r_drop else ():
        expected = expected + r_drop / 4 * F.kl_div(a, b, reduction="sum", log_target=True)
    torch.testing.assert_close(loss.smoothed, expected)
    parameters = [output.weight, output.bias]
    gradients = zip(*(torch.autograd.grad(total, parameters) for total in (loss.smoothed, expected)), strict=True)
    for mine, theirs in gradients:
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-4)


def test_evaluation_mode_has_no_dropout_and_no_r_drop(data: TrainingData, tmp_path: Path) -> None:
    trainer = new_trainer(data, tmp_path, r_drop=5.0, word_dropout=0.5)
    noisy = Learner(trainer.model, trainer.config, trainer.numerics).eval()
    plain = Learner(trainer.model, replace(trainer.config, r_drop=0.0, word_dropout=0.0), trainer.numerics).eval()
    batch = make_batch(data.train.first(100), torch.arange(10))
    with torch.no_grad():
        assert float(noisy(batch).smoothed) == float(noisy(batch).smoothed) == float(plain(batch).smoothed)
        assert float(noisy.train()(batch).smoothed) > 1.01 * float(plain(batch).smoothed)


def test_of_equal_logits_one_alone_counts_as_right() -> None:
    """In bfloat16 many logits are equal."""
    states, weight = torch.ones(1, 7, 2, dtype=torch.bfloat16), torch.ones(7, 2)
    with torch.no_grad():
        assert int(cross_entropy(states, weight, torch.arange(7), Terms(0.0)).right) == 1


def test_validation_computes_no_gradient_of_the_output_layer() -> None:
    states, weight = torch.randn(1, 9, 4, requires_grad=True), torch.randn(5, 4, requires_grad=True)
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        cross_entropy(states, weight, torch.arange(9) % 5, Terms(0.0))
    assert counter.get_total_flops() == 2 * 9 * 5 * 4


def test_a_certain_model_has_no_infinite_loss() -> None:
    states = torch.tensor([[1000.0, 0.0], [0.0, 1000.0]])
    loss = cross_entropy(states[None], torch.eye(2), torch.tensor([0, 0]), Terms(0.1))
    assert float(loss.nll) == pytest.approx(1000.0)
    assert loss.smoothed.isfinite()


@pytest.mark.parametrize(("dropout", "apart"), [(0.0, False), (0.3, True)])
def test_r_drop_compares_two_dropouts(data: TrainingData, tmp_path: Path, dropout: float, apart: bool) -> None:
    trainer = new_trainer(data, tmp_path, replace(NO_DROPOUT, dropout=dropout))
    learner = Learner(trainer.model, trainer.config, trainer.numerics).train()
    batch = make_batch(data.train.first(100), torch.arange(10))

    def loss_with(r_drop: float) -> Loss:
        torch.manual_seed(1)
        learner.config = replace(trainer.config, r_drop=r_drop)
        loss: Loss = learner(batch)
        return loss

    plain, weak, strong = map(loss_with, (0.0, 1e-6, 5.0))
    assert float(strong.nll) == pytest.approx(float(weak.nll))
    if apart:
        assert float(strong.smoothed.detach()) > 1.01 * float(weak.smoothed.detach())
    else:
        for loss in (weak, strong):
            assert float(loss.smoothed.detach()) == pytest.approx(float(plain.smoothed.detach()))


@given(st.integers(1, 20), st.integers(1, 3), st.sampled_from([0.0, 5.0]), st.sampled_from([7, 64, 1 << 21]))
def test_a_lesson_is_cross_entropy_with_the_mean_of_the_teachers(n: int, k: int, r_drop: float, chunk: int) -> None:
    torch.manual_seed(n)
    passes = 2 if r_drop else 1
    states, weight = torch.randn(passes, n, 6, requires_grad=True), torch.randn(31, 6, requires_grad=True)
    outputs = [(torch.randn(n, 4), torch.randn(31, 4)) for _ in range(k)]  # of another width
    targets, share = torch.randint(31, (n,)), 0.7

    def loss(terms: Terms) -> Tensor:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(module.CHUNK_LOGITS, "cpu", chunk)
            return cross_entropy(states, weight, targets, terms).smoothed

    taught = torch.stack([torch.softmax(s @ w.T, -1) for s, w in outputs]).mean(0)
    soft = torch.stack([F.cross_entropy(part @ weight.T, taught, reduction="sum") for part in states]).mean()
    usual, divergence = loss(Terms(0.1)), loss(Terms(0.1, r_drop)) - loss(Terms(0.1))
    expected = (1 - share) * usual + share * soft + divergence
    ours = loss(Terms(0.1, r_drop, Lesson(share, outputs)))
    torch.testing.assert_close(ours, expected, atol=1e-3, rtol=1e-4)
    gradients = zip(*(torch.autograd.grad(total, (states, weight)) for total in (ours, expected)), strict=True)
    for mine, theirs in gradients:
        torch.testing.assert_close(mine, theirs, atol=1e-4, rtol=1e-3)
