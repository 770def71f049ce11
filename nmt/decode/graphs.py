"""Decoding steps as CUDA graphs. A step is recorded once for each shape, and then replayed: what the model computes
and, in a beam search without rules, which hypotheses go on.

A step of a few sentences consists of hundreds of small kernels, and a GPU ends each one sooner than Python can start
the next. A replay starts all of them at once. It needs tensors that keep their shape and place in memory:

    plain cache                         recorded cache
    tensors of this batch's shape       parts of buffers that all batches share, one batch at a time
    L grows with each step              L is one of SIZES, and a mask hides what isn't filled yet
    sentences leave: N shrinks          N is one of SIZES; rows after the batch's sentences are computed and ignored

    Beams                               RecordedBeams
    sentences that are done leave       they stay, and are ignored
    the number of the step is Python's  it is a tensor
    looks whether a sentence ends       all steps compute what ends would change
    waits for the GPU in each step      waits in every fourth step

Shapes: N, W, K, L, S, D as in `nmt.model.cache`, N sentences of the batch; R rows (N × W), M model width; in
`SearchState` K beam size (W), F hypotheses returned, T target length, V target vocabulary.
Source: CUDA C++ Programming Guide, section CUDA Graphs; `torch.cuda.CUDAGraph`.
"""

import weakref
from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from math import inf
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from nmt.config import SearchConfig
from nmt.decode.beam import Beams, best_continuations
from nmt.decode.hypothesis import AllConstraints, forbidden_ids, length_divisor
from nmt.decode.sampling import MAX_SLOTS
from nmt.model.cache import MASKED, Cache, DecoderCache, KeysValues, views
from nmt.model.contract import Decoder, GenerativeModel
from nmt.model.device import record, try_to
from nmt.model.encoder_decoder import EncoderDecoder
from nmt.model.layers import apply
from nmt.vocabulary import BOS, EOS

CHECK = 4  # steps of a search between two looks at whether all sentences are done
# Sizes of N, of S, and of L in positions: few, so that few graphs are recorded, and near, so that little is in vain.
SIZES = sorted({n << i for n in (2, 3) for i in range(14)} | {1})
LEAST_LENGTH = 16
Shape = tuple[int, int, int]
"""N, S, and L in positions."""


def rounded(size: int, least: int = 1) -> int:
    """The next larger one of SIZES."""
    return SIZES[bisect_left(SIZES, max(size, least))]


def record_models(models: Sequence[GenerativeModel]) -> "tuple[RecordedModel, ...]":
    """The models with recorded steps, if all of them are encoder–decoders, and a GPU computes."""
    possible = [model for model in models if isinstance(model, EncoderDecoder) and model.device.type == "cuda"]
    return tuple(map(RecordedModel, possible)) if len(possible) == len(models) else ()


