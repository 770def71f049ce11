"""The engine of CTranslate2, which runs a translator that was exported for it.

CTranslate2 searches by itself, nearly as `nmt.decode.beam` does. Pieces that must not be written are left out before
the probabilities are computed, not after it; so a hypothesis has its exact log-probabilities, as `force_score` computes
them, only when they are asked for.

Shapes: T target pieces, S source pieces, both without EOS.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import count
from time import monotonic, perf_counter
from typing import Any

import torch
from torch import Tensor

from nmt.config import ModelConfig, SearchConfig
from nmt.decode.engine import IdPair, Ids
from nmt.decode.hypothesis import (
    BAD_LOGITS,
    NO_CONSTRAINTS,
    UNSEARCHED,
    AllConstraints,
    Hypothesis,
    forbidden_ids,
    length_divisor,
    longest_output,
)
from nmt.decode.stop import Late, Stop
from nmt.fields import require
from nmt.model.positions import SINUSOIDAL

POSITIONS = 4096  # rows of the tables of sinusoidal positions, which CTranslate2 can't make longer
POLL = 0.02  # seconds between two looks whether a call that may be stopped is still wanted
WAITING = 64  # calls that may be stopped, at once
# A beam search ends when so many finished hypotheses for each slot of the beam are found. With the library's default,
# 1, 92% of the translations are those of `nmt.decode.beam`, and BLEU is 0.4 lower (val of Multi30k); with this, 99%.
PATIENCE = 1.5
CALL = 0.5  # seconds that a call of the library may take if it may be stopped: it can't be ended
SCORED = 32  # translations that are scored together: the logits of all of their positions take memory
UNKNOWN = "CTranslate2 runs this model, which can't tell the probabilities of all pieces"
UNABLE = {  # settings of a search that CTranslate2 can't do as nmt does, and their values that change nothing
    "length_norm": "average",
    "repetition_penalty": 1.0,
    "samples": 0,
}
# Settings whose searches it does as `nmt.decode.beam` does, with these values.
PLAIN = UNABLE | {"n_best": 1, "allow_unk": False}


def longest_sequence(config: ModelConfig) -> int | None:
    """The longest sequence that the exported model can read; None: no limit."""
    limits = dict.fromkeys(SINUSOIDAL, POSITIONS) | {"learned": config.max_positions}
    return limits.get(config.positions)


class LaterLogProbs(Sequence[float]):
    """The log-probabilities of a hypothesis, computed for all of its batch when they are first asked for."""

    def __init__(self, all_of_batch: Callable[[], list[list[float]]], number: int, length: int) -> None:
        self.all_of_batch, self.number, self.length = all_of_batch, number, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, place: Any) -> Any:
        return self.all_of_batch()[self.number][place]

    def __reduce__(self) -> Any:
        return list, ([*self],)  # a copy, or what is sent to another process, is the list: an engine can't be copied


@dataclass
class Pace:
    """How much an engine searches in `CALL` seconds, learned as it goes: what bounds a call of the library."""

    most: float = 3200.0  # source pieces × hypotheses of a call; at first what a slow machine does

    def parts(self, sources: Sequence[Ids], beam_size: int, deadline: float) -> Iterator[slice]:
        """Parts of a batch that take about `CALL` seconds each, less where the deadline is near, or have one sentence.
        The time until the next part is asked for counts as that of the part."""
        cost, first = beam_size * (max(map(len, sources), default=0) + 10), 0
        while first < len(sources):
            size, started = max(1, int(self.most / cost)), perf_counter()
            fitting = max(1, int(size * min(1.0, (deadline - monotonic()) / CALL)))
            part = slice(first, min(first + fitting, len(sources)))
            yield part
            first, share = part.stop, CALL / max(perf_counter() - started, 1e-9)
            # What was smaller than it might have been tells only if it was still too slow.
            if share < 1 or part.stop - part.start == size:
                self.most = cost * (part.stop - part.start) * min(share, 2)


@dataclass(frozen=True)
class CTranslate2Engine:
    """An `Engine` of a `ctranslate2.Translator`."""

    translator: Any
    source: Sequence[str]
    """The names of the pieces of the source, in the order of their ids."""
    target: Sequence[str]
    number: Mapping[str, int]
    """The id of each piece of the target."""
    positions: int | None
    """The longest sequence that it can read; None: no limit."""
    before: tuple[Ids, Ids] = ((), ())
    """Pieces before each source, and each target."""

    pace: Pace = field(default_factory=Pace, compare=False)
    waiters: ThreadPoolExecutor = field(default_factory=partial(ThreadPoolExecutor, WAITING, "call"), compare=False)

    models, shortlist, takes_phrases, leaves_python = (), None, False, True

    @property
    def device(self) -> torch.device:
        return torch.device(self.translator.device)

    @property
    def precision(self) -> str:
        return str(self.translator.compute_type)

    def begun(self, source: Ids, target: Ids) -> "CTranslate2Engine":
        return replace(self, before=(source, target))

    @property
    def longest_source(self) -> int | None:
        return None if self.positions is None else self.positions - 1 - len(self.before[0])

    def longest_target(self, n_source: int) -> int | None:
        return None if self.positions is None else self.positions - 1 - len(self.before[1])

    def names(self, side: int, ids: Ids) -> list[str]:
        """The names of a source's (side 0) or target's pieces, with those before them."""
        return [(self.source, self.target)[side][i] for i in (*self.before[side], *ids)]

    def check(self, search: SearchConfig) -> None:
        for name, value in UNABLE.items():
            given = getattr(search, name)
            require(given == value, f"search.{name} is {given}, and CTranslate2 can't do that: take {value}")

    def is_plain(self, sources: Sequence[Ids], options: SearchConfig, starts: AllConstraints = ()) -> bool:
        """Whether it searches, with no constraints but the prefixes in `starts`, as `nmt.decode.beam` does: nearly
        always with the same result."""
        longest = max(map(len, sources), default=0) + max((len(start.prefix) for start in starts), default=0)
        lengths, most = (longest, longest_output(longest, options, None)), (self.longest_source, self.longest_target(0))
        fits = all(room is None or length <= room for length, room in zip(lengths, most, strict=True))
        return fits and all(getattr(options, name) == value for name, value in PLAIN.items())

    def search(
        self, sources: Sequence[Ids], options: SearchConfig, constraints: AllConstraints = (), stop: Stop | None = None
    ) -> list[list[Hypothesis]]:
        constraints = constraints or [NO_CONSTRAINTS] * len(sources)
        parts = self.pace.parts(sources, options.beam_size, stop.deadline) if stop else (slice(None),)
        found = list[list[Hypothesis]]()
        with suppress(Late):
            for part in parts:
                found += self.search_part(sources[part], options, constraints[part], stop)
        return found + [[UNSEARCHED] for _ in sources[len(found) :]]

    def search_part(
        self, sources: Sequence[Ids], options: SearchConfig, constraints: AllConstraints, stop: Stop | None
    ) -> list[list[Hypothesis]]:
        """`search`, in one call of the library if no sentence goes beyond its limit."""
        limits = [
            longest_output(len(source), options, self.longest_target(len(source)), compiled)
            for source, compiled in zip(sources, constraints, strict=True)
        ]
        found = self.find(sources, options, constraints, max(limits), stop)
        # The library has one limit for a batch. The few sentences that go beyond their own limit are searched again.
        for n, limit in enumerate(limits):
            if limit < max((len(ids) for ids, _ in found[n]), default=0):
                found[n] = self.find(sources[n : n + 1], options, constraints[n : n + 1], limit, stop)[0]
        require(all(math.isfinite(score) for n_best in found for _, score in n_best), BAD_LOGITS)
        pairs = [(source, ids) for source, n_best in zip(sources, found, strict=True) for ids, _ in n_best]
        numbers, exact = count(), cache(lambda: self.score(pairs))
        # Of these, the library's score is without the prefix, or without EOS.
        rows = list(zip(sources, found, [c.prefix for c in constraints], limits, strict=True))
        partly = [(s, ids) for s, n_best, prefix, limit in rows for ids, _ in n_best if prefix or len(ids) == limit]
        whole = iter(self.score(partly))

        def hypothesis(ids: list[int], score: float, prefix: Ids, limit: int) -> Hypothesis:
            length = len(ids) + 1
            log_probs = LaterLogProbs(exact, next(numbers), length)
            if prefix or len(ids) == limit:
                return Hypothesis.of(ids, next(whole), options, limit)
            log_prob = score * float(length_divisor(length, options))
            return Hypothesis(ids, score, log_prob, log_probs, finished=len(ids) < limit)

        made = ([hypothesis(*each, prefix, limit) for each in n_best] for _, n_best, prefix, limit in rows)
        return [sorted(n_best, key=lambda hypothesis: -hypothesis.score) for n_best in made]

    def find(
        self, sources: Sequence[Ids], options: SearchConfig, constraints: AllConstraints, limit: int, stop: Stop | None
    ) -> list[list[tuple[list[int], float]]]:
        """The ids of the best hypotheses of each sentence, with at most `limit` pieces, and their scores."""
        first = len(self.before[1])
        results = self.run(
            self.translator.translate_batch,
            stop,
            [self.names(0, ids) for ids in sources],
            target_prefix=[self.names(1, c.prefix) for c in constraints],
            beam_size=options.beam_size,
            num_hypotheses=options.n_best,
            length_penalty=options.length_penalty,
            no_repeat_ngram_size=options.no_repeat_ngram,
            min_decoding_length=options.min_length + first if options.min_length else 0,
            max_decoding_length=limit + first,
            max_input_length=0,
            suppress_sequences=[[self.target[i]] for i in forbidden_ids(options)],
            patience=PATIENCE,
            return_scores=True,
        )
        lists = (zip(result.hypotheses, result.scores, strict=True) for result in results)
        return [[([self.number[p] for p in pieces[first:]], score) for pieces, score in found] for found in lists]

    rest = search

    def log_probs_of(self, pairs: Sequence[IdPair], pieces: Sequence[Ids]) -> list[Tensor]:
        raise ValueError(UNKNOWN)

    def score(self, pairs: Sequence[IdPair], stop: Stop | None = None) -> list[list[float]]:
        size = SCORED if stop else max(1, len(pairs))
        results = [
            result
            for first in range(0, len(pairs), size)
            for result in self.run(
                self.translator.score_batch,
                stop,
                [self.names(0, source) for source, _ in pairs[first : first + size]],
                [self.names(1, target) for _, target in pairs[first : first + size]],
                max_input_length=0,
                max_batch_size=SCORED,
            )
        ]
        log_probs = [list(result.log_probs)[len(self.before[1]) :] for result in results]
        require(all(map(math.isfinite, (x for row in log_probs for x in row))), BAD_LOGITS)
        return log_probs

    def run(self, method: Callable[..., Any], stop: Stop | None, *arguments: Any, **options: Any) -> list[Any]:
        """The results of a method of the library. It can't end a call of its own, so a call that is stopped goes on in
        the background, for about `CALL` seconds at most, and its results are lost."""
        if stop is None:
            return method(*arguments, **options)
        stop.check()
        call = self.waiters.submit(method, *arguments, **options)
        while not wait([call], POLL).done:
            stop.check()
        return call.result()

    def attention(self, pairs: Sequence[IdPair]) -> list[Tensor]:
        written = [(source, target) for source, target in pairs if target]
        results = self.translator.translate_batch(
            [self.names(0, source) for source, _ in written],
            target_prefix=[self.names(1, target) for _, target in written],
            beam_size=1,
            max_decoding_length=len(self.before[1]) + max((len(target) for _, target in written), default=0),
            max_input_length=0,
            return_attention=True,
        )
        rows, columns = (slice(len(before), None) for before in reversed(self.before))
        weights = (torch.tensor(result.attention[0])[rows, columns] for result in results)
        return [
            next(weights)[: len(target), : len(source)] if target else torch.zeros(0, len(source))
            for source, target in pairs
        ]

    def next_log_probs(self, source: Ids, targets: Sequence[Ids]) -> Tensor:
        raise ValueError(UNKNOWN)
