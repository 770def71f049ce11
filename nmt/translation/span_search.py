"""Spans flow in, hypotheses of each span flow out: by beam search or sampling, in batches, in parallel on a CPU."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TypeVar

from torch import Tensor

from nmt.config import MAX_HYPOTHESES, SearchConfig
from nmt.decode.engine import Engine
from nmt.decode.hypothesis import NO_CONSTRAINTS as FREE
from nmt.decode.hypothesis import CompiledConstraints, Hypothesis, longest_output
from nmt.decode.parallel import halve_if_too_large, map_batches
from nmt.decode.sampling import MAX_SLOTS
from nmt.decode.stop import Stop
from nmt.reading.request import NO_CONSTRAINTS, Constraints, Term
from nmt.translation.constraints import ConstraintCompiler
from nmt.translation.insertion import MOST_TERMS, SCORED, Draft, narrower

# Constraints widen the beam, in these steps and up to this limit, to keep hypotheses with unfinished phrases.
WIDENING_STEP, MAX_WIDENING = 4, 40
# What bounds the memory of a batch, besides its source pieces. Rows (hypotheses or samples): their logits. Slots, rows
# times length: their keys and values. Scores: in beam search, a row attends to the slots of all rows of its sentence.
MAX_ROWS, MAX_SCORES = 2**12, 2**24

# Maximum number of source pieces of a batch, padding included, divided by `batch_size`: it bounds the memory.
BATCH_PIECES_PER_SENTENCE = 64

Item = TypeVar("Item")


@dataclass(frozen=True)
class Span:
    """A part of a line, as ids without EOS, and the constraints of its translation."""

    ids: tuple[int, ...]
    constraints: Constraints = NO_CONSTRAINTS

    def __len__(self) -> int:
        return len(self.ids)

    def with_terms(self, must: tuple[Term, ...]) -> "Span":
        """The span with these terms in place of its own."""
        return replace(self, constraints=replace(self.constraints, must=must))


class SpanSearch:
    """Beam search and sampling of spans with one engine."""

    def __init__(self, engine: Engine, compiler: ConstraintCompiler) -> None:
        self.engine, self.compiler = engine, compiler

    def find(
        self, spans: Iterable[Span], search: SearchConfig, stop: Stop | None = None
    ) -> dict[Span, list[Hypothesis]]:
        """Hypotheses of each span, at most `search.n_best`, best first; samples in their own order.

        If no hypothesis meets the constraints of a span, it is searched again without the terms that it must contain,
        then without any constraint, so every span has a hypothesis. ValueError if constraints can never be met;
        Stopped as `stop` says. If its time is up, hypotheses may lack terms, and others are UNSEARCHED.
        """
        results = self.find_once(spans, search, stop)
        for loosen in (lambda old: replace(old, must=()), lambda _: NO_CONSTRAINTS):
            failed = [span for span, hypotheses in results.items() if not hypotheses]
            if failed:
                loosened = {span: replace(span, constraints=loosen(span.constraints)) for span in failed}
                retried = self.find_once(loosened.values(), search, stop)
                results |= {span: retried[loosened[span]] for span in failed}
        return results

    def find_once(self, spans: Iterable[Span], search: SearchConfig, stop: Stop | None) -> dict[Span, list[Hypothesis]]:
        """As `find`, but with an empty list if no hypothesis meets the constraints.

        The best translation without phrases is the best with them if it has what they ask for. So they are left out at
        first, and terms that are missing are put in (see `nmt.translation.insertion`).
        """
        distinct = dict.fromkeys(spans)  # not a set, so that batches are the same in every process
        compiled = {s: self.compiler.compile(s.constraints, len(s), search) for s in distinct if s.constraints}
        if not compiled or search.n_best > 1:
            return self.search_each(distinct, compiled, search, stop)
        free = {s: replace(c, phrases=None, spelled=()) for s, c in compiled.items()}
        results = self.search_each(distinct, free, search, stop)
        drafts = {s: Draft(c, c.phrases, results[s][0]) for s, c in compiled.items() if c.phrases and results[s]}
        self.insert_terms(drafts, search, stop)
        results |= {span: [draft.found] for span, draft in drafts.items()}
        if stop and stop.is_late():
            return results
        left = {span: draft for span, draft in drafts.items() if not draft.is_done}
        results |= {span: [] for span, draft in left.items() if draft.lacking is None}
        for span, draft in left.items():
            if draft.n_terms > MOST_TERMS and draft.lacking and self.engine.fits(span.ids, ids := draft.ended()):
                [log_probs] = self.engine.score([(span.ids, ids)], stop)
                results[span] = [Hypothesis.of(ids, log_probs, search)]
        few = {span: draft.constraints for span, draft in left.items() if draft.n_terms <= MOST_TERMS}
        return results | self.search_each(few, few, search, stop)

    def insert_terms(self, drafts: dict[Span, Draft], search: SearchConfig, stop: Stop | None) -> None:
        """Put in the terms that drafts lack, as far as possible."""
        search, fits, starts = narrower(search), self.engine.fits, dict[Span, CompiledConstraints]()

        def log_probs(spans: list[Span]) -> list[Tensor]:
            pairs = [(span.ids, drafts[span].found.ids) for span in spans]
            return self.engine.log_probs_of(pairs, [drafts[span].firsts for span in spans])

        def rest(spans: list[Span]) -> list[list[Hypothesis]]:
            return self.engine.rest([span.ids for span in spans], [starts[span] for span in spans], search, stop)

        while going := [span for span, d in drafts.items() if d.goes_on and fits(span.ids, d.longest_start)]:
            batches = [*make_batches(going, SCORED, lambda span: max(len(span), len(drafts[span].found.ids)))]
            outputs = map_batches(partial(halve_if_too_large, log_probs), batches, self.engine.device)
            for span, log_probs_PT in zip(chain(*batches), chain(*outputs), strict=True):
                starts[span] = drafts[span].start(log_probs_PT)
            # The library reads the part of the prefixes that is common to a batch at once.
            by_length = make_batches(going, search.batch_size, lambda span: len(starts[span].prefix))
            room = self.engine.longest_target
            limits = [longest_output(len(s), search, room(len(s)), starts[s]) for s in going]
            batches = [part for batch in by_length for part in bounded(batch, search, max(limits) + 1)]
            found = map_batches(partial(halve_if_too_large, rest), batches, self.engine.device)
            if stop and stop.is_late():  # a translation without its terms is better than the beginning of one with them
                return
            for span, (best, *_) in zip(chain(*batches), chain(*found), strict=True):
                drafts[span].take(best)

    def search_each(
        self,
        spans: Iterable[Span],
        compiled: Mapping[Span, CompiledConstraints],
        search: SearchConfig,
        stop: Stop | None,
    ) -> dict[Span, list[Hypothesis]]:
        """The hypotheses of each span, with its constraints if it has any."""
        # Only spans with the same settings share batches: constraints of a span don't change results of other spans.
        groups: dict[tuple[SearchConfig, bool], list[Span]] = {}
        for span in spans:
            is_free = compiled.get(span, FREE) == FREE
            settings = search if is_free else constrained_search(search, compiled[span])
            groups.setdefault((settings, is_free), []).append(span)
        work: list[tuple[SearchConfig, list[Span]]] = []
        for (settings, _), group in groups.items():
            for batch in make_batches(group, settings.batch_size, len):
                room = self.engine.longest_target
                limits = [longest_output(len(s), settings, room(len(s)), compiled.get(s, FREE)) for s in batch]
                work += [(settings, part) for part in bounded(batch, settings, max(limits) + 1)]

        outputs = map_batches(
            lambda item: halve_if_too_large(
                lambda batch: self.engine.search(
                    [s.ids for s in batch], item[0], [compiled.get(s, FREE) for s in batch], stop
                ),
                item[1],
            ),
            work,
            self.engine.device,
        )
        results: dict[Span, list[Hypothesis]] = {}
        for (_, batch), output in zip(work, outputs, strict=True):
            results.update(zip(batch, output, strict=True))
        return results

    def place_terms(self, lines: list[list[Span]], search: SearchConfig, stop: Stop | None = None) -> list[list[Span]]:
        """Move each term without a source from the first span of its line to the span that it makes least improbable:
        there it belongs, probably."""
        lines, free = list(lines), dict[int, list[Term]]()
        for n, spans in enumerate(lines):
            if len(spans) > 1 and (terms := [term for term in spans[0].constraints.must if not term.source]):
                placed = tuple(term for term in spans[0].constraints.must if term.source)
                lines[n], free[n] = [spans[0].with_terms(placed), *spans[1:]], terms
        bare = [span for n in free for span in lines[n]]
        tried = [add_term(span, term) for n, terms in free.items() for span in lines[n] for term in terms]
        found = self.find_once([*bare, *tried], replace(search, n_best=1, mbr="none"), stop) if free else {}
        log_probs = {span: hypotheses[0].log_prob if hypotheses else -math.inf for span, hypotheses in found.items()}
        for n, terms in free.items():
            spans = list(lines[n])
            for term in terms:
                gains = [log_probs[add_term(span, term)] - max(log_probs[span], -1e9) for span in lines[n]]
                place = gains.index(max(gains))
                spans[place] = add_term(spans[place], term)
            lines[n] = spans
        return lines


def add_term(span: Span, term: Term) -> Span:
    return span.with_terms((*span.constraints.must, term))


def constrained_search(search: SearchConfig, constraints: CompiledConstraints) -> SearchConfig:
    """The settings for a span with constraints: if it has phrases, a wider beam."""
    if constraints.phrases is None:
        return search
    distance = constraints.phrases.distance(constraints.phrases.start)
    widening = min(math.ceil(distance / WIDENING_STEP) * WIDENING_STEP, MAX_WIDENING)
    width = min(MAX_HYPOTHESES, search.beam_size + widening)
    return replace(search, beam_size=width, batch_size=max(1, search.batch_size * search.beam_size // width))


def bounded(batch: list[Item], search: SearchConfig, n_steps: int) -> Iterator[list[Item]]:
    """The batch, in parts of similar size if it would need too much memory. `n_steps`: the longest output, with EOS."""
    rows = search.samples or search.beam_size
    scores = n_steps * rows * (1 if search.samples else rows)
    most = min(MAX_ROWS // rows, MAX_SLOTS // (n_steps * rows), MAX_SCORES // scores)
    size = math.ceil(len(batch) / math.ceil(len(batch) / max(1, most)))
    return (batch[start : start + size] for start in range(0, len(batch), size))


def make_batches(items: Iterable[Item], batch_size: int, length: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Batches of sentences of similar length, longest first: at most `batch_size` sentences, and bounded in pieces."""
    batch: list[Item] = []
    for item in sorted(items, key=length, reverse=True):
        longest = length(batch[0]) if batch else 0
        if len(batch) == batch_size or (len(batch) + 1) * longest > batch_size * BATCH_PIECES_PER_SENTENCE:
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch
