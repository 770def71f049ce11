"""From lines to what the model reads: spans of pieces, none too long, in batches of like length.

A line of more pieces than `split_above` is cut at every sentence end that leaves a span of SHORT_SENTENCE pieces or
more; what is longer than `limit` all the same, at the last space that fits; and text without spaces, between
characters.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.decode.hypothesis import EOS, PAD

# Of an over-long line, a sentence below this length stays with the next: it may be no sentence but an abbreviation.
SHORT_SENTENCE = 10
# A batch has at most this many source pieces for each of `batch_size` sentences, padding counted: memory stays bounded.
BATCH_PIECES_PER_SENTENCE = 64

SENTENCE_END = re.compile("[.!?…][\"'”’»)\\]]*(?=▁)|[。！？][”’」』）]*")
CONTINUATION_BYTE = re.compile("<0x[89AB][0-9A-F]>")


@dataclass(frozen=True)
class Span:
    """A part of a line, as ids without EOS, and what its translation must be like."""

    ids: tuple[int, ...]
    prefix: tuple[int, ...] = ()
    must: tuple[tuple[str, ...], ...] = ()
    must_not: tuple[str, ...] = ()


def cut_points(pieces: list[str], limit: int, split_above: int) -> list[int]:
    """Ends of the spans, each at most `limit` pieces, that a source is read in; [len(pieces)] if it is read whole."""
    if len(pieces) <= min(limit, split_above):
        return [len(pieces)]
    text, ends, start = "".join(pieces), [], 0
    sentence_ends = {match.end() for match in SENTENCE_END.finditer(text)}
    position = 0
    for i, piece in enumerate(pieces):
        if i - start == limit:
            start = last_break(pieces, start, i)
            ends.append(start)
        position += len(piece)
        if position in sentence_ends and i + 1 - start >= min(SHORT_SENTENCE, limit):
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


def make_batches(spans: Iterable[Span], batch_size: int) -> Iterator[list[Span]]:
    """Spans of like length together, longest first; at most `batch_size`, and bounded in pieces."""
    batch: list[Span] = []
    for span in sorted(spans, key=lambda span: len(span.ids), reverse=True):
        longest = len(batch[0].ids) if batch else 0
        if len(batch) == batch_size or (len(batch) + 1) * longest > batch_size * BATCH_PIECES_PER_SENTENCE:
            yield batch
            batch = []
        batch.append(span)
    if batch:
        yield batch


def pad(sentences: Iterable[Iterable[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids (B, S), each sentence with EOS, and the mask (B, S) that is True at real positions."""
    with_eos = [[*ids, EOS] for ids in sentences]
    longest = max(map(len, with_eos))
    ids_BS = torch.tensor([[*ids, *[PAD] * (longest - len(ids))] for ids in with_eos], device=device)
    return ids_BS, ids_BS != PAD
