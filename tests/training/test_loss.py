"""The fused loss is PyTorch's, in value and gradient, and R-Drop's is the one of its paper."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from nmt.data.batches import make_batch
from nmt.model.layers import with_bias
from nmt.training import loss as module
from nmt.training.data import TrainingData
from nmt.training.loss import Learner, Lesson, Loss, Terms, cross_entropy
from tests.training.reversal import NO_DROPOUT, new_trainer


@given(
    n=st.integers(1, 40),
    label_smoothing=st.sampled_from([0.0, 0.1, 0.5]),
    r_drop=st.sampled_from([0.0, 5.0]),
    taught=st.booleans(),
    bias=st.booleans(),
    seed=st.integers(0, 99),
    chunk=st.sampled_from([7, 64, 1 << 21]),
)
def test_value_and_gradients_are_those_of_the_formulas(
    n: int, label_smoothing: float, r_drop: float, taught: bool, bias: bool, seed: int, chunk: int
) -> None:
    """PyTorch's cross entropy, R-Drop (of two passes), a teacher, and an output layer with a bias or without."""
    torch.manual_seed(seed)
    states, output = torch.randn(2 if r_drop else 1, n, 6, requires_grad=True), torch.nn.Linear(6, 31, bias)
    targets, share = torch.randint(31, (n,)), 0.7 if taught else 0.0
    lesson = Lesson(share, torch.randn(n, 4), torch.randn(31, 4))  # of another width
    terms = Terms(label_smoothing, r_drop, lesson if taught else None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module.CHUNK_LOGITS, "cpu", chunk)
        ours = cross_entropy(*with_bias(states, output), targets, terms)
        with torch.no_grad():
            right = cross_entropy(*with_bias(states[:1], output), targets, Terms(label_smoothing)).right
    logits = [output(part) for part in states]
    hard = [F.cross_entropy(part, targets, label_smoothing=label_smoothing, reduction="sum") for part in logits]
    theirs = (1 - share) * torch.stack(hard).mean()
    if taught:
        probabilities = torch.softmax(lesson.states_NM @ lesson.weight_VM.T, -1)
        soft = [F.cross_entropy(part, probabilities, reduction="sum") for part in logits]
        theirs = theirs + share * torch.stack(soft).mean()
    passes = [part.log_softmax(-1) for part in logits]
    for a, b in (passes, passes[::-1]) if r_drop else ():
        theirs = theirs + r_drop / 4 * F.kl_div(a, b, reduction="sum", log_target=True)
    torch.testing.assert_close(ours.smoothed, theirs, atol=1e-4, rtol=1e-5)
    nll = [F.cross_entropy(part, targets, reduction="sum") for part in logits]
    torch.testing.assert_close(ours.nll, torch.stack(nll).mean())
    assert int(right) == int((logits[0].argmax(-1) == targets).sum())
    learned = [states, *output.parameters()]
    gradients = zip(*(torch.autograd.grad(total / 3, learned) for total in (ours.smoothed, theirs)), strict=True)
    for mine, expected in gradients:
        torch.testing.assert_close(mine, expected, atol=1e-4, rtol=1e-4)


def test_evaluation_mode_has_no_dropout_and_no_r_drop(data: TrainingData, tmp_path: Path) -> None:
    trainer = new_trainer(data, tmp_path, r_drop=5.0)
    noisy = Learner(trainer.model, trainer.config, trainer.numerics).eval()
    plain = Learner(trainer.model, replace(trainer.config, r_drop=0.0), trainer.numerics).eval()
    batch = make_batch(data.train.chosen(torch.arange(100)), torch.arange(10))
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
    batch = make_batch(data.train.chosen(torch.arange(100)), torch.arange(10))

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
