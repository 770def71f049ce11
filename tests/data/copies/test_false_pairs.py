"""False pairs: each way spoils a pair as its name says, leaves the other side alone, and repeats itself."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.copies.false_pairs import WAYS, IdPair, Material, PieceKinds, spoil

PIECES = ["<unk>", "<s>", "</s>", "<pad>", "<0x41>", "▁the", "▁dog", "▁Anna", "▁Bert", "s", "▁1", "▁2", "7", "▁", "99"]
THE, DOG, ANNA, BERT, S, ONE, TWO, SEVEN = range(5, 13)
KINDS = PieceKinds.of(PIECES)
OTHER = [THE, BERT, S, S, DOG], [DOG, BERT, S, DOG]
ids = st.lists(st.integers(4, len(PIECES) - 1), max_size=12)


def material(seed: int, other: IdPair = OTHER) -> Material:
    return Material(other, KINDS, Random(seed))


SOURCE, TARGET = [6, 5, 6, 5], [THE, DOG, ANNA, S, ONE]
ONLY = {
    "other_target": [OTHER[1]],
    "copied_source": [SOURCE],
    "other_number": [[THE, DOG, ANNA, S, TWO]],
    "other_name": [[THE, DOG, BERT, S, ONE]],
    "short_target": [TARGET[:n] + TARGET[n + 5 - kept :] for kept in (1, 2, 3) for n in range(kept + 1)],
    "added_part": [TARGET + OTHER[1][n:] for n in range(4)],
    "repeated_part": [TARGET[:end] + TARGET[end - size :] for size in (1, 2) for end in range(size, 6)],
    "swapped_words": [
        [DOG, THE, ANNA, S, ONE],
        [ANNA, S, DOG, THE, ONE],
        [ONE, DOG, ANNA, S, THE],
        [THE, ANNA, S, DOG, ONE],
        [THE, ONE, ANNA, S, DOG],
        [THE, DOG, ONE, ANNA, S],
    ],
}


@pytest.mark.parametrize("way", ONLY)
def test_a_way_does_what_its_name_says(way: str) -> None:
    found = [WAYS[way](SOURCE, TARGET, material(seed)) for seed in range(300)]
    assert all(source == SOURCE for source, _ in found)
    assert {tuple(target) for _, target in found} == {*map(tuple, ONLY[way])}


def test_a_short_source_keeps_the_target_and_random_pieces_their_number() -> None:
    for seed in range(100):
        source, target = WAYS["short_source"](SOURCE, TARGET, material(seed))
        assert target == TARGET
        assert any(source == SOURCE[:n] + SOURCE[n + len(SOURCE) - len(source) :] for n in range(len(source) + 1))
        assert 0 < len(source) < len(SOURCE)
        source, target = WAYS["random_pieces"](SOURCE, TARGET, material(seed))
        assert (source, len(target)) == (SOURCE, len(TARGET))
        assert sum(a != b for a, b in zip(target, TARGET, strict=True)) <= 3
        assert {*target} <= {*range(5, len(PIECES))}


@given(ids, ids, ids, ids, st.integers(0, 1000), st.integers(0, 30))
def test_spoiling_changes_any_pair_or_says_so(
    source: list[int], target: list[int], third: list[int], fourth: list[int], seed: int, most: int
) -> None:
    pair, most = (source, target), most + len(source) + len(target)
    before = [*source], [*target]
    found = spoil(pair, material(seed, (third, fourth)), most)
    assert found == spoil(pair, material(seed, (third, fourth)), most), "equal seeds spoil equally"
    assert pair == before, "the pair itself stays"
    if found:
        assert found[0] in WAYS
        assert found[1] != pair
        assert sum(map(len, found[1])) <= most
    else:
        assert len(target) < 2, "a longer target can always be cut"


def test_all_ways_are_equally_likely() -> None:
    shared = material(1)
    names = Counter(found[0] for _ in range(5000) if (found := spoil((SOURCE, TARGET), shared, 99)))
    assert set(names) == set(WAYS)
    assert min(names.values()) > 0.8 * max(names.values())
