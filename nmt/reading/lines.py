"""Steps that cut texts: mark-up into segments, other texts into lines, and lines into sentences.

The segments of mark-up (`nmt.text.markup`) are translated one by one, and their translations stand between the tags:
first come those between tags, then those inside tags, which are attributes that readers see, and CDATA.

A line never shares a search with another line of its text, nor a cell with another: tabs stand between cells.
A line is cut into its sentences (`nmt.text.sentences`) if it has more of them, or more pieces, than was usual in
training. A sentence that is still too long is cut where a sentence may end, after at least SHORT_SENTENCE pieces. What
is longer than the model may read is cut at the last space that fits, and text without spaces between characters.
"""

import heapq
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, combinations, islice, pairwise

from nmt.reading.loop import Context, Reading, Taken, piece_places
from nmt.reading.request import Constraints, Lists, Part, Places, Term, Translation, join, ranks, shifted
from nmt.text.edits import Edit, shifts
from nmt.text.markup import Segment, is_markup, parse, parse_inner
from nmt.text.normalise import BREAK, tidy
from nmt.text.scripts import Phrase, phrase_text
from nmt.text.sentences import MARKS, PUNCTUATION, find_label, joint, possible_ends, split_clauses, split_sentences
from nmt.vocabulary import SPACE

SHORT_SENTENCE = 10  # a shorter part of a long sentence is joined to the next, unless a sentence surely ends there
MOST_GROUPINGS = 50  # of the sentences of a given translation, if it has more of them than its source
CONTINUATION_BYTE = re.compile("<0x[89AB][0-9A-F]>")


def share(constraints: Constraints, texts: Sequence[str]) -> list[Constraints]:
    """The constraints of each part of a text. The prefix goes to the first part that is not blank, and each term to the
    part with the words that it translates, else to the same as the prefix."""
    if not constraints:
        return [constraints] * len(texts)
    first = next((i for i, text in enumerate(texts) if text), 0)
    must: list[list[Term]] = [[] for _ in texts]
    for term in constraints.must if texts else ():
        must[first + place_of(term.source, texts[first:])].append(term)
    return [
        Constraints(constraints.prefix if i == first else "", tuple(terms), constraints.must_not)
        for i, terms in enumerate(must)
    ]


def place_of(phrase: str, texts: Sequence[str]) -> int:
    """The index of the first text with the phrase, preferably in this case, and as whole words; 0 if none has it."""
    if not phrase_text(phrase):
        return 0
    words = Phrase.parse(phrase, any_case=True)
    forms = (replace(words, any_case=False), words, replace(words, left=False, right=False))
    return next((i for form in forms for i, text in enumerate(texts) if any(form.find(text))), 0)


def joined(kept: Sequence[str], translations: Sequence[Translation]) -> Translation:
    """One translation of the texts that are kept, with a translation after each but the last."""
    pieces: list[str | Translation] = [kept[0]]
    for text, translation in zip(kept[1:], translations, strict=True):
        pieces += [translation, text]
    return join(pieces)


@dataclass(frozen=True)
class Segments(Taken):
    """The segments of a text with mark-up."""

    outer: list[Segment]
    inner: list[Segment]
    text: str

    def back(self, lists: Sequence[list[Translation]]) -> list[Translation]:
        if lists:
            return super().back(lists)
        words = tuple((word.start(), word.start()) for word in re.finditer(r"\S+", self.text))
        return [Translation(self.text, 0.0, (), links=words)]

    def put_back(self, chosen: Sequence[Translation]) -> Translation:
        between, inside = chosen[: len(self.outer)], chosen[len(self.outer) :]
        starts = [*(segment.start for segment in self.outer), len(self.text)]
        ends = [0, *(segment.end for segment in self.outer)]
        kept = [self.text[end:start] for end, start in zip(ends, starts, strict=True)]
        whole = joined(kept, between)
        return self.with_inside(whole, inside, join(chosen)) if inside else whole

    def with_inside(self, whole: Translation, inside: Sequence[Translation], all_parts: Translation) -> Translation:
        """The translation with those of attributes and CDATA in the tags, wherever these stand now."""
        new = {segment.raw: translation for segment, translation in zip(self.inner, inside, strict=True)}
        found = [segment for segment in parse_inner(whole.text) if segment.raw in new]
        edits: list[Edit] = [(s.start, s.end, new[s.raw].text) for s in found]
        edited, parts = whole.edited(edits), list[Part]()
        if len(parse_inner(edited.text)) < len(found):  # a translation is too long for an attribute
            edited = whole.flagged("items")
        else:
            place, starts = shifts(edits), defaultdict[str, list[int]](list)
            for segment in reversed(found):
                starts[segment.raw].append(segment.start)
            for segment, translation in zip(self.inner, inside, strict=True):
                start = place(starts[segment.raw].pop()) if starts[segment.raw] else 0
                parts += [replace(part, target_places=shifted(part.target_places, start)) for part in translation.parts]
        parts = [*edited.parts, *parts]
        return replace(edited, score=all_parts.score, parts=tuple(parts), fallback=all_parts.fallback).flagged(
            *all_parts.flags
        )

    def targets(self, text: str) -> Iterator[tuple[str, ...]]:
        found = [segment.raw for segment in parse(text) + parse_inner(text)]
        if len(found) == len(self.readings):
            yield tuple(found)