class Buffers(DecoderCache):
    """The memory of one batch at a time: a cache whose steps can be recorded, and what was recorded. All numbers that
    change from step to step are on the device."""

    def __init__(self, like: DecoderCache, shape: Shape) -> None:
        """`like`: a cache with the width, the layers and the types that this one gets; `shape`: its largest shape."""
        n, n_source, length = self.largest = shape
        distinct: dict[int, Tensor] = {}  # layers of one block share the keys and values of the source
        for source in like.source_2NKSD:
            two, _, K, _, D = source.shape
            distinct.setdefault(id(source), source.new_zeros(two, n, K, n_source, D))
        sources = [distinct[id(source)] for source in like.source_2NKSD]
        mask_N11S = sources[0].new_zeros(n, 1, 1, n_source)
        super().__init__(length, like.width, sources, source_mask_N11S=mask_N11S)
        for target_2NKLD in self.target_2NKLD:
            target_2NKLD.zero_()  # a weight of zero hides no value that isn't a number
        self.whole = (self.source_2NKSD, mask_N11S, self.target_2NKLD, self.past_NWL)
        device, self.rows = mask_N11S.device, self.width
        self.tokens_NW = torch.zeros(n, self.width, dtype=torch.int64, device=device)
        self.position_1 = torch.zeros(1, dtype=torch.int64, device=device)
        self.slots_W = torch.arange(self.width, device=device)
        self.states_RM: Tensor | None = None
        self.steps: dict[Hashable, Callable[[], None]] = {}
        """What computes a step of each kind and shape again."""
        self.searches: dict[Hashable, Any] = {}
        """By their settings, the states of searches whose steps are recorded as a whole."""
        self.tables: list[Tensor] = []
        """Tables of positions that the steps read. Kept here, they stay in memory if the model takes longer ones."""
        self.user: weakref.ref[RecordedCache] | None = None
        """The batch that has the buffers now."""
        self.pool: Any = torch.cuda.graph_pool_handle() if device.type == "cuda" else None
        """The memory of what steps compute in between. The steps share it, since they run one after another."""

    def fill(self, cache: DecoderCache) -> None:
        """Begin with the sources of a batch."""
        sources, mask_N11S, _, past_NWL = self.whole
        n, n_source = cache.past_NWL.size(0), cache.source_2NKSD[0].size(3)
        for whole, source in zip(sources, cache.source_2NKSD, strict=True):
            whole[:, :n, :, :n_source] = source
        mask_N11S.fill_(MASKED)
        mask_N11S[:n, :, :, :n_source] = 0.0 if cache.source_mask_N11S is None else cache.source_mask_N11S
        past_NWL.fill_(MASKED)
        self.position_1.zero_()

    def look(self, shape: Shape) -> None:
        """Take parts of this shape of all tensors."""
        n, n_source, length = shape
        sources, mask_N11S, targets, past_NWL = self.whole
        self.filled = length * self.width
        self.source = views([source[:, :n, :, :n_source] for source in sources])
        self.source_mask_N11S = mask_N11S[:n, :, :, :n_source]
        self.target_2NKLD = [target[:, :n, :, : self.filled] for target in targets]
        self.target = views(self.target_2NKLD)
        self.past_NWL = past_NWL[:n, :, : self.filled]

    def grow(self, rows: int) -> None:
        n, W = self.past_NWL.size(0), self.width
        self.new_W = self.position_1 * W + self.slots_W
        self.past_NWL.scatter_(2, self.new_W[None, :, None].expand(n, W, 1), 0.0)
        self.past_N1WL = self.past_NWL[:, None]
        self.place = self.position_1.expand(n * W)

    def append(self, layer: int, kv_2NKWD: Tensor) -> KeysValues:
        self.target_2NKLD[layer].index_copy_(3, self.new_W, kv_2NKWD)
        return self.target[layer]

    def move(self, sentences: Tensor, shape: Shape) -> None:
        """Move the sentences with these numbers (int64, ascending) to the front, of tensors of this shape."""
        self.look(shape)
        sources, mask_N11S, _, past_NWL = self.whole
        n, used = sentences.size(0), {id(source): source[:, :, :, : shape[1]] for source in sources}
        for tensor in (*used.values(), *self.target_2NKLD):
            tensor[:, :n] = tensor.index_select(1, sentences)
        for tensor in (mask_N11S, past_NWL):
            tensor[:n] = tensor.index_select(0, sentences)


class RecordedCache:
    """The batch that uses the buffers now: a `Cache` with its own number of sentences."""

    def __init__(self, buffers: Buffers, n_sentences: int, n_source: int) -> None:
        self.buffers, self.n_sentences, self.n_source, self.length = buffers, n_sentences, n_source, 0

    @property
    def shape(self) -> Shape:
        n, n_source, length = self.buffers.largest
        source = min(rounded(self.n_source, LEAST_LENGTH), n_source)
        return min(rounded(self.n_sentences), n), source, min(rounded(self.length, LEAST_LENGTH), length)

    def reorder(self, parents_NW: Tensor) -> None:
        if self.buffers.width > 1:
            past_NWL = self.buffers.whole[3][: self.n_sentences, :, : self.shape[2] * self.buffers.width]
            past_NWL.copy_(past_NWL.gather(1, parents_NW[:, :, None].expand(-1, -1, past_NWL.size(2))))

    def keep(self, sentences: Tensor) -> None:
        self.buffers.move(sentences, self.shape)
        self.n_sentences = sentences.size(0)


