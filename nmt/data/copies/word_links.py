"""Words of a corpus that translate each other: pairs flow in, links of their words flow out.

A word and its translation are two words that each have the highest probability for the other: see `lexicon`.

Shapes: I tokens of the source, J of the target.
"""

from collections.abc import Sequence

from nmt.data.cleaning import Pair
from nmt.data.copies.lexicon import Ids, Lexicon
from nmt.text.tokens import words

Link = tuple[int, int]  # a source token and a target token that translate each other

LEAST = 0.1  # probability of a link, in both directions together


class Aligner:
    """Links between the words of the pairs of a corpus."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        known: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self.ids = [
            [[ids.setdefault(token, len(ids)) for token in tokens(pair[side])] for pair in pairs]
            for side, ids in enumerate(known)
        ]
        size = len(known[1])
        lexicon = Lexicon(Ids.of(self.ids[0]), Ids.of(self.ids[1]), len(known[0]), size)
        probabilities = lexicon.probabilities(0) * lexicon.probabilities(1)
        likely = probabilities >= LEAST
        self.translations: dict[int, dict[int, float]] = {}
        """The likely translations of each source word, with their probabilities."""
        for key, probability in zip(lexicon.keys[likely].tolist(), probabilities[likely].tolist(), strict=True):
            self.translations.setdefault(key // size, {})[key % size] = probability

    def links(self, n: int) -> list[Link]:
        """The links of pair n, in the order of the source. A word that occurs twice on a side has none."""
        source, target = self.ids[0][n], self.ids[1][n]
        first_i, first_j = ({word: len(ids) - k for k, word in enumerate(reversed(ids), 1)} for ids in (source, target))
        found = [
            (-probability, i, first_j[translation])
            for word, i in first_i.items()
            for translation, probability in self.translations.get(word, {}).items()
            if translation in first_j
        ]
        best_j, best_i = dict[int, int](), dict[int, int]()
        for _, i, j in sorted(found):  # of equal probabilities, the first words count
            best_j.setdefault(i, j)
            best_i.setdefault(j, i)
        mutual = sorted((i, j) for i, j in best_j.items() if best_i[j] == i)
        return [(i, j) for i, j in mutual if source.count(source[i]) == target.count(target[j]) == 1]


def tokens(text: str) -> list[str]:
    return [text[start:end].lower() for start, end in token_places(text)]


def token_places(text: str) -> list[tuple[int, int]]:
    """Start and end of the tokens of a text; tags and addresses are divided like words."""
    return [*words(text, 0, len(text))]
