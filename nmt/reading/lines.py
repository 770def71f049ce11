"""Steps that cut texts: into lines, and into sentences. A line never shares a search with another line of its text.

A line is cut into its sentences (`nmt.text.sentences`) if it has more of them, or more pieces, than was usual in
training. A sentence that is still too long is cut where a sentence may end, after at least SHORT_SENTENCE pieces. What
is longer than the model may read is cut at the last space that fits, and text without spaces between characters.
"""

import heapq
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, combinations, islice, pairwise
from typing import NamedTuple

from nmt.data.tokenizer import Tokenizer
from nmt.reading.loop import Context, Taken
from nmt.reading.pieces import piece_starts
from nmt.reading.reading import Reading
from nmt.reading.request import Translation, join, ranks
from nmt.reading.share import share
from nmt.text.normalise import tidy
from nmt.text.sentences import DASH, joint, possible_ends, split_clauses, split_sentences
from nmt.vocabulary import SPACE

BREAK = re.compile("(\r\n|[\n\x0b\x0c\r\x85\u2028\u2029])")
SHORTEST_SPAN = 8  # fewest pieces of a halved span
SHORT_SENTENCE = 10  # a shorter part of a long sentence is joined to the next, unless a sentence surely ends there
MOST_GROUPINGS = 50  # of the sentences of a given translation, if it has more of them than its source
CONTINUATION_BYTE = re.compile("<0x[89AB][0-9A-F]>")


@dataclass(frozen=True)
class Lines(Taken):
    """The lines of a text, and the breaks and blanks between them."""

    gaps: tuple[str, ...]

    def put_back(self, chosen: Sequence[Translation]) -> Translation:
        pieces: list[str | Translation] = [self.gaps[0]]
        for gap, translation in zip(self.gaps[1:], chosen, strict=True):
            pieces += [translation, gap]
        return join(pieces)

    def targets(self, text: str) -> Iterator[tuple[str, ...]]:
        lines = tuple(line.strip() for line in BREAK.split(text.strip())[::2])
        if len(lines) == len(self.readings):
            yield lines


def cut_text(reading: Reading, context: Context) -> Lines | None:
    """The lines of a text. Blanks at its ends, which a translation doesn't have, may be line breaks too. In mark-up,
    breaks are blanks."""
    start, end = len(reading.text) - len(reading.text.lstrip()), len(reading.text.rstrip())
    breaks = [match.span() for match in BREAK.finditer(reading.text, start, end)]
    if not breaks or reading.segment:
        return None
    starts, ends = [start, *(stop for _, stop in breaks)], [*(begin for begin, _ in breaks), end]
    spans = [inner(reading.text, *span) for span in zip(starts, ends, strict=True)]
    texts = [context.tokenizer.readable(tidy(reading.text[first:last])[0]) for first, last in spans]
    shared = share(reading.constraints, texts)
    parts = [reading.part(*span, constraints) for span, constraints in zip(spans, shared, strict=True)]
    edges = [start, *chain.from_iterable(spans), end]
    gaps = [reading.text[edges[n] : edges[n + 1]] for n in range(0, len(edges), 2)]
    return Lines(tuple(parts), tuple(gaps))


def inner(text: str, start: int, end: int) -> tuple[int, int]:
    """The part of a text without blanks at its ends."""
    line = text[start:end]
    first = start + len(line) - len(line.lstrip())
    return first, max(first, start + len(line.rstrip()))


