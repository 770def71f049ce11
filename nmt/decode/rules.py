"""Rules of a beam search: what may follow, or should. Each keeps what it needs of the hypotheses' past.

Shapes: N sentences, K hypotheses of each, T pieces written so far, P length of the longest prefix, S source length, V
target vocabulary.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from nmt.decode.hypothesis import FORBIDDEN, most_distance
from nmt.decode.phrases import Automaton
from nmt.vocabulary import EOS

NEVER = -math.inf
# Least attention of a source position that the coverage penalty sees: the logarithm of 0 would end all ranking.
LEAST_COVERAGE = 1e-6


class Rule:
    """A rule with nothing to say and nothing to remember."""

    alters = False
    """Whether `apply` reads the model's own log-probabilities after others have changed them, or changes numbers."""

    def apply(self, ruled_NKV: Tensor, own_NKV: Tensor, step: int) -> None:
        """Change, in place, the log-probabilities that pieces are chosen by. Unless some rule alters, both are one."""

    def follow(self, parents_NK: Tensor, tokens_NK: Tensor) -> None:
        """Each hypothesis goes on from one of its sentence's, by a piece."""

    def keep(self, staying: Tensor) -> None:
        """Sentences with other numbers leave the batch."""


class Never(Rule):
    """Control pieces are no text; and no translation ends before `min_length` pieces."""

    def __init__(self, min_length: int, device: torch.device) -> None:
        self.min_length, self.forbidden = min_length, torch.tensor(FORBIDDEN, device=device)
        self.forbidden_early = torch.tensor([*FORBIDDEN, EOS], device=device)

    def apply(self, ruled_NKV: Tensor, own_NKV: Tensor, step: int) -> None:
        ruled_NKV.index_fill_(2, self.forbidden if step >= self.min_length else self.forbidden_early, NEVER)


class LongestLength(Rule):
    """Hypotheses as long as their sentence allows can only end."""

    def __init__(self, limits: Sequence[int], device: torch.device) -> None:
        self.limits, self.limits_N = set(limits), torch.tensor(limits, device=device)

    def apply(self, ruled_NKV: Tensor, own_NKV: Tensor, step: int) -> None:
        if step in self.limits:
            full_N = self.limits_N == step
            eos_NK = ruled_NKV[full_N, :, EOS]
            ruled_NKV[full_N] = NEVER
            ruled_NKV[full_N, :, EOS] = eos_NK

    def keep(self, staying: Tensor) -> None:
        self.limits_N = self.limits_N[staying]


class History(Rule):
    """A rule that looks at all pieces so far."""

    def __init__(self, n_sentences: int, beam_size: int, device: torch.device) -> None:
        self.pieces_NKT = torch.empty(n_sentences, beam_size, 0, dtype=torch.int64, device=device)

    def follow(self, parents_NK: Tensor, tokens_NK: Tensor) -> None:
        length = self.pieces_NKT.size(2)
        past_NKT = self.pieces_NKT.gather(1, parents_NK[:, :, None].expand(-1, -1, length))
        self.pieces_NKT = torch.cat([past_NKT, tokens_NK[:, :, None]], dim=2)

    def keep(self, staying: Tensor) -> None:
        self.pieces_NKT = self.pieces_NKT[staying]


class NoRepeatedNgrams(History):
    """No sequence of n pieces comes twice in a hypothesis."""

    def __init__(self, n: int, n_sentences: int, beam_size: int, device: torch.device) -> None:
        super().__init__(n_sentences, beam_size, device)
        self.n = n

    def apply(self, ruled_NKV: Tensor, own_NKV: Tensor, step: int) -> None:
        if step < self.n:
            return
        windows_NKTn = self.pieces_NKT.unfold(2, self.n, 1)
        # Where the last n − 1 pieces stood before, what followed them then must not follow now.
        same_NKT = (windows_NKTn[..., :-1] == self.pieces_NKT[:, :, None, step - self.n + 1 :]).all(3)
        banned_NKT = torch.zeros(same_NKT.shape, device=same_NKT.device).masked_fill_(same_NKT, NEVER)
        ruled_NKV.scatter_add_(2, windows_NKTn[..., -1], banned_NKT)


class RepetitionPenalty(History):
    """The log-probability of every piece that a hypothesis has is multiplied (Keskar et al. 2019, section 4.1)."""

    alters = True

    def __init__(self, factor: float, n_sentences: int, beam_size: int, device: torch.device) -> None:
        super().__init__(n_sentences, beam_size, device)
        self.factor = factor

    def apply(self, ruled_NKV: Tensor, own_NKV: Tensor, step: int) -> None:
        ruled_NKV.scatter_(2, self.pieces_NKT, ruled_NKV.gather(2, self.pieces_NKT) * self.factor)


