"""Changed copies of training pairs, for text that users translate and corpora seldom hold: headings, titles, typos.

Pairs flow in; for each kind a share of them (`data.variants`) flows out, changed alike on both sides:

- no_stop: without the full stop at the end;
- capitals: IN CAPITALS; title_case: With Initial Capitals.

A share of them (`data.typos`) flows out with misspelled words in the source, and the right target.

List marks, quotes around a line and several sentences are no matter of training: a translator takes marks off (see
`nmt.text.edges`), and cuts a line between its sentences.
"""

import re
from collections.abc import Callable, Sequence
from random import Random

from nmt.config import DataConfig
from nmt.data.cleaning import Pair
from nmt.text.scripts import UNSPACED

TYPOS = 0.1  # probability of a word to be misspelled in a copy with typos; one word always is
# No part of an address, and of a script with blanks between words.
LONG_WORD = re.compile(rf"(?<![\w@/.:-])(?:(?![{UNSPACED}])[^\W\d_]){{4,}}(?![\w@/:-]|\.\w)")
STOP = re.compile(r"(?<=[^.\s])[.。।]$")
WORD_START = re.compile(r"(?<![\w'’])[^\W\d_]")


def make_variants(pairs: Sequence[Pair], config: DataConfig) -> list[tuple[Pair, Pair]]:
    """The changed copies, each with its pair: for each kind, of the share `data.variants` of the pairs, which are taken
    at random (always the same ones). A copy that equals a pair is left out."""
    known, copies = set(pairs), dict[Pair, Pair]()
    for kind, change in CHANGES.items() if config.variants else ():
        chosen = Random(kind).sample(pairs, round(len(pairs) * config.variants))
        copies |= {copy: pair for pair in chosen if (copy := change(pair)) not in known}
    return list(copies.items())


def make_typos(pairs: Sequence[Pair], share: float) -> list[tuple[Pair, Pair]]:
    """Copies of this share of the pairs (always the same ones) with typos in the source, each with its pair."""
    chosen = Random("typos").sample(pairs, round(len(pairs) * share))
    copies = ((with_typos(source, Random(source)), target) for source, target in chosen)
    return [(copy, pair) for copy, pair in zip(copies, chosen, strict=True) if copy != pair]


def with_typos(text: str, random: Random, probability: float = TYPOS) -> str:
    """The text with at least one misspelled word, if it has a word of four letters: with this probability two letters
    of a word are swapped, or one is left out, typed twice, or replaced by another one of the word. Its first letter
    stays."""
    words = list(LONG_WORD.finditer(text))
    if not words:
        return text
    sure = random.randrange(len(words))
    chosen = [word for n, word in enumerate(words) if n == sure or random.random() < probability]
    for word in reversed(chosen):
        text = text[: word.start()] + misspelled(word[0], random) + text[word.end() :]
    return text


def misspelled(word: str, random: Random) -> str:
    place = random.randrange(1, len(word) - 1)
    before, here, after, rest = word[:place], word[place], word[place + 1], word[place + 2 :]
    other = random.choice(word[1:]).lower()
    kinds = [after + here, after, here + here + after, other + after]
    changed = (before + kind + rest for kind in random.sample(kinds, len(kinds)))
    return next(new for new in changed if new != word)  # two equal letters can't be swapped


def no_stop(pair: Pair) -> Pair:
    return (STOP.sub("", pair[0]), STOP.sub("", pair[1])) if all(map(STOP.search, pair)) else pair


def capitals(pair: Pair) -> Pair:
    return pair[0].upper(), pair[1].upper()


def title_case(pair: Pair) -> Pair:
    return initials(pair[0]), initials(pair[1])


def initials(text: str) -> str:
    """The text with a capital at the start of each word."""
    return WORD_START.sub(lambda letter: letter[0].upper(), text)


CHANGES: dict[str, Callable[[Pair], Pair]] = {"no_stop": no_stop, "capitals": capitals, "title_case": title_case}
