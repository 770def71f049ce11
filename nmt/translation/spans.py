"""From lines to what the model reads: spans of pieces, none too long, in batches of like length.

A line of more pieces than `split_above` is cut at every sentence end that leaves a span of SHORT_SENTENCE pieces or
more, or of SHORTEST_SENTENCE where it is no abbreviation; what is longer than `limit` all the same, at the last space
that fits; and text without spaces, between characters.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from nmt.vocabulary import EOS, PAD

# Of an over-long line, a sentence below this length stays with the next: it may be no sentence but an abbreviation.
SHORT_SENTENCE = 10
# A batch has at most this many source pieces for each of `batch_size` sentences, padding counted: memory stays bounded.
BATCH_PIECES_PER_SENTENCE = 64

# An end is certain after a mark other than the full stop, or after a word too long for an abbreviation; but not before
# a small letter.
SHORTEST_SENTENCE = 4
CERTAIN_END = re.compile(
    "(?:[!?…]|(?<![^\\W_])[^\\W\\d_A-ZÄÖÜ]{4}[^\\W\\d_]*+[.]|(?<![^\\W\\d_])[^\\W\\d_]{5,}+[.])"
    "[\"'”’»)\\]]*(?=▁)|[。！？][”’」』）]*"
)
SENTENCE_END = re.compile("[.!?…][\"'”’»)\\]]*(?=▁)|[。！？][”’」』）]*")
CONTINUATION_BYTE = re.compile("<0x[89AB][0-9A-F]>")


Sentence = TypeVar("Sentence")


@dataclass(frozen=True)
class Span:
    """A part of a line, as ids without EOS, and what its translation must be like."""

    ids: tuple[int, ...]
    prefix: tuple[int, ...] = ()
    must: tuple[tuple[str, ...], ...] = ()
    must_not: tuple[str, ...] = ()

    @property
    def demanding(self) -> bool:
        return bool(self.prefix or self.must or self.must_not)

    def __len__(self) -> int:
        return len(self.ids)


def cut_points(pieces: list[str], limit: int, split_above: int) -> list[int]:
    """Ends of the spans, each at most `limit` pieces, that a source is read in; [len(pieces)] if it is read whole."""
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
    """The last place in (start, stop] where a word begins; if there is none, where a character does."""
    for i in range(stop, start, -1):
        if pieces[i].startswith("▁"):
            return i
    for i in range(stop, start, -1):
        if not CONTINUATION_BYTE.fullmatch(pieces[i]):
            return i
    return stop


def place_of(phrase: str, texts: Sequence[str]) -> int:
    """The first text that has the phrase as words, or else at all; 0 if none has it. Case is ignored."""
    whole = re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)", re.IGNORECASE)
    places = [i for i, text in enumerate(texts) if whole.search(text)] or [
        i for i, text in enumerate(texts) if phrase.casefold() in text.casefold()
    ]
    return places[0] if places else 0


def make_batches(
    sentences: Iterable[Sentence], batch_size: int, length: Callable[[Sentence], int]
) -> Iterator[list[Sentence]]:
    """Sentences of like length, in pieces, together, longest first; at most `batch_size`, and bounded in pieces."""
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
    with_eos = [[*ids, EOS] for ids in sentences]
    longest = max(map(len, with_eos))
    ids_BS = torch.tensor([[*ids, *[PAD] * (longest - len(ids))] for ids in with_eos], device=device)
    return ids_BS, ids_BS != PAD
