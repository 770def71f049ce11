"""Label-smoothed cross entropy, fused with the output layer so that the logits of a batch are never all in memory.

Shapes: N real target positions, P passes (two for R-Drop, else one), C positions in a chunk, of all passes, M width of
the model or of its teacher, V vocabulary.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nmt.config import TrainingConfig
from nmt.data.batches import AnyBatch, Batch
from nmt.data.packing import PackedBatch
from nmt.model import layers
from nmt.model.cache import MASKED
from nmt.model.contract import Model
from nmt.model.device import Numerics, move
from nmt.model.encoder_decoder import EncoderDecoder
from nmt.model.layers import ALIGNED, GRAIN, filled, needs_code, with_bias

# Logits computed at once: on a CPU, 2 million floats (8 MB) stay in its cache. On a GPU, 134 million take a quarter of
# a GiB in bf16, and their probabilities twice as much.
CHUNK_LOGITS = {"cpu": 1 << 21, "cuda": 1 << 27}


class Lesson(NamedTuple):
    """What the teacher tells of a batch: few numbers. The probabilities are computed from them, a chunk at a time."""

    weight: float
    """Share of the loss that is the cross entropy against the teacher."""
    states_NM: Tensor
    weight_VM: Tensor

    def probabilities(self, start: int, stop: int) -> Tensor:
        """The probabilities (C, V), float32, at the positions from `start` up to `stop`."""
        return torch.softmax(F.linear(self.states_NM[start:stop], self.weight_VM).float(), dim=-1)


@dataclass(frozen=True)
class Teacher:
    """A trained model, in evaluation mode and in the precision of the training, whose probabilities a student learns
    (Hinton et al. 2015; Kim and Rush 2016, section 3.1). It is no module: DDP and checkpoints don't see its weights."""

    model: Model
    weight: float

    @torch.no_grad()
    def lesson(self, batch: Batch) -> Lesson:
        states_NM = self.model.target_states(batch.src_BS, batch.src_mask_BS, batch.tgt_in_BT, batch.tgt_mask_BT)
        return Lesson(self.weight, *with_bias(states_NM, self.model.output))


class Loss(NamedTuple):
    """Sums over tokens: the loss that is minimised, the negative log-likelihood (both in nats), and how many targets
    are the most probable piece (of equals, the one with the least id); this is counted in validation only."""

    smoothed: Tensor
    nll: Tensor
    right: Tensor


class Terms(NamedTuple):
    """What the loss consists of, besides the cross entropy with the targets; see `cross_entropy`."""

    label_smoothing: float
    r_drop: float = 0.0
    lesson: Lesson | None = None
    compiled: bool = False
    """Whether the operations between the products are compiled."""

    @property
    def passes(self) -> int:
        """How often a batch passes through the model."""
        return 2 if self.r_drop else 1

    @property
    def hard(self) -> float:
        """The share of the targets in the target distribution; the rest is the teacher's."""
        return 1.0 - self.lesson.weight if self.lesson else 1.0


def cross_entropy(states_PNM: Tensor, weight_VM: Tensor, targets_N: Tensor, terms: Terms) -> Loss:
    """Loss of the logits `states @ weight.T` against target ids (int64), summed over N; the mean over P passes.

    The target distribution is (1 − ε) on the target id plus ε / V on every id (Szegedy et al. 2016, section 7). With
    two passes, `r_drop` / 4 × (KL(1‖2) + KL(2‖1)) is added to the loss: half of Wu et al. 2021, equation 4, whose loss
    is the sum of the passes. With a lesson of weight w, the target distribution is (1 − w) times the one above plus w
    times the teacher's probabilities (Kim and Rush 2016, section 3.1). Only `smoothed` has a gradient; it is computed
    in the forward pass, while the logits are in memory.
    """
    if not torch.is_grad_enabled():  # in forward, PyTorch says nothing of this mode
        states_PNM, weight_VM = states_PNM.detach(), weight_VM.detach()
    arguments = states_PNM, weight_VM, targets_N, terms
    return Loss(*LinearCrossEntropy.apply(*arguments))  # type: ignore[no-untyped-call]