@dataclass(frozen=True)
class Sentences(Taken):
    """The spans of a line, and the blanks after each, with a mark if it is a clause."""

    blanks: tuple[str, ...]
    amid: tuple[bool, ...]
    """Whether the sentence goes on after the span."""
    context: Context

    def back(self, lists: Sequence[list[Translation]]) -> list[Translation]:
        if len(lists) < 2 or not all(lists):
            return lists[0] if len(lists) == 1 else []
        search = self.context.search
        return [self.put_back(row) for row in (ranks(lists) if search.samples else best_joins(lists, search.n_best))]

    def put_back(self, chosen: Sequence[Translation]) -> Translation:
        pieces, left, blank, amid = list[str | Translation](), "", "", False
        for n, translation in enumerate(chosen):
            if left and translation.text:
                pieces.append(joint(left, translation.text, blank, amid=amid))
            pieces.append(translation)
            left, blank, amid = translation.text or left, self.blanks[n], self.amid[n]
        return join(pieces)

    def targets(self, text: str) -> Iterator[tuple[str, ...]]:
        n = len(self.readings)
        if n == 1:
            yield (text,)
        elif not any(self.amid):
            parts = next((parts for split in (split_sentences, split_clauses) if len(parts := split(text)) >= n), [])
            groupings = combinations(range(1, len(parts)), n - 1) if parts else iter(())
            for cuts in islice(groupings, MOST_GROUPINGS):
                groups = [parts[i:j] for i, j in pairwise([0, *cuts, len(parts)])]
                yield tuple("".join(map("".join, group)).strip() for group in groups)


class Span(NamedTuple):
    """A part of a line that is searched alone: its place in the line, its ids, and what follows it."""

    start: int
    end: int
    ids: tuple[int, ...]
    blank: str
    amid: bool


def cut_sentences(reading: Reading, context: Context, *, clauses: bool = False, halves: bool = False) -> Sentences:
    """The spans of a line: as was usual in training, at the end of each sentence and clause, or half as long."""
    parts, ids = sentences_of(reading.text, context, clauses=clauses, halves=halves)
    if len(parts) == 1 and not halves and len(ids[0]) <= min(context.limits.pieces, context.limits.split_above):
        return Sentences((replace(reading, ids=tuple(ids[0])),), ("",), (False,), context)
    spans = list(spans_of(reading.text, parts, ids, context, halves=halves))
    shared = share(reading.constraints, [reading.text[span.start : span.end] for span in spans])
    readings = [
        replace(reading.part(span.start, span.end, constraints), ids=span.ids, number=n)
        for n, (span, constraints) in enumerate(zip(spans, shared, strict=True))
    ]
    blanks, amid = tuple(span.blank for span in spans), tuple(span.amid for span in spans)
    return Sentences(tuple(readings) or (replace(reading, ids=()),), blanks, amid, context)


def sentences_of(
    text: str, context: Context, *, clauses: bool, halves: bool
) -> tuple[list[tuple[str, str]], list[list[int]]]:
    """The sentences of a line that are searched alone, each with the blanks after it, and their ids."""
    tokenizer, limits = context.tokenizer, context.limits
    whole, odd = tokenizer.encode_source([text.replace("\t", " ")]), has_odd_dash(text, tokenizer)
    usual = not (clauses or halves or odd) and len(whole[0]) <= limits.split_above
    if usual and limits.sentences == math.inf:
        return [(text, "")], whole
    parts = (split_clauses if clauses or odd else split_sentences)(text)
    if len(parts) <= (limits.sentences if usual else 1):
        return [(text, "")], whole
    return parts, tokenizer.encode_source([sentence.replace("\t", " ") for sentence, _ in parts])


