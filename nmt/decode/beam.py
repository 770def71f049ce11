"""Greedy and beam search: a model and source ids in; for each sentence its best hypotheses out, as ids with scores.

Shapes: B sentences, N of them still in the batch, K beam size (1 at the first step: one hypothesis),
F hypotheses returned (n_best), S source length, T target length, V target vocabulary, X blocks of Y = 64 pieces.

A beam has K slots. Each step continues every live hypothesis by every piece and keeps the best continuations, one for
each free slot. A hypothesis that ends (EOS) takes its slot for good, so that a beam of 1 is greedy search. Hypotheses
are ranked by their log-probability divided by `length_divisor`. A sentence is done as soon as no live hypothesis can
rank among its F best any more: log-probabilities only fall, no length is above its limit,
so log_prob / length_divisor(limit) is an upper bound. Stopping early therefore changes no result.
"""

from collections.abc import Callable
from math import ceil, fsum, inf

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmt.config import SearchConfig
from nmt.decode.hypothesis import (
    BAD_LOGITS,
    NO_CONSTRAINTS,
    AllConstraints,
    Hypothesis,
    forbidden_ids,
    length_divisor,
    longest_output,
)
from nmt.decode.rules import make_rules
from nmt.decode.stop import Stop
from nmt.fields import require
from nmt.model.contract import Decoder
from nmt.vocabulary import BOS, EOS

# The best K of a row lie in the K blocks with the largest maxima. Finding those first takes a fifth of a plain top-k's
# time on CPU (64 sentences, beam 5, 8,000 pieces: 0.3 ms against 1.7).
BLOCK = 64
PACK = 8  # finished sentences leave the batch when they are 1 in 8: all keys and values of the others are then copied


@torch.inference_mode()
def search(
    model: Decoder,
    src_BS: Tensor,
    src_mask_BS: Tensor,
    options: SearchConfig,
    constraints: AllConstraints = (),
    stop: Stop | None = None,
) -> list[list[Hypothesis]]:
    """Return the `options.n_best` best hypotheses of each sentence, best first and all different.

    Each sentence's result depends on that sentence alone. A sentence has fewer hypotheses if its constraints and the
    other rules leave fewer, and NONE if they leave no way to end, e.g. a prefix that contains a forbidden phrase.
    Sources as in `Decoder.start`; `constraints`: one for each sentence, or none.
    If the time of `stop` is up, what isn't finished ends in the next step, whatever its constraints ask for.
    Raises ValueError if logits are not numbers, or constraints need more positions than the model has; Stopped as
    `stop` says.
    """
    beams = Beams(model, src_BS, src_mask_BS, options, constraints)
    beams.run(stop)
    return beams.hypotheses()


@torch.inference_mode()
def force_score(
    model: Callable[..., Tensor], src_BS: Tensor, src_mask_BS: Tensor, tgt_BT: Tensor, tgt_mask_BT: Tensor
) -> Tensor:
    """Return the log-probability (B, T), float32, of each token of given translations; 0 at padding.

    `model`: what `GenerativeModel.forward` does. Sources as in `Decoder.start`; target ids int64, without BOS and with
    EOS; masks are True at real positions.
    """
    input_BT = pad(tgt_BT[:, :-1], (1, 0), value=BOS)
    logits_BTV = model(src_BS, src_mask_BS, input_BT)
    log_probs_BT1 = logits_BTV.log_softmax(-1).gather(2, tgt_BT[:, :, None])
    return log_probs_BT1[:, :, 0].masked_fill(~tgt_mask_BT, 0.0)


