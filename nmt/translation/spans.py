"""What is searched at once: spans of lines, as ids, in batches of similar length."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from nmt.reading.request import NO_CONSTRAINTS, Constraints, Term

# Maximum number of source pieces of a batch, padding included, divided by `batch_size`: it bounds the memory.
BATCH_PIECES_PER_SENTENCE = 64

Sentence = TypeVar("Sentence")


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
