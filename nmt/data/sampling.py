"""Text segmented anew at each draw, at random, so that a model can't rely on one spelling (Kudo 2018, section 3.2).

SentencePiece's own sampling can't be repeated: another process draws otherwise from the same seed. But no piece crosses
a space. So the segmentations of a sentence are those of its words, side by side, and their probabilities multiply: the
likeliest of each distinct word are found once, and a draw only chooses one for each word of the text, all at once.

Shapes: N sentences, O words of the text in order, W distinct words, C segmentations of all distinct words, D ids drawn.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch

from nmt.data.batches import Pairs, Sequences
from nmt.data.tokenizer import Tokenizer, segmentations

CANDIDATES = 32  # segmentations kept of each word


class SampledText:
    """Lines of text whose segmentation can be drawn."""

    def __init__(self, model: Any, lines: Sequence[str], alpha: float, longest: int) -> None:
        """Args:
        model: `Tokenizer.source` or `.target`, of the unigram kind.
        lines: the text.
        alpha: a segmentation is drawn in proportion to its probability to this power.
        longest: a sentence that could be drawn with more pieces than that always has its usual segmentation.
        """
        numbers: dict[str, int] = {}
        words = [[numbers.setdefault(word, len(numbers)) for word in line.split(" ") if word] for line in lines]
        candidates = segmentations(model, list(numbers), CANDIDATES)
        self.pieces = Sequences.of(ids for options in candidates for ids in options)
        scores = [model.get_score(i) for i in range(model.vocab_size())]
        self.edges_C = torch.tensor(
            [
                word + edge
                for word, options in enumerate(candidates)
                for edge in cumulative([alpha * sum(scores[i] for i in ids) for ids in options])
            ],
            dtype=torch.float64,
        )
        self.word_O = torch.tensor([word for line in words for word in line], dtype=torch.int64)
        self.words_N = torch.tensor([len(line) for line in words], dtype=torch.int64)
        most = [max(map(len, options)) for options in candidates]
        usual = [len(options[0]) for options in candidates]
        mosts = [sum(most[word] for word in line) for line in words]
        long_N = torch.tensor([length > longest for length in mosts], dtype=torch.bool)
        self.longest = max(
            (
                sum(usual[word] for word in line) if length > longest else length
                for line, length in zip(words, mosts, strict=True)
            ),
            default=0,
        )
        """Most pieces that a line can be drawn with."""
        self.fixed_O = long_N.repeat_interleave(self.words_N)

    def draw(self, generator: torch.Generator) -> Sequences:
        """The lines as ids."""
        chance_O = torch.rand(len(self.word_O), generator=generator, dtype=torch.float64)
        chance_O[self.fixed_O] = 0.0  # the first of a word's segmentations, its usual one
        # Where there are many words, a sum just below the next word's number would be rounded up to it.
        word_O = self.word_O.double()
        point_O = torch.minimum(word_O + chance_O, torch.nextafter(word_O + 1, word_O))
        chosen_O = torch.searchsorted(self.edges_C, point_O, right=True)
        lengths_O, starts_O = self.pieces.lengths_N[chosen_O], self.pieces.starts_N[chosen_O]
        # Positions in the table of pieces: each word's run from its start on.
        offset_O = starts_O - (lengths_O.cumsum(0) - lengths_O)
        flat_D = self.pieces.flat[offset_O.repeat_interleave(lengths_O) + torch.arange(int(lengths_O.sum()))]
        line_O = torch.arange(len(self.words_N)).repeat_interleave(self.words_N)
        return Sequences(flat_D, torch.zeros_like(self.words_N).index_add_(0, line_O, lengths_O))


def cumulative(logits: Sequence[float]) -> list[float]:
    """Cumulative probabilities, the last exactly 1."""
    weights = [math.exp(logit - max(logits)) for logit in logits]
    total = sum(weights)
    return [*(part / total for part in list(accumulate(weights))[:-1]), 1.0]


class SampledPairs:
    """Both sides of a corpus, segmented anew in each epoch."""

    def __init__(self, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]], alpha: float, longest: int) -> None:
        self.source = SampledText(tokenizer.source, [source for source, _ in pairs], alpha, longest)
        self.target = SampledText(tokenizer.target, [target for _, target in pairs], alpha, longest)

    @property
    def longest(self) -> int:
        """Most pieces that a side can be drawn with."""
        return max(self.source.longest, self.target.longest)

    def draw(self, seed: int, epoch: int) -> Pairs:
        """A pure function of (seed, epoch): the same in every process."""
        generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
        return Pairs(self.source.draw(generator), self.target.draw(generator))
