"""One call of a translator, with its guard: requests flow in; their n-best lists with flags flow out.

Texts are cut into lines (`nmt.reading`). A plan says how a line is read (its steps) and searched; what it leaves to
search, of all lines, is searched in batches (`nmt.translation.span_search`).

The first plan is usual. Where a translation looks wrong, the retries of `Call.retry_wrong` follow, and the translation
that looks least wrong stays. What still looks wrong is flagged. The flag "unsure" alone doesn't cause the last
retry, because its translation is even less probable; nor do "numbers" and "items", since another search seldom brings
these back: a good translation would become a worse one.

A retry searches as the first attempt did: samples are replaced by samples, one by one, and never by beam search. Of a
ranked list, the first translation is tried again: a retry's best one comes before it, and the others stay.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import torch

from nmt.config import MAX_HYPOTHESES, SearchConfig
from nmt.decode.hypothesis import LEAST, UNSEARCHED, Hypothesis
from nmt.decode.parallel import map_batches
from nmt.decode.stop import Stop
from nmt.reading.items import items, items_beside, lifted_items, quotes, tags
from nmt.reading.lines import by_clauses, cut_sentences, cut_text, label, mark_up
from nmt.reading.loop import Context, Reading, Step, translate
from nmt.reading.request import BLANK, Lists, Part, Request, Translation
from nmt.reading.spelling import inside, known_words, readable, tidied
from nmt.text.marking import PLACEHOLDER
from nmt.text.markup import mode_of, visible
from nmt.text.normalise import tidy
from nmt.text.sentences import find_label, split_clauses, split_sentences
from nmt.text.suspicions import Flag, n_missing, suspicions
from nmt.translation.model_folder import Facts
from nmt.translation.span_search import MOST_TERMS, Span, SpanSearch

# Second attempts have at least this beam size, and don't repeat n-grams of this length.
BEAM, NGRAM = 5, 3
# Flags that cause no further search.
ADVICE: frozenset[Flag] = frozenset({"unsure", "numbers", "unknown"})

Steps = tuple[Step, ...]
WORDS: Steps = (tidied, inside, quotes, known_words, readable)
USUAL: Steps = (tags, *WORDS, items_beside, items, cut_sentences)
AS_WRITTEN: Steps = (tags, *WORDS, items_beside, cut_sentences)  # no placeholders for items
CLAUSES: Steps = (*USUAL[:3], label, *USUAL[2:-1], by_clauses)  # marks around the line, then around its parts
LIFTED: Steps = (tags, *WORDS[:-1], lifted_items, readable, cut_sentences)
PLAIN: Steps = (tags, tidied, readable, cut_sentences)

UNREACHED = Translation("", LEAST, (Part((), UNSEARCHED),), ("unfinished",))
PORTION = 2  # batches whose lines are read, searched and put back together, if a call is cut into portions


@dataclass(frozen=True)
class Call:
    """What a call needs of its translator, and what it wants."""

    context: Context
    facts: Facts
    spans: SpanSearch
    stop: Stop | None = None

    @property
    def ranked(self) -> bool:
        """Whether the first translation of a list is the best; if not, all are samples of equal rank."""
        return not self.context.search.samples

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
        """The n-best list of each request, flagged if the first translation, as the user reads it, doesn't meet the
        constraints."""
        if self.stop and self.stop.is_late():
            return unreached(requests)
        readings = [Reading.of(request) for request in requests]
        lists = translate(readings, (mark_up, cut_text), self.context, self.translate_lines)
        for n, (request, found) in enumerate(zip(requests, lists, strict=True)):
            if request.constraints and found[0].parts:
                seen = visible(found[0].text, mode_of(request.text, self.context.mode))
                if not self.spans.compiler.are_met(request.constraints, seen):
                    lists[n] = [translation.flagged("constraints") for translation in found]
        return lists

    def translate_lines(self, lines: Sequence[Reading]) -> Lists:
        """The n-best list of each line. It depends only on that line."""
        search = self.context.search
        lists = self.attempt(lines, USUAL, search)
        lost = [n for n, translations in enumerate(lists) if not translations]
        for n, translations in zip(lost, self.attempt([lines[n] for n in lost], AS_WRITTEN, search), strict=True):
            lists[n] = translations
        if search.guard:
            judged = [Line(self, *line) for line in zip(lines, lists, strict=True)]
            self.retry_wrong(judged)
            lists = [line.translations for line in judged]
        return lists

    def retry_wrong(self, lines: "list[Line]") -> None:
        search = self.context.search

        def retry(name: str, steps: Steps, chosen: list["Line"], search: SearchConfig = search) -> None:
            lists = self.attempt([line.reading for line in chosen], steps, search)
            for line, translations in zip(chosen, lists, strict=True):
                if translations:
                    line.consider(translations, name)

        retry("sentences", CLAUSES, [line for line in lines if line.may_have_lost_clauses])
        lines = [line for line in lines if line.flags]  # a few of them
        retry("items", LIFTED, [line for line in lines if "items" in line.flags])
        free = [line for line in lines if line.flags and not line.reading.constraints]
        for line in free:
            if line.flags and not any(map(str.isalpha, line.text)):
                copy = Translation(tidy(line.reading.text), 0.0, ())
                line.consider([copy] * len(line.translations), "copy")
        retry("plain", PLAIN, [line for line in lines if "constraints" in line.flags])
        wrong = [line for line in lines if line.flags - line.bearable]
        if wrong and not search.samples:
            width = min(MAX_HYPOTHESES, max(BEAM, search.beam_size, search.n_best))
            ngram, least = min(NGRAM, search.no_repeat_ngram or NGRAM), max(1, search.min_length)
            search = replace(search, beam_size=width, no_repeat_ngram=ngram, min_length=least)
            retry("no repeats", USUAL, wrong, search)

    def attempt(self, lines: Sequence[Reading], steps: Sequence[Step], search: SearchConfig) -> Lists:
        """The n-best lists of lines that are read by these steps; nothing is read when the time is up."""
        if self.stop and self.stop.is_late():
            return unreached(lines)
        context = replace(self.context, search=search)
        lists = translate(lines, steps, context, lambda leaves: self.leaves(leaves, search)) if lines else []
        if search.n_best > 1 and self.ranked:
            lists = list(map(distinct, lists))
        return [translations[: search.n_best] for translations in lists]

    def leaves(self, leaves: Sequence[Reading], search: SearchConfig) -> Lists:
        spans = [Span(leaf.ids or (), leaf.constraints) for leaf in leaves]
        starts = [n for n, leaf in enumerate(leaves) if leaf.number == 0]
        groups = [spans[start:end] for start, end in zip(starts, [*starts[1:], len(spans)], strict=True)]
        placed = self.spans.place_terms(groups, search, self.stop)
        found = self.spans.find((span for span in placed if span.ids), search, self.stop)
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
            text = tidy(decoded)
            others = {*PLACEHOLDER.findall(text)}.difference(leaf.text) if tokenizer.has_placeholders else ()
            if others:  # placeholders that the line doesn't have: a model may invent some
                text = tidy(re.sub(f" ?[{''.join(others)}]", "", text))
            part = Part(span.ids, hypothesis, leaf.text, text, leaf.places, range(len(text)))
            found.append(Translation(text, hypothesis.score, (part,)))
        return found


class Line:
    """A line and its translations so far, with their flags."""

    def __init__(self, call: Call, reading: Reading, n_best: list[Translation]) -> None:
        self.call, self.reading = call, reading
        # Flags that no other search mends. Many terms make a translation long, however it is searched.
        bearable: set[Flag] = {"items", "too_long"} if len(reading.constraints.must) > MOST_TERMS else {"items"}
        self.bearable = ADVICE | bearable
        # As a reader sees it, in characters that the vocabulary has.
        self.text = call.context.tokenizer.readable(tidy(shown(reading, reading.text)), reading.user_items)
        self.translations = [*map(self.flagged, n_best)]

    def flagged(self, translation: Translation) -> Translation:
        line, facts, tokenizer = self.reading, self.call.facts, self.call.context.tokenizer
        seen = shown(line, translation.text)
        # Samples are less probable than what beam search finds: nearly all would be unsure.
        sure = bool(self.call.context.search.samples) or translation.confidence >= facts.least_confidence
        finished, ratio = translation.finished, facts.length_ratio
        flags = suspicions(self.text, seen, line.user_items, ratio, finished=finished, sure=sure)
        read = " ".join(part.read for part in translation.parts)
        spelling, known = tokenizer.familiar(read, seen, line.user_items)
        is_strange = spelling < facts.least_spelling or known < facts.least_known
        if read and (is_strange or tokenizer.lacks(read, line.user_items)):
            flags.append("unknown")
        if self.text and line.constraints and not self.call.spans.compiler.are_met(line.constraints, seen):
            flags.append("constraints")
        return translation.flagged(*flags) if flags else translation

    @property
    def flags(self) -> set[Flag]:
        """The flags of the first translation, or of all samples: what retries are for."""
        judged = self.translations[: 1 if self.call.ranked else None]
        return {flag for translation in judged for flag in translation.flags}

    @property
    def may_have_lost_clauses(self) -> bool:
        """Whether a line lost its label or number or, if not each clause was translated alone, some clauses; or joined
        clauses that may be sentences; or has such clauses, and the model was unsure."""
        clauses, best = split_clauses(self.text), self.translations[0]
        if self.flags & {"sentences", "numbers"} and find_label(self.text):
            return True
        if len(clauses) < 2 or len(best.parts) >= len(clauses):
            return False
        n_capital = sum(not clause[:1].islower() for clause, _ in clauses)  # those that may be sentences
        has_joined = self.call.ranked and n_missing(n_capital, best.text) > 0
        may_be_wrong = has_joined or "unsure" in self.flags
        return "sentences" in self.flags or (may_be_wrong and len(clauses) > len(split_sentences(self.text)))

    def consider(self, translations: list[Translation], name: str) -> None:
        """Take those of these translations that look less wrong; `name`: the retry that made them."""
        judged = translations[: 1 if self.call.ranked else None]
        retried = [replace(self.flagged(translation), fallback=name) for translation in judged]
        if not self.call.ranked:
            if len(retried) == 1:  # a line of items alone leaves nothing to sample
                retried *= len(self.translations)
            pairs = zip(self.translations, retried, strict=True)
            self.translations = [min(pair, key=lambda translation: gravity(translation.flags)) for pair in pairs]
            return
        new, old = retried[0], self.translations[0]
        # Less wrong or, clause by clause, as right and more probable.
        is_surer = name == "sentences" and new.confidence > old.confidence
        if gravity(new.flags) < gravity(old.flags) or (is_surer and gravity(new.flags) == gravity(old.flags)):
            others = [translation for translation in self.translations if translation.text != new.text]
            self.translations = [new, *others][: len(self.translations)]


def gravity(flags: Sequence[Flag]) -> tuple[int, int]:
    """Severity of flags, for comparison: their number without those of ADVICE, then the number of these."""
    advice = len(ADVICE.intersection(flags))
    return len(flags) - advice, advice


def shown(line: Reading, text: str) -> str:
    """A text of a line, source or translation, as a reader sees it: without tags."""
    return visible(text, "html") if line.segment else text


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
