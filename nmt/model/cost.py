"""What a model costs: FLOPs of training and decoding. A model flows in, figures flow out.

A FLOP is a multiplication or an addition. Counted are the products of matrices, which are nearly all of the work: by
formulas, from the modules and the lengths of a pair; and by PyTorch's own counter, while a pair is really computed.

Shapes: S source positions, with EOS; T target positions, with BOS; M model width, V vocabulary.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from nmt.model.attention import CrossAttention, SelfAttention
from nmt.model.blocks import Stack
from nmt.model.contract import GenerativeModel, Model
from nmt.model.experts import Experts
from nmt.model.latent import LatentAttention
from nmt.vocabulary import FIRST_PIECE


class Sides(NamedTuple):
    """A figure of the source, and the same of the target. The target of a model that can't write is the pieces that it
    predicts."""

    source: int
    target: int


def training_flops(model: Model, n_source: int, n_target: int) -> Sides:
    """FLOPs of forward and backward pass for a pair of S and T positions. For each product, the backward pass has two:
    the gradients of both factors."""
    source, target = forward_flops(model, n_source, n_target, decoding=False)
    return Sides(3 * source, 3 * target)


def decoding_flops(model: GenerativeModel, n_source: int, n_target: int) -> Sides:
    """FLOPs of reading S source positions, and of T steps of one hypothesis with a cache."""
    return forward_flops(model, n_source, n_target, decoding=True)


def forward_flops(model: Model, S: int, T: int, *, decoding: bool) -> Sides:
    """FLOPs by formulas. The first sequence is what an encoder reads, the last what a decoder reads: in a decoder-only
    model, the only sequence is both, and begins with the source."""
    lengths = [int(length_1) for length_1 in model.sequence_lengths(torch.tensor([S]), torch.tensor([T]))]
    source, target = 0, T * linear_flops(model.output)
    for block in layers_of(model, "encoder"):
        source += lengths[0] * (linear_flops(block) + lengths[0] * attention_flops(block))
    n_prefix = lengths[-1] - T
    # Keys that the queries of the prefix, and of the target, are multiplied with. In training these are all keys,
    # hidden ones too; a decoding step has only the keys so far.
    prefix_keys = n_prefix * (n_prefix if decoding else lengths[-1])
    target_keys = T * n_prefix + T * (T + 1) // 2 if decoding else T * lengths[-1]
    layers = layers_of(model, "decoder")
    for layer, block in enumerate(layers):
        of_memory = sum(linear_flops(m.kv) for m in block.modules() if isinstance(m, CrossAttention))
        of_position, of_keys = linear_flops(block) - of_memory, lengths[0] * attention_flops(block, cross=True)
        source += n_prefix * of_position + prefix_keys * attention_flops(block)
        if not (decoding and block in layers[:layer]):  # a cache has one copy for all layers that share a block
            source += lengths[0] * of_memory
        target += T * (of_position + of_keys) + target_keys * attention_flops(block, in_step=decoding)
    return Sides(source, target)


def linear_flops(module: nn.Module) -> int:
    """FLOPs of the linear layers of a module at one position, which uses some of the experts only."""
    total = sum(2 * layer.weight.numel() for layer in module.modules() if isinstance(layer, nn.Linear))
    for layer in module.modules():
        if isinstance(layer, Experts):
            E, M = layer.router.shape
            # The router, the chosen experts, and the weighted sum of what they compute.
            of_expert = (layer.up.numel() + layer.down.numel()) // E + M
            total += 2 * (layer.router.numel() + layer.per_position * of_expert)
    return total


def attention_flops(block: nn.Module, *, cross: bool = False, in_step: bool = False) -> int:
    """FLOPs of self-attention, or of cross-attention, for a pair of query and key: the score, and the weighted sum of
    values. In a step of latent attention, the latent vectors are the keys and values."""
    total = 0
    for module in block.modules():
        if isinstance(module, LatentAttention) and not cross:
            H, D, C, E = module.widths
            total += 2 * H * (2 * (C if in_step else D) + E)
        elif isinstance(module, CrossAttention if cross else SelfAttention):
            total += 4 * module.sizes[0] * module.sizes[2]
    return total


def layers_of(model: Model, part: str) -> list[nn.Module]:
    """The block of each layer of a part of the model, in their order; none if there is no such part."""
    modules = (module for top in model.parts().get(part, []) for module in top.modules())
    return [block for module in modules if isinstance(module, Stack) for block in module.layers()]


def blocks_of(model: Model, part: str) -> list[nn.Module]:
    """The blocks of a part of the model; layers may share them."""
    return list(dict.fromkeys(layers_of(model, part)))


def used_parameters(model: Model) -> int:
    """Number of parameters without those of the experts that a position doesn't use."""
    unused = 0
    for layer in model.experts().values():
        E = layer.router.size(0)
        unused += (E - layer.per_position) * (layer.up.numel() + layer.down.numel()) // E
    return sum(parameter.numel() for parameter in model.parameters()) - unused


def random_pairs(model: Model, n: int, n_source: int, n_target: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Random pieces and masks of `n` pairs without padding, as `Model.target_states` takes them. A model that can't
    write predicts at T positions of the source, or at all if there are fewer."""
    generator = torch.Generator().manual_seed(1)
    weights = dict(model.named_parameters())
    end = min(weights[name].size(0) for name in model.vocabularies() if name in weights)
    source, target = (torch.randint(FIRST_PIECE, end, (n, T), generator=generator) for T in (n_source, n_target))
    chosen = torch.ones_like(target, dtype=torch.bool)
    if not isinstance(model, GenerativeModel):
        target, chosen = source, (torch.arange(n_source) < n_target).expand(n, -1)
    return source, torch.ones_like(source, dtype=torch.bool), target, chosen


def compute_training(model: Model, pairs: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
    """A forward and a backward pass; the gradients are thrown away. The loss is the sum of all logits, since the
    products are the same for every loss."""
    states_NM = model.target_states(*pairs)
    F.linear(states_NM, model.output.weight.to(states_NM.dtype)).sum().backward()
    model.zero_grad()


def counted_flops(compute: Callable[[], object]) -> int:
    """FLOPs of the products that PyTorch computes. Its counter must be told of grouped products."""
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten._grouped_mm: grouped_flops}) as counter:
        compute()
    return int(counter.get_total_flops())


def grouped_flops(a_shape: tuple[int, ...], b_shape: tuple[int, ...], *rest: Any, **named: Any) -> int:
    """FLOPs of products of groups of rows (or columns, for the gradient of weights), whatever the sizes of groups."""
    return 2 * math.prod(a_shape) * b_shape[-1]


def counted_training_flops(model: Model, n_source: int, n_target: int) -> int:
    """FLOPs of forward and backward pass for a pair of S and T positions, counted while they are computed."""
    pairs = random_pairs(model, 1, n_source, n_target)
    return counted_flops(lambda: compute_training(model, pairs))


@torch.inference_mode()
def counted_decoding_flops(model: GenerativeModel, n_source: int, n_target: int) -> Sides:
    """FLOPs of `start`, and of T steps with one hypothesis, counted while they are computed."""
    source, mask, target, _ = (tensor.to(model.device) for tensor in random_pairs(model, 1, n_source, n_target))
    cache = model.start(source, mask, n_target)
    of_start = counted_flops(lambda: model.start(source, mask, n_target))
    return Sides(of_start, counted_flops(lambda: [model.step(target[:, t : t + 1], cache) for t in range(n_target)]))
