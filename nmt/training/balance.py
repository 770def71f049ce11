"""The balance of experts: the usage of experts flows in; a loss, moved biases, and figures flow out.

Shapes: L mixtures of experts in a model, E experts of each.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from nmt.model.contract import Model
from nmt.model.experts import Usage
from nmt.training.distributed import Processes


def balance_loss(usages: Sequence[Sequence[Usage]]) -> Tensor:
    """E × Σ share of choices × mean probability, summed over the layers: 1 for each at best (Fedus et al. 2022,
    equation 4)."""
    passes = [usage for layer in usages for usage in layer]
    losses = [len(u.loads_E) * (u.loads_E / u.loads_E.sum() * u.probabilities_E).sum() for u in passes]
    return sum(losses, torch.zeros(()))


def loads(usages: Sequence[Sequence[Usage]], none_E: Tensor) -> Tensor:
    """How often each expert of each mixture was chosen (L, E); `none_E` (zeros) for those of skipped layers."""
    return torch.stack([sum((usage.loads_E for usage in layer), none_E) for layer in usages])


@torch.no_grad()
def move_biases(model: Model, loads_LE: Sequence[Tensor | None], rate: float, processes: Processes) -> None:
    """Raise the biases of experts that were chosen less often than the mean, and lower the others, given the loads in
    each batch of a step (Wang et al. 2024, algorithm 1). Those of frozen routers stay."""
    if model.config.expert_balance == "loss" or not model.config.experts:
        return
    here_LE = torch.stack([batch_LE for batch_LE in loads_LE if batch_LE is not None]).sum(0)
    all_LE = sum_over(here_LE, processes)
    for layer, loads_E in zip(model.experts().values(), all_LE, strict=True):
        if layer.router.requires_grad and layer.choice_bias is not None:
            step_E = rate * (loads_E.mean() - loads_E).sign()
            layer.choice_bias.add_(step_E.to(layer.choice_bias.device))


def load_figures(model: Model, loads_LE: Tensor | None, processes: Processes) -> dict[str, float]:
    """By TensorBoard tag: the least and the largest share of an expert in the choices of its layer, times E, so that 1
    is the mean; and the coefficient of variation of each layer's loads, 0 at best."""
    if loads_LE is None:
        return {}
    relative_LE = sum_over(loads_LE, processes)
    relative_LE /= relative_LE.mean(1, keepdim=True).clamp(min=1e-9)  # layers may have been skipped
    variations = relative_LE.std(1, correction=0).tolist()
    figures = {f"experts/variation_{name}": v for name, v in zip(model.experts(), variations, strict=True)}
    return {"experts/least_load": float(relative_LE.min()), "experts/largest_load": float(relative_LE.max()), **figures}


def sum_over(loads_LE: Tensor, processes: Processes) -> Tensor:
    """The sum over all processes, in float32 on the CPU."""
    return torch.tensor(processes.all_reduce_sum(loads_LE.flatten().tolist())).view(loads_LE.shape)
