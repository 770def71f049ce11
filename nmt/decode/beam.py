"""Greedy and beam search: a model and source ids in; for each sentence its best hypotheses out, as ids with scores.

Shapes: B sentences, N of them in the batch still, K beam size, G beam groups, F hypotheses kept, S source
length, T target length, V target vocabulary, W the vocabulary rounded up to whole blocks of 64.

A beam has K slots. Each step continues every live hypothesis by every piece and keeps as many of the best as slots are
free; one that ends there (EOS) takes its slot for good, and so a beam of 1 is greedy search. A hypothesis is ranked by
its log-probability divided by its length, EOS counted, to the power of the length penalty. A sentence is done as soon
as no live hypothesis can rank among its F best any more: log-probabilities only fall, no length is above its limit and
no coverage penalty above 0, so log_prob / limit ** penalty bounds all that may come of one. Leaving early therefore
changes no result.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmt.config import SearchConfig, require
from nmt.decode.hypothesis import Decoder, Demands, Hypothesis, demands_of, length_divisor, longest_output
from nmt.decode.rules import (
    NEVER,
    Coverage,
    LongestLength,
    Never,
    NoRepeatedNgrams,
    Phrases,
    Prefix,
    RepetitionPenalty,
    Rule,
)
from nmt.model.encoder_decoder import Transformer
from nmt.vocabulary import BOS, EOS

# The best K of a row lie in the K blocks with the largest maxima. Finding those first takes a fifth of a plain top-k's
# time on CPU (64 sentences, beam 5, 8,000 pieces: 0.3 ms against 1.7).
BLOCK = 64
# Sentences leave the batch when they are one in so many: packing the others copies all of their keys and values.
PACK = 8


@torch.inference_mode()
def search(
    model: Decoder, src_BS: Tensor, src_mask_BS: Tensor, options: SearchConfig, demands: Sequence[Demands] = ()
) -> list[list[Hypothesis]]:
    """The `options.n_best` best hypotheses of each sentence, best first and all different.

    Each sentence's result depends on that sentence alone. Fewer than n_best come back only if the rules leave fewer, or
    the groups of a beam find the same ones.

    Args:
        src_BS: source ids, int64, each sentence with its EOS.
        src_mask_BS: True at real positions.
        options: beam, penalties, lengths, n_best.
        demands: one for each sentence, or none.

    Raises:
        ValueError: the model's logits are not numbers, or what is demanded is too long for its positions.
    """
    beams = Beams(model, src_BS, src_mask_BS, options, demands_of(demands, src_BS.size(0)))
    while beams.sentences_N.size(0):
        beams.step()
    return beams.hypotheses()


@torch.inference_mode()
def force_score(
    model: Transformer,
    src_BS: Tensor,
    src_mask_BS: Tensor,
    tgt_BT: Tensor,
    tgt_mask_BT: Tensor,
    cross_weights: list[Tensor] | None = None,
) -> Tensor:
    """The log-probability (B, T), float32, of each token of given translations; 0 at padding.

    Args:
        src_BS: source ids, int64, each sentence with its EOS.
        src_mask_BS: True at real positions.
        tgt_BT: target ids, int64, without BOS and with EOS.
        tgt_mask_BT: True at real positions.
        cross_weights: if given, each layer's cross-attention weights (B, H, T, S) are appended to it.
    """
    input_BT = pad(tgt_BT[:, :-1], (1, 0), value=BOS)
    states_BTM = model.decode_states(input_BT, model.encode(src_BS, src_mask_BS), tgt_mask_BT, cross_weights)
    log_probs_BT1 = model.logits(states_BTM).log_softmax(-1).gather(2, tgt_BT[:, :, None])
    return log_probs_BT1[:, :, 0].masked_fill(~tgt_mask_BT, 0.0)


def best_continuations(scores_NK: Tensor, log_probs_NKV: Tensor, beam_size: int) -> tuple[Tensor, Tensor]:
    """The best continuations of each sentence, `beam_size` of K × V: scores, and places parent × W + token."""
    if missing := -log_probs_NKV.size(2) % BLOCK:
        log_probs_NKV = pad(log_probs_NKV, (0, missing), value=NEVER)
    blocks_NKXY = log_probs_NKV.unflatten(2, (-1, BLOCK))
    maxima_NKX = blocks_NKXY.amax(3) + scores_NK[:, :, None]
    _, block_NK = maxima_NKX.flatten(1).topk(beam_size)
    blocks_NKY = blocks_NKXY.flatten(1, 2).gather(1, block_NK[:, :, None].expand(-1, -1, BLOCK))
    blocks_NKY = blocks_NKY + scores_NK.gather(1, block_NK // blocks_NKXY.size(2))[:, :, None]
    best_NK, place_NK = blocks_NKY.flatten(1).topk(beam_size)
    return best_NK, block_NK.gather(1, place_NK // BLOCK) * BLOCK + place_NK % BLOCK


def diverse_continuations(
    scores_NK: Tensor, log_probs_NKV: Tensor, free_NG: Tensor, options: SearchConfig, width: int
) -> tuple[Tensor, Tensor]:
    """The same for beams in groups, one after the other: a piece costs a group what earlier groups have taken of it.

    What a group finds beyond its free slots is not taken, though it is returned.
    """
    size = options.beam_size // options.beam_groups
    taken_NV = torch.zeros_like(log_probs_NKV[:, 0])
    totals, places = [], []
    for group, first in enumerate(range(0, options.beam_size, size)):
        scores_Nk, log_probs_NkV = scores_NK[:, first : first + size], log_probs_NKV[:, first : first + size]
        _, place_Nk = best_continuations(scores_Nk, log_probs_NkV - options.diversity * taken_NV[:, None], size)
        parents_Nk, tokens_Nk = place_Nk // width, (place_Nk % width).clamp_(max=log_probs_NKV.size(2) - 1)
        total_Nk = scores_Nk.gather(1, parents_Nk) + log_probs_NkV.flatten(1).gather(
            1, parents_Nk * log_probs_NKV.size(2) + tokens_Nk
        )
        free_Nk = torch.arange(size, device=free_NG.device) < free_NG[:, group, None]
        taken_NV.scatter_add_(1, tokens_Nk, (free_Nk & (total_Nk > NEVER)).float())
        totals.append(total_Nk)
        places.append(place_Nk + first * width)
    return torch.cat(totals, dim=1), torch.cat(places, dim=1)


class Beams:
    """The live hypotheses of the sentences still in the batch, and the finished ones of all."""

    def __init__(
        self, model: Decoder, src_BS: Tensor, src_mask_BS: Tensor, options: SearchConfig, demands: Sequence[Demands]
    ) -> None:
        n_sentences, device = src_BS.size(0), src_BS.device
        require(
            options.beam_groups == 1 or not any(demand.phrases for demand in demands),
            f"decoding.beam_groups is {options.beam_groups}: phrases share the beam out in their own way",
        )
        self.model, self.options, self.steps = model, options, 0
        self.width = math.ceil(model.vocab_size / BLOCK) * BLOCK
        pieces = (src_mask_BS.sum(1) - 1).tolist()
        self.limits = [
            longest_output(n, options, model.max_positions, demand) for n, demand in zip(pieces, demands, strict=True)
        ]
        longest = max(self.limits) + 1
        self.cache = model.start(src_BS, src_mask_BS, longest, options.beam_size)
        shape, group_size = (n_sentences, options.beam_size), options.beam_size // options.beam_groups
        self.coverage = (
            Coverage(options.coverage_penalty, src_mask_BS, options.beam_size) if options.coverage_penalty else None
        )
        self.phrases = (
            Phrases([demand.phrases for demand in demands], self.limits, options.beam_size, device)
            if any(demand.phrases for demand in demands)
            else None
        )
        self.rules = self.make_rules([demand.prefix for demand in demands], n_sentences, device)
        # Of the sentences in the batch. At first all rows of a group are the same: only one may go on, and one row is
        # enough if nothing but its logits is looked at.
        self.sentences_N = torch.arange(n_sentences, device=device)
        self.limits_N = torch.tensor(self.limits, device=device)
        plain = all(isinstance(rule, Never | LongestLength) for rule in self.rules)
        one_is_enough = plain and options.beam_groups == 1 and self.width >= options.beam_size * BLOCK
        rows = 1 if one_is_enough else options.beam_size
        self.scores_NK = torch.full((n_sentences, rows), NEVER, device=device)
        self.scores_NK[:, ::group_size] = 0.0
        self.tokens_NK = torch.full((n_sentences, rows), BOS, device=device)
        self.free_NG = torch.full((n_sentences, options.beam_groups), group_size, device=device)
        self.worst_N = torch.full((n_sentences,), NEVER, device=device)
        # Of all sentences: what each slot took at each step, and what the model gave for it; and the best finished
        # hypotheses as (step × K + slot): all of them where groups may have found the same.
        self.kept = options.n_best if options.beam_groups == 1 else options.beam_size
        self.taken_TBK = torch.zeros((longest, *shape), dtype=torch.int64, device=device)
        self.gains_TBK = torch.zeros((longest, *shape), device=device)
        self.best_BF = torch.full((n_sentences, self.kept), NEVER, device=device)
        self.origin_BF = torch.zeros((n_sentences, self.kept), dtype=torch.int64, device=device)
        self.slots_K = torch.arange(options.beam_size, device=device)
        self.group_K, self.place_in_group_K = self.slots_K // group_size, self.slots_K % group_size

    def make_rules(self, prefixes: Sequence[Sequence[int]], n_sentences: int, device: torch.device) -> list[Rule]:
        """In the order in which they apply: a prefix overrules what forbids, and so does the longest length."""
        options, rules = self.options, list[Rule]()
        history = n_sentences, options.beam_size, device
        if options.repetition_penalty > 1:
            rules.append(RepetitionPenalty(options.repetition_penalty, *history))
        if any(prefixes) and options.prefix_bias < 1:
            rules.append(Prefix(prefixes, options.prefix_bias, options.beam_size, device))
        rules.append(Never(min([options.min_length, *self.limits]), device))
        if options.no_repeat_ngram:
            rules.append(NoRepeatedNgrams(options.no_repeat_ngram, *history))
        if self.phrases:
            rules.append(self.phrases)
        if any(prefixes) and options.prefix_bias == 1:
            rules.append(Prefix(prefixes, 1.0, options.beam_size, device))
        rules.append(LongestLength(self.limits, device))
        return [*rules, self.coverage] if self.coverage else rules

    def step(self) -> None:
        """Continue every live hypothesis by one token."""
        cross_weights: list[Tensor] | None = [] if self.coverage else None
        own_NKV = self.model.step(self.tokens_NK, self.cache, cross_weights).log_softmax(-1)
        if self.coverage and cross_weights is not None:
            self.coverage.look(cross_weights)
        ruled_NKV = own_NKV.clone() if any(rule.alters for rule in self.rules) else own_NKV
        for rule in self.rules:
            rule.apply(ruled_NKV, own_NKV, self.steps)
        totals_NK, taken_NK = self.choose(ruled_NKV)
        # A slot without a hypothesis may have taken a place between V and W.
        parents_NK, tokens_NK = taken_NK // self.width, (taken_NK % self.width).clamp_(max=own_NKV.size(2) - 1)
        self.taken_TBK[self.steps, self.sentences_N] = taken_NK
        self.gains_TBK[self.steps, self.sentences_N] = own_NKV.flatten(1).gather(
            1, parents_NK * own_NKV.size(2) + tokens_NK
        )
        for rule in self.rules:
            rule.follow(parents_NK, tokens_NK)
        ended_NK = tokens_NK == EOS
        if ended_NK.any():
            self.collect(totals_NK.masked_fill(~ended_NK, NEVER))
            totals_NK.masked_fill_(ended_NK, NEVER)
        self.scores_NK, self.tokens_NK = totals_NK, tokens_NK
        self.steps += 1
        self.cache.reorder(parents_NK)
        self.dismiss()

    def choose(self, ruled_NKV: Tensor) -> tuple[Tensor, Tensor]:
        """For each slot that is free its score and its place; −inf for the others."""
        if self.options.beam_groups > 1:
            totals_NK, taken_NK = diverse_continuations(
                self.scores_NK, ruled_NKV, self.free_NG, self.options, self.width
            )
        else:
            totals_NK, taken_NK = best_continuations(self.scores_NK, ruled_NKV, self.options.beam_size)
        if self.phrases:
            self.phrases.choose(self.scores_NK, ruled_NKV, self.free_NG[:, 0], totals_NK, taken_NK, self.width)
        return totals_NK.masked_fill_(self.place_in_group_K >= self.free_NG[:, self.group_K], NEVER), taken_NK

    def collect(self, ended_NK: Tensor) -> None:
        """Rank newly finished hypotheses (log-probabilities; -inf elsewhere) among the best of their sentences."""
        score_NK = ended_NK / length_divisor(self.steps + 1, self.options)
        if self.coverage:
            score_NK = score_NK + self.coverage.penalty()
        origin_NK = (self.steps * self.options.beam_size + self.slots_K).expand_as(score_NK)
        both = torch.cat([self.best_BF[self.sentences_N], score_NK], dim=1)
        origins = torch.cat([self.origin_BF[self.sentences_N], origin_NK], dim=1)
        best_NF, index_NF = both.topk(self.kept)
        self.best_BF[self.sentences_N] = best_NF
        self.origin_BF[self.sentences_N] = origins.gather(1, index_NF)
        self.worst_N = best_NF[:, -1]
        self.free_NG = self.free_NG - (ended_NK > NEVER).unflatten(1, (self.options.beam_groups, -1)).sum(2)

    def dismiss(self) -> None:
        """End the sentences that are done, and let them leave when it pays to pack the others together."""
        bound_N = self.scores_NK.amax(1) / length_divisor(self.limits_N + 1, self.options)
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
        self.free_NG, self.worst_N = self.free_NG[staying], self.worst_N[staying]
        self.cache.keep(staying)
        for rule in self.rules:
            rule.keep(staying)

    def hypotheses(self) -> list[list[Hypothesis]]:
        """The finished hypotheses of all sentences, best first."""
        if self.best_BF.isnan().any() or (self.best_BF[:, :1] == NEVER).any():
            raise ValueError(
                "the model's logits are not numbers: its weights are damaged, or its training diverged"
                if self.gains_TBK[: self.steps].isnan().any()
                else "the settings leave no translation"
            )
        taken = self.taken_TBK[: self.steps].transpose(0, 1).tolist()
        gains = self.gains_TBK[: self.steps].transpose(0, 1).tolist()
        ranked = zip(self.best_BF.tolist(), self.origin_BF.tolist(), strict=True)
        found = []
        for i, best in enumerate(ranked):
            traced = [
                self.trace(taken[i], gains[i], origin, score, self.limits[i])
                for score, origin in zip(*best, strict=True)
                if score > NEVER
            ]
            distinct = {tuple(one.ids): one for one in reversed(traced)}  # of equal ones the best, which comes last
            found.append([one for one in traced if distinct[tuple(one.ids)] is one][: self.options.n_best])
        return found

    def trace(
        self, taken: list[list[int]], gains: list[list[float]], origin: int, score: float, limit: int
    ) -> Hypothesis:
        """Follow a finished hypothesis back to its beginning."""
        last, slot = divmod(origin, self.options.beam_size)
        ids, log_probs = [], []
        for step in range(last, -1, -1):
            log_probs.append(gains[step][slot])
            slot, token = divmod(taken[step][slot], self.width)
            ids.append(token)
        return Hypothesis(ids[:0:-1], score, math.fsum(log_probs), log_probs[::-1], finished=last < limit)
