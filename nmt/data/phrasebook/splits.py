"""Splitting sentences for training and for validation and test: by combinations of words, not by sentences alone.

In flow drawn sentences, out flow the combinations to hold out, the held-out sentences whose words training knows, and
two splits of these that share no sentence.
"""

from collections import Counter
from collections.abc import Iterable
from random import Random

from nmt.data.phrasebook.sentence import Sentence


def choose_combinations(rng: Random, pool: list[Sentence], sentences_wanted: int) -> frozenset[str]:
    """Holds out combinations, rare and common ones alike, until so many sentences contain one.

    A combination of words that hardly meet others is left alone: without it, training would not know its words.
    """
    frequency = Counter(combination for sentence in pool for combination in sentence.combinations)
    partners = Counter(word for combination in frequency for word in combination.split("+"))
    candidates = sorted(
        combination
        for combination, count in frequency.items()
        if count <= len(pool) // 200 and all(partners[word] >= 4 for word in combination.split("+"))
    )
    rng.shuffle(candidates)
    held_out: set[str] = set()
    expected = 0
    for combination in candidates:
        if expected >= sentences_wanted:
            break
        held_out.add(combination)
        expected += frequency[combination]
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
    """Deals sentences out to two splits in turn, so that no English sentence stands in both."""
    val: dict[str, Sentence] = {}
    test: dict[str, Sentence] = {}
    for sentence in sentences:
        smaller, larger = (val, test) if len(val) <= len(test) else (test, val)
        if sentence.english not in larger and len(smaller) < size:
            smaller.setdefault(sentence.english, sentence)
    return list(val.values()), list(test.values())
