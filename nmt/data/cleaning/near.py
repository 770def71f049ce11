"""Pairs that are nearly the same: cleaned pairs flow in, shard by shard; which of them are dropped flows out.

The similarity of two pairs is the number of shingles that both have, divided by the number that any of them has;
shingles are all CHARACTERS characters in a row of a side. The signature of a pair has for each of HASHES hash functions
the least hash of a shingle: two signatures have as large a share in common, on average, as the pairs are similar
(MinHash, Broder 1997). Signatures are cut into bands, and only pairs with an equal band are compared (Leskovec et al.,
Mining of Massive Datasets, chapter 3): the hashes of all bands are sorted, one part of them after another.

It is NumPy alone, so that a corpus loses the same pairs with every version of every package.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt.data.cleaning.filters import UNSPACED_CHARACTER, alike
from nmt.data.texts import Row

CAUSE = "nearly the same as another one"
CHARACTERS = 4
HASHES = 128
LEAST_WORDS = 6  # of the shorter side: shorter sentences that differ in one word are different ones
AT_ONCE = 1_000  # pairs whose characters are in memory
FOUND = 0.9  # least share of pairs with the similarity that is asked for which have an equal band
COMPARED_AT_ONCE = 100_000  # pairs of signatures
PADDING = "\n" * (CHARACTERS - 1)  # after each pair, so that no shingle is of two pairs
SOURCE = 1 << 21  # added to the characters of sources: above Unicode
SHARD_BITS, ROW_BITS = 20, 28  # of a rank: below the corpus, the place of a pair, which is a shard and a row
PLACE = np.uint64((1 << SHARD_BITS + ROW_BITS) - 1)

Hashes = NDArray[np.uint64]


def mix(values: Hashes) -> Hashes:
    """A hash of each number (the last step of SplitMix64, Steele et al. 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


NUMBERS = mix(np.arange(2 * HASHES, dtype=np.uint64)).astype(np.uint32)
FACTORS, SUMMANDS = NUMBERS[:HASHES] | np.uint32(1), NUMBERS[HASHES:]


def shape(near: float) -> tuple[int, int]:
    """The number of bands, and of hashes in each: as long ones as find FOUND of the pairs of this similarity."""
    shapes = [(HASHES // size, size) for size in range(1, HASHES + 1)]
    return [(bands, size) for bands, size in shapes if 1 - (1 - near**size) ** bands >= FOUND][-1]


def is_long(text: str) -> bool:
    """Whether a side has LEAST_WORDS words. In scripts without blanks, two characters count as one."""
    return len(text.split()) + len(UNSPACED_CHARACTER.findall(text)) // 2 >= LEAST_WORDS


def signatures(rows: Sequence[Row]) -> NDArray[np.uint32]:
    """The least hashes of the shingles of each pair, shape (pairs, HASHES)."""
    sides = [(alike(row.source) if row.source else "", alike(row.target)) for row in rows]
    text = "".join(source + target + PADDING for source, target in sides).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(text, "<u4").astype(np.uint64)
    sizes = np.array([(len(source), len(target) + len(PADDING)) for source, target in sides])
    codes += np.repeat(np.tile(np.array([SOURCE, 0], np.uint64), len(rows)), sizes.ravel())
    hashes = np.zeros(len(codes) - len(PADDING), np.uint64)
    for n in range(CHARACTERS):
        hashes = mix(hashes ^ codes[n : n + len(hashes)])
    shingles = (hashes >> np.uint64(32)).astype(np.uint32)
    least, end = np.empty((len(rows), HASHES), np.uint32), 0
    for n, size in enumerate(sizes.sum(axis=1)):
        start, end = end, end + size
        own = shingles[start : end - len(PADDING), None]
        np.min(own * FACTORS + SUMMANDS, axis=0, out=least[n])
    return least


def sketch(rows: Sequence[Row], shard: int, directions: Sequence[int], near: float) -> tuple[Hashes, NDArray[np.uint8]]:
    """The hash of each band of the pairs of a shard, sorted, with the rank of its pair, shape (2, bands of all pairs);
    and the last byte of each hash of the signatures, shape (pairs, HASHES).

    Ranks are ordered by corpus, shard and place. `directions`: the number of the direction of each portion: pairs of
    different ones are never the same.
    """
    bands, size = shape(near)
    long = ((place, row) for place, row in enumerate(rows) if all(map(is_long, filter(None, row.pair))))
    found, last = [np.empty((2, 0), np.uint64)], np.zeros((len(rows), HASHES), np.uint8)
    while chunk := list(islice(long, AT_ONCE)):
        least = signatures([row for _, row in chunk])
        last[[place for place, _ in chunk]] = least & 0xFF
        first = np.array([directions[row.corpus] for _, row in chunk], np.uint64)
        hashes = mix(first[:, None] << np.uint64(32) | np.arange(bands, dtype=np.uint64))
        for n in range(size):
            hashes = mix(hashes ^ least[:, n : bands * size : size])
        ranks = [(row.corpus << SHARD_BITS | shard) << ROW_BITS | place for place, row in chunk]
        found.append(np.stack([hashes.ravel(), np.repeat(np.array(ranks, np.uint64), bands)]))
    together = np.concatenate(found, axis=1)
    return together[:, np.argsort(together[0], kind="stable")], last


def find_near(bands: Sequence[Path], stored: Sequence[Path], part: int, near: float) -> Hashes:
    """The places, sorted, of pairs that are nearly the same as the first pair that has an equal band.

    `bands`, `stored`: the files that hold what `sketch` made of each shard. This is done for one part of all bands;
    there are as many parts as shards, a power of two.
    """
    bounds = [n * (1 << 64) // len(bands) for n in (part, part + 1)]
    parts = [np.empty((2, 0), np.uint64)]
    for file in bands:
        own = np.load(file, mmap_mode="r")
        start = np.searchsorted(own[0], np.uint64(bounds[0]))
        end = np.searchsorted(own[0], np.uint64(bounds[1] - 1), side="right")
        parts.append(np.array(own[:, start:end]))
    hashes, ranks = np.concatenate(parts, axis=1)
    order = np.lexsort((ranks, hashes))
    hashes, ranks = hashes[order], ranks[order]
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
    firsts = np.repeat(ranks[starts], np.diff(np.append(starts, len(hashes))))
    both = np.unique(np.stack([ranks, firsts])[:, ranks != firsts] & PLACE, axis=1)
    same = [np.zeros(0, bool)]
    for n in range(0, both.shape[1], COMPARED_AT_ONCE):
        one, other = (read_signatures(stored, side[n : n + COMPARED_AT_ONCE]) for side in both)
        same.append((one == other).mean(axis=1) >= near)
    return np.unique(both[0, np.concatenate(same)])


def read_signatures(files: Sequence[Path], places: Hashes) -> NDArray[np.uint8]:
    """The stored signatures of pairs in any shards."""
    found, shards = np.empty((len(places), HASHES), np.uint8), places >> np.uint64(ROW_BITS)
    for shard in np.unique(shards):
        own = shards == shard
        found[own] = np.load(files[shard], mmap_mode="r")[places[own] & np.uint64((1 << ROW_BITS) - 1)]
    return found


def rows_in(files: Sequence[Path], shard: int) -> Iterator[int]:
    """The rows of a shard that `find_near` found, from the file of each part."""
    bounds = np.array([shard << ROW_BITS, (shard + 1) << ROW_BITS], np.uint64)
    for file in files:
        places = np.load(file, mmap_mode="r")
        first, last = np.searchsorted(places, bounds)
        yield from (int(place) & ((1 << ROW_BITS) - 1) for place in places[first:last])