class RecordedModel:
    """A `Decoder` that computes what `model` does, with steps that are recorded where that is possible."""

    def __init__(self, model: EncoderDecoder) -> None:
        self.model, self.vocab_size = model, model.vocab_size
        self.longest_source, self.longest_target = model.longest_source, model.longest_target
        self.buffers: dict[int, Buffers] = {}
        """By width."""
        # Without a GPU, each step is computed again.
        self.record: Callable[..., Callable[[], None]] | None = record if model.device.type == "cuda" else None
        self.lock = Lock()

    def start(
        self, src_BS: Tensor, src_mask_BS: Tensor, max_length: int, width: int = 1, *, separate: bool = False
    ) -> Cache:
        cache = self.model.start(src_BS, src_mask_BS, max_length, width, separate=separate)
        if separate:
            return cache
        (n, n_source), least = src_BS.shape, LEAST_LENGTH
        with self.lock:
            found = self.buffers.get(width)
            if found and found.user and found.user():
                return cache  # another thread uses the buffers
            held = found.largest if found else (0, 0, 0)
            needed = rounded(n), rounded(n_source, least), rounded(max_length, least)
            shape = max(held[0], needed[0]), max(held[1], needed[1]), max(held[2], needed[2])
            if shape[0] * width * max(shape[1:]) > MAX_SLOTS:
                return cache  # buffers for all sizes so far would take too much memory
            if not found or shape != held:
                self.model.reserve(shape[2])
                found = self.buffers[width] = Buffers(cache, shape)
            recorded = RecordedCache(found, n, n_source)
            found.user = weakref.ref(recorded)
        found.fill(cache)
        return recorded

    def step(self, tokens_NW: Tensor, cache: Cache) -> Tensor:
        if not isinstance(cache, RecordedCache):
            return self.model.step(tokens_NW, cache)
        cache.length += 1
        (n, rows), buffers, shape = tokens_NW.shape, cache.buffers, cache.shape
        buffers.tokens_NW[:n] = tokens_NW  # one row stands for all
        self.replay(buffers, shape, partial(self.compute, buffers, shape))
        assert buffers.states_RM is not None
        states_NWM = buffers.states_RM.view(-1, buffers.width, buffers.states_RM.size(1))[:n, :rows]
        return apply(self.model.output, states_NWM.flatten(0, 1)).float().view(n, rows, -1)

    def replay(self, buffers: Buffers, shape: Shape, compute: Callable[[], None], kind: Hashable = None) -> None:
        """Compute a step, and record it if it is the first one of its kind and shape."""
        if known := buffers.steps.get((kind, shape)):
            known()
            return
        buffers.look(shape)
        compute()  # the first time, libraries prepare what can't be recorded
        if self.record is not None:
            step = try_to(self.record, compute, buffers.pool)
            if step is None:
                self.record = None
                return
            buffers.steps[kind, shape] = step
            buffers.tables += [table for name, table in self.model.named_buffers() if name.endswith("table")]

    def compute(self, buffers: Buffers, shape: Shape) -> None:
        states_RM = self.model.newest_states(buffers.tokens_NW[: shape[0]], buffers)
        if buffers.states_RM is None:
            n, width = buffers.tokens_NW.shape
            buffers.states_RM = states_RM.new_zeros(n * width, states_RM.size(1))
        buffers.states_RM[: states_RM.size(0)] = states_RM
        buffers.position_1 += 1


