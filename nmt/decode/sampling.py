"""Random sampling: translations, and continuations of prompts by a language model, sampled piece by piece from the
model's distribution or from its likely part.

The samples of a sentence, or of a prompt, depend on the seed and on it alone. Each has its own generator; its random
numbers are made before the first step, and the inverse of the cumulative distribution turns them into pieces.

Shapes: B sentences or prompts, N of them still in the batch, W samples of each, T target length, P length of the
longest prompt, V target vocabulary.
"""

import hashlib
import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence

from nmt.config import SearchConfig
from nmt.decode.hypothesis import BAD_LOGITS, Hypothesis, forbidden_ids, longest_output
from nmt.decode.stop import Stop
from nmt.fields import require
from nmt.model.contract import Decoder
from nmt.model.decoder_only import DecoderOnly
from nmt.vocabulary import BOS, EOS

# Rows (samples) times length of what is sampled together: it bounds the memory of their keys and values.
MAX_SLOTS = 2**19


@torch.inference_mode()
def sample(
    model: Decoder, src_BS: Tensor, src_mask_BS: Tensor, options: SearchConfig, stop: Stop | None = None
) -> list[list[Hypothesis]]:
    """Return `options.samples` translations of each sentence, in the order sampled; a translation may occur twice.

    Log-probabilities are the model's own, whatever temperature, top_k, top_p and min_p are. Sources as in
    `Decoder.start`. Memory grows with the number of samples up to MAX_SLOTS. If the time of `stop` is up, the samples
    end as they are. ValueError if logits are not numbers; Stopped as `stop` says.
    """
    sources = [ids[real].tolist() for ids, real in zip(src_BS, src_mask_BS, strict=True)]
    lengths = [len(ids) - 1 for ids in sources]
    limits = [longest_output(length, options, model.longest_target(length)) for length in lengths]
    random_TBW = random_numbers(sources, limits, options).to(src_BS.device)
    parts = [
        sample_part(model, (src_BS, src_mask_BS), limits, options, random_TBW[:, :, part.start : part.stop], stop)
        for part in sample_parts(options.samples, random_TBW.size(0) * len(sources))
    ]
    return [[hypothesis for part in found for hypothesis in part] for found in zip(*parts, strict=True)]


def sample_parts(n_samples: int, n_slots: int) -> list[range]:
    """The numbers of the samples that are taken together, if each needs this many slots."""
    most = max(1, MAX_SLOTS // n_slots)
    return [range(start, min(start + most, n_samples)) for start in range(0, n_samples, most)]


def sample_part(
    model: Decoder,
    sources: tuple[Tensor, Tensor],
    limits: list[int],
    options: SearchConfig,
    random_TBW: Tensor,
    stop: Stop | None,
) -> list[list[Hypothesis]]:
    """One sample for each of the random numbers. `sources`: as for `Decoder.start`."""
    src_BS, src_mask_BS = sources
    n_sentences, width, device = src_BS.size(0), random_TBW.size(2), src_BS.device
    cache = model.start(src_BS, src_mask_BS, random_TBW.size(0), width, separate=True)
    sentences_N, limits_N = torch.arange(n_sentences, device=device), torch.tensor(limits, device=device)
    tokens_NW = torch.full((n_sentences, width), BOS, device=device)
    ended_NW = torch.zeros(n_sentences, width, dtype=torch.bool, device=device)
    tokens_TBW = torch.full(random_TBW.shape, EOS, device=device)
    log_probs_TBW = torch.zeros(random_TBW.shape, device=device)
    for step in range(random_TBW.size(0)):
        if stop and stop.is_late():
            limits_N = limits_N.clamp(max=step)
            limits = [min(limit, step) for limit in limits]
        logits_NWV = model.step(tokens_NW, cache)
        tokens_NW, own_NWV = next_pieces(logits_NWV, step, options, random_TBW[step, sentences_N])
        tokens_NW[ended_NW | (limits_N <= step)[:, None]] = EOS
        tokens_TBW[step, sentences_N] = tokens_NW
        log_probs_TBW[step, sentences_N] = own_NWV.gather(2, tokens_NW[:, :, None])[:, :, 0]
        ended_NW |= tokens_NW == EOS
        if ended_NW.all(1).any():
            left = (~ended_NW.all(1)).nonzero()[:, 0]
            if not left.size(0):
                break
            cache.keep(left)
            sentences_N, limits_N, tokens_NW, ended_NW = (x[left] for x in (sentences_N, limits_N, tokens_NW, ended_NW))
    tokens, log_probs = tokens_TBW.permute(1, 2, 0).tolist(), log_probs_TBW.permute(1, 2, 0).tolist()
    return [
        [
            Hypothesis.of(pieces[: (end := pieces.index(EOS))], gains[: end + 1], options, limit)
            for pieces, gains in zip(*samples, strict=True)
        ]
        for *samples, limit in zip(tokens, log_probs, limits, strict=True)
    ]


def random_numbers(sources: Sequence[Sequence[int]], limits: Sequence[int], options: SearchConfig) -> Tensor:
    """Return numbers (T, B, W) from 0 to 1, float64: for each sentence those that its limit needs, and then zeros."""
    numbers = []
    for source, limit in zip(sources, limits, strict=True):
        key = hashlib.blake2b(repr((options.seed, source)).encode(), digest_size=8).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(key, "little") >> 1)
        numbers_TW = torch.rand(limit + 1, options.samples, generator=generator, dtype=torch.float64)
        numbers.append(pad(numbers_TW, (0, 0, 0, max(limits) - limit)))
    return torch.stack(numbers, dim=1)


