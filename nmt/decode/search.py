"""Greedy and beam search: a model and source ids in; for each sentence its best hypotheses out, as ids with scores.

Shapes: B sentences, N of them in the batch still, K beam size, F hypotheses kept (n_best), S source length, T target
length, V target vocabulary, W the vocabulary rounded up to whole blocks of 64.

A beam has K slots. Each step continues every live hypothesis by every piece and keeps as many of the best as slots are
free; one that ends there (EOS) takes its slot for good, and so a beam of 1 is greedy search. A hypothesis is ranked by
its log-probability divided by its length, EOS counted, to the power of the length penalty. A sentence leaves the batch
as soon as no live hypothesis can rank among its F best any more: log-probabilities only fall, and no length is above
its limit, so log_prob / limit ** penalty bounds all that may come of one. Leaving early therefore changes no result.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmt.config import DecodingConfig
from nmt.model.incremental import IncrementalDecoder
from nmt.model.transformer import Transformer

# The same in every tokenizer of this toolkit (see `nmt.config.TokenizerConfig`).
UNK, BOS, EOS, PAD = 0, 1, 2, 3
# Never written: unknown text is no text, and with byte fallback every character has pieces.
FORBIDDEN = (UNK, BOS, PAD)
# The best K of a row lie in the K blocks with the largest maxima. Finding those first takes a fifth of a plain top-k's
# time on CPU (64 sentences, beam 5, 8,000 pieces: 0.3 ms against 1.7).
BLOCK = 64
NEVER = -math.inf
# Sentences leave the batch when they are one in so many: packing the others copies all of their keys and values.
PACK = 8


@dataclass(frozen=True)
class Hypothesis:
    """One translation in ids."""

    ids: list[int]
    """Without BOS and EOS."""

    score: float
    """log_prob / (tokens with EOS) ** length_penalty: what hypotheses are ranked by."""

    log_prob: float
    """Natural logarithm of the probability that the model gives to the ids and EOS."""

    token_log_probs: list[float]
    """Its parts: one for each id, and the last for EOS."""

    finished: bool
    """False: it is as long as was allowed, so that EOS was its only choice."""


@torch.inference_mode()
def search(model: IncrementalDecoder, src_BS: Tensor, src_mask_BS: Tensor,
           options: DecodingConfig) -> list[list[Hypothesis]]:
    """The `options.n_best` best hypotheses of each sentence, best first and all different.

    Each sentence's result depends on that sentence alone. Fewer than n_best come back only if the vocabulary has fewer
    than beam_size pieces to begin with.

    Args:
        src_BS: source ids, int64, each sentence with its EOS.
        src_mask_BS: True at real positions.
        options: beam, length penalty, longest output, n_best.

    Raises:
        ValueError: the model's logits are not numbers.
    """
    beams = Beams(model, src_BS, src_mask_BS, options)
    while beams.sentences_N.size(0):
        beams.step()
    return beams.hypotheses()


@torch.inference_mode()
def force_score(model: Transformer, src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, tgt_mask_BT: Tensor) -> Tensor:
    """The log-probability (B, T), float32, of each token of given translations; 0 at padding.

    Args:
        src_BS: source ids, int64, each sentence with its EOS.
        src_mask_BS: True at real positions.
        tgt_BT: target ids, int64, without BOS and with EOS.
        tgt_mask_BT: True at real positions.
    """
    input_BT = pad(tgt_BT[:, :-1], (1, 0), value=BOS)
    logits_BTV = model.decode(input_BT, model.encode(src_BS, src_mask_BS), tgt_mask_BT)
    log_probs_BT1 = logits_BTV.log_softmax(-1).gather(2, tgt_BT[:, :, None])
    return log_probs_BT1[:, :, 0].masked_fill(~tgt_mask_BT, 0.0)


def longest_output(n_pieces: int, options: DecodingConfig, max_positions: int | None) -> int:
    """Most pieces, EOS not counted, that a source of `n_pieces` may become."""
    limit = int(options.max_length_ratio * n_pieces) + 10
    return limit if max_positions is None else min(limit, max_positions - 1)


def best_continuations(scores_NK: Tensor, log_probs_NKV: Tensor) -> tuple[Tensor, Tensor]:
    """Of each sentence's K × V continuations the K best: their scores (N, K), and their places parent × W + token."""
    beam_size = scores_NK.size(1)
    if missing := -log_probs_NKV.size(2) % BLOCK:
        log_probs_NKV = pad(log_probs_NKV, (0, missing), value=NEVER)
    blocks_NKXY = log_probs_NKV.unflatten(2, (-1, BLOCK))
    maxima_NKX = blocks_NKXY.amax(3) + scores_NK[:, :, None]
    _, block_NK = maxima_NKX.flatten(1).topk(beam_size)
    blocks_NKY = blocks_NKXY.flatten(1, 2).gather(1, block_NK[:, :, None].expand(-1, -1, BLOCK))
    blocks_NKY = blocks_NKY + scores_NK.gather(1, block_NK // blocks_NKXY.size(2))[:, :, None]
    best_NK, place_NK = blocks_NKY.flatten(1).topk(beam_size)
    return best_NK, block_NK.gather(1, place_NK // BLOCK) * BLOCK + place_NK % BLOCK


class Beams:
    """The live hypotheses of the sentences still in the batch, and the finished ones of all."""

    def __init__(self, model: IncrementalDecoder, src_BS: Tensor, src_mask_BS: Tensor,
                 options: DecodingConfig) -> None:
        n_sentences, device = src_BS.size(0), src_BS.device
        self.model, self.options, self.steps = model, options, 0
        self.width = math.ceil(model.vocab_size / BLOCK) * BLOCK
        pieces = (src_mask_BS.sum(1) - 1).tolist()
        self.limits = [longest_output(n, options, model.max_positions) for n in pieces]
        longest = max(self.limits) + 1
        self.cache = model.start(src_BS, src_mask_BS, longest, options.beam_size)
        shape = n_sentences, options.beam_size
        # Of the sentences in the batch. At first all K rows of a sentence are the same: only one may go on.
        self.sentences_N = torch.arange(n_sentences, device=device)
        self.limits_N = torch.tensor(self.limits, device=device)
        self.scores_NK = torch.full(shape, NEVER, device=device)
        self.scores_NK[:, 0] = 0.0
        self.tokens_NK = torch.full(shape, BOS, device=device)
        self.free_N = torch.full((n_sentences,), options.beam_size, device=device)
        self.worst_N = torch.full((n_sentences,), NEVER, device=device)
        # Of all sentences: what each slot took at each step, and the best finished hypotheses as (step × K + slot).
        self.taken_TBK = torch.zeros((longest, *shape), dtype=torch.int64, device=device)
        self.totals_TBK = torch.zeros((longest, *shape), device=device)
        self.best_BF = torch.full((n_sentences, options.n_best), NEVER, device=device)
        self.origin_BF = torch.zeros((n_sentences, options.n_best), dtype=torch.int64, device=device)
        self.slots_K = torch.arange(options.beam_size, device=device)
        self.forbidden = torch.tensor(FORBIDDEN, device=device)

    def step(self) -> None:
        """Continue every live hypothesis by one token."""
        log_probs_NKV = self.model.step(self.tokens_NK, self.cache).log_softmax(-1)
        log_probs_NKV.index_fill_(2, self.forbidden, NEVER)
        if self.steps in self.limits:
            self.allow_only_eos(log_probs_NKV)
        totals_NK, taken_NK = best_continuations(self.scores_NK, log_probs_NKV)
        totals_NK.masked_fill_(self.slots_K >= self.free_N[:, None], NEVER)
        self.taken_TBK[self.steps, self.sentences_N] = taken_NK
        self.totals_TBK[self.steps, self.sentences_N] = totals_NK
        # A slot without a hypothesis may have taken a place between V and W.
        tokens_NK = (taken_NK % self.width).clamp_(max=log_probs_NKV.size(2) - 1)
        ended_NK = tokens_NK == EOS
        if ended_NK.any():
            self.collect(totals_NK.masked_fill(~ended_NK, NEVER))
            totals_NK.masked_fill_(ended_NK, NEVER)
        self.scores_NK, self.tokens_NK = totals_NK, tokens_NK
        self.steps += 1
        self.cache.reorder(taken_NK // self.width)
        self.dismiss()

    def allow_only_eos(self, log_probs_NKV: Tensor) -> None:
        """Close the hypotheses of the sentences that are now as long as they may be."""
        full = self.limits_N == self.steps
        eos = log_probs_NKV[full, :, EOS]
        log_probs_NKV[full] = NEVER
        log_probs_NKV[full, :, EOS] = eos

    def collect(self, ended_NK: Tensor) -> None:
        """Rank newly finished hypotheses (log-probabilities; -inf elsewhere) among the best of their sentences."""
        score_NK = ended_NK / (self.steps + 1) ** self.options.length_penalty
        origin_NK = (self.steps * self.options.beam_size + self.slots_K).expand_as(score_NK)
        both = torch.cat([self.best_BF[self.sentences_N], score_NK], dim=1)
        origins = torch.cat([self.origin_BF[self.sentences_N], origin_NK], dim=1)
        best_NF, index_NF = both.topk(self.options.n_best)
        self.best_BF[self.sentences_N] = best_NF
        self.origin_BF[self.sentences_N] = origins.gather(1, index_NF)
        self.worst_N = best_NF[:, -1]
        self.free_N = self.free_N - (ended_NK > NEVER).sum(1)

    def dismiss(self) -> None:
        """End the sentences that are done, and let them leave when it pays to pack the others together."""
        bound_N = self.scores_NK.amax(1) / (self.limits_N + 1) ** self.options.length_penalty
        # The second condition ends a search among logits that are not numbers, which compare as neither.
        live_N = (bound_N > self.worst_N) & (self.limits_N >= self.steps)
        n_live = int(live_N.sum())
        if n_live == live_N.size(0):
            return
        if n_live * PACK > live_N.size(0) * (PACK - 1):
            self.scores_NK.masked_fill_(~live_N[:, None], NEVER)
            return
        staying = live_N.nonzero()[:, 0]
        self.sentences_N, self.scores_NK = self.sentences_N[staying], self.scores_NK[staying]
        self.tokens_NK, self.limits_N = self.tokens_NK[staying], self.limits_N[staying]
        self.free_N, self.worst_N = self.free_N[staying], self.worst_N[staying]
        self.cache.keep(staying)

    def hypotheses(self) -> list[list[Hypothesis]]:
        """The finished hypotheses of all sentences, best first."""
        if self.best_BF.isnan().any() or (self.best_BF[:, :1] == NEVER).any():
            raise ValueError(
                "the model's logits are not numbers: its weights are damaged, or its training diverged")
        taken = self.taken_TBK[:self.steps].transpose(0, 1).tolist()
        totals = self.totals_TBK[:self.steps].transpose(0, 1).tolist()
        ranked = zip(self.best_BF.tolist(), self.origin_BF.tolist(), strict=True)
        return [[self.trace(taken[i], totals[i], origin, self.limits[i]) for score, origin in zip(*best, strict=True)
                 if score > NEVER] for i, best in enumerate(ranked)]

    def trace(self, taken: list[list[int]], totals: list[list[float]], origin: int, limit: int) -> Hypothesis:
        """Follow a finished hypothesis back to its beginning."""
        last, slot = divmod(origin, self.options.beam_size)
        log_prob, ids, sums = totals[last][slot], [], []
        for step in range(last, -1, -1):
            sums.append(totals[step][slot])
            slot, token = divmod(taken[step][slot], self.width)
            ids.append(token)
        token_log_probs = [after - before for after, before in zip(sums, [*sums[1:], 0.0], strict=True)]
        return Hypothesis(ids[:0:-1], log_prob / (last + 1) ** self.options.length_penalty, log_prob,
                          token_log_probs[::-1], finished=last < limit)
