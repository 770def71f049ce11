"""Changed copies of training pairs, for text that users translate and corpora seldom hold: headings and titles.

Pairs flow in; for each kind a share of them (`data.variants`) flows out, changed alike on both sides:

- no_stop: without the full stop at the end;
- capitals: IN CAPITALS; title_case: With Initial Capitals.

List marks, quotes around a line and several sentences are no matter of training: a translator takes marks off (see
`nmt.text.edges`), and cuts a line between its sentences.
"""

import re
from collections.abc import Callable, Sequence
from random import Random

from nmt.config import DataConfig
from nmt.data.cleaning import Pair

STOP = re.compile(r"(?<=[^.\s])[.。।]$")
WORD_START = re.compile(r"(?<![\w'’])[^\W\d_]")


def make_variants(pairs: Sequence[Pair], config: DataConfig) -> list[Pair]:
    """The changed copies: for each kind, of the share `data.variants` of the pairs, which are taken at random (always
    the same ones). A copy that equals a pair is left out."""
    known, copies = set(pairs), dict[Pair, None]()
    for kind, change in CHANGES.items() if config.variants else ():
        chosen = Random(kind).sample(pairs, round(len(pairs) * config.variants))
        copies |= dict.fromkeys(copy for copy in map(change, chosen) if copy not in known)
    return list(copies)


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
