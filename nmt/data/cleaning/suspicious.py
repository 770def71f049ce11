"""Which corpora of a training text look bad? The ledger of each section and the lengths of its pairs flow in; sentences
for people flow out. See `nmt.data.sections`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from nmt.data.cleaning.cleaner import Ledger, Pair
from nmt.data.cleaning.losses import MASS
from nmt.data.sections import Section

# What a mistake in a translation is counted as; see `nmt.data.cleaning.filters`.
MISTAKES = (
    "a copy",
    "the sides have the same letters",
    "another language",
    "another script",
    "other numbers",
    "other addresses",
    "repetition",
)
HELD_OUT = re.compile(r"^held out for |^((source|target) )?occurs in |^nearly in |^\d+ words of ")  # causes
FEWEST = 100  # pairs: shares and lengths of fewer tell little
# Between the 8% that `crawled` drops of a real dirty corpus (0.7% for MISTAKES), and the 20% that it drops of one with
# three spoiled pairs in eight (docs/notes/figures.md).
MUCH = 0.15
TIMES = 3  # the share of dropped pairs in the other corpora, if it is more than MASS
# English has 0.79, 0.87 and 0.94 characters for one of German in Tatoeba, Multi30k and the phrasebook, and 0.69 in the
# first 4,000 pairs of Tatoeba, which are very short: these differ 1.4 times at most. Halves of targets differ twice.
UNLIKE = 1.5


def lost(ledger: Ledger) -> dict[str, int]:
    """The dropped pairs by cause, without those that are held out or like held-out text: these may be good ones."""
    return {cause: n for cause, n in ledger.dropped.items() if not HELD_OUT.search(cause)}


def share(ledgers: Sequence[Ledger]) -> float:
    """The share of dropped pairs of several sections together."""
    return sum(sum(lost(ledger).values()) for ledger in ledgers) / max(1, sum(ledger.read for ledger in ledgers))


def length_ratios(pairs: Iterable[Pair], numbers: Iterable[int], sections: Sequence[Section]) -> dict[str, float]:
    """For each section the characters of its targets for one of its sources. `numbers`: of the section of each pair.
    Left out: sections with less than FEWEST pairs, and text without sources."""
    sums = [[0, 0, 0] for _ in sections]
    for (source, target), number in zip(pairs, numbers, strict=True):
        for k, n in enumerate((1, len(source), len(target))):
            sums[number][k] += n
    together = zip(sections, sums, strict=True)
    return {section.name: target / source for section, (n, source, target) in together if n >= FEWEST and source}


def suspicions(
    parts: Mapping[str, Ledger], ratios: Mapping[str, float], sections: Sequence[Section]
) -> Iterator[tuple[str, str]]:
    """The names of sections that look bad, and why."""
    directions = {section.name: section.direction for section in sections}
    for name, ledger in parts.items():
        others = share([other for key, other in parts.items() if key != name])
        yield from ((name, why) for why in reasons_in(ledger, others))
        alike = [ratios[key] for key in ratios if key != name and directions[key] == directions.get(name)]
        if alike and name in ratios:
            usual = median(alike)
            if not 1 / UNLIKE <= ratios[name] / usual <= UNLIKE:
                lengths = f"a target has {ratios[name]:.2f} characters for one of its source"
                yield name, f"{lengths}; in the other corpora of this direction it has {usual:.2f}"


def reasons_in(ledger: Ledger, others: float) -> Iterator[str]:
    """Why the ledger of a section looks bad. `others`: the share of dropped pairs in the other sections."""
    if ledger.read < FEWEST:
        return
    here = share([ledger])
    if here > MUCH or here > max(MASS, TIMES * others):
        yield f"{here:.0%} of its {ledger.unit}s were dropped; of the others, {others:.0%}"
    for cause, count in lost(ledger).items():
        if cause in MISTAKES and count > MASS * ledger.read:
            yield f"{count / ledger.read:.0%} of its {ledger.unit}s were dropped: {cause}"
