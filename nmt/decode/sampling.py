"""Translations drawn at random, piece by piece, from the model's distribution or the likely part of it.

Shapes: B sentences, N of them in the batch still, W samples of each, T target length, V target vocabulary.

A sentence's samples depend on the seed and on the sentence alone: each has a generator of its own, whose numbers are
drawn before the search begins and turned into pieces by the inverse of the distribution function.
"""

import hashlib
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from nmt.config import SearchConfig
from nmt.decode.hypothesis import FORBIDDEN, Decoder, Demands, Hypothesis, length_divisor, longest_output
from nmt.vocabulary import BOS, EOS

NEVER = -math.inf


@torch.inference_mode()
def sample(model: Decoder, src_BS: Tensor, src_mask_BS: Tensor, options: SearchConfig) -> list[list[Hypothesis]]:
    """`options.samples` translations of each sentence, in the order drawn; the same one may come more than once.

    Log-probabilities are the model's own, whatever the temperature and the likely part drawn from.

    Args:
        src_BS: source ids, int64, each sentence with its EOS.
        src_mask_BS: True at real positions.
        options: samples, temperature, top_k, top_p, min_p, seed, lengths.

    Raises:
        ValueError: the model's logits are not numbers.
    """
    n_sentences, width, device = src_BS.size(0), options.samples, src_BS.device
    sources = [ids[real].tolist() for ids, real in zip(src_BS, src_mask_BS, strict=True)]
    limits = [longest_output(len(source) - 1, options, model.max_positions, Demands()) for source in sources]
    longest = max(limits) + 1
    draws_BWT = torch.stack(
        [
            uniform(options.seed, source, width, limit + 1, longest)
            for source, limit in zip(sources, limits, strict=True)
        ]
    ).to(device)
    cache = model.start(src_BS, src_mask_BS, longest, width)
    rows_W = torch.arange(width, device=device)
    sentences_N, limits_N = torch.arange(n_sentences, device=device), torch.tensor(limits, device=device)
    tokens_NW = torch.full((n_sentences, width), BOS, device=device)
    ended_NW = torch.zeros(n_sentences, width, dtype=torch.bool, device=device)
    taken_TBW = torch.full((longest, n_sentences, width), EOS, device=device)
    gains_TBW = torch.zeros(longest, n_sentences, width, device=device)
    for step in range(longest):
        logits_NWV = model.step(tokens_NW, cache)
        if not logits_NWV.isfinite().all():
            raise ValueError("the model's logits are not numbers: its weights are damaged, or its training diverged")
        own_NWV = logits_NWV.log_softmax(-1)
        logits_NWV[..., list(FORBIDDEN)] = NEVER
        if step < options.min_length:
            logits_NWV[..., EOS] = NEVER
        tokens_NW = draw(logits_NWV, draws_BWT[sentences_N, :, step], options)
        tokens_NW[ended_NW | (limits_N <= step)[:, None]] = EOS
        taken_TBW[step, sentences_N] = tokens_NW
        gains_TBW[step, sentences_N] = own_NWV.gather(2, tokens_NW[:, :, None])[:, :, 0].masked_fill_(ended_NW, 0.0)
        ended_NW |= tokens_NW == EOS
        cache.reorder(rows_W.expand_as(tokens_NW))
        live_N = ~ended_NW.all(1)
        if not live_N.all():
            staying = live_N.nonzero()[:, 0]
            sentences_N, limits_N, tokens_NW, ended_NW = (
                state[staying] for state in (sentences_N, limits_N, tokens_NW, ended_NW)
            )
            cache.keep(staying)
        if not sentences_N.size(0):
            break
    taken, gains = taken_TBW.permute(1, 2, 0).tolist(), gains_TBW.permute(1, 2, 0).tolist()
    return [
        [hypothesis(ids, log_probs, limit, options) for ids, log_probs in zip(*rows, strict=True)]
        for *rows, limit in zip(taken, gains, limits, strict=True)
    ]


def uniform(seed: int, source: Sequence[int], width: int, length: int, longest: int) -> Tensor:
    """Numbers (width, longest) from 0 to 1, float64; those of the first `length` steps are the sentence's own."""
    key = hashlib.blake2b(repr((seed, source)).encode(), digest_size=8).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(key, "little") >> 1)
    numbers_TW = torch.rand(length, width, generator=generator, dtype=torch.float64)
    return torch.nn.functional.pad(numbers_TW.t(), (0, longest - length))


def draw(logits_NWV: Tensor, draws_NW: Tensor, options: SearchConfig) -> Tensor:
    """A piece (N, W) for each number from 0 to 1: of logits at the temperature, cut to top_k, top_p and min_p."""
    scaled_NWV = logits_NWV / options.temperature
    places_NWV = None
    if options.top_k or options.top_p < 1:
        most = min(options.top_k or scaled_NWV.size(2), scaled_NWV.size(2))
        scaled_NWV, places_NWV = scaled_NWV.topk(most, dim=2)
    probs_NWV = scaled_NWV.softmax(-1, dtype=torch.float64)
    if options.top_p < 1:  # the pieces before which less than top_p has been reached
        probs_NWV = probs_NWV.masked_fill(probs_NWV.cumsum(2) - probs_NWV >= options.top_p, 0.0)
    if options.min_p:
        probs_NWV = probs_NWV.masked_fill(probs_NWV < options.min_p * probs_NWV.amax(2, keepdim=True), 0.0)
    reached_NWV = probs_NWV.cumsum(2)
    # A place whose probability is 0 is never the first past a number, except at the very end by rounding.
    target_NW1 = (draws_NW[:, :, None] * reached_NWV[:, :, -1:]).contiguous()
    last_NW1 = (probs_NWV > 0).long().cumsum(2).argmax(2, keepdim=True)
    chosen_NW1 = torch.minimum(torch.searchsorted(reached_NWV, target_NW1, right=True), last_NW1)
    return (chosen_NW1 if places_NWV is None else places_NWV.gather(2, chosen_NW1))[:, :, 0]


def hypothesis(ids: list[int], log_probs: list[float], limit: int, options: SearchConfig) -> Hypothesis:
    length = ids.index(EOS) + 1
    log_prob = math.fsum(log_probs[:length])
    return Hypothesis(
        ids[: length - 1],
        log_prob / float(length_divisor(length, options)),
        log_prob,
        log_probs[:length],
        finished=length <= limit,
    )
