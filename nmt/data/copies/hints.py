"""Hints: translations of some words, in the source, which a model learns to use (Song et al. 2019; Dinu et al. 2019).

Pairs flow in; copies of a share of them (`data.hints`) flow out, whose sources have hints instead of some words or
phrases. With ⟨ and ⟩ for the marks of `nmt.vocabulary`: "Der ⟨ dog ⟩ schläft." and "The dog is sleeping.".

Beside their words, hints are hardly used: most are what the model would write anyway, and it learns little from the
others. After 2,450 steps of `recipes/multi30k.yaml`, terms were met in 82.0% instead of 80.7% of lines.

A glossary has one form of a word, and a sentence may need another one. So some hints have another form than the target
("dogs"), and the model learns to inflect (Bergmanis and Pinnis 2021 take lemmas, which need a lemmatiser). Other forms
are words of the corpus with the same beginning.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from random import Random

from nmt.data.cleaning import Pair
from nmt.data.copies.word_links import TOKEN, Aligner, Edit, Link, Phrase, are_apart, edited, enclosable, tokens
from nmt.vocabulary import HINT, HINT_END

MOST_HINTS = 3  # of a copy
PHRASES = 0.3  # share of the hints that may be for several words
OTHER_FORMS = 0.3  # share of the hints for one word that have another form of it, if there is one
N_COMMON = 100  # the most frequent source words, such as articles, have no hints; at most a tenth of all
STEM, ENDING = 4, 4  # fewest letters that forms of a word begin with alike, and most letters that follow


def add_hints(pairs: Sequence[Pair], share: float, aligner: Aligner) -> list[Pair]:
    """Copies of that share of the pairs, which are taken at random (always the same ones), with hints. A pair
    without a word whose translation is known is left out. `aligner`: of these pairs."""
    if not share:
        return []
    random, common, forms = Random("hints"), common_words(pairs), Forms(target for _, target in pairs)
    chosen = random.sample(range(len(pairs)), round(len(pairs) * share))
    copies = (with_hints(pairs[n], aligner.links(n), common, forms, random) for n in chosen)
    return [copy for copy in copies if copy]


def common_words(pairs: Sequence[Pair]) -> set[str]:
    """The most frequent words of the sources, in lower case."""
    counts = Counter(token for source, _ in pairs for token in tokens(source) if token.isalnum())
    return {token for token, _ in counts.most_common(min(N_COMMON, len(counts) // 10))}


class Forms:
    """The words of texts, to find other forms of a word."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.counts = Counter(token for text in texts for token in TOKEN.findall(text) if token.isalpha())
        self.words = sorted(self.counts)

    def others(self, word: str) -> list[str]:
        """Words that begin as this one does, and may be other forms of it."""
        stem = word[: max(STEM, len(word) - 2)]
        found, n = list[str](), bisect_left(self.words, stem)
        while len(word) >= STEM and n < len(self.words) and self.words[n].startswith(stem):
            found += [self.words[n]] if len(self.words[n]) <= len(stem) + ENDING else []
            n += 1
        return [other for other in found if other != word]

    def inside(self, text: str) -> str:
        """The first words of a sentence as they would be inside of one."""
        first, blank, rest = text.partition(" ")
        return first.lower() + blank + rest if self.counts[first.lower()] > self.counts[first] else text


def with_hints(pair: Pair, links: Sequence[Link], common: set[str], forms: Forms, random: Random) -> Pair | None:
    """The pair with hints; None if no word can have one. `common`: words of the source that have none."""
    places = [[match.span() for match in TOKEN.finditer(text)] for text in pair]
    source, target = ([text[slice(*place)] for place in side] for text, side in zip(pair, places, strict=True))
    of_words = [(i, j) for i, j in links if source[i].isalnum() and target[j].isalnum()]
    of_words = [(i, j) for i, j in of_words if source[i].lower() not in common]
    edits, taken = list[Edit](), list[Phrase]()
    for _ in range(random.randint(1, MOST_HINTS)):
        found = enclosable(links, of_words) if random.random() < PHRASES else [(link, link) for link in of_words]
        free = [phrase for phrase in found if all(map(partial(are_apart, phrase), taken))]
        if not free:
            continue
        phrase = random.choice(free)
        (start, left), (end, right) = phrase
        taken.append(phrase)
        text = pair[1][places[1][left][0] : places[1][right][1]]
        others = forms.others(text) if left == right and random.random() < OTHER_FORMS else []
        text = random.choice(others) if others else text if left else forms.inside(text)
        edits.append((places[0][start][0], places[0][end][1], f"{HINT} {text} {HINT_END}"))
    return (edited(pair[0], edits), pair[1]) if edits else None
