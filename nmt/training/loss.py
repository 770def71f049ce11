"""Label-smoothed cross entropy, fused with the output layer so that no table of all logits is ever held.

Shapes: N real target positions, C positions in a chunk, M model width, V vocabulary.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from nmt.data.batches import Batch
from nmt.model.device import Numerics
from nmt.model.transformer import Transformer

# Logits computed at once: 2 million floats (8 MB) stay in a CPU's cache between the passes over them.
CHUNK_LOGITS = {"cpu": 1 << 21, "cuda": 1 << 27}


class Loss(NamedTuple):
    """Sums over tokens, in nats: what is minimised, and the plain negative log-likelihood."""

    smoothed: Tensor
    nll: Tensor


def cross_entropy(states_NM: Tensor, weight_VM: Tensor, targets_N: Tensor, label_smoothing: float) -> Loss:
    """Loss of the logits `states_NM @ weight_VM.T` against target ids (int64), summed over N.

    The target distribution is (1 − ε) on the target id plus ε / V on every id (Szegedy et al. 2016, section 7). Only
    the smoothed sum has a gradient; it is computed here, chunk by chunk, while the logits are at hand.
    """
    smoothed, nll = LinearCrossEntropy.apply(states_NM, weight_VM, targets_N, label_smoothing)  # type: ignore[no-untyped-call]
    return Loss(smoothed, nll)


def batch_loss(model: Transformer, batch: Batch, label_smoothing: float, numerics: Numerics) -> Loss:
    """The model's loss summed over a batch's real target tokens; the output layer runs at those alone."""
    batch = batch.to(numerics.device)
    with numerics.autocast():
        memory = model.encode(batch.src_BS, batch.src_mask_BS)
        states_BTM = model.decode_states(batch.tgt_in_BT, memory, batch.tgt_mask_BT)
        real_N = batch.tgt_mask_BT.flatten().nonzero().squeeze(1)
        states_NM = states_BTM.flatten(0, 1).index_select(0, real_N)
        return cross_entropy(states_NM, model.output.weight, batch.tgt_out_BT.flatten()[real_N], label_smoothing)


class LinearCrossEntropy(torch.autograd.Function):
    """Output layer and loss in one: forward makes both gradients, backward scales them."""

    @staticmethod
    def forward(ctx: Any, states_NM: Tensor, weight_VM: Tensor, targets_N: Tensor,
                label_smoothing: float) -> tuple[Tensor, Tensor]:
        wants_gradient = any(ctx.needs_input_grad)
        smoothed, nll = states_NM.new_zeros((), dtype=torch.float32), states_NM.new_zeros((), dtype=torch.float32)
        grad_states, grad_weight = torch.empty_like(states_NM), torch.zeros_like(weight_VM)
        rows = max(1, CHUNK_LOGITS.get(states_NM.device.type, 1 << 21) // weight_VM.size(0))
        for start in range(0, targets_N.size(0), rows):
            states_CM, targets_C1 = states_NM[start:start + rows], targets_N[start:start + rows, None]
            logits_CV = F.linear(states_CM, weight_VM).float()
            p_CV = torch.softmax(logits_CV, dim=-1)
            # log Σ exp, from the largest logit and its probability (at least 1/V, so its logarithm is safe).
            total_C1 = logits_CV.amax(-1, keepdim=True) - p_CV.amax(-1, keepdim=True).log()
            nll_C1 = total_C1 - logits_CV.gather(1, targets_C1)
            uniform_C1 = total_C1 - logits_CV.mean(-1, keepdim=True)
            nll += nll_C1.sum()
            smoothed += ((1 - label_smoothing) * nll_C1 + label_smoothing * uniform_C1).sum()
            if wants_gradient:
                p_CV.sub_(label_smoothing / weight_VM.size(0))
                p_CV.scatter_add_(1, targets_C1, torch.full_like(nll_C1, label_smoothing - 1))
                grad_states[start:start + rows] = p_CV.to(weight_VM.dtype) @ weight_VM
                grad_weight += p_CV.to(states_CM.dtype).T @ states_CM
        ctx.save_for_backward(grad_states, grad_weight)
        ctx.mark_non_differentiable(nll)
        return smoothed, nll

    @staticmethod
    def backward(ctx: Any, grad_smoothed: Tensor, grad_nll: Tensor) -> tuple[Tensor, Tensor, None, None]:
        grad_states, grad_weight = ctx.saved_tensors
        return grad_states * grad_smoothed, grad_weight * grad_smoothed, None, None
