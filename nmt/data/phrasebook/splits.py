"""Splitting sentences into training and held-out ones: by combinations of words, not by sentences alone.

In flow sentences, out flow the pairs of words to hold out, the held-out sentences whose words training knows, and two
splits of these that share no sentence.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations, pairwise
from random import Random

from nmt.data.phrasebook.patterns import Sentence

WordPair = frozenset[str]
"""Two dictionary forms, in no order: "weiß" and "Hose" are one pair, whichever of them comes first."""


def word_pairs(sentence: Sentence) -> set[WordPair]:
    return {frozenset(pair) for pair in combinations(sentence.words, 2)}


def choose_pairs(rng: Random, pool: list[Sentence], sentences_wanted: int) -> frozenset[WordPair]:
    """Choose pairs to hold out, rare and common ones alike, until so many sentences have one.

    A pair is chosen among content words that follow each other, since those mostly belong together (adjective and noun,
    object and verb). A pair with a word that hardly meets others is left alone: without it, training would not know the
    word.
    """
    frequency = Counter(pair for sentence in pool for pair in word_pairs(sentence))
    partners = Counter(word for pair in frequency for word in pair)
    neighbours = {frozenset(pair) for sentence in pool for pair in pairwise(sentence.words)}
    candidates = [
        pair
        for pair in sorted(neighbours, key=sorted)
        if frequency[pair] <= len(pool) // 200 and all(partners[word] >= 4 for word in pair)
    ]
    rng.shuffle(candidates)
    held_out: set[WordPair] = set()
    expected = 0
    for pair in candidates:
        if expected >= sentences_wanted:
            break
        held_out.add(pair)
        expected += frequency[pair]
    return frozenset(held_out)


def sayable(unseen: list[Sentence], train: list[Sentence]) -> list[Sentence]:
    """The unseen sentences whose every word form occurs in training, and whose English does not."""
    german_words = {word for sentence in train for word in words_of(sentence.german)}
    english_words = {word for sentence in train for word in words_of(sentence.english)}
    trained_on = {sentence.english for sentence in train}
    return [
        sentence
        for sentence in unseen
        if sentence.english not in trained_on
        and german_words.issuperset(words_of(sentence.german))
        and english_words.issuperset(words_of(sentence.english))
    ]


def words_of(text: str) -> Iterable[str]:
    """The word forms of a sentence, without the marks around them and without the sentence's capital."""
    first, *others = (word.strip(".,?!:") for word in text.split())
    return [first[0].lower() + first[1:], *others]


def two_splits(sentences: list[Sentence], size: int) -> tuple[list[Sentence], list[Sentence]]:
    """Deal sentences out to two splits in turn, so that no English sentence stands in both."""
    val: dict[str, Sentence] = {}
    test: dict[str, Sentence] = {}
    for sentence in sentences:
        smaller, larger = (val, test) if len(val) <= len(test) else (test, val)
        if sentence.english not in larger and len(smaller) < size:
            smaller.setdefault(sentence.english, sentence)
    return list(val.values()), list(test.values())