class Prefix(Rule):
    """A translation begins with given pieces, whatever other rules say; or, below a bias of 1, leans to them."""

    alters = True

    def __init__(self, prefixes: Sequence[Sequence[int]], bias: float, beam_size: int, device: torch.device) -> None:
        longest = max(map(len, prefixes))
        self.pieces_NP = torch.tensor([[*prefix, *[0] * (longest - len(prefix))] for prefix in prefixes], device=device)
        self.lengths_N = torch.tensor([len(prefix) for prefix in prefixes], device=device)
        self.bias = bias
        self.faithful_NK = torch.ones(len(prefixes), beam_size, dtype=torch.bool, device=device)
        """The hypotheses that have followed the prefix so far."""
        self.step = 0

    def apply(self, ruled_NKV: Tensor, own_NKV: Tensor, step: int) -> None:
        self.step = step
        if step >= self.pieces_NP.size(1):
            return
        n, k = (self.faithful_NK & (self.lengths_N > step)[:, None]).nonzero(as_tuple=True)
        piece_X1 = self.pieces_NP[n, step][:, None]
        if self.bias == 1:
            rows_XV = torch.full((n.size(0), ruled_NKV.size(2)), NEVER, device=ruled_NKV.device)
            ruled_NKV[n, k] = rows_XV.scatter_(1, piece_X1, own_NKV[n, k].gather(1, piece_X1))
        else:  # (1 − bias) × probability, + bias for the piece (Arivazhagan et al. 2020, equation 2)
            rows_XV = ruled_NKV[n, k] + math.log1p(-self.bias)
            piece = torch.logaddexp(rows_XV.gather(1, piece_X1), rows_XV.new_tensor(math.log(self.bias)))
            ruled_NKV[n, k] = rows_XV.scatter_(1, piece_X1, piece)

    def follow(self, parents_NK: Tensor, tokens_NK: Tensor) -> None:
        self.faithful_NK = self.faithful_NK.gather(1, parents_NK)
        if self.step < self.pieces_NP.size(1):
            beyond_N1 = (self.lengths_N <= self.step)[:, None]
            self.faithful_NK &= beyond_N1 | (tokens_NK == self.pieces_NP[:, self.step, None])

    def keep(self, staying: Tensor) -> None:
        self.pieces_NP, self.lengths_N = self.pieces_NP[staying], self.lengths_N[staying]
        self.faithful_NK = self.faithful_NK[staying]


