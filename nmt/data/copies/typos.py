"""Copies of training pairs with misspelled words in the source (`data.typos`), as users type them."""

import re
from collections.abc import Sequence
from random import Random

from nmt.data.cleaning.cleaner import Pair
from nmt.text.edits import apply
from nmt.text.scripts import UNSPACED

TYPOS = 0.1  # probability of a word to be misspelled in a copy with typos; one word always is
# No part of an address, and of a script with blanks between words.
LONG_WORD = re.compile(rf"(?<![\w@/.:-])(?:(?![{UNSPACED}])[^\W\d_]){{4,}}(?![\w@/:-]|\.\w)")


def make_typos(pairs: Sequence[Pair], share: float) -> list[Pair]:
    """Copies of this share of the pairs (always the same ones) with typos in the source."""
    chosen = Random("typos").sample(pairs, round(len(pairs) * share))
    copies = ((with_typos(source, Random(source)), target) for source, target in chosen)
    return [copy for copy, pair in zip(copies, chosen, strict=True) if copy != pair]


def with_typos(text: str, random: Random, probability: float = TYPOS) -> str:
    """The text with at least one misspelled word, if it has a word of four letters: with this probability, after the
    first letter, two letters are swapped, or one is left out, typed twice, or replaced by another one of the word."""
    words = list(LONG_WORD.finditer(text))
    if not words:
        return text
    sure = random.randrange(len(words))
    chosen = [word for n, word in enumerate(words) if n == sure or random.random() < probability]
    edits = [(*word.span(), misspelled(word[0], random)) for word in reversed(chosen)]
    return apply(text, edits[::-1])


def misspelled(word: str, random: Random) -> str:
    place = random.randrange(1, len(word) - 1)
    before, here, after, rest = word[:place], word[place], word[place + 1], word[place + 2 :]
    other = random.choice(word[1:])
    kinds = [after + here, after, here + here + after, other + after]
    changed = (before + kind + rest for kind in random.sample(kinds, len(kinds)))
    return next(new for new in changed if new != word)  # two equal letters can't be swapped
