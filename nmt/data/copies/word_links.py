"""Words of a corpus that translate each other: pairs flow in, links of their words flow out.

A word and its translation are two words that each have the highest probability for the other: see `lexicon`.

Shapes: I tokens of the source, J of the target.
"""

from collections.abc import Sequence

import numpy as np

from nmt.data.batches import Pairs, Sequences
from nmt.data.cleaning import Pair
from nmt.data.copies.lexicon import Lexicon
from nmt.text.tokens import words

Link = tuple[int, int]  # a source token and a target token that translate each other

LEAST = 0.1  # probability of a link, in both directions together


class Aligner:
    """Links between the words of the pairs of a corpus."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        sides, sizes = [], []
        for side in (0, 1):
            known: dict[str, int] = {}
            ids = ([known.setdefault(token, len(known)) for token in tokens(pair[side])] for pair in pairs)
            sides.append(Sequences.of(ids))
            sizes.append(len(known))
        self.corpus, self.size = Pairs(*sides), sizes[1]
        lexicon = Lexicon(self.corpus, *sizes)
        self.keys, self.probability = lexicon.keys, lexicon.probabilities(0) * lexicon.probabilities(1)

    def links(self, n: int) -> list[Link]:
        """The links of pair n, in the order of the source. A word that occurs twice on a side has none."""
        source, target = (side.ids(n).numpy() for side in (self.corpus.source, self.corpus.target))
        if not (len(source) and len(target)):
            return []
        keys_IJ = source[:, None] * self.size + target
        place_IJ = np.searchsorted(self.keys, keys_IJ).clip(max=len(self.keys) - 1)
        found_IJ = np.where(self.keys[place_IJ] == keys_IJ, self.probability[place_IJ], 0.0)
        best_I, best_J = found_IJ.argmax(1), found_IJ.argmax(0)
        once_I, once_J = ((ids[:, None] == ids).sum(1) == 1 for ids in (source, target))
        return [
            (i, int(j))
            for i, j in enumerate(best_I)
            if best_J[j] == i and found_IJ[i, j] >= LEAST and once_I[i] and once_J[j]
        ]


def tokens(text: str) -> list[str]:
    return [text[start:end].lower() for start, end in token_places(text)]


def token_places(text: str) -> list[tuple[int, int]]:
    """Start and end of the tokens of a text; tags and addresses are divided like words."""
    return [*words(text, 0, len(text))]