class Phrases(Rule):
    """Phrases that must occur and phrases that must not, as automata say; a sentence has its own, or None."""

    alters = True

    def __init__(
        self, automata: Sequence[Automaton | None], limits: Sequence[int], beam_size: int, device: torch.device
    ) -> None:
        self.automata, self.limits = list(automata), list(limits)
        self.states_NK = torch.tensor([[a.start if a else 0] * beam_size for a in automata], device=device)

    def apply(self, ruled_NKV: Tensor, own_NKV: Tensor, step: int) -> None:
        for n, automaton in enumerate(self.automata):
            if automaton:
                for k, state in enumerate(self.states_NK[n].tolist()):
                    self.restrict(automaton, state, self.limits[n] - step, ruled_NKV[n, k], own_NKV[n, k])

    def restrict(self, automaton: Automaton, state: int, room: int, ruled_V: Tensor, own_V: Tensor) -> None:
        """Forbid what the automaton forbids, and what would leave too little room for phrases that are missing."""
        row_V = automaton.row(state)
        allowed_V = row_V >= 0
        if room <= most_distance(automaton):
            reached, place_V = np.unique(row_V, return_inverse=True)
            in_time = np.array([state >= 0 and automaton.distance(state) < room for state in reached.tolist()])
            allowed_V &= in_time[place_V]
        allowed_V[EOS] = automaton.may_end(state)
        ruled_V.copy_(torch.where(torch.from_numpy(allowed_V).to(own_V.device), ruled_V, NEVER))
        if not bool(ruled_V.isfinite().any()):  # other rules forbid all that is left
            ruled_V.copy_(torch.where(torch.from_numpy(allowed_V).to(own_V.device), own_V, NEVER))

    def choose(
        self, scores_NK: Tensor, ruled_NKV: Tensor, free_N: Tensor, best_NK: Tensor, place_NK: Tensor, width: int
    ) -> None:
        """In sentences with phrases to bring, share the slots out among hypotheses that have as much of them.

        Dynamic beam allocation (Post and Vilar 2018, section 3): besides the best continuations, which are given, those
        that go on with a phrase are candidates; and hypotheses that lack as many pieces compete with one another only.
        """
        for n, (automaton, free) in enumerate(zip(self.automata, free_N.tolist(), strict=True)):
            if automaton and not automaton.may_end(automaton.start):
                states = self.states_NK[n].tolist()
                found = {place: total for total, place in zip(best_NK[n].tolist(), place_NK[n].tolist(), strict=True)}
                for k, score in enumerate(scores_NK[n].tolist()):
                    if score > NEVER and not automaton.may_end(states[k]):
                        pieces = automaton.advance(states[k])
                        totals = (score + ruled_NKV[n, k, torch.from_numpy(pieces).to(ruled_NKV.device)]).tolist()
                        found |= {k * width + int(piece): total for piece, total in zip(pieces, totals, strict=True)}
                chosen = self.allocate(automaton, states, found, free, width)
                best_NK[n], place_NK[n] = NEVER, 0
                for slot, (total, place) in enumerate(chosen):
                    best_NK[n, slot], place_NK[n, slot] = total, place

    def allocate(
        self, automaton: Automaton, states: list[int], found: dict[int, float], free: int, width: int
    ) -> list[tuple[float, int]]:
        """At most `free` of the candidates, as (score, place)."""
        banks: dict[int, list[tuple[float, int]]] = {}
        for place, total in sorted(found.items(), key=lambda item: -item[1]):
            if total == NEVER:
                break
            parent, piece = divmod(place, width)
            state = states[parent] if piece == EOS else int(automaton.row(states[parent])[piece])
            banks.setdefault(automaton.distance(state), []).append((total, place))
        chosen: list[tuple[float, int]] = []
        # A round gives each bank one slot, the fullest first; banks with too few candidates leave theirs to the others.
        while len(chosen) < free and any(banks.values()):
            for missing in sorted(banks):
                if banks[missing] and len(chosen) < free:
                    chosen.append(banks[missing].pop(0))
        return sorted(chosen, reverse=True)

    def follow(self, parents_NK: Tensor, tokens_NK: Tensor) -> None:
        self.states_NK = self.states_NK.gather(1, parents_NK)
        for n, automaton in enumerate(self.automata):
            if automaton:
                next_states = [
                    int(automaton.row(state)[piece])
                    for state, piece in zip(self.states_NK[n].tolist(), tokens_NK[n].tolist(), strict=True)
                ]
                # Past its end, or in a slot without a hypothesis, any state will do.
                self.states_NK[n] = torch.tensor([max(state, 0) for state in next_states])

    def keep(self, staying: Tensor) -> None:
        self.states_NK = self.states_NK[staying]
        self.automata = [self.automata[n] for n in staying.tolist()]
        self.limits = [self.limits[n] for n in staying.tolist()]


class Coverage(Rule):
    """How much of the source each hypothesis has looked at (Wu et al. 2016, equation 14)."""

    def __init__(self, weight: float, src_mask_BS: Tensor, beam_size: int) -> None:
        self.weight, self.mask_NS = weight, src_mask_BS
        self.seen_NKS = torch.zeros(src_mask_BS.size(0), beam_size, src_mask_BS.size(1), device=src_mask_BS.device)

    def look(self, cross_weights: list[Tensor]) -> None:
        """Add a step's attention, (N, H, K, S) of each block: the mean of all heads."""
        self.seen_NKS = self.seen_NKS + torch.stack([weights.mean(1) for weights in cross_weights]).mean(0)

    def penalty(self) -> Tensor:
        """What the scores (N, K) of hypotheses that end lose: a number from 0 down."""
        covered_NKS = self.seen_NKS.clamp(LEAST_COVERAGE, 1.0).log()
        return self.weight * (covered_NKS * self.mask_NS[:, None]).sum(2)

    def follow(self, parents_NK: Tensor, tokens_NK: Tensor) -> None:
        self.seen_NKS = self.seen_NKS.gather(1, parents_NK[:, :, None].expand(-1, -1, self.seen_NKS.size(2)))

    def keep(self, staying: Tensor) -> None:
        self.seen_NKS, self.mask_NS = self.seen_NKS[staying], self.mask_NS[staying]
