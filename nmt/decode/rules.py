"""Rules of a beam search: which pieces may follow a hypothesis, and how hypotheses are chosen.

A new rule is a subclass of `Rule`, made in `make_rules`.

Shapes: N sentences in the batch, K hypotheses of each (1 at the first step), T pieces written so far, V target
vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from math import inf

import numpy as np
import torch
from torch import Tensor

from nmt.config import SearchConfig
from nmt.decode.byte_automaton import DEAD
from nmt.decode.hypothesis import AllConstraints
from nmt.decode.phrases import Automaton
from nmt.vocabulary import EOS


class Rule:
    """The hooks of a rule, in the order in which `Beams` calls them. By default they change nothing."""

    only_forbids = True  # whether `apply` only sets log-probabilities to -inf; if not, it gets a copy of them

    def apply(self, ruled_NKV: Tensor, own_NKV: Tensor, step: int) -> None:
        """Change, in place, the log-probabilities by which pieces are chosen; `own_NKV` are the model's."""

    def select(self, scores_NK: Tensor, ruled_NKV: Tensor, free_N: Tensor, best_NK: Tensor, places_NK: Tensor) -> None:
        """Change, in place, the chosen continuations: log-probabilities `best_NK`, places parent × V + piece.

        `scores_NK`: of the hypotheses that are continued; `free_N`: how many continuations will be kept.
        """

    def advance(self, parents_NK: Tensor, tokens_NK: Tensor) -> None:
        """Follow the chosen continuations: slot k continues hypothesis `parents_NK[n, k]` by a token."""

    def keep(self, index: Tensor) -> None:
        """Keep the sentences with these indices in the batch (int64, rising)."""


def make_rules(
    options: SearchConfig, limits: Sequence[int], constraints: AllConstraints, device: torch.device
) -> list[Rule]:
    """Return the rules in the order in which they apply: a later one wins over an earlier one. (What holds for every
    search stands in `Beams` itself: pieces that are never written, and the limits of lengths.)"""
    rules = list[Rule]()
    no_pieces_NKT = torch.empty(len(limits), 1, 0, dtype=torch.int64, device=device)
    if options.repetition_penalty > 1:
        rules.append(RepetitionPenalty(no_pieces_NKT, options.repetition_penalty))
    if options.no_repeat_ngram:
        rules.append(NoRepeatedNgrams(no_pieces_NKT, options.no_repeat_ngram))
    if any(c.phrases for c in constraints):
        rules.append(Phrases([c.phrases for c in constraints], limits))
    if any(c.prefix for c in constraints):
        rules.append(Prefixes(constraints, limits))
    return rules


@dataclass
class History(Rule):
    """A rule that needs all pieces of each hypothesis."""

    pieces_NKT: Tensor

    def advance(self, parents_NK: Tensor, tokens_NK: Tensor) -> None:
        length = self.pieces_NKT.size(2)
        past_NKT = self.pieces_NKT.gather(1, parents_NK[:, :, None].expand(-1, -1, length))
        self.pieces_NKT = torch.cat([past_NKT, tokens_NK[:, :, None]], dim=2)

    def keep(self, index: Tensor) -> None:
        self.pieces_NKT = self.pieces_NKT[index]


@dataclass
class NoRepeatedNgrams(History):
    """No sequence of n pieces occurs twice in a hypothesis."""

    n: int

    def apply(self, ruled_NKV: Tensor, own_NKV: Tensor, step: int) -> None:
        if step < self.n:
            return
        windows_NKTn = self.pieces_NKT.unfold(2, self.n, 1)
        # Where the last n − 1 pieces have occurred before, the piece that followed them then is forbidden now.
        same_NKT = (windows_NKTn[..., :-1] == self.pieces_NKT[:, :, None, step - self.n + 1 :]).all(3)
        banned_NKT = torch.zeros(same_NKT.shape, device=same_NKT.device).masked_fill_(same_NKT, -inf)
        ruled_NKV.scatter_add_(2, windows_NKTn[..., -1], banned_NKT)