def mark_up(reading: Reading, context: Context) -> Segments | None:
    """The segments of a text that is mark-up (see `nmt.text.markup.is_markup`)."""
    if not is_markup(reading.text, context.mode):
        return None
    text = re.sub("[\ud800-\udfff]", "\ufffd", reading.text).removesuffix("\r")
    outer, inner = parse(text, reading.user_items), parse_inner(text, reading.user_items)
    segments = outer + inner
    whole = replace(reading, text=text, places=reading.places[: len(text) + 1])
    shared = share(reading.constraints, [segment.lifted.text for segment in segments])
    parts = [
        replace(whole.part(segment.start, segment.end, constraints), segment=segment)
        for segment, constraints in zip(segments, shared, strict=True)
    ]
    return Segments(tuple(parts), outer, inner, text)


@dataclass(frozen=True)
class Lines(Taken):
    """The lines of a text, and the breaks and blanks between them."""

    gaps: tuple[str, ...]

    def put_back(self, chosen: Sequence[Translation]) -> Translation:
        return joined(self.gaps, chosen)

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
    texts = [context.tokenizer.readable(tidy(reading.text[first:last])) for first, last in spans]
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


Span = tuple[Reading, str, bool]
"""A part of a line that is searched alone, the blanks after it, and whether its sentence goes on after them."""


def sentences_of(reading: Reading, spans: Sequence[Span], context: Context) -> Sentences:
    parts, blanks, amid = zip(*spans, strict=True)
    shared = share(reading.constraints, [tidy(part.text) for part in parts])
    pairs = enumerate(zip(parts, shared, strict=True))
    readings = tuple(replace(part, constraints=constraints, number=n) for n, (part, constraints) in pairs)
    return Sentences(readings, blanks, amid, context)


def cut_sentences(reading: Reading, context: Context, *, clauses: bool = False) -> Sentences:
    """The spans of a line: as was usual in training, or at the end of each sentence and clause."""
    limits, encode = context.limits, context.tokenizer.encode_source
    parts, ids = [(reading.text, "")], encode([reading.text])
    usual = not clauses and len(ids[0]) <= limits.split_above
    if not usual or limits.sentences < math.inf:
        sentences = (split_clauses if clauses else split_sentences)(reading.text)
        if len(sentences) > (limits.sentences if usual else 1):
            if clauses and context.final_mark:
                reading, sentences = ended(reading, sentences, context.final_mark)
            parts, ids = sentences, encode([sentence for sentence, _ in sentences])
    if len(parts) == 1 and len(ids[0]) <= min(limits.pieces, limits.split_above):
        return Sentences((replace(reading, ids=tuple(ids[0])),), ("",), (False,), context)
    spans = [*spans_of(reading, parts, ids, context)]
    return sentences_of(reading, spans or [(replace(reading, ids=()), "", False)], context)


def ended(reading: Reading, clauses: Sequence[tuple[str, str]], mark: str) -> tuple[Reading, list[tuple[str, str]]]:
    """The clauses of a line, each with a mark at the end: of one without it, a model that saw no such sentence makes
    something else ("… my father father."). `clauses`: as those of `split_clauses`; returns the line and them."""
    parts, edits, end = list[tuple[str, str]](), list[Edit](), 0
    for clause, blank in clauses:
        end += len(clause)
        if blank.strip() and clause[-1] not in f"{MARKS}{PUNCTUATION}":
            edits.append((end, end, mark))
            clause += mark
        parts.append((clause, blank))
        end += len(blank)
    return reading.edited(edits), parts