def next_pieces(
    logits_NWV: Tensor, step: int, options: SearchConfig, random_NW: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return the pieces (N, W) that are sampled with these numbers, or without numbers the most probable ones, and the
    model's log-probabilities (N, W, V). The logits of what must not be written in this step change. ValueError if
    logits are not numbers."""
    require(bool(logits_NWV.isfinite().all()), BAD_LOGITS)
    own_NWV = logits_NWV.log_softmax(-1)
    logits_NWV[..., [*forbidden_ids(options), *[EOS] * (step < options.min_length)]] = -math.inf
    return logits_NWV.argmax(-1) if random_NW is None else sample_pieces(logits_NWV, random_NW, options), own_NWV


def sample_pieces(logits_NWV: Tensor, random_NW: Tensor, options: SearchConfig) -> Tensor:
    """Return a piece (N, W) for each random number, by the probabilities that remain after temperature and cuts."""
    scaled_NWV, vocab_size = logits_NWV / options.temperature, logits_NWV.size(2)
    pieces_NWV = None
    if options.top_k or options.top_p < 1:
        scaled_NWV, pieces_NWV = scaled_NWV.topk(min(options.top_k or vocab_size, vocab_size), dim=2)
    probs_NWV = scaled_NWV.softmax(-1, dtype=torch.float64)
    if options.top_p < 1:  # keeps the pieces before which less than top_p has been reached
        probs_NWV = probs_NWV.masked_fill(probs_NWV.cumsum(2) - probs_NWV >= options.top_p, 0.0)
    if options.min_p:
        probs_NWV = probs_NWV.masked_fill(probs_NWV < options.min_p * probs_NWV.amax(2, keepdim=True), 0.0)
    cumulative_NWV = probs_NWV.cumsum(2)
    # A place with probability 0 is never the first beyond a number, except at the very end by rounding.
    total_NW1 = cumulative_NWV[:, :, -1:].contiguous()
    place_NW1 = torch.searchsorted(cumulative_NWV, random_NW[:, :, None] * total_NW1, right=True)
    place_NW1 = torch.minimum(place_NW1, torch.searchsorted(cumulative_NWV, total_NW1))
    return (place_NW1 if pieces_NWV is None else pieces_NWV.gather(2, place_NW1))[:, :, 0]


class Continuations:
    """Continuations in progress of a batch of prompts.

    Attributes:
        live: the continuations, as (prompt, sample), that have not ended. The caller may remove some: then they count
            as ended.
    """

    @torch.inference_mode()
    def __init__(
        self,
        model: DecoderOnly,
        prompts: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchConfig,
        samples: range | None = None,
    ) -> None:
        """`prompts`: ids without BOS and EOS; `limits`: the most pieces, at least 1, to add to each, with EOS.

        Of `options`, those of sampling and min_length are used. `options.samples` 0 takes the most probable piece.
        `samples`: the numbers of the samples to take; by default all.
        """
        self.model, self.options, self.limits, self.n_steps = model, options, limits, 0
        samples = samples or range(max(1, options.samples))
        width, device = len(samples), model.device
        # The model reads all of a prompt but its last id, which the first step adds.
        prefixes = [torch.tensor([BOS, *ids][:-1], dtype=torch.int64) for ids in prompts]
        prefix_NP = pad_sequence(prefixes, batch_first=True).to(device)
        lengths_N = torch.tensor([len(prefix) for prefix in prefixes], device=device)
        real_NP = torch.arange(prefix_NP.size(1), device=device) < lengths_N[:, None]
        self.cache = model.start_after(prefix_NP, real_NP, max(limits), width)
        self.tokens_NW = torch.tensor([[[BOS, *ids][-1]] * width for ids in prompts], device=device)
        random_TBW = random_numbers(prompts, limits, options).to(device) if options.samples else None
        self.random_TBW = None if random_TBW is None else random_TBW[:, :, samples.start : samples.stop]
        self.prompts_N = [*range(len(prompts))]
        self.live = {(n, w) for n in self.prompts_N for w in range(width)}

    @torch.inference_mode()
    def step(self) -> list[tuple[int, int, int, float]]:
        """Add a piece to every live continuation; return its prompt, its number, the piece, and the log-probability of
        this. Those that end with EOS, or have reached their limit, have ended."""
        live = {prompt for prompt, _ in self.live}
        left = [n for n, prompt in enumerate(self.prompts_N) if prompt in live]
        if len(left) < len(self.prompts_N):  # prompts whose continuations have all ended leave the batch
            self.prompts_N = [self.prompts_N[n] for n in left]
            left_N = torch.tensor(left, device=self.tokens_NW.device)
            self.cache.keep(left_N)
            self.tokens_NW = self.tokens_NW[left_N]
        logits_NWV = self.model.step(self.tokens_NW, self.cache)
        random_NW = None if self.random_TBW is None else self.random_TBW[self.n_steps, self.prompts_N]
        self.tokens_NW, own_NWV = next_pieces(logits_NWV, self.n_steps, self.options, random_NW)
        log_probs_NW = own_NWV.gather(2, self.tokens_NW[:, :, None])[:, :, 0]
        self.n_steps += 1
        rows = zip(self.prompts_N, self.tokens_NW.tolist(), log_probs_NW.tolist(), strict=True)
        added = [
            (prompt, sample, piece, log_prob)
            for prompt, pieces, log_probs in rows
            for sample, (piece, log_prob) in enumerate(zip(pieces, log_probs, strict=True))
            if (prompt, sample) in self.live
        ]
        self.live -= {(p, w) for p, w, piece, _ in added if piece == EOS or self.limits[p] == self.n_steps}
        return added
