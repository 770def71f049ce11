"""The optimizer, its learning rate, and the moving average of the weights."""

import math

import torch
from torch import Tensor, nn
from torch.optim import AdamW

from nmt.config import TrainingConfig
from nmt.model.contract import Model
from nmt.training.distributed import SINGLE_PROCESS, Processes

BETAS = 0.9, 0.98  # decay rates of AdamW's moments (Vaswani et al. 2017, section 5.3)
MUON_MOMENTUM, MUON_RATE = 0.95, 2.0  # the rate is a multiple of AdamW's
FusedMatrix = tuple[Tensor, list[int]]
"""A weight, and how many of its rows belong to each matrix that is fused in it."""


def learning_rate(step: int, config: TrainingConfig) -> float:
    """The learning rate of step 1, 2, …: a linear warm-up to the peak, then the schedule's decay.

    Schedules: inverse-sqrt, Vaswani et al. 2017, section 5.3, scaled to the peak; cosine, Loshchilov and Hutter 2017;
    wsd, Hu et al. 2024, section 4, with a linear decay (Hägele et al. 2024).
    """
    peak, least, warmup = config.learning_rate, config.min_learning_rate, config.warmup_steps
    if step <= warmup:
        return peak * step / warmup
    if config.schedule == "inverse-sqrt":
        return peak * math.sqrt(max(warmup, 1) / step)
    start = max(warmup, round(config.max_steps * (1 - config.decay_share))) if config.schedule == "wsd" else warmup
    progress = min(1.0, max(0, step - start) / max(1, config.max_steps - start))
    if config.schedule == "cosine":
        return least + (peak - least) * (1 + math.cos(math.pi * progress)) / 2
    return peak if config.schedule == "constant" else peak + (least - peak) * progress


def make_optimizer(
    model: Model, config: TrainingConfig, bf16: bool = False, processes: Processes = SINGLE_PROCESS
) -> torch.optim.Optimizer:
    """AdamW, or Muon for matrices and AdamW for the rest. Weight decay is for matrices, not embeddings, norms, biases.

    Muon leaves the output layer to AdamW (Jordan et al. 2024). Frozen parameters are left out; without any matrix, Muon
    is replaced by AdamW. `bf16`: Muon multiplies in bfloat16. `processes`: those that share its work.
    """
    embeddings = set(map(id, model.embeddings()))
    named = dict(model.named_parameters())
    of_vocabulary = {id(named[name]) for name in model.vocabularies() if name in named}
    trainable = [p for p in model.parameters() if p.requires_grad]
    matrices = [p for p in trainable if p.dim() > 1 and id(p) not in embeddings]
    vectors = {"params": [p for p in trainable if p.dim() <= 1 or id(p) in embeddings], "weight_decay": 0.0}
    muon = config.optimizer == "muon"
    decaying = [p for p in matrices if not muon or id(p) in of_vocabulary]
    matrices = [p for p in matrices if id(p) not in of_vocabulary]
    groups = [{"params": decaying, "weight_decay": config.weight_decay}] if decaying else []
    adamw = AdamW([*groups, vectors], lr=config.learning_rate, betas=BETAS, eps=config.epsilon, fused=True)
    if not (muon and matrices):
        return adamw
    parts = {id(weight): rows for weight, rows in model.fused_matrices()}
    return Muon([(p, parts.get(id(p), [p.size(0)])) for p in matrices], adamw, config, bf16, processes)


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalised for each matrix (Jordan et al. 2024), with AdamW for the other parameters.

    A step is scaled to the size of AdamW's steps, 0.2 √(longer side) (Liu et al. 2025, section 2.2), so that learning
    rates of the same size suit both; MUON_RATE is their ratio. Unlike torch.optim.Muon, it batches matrices of equal
    shape, splits fused ones, can multiply in bfloat16, and shares the work of several processes.
    """

    def __init__(
        self, matrices: list[FusedMatrix], adamw: AdamW, config: TrainingConfig, bf16: bool, processes: Processes
    ) -> None:
        """`adamw`: the optimizer of the other parameters, which becomes a part of this one."""
        super().__init__([p for p, _ in matrices], {"lr": config.learning_rate, "weight_decay": config.weight_decay})
        self.matrices, self.adamw, self.config, self.processes = matrices, adamw, config, processes
        self.dtype = torch.bfloat16 if bf16 else torch.float32
        adamw.state = self.state
        self.param_groups += adamw.param_groups

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        self.adamw.step()
        rate = self.param_groups[0]["lr"] * MUON_RATE
        same_shape: dict[tuple[int, ...], list[tuple[Tensor, Tensor]]] = {}
        for p, rows in self.matrices:
            if p.grad is None:
                continue
            state = self.state[p]
            momentum = state["momentum"] = state["momentum"] if "momentum" in state else torch.zeros_like(p)
            momentum.mul_(MUON_MOMENTUM).add_(p.grad)
            direction = p.grad.add(momentum, alpha=MUON_MOMENTUM)  # Nesterov's
            p.mul_(1 - rate * self.config.weight_decay)
            for weight, part in zip(*(t.flatten(0, -2).split(rows) for t in (p, direction)), strict=True):
                same_shape.setdefault(tuple(weight.shape), []).append((weight, part))
        for shape, parts in same_shape.items():
            steps = self.orthogonal([part for _, part in parts])
            for (weight, _), step in zip(parts, steps, strict=True):
                if isinstance(rate, Tensor):  # where steps are recorded, numbers that change are on the device
                    weight.addcmul_(step, rate, value=-0.2 * math.sqrt(max(shape)))
                else:
                    weight.add_(step, alpha=-0.2 * rate * math.sqrt(max(shape)))

    def orthogonal(self, parts: list[Tensor]) -> Tensor:
        """Each matrix, of equal shapes, made orthogonal: of N processes, each computes every N-th."""
        size = self.processes.size
        shard = self.processes.shard_items(parts)
        missing = -(-len(parts) // size) - len(shard)  # all processes must send as many
        matrices_NRC = torch.stack([*shard, *[torch.zeros_like(parts[0])] * missing]).to(self.dtype)
        gathered_PNRC = self.processes.gather_tensors(orthogonal(matrices_NRC))
        return gathered_PNRC.transpose(0, 1).flatten(0, 1)[: len(parts)]


def orthogonal(matrices_NRC: Tensor) -> Tensor:
    """Each matrix with its singular values brought near 1 (0.7 to 1.2), by five steps of the Newton–Schulz iteration of
    Jordan et al. 2024 from a Frobenius norm of 1."""
    wide = matrices_NRC.size(1) <= matrices_NRC.size(2)
    x = matrices_NRC if wide else matrices_NRC.mT
    x = x / x.flatten(1).norm(dim=1)[:, None, None].clamp_min(1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return x if wide else x.mT


@torch.no_grad()
def update_average(average: nn.Module, model: nn.Module, decay: float, step: int) -> None:
    """Update an exponential moving average of a model's weights after step 1, 2, … (Polyak and Juditsky 1992).

    The decay rises with step t, (1 + t) / (10 + t), up to `decay`: early weights soon have little influence. PyTorch's
    AveragedModel can't be used: it copies buffers, and fails when the model has enlarged its table of positions.
    """
    decay = min(decay, (1 + step) / (10 + step))
    torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1 - decay)