@dataclass
class RepetitionPenalty(History):
    """Multiplies the log-probability of each piece that a hypothesis contains (Keskar et al. 2019, section 4.1)."""

    only_forbids = False
    factor: float

    def apply(self, ruled_NKV: Tensor, own_NKV: Tensor, step: int) -> None:
        ruled_NKV.scatter_(2, self.pieces_NKT, ruled_NKV.gather(2, self.pieces_NKT) * self.factor)


class Prefixes(Rule):
    """Each translation begins with the fixed pieces of its sentence's prefix, whatever earlier rules forbid, and then
    writes the rest of the prefix in any pieces; earlier rules may forbid those that write more than this rest."""

    only_forbids = False

    def __init__(self, constraints: AllConstraints, limits: Sequence[int]) -> None:
        self.fixed, self.words = [c.fixed for c in constraints], [c.word for c in constraints]
        # The most pieces that each sentence's whole prefix may take.
        self.deadlines = [limit - c.n_required for limit, c in zip(limits, constraints, strict=True)]
        self.states, self.step = [[0] for _ in constraints], 0

    def apply(self, ruled_NKV: Tensor, own_NKV: Tensor, step: int) -> None:
        self.step = step
        for n, (fixed, word) in enumerate(zip(self.fixed, self.words, strict=True)):
            if step < len(fixed):
                ruled_NKV[n] = -inf
                ruled_NKV[n, :, fixed[step]] = own_NKV[n, :, fixed[step]]
                continue
            for k, state in enumerate(self.states[n]):
                if word and state < word.end:
                    inside, beyond = word.pieces(state, self.deadlines[n] - step)
                    ruled_V = ruled_NKV[n, k, beyond]
                    ruled_NKV[n, k] = -inf
                    ruled_NKV[n, k, beyond], ruled_NKV[n, k, inside] = ruled_V, own_NKV[n, k, inside]

    def advance(self, parents_NK: Tensor, tokens_NK: Tensor) -> None:
        if not any(self.words):
            return
        for n, (parents, tokens) in enumerate(zip(parents_NK.tolist(), tokens_NK.tolist(), strict=True)):
            word, states = self.words[n], [self.states[n][parent] for parent in parents]
            if word and self.step >= len(self.fixed[n]):
                states = [word.after(state, token) for state, token in zip(states, tokens, strict=True)]
                if min(states) == word.end:
                    self.words[n] = None
            self.states[n] = states

    def keep(self, index: Tensor) -> None:
        kept = index.tolist()
        self.fixed, self.words = [self.fixed[n] for n in kept], [self.words[n] for n in kept]
        self.deadlines, self.states = [self.deadlines[n] for n in kept], [self.states[n] for n in kept]


