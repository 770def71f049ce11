"""Placeholders: pieces that a model learns to copy, and to put where the translations of their neighbours are.

Pairs flow in; copies of a share of them (`data.placeholders`) flow out, with placeholders at corresponding places of
both sides: instead of a word and its translation, after them, or at the beginning of both. What stands between two
words goes with the word before it, so that a model knows its place where the translations have another one between.

A word and its translation are two words that each have the highest probability for the other: see `lexicon`.
"""

from collections.abc import Sequence
from random import Random

from nmt.data.cleaning.cleaner import Pair
from nmt.data.copies.lexicon import Ids, Lexicon
from nmt.text.edits import Edit, apply
from nmt.text.scripts import without_signs
from nmt.text.tokens import words
from nmt.vocabulary import ITEMS

WAYS = ("instead", "after")  # of a word, where placeholders stand
AT_FIRST = 0.1  # share of the items beside words that stand at the beginning of both sides
# From so many pairs beside the chosen ones, the translations of words are learned. For 13,000 of 131,000 pairs of two
# sentences each, they give 99% of the links that 20,000 others give, in less than half of the time.
MORE_PAIRS = 5_000
MOST_EDITS = 3  # of a copy, each at a word of its own
LEAST = 0.1  # probability of a link, in both directions together

Link = tuple[int, int]  # a source token and a target token that translate each other


def add_placeholders(pairs: Sequence[Pair], share: float) -> list[Pair]:
    """Copies with placeholders of a random share of the pairs (always the same ones), as far as words have links."""
    if not share:
        return []
    random = Random("placeholders")
    chosen = random.sample(range(len(pairs)), round(len(pairs) * share))
    others = sorted({*range(len(pairs))}.difference(chosen))[:MORE_PAIRS]
    aligner = Aligner([pairs[n] for n in (*chosen, *others)])
    copies = (with_placeholders(pairs[n], aligner.links(i), random) for i, n in enumerate(chosen))
    return [copy for copy in copies if copy]


def with_placeholders(pair: Pair, links: Sequence[Link], random: Random) -> Pair | None:
    """The pair with placeholders; None if it has no links."""
    places = [*map(token_places, pair)]
    written = [pair[0][start:end] for start, end in places[0]]
    of_words = [(i, j) for i, j in links if without_signs(written[i]) == written[i]]  # letters, marks and digits alone
    if not of_words:
        return None
    edits: tuple[list[Edit], list[Edit]] = ([], [])
    ways = random.choices(WAYS, k=min(len(of_words), random.randint(1, MOST_EDITS)))
    chosen = random.sample(of_words, len(ways))
    for way, link, mark in zip(ways, chosen, random.sample(ITEMS, len(ways)), strict=True):
        is_first = way == "after" and random.random() < AT_FIRST
        for side in (0, 1):
            start, end = places[side][link[side]]
            if way == "instead":
                edits[side].append((start, end, mark))
            else:
                edits[side].append((0, 0, f"{mark} ") if is_first else (end, end, f" {mark}"))
    return apply(pair[0], sorted(edits[0])), apply(pair[1], sorted(edits[1]))


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
