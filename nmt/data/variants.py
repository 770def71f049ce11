"""Changed copies of training pairs, for text that users translate and corpora seldom hold: headings, lists, quotes.

Pairs flow in; for each kind a share of them (`data.variants`) flows out, changed alike on both sides:

- joined: two pairs on one line (Nguyen et al. 2021, arXiv 2105.01691);
- no_stop: without the full stop at the end;
- capitals: IN CAPITALS; title_case: With Initial Capitals;
- quoted: in the quotes that are usual in each language;
- listed: as a list item, after a dash, a bullet or a number.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from nmt.config import DataConfig
from nmt.data.cleaning import Pair
from nmt.text.edges import quotes_of
from nmt.text.scripts import HAN_AND_KANA

STOP = re.compile(r"(?<=[^.\s])[.。।]$")
WORD_START = re.compile(r"(?<![\w'’])[^\W\d_]")
WITHOUT_SPACES = re.compile(rf"[{HAN_AND_KANA}\uff00-\uffef]$")
BULLETS = ("- ", "– ", "• ", "* ", "{}. ", "{}) ")


@dataclass(frozen=True)
class Material:
    """What changes need besides a pair."""

    pairs: Sequence[Pair]
    languages: tuple[str, str]
    random: Random


def make_variants(pairs: Sequence[Pair], config: DataConfig) -> list[Pair]:
    """The changed copies: for each kind, of the share `data.variants` of the pairs, which are taken at random (always
    the same ones). A copy that equals a pair is left out."""
    known, copies = set(pairs), dict[Pair, None]()
    for kind, change in CHANGES.items() if config.variants else ():
        material = Material(pairs, (config.source, config.target), Random(kind))
        chosen = material.random.sample(pairs, round(len(pairs) * config.variants))
        found = (change(pair, material) for pair in chosen)
        copies |= dict.fromkeys(copy for copy in found if copy not in known)
    return list(copies)


def joined(pair: Pair, material: Material) -> Pair:
    other = material.random.choice(material.pairs)
    return join(pair[0], other[0]), join(pair[1], other[1])


def join(first: str, second: str) -> str:
    return first + ("" if WITHOUT_SPACES.search(first) else " ") + second


def no_stop(pair: Pair, material: Material) -> Pair:
    return (STOP.sub("", pair[0]), STOP.sub("", pair[1])) if all(map(STOP.search, pair)) else pair


def capitals(pair: Pair, material: Material) -> Pair:
    return pair[0].upper(), pair[1].upper()


def title_case(pair: Pair, material: Material) -> Pair:
    return initials(pair[0]), initials(pair[1])


def initials(text: str) -> str:
    """The text with a capital at the start of each word."""
    return WORD_START.sub(lambda letter: letter[0].upper(), text)


def quoted(pair: Pair, material: Material) -> Pair:
    plain = material.random.random() < 0.5
    marks = (('"', '"') if plain else quotes_of(language) for language in material.languages)
    source, target = (left + text + right for text, (left, right) in zip(pair, marks, strict=True))
    return source, target


def listed(pair: Pair, material: Material) -> Pair:
    bullet = material.random.choice(BULLETS).format(material.random.randint(1, 20))
    return bullet + pair[0], bullet + pair[1]


CHANGES: dict[str, Callable[[Pair, Material], Pair]] = {
    "joined": joined,
    "no_stop": no_stop,
    "capitals": capitals,
    "title_case": title_case,
    "quoted": quoted,
    "listed": listed,
}
