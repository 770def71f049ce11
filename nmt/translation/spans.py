"""Lines of text flow in; spans of bounded length flow out, and padded batches of spans of similar length.

A line is cut into its sentences (`nmt.text.sentences`) if it has more of them, or more pieces, than was usual in
training. A sentence that is still too long is cut where a sentence may end, after at least SHORT_SENTENCE pieces. What
is longer than the model may read is cut at the last space that fits, and text without spaces between characters.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal, TypeVar

from nmt.data.tokenizer import Tokenizer
from nmt.text.normalise import tidy
from nmt.text.scripts import Phrase, phrase_text
from nmt.text.sentences import DASH, possible_ends, split_clauses, split_sentences
from nmt.translation.request import NO_CONSTRAINTS, Constraints, Request, Term
from nmt.vocabulary import SPACE

# Maximum number of source pieces of a batch, padding included, divided by `batch_size`: it bounds the memory.
BATCH_PIECES_PER_SENTENCE = 64
# Fewest pieces of a halved span.
SHORTEST_SPAN = 8
# A shorter part of a long sentence is joined to the next, where it isn't certain that a sentence ends.
SHORT_SENTENCE = 10
CONTINUATION_BYTE = re.compile("<0x[89AB][0-9A-F]>")

Cut = Literal["usual", "sentences", "halves"]
"""Where lines are cut: as was usual in training, at the end of each sentence, or in spans half as long as usual."""

Sentence = TypeVar("Sentence")


@dataclass(frozen=True)
class Limits:
    """When a line is cut."""

    pieces: int
    """The most pieces of a span."""
    split_above: int
    """A line of more pieces is cut between its sentences."""
    sentences: float = math.inf
    """A line of more sentences is cut between them."""


@dataclass(frozen=True)
class Span:
    """A part of a line, as ids without EOS, and the constraints of its translation."""

    ids: tuple[int, ...]
    constraints: Constraints = NO_CONSTRAINTS
    blank: str = field(default="", compare=False)
    """The blanks that follow it in the line, with a mark if it is a clause (`nmt.text.sentences.split_clauses`)."""
    ends_sentence: bool = field(default=True, compare=False)

    def __len__(self) -> int:
        return len(self.ids)

    def with_terms(self, must: tuple[Term, ...]) -> "Span":
        """The span with these terms in place of its own."""
        return replace(self, constraints=replace(self.constraints, must=must))


def cut_lines(
    requests: Sequence[Request], tokenizer: Tokenizer, limits: Limits, cut: Cut = "usual"
) -> list[list[Span]]:
    """Cut each line into spans of at most `limits.pieces`; a blank line has none.

    The prefix goes to the first span, and each term to the span with the words that it translates.
    """
    texts = [tidy(request.text)[0] for request in requests]
    ids_of = tokenizer.encode_source(texts)
    parts_of = [[(text, "")] for text in texts]
    for n, request in enumerate(requests):
        odd = has_odd_dash(texts[n], tokenizer)
        split = split_clauses if cut == "sentences" or odd else split_sentences
        sentences = split(tidy_cells(request.text) if "\t" in request.text else texts[n])
        is_usual = cut == "usual" and not odd and len(ids_of[n]) <= limits.split_above
        if len(sentences) > (limits.sentences if is_usual else 1):
            parts_of[n] = sentences
    several = [n for n, parts in enumerate(parts_of) if len(parts) > 1]
    encoded = iter(tokenizer.encode_source([part for n in several for part, _ in parts_of[n]]))
    lines = [[(ids, "")] if ids else [] for ids in ids_of]
    for n in several:
        lines[n] = [(ids, blank) for _, blank in parts_of[n] if (ids := next(encoded))]
    return [
        constrain(cut_sentences(line, tokenizer, limits, cut), request.constraints, tokenizer)
        for line, request in zip(lines, requests, strict=True)
    ]


def has_odd_dash(text: str, tokenizer: Tokenizer) -> bool:
    """Whether a dash stands between words, which it never did in training."""
    found = DASH.search(text) if tokenizer.words else None
    return bool(found and tokenizer.words and tokenizer.words.signs.isdisjoint(tokenizer.readable(found[0])))


def tidy_cells(text: str) -> str:
    """The tidied text, where tabs stay: they may separate sentences."""
    return "\t".join(tidy(cell)[0] for cell in text.split("\t")).strip()


def cut_sentences(line: list[tuple[list[int], str]], tokenizer: Tokenizer, limits: Limits, cut: Cut) -> list[Span]:
    """Spans of sentences, which are given as ids with the blanks after them."""
    spans = []
    longest = max((len(ids) for ids, _ in line), default=0)
    most = min(limits.pieces, max(SHORTEST_SPAN, longest // 2)) if cut == "halves" else limits.pieces
    split_above = 1 if cut == "halves" else limits.split_above
    for ids, blank in line:
        ends = [len(ids)]
        if len(ids) > min(most, split_above):
            pieces = tokenizer.source_pieces(ids)
            ends = cut_points(pieces, most, split_above)
        for start, end in zip([0, *ends], ends, strict=False):
            amid = end < len(ids)
            gap = (" " if pieces[end].startswith(SPACE) else "") if amid else blank
            spans.append(Span(tuple(ids[start:end]), blank=gap, ends_sentence=not amid))
    return spans


def constrain(spans: list[Span], constraints: Constraints, tokenizer: Tokenizer) -> list[Span]:
    """The spans of a line with its constraints."""
    if not constraints:
        return spans
    shared = share(constraints, tokenizer.decode_source([span.ids for span in spans]))
    return [replace(span, constraints=own) for span, own in zip(spans, shared, strict=True)]


def share(constraints: Constraints, texts: Sequence[str]) -> list[Constraints]:
    """The constraints of each part of a text. The prefix goes to the first part that is not blank, and each term to the
    part with the words that it translates, else to the same as the prefix. Hints go to all: they need their words."""
    if not constraints:
        return [constraints] * len(texts)
    first = next((i for i, text in enumerate(texts) if text), 0)
    must: list[list[Term]] = [[] for _ in texts]
    for term in constraints.must if texts else ():
        must[first + place_of(term.source, texts[first:])].append(term)
    return [
        Constraints(constraints.prefix if i == first else "", tuple(terms), constraints.must_not, constraints.hints)
        for i, terms in enumerate(must)
    ]


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


def place_of(phrase: str, texts: Sequence[str]) -> int:
    """The index of the first text with the phrase, preferably as whole words; 0 if none has it. Case is ignored."""
    if not phrase_text(phrase):
        return 0
    words = Phrase.parse(phrase, any_case=True)
    forms = (words, replace(words, left=False, right=False))
    return next((i for form in forms for i, text in enumerate(texts) if any(form.find(text))), 0)


def make_batches(
    sentences: Iterable[Sentence], batch_size: int, length: Callable[[Sentence], int]
) -> Iterator[list[Sentence]]:
    """Batches of sentences of similar length, longest first: at most `batch_size` sentences, and bounded in pieces."""
    batch: list[Sentence] = []
    for sentence in sorted(sentences, key=length, reverse=True):
        longest = length(batch[0]) if batch else 0
        if len(batch) == batch_size or (len(batch) + 1) * longest > batch_size * BATCH_PIECES_PER_SENTENCE:
            yield batch
            batch = []
        batch.append(sentence)
    if batch:
        yield batch
