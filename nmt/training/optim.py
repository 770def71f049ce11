"""The optimizer, its learning rate, and the moving average of the weights."""

import copy
import math
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from nmt.config import TrainingConfig

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


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.AdamW:
    """AdamW in two groups: matrices with weight decay; embeddings, norms and biases without; frozen ones in none."""
    embeddings = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    learned = [p for p in model.parameters() if p.requires_grad]
    decayed = [p for p in learned if p.dim() > 1 and id(p) not in embeddings]
    others = [p for p in learned if p.dim() <= 1 or id(p) in embeddings]
    groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=(config.beta1, config.beta2), eps=config.epsilon,
                             fused=True)


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