class Phrases(Rule):
    """Required and forbidden phrases: each sentence has its own automaton, or None."""

    only_forbids = False

    def __init__(self, automata: Sequence[Automaton | None], limits: Sequence[int]) -> None:
        pairs = zip(automata, limits, strict=True)
        self.sentences = [SentencePhrases(automaton, limit) if automaton else None for automaton, limit in pairs]

    def apply(self, ruled_NKV: Tensor, own_NKV: Tensor, step: int) -> None:
        """Forbid the pieces that the automata forbid, and those after which the length limits allow no end.

        Forbidden phrases need that room too: if "house" is forbidden, "house" must still be continued to "houses".
        """
        # Sentences share automata, and hypotheses share states: each different row is sent to the device once.
        rows, numbers = [np.zeros(ruled_NKV.size(2), dtype=np.bool_)], dict[tuple[int, int, float], int]()
        rows_NK = [[0] * ruled_NKV.size(1) for _ in self.sentences]
        for n, sentence in ((n, sentence) for n, sentence in enumerate(self.sentences) if sentence):
            for k, state in enumerate(sentence.states):
                room = min(sentence.limit - step, sentence.automaton.distances_after(state)[1] + 1)
                key = id(sentence.automaton), state, room
                if key not in numbers:
                    numbers[key] = len(rows)
                    rows.append(sentence.automaton.forbidden(state, room))
                rows_NK[n][k] = numbers[key]
        index_NK = torch.tensor(rows_NK, device=ruled_NKV.device)
        forbidden_NKV = torch.from_numpy(np.stack(rows)).to(ruled_NKV.device)[index_NK]
        ruled_NKV.masked_fill_(forbidden_NKV, -inf)
        # Where the other rules forbid all pieces that are allowed here, ignore them.
        stuck_NK = ~ruled_NKV.isfinite().any(2) & (index_NK > 0)
        ruled_NKV[stuck_NK] = own_NKV[stuck_NK].masked_fill(forbidden_NKV[stuck_NK], -inf)

    def select(self, scores_NK: Tensor, ruled_NKV: Tensor, free_N: Tensor, best_NK: Tensor, places_NK: Tensor) -> None:
        for n, (sentence, free) in enumerate(zip(self.sentences, free_N.tolist(), strict=True)):
            if sentence and sentence.has_required:
                chosen = zip(places_NK[n].tolist(), best_NK[n].tolist(), strict=True)
                candidates = {place: total for place, total in chosen if total > -inf}
                candidates |= sentence.candidates(scores_NK[n], ruled_NKV[n])
                best_NK[n], places_NK[n] = -inf, 0
                for slot, (total, place) in enumerate(sentence.allocate(candidates, free, ruled_NKV.size(2))):
                    best_NK[n, slot], places_NK[n, slot] = total, place

    def advance(self, parents_NK: Tensor, tokens_NK: Tensor) -> None:
        for sentence, parents, tokens in zip(self.sentences, parents_NK.tolist(), tokens_NK.tolist(), strict=True):
            if sentence:
                steps = zip((sentence.states[parent] for parent in parents), tokens, strict=True)
                sentence.states = [int(sentence.automaton.row(state)[token]) for state, token in steps]

    def keep(self, index: Tensor) -> None:
        self.sentences = [self.sentences[n] for n in index.tolist()]


class SentencePhrases:
    """One sentence's automaton, and its state after each hypothesis (or DEAD)."""

    def __init__(self, automaton: Automaton, limit: int) -> None:
        self.automaton, self.limit, self.states = automaton, limit, [automaton.start]
        self.has_required = not automaton.may_end(automaton.start)

    def candidates(self, scores_K: Tensor, ruled_KV: Tensor) -> dict[int, float]:
        """Return the continuations that bring a hypothesis nearer to its required phrases: {place: total}."""
        candidates = dict[int, float]()
        for k, (score, state) in enumerate(zip(scores_K.tolist(), self.states, strict=True)):
            if score > -inf and state != DEAD and not self.automaton.may_end(state):
                pieces = self.automaton.advance(state)
                totals = (score + ruled_KV[k, torch.from_numpy(pieces).to(ruled_KV.device)]).tolist()
                candidates |= zip((k * ruled_KV.size(1) + pieces).tolist(), totals, strict=True)
        return candidates

    def allocate(self, candidates: dict[int, float], free: int, vocab_size: int) -> list[tuple[float, int]]:
        """Return at most `free` of the candidates as (total, place), best first.

        Dynamic beam allocation (Post and Vilar 2018, section 3): hypotheses that are equally far from an allowed end
        form a bank, the banks share the slots, and hypotheses compete only within their bank.
        """
        banks: dict[float, list[tuple[float, int]]] = {}
        for place, total in sorted(candidates.items(), key=lambda item: -item[1]):
            parent, piece = divmod(place, vocab_size)
            distance = 0.0 if piece == EOS else float(self.automaton.distances_after(self.states[parent])[0][piece])
            if total > -inf and distance < np.inf:  # a prefix can choose a piece that the automaton forbids
                banks.setdefault(distance, []).append((total, place))
        # Each round gives one slot to every bank, the bank nearest to an end first.
        rounds = zip_longest(*(banks[distance] for distance in sorted(banks)))
        return sorted([c for c in chain.from_iterable(rounds) if c is not None][:free], reverse=True)