def spans_of(reading: Reading, parts: list[tuple[str, str]], ids: list[list[int]], context: Context) -> Iterator[Span]:
    """The spans of the sentences of a line; a sentence without pieces has none."""
    most, split_above = context.limits.pieces, context.limits.split_above
    end = 0
    for (sentence, blank), sentence_ids in zip(parts, ids, strict=True):
        start, end = end, end + len(sentence) + len(blank)
        if len(sentence_ids) <= min(most, split_above):
            if sentence_ids:
                yield replace(reading.part(start, start + len(sentence)), ids=tuple(sentence_ids)), blank, False
            continue
        pieces = context.tokenizer.source_pieces(sentence_ids)
        starts = [0]  # of the pieces, with the blanks before them
        for places in piece_places(pieces, sentence)[:-1]:
            starts.append(places[-1] + 1 if places else starts[-1])
        starts.append(len(sentence))
        for first, last in pairwise([0, *cut_points(pieces, most, split_above)]):
            amid = last < len(pieces)
            gap = (" " if pieces[last].startswith(SPACE) else "") if amid else blank
            part = reading.part(*inner(reading.text, start + starts[first], start + starts[last]))
            yield replace(part, ids=tuple(sentence_ids[first:last])), gap, amid


def each_sentence(reading: Reading, context: Context) -> Sentences | None:
    """The sentences of a line, each for a search of its own."""
    parts = split_sentences(reading.text)
    if len(parts) < 2:
        return None
    spans, end = list[Span](), 0
    for sentence, blank in parts:
        spans.append((reading.part(end, end + len(sentence)), blank, False))
        end += len(sentence) + len(blank)
    return sentences_of(reading, spans, context)


@dataclass(frozen=True)
class Labelled(Taken):
    """The word before a colon, with which a line begins, and the text after it; or the text alone: the word stays."""

    lead: str
    """What stands before the translation of the text, and after that of the word."""
    places: Places
    """Of the characters of a word that stays, and of the colon, in the line as written."""

    def put_back(self, chosen: Sequence[Translation]) -> Translation:
        *words, text = chosen
        ends = [(len(word.text.rstrip(MARKS)), len(word.text), "") for word in words]
        words = [word.edited([end]) for word, end in zip(words, ends, strict=True)]
        whole = join([*words, self.lead, text])
        return replace(whole, links=(*zip(self.places, range(len(self.places)), strict=True), *whole.links))

    def targets(self, text: str) -> Iterator[tuple[str, ...]]:
        word, lead, rest = text.partition(self.lead)
        if lead and len(self.readings) == 1 + bool(word):
            yield (word, rest) if word else (rest,)


def label(reading: Reading, context: Context) -> Labelled | None:
    """The word before a colon, or number of a section, apart from the text after it. The number stays, and so does a
    word that training lacked: it may be a name. None if marks stand before it: `inside` takes them off."""
    found, words, constraints = find_label(reading.text), context.tokenizer.words, reading.constraints
    if not found or found.start(1) or constraints.prefix:
        return None
    # Terms without a source are for the rest.
    of_rest, of_label = share(constraints, [reading.text[found.end() :], found[1]])
    stays = (found[1][0].isdigit() or bool(words and words.unknown(found[1])[0])) and not of_label.must
    lead = found[0] if stays else found[2]
    if any(phrase in lead for phrase in constraints.must_not):
        return None
    parts = [reading.part(*found.span(1), of_label), reading.part(found.end(), len(reading.text), of_rest)]
    return Labelled(tuple(parts[stays:]), lead, reading.places[: found.end()] if stays else ())


by_clauses = partial(cut_sentences, clauses=True)


def cut_points(pieces: list[str], limit: int, split_above: int) -> list[int]:
    """The ends of the spans, each of at most `limit` pieces, that a sentence is cut into; [len(pieces)] if it isn't."""
    if len(pieces) <= min(limit, split_above):
        return [len(pieces)]
    ends, start, position = [], 0, 0
    possible = possible_ends("".join(pieces).replace(SPACE, " "))
    for i, piece in enumerate(pieces):
        if i - start == limit:  # the last place where a word begins or, if there is none, a character
            places = range(i, start, -1)
            words = (place for place in places if pieces[place].startswith(SPACE))
            characters = (place for place in places if not CONTINUATION_BYTE.fullmatch(pieces[place]))
            start = next(chain(words, characters), i)
            ends.append(start)
        position += len(piece)
        if position in possible and i + 1 - start >= min(SHORT_SENTENCE, limit):
            start = i + 1
            ends.append(start)
    return ends if ends and ends[-1] == len(pieces) else [*ends, len(pieces)]


def best_joins(lists: Sequence[Sequence[Translation]], n_best: int) -> Lists:
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
