"""The phrasebook: a German–English corpus that needs no download, made from a grammar and a lexicon.

In flow a seed and the sizes wanted, out flow three splits of (German, English) pairs. The held-out splits test whether
a model can put known words together anew: each of their sentences has at least one pair of content words that occurs
together in no training sentence, while every word form in them occurs in training.

The words and the patterns are tables in this folder, which a person can extend without writing code; the head of each
explains its columns: nouns, adjectives, verbs, lists (names, times …), actions (what people do), predicates, patterns.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random

from nmt.data.phrasebook.lexicon import Pair
from nmt.data.phrasebook.patterns import PATTERNS, Sentence
from nmt.data.phrasebook.splits import WordPair, choose_pairs, sayable, two_splits, word_pairs

MOST_SENTENCES = 250_000
"""The most sentences that a corpus may be chosen from: the grammar has more, but repeats itself ever more often."""

SPARE = 1.6
# Held-out sentences drawn for each one needed: some have a word form that training lacks, or a known English side.


@dataclass(frozen=True)
class Phrasebook:
    """The three splits, each a list of (German, English) pairs, and the pairs of words kept out of training."""

    train: list[Pair]
    val: list[Pair]
    test: list[Pair]
    held_out: frozenset[WordPair] = field(repr=False)


def phrasebook(seed: int = 1, train_pairs: int = 40_000, held_out_pairs: int = 1_000) -> Phrasebook:
    """Makes the corpus: the same for the same arguments, on any machine.

    Args:
        seed: another seed draws other sentences and holds out other pairs of words.
        train_pairs: sentences to train on.
        held_out_pairs: sentences in each of val and test.

    Raises:
        ValueError: if a size is negative, or more is asked for than the grammar gives.
    """
    if min(train_pairs, held_out_pairs) < 0:
        raise ValueError(f"train_pairs is {train_pairs} and held_out_pairs {held_out_pairs}: neither can be negative")
    spare = int(2 * SPARE * held_out_pairs) + 1000
    sentences = train_pairs + 2 * spare
    if sentences > MOST_SENTENCES:
        raise ValueError(
            f"{train_pairs:,} train_pairs and twice {held_out_pairs:,} held_out_pairs are chosen from {sentences:,} "
            f"sentences, but the phrasebook gives only {MOST_SENTENCES:,}: ask for fewer"
        )
    rng = Random(seed)
    pool = list(distinct_sentences(rng, sentences))
    held_out = choose_pairs(rng, pool, spare)
    train = [sentence for sentence in pool if held_out.isdisjoint(word_pairs(sentence))][:train_pairs]
    unseen = [sentence for sentence in pool if not held_out.isdisjoint(word_pairs(sentence))]
    known = sayable(unseen, train)
    val, test = two_splits(known, held_out_pairs)
    if len(train) < train_pairs or len(test) < held_out_pairs:
        raise ValueError(
            f"{held_out_pairs:,} pairs each for val and test are asked for, but with the words of {len(train):,} "
            f"training pairs only {len(known):,} can be said: ask for fewer held_out_pairs or more train_pairs"
        )
    made = [[(sentence.german, sentence.english) for sentence in split] for split in (train, val, test)]
    return Phrasebook(made[0], made[1], made[2], held_out)


def distinct_sentences(rng: Random, count: int) -> Iterator[Sentence]:
    """Draws sentences until so many different German ones are found; of two English for one German the first stays."""
    weights = list(accumulate(pattern.weight for pattern in PATTERNS))
    seen: set[str] = set()
    while len(seen) < count:
        for pattern in rng.choices(PATTERNS, cum_weights=weights, k=1000):
            sentence = pattern.make(rng)
            if sentence.german not in seen and len(seen) < count:
                seen.add(sentence.german)
                yield sentence
