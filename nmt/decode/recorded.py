"""Whole steps of a search as CUDA graphs: what the model computes, and which hypotheses go on.

What `nmt.decode.beam.Beams` decides in Python is decided on the GPU:

    Beams                                  RecordedBeams
    sentences that are done leave          they stay, and are ignored
    the number of the step is Python's     it is a tensor
    a step looks whether a sentence ends   all steps compute what ends would change
    waits for the GPU in each step         waits in every fourth step

Shapes: N sentences, K beam size, F hypotheses returned, T target length, V target vocabulary, X several.
"""

from functools import partial
from math import inf

import torch
from torch import Tensor

from nmt.config import SearchConfig
from nmt.decode.beam import Beams, best_continuations
from nmt.decode.graphs import Buffers, RecordedCache, RecordedModel, Shape
from nmt.decode.hypothesis import AllConstraints, forbidden_ids, length_divisor
from nmt.model.contract import Decoder
from nmt.model.layers import apply
from nmt.vocabulary import BOS, EOS

CHECK = 4  # steps between two looks at whether all sentences are done


class RecordedBeams(Beams):
    """A search whose steps are recorded, if it follows no rules and its model is a `RecordedModel`."""

    def __init__(
        self, model: Decoder, src_BS: Tensor, src_mask_BS: Tensor, options: SearchConfig, constraints: AllConstraints
    ) -> None:
        super().__init__(model, src_BS, src_mask_BS, options, constraints)
        self.state: SearchState | None = None
        if isinstance(model, RecordedModel) and isinstance(self.cache, RecordedCache) and not self.rules:
            self.state = SearchState.of(model, self.cache.buffers, self.options)
            self.state.begin(self.limits_N, self.options.min_length)

    def cut(self) -> None:
        super().cut()
        if self.state:
            self.state.limits_N.clamp_(max=self.steps)

    def step(self) -> None:
        if not self.state:
            super().step()
            return
        assert isinstance(self.cache, RecordedCache)
        self.cache.length += 1
        self.steps += 1
        self.state.step(self.cache.shape)
        if (self.steps % CHECK == 0 or self.steps == self.places_TBK.size(0)) and not bool(self.state.alive_1):
            n = self.sentences_N.size(0)
            self.places_TBK, self.log_probs_TBK = self.state.places_TNK[:, :n], self.state.log_probs_TNK[:, :n]
            self.best_BF, self.ends_BF = self.state.best_NF[:n], self.state.ends_NF[:n]
            self.sentences_N = self.sentences_N[:0]


