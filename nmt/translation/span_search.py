"""Spans flow in, hypotheses of each span flow out: by beam search or sampling, in batches, in parallel on a CPU.

Terms that a translation lacks are put into it. A term stands where the model finds its first piece most probable. What
is before the last term stays; what follows is searched again. If the model then makes a term a part of a longer word,
or loses another one, the terms stand between the words of the translation as it was. On captions this takes a fifth of
the time of constrained search (`nmt.decode.rules.Phrases`), and the model finds the result more probable. Where a term
can't be put in so, as one that its neighbours change, constrained search must do it.

Shapes: P phrases, T target pieces.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TypeVar

from torch import Tensor

from nmt.config import MAX_HYPOTHESES, SearchConfig
from nmt.decode.engine import Engine, IdPair, Ids, fits
from nmt.decode.hypothesis import NO_CONSTRAINTS as FREE
from nmt.decode.hypothesis import CompiledConstraints, Hypothesis, longest_output
from nmt.decode.parallel import map_items
from nmt.decode.phrases import Automaton
from nmt.decode.sampling import MAX_SLOTS
from nmt.decode.stop import Stop
from nmt.reading.request import NO_CONSTRAINTS, Constraints, Lists
from nmt.translation.constraints import ConstraintCompiler

# Constraints widen the beam, in these steps and up to this limit, to keep hypotheses with unfinished phrases.
WIDENING_STEP, MAX_WIDENING = 4, 40
# What bounds the memory of a batch, besides its source pieces. Rows (hypotheses or samples): their logits. Slots, rows
# times length: their keys and values. Scores: in beam search, a row attends to the slots of all rows of its sentence.
MAX_ROWS, MAX_SCORES = 2**12, 2**24

# Maximum number of source pieces of a batch, padding included, divided by `batch_size`: it bounds the memory.
BATCH_PIECES_PER_SENTENCE = 64

# Constrained search takes memory for each combination of terms that are met. With more terms, those that can't be put
# in otherwise stand at the end.
MOST_TERMS = 4
SCORED = 32  # translations whose places are compared together: the logits of all of them take memory

Item = TypeVar("Item")


@dataclass(frozen=True)
class Span:
    """A part of a line, as ids without EOS, and the constraints of its translation."""

    ids: tuple[int, ...]
    constraints: Constraints = NO_CONSTRAINTS


Compiled = dict[Span, CompiledConstraints]
Found = dict[Span, list[Hypothesis]]
"""The hypotheses of spans."""


@dataclass(eq=False)
class Draft:
    """The best translation of a sentence so far, which lacks terms."""

    source: Ids
    constraints: CompiledConstraints
    phrases: Automaton
    found: Hypothesis
    places: dict[int, tuple[float, int, int]] = field(default_factory=dict)
    """Of each term that is lacking, by its constraint: the best place, as log-probability, place and phrase."""

    def __post_init__(self) -> None:
        self.lacking = self.phrases.lacking(self.found.ids)

    @property
    def n_lacking(self) -> float:
        """How many phrases are lacking; infinite if a forbidden one is there."""
        return math.inf if self.lacking is None else len(self.lacking)

    @property
    def writable(self) -> list[int]:
        """The phrases that are lacking and can follow any word."""
        return [p for p in self.lacking or () if self.constraints.spelled[p]]

    def weigh(self, log_probs_PT: Tensor) -> None:
        """Find the best places of terms. `log_probs_PT`: of the first pieces of `writable`."""
        ids, separating_V = self.found.ids, self.phrases.reader.surfaces.separating_V
        places = [i for i in range(len(ids) + 1) if i == len(ids) or separating_V[ids[i]]]
        self.places = {}
        for p, log_probs_T in zip(self.writable, log_probs_PT.tolist(), strict=True):
            term = self.phrases.reader.constraints[p]
            found = max((log_probs_T[i], i, p) for i in places)
            self.places[term] = max(found, self.places.get(term, found))

    def value(self, term: int) -> float:
        """How well a term fits: the log-probability of its best place; infinite if it is there already."""
        if self.lacking is not None and all(self.phrases.reader.constraints[p] != term for p in self.lacking):
            return math.inf
        return self.places[term][0] if term in self.places else -math.inf

    def start(self, *, whole: bool = False) -> tuple[int, ...]:
        """The pieces up to the last of the terms, all at their best places; `whole`: and the rest as it is."""
        ids, pieces, done = self.found.ids, list[int](), 0
        found = sorted((place, p) for _, place, p in self.places.values())
        for place, spelled in dict.fromkeys((place, self.constraints.spelled[p]) for place, p in found):
            pieces += [*ids[done:place], *spelled]
            done = place
        return (*pieces, *(ids[done:] if whole else ()))

    def ended(self) -> list[int]:
        """The pieces with all terms that are lacking at the end, in their longest forms."""
        forms = ((self.constraints.spelled[p], self.phrases.reader.constraints[p]) for p in self.writable)
        longest = {term: pieces for pieces, term in sorted(forms, key=lambda form: len(form[0]))}
        return [*self.found.ids, *(piece for pieces in dict.fromkeys(longest.values()) for piece in pieces)]

    def take(self, found: Hypothesis) -> None:
        """Go on from another translation, if it lacks less."""
        lacking = self.phrases.lacking(found.ids)
        if lacking is not None and len(lacking) < len(self.lacking or ()):
            self.found, self.lacking = found, lacking


class SpanSearch:
    """Beam search and sampling of spans with one engine."""

    def __init__(self, engine: Engine, compiler: ConstraintCompiler) -> None:
        self.engine, self.compiler = engine, compiler

    def find(self, spans: Iterable[Span], search: SearchConfig, stop: Stop | None = None) -> Found:
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

    def find_once(self, spans: Iterable[Span], search: SearchConfig, stop: Stop | None) -> Found:
        """As `find`, but with an empty list if no hypothesis meets the constraints.

        The best translation without phrases is the best with them if it has what they ask for. So they are left out at
        first, and terms that are missing are put in.
        """
        distinct = dict.fromkeys(spans)  # not a set, so that batches are the same in every process
        compiled = {s: self.compiler.compile(s.constraints, len(s.ids), search) for s in distinct if s.constraints}
        # A list of translations that only lack forbidden phrases comes from constrained search.
        single = search.n_best == 1
        phrased = {s: c for s, c in compiled.items() if c.phrases and (single or c.phrases.required)}
        if not phrased:
            return self.search_each(distinct, compiled, search, stop)
        free = compiled | {s: replace(c, phrases=None, spelled=()) for s, c in phrased.items()}
        many = {s: c for s, c in phrased.items() if c.phrases and c.phrases.all_met.bit_count() > MOST_TERMS}
        # With many terms, no search follows that leaves out forbidden phrases: the first one does.
        for s in many:
            if s.constraints.must_not:
                free[s] = self.compiler.compile(replace(s.constraints, must=()), len(s.ids), search)
        results = self.search_each(distinct, free, search, stop)
        drafts = {s: [Draft(s.ids, c, c.phrases, h) for h in results[s]] for s, c in phrased.items() if c.phrases}
        self.insert_terms([*chain(*drafts.values())], replace(search, n_best=1), stop)
        results |= {span: merged(of_span) for span, of_span in drafts.items()}
        if stop and stop.is_late():
            return results
        ended = {draft: draft.ended() for s in many for draft in drafts[s] if draft.writable}
        self.take_scored({d: ids for d, ids in ended.items() if fits(self.engine, d.source, ids)}, search)
        results |= {s: merged([draft for draft in found if draft.lacking is not None]) for s, found in drafts.items()}
        few = {s: found for s, found in drafts.items() if found and s not in many}
        left = {s: phrased[s] for s, found in few.items() if all(draft.n_lacking for draft in found)}
        return results | self.search_each(left, left, search, stop)

    def insert_terms(self, drafts: list[Draft], search: SearchConfig, stop: Stop | None) -> None:
        """Put in the terms that drafts lack, as far as possible."""
        # Half the beam gives as good translations of what follows a term, in 0.7 of the time.
        search, room = replace(search, beam_size=max(1, search.beam_size // 2)), self.engine.longest_target

        def rest(begun: list[tuple[Draft, CompiledConstraints]]) -> list[list[Hypothesis]]:
            return self.engine.rest([draft.source for draft, _ in begun], search, [start for _, start in begun], stop)

        if not (going := self.with_places(drafts)):
            return
        begun = [(draft, CompiledConstraints(draft.start())) for draft in going]
        # The library reads the part of the prefixes that is common to a batch at once.
        by_length = make_batches(begun, search.batch_size, lambda pair: len(pair[1].prefix))
        most = max(longest_output(len(d.source), search, room(len(d.source)), start) for d, start in begun)
        batches = (part for batch in by_length for part in bounded(batch, search, most + 1))
        found = map_items(rest, batches, self.engine.device)
        if stop and stop.is_late():  # a translation without its terms is better than the beginning of one with them
            return
        for (draft, _), (best, *_) in found:
            draft.take(best)
        self.take_scored({draft: draft.start(whole=True) for draft in self.with_places(going)}, search)

    def with_places(self, drafts: list[Draft]) -> list[Draft]:
        """Those drafts whose terms can be put in, with the best places for these."""

        def log_probs(batch: list[Draft]) -> list[Tensor]:
            firsts = [[draft.constraints.spelled[p][0] for p in draft.writable] for draft in batch]
            return self.engine.log_probs_of([(d.source, d.found.ids) for d in batch], firsts)

        able = [draft for draft in drafts if draft.writable and not draft.constraints.prefix]
        going = [draft for draft in able if fits(self.engine, draft.source, draft.ended())]
        batches = make_batches(going, SCORED, lambda draft: max(len(draft.source), len(draft.found.ids)))
        for draft, log_probs_PT in map_items(log_probs, batches, self.engine.device):
            draft.weigh(log_probs_PT)
        return going

    def take_scored(self, drafts: Mapping[Draft, Ids], search: SearchConfig) -> None:
        """Let drafts go on from these pieces."""
        engine = self.engine
        batches = make_batches(drafts, SCORED, lambda draft: len(drafts[draft]))
        scored = map_items(lambda batch: engine.score([(d.source, drafts[d]) for d in batch]), batches, engine.device)
        for draft, found in scored:
            draft.take(Hypothesis.of(drafts[draft], found, search))

    def with_attention(self, lists: Lists) -> Lists:
        """The translations, whose parts have their attention (see `Engine.attention`)."""
        parts = [part for n_best in lists for t in n_best for part in t.parts]
        pairs: list[IdPair] = [(part.source, tuple(part.hypothesis.ids)) for part in parts]
        batches = make_batches(dict.fromkeys(pairs), SCORED, lambda pair: max(map(len, pair)))
        found = dict(map_items(self.engine.attention, batches, self.engine.device))
        new = iter([replace(part, attention_TS=found[pair]) for part, pair in zip(parts, pairs, strict=True)])
        return [[replace(t, parts=tuple(islice(new, len(t.parts)))) for t in n_best] for n_best in lists]

    def search_each(self, spans: Iterable[Span], compiled: Compiled, search: SearchConfig, stop: Stop | None) -> Found:
        """The hypotheses of each span, with its constraints if it has any."""
        # Only spans with the same settings share batches: constraints of a span don't change results of other spans.
        groups: dict[tuple[SearchConfig, bool], list[Span]] = {}
        starts, settings_of = {span: compiled.get(span, FREE) for span in spans}, dict[Span, SearchConfig]()
        for span, start in starts.items():
            settings = search
            if start.phrases:  # a wider beam
                distance = start.phrases.distance(start.phrases.start)
                widening = min(math.ceil(distance / WIDENING_STEP) * WIDENING_STEP, MAX_WIDENING)
                width = min(MAX_HYPOTHESES, search.beam_size + widening)
                size = max(1, search.batch_size * search.beam_size // width)
                settings = replace(search, beam_size=width, batch_size=size)
            groups.setdefault((settings, start == FREE), []).append(span)
            settings_of[span] = settings
        batches, room = list[list[Span]](), self.engine.longest_target
        for (settings, _), group in groups.items():
            for batch in make_batches(group, settings.batch_size, lambda span: len(span.ids)):
                limits = [longest_output(len(s.ids), settings, room(len(s.ids)), starts[s]) for s in batch]
                batches += bounded(batch, settings, max(limits) + 1)
        found = map_items(
            lambda batch: self.engine.search(
                [span.ids for span in batch], settings_of[batch[0]], [starts[span] for span in batch], stop
            ),
            batches,
            self.engine.device,
        )
        return dict(found)

    def place_terms(self, lines: list[list[Span]], search: SearchConfig, stop: Stop | None) -> list[Span]:
        """The spans of all lines. Each term without a source moves from the first span of its line to the one whose
        translation has it, else to where it is most probable."""
        several = {n: spans for n, spans in enumerate(lines) if len(spans) > 1}
        asked = [n for n, spans in several.items() if any(not t.source for t in spans[0].constraints.must)]
        if not asked:
            return list(chain(*lines))
        search, drafts = replace(search, n_best=1), dict[int, list[Draft]]()
        found = self.search_each(dict.fromkeys(Span(span.ids) for n in asked for span in lines[n]), {}, search, stop)
        for n in asked:
            wanted = self.compiler.compile(replace(lines[n][0].constraints, prefix=""), 0, search)
            assert wanted.phrases
            drafts[n] = [Draft(span.ids, wanted, wanted.phrases, found[Span(span.ids)][0]) for span in lines[n]]
        if not (stop and stop.is_late()):
            self.with_places([*chain(*drafts.values())])
        placed = [list(spans) for spans in lines]
        for n, of_line in drafts.items():
            must = [[], *(list(span.constraints.must) for span in lines[n][1:])]
            for k, term in enumerate(lines[n][0].constraints.must):
                values = [draft.value(1 << k) for draft in of_line]
                must[0 if term.source else values.index(max(values))].append(term)
            placed[n] = [
                replace(span, constraints=replace(span.constraints, must=tuple(terms)))
                for span, terms in zip(lines[n], must, strict=True)
            ]
        return list(chain(*placed))


def merged(drafts: Sequence[Draft]) -> list[Hypothesis]:
    """The hypotheses of the drafts of a sentence that lack least, each once, the most probable first."""
    least = min((draft.n_lacking for draft in drafts), default=0)
    found = {tuple(draft.found.ids): draft.found for draft in drafts if draft.n_lacking == least}
    return sorted(found.values(), key=lambda hypothesis: -hypothesis.score)


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
