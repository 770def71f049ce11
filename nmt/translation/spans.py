"""The pieces of a line flow in; spans of bounded length flow out, and padded batches of spans of similar length.

A line of more pieces than `split_above` is cut at sentence ends after at least SHORT_SENTENCE pieces; SHORTEST_SENTENCE
is enough if the end can't be an abbreviation. A sentence longer than `limit` is cut at the last space that
fits, and text without spaces between characters.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from nmt.data.tokenizer import Tokenizer
from nmt.text.scripts import Phrase, phrase_text
from nmt.translation.request import NO_CONSTRAINTS, Constraints, Term
from nmt.vocabulary import EOS, PAD

# Maximum number of source pieces of a batch, padding included, divided by `batch_size`: it bounds the memory.
BATCH_PIECES_PER_SENTENCE = 64
# Fewest pieces of a halved span.
SHORTEST_SPAN = 8
# A shorter sentence is joined to the next, since its end may be an abbreviation. An end is certain after a mark other
# than the full stop, or after a word too long for an abbreviation, unless a small letter follows.
SHORT_SENTENCE, SHORTEST_SENTENCE = 10, 4
CERTAIN_END = re.compile(
    "(?:[!?…]|(?<![^\\W_])[^\\W\\d_A-ZÄÖÜ]{4}[^\\W\\d_]*+[.]|(?<![^\\W\\d_])[^\\W\\d_]{5,}+[.])"
    "[\"'”’»)\\]]*(?=▁)|[。！？][”’」』）]*"
)
SENTENCE_END = re.compile("[.!?…][\"'”’»)\\]]*(?=▁)|[。！？][”’」』）]*")
CONTINUATION_BYTE = re.compile("<0x[89AB][0-9A-F]>")

Sentence = TypeVar("Sentence")


@dataclass(frozen=True)
class Span:
    """A part of a line, as ids without EOS, and the constraints of its translation."""

    ids: tuple[int, ...]
    constraints: Constraints = NO_CONSTRAINTS

    def __len__(self) -> int:
        return len(self.ids)


def cut_line(
    ids: list[int], constraints: Constraints, tokenizer: Tokenizer, *, limit: int, split_above: int, halved: bool
) -> list[Span]:
    """Cut the pieces of a line into spans of at most `limit` (no span if the line is blank); `halved`: half as long.

    The prefix goes to the first span, and each term to the span with the words that it translates.
    """
    if not ids:
        return []
    ends = [len(ids)]
    if halved or len(ids) > min(limit, split_above):
        pieces = tokenizer.source_pieces(ids)
        ends = cut_points(pieces, limit, split_above)
        if halved:
            longest = max(end - start for start, end in zip([0, *ends], ends, strict=False))
            ends = cut_points(pieces, min(limit, max(SHORTEST_SPAN, longest // 2)), split_above=1)
    parts = [tuple(ids[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    if not constraints:
        return [Span(part) for part in parts]
    texts = tokenizer.decode_source(parts)
    must: list[list[Term]] = [[] for _ in parts]
    for term in constraints.must:
        must[place_of(term.source, texts)].append(term)
    return [
        Span(part, Constraints("" if i else constraints.prefix, tuple(must[i]), constraints.must_not))
        for i, part in enumerate(parts)
    ]


def cut_points(pieces: list[str], limit: int, split_above: int) -> list[int]:
    """The ends of the spans, each of at most `limit` pieces, that a line is cut into; [len(pieces)] if it isn't cut."""
    if len(pieces) <= min(limit, split_above):
        return [len(pieces)]
    text, ends, start = "".join(pieces), [], 0
    shortest = {match.end(): SHORT_SENTENCE for match in SENTENCE_END.finditer(text)}
    for match in CERTAIN_END.finditer(text):
        if not text[match.end() : match.end() + 2].strip("▁").islower():
            shortest[match.end()] = SHORTEST_SENTENCE
    position = 0
    for i, piece in enumerate(pieces):
        if i - start == limit:
            start = last_break(pieces, start, i)
            ends.append(start)
        position += len(piece)
        if position in shortest and i + 1 - start >= min(shortest[position], limit):
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


def pad(sentences: Iterable[Iterable[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids (B, S), each sentence with EOS, and the mask (B, S) that is True at real positions."""
    ids_BS = pad_sequence([torch.tensor([*ids, EOS]) for ids in sentences], batch_first=True, padding_value=PAD)
    ids_BS = ids_BS.to(device)
    return ids_BS, ids_BS != PAD
