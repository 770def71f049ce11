"""The optimizer, its learning rate, and the moving average of the weights."""

import copy
import math
from collections.abc import Sequence
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from nmt.config import TrainingConfig
from nmt.model.encoder_decoder import fused_matrices
from nmt.model.positions import AddedPositions

MOMENTUM = 0.95  # Muon's
Model = TypeVar("Model", bound=nn.Module)


def learning_rate(step: int, config: TrainingConfig) -> float:
    """The rate of step 1, 2, …: a linear warm-up to the peak, then the schedule's decay.

    inverse-sqrt is Vaswani et al. 2017, section 5.3, scaled to the peak; cosine is Loshchilov and Hutter 2017's.
    """
    peak, warmup = config.learning_rate, config.warmup_steps
    if step <= warmup:
        return peak * step / warmup
    if config.schedule == "inverse-sqrt":
        return peak * math.sqrt(max(warmup, 1) / step)
    if config.schedule == "cosine":
        done = min(1.0, (step - warmup) / max(1, config.max_steps - warmup))
        return config.min_learning_rate + (peak - config.min_learning_rate) * (1 + math.cos(math.pi * done)) / 2
    return peak


def make_optimizer(model: nn.Module, config: TrainingConfig, bf16: bool = False) -> torch.optim.Optimizer:
    """AdamW, or Muon for matrices and AdamW for the rest. Weight decay is for matrices, not embeddings, norms, biases.

    Frozen parameters are left out; Muon without a matrix has nothing to do. `bf16`: whether it multiplies in bfloat16.
    """
    embeddings = {
        id(m.weight if isinstance(m, nn.Embedding) else m.table)
        for m in model.modules()
        if isinstance(m, nn.Embedding) or (isinstance(m, AddedPositions) and m.kind == "learned")
    }
    learned = [p for p in model.parameters() if p.requires_grad]
    matrices = [p for p in learned if p.dim() > 1 and id(p) not in embeddings]
    others = {"params": [p for p in learned if p.dim() <= 1 or id(p) in embeddings], "weight_decay": 0.0}
    muon = config.optimizer == "muon"
    adamw = torch.optim.AdamW(
        [others] if muon else [{"params": matrices, "weight_decay": config.weight_decay}, others],
        lr=config.learning_rate,
        betas=(config.beta1, config.beta2),
        eps=config.epsilon,
        fused=True,
    )
    if not (muon and matrices):
        return adamw
    parts = {id(weight): rows for weight, rows in fused_matrices(model)}
    return Muon(
        [(p, parts.get(id(p), [p.size(0)])) for p in matrices], adamw, config, torch.bfloat16 if bf16 else torch.float32
    )


class Muon(torch.optim.Optimizer):
    """Momentum whose matrices are made orthogonal before a step (Jordan et al. 2024), with AdamW for what is no matrix.

    A step is scaled to the size of AdamW's, 0.2 √(longer side) (Liu et al. 2025, section 2.2), so rates of the same
    size suit both; `muon_rate` is their ratio. Other than in torch.optim.Muon, matrices of one shape go through one
    batched product, fused ones are taken apart, and the dtype is the one that the machine multiplies fast.
    """

    def __init__(
        self,
        matrices: Sequence[tuple[Tensor, list[int]]],
        adamw: torch.optim.AdamW,
        config: TrainingConfig,
        dtype: torch.dtype,
    ) -> None:
        """Args:
        matrices: each weight with the rows of the matrices that it is made of.
        adamw: for the other parameters; it becomes a part of this optimizer.
        config: its `weight_decay` and `muon_rate` are used.
        dtype: of the products.
        """
        super().__init__([p for p, _ in matrices], {"lr": config.learning_rate, "weight_decay": config.weight_decay})
        self.matrices, self.adamw, self.config, self.dtype = matrices, adamw, config, dtype
        adamw.state = self.state
        self.param_groups += adamw.param_groups

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        self.adamw.step()
        rate = self.param_groups[0]["lr"] * self.config.muon_rate
        same_shape: dict[tuple[int, ...], list[tuple[Tensor, Tensor]]] = {}
        for p, rows in self.matrices:
            if p.grad is None:
                continue
            state = self.state[p]
            momentum = state["momentum"] = state["momentum"] if "momentum" in state else torch.zeros_like(p)
            momentum.mul_(MOMENTUM).add_(p.grad)
            direction = p.grad.add(momentum, alpha=MOMENTUM)  # Nesterov's
            p.mul_(1 - rate * self.config.weight_decay)
            for weight, part in zip(p.split(rows), direction.split(rows), strict=True):
                same_shape.setdefault(tuple(weight.shape), []).append((weight, part))
        for shape, parts in same_shape.items():
            steps = orthogonal(torch.stack([part for _, part in parts]).to(self.dtype))
            for (weight, _), step in zip(parts, steps, strict=True):
                weight.add_(step, alpha=-0.2 * rate * math.sqrt(max(shape)))


def orthogonal(matrices_NRC: Tensor) -> Tensor:
    """Each matrix with its singular values brought near 1 (0.7 to 1.2): five steps of a Newton–Schulz iteration, with
    the coefficients of Jordan et al. 2024, on matrices that are scaled to a Frobenius norm of 1."""
    wide = matrices_NRC.size(1) <= matrices_NRC.size(2)
    x = matrices_NRC if wide else matrices_NRC.mT
    x = x / x.flatten(1).norm(dim=1)[:, None, None].clamp_min(1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return x if wide else x.mT


class MovingAverage(Generic[Model]):
    """An exponential moving average of a model's weights, as a model of its own (Polyak and Juditsky 1992).

    The decay rises with the steps, (1 + t) / (10 + t), up to the one asked for: early weights are soon forgotten.
    """

    def __init__(self, model: Model, decay: float) -> None:
        self.of, self.decay = model, decay
        self.model = copy.deepcopy(model).requires_grad_(False)

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after step 1, 2, …"""
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(own_shards(self.model), own_shards(self.of), 1 - decay)


def own_shards(model: nn.Module) -> list[Tensor]:
    """A model's parameters, or what this process holds of them."""
    return [p.to_local() if isinstance(p, DTensor) else p for p in model.parameters()]