class Learner(nn.Module):
    """A model with its loss, as one module: DDP acts on what its `forward` computes."""

    def __init__(
        self, model: Model, config: TrainingConfig, numerics: Numerics, teacher: Teacher | None = None
    ) -> None:
        super().__init__()
        self.model, self.config, self.numerics, self.teacher = model, config, numerics, teacher

    def forward(self, batch: Batch) -> Loss:
        """The loss summed over a batch's real target tokens; the output layer runs at those positions only.

        With R-Drop the batch passes through the model twice, with different dropout, and the difference of the passes
        adds to the loss. In evaluation mode R-Drop is off, as all dropout is, and no teacher is asked.
        """
        if isinstance(batch, PackedBatch):
            return self.of_rows(self.prepared(batch))
        # Before the batch goes to a GPU: there, the program would have to wait for the number of tokens.
        targets_N = move(batch.tgt_out_BT[batch.tgt_mask_BT], self.numerics.device)
        terms = self.terms(self.teacher.lesson(batch) if self.teacher and self.training else None)
        batch = self.prepared(batch)
        arguments = batch.src_BS, batch.src_mask_BS, batch.tgt_in_BT, batch.tgt_mask_BT
        with self.model.computing_in(self.numerics.dtype):
            states_NM = self.model.target_states(*arguments)
        states_NM, weight_VM = with_bias(states_NM, self.model.output)
        return cross_entropy(states_NM.unflatten(0, (terms.passes, -1)), weight_VM, targets_N, terms)

    def terms(self, lesson: Lesson | None = None) -> Terms:
        r_drop = self.config.r_drop if self.training else 0.0
        return Terms(float(self.config.label_smoothing), r_drop, lesson, self.config.compile)

    def prepared(self, batch: AnyBatch) -> AnyBatch:
        """The batch as the model reads it, as often as it passes through the model."""
        return batch.repeated(self.terms().passes)

    def of_rows(self, batch: PackedBatch) -> Loss:
        """The loss of a prepared packed batch. The output layer runs at all positions, since their number must not
        change. States of padding are zeros: their gradients are zero, and each adds the entropy of equal shares."""
        assert isinstance(self.model, EncoderDecoder)
        terms = self.terms()
        targets_N = move(batch.tgt_out_BT.chunk(terms.passes)[0].flatten(), self.numerics.device)
        ids = batch.src_BS, batch.src_place_BS, batch.tgt_in_BT, batch.tgt_place_BT, batch.tgt_mask_BT
        *arguments, real_BT = (move(tensor, self.numerics.device) for tensor in ids)
        with self.model.computing_in(self.numerics.dtype):
            states_NM = self.model.packed_states(*arguments).flatten(0, 1)
        states_NM, weight_VM = with_bias(states_NM, self.model.output)
        states_NM = states_NM * real_BT.flatten()[:, None]
        loss = cross_entropy(states_NM.unflatten(0, (terms.passes, -1)), weight_VM, targets_N, terms)
        of_padding = (~real_BT).sum() / terms.passes * math.log(weight_VM.size(0))
        return Loss(loss.smoothed - of_padding, loss.nll - of_padding, loss.right)


