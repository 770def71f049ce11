"""One call of a translator: requests flow in, their n-best lists flow out.

Texts are cut into lines (`nmt.reading`); lines go through the plans of the guard (`nmt.translation.repair`); what each
plan leaves to search, of all lines, is searched in batches (`nmt.translation.span_search`). Then the constraints are
checked in what the user reads.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import torch

from nmt.config import SearchConfig
from nmt.decode.hypothesis import LEAST, UNSEARCHED, Hypothesis
from nmt.decode.parallel import map_batches
from nmt.decode.stop import Stop
from nmt.fields import require
from nmt.reading.lines import cut_text, mark_up
from nmt.reading.loop import Context, Reading, Step, translate
from nmt.reading.request import BLANK, Lists, Part, Request, Translation
from nmt.text.marking import PLACEHOLDER
from nmt.text.markup import visible
from nmt.text.normalise import tidy
from nmt.translation.mbr import expected_utilities
from nmt.translation.repair import Judge, shown, translate_lines
from nmt.translation.span_search import Span, SpanSearch

Reranker = Callable[[str, Sequence[Translation]], Sequence[float]]
"""Maps a source line and its candidate translations to values, one for each; higher is better."""


UNREACHED = Translation("", LEAST, (Part((), UNSEARCHED),), ("unfinished",))
PORTION = 2  # batches whose lines are read, searched and put back together, if a call is cut into portions


@dataclass(frozen=True)
class Call:
    """What a call needs of its translator, and what it wants."""

    context: Context
    judge: Judge
    spans: SpanSearch
    rerank: Reranker | None = None
    stop: Stop | None = None

    def in_portions(self, requests: Sequence[Request]) -> Lists:
        """As `translate`, for a call that may end before it is done, or whose searches leave Python's interpreter free:
        one portion is read while others are searched. If the time of `stop` is up, what isn't finished has the flag
        "unfinished"."""
        size, workers, engine = self.context.search.batch_size, torch.get_num_threads(), self.spans.engine
        numbers = portions(requests, size, workers, ordered=self.stop is not None)
        texts = [[requests[number] for number in portion] for portion in numbers]
        # Elsewhere the batches of a portion share the threads.
        each = map_batches(self.translate, texts, engine.device) if engine.leaves_python else map(self.translate, texts)
        found = dict(zip(chain(*numbers), chain(*each), strict=True))
        lists = [found[number] for number in range(len(requests))]
        if self.stop and self.stop.is_late():
            lists = [[t if t.finished else t.flagged("unfinished") for t in found] for found in lists]
        return lists

    def translate(self, requests: Sequence[Request]) -> Lists:
        """The n-best list of each request."""
        if self.stop and self.stop.is_late():
            return unreached(requests)
        readings = [Reading.of(request) for request in requests]
        lines = partial(translate_lines, search=self.context.search, attempt=self.attempt, judge=self.judge)
        lists = translate(readings, (mark_up, cut_text), self.context, lines)
        pairs = zip(requests, lists, strict=True)
        return [self.checked(request, found) if request.constraints else found for request, found in pairs]

    def attempt(self, lines: Sequence[Reading], steps: Sequence[Step], search: SearchConfig) -> Lists:
        """The n-best lists of lines that are read by these steps; nothing is read when the time is up."""
        if self.stop and self.stop.is_late():
            return unreached(lines)
        # Minimum Bayes risk and rerankers choose among all hypotheses of the beam, or all samples.
        choose_later = search.mbr != "none" or self.rerank is not None
        wide = replace(search, n_best=search.samples or search.beam_size) if choose_later else search
        context = replace(self.context, search=wide)
        lists = translate(lines, steps, context, lambda leaves: self.leaves(leaves, wide)) if lines else []
        if wide.n_best > 1:
            lists = self.chosen(lines, lists, wide)
        return [translations[: search.n_best] for translations in lists]

    def chosen(self, lines: Sequence[Reading], lists: Lists, search: SearchConfig) -> Lists:
        """The lists in the order of minimum Bayes risk, and of a reranker; but for samples, each text once."""
        if search.mbr == "chrf":  # by probability, or samples as they are
            weights = [None if search.samples else [t.log_prob for t in translations] for translations in lists]
            utilities = [
                expected_utilities([t.text for t in n_best], w) for n_best, w in zip(lists, weights, strict=True)
            ]
            lists = list(map(best_first, lists, utilities))
        if self.judge.ranked:
            lists = list(map(distinct, lists))
        if self.rerank:
            for n, (line, found) in enumerate(zip(lines, lists, strict=True)):
                if found and found[0].parts:  # the reranker sees line and translations as the user does
                    seen = [replace(translation, text=shown(line, translation.text)) for translation in found]
                    lists[n] = best_first(found, self.rerank(shown(line, line.text), seen))
        return lists

    def leaves(self, leaves: Sequence[Reading], search: SearchConfig) -> Lists:
        """The n-best lists of what is left to search."""
        spans = [Span(leaf.ids or (), leaf.constraints) for leaf in leaves]
        starts = [n for n, leaf in enumerate(leaves) if leaf.number == 0]
        groups = [spans[start:end] for start, end in zip(starts, [*starts[1:], len(spans)], strict=True)]
        placed, known = self.spans.place_terms(groups, search, self.stop)
        found = self.spans.find((span for span in placed if span.ids), search, self.stop, known)
        pairs = zip(leaves, placed, strict=True)
        lists = [self.written(leaf, span, found[span]) if span.ids else [BLANK] for leaf, span in pairs]
        aligned = [n for n, leaf in enumerate(leaves) if leaf.aligned]
        if aligned:
            for n, translations in zip(aligned, self.spans.with_attention([lists[n] for n in aligned]), strict=True):
                lists[n] = translations
        return lists

    def written(self, leaf: Reading, span: Span, hypotheses: Sequence[Hypothesis]) -> list[Translation]:
        """The translations of a leaf from its hypotheses."""
        tokenizer, found = self.context.tokenizer, list[Translation]()
        texts = tokenizer.decode_target([hypothesis.ids for hypothesis in hypotheses])
        for hypothesis, decoded in zip(hypotheses, texts, strict=True):
            text = tidy(decoded)[0]
            others = {*PLACEHOLDER.findall(text)}.difference(leaf.text) if tokenizer.has_placeholders else ()
            if others:  # placeholders that the line doesn't have: a model may invent some
                text = tidy(re.sub(f" ?[{''.join(others)}]", "", text))[0]
            part = Part(span.ids, hypothesis, leaf.text, text, leaf.places, range(len(text)))
            found.append(Translation(text, hypothesis.score, (part,)))
        return found

    def checked(self, request: Request, translations: list[Translation]) -> list[Translation]:
        """The translations of a text, with a flag if the first one, as the user reads it, doesn't meet the
        constraints."""
        seen = visible(translations[0].text, self.context.mode)
        if not translations[0].parts or self.judge.compiler.are_met(request.constraints, seen):
            return translations
        return [translation.flagged("constraints") for translation in translations]


def portions(
    requests: Sequence[Request], batch_size: int, workers: int, ordered: bool, most: int = PORTION
) -> list[list[int]]:
    """The numbers of the requests of each portion: in order for a call that may end before it is done; otherwise the
    longest first, so that all workers end at about the same time. `most`: batches of a portion."""
    numbers = [*range(len(requests))]
    if not ordered:
        numbers.sort(key=lambda number: -len(requests[number].text))
    size = max(batch_size, min(most * batch_size, math.ceil(len(numbers) / workers)))
    return [numbers[first : first + size] for first in range(0, len(numbers), size)]


def unreached(texts: Sequence[Request | Reading]) -> Lists:
    """The lists of texts that were not begun when the time was up."""
    return [[UNREACHED if text.text.strip() else BLANK] for text in texts]


def distinct(translations: Sequence[Translation]) -> list[Translation]:
    """The first translation of each text: hypotheses may differ only in what steps take off, such as a last mark."""
    texts = [translation.text for translation in translations]
    return [translation for n, translation in enumerate(translations) if translation.text not in texts[:n]]


def best_first(translations: Sequence[Translation], values: Sequence[float]) -> list[Translation]:
    """The translations in falling order of their values, which are finite; equal ones stay as they were."""
    n, found = len(values), len(translations)
    require(n == found, f"rerank gives {n} values for {found} translations: it must give one for each")
    require(all(map(math.isfinite, values)), "rerank gives a value that is not finite")
    return [translations[i] for i in sorted(range(n), key=lambda i: -values[i])]