def spans_of(
    text: str, parts: list[tuple[str, str]], ids: list[list[int]], context: Context, *, halves: bool
) -> Iterator[Span]:
    """The spans of the sentences of a line; a sentence without pieces has none."""
    most, split_above = context.limits.pieces, context.limits.split_above
    if halves:
        most, split_above = min(most, max(SHORTEST_SPAN, max(map(len, ids)) // 2)), 1
    end = 0
    for (sentence, blank), sentence_ids in zip(parts, ids, strict=True):
        start, end = end, end + len(sentence) + len(blank)
        if len(sentence_ids) <= min(most, split_above):
            if sentence_ids:
                yield Span(start, start + len(sentence), tuple(sentence_ids), blank, amid=False)
            continue
        pieces = context.tokenizer.source_pieces(sentence_ids)
        starts = [*piece_starts(pieces, sentence), len(sentence)]
        for first, last in pairwise([0, *cut_points(pieces, most, split_above)]):
            amid = last < len(pieces)
            gap = (" " if pieces[last].startswith(SPACE) else "") if amid else blank
            place = inner(text, start + starts[first], start + starts[last])
            yield Span(*place, tuple(sentence_ids[first:last]), gap, amid)


def each_sentence(reading: Reading, context: Context) -> Sentences | None:
    """The sentences of a line, each for a search of its own."""
    parts = split_sentences(reading.text)
    if len(parts) < 2:
        return None
    ends = [*accumulate(len(sentence) + len(blank) for sentence, blank in parts)]
    shared = share(reading.constraints, [tidy(sentence)[0] for sentence, _ in parts])
    readings = [
        reading.part(end - len(sentence) - len(blank), end - len(blank), constraints)
        for (sentence, blank), end, constraints in zip(parts, ends, shared, strict=True)
    ]
    blanks = tuple(blank for _, blank in parts)
    return Sentences(tuple(readings), blanks, (False,) * len(parts), context)


def by_clauses(reading: Reading, context: Context) -> Sentences:
    return cut_sentences(reading, context, clauses=True)


def by_halves(reading: Reading, context: Context) -> Sentences:
    return cut_sentences(reading, context, halves=True)


def has_odd_dash(text: str, tokenizer: Tokenizer) -> bool:
    """Whether a dash stands between words, which it never did in training."""
    found = DASH.search(text) if tokenizer.words else None
    return bool(found and tokenizer.words and tokenizer.words.signs.isdisjoint(tokenizer.readable(found[0])))


def cut_points(pieces: list[str], limit: int, split_above: int) -> list[int]:
    """The ends of the spans, each of at most `limit` pieces, that a sentence is cut into; [len(pieces)] if it isn't."""
    if len(pieces) <= min(limit, split_above):
        return [len(pieces)]
    ends, start, position = [], 0, 0
    possible = possible_ends("".join(pieces).replace(SPACE, " "))
    for i, piece in enumerate(pieces):
        if i - start == limit:
            start = last_break(pieces, start, i)
            ends.append(start)
        position += len(piece)
        if position in possible and i + 1 - start >= min(SHORT_SENTENCE, limit):
            start = i + 1
            ends.append(start)
    return ends if ends and ends[-1] == len(pieces) else [*ends, len(pieces)]


def last_break(pieces: list[str], start: int, stop: int) -> int:
    """The last place in (start, stop] where a word begins or, if there is none, a character."""
    places = range(stop, start, -1)
    words = (i for i in places if pieces[i].startswith("▁"))
    characters = (i for i in places if not CONTINUATION_BYTE.fullmatch(pieces[i]))
    return next(chain(words, characters), stop)


def best_joins(lists: Sequence[Sequence[Translation]], n_best: int) -> list[list[Translation]]:
    """The n_best ways, best mean score first, to choose a translation of each span. Takes linear time."""
    totals, steps = [0.0], list[list[tuple[int, int]]]()
    for translations in lists:
        # Both lists fall, so way i with translation j has (i + 1) * (j + 1) - 1 others before it that are as good.
        pairs = ((i, j) for i in range(len(totals)) for j in range(min(len(translations), n_best // (i + 1))))
        longer = ((totals[i] + translations[j].score, (i, j)) for i, j in pairs)
        best = heapq.nlargest(n_best, longer, key=lambda item: item[0])
        totals = [total for total, _ in best]
        steps.append([pair for _, pair in best])

    def chosen(way: int) -> Iterator[Translation]:
        """The translations of a way, from the last span to the first."""
        for translations, pairs in zip(reversed(lists), reversed(steps), strict=True):
            way, place = pairs[way]
            yield translations[place]

    return [[*chosen(way)][::-1] for way in range(len(totals))]