class LinearCrossEntropy(torch.autograd.Function):
    """Output layer and loss in one: forward computes both gradients while it has the logits, backward scales them."""

    @staticmethod
    def forward(
        ctx: Any, states_PNM: Tensor, weight_VM: Tensor, targets_N: Tensor, terms: Terms
    ) -> tuple[Tensor, Tensor, Tensor]:
        wants_gradient, lesson = any(ctx.needs_input_grad), terms.lesson
        smoothed, nll, right = (states_PNM.new_zeros((), dtype=torch.float32) for _ in range(3))
        passes, vocab_size = states_PNM.size(0), weight_VM.size(0)
        more = -vocab_size % ALIGNED if states_PNM.device.type in layers.NEEDS_ALIGNED else 0  # pieces that don't exist
        weight_VM = F.pad(weight_VM, (0, 0, 0, more)) if more else weight_VM
        grad_states, grad_weight = torch.empty_like(states_PNM), torch.zeros_like(weight_VM)
        weight_VM = weight_VM.to(states_PNM.dtype)  # but the sum over chunks stays exact
        rows = max(1, CHUNK_LOGITS.get(states_PNM.device.type, 1 << 21) // (vocab_size * passes))
        if needs_code(states_PNM) and rows > GRAIN:
            rows -= rows % GRAIN
        if terms.compiled:  # chunks of one size, if there is one: each is compiled
            rows = next((n for n in range(rows, rows // 2, -1) if targets_N.size(0) % n == 0), rows)
        compute = compiled_chunk_loss() if terms.compiled else chunk_loss
        for start in range(0, targets_N.size(0), rows):
            states_CM = filled(states_PNM[:, start : start + rows].flatten(0, 1))
            targets_C1 = targets_N[start : start + rows].repeat(passes)[:, None]
            taught_CV = lesson.probabilities(start, start + rows).repeat(passes, 1) if lesson else None
            logits_CV = F.linear(states_CM, weight_VM)[: len(targets_C1)]
            if more:
                logits_CV[:, vocab_size:] = MASKED
                taught_CV = None if taught_CV is None else F.pad(taught_CV, (0, more))
            chunk_smoothed, chunk_nll, p_CV = compute(logits_CV, targets_C1, taught_CV, terms)
            smoothed += chunk_smoothed
            nll += chunk_nll
            if not wants_gradient:
                right += (logits_CV.argmax(-1, keepdim=True) == targets_C1).sum()
            else:
                p_CV, n = filled(p_CV), len(p_CV)
                grad_states[:, start : start + rows] = (p_CV @ weight_VM)[:n].unflatten(0, (passes, -1))
                grad_weight += p_CV.T @ states_CM
        # The share of the uniform distribution needs no logits: the mean of a position's logits is linear in its state.
        uniform = terms.hard * terms.label_smoothing
        weight_VM, grad_weight = weight_VM[:vocab_size], grad_weight[:vocab_size]
        mean_M, sum_M = weight_VM.mean(0, dtype=torch.float32), states_PNM.sum((0, 1), dtype=torch.float32)
        smoothed -= uniform * (sum_M @ mean_M)
        grad_states -= uniform * mean_M
        grad_weight -= uniform / vocab_size * sum_M
        if passes > 1:
            for total in (smoothed, nll, grad_states, grad_weight):
                total /= passes
        ctx.save_for_backward(grad_states, grad_weight)
        ctx.mark_non_differentiable(nll, right)
        return smoothed, nll, right

    @staticmethod
    def backward(ctx: Any, grad_smoothed: Tensor, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad_states, grad_weight = ctx.saved_tensors
        # In place: when the backward pass begins, memory is fullest.
        return grad_states.mul_(grad_smoothed), grad_weight.mul_(grad_smoothed), None, None


def chunk_loss(
    logits_CV: Tensor, targets_C1: Tensor, taught_CV: Tensor | None, terms: Terms
) -> tuple[Tensor, Tensor, Tensor]:
    """`smoothed` and `nll` of the positions of a chunk, and the gradient with respect to its logits: both without the
    share of the uniform distribution. Few passes over the logits: memory is slower than a GPU's arithmetic."""
    dtype = logits_CV.dtype
    if torch.compiler.is_compiling() and not terms.r_drop and not terms.lesson:  # two passes over the logits
        total_C1 = logits_CV.float().logsumexp(-1, keepdim=True)
        nll, label_smoothing = (total_C1 - logits_CV.gather(1, targets_C1)).sum(), terms.label_smoothing
        loss = (1 - label_smoothing) * nll + label_smoothing * total_C1.sum()
        is_target_CV = torch.arange(logits_CV.size(1), device=logits_CV.device) == targets_C1
        p_CV = (logits_CV - total_C1).exp() - torch.where(is_target_CV, 1 - label_smoothing, 0.0)
        return loss, nll, p_CV.to(dtype)
    if logits_CV.device.type == "cpu":  # a GPU's kernels widen numbers as they read them
        logits_CV = logits_CV.float()
    p_CV = torch.softmax(logits_CV, dim=-1, dtype=torch.float32)
    # log Σ exp, from the largest logit and its probability (at least 1/V, so its logarithm is safe).
    best_C1, target_C1 = logits_CV.amax(-1, keepdim=True), logits_CV.gather(1, targets_C1)
    total_C1 = best_C1 - p_CV.amax(-1, keepdim=True).log()
    nll, label_smoothing = (total_C1 - target_C1).sum(), terms.label_smoothing
    loss = terms.hard * ((1 - label_smoothing) * nll + label_smoothing * total_C1.sum())
    kl, grad_kl_CV = symmetric_kl(logits_CV - total_C1, p_CV) if terms.r_drop else (0.0, None)
    loss = loss + terms.r_drop / 2 * kl
    p_CV.scatter_add_(1, targets_C1, torch.full_like(total_C1, terms.hard * (label_smoothing - 1)))
    if terms.lesson and taught_CV is not None:
        loss = loss + terms.lesson.weight * (total_C1.sum() - (taught_CV * logits_CV).sum())
        p_CV.sub_(taught_CV, alpha=terms.lesson.weight)
    if grad_kl_CV is not None:
        p_CV.add_(grad_kl_CV, alpha=terms.r_drop / 2)
    return loss, nll, p_CV.to(dtype)


@functools.cache
def compiled_chunk_loss() -> Callable[..., tuple[Tensor, ...]]:
    return torch.compile(chunk_loss)  # once for whole chunks, and once for the last ones of any size


def symmetric_kl(log_p_CV: Tensor, p_CV: Tensor) -> tuple[Tensor, Tensor]:
    """KL(1‖2) + KL(2‖1) of two passes, the halves of C, summed over C; and its gradient with respect to the logits."""
    (log_p, log_q), (p, q) = log_p_CV.chunk(2), p_CV.chunk(2)
    ratio = log_p - log_q
    kl_pq, kl_qp = (p * ratio).sum(-1, keepdim=True), -(q * ratio).sum(-1, keepdim=True)
    return (kl_pq + kl_qp).sum(), torch.cat([p * (ratio - kl_pq) + p - q, q * (-ratio - kl_qp) + q - p])