class RecordedBeams(Beams):
    """A search whose steps are recorded, if it follows no rules and its model is a `RecordedModel`."""

    def __init__(
        self, model: Decoder, src_BS: Tensor, src_mask_BS: Tensor, options: SearchConfig, constraints: AllConstraints
    ) -> None:
        super().__init__(model, src_BS, src_mask_BS, options, constraints)
        self.state: SearchState | None = None
        if isinstance(model, RecordedModel) and isinstance(self.cache, RecordedCache) and not self.rules:
            buffers = self.cache.buffers
            kind = (options.n_best, options.length_penalty, options.length_norm, options.allow_unk)
            if kind not in buffers.searches:
                buffers.searches[kind] = SearchState(model, buffers, options)
            self.state = buffers.searches[kind]
            self.state.begin(self.limits_N, options.min_length)

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
        compute = partial(self.state.compute, self.cache.buffers, self.cache.shape)
        self.state.model.replay(self.cache.buffers, self.cache.shape, compute, kind=id(self.state))
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

    def begin(self, limits_N: Tensor, least: int) -> None:
        """Begin a search in sentences with these limits, and this least number of pieces."""
        self.scores_NK.fill_(-inf)[: limits_N.size(0), 0] = 0.0  # at first, there is one hypothesis
        self.free_N.fill_(self.scores_NK.size(1))
        self.limits_N.zero_()[: limits_N.size(0)] = limits_N
        self.best_NF.fill_(-inf)
        self.ends_NF.zero_()
        self.least_1.fill_(least)
        self.buffers.tokens_NW.fill_(BOS)

    def compute(self, buffers: Buffers, shape: Shape) -> None:
        """What `Beams.step` computes, without rules."""
        n, (_, K), V = shape[0], self.scores_NK.shape, self.model.vocab_size
        scores_NK, limits_N, step_1 = self.scores_NK[:n], self.limits_N[:n], buffers.position_1
        states_RM = self.model.model.newest_states(buffers.tokens_NW[:n], buffers)
        own_NKV = apply(self.model.model.output, states_RM).float().view(n, K, V).log_softmax(-1)
        full_N1 = (limits_N == step_1)[:, None]  # what has reached its limit can only end
        own_NKV.masked_fill_(self.never_V | (full_N1[:, None] & self.not_eos_V), -inf)
        own_NKV[:, :, EOS].masked_fill_(~full_N1 & (step_1 < self.least_1), -inf)
        totals_NK, places_NK = best_continuations(scores_NK, own_NKV, K)
        self.places_TNK[:, :n].index_copy_(0, step_1, places_NK[None])
        self.log_probs_TNK[:, :n].index_copy_(0, step_1, own_NKV.flatten(1).gather(1, places_NK)[None])
        parents_NK, tokens_NK = places_NK // V, places_NK % V
        buffers.tokens_NW[:n] = tokens_NK
        buffers.reorder(parents_NK)
        totals_NK.masked_fill_(buffers.slots_W >= self.free_N[:n, None], -inf)
        ended_NK = tokens_NK == EOS
        worst_N = self.end(totals_NK.masked_fill(~ended_NK, -inf) / self.divisors_T[step_1], buffers)
        totals_NK.masked_fill_(ended_NK, -inf)
        live_N = totals_NK.amax(1) / self.divisors_T[limits_N] > worst_N  # False also of what is not a number
        scores_NK.copy_(totals_NK.masked_fill_(~live_N[:, None], -inf))
        self.alive_1.copy_(live_N.any())
        step_1 += 1

    def end(self, ended_NK: Tensor, buffers: Buffers) -> Tensor:
        """Rank what has ended, by these scores (-inf: it has not), among the F best; return the score of the worst."""
        n, K = ended_NK.shape
        self.free_N[:n] -= (ended_NK > -inf).sum(1)
        best_NF, index_NF = torch.cat([self.best_NF[:n], ended_NK], dim=1).topk(self.n_best)
        newest_NK = (buffers.position_1 * K + buffers.slots_W).expand(n, K)
        self.ends_NF[:n] = torch.cat([self.ends_NF[:n], newest_NK], dim=1).gather(1, index_NF)
        self.best_NF[:n] = best_NF
        return best_NF[:, -1]