class SearchState:
    """What a search knows, as in `Beams`, for one batch at a time: on the device, and always in the same place."""

    def __init__(self, model: RecordedModel, buffers: Buffers, options: SearchConfig) -> None:
        (n, _, T), K, device = buffers.largest, buffers.width, buffers.slots_W.device
        self.model, self.buffers, self.n_best = model, buffers, options.n_best
        self.scores_NK = torch.zeros(n, K, device=device)
        self.free_N, self.limits_N = (torch.zeros(n, dtype=torch.int64, device=device) for _ in range(2))
        self.best_NF = torch.zeros(n, options.n_best, device=device)
        self.ends_NF = torch.zeros(n, options.n_best, dtype=torch.int64, device=device)
        self.places_TNK = torch.zeros(T, n, K, dtype=torch.int64, device=device)
        self.log_probs_TNK = torch.zeros(T, n, K, device=device)
        self.least_1 = torch.zeros(1, dtype=torch.int64, device=device)
        self.alive_1 = torch.zeros(1, dtype=torch.bool, device=device)
        """Whether any sentence goes on."""
        self.divisors_T = torch.tensor([length_divisor(length, options) for length in range(1, T + 2)], device=device)
        pieces_V = torch.arange(model.vocab_size, device=device)
        self.never_V = torch.isin(pieces_V, torch.tensor(forbidden_ids(options), device=device))
        self.not_eos_V = pieces_V != EOS

    @classmethod
    def of(cls, model: RecordedModel, buffers: Buffers, options: SearchConfig) -> "SearchState":
        kind = (options.n_best, options.length_penalty, options.length_norm, options.allow_unk)
        if kind not in buffers.searches:
            buffers.searches[kind] = cls(model, buffers, options)
        return buffers.searches[kind]

    def begin(self, limits_N: Tensor, least: int) -> None:
        """Begin a search in sentences with these limits, and this least number of pieces."""
        self.scores_NK.fill_(-inf)[: limits_N.size(0), 0] = 0.0  # at first, there is one hypothesis
        self.free_N.fill_(self.scores_NK.size(1))
        self.limits_N.zero_()[: limits_N.size(0)] = limits_N
        self.best_NF.fill_(-inf)
        self.ends_NF.zero_()
        self.least_1.fill_(least)
        self.buffers.tokens_NW.fill_(BOS)

    def step(self, shape: Shape) -> None:
        self.model.replay(self.buffers, shape, partial(self.compute, self.buffers, shape), kind=id(self))

    def compute(self, buffers: Buffers, shape: Shape) -> None:
        """What `Beams.step` computes, without rules."""
        n, (_, K), V = shape[0], self.scores_NK.shape, self.model.vocab_size
        scores_NK, limits_N, step_1 = self.scores_NK[:n], self.limits_N[:n], buffers.position_1
        states_RM = self.model.model.newest_states(buffers.tokens_NW[:n], buffers)
        own_NKV = apply(self.model.output, states_RM).float().view(n, K, V).log_softmax(-1)
        full_N1 = (limits_N == step_1)[:, None]  # what has reached its limit can only end
        own_NKV.masked_fill_(self.never_V | (full_N1[:, None] & self.not_eos_V), -inf)
        own_NKV[:, :, EOS].masked_fill_(~full_N1 & (step_1 < self.least_1), -inf)
        totals_NK, places_NK = best_continuations(scores_NK, own_NKV, K)
        self.places_TNK[:, :n].index_copy_(0, step_1, places_NK[None])
        self.log_probs_TNK[:, :n].index_copy_(0, step_1, own_NKV.flatten(1).gather(1, places_NK)[None])
        parents_NK, tokens_NK = places_NK // V, places_NK % V
        buffers.tokens_NW[:n] = tokens_NK
        if K > 1:
            past_NKL = buffers.past_NWL
            past_NKL.copy_(past_NKL.gather(1, parents_NK[:, :, None].expand(-1, -1, past_NKL.size(2))))
        totals_NK.masked_fill_(buffers.slots_W >= self.free_N[:n, None], -inf)
        ended_NK = tokens_NK == EOS
        worst_N = self.end(totals_NK.masked_fill(~ended_NK, -inf) / self.divisors_T[step_1])
        totals_NK.masked_fill_(ended_NK, -inf)
        live_N = totals_NK.amax(1) / self.divisors_T[limits_N] > worst_N  # False also of what is not a number
        scores_NK.copy_(totals_NK.masked_fill_(~live_N[:, None], -inf))
        self.alive_1.copy_(live_N.any())
        step_1 += 1

    def end(self, ended_NK: Tensor) -> Tensor:
        """Rank what has ended, by these scores (-inf: it has not), among the F best; return the score of the worst."""
        (n, K), buffers = ended_NK.shape, self.buffers
        self.free_N[:n] -= (ended_NK > -inf).sum(1)
        best_NF, index_NF = torch.cat([self.best_NF[:n], ended_NK], dim=1).topk(self.n_best)
        newest_NK = (buffers.position_1 * K + buffers.slots_W).expand(n, K)
        self.ends_NF[:n] = torch.cat([self.ends_NF[:n], newest_NK], dim=1).gather(1, index_NF)
        self.best_NF[:n] = best_NF
        return best_NF[:, -1]
