"""Random sampling: translations, and continuations of prompts by a language model, sampled piece by piece from the
model's distribution or from its likely part.

The samples of a sentence, or of a prompt, depend on the seed and on it alone. Each has its own generator; its random
numbers are made before the first step, and the inverse of the cumulative distribution turns them into pieces.

Shapes: B sentences or prompts, N of them still in the batch, W samples of each, T target length, P length of the
longest prompt, V target vocabulary.
"""

import hashlib
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence

from nmt.config import SearchConfig
from nmt.decode.hypothesis import BAD_LOGITS, Hypothesis, forbidden_ids, longest_output
from nmt.decode.stop import Stop
from nmt.fields import require
from nmt.model.cache import Cache
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
    limits = [longest_output(len(ids) - 1, options, model.longest_target(len(ids) - 1)) for ids in sources]
    random_TBW = random_numbers(sources, limits, options).to(src_BS.device)
    found = [list[Hypothesis]() for _ in sources]
    for part in sample_parts(options.samples, random_TBW.size(0) * len(sources)):
        cache = model.start(src_BS, src_mask_BS, random_TBW.size(0), len(part), separate=True)
        first_NW = torch.full((len(sources), len(part)), BOS, device=src_BS.device)
        with_end, random_TNW = [limit + 1 for limit in limits], random_TBW[:, :, part.start : part.stop]
        samples = Samples(model, cache, first_NW, with_end, options, random_TNW)
        for hypotheses, ended in zip(found, finish(samples, limits, stop), strict=True):
            hypotheses += ended
    return found


def finish(samples: "Samples", limits: Sequence[int], stop: Stop | None) -> list[list[Hypothesis]]:
    """Take all steps of translations. `limits`: the most pieces of each, after which only EOS may come."""
    width, options = samples.tokens_NW.size(1), samples.options
    written = [[(list[int](), list[float]()) for _ in range(width)] for _ in limits]
    while samples.live:
        if stop and stop.is_late():
            limits = [min(limit, samples.n_steps) for limit in limits]
        full = {n for n, limit in enumerate(limits) if limit <= samples.n_steps}
        for n, w, piece, log_prob in samples.step(full):
            written[n][w][0].append(piece)
            written[n][w][1].append(log_prob)
    return [
        [Hypothesis.of(ids[:-1], log_probs, options, limit) for ids, log_probs in of_text]
        for of_text, limit in zip(written, limits, strict=True)
    ]


def sample_parts(n_samples: int, n_slots: int) -> list[range]:
    """The numbers of the samples that are taken together, if each needs this many slots."""
    most = max(1, MAX_SLOTS // n_slots)
    return [range(start, min(start + most, n_samples)) for start in range(0, n_samples, most)]


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


@dataclass
class Samples:
    """Samples in progress, of translations or continuations."""

    model: Decoder
    cache: Cache
    tokens_NW: Tensor
    """The newest piece of each sample, which the model hasn't read."""
    limits: Sequence[int]
    """Of each text, the most pieces, with EOS."""
    options: SearchConfig
    random_TNW: Tensor | None
    """Random numbers; None takes the most probable pieces."""
    n_steps: int = 0

    def __post_init__(self) -> None:
        n, width = self.tokens_NW.shape
        self.texts_N = [*range(n)]
        self.live = {(text, w) for text in self.texts_N for w in range(width)}
        """The samples, as (text, number), that have not ended. The caller may remove some: they count as ended."""

    @torch.inference_mode()
    def step(self, full: Collection[int] = ()) -> list[tuple[int, int, int, float]]:
        """Add a piece to every live sample; return its text, its number, the piece, and the log-probability of this.
        Those that end with EOS, or have reached their limit, have ended. `full`: texts that EOS must come after."""
        live = {text for text, _ in self.live}
        left = [n for n, text in enumerate(self.texts_N) if text in live]
        if len(left) < len(self.texts_N):  # texts whose samples have all ended leave the batch
            self.texts_N = [self.texts_N[n] for n in left]
            left_N = torch.tensor(left, device=self.tokens_NW.device)
            self.cache.keep(left_N)
            self.tokens_NW = self.tokens_NW[left_N]
        logits_NWV = self.model.step(self.tokens_NW, self.cache)
        random_NW = None if self.random_TNW is None else self.random_TNW[self.n_steps, self.texts_N]
        self.tokens_NW, own_NWV = next_pieces(logits_NWV, self.n_steps, self.options, random_NW)
        self.tokens_NW[[n for n, text in enumerate(self.texts_N) if text in full]] = EOS
        log_probs_NW = own_NWV.gather(2, self.tokens_NW[:, :, None])[:, :, 0]
        self.n_steps += 1
        rows = zip(self.texts_N, self.tokens_NW.tolist(), log_probs_NW.tolist(), strict=True)
        added = [
            (text, w, piece, log_prob)
            for text, pieces, log_probs in rows
            for w, (piece, log_prob) in enumerate(zip(pieces, log_probs, strict=True))
            if (text, w) in self.live
        ]
        self.live -= {(text, w) for text, w, piece, _ in added if piece == EOS or self.limits[text] == self.n_steps}
        return added


@torch.inference_mode()
def continuations(
    model: DecoderOnly,
    prompts: Sequence[Sequence[int]],
    limits: Sequence[int],
    options: SearchConfig,
    samples: range | None = None,
) -> Samples:
    """Begin samples of what follows prompts. `prompts`: ids without BOS and EOS; `limits`: the most pieces, at least 1,
    to add to each, with EOS; `samples`: the numbers of the samples to take; by default all.

    Of `options`, those of sampling and min_length are used. `options.samples` 0 takes the most probable piece.
    """
    samples, device = samples or range(max(1, options.samples)), model.device
    # The model reads all of a prompt but its last id, which the first step adds.
    prefixes = [torch.tensor([BOS, *ids][:-1], dtype=torch.int64) for ids in prompts]
    prefix_NP = pad_sequence(prefixes, batch_first=True).to(device)
    lengths_N = torch.tensor([len(prefix) for prefix in prefixes], device=device)
    real_NP = torch.arange(prefix_NP.size(1), device=device) < lengths_N[:, None]
    cache = model.start_after(prefix_NP, real_NP, max(limits), len(samples))
    last_NW = torch.tensor([[[BOS, *ids][-1]] * len(samples) for ids in prompts], device=device)
    random_TNW = None
    if options.samples:
        random_TNW = random_numbers(prompts, limits, options)[:, :, samples.start : samples.stop].to(device)
    return Samples(model, cache, last_NW, limits, options, random_TNW)
