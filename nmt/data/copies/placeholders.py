"""Placeholders: pieces that a model learns to copy, and to put where the translations of their neighbours are.

Pairs flow in; copies of a share of them (`data.placeholders`) flow out, with placeholders at corresponding places of
both sides: instead of a word and its translation, after them, or at the beginning of both. What stands between two
words goes with the word before it: otherwise a model can't know on which side of "is" an item stands between "Frau" and
"steht" ("woman is standing").

Which words translate each other: `nmt.data.copies.word_links`.
"""

from collections.abc import Sequence
from random import Random

from nmt.data.cleaning import Pair
from nmt.data.copies.word_links import Aligner, Link, token_places
from nmt.text.edits import Edit, apply
from nmt.text.scripts import without_signs
from nmt.vocabulary import ITEMS

WAYS = ("instead", "after")  # of a word, where placeholders stand
AT_FIRST = 0.1  # share of the items beside words that stand at the beginning of both sides
# From so many pairs beside the chosen ones, the translations of words are learned. For 13,000 of 131,000 pairs of two
# sentences each, they give 99% of the links that 20,000 others give, in less than half of the time.
MORE_PAIRS = 5_000
MOST_EDITS = 3  # of a copy, each at a word of its own


def add_placeholders(pairs: Sequence[Pair], share: float) -> list[Pair]:
    """Copies of that share of the pairs, which are taken at random (always the same ones), with placeholders. A pair
    without a word whose translation is known is left out."""
    if not share:
        return []
    random = Random("placeholders")
    chosen = random.sample(range(len(pairs)), round(len(pairs) * share))
    others = sorted({*range(len(pairs))}.difference(chosen))[:MORE_PAIRS]
    aligner = Aligner([pairs[n] for n in (*chosen, *others)])
    copies = (with_placeholders(pairs[n], aligner.links(i), random) for i, n in enumerate(chosen))
    return [copy for copy in copies if copy]


def is_word(token: str) -> bool:
    """Whether a token has nothing but letters, marks and digits."""
    return without_signs(token) == token


def with_placeholders(pair: Pair, links: Sequence[Link], random: Random) -> Pair | None:
    """The pair with placeholders; None if it has no links."""
    places = [*map(token_places, pair)]
    of_words = [(i, j) for i, j in links if is_word(pair[0][slice(*places[0][i])])]
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
