"""What a model costs: FLOPs of training and decoding, as PyTorch counts them. A model flows in, figures flow out.

A FLOP is a multiplication or an addition. Counted are the products of matrices, which are nearly all of the work.

Shapes: S source positions, with EOS; T target positions, with BOS.
"""

from collections.abc import Callable

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from nmt.model.contract import GenerativeModel, Model
from nmt.vocabulary import FIRST_PIECE


def counted(compute: Callable[[], object]) -> int:
    """FLOPs of the products that PyTorch computes."""
    with FlopCounterMode(display=False) as counter:
        compute()
    return int(counter.get_total_flops())


def training_flops(model: Model, n_source: int, n_target: int) -> int:
    """FLOPs of forward and backward pass for a pair of S and T positions. A model that can't write predicts at T
    positions of the source, or at all if there are fewer."""
    source, target = (torch.full((1, n), FIRST_PIECE) for n in (n_source, n_target))
    predicted = torch.ones_like(target, dtype=torch.bool)
    if not isinstance(model, GenerativeModel):
        target, predicted = source, (torch.arange(n_source) < n_target)[None]

    def compute() -> None:
        states_NM = model.target_states(source, torch.ones_like(source, dtype=torch.bool), target, predicted)
        # The sum of all logits as loss: the products are the same for every loss.
        F.linear(states_NM, model.output.weight).sum().backward()

    flops = counted(compute)
    model.zero_grad()
    return flops


@torch.inference_mode()
def decoding_flops(model: GenerativeModel, n_source: int, n_target: int) -> tuple[int, int]:
    """FLOPs of reading S source positions, and of T steps of one hypothesis with a cache."""
    source, token = torch.full((1, n_source), FIRST_PIECE), torch.full((1, 1), FIRST_PIECE)
    arguments = source, torch.ones_like(source, dtype=torch.bool), n_target
    cache = model.start(*arguments)
    of_source = counted(lambda: model.start(*arguments))
    return of_source, counted(lambda: [model.step(token, cache) for _ in range(n_target)])
