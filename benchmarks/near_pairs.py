"""How often cleaning.near finds pairs of which some words were replaced, by the number of words and by similarity.

    python -m benchmarks.near_pairs corpora/multi30k/train

Words are replaced by random words of the same side. Only pairs that are long enough to be compared are taken.
"""

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nmt.data.cleaning.filters import alike
from nmt.data.cleaning.near import CHARACTERS, PADDING, is_long, shape, signatures
from nmt.data.texts import Row
from nmt.files import iterate_lines

SETTINGS = (0.9, 0.8, 0.7)
REPLACED = ((0, 1), (1, 1), (2, 2), (3, 3))  # words of the source and of the target
SEED, PAIRS, STEP = 1, 4000, 0.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="prefix of files of pairs (.de and .en)")
    prefix, rng = parser.parse_args().corpus, random.Random(SEED)
    sides = [list(iterate_lines(prefix.with_suffix(end))) for end in (".de", ".en")]
    pairs = [pair for pair in zip(*sides, strict=True) if all(map(is_long, pair))]
    words = [[word for pair in pairs for word in pair[side].split()] for side in (0, 1)]
    similarities, hits = np.empty(0), np.empty((len(SETTINGS), 0), bool)
    print("replaced words, median similarity, % found by " + ", ".join(map(str, SETTINGS)))
    for counts in REPLACED:
        rows = [Row(*pair) for pair in rng.sample(pairs, min(PAIRS, len(pairs)))]
        others = [changed(rng, row, counts, words) for row in rows]
        similar = np.array([similarity(a, b) for a, b in zip(rows, others, strict=True)])
        found = np.array([is_found(rows, others, near) for near in SETTINGS])
        print(*counts, f"{np.median(similar):.2f}", *(f"{100 * share:.1f}" for share in found.mean(axis=1)))
        similarities, hits = np.append(similarities, similar), np.append(hits, found, axis=1)
    print("similarity from, pairs, % found")
    for least in np.arange(0.5, 1, STEP):
        own = (similarities >= least) & (similarities < least + STEP)
        if own.any():
            print(f"{least:.2f}", own.sum(), *(f"{100 * share:.1f}" for share in hits[:, own].mean(axis=1)))
    return 0


def changed(rng: random.Random, row: Row, counts: Sequence[int], words: Sequence[Sequence[str]]) -> Row:
    """The pair with so many random words on each side."""
    sides = [text.split() for text in row.pair]
    for own, count, others in zip(sides, counts, words, strict=True):
        for n in rng.sample(range(len(own)), count):
            own[n] = rng.choice(others)
    return Row(" ".join(sides[0]), " ".join(sides[1]))


def similarity(first: Row, second: Row) -> float:
    """The share of shingles that both pairs have."""
    one, other = shingles(first), shingles(second)
    return len(one & other) / len(one | other)


def shingles(row: Row) -> set[tuple[tuple[bool, str], ...]]:
    """CHARACTERS characters in a row, each with whether it is of the target."""
    marked = [(False, c) for c in alike(row.source)] + [(True, c) for c in alike(row.target) + PADDING]
    return set(zip(*(marked[n:] for n in range(CHARACTERS)), strict=False))


def is_found(rows: Sequence[Row], others: Sequence[Row], near: float) -> np.ndarray:
    """Whether each pair of pairs has an equal band, and signatures that agree as often as asked for."""
    bands, size = shape(near)
    same = signatures(rows) == signatures(others)
    return same[:, : bands * size].reshape(-1, bands, size).all(axis=2).any(axis=1) & (same.mean(axis=1) >= near)


if __name__ == "__main__":
    sys.exit(main())