def best_continuations(scores_NK: Tensor, log_probs_NKV: Tensor, beam_size: int) -> tuple[Tensor, Tensor]:
    """Return the log-probabilities of each sentence's best continuations, and their places: parent × V + piece.

    Where there are fewer than `beam_size`, the others have the log-probability -inf and any place.
    """
    _, rows, vocab_size = log_probs_NKV.shape
    width = BLOCK * max(ceil(vocab_size / BLOCK), ceil(beam_size / rows))
    if width > vocab_size:
        log_probs_NKV = pad(log_probs_NKV, (0, width - vocab_size), value=-inf)
    blocks_NKXY = log_probs_NKV.unflatten(2, (-1, BLOCK))
    maxima_NKX = blocks_NKXY.amax(3) + scores_NK[:, :, None]
    _, block_NK = maxima_NKX.flatten(1).topk(beam_size)
    blocks_NKY = blocks_NKXY.flatten(1, 2).gather(1, block_NK[:, :, None].expand(-1, -1, BLOCK))
    blocks_NKY = blocks_NKY + scores_NK.gather(1, block_NK // blocks_NKXY.size(2))[:, :, None]
    best_NK, place_NK = blocks_NKY.flatten(1).topk(beam_size)
    place_NK = block_NK.gather(1, place_NK // BLOCK) * BLOCK + place_NK % BLOCK
    if width > vocab_size:
        place_NK = place_NK // width * vocab_size + (place_NK % width).clamp_(max=vocab_size - 1)
    return best_NK, place_NK


class Beams:
    """A search in progress. In what is about the N sentences still in the batch (tensors, cache and rules), the same
    index means the same sentence."""

    def __init__(
        self, model: Decoder, src_BS: Tensor, src_mask_BS: Tensor, options: SearchConfig, constraints: AllConstraints
    ) -> None:
        n_sentences, device, beam_size = src_BS.size(0), src_BS.device, options.beam_size
        self.model, self.options, self.steps = model, options, 0
        lengths = (src_mask_BS.sum(1) - 1).tolist()
        rooms = [model.longest_target(n_source) for n_source in lengths]
        constraints = constraints or [NO_CONSTRAINTS] * n_sentences
        sentences = zip(lengths, rooms, constraints, strict=True)
        self.limits = [longest_output(n_source, options, most, c) for n_source, most, c in sentences]
        self.is_cut, n_steps = False, max(self.limits) + 1
        self.sentences_N = torch.arange(n_sentences, device=device)  # their indices among the B sentences
        self.limits_N = torch.tensor(self.limits, device=device)  # most pieces of their translations, without EOS
        self.tokens_NK = torch.full((n_sentences, 1), BOS, device=device)  # the newest token of each hypothesis
        # Log-probabilities of the live hypotheses, after the rules; -inf in empty slots.
        self.scores_NK = torch.zeros(n_sentences, 1, device=device)
        # The number of slots that no finished hypothesis has taken.
        self.free_N = torch.full((n_sentences,), beam_size, device=device)
        # The score of the worst of the F best finished hypotheses; -inf if there are fewer.
        self.worst_N = torch.full((n_sentences,), -inf, device=device)
        self.cache = model.start(src_BS, src_mask_BS, n_steps, beam_size)
        self.rules = make_rules(options, self.limits, constraints, device)
        self.never_X = torch.tensor(forbidden_ids(options), device=device)  # pieces that are never written
        self.slots_K = torch.arange(beam_size, device=device)
        # For each step and slot: the continuation, as a place parent × V + token, and the model's log-probability.
        self.places_TBK = torch.zeros(n_steps, n_sentences, beam_size, dtype=torch.int64, device=device)
        self.log_probs_TBK = torch.zeros(n_steps, n_sentences, beam_size, device=device)
        # The best finished hypotheses: their scores, and where they end, as step × K + slot.
        self.best_BF = torch.full((n_sentences, options.n_best), -inf, device=device)
        self.ends_BF = torch.zeros(n_sentences, options.n_best, dtype=torch.int64, device=device)

    def cut(self) -> None:
        """Lower all limits to the present length: in the next step, hypotheses can only end."""
        self.is_cut = True
        self.limits_N = self.limits_N.clamp(max=self.steps)
        for b in self.sentences_N.tolist():
            self.limits[b] = min(self.limits[b], self.steps)

    def step(self) -> None:
        """Continue every live hypothesis by one token."""
        own_NKV = self.model.step(self.tokens_NK, self.cache).log_softmax(-1)
        ruled_NKV = own_NKV if all(rule.only_forbids for rule in self.rules) else own_NKV.clone()
        ruled_NKV.index_fill_(2, self.never_X, -inf)
        if self.steps < self.options.min_length:  # where the model has no room for so many, the limit is less
            ruled_NKV[:, :, EOS].masked_fill_((self.limits_N > self.steps)[:, None], -inf)
        for rule in self.rules:
            rule.apply(ruled_NKV, own_NKV, self.steps)
        if self.steps in self.limits:  # what has reached its limit can only end
            full_N = self.limits_N == self.steps
            eos_NK = (own_NKV if self.is_cut else ruled_NKV)[full_N, :, EOS]
            ruled_NKV[full_N] = -inf
            ruled_NKV[full_N, :, EOS] = eos_NK
        totals_NK, places_NK = best_continuations(self.scores_NK, ruled_NKV, self.options.beam_size)
        for rule in self.rules:
            rule.select(self.scores_NK, ruled_NKV, self.free_N, totals_NK, places_NK)
        self.places_TBK[self.steps, self.sentences_N] = places_NK
        self.log_probs_TBK[self.steps, self.sentences_N] = own_NKV.flatten(1).gather(1, places_NK)
        parents_NK = places_NK // own_NKV.size(2)
        self.tokens_NK = places_NK % own_NKV.size(2)
        self.scores_NK = totals_NK.masked_fill_(self.slots_K >= self.free_N[:, None], -inf)
        self.cache.reorder(parents_NK)
        for rule in self.rules:
            rule.advance(parents_NK, self.tokens_NK)
        self.steps += 1
        ended_NK = self.tokens_NK == EOS
        if ended_NK.any():
            self.end(ended_NK)
        self.drop_done()

    def end(self, ended_NK: Tensor) -> None:
        """Rank the hypotheses that have ended among the F best of their sentences, and empty their slots."""
        scores_NK = self.scores_NK.masked_fill(~ended_NK, -inf) / length_divisor(self.steps, self.options)
        self.free_N = self.free_N - (scores_NK > -inf).sum(1)
        self.scores_NK.masked_fill_(ended_NK, -inf)
        ends_NK = ((self.steps - 1) * self.options.beam_size + self.slots_K).expand_as(scores_NK)
        best_NX = torch.cat([self.best_BF[self.sentences_N], scores_NK], dim=1)
        best_NF, index_NF = best_NX.topk(self.options.n_best)
        ends_NX = torch.cat([self.ends_BF[self.sentences_N], ends_NK], dim=1)
        self.best_BF[self.sentences_N] = best_NF
        self.ends_BF[self.sentences_N] = ends_NX.gather(1, index_NF)
        self.worst_N = best_NF[:, -1]

    def drop_done(self) -> None:
        """Remove sentences that are done from the batch if they are many (see PACK); otherwise empty their slots."""
        bound_N = self.scores_NK.amax(1) / length_divisor(self.limits_N + 1, self.options)
        live_N = bound_N > self.worst_N  # False also if the logits, and so the bound, are not numbers
        n_live = int(live_N.sum())
        if n_live * PACK <= live_N.size(0) * (PACK - 1):
            kept = live_N.nonzero()[:, 0]
            self.sentences_N, self.limits_N = self.sentences_N[kept], self.limits_N[kept]
            self.tokens_NK, self.scores_NK = self.tokens_NK[kept], self.scores_NK[kept]
            self.free_N, self.worst_N = self.free_N[kept], self.worst_N[kept]
            self.cache.keep(kept)
            for rule in self.rules:
                rule.keep(kept)
        elif n_live < live_N.size(0):
            self.scores_NK.masked_fill_(~live_N[:, None], -inf)

    def run(self, stop: Stop | None) -> None:
        """Do all steps, and copy what `hypotheses` needs from the device. See `search`."""
        while self.sentences_N.size(0):
            if stop and stop.is_late():
                self.cut()
            self.step()
        require(not bool(self.log_probs_TBK[: self.steps].isnan().any()), BAD_LOGITS)
        # Flat, since many small lists would make the garbage collector look through all objects of the process.
        tables = (self.places_TBK, self.log_probs_TBK)
        self.places, self.log_probs = (table[: self.steps].flatten().tolist() for table in tables)
        self.ranked = [*zip(self.best_BF.tolist(), self.ends_BF.tolist(), strict=True)]
        del self.cache  # whose buffers the next search may take

    def hypotheses(self) -> list[list[Hypothesis]]:
        """The finished hypotheses of all sentences, best first."""
        places, log_probs, vocab_size = self.places, self.log_probs, self.model.vocab_size
        B, K = len(self.ranked), self.options.beam_size

        def trace(b: int, score: float, end: int) -> Hypothesis:
            """Follow a finished hypothesis of sentence b back from its end to its first token."""
            last, slot = divmod(end, K)
            ids, gains = [], []
            for step in range(last, -1, -1):
                at = (step * B + b) * K + slot
                gains.append(log_probs[at])
                slot, token = divmod(places[at], vocab_size)
                ids.append(token)
            return Hypothesis(ids[:0:-1], score, fsum(gains), gains[::-1], finished=last < self.limits[b])

        ranked = [zip(*best, strict=True) for best in self.ranked]
        return [[trace(b, score, end) for score, end in best if score > -inf] for b, best in enumerate(ranked)]
