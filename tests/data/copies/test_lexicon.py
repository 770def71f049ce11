"""The lexicon is that of IBM model 1; of a large corpus, a part is used in which each source piece occurs."""

from collections import defaultdict

import pytest

from nmt.data.copies import lexicon
from nmt.data.copies.lexicon import ROUNDS, Ids, Lexicon, choose_pairs


def ids_of(*sentences: tuple[list[int], list[int]]) -> tuple[Ids, Ids]:
    return Ids.of([source for source, _ in sentences]), Ids.of([target for _, target in sentences])


def plain_model_1(sentences: list[tuple[list[int], list[int]]]) -> dict[tuple[int, int], float]:
    """The definition, sum by sum."""
    probability: dict[tuple[int, int], float] = defaultdict(lambda: 1.0)
    for _ in range(ROUNDS):
        counts: dict[tuple[int, int], float] = defaultdict(float)
        totals: dict[int, float] = defaultdict(float)
        for source, target in sentences:
            for t in target:
                whole = sum(probability[s, t] for s in source)
                for s in source:
                    counts[s, t] += probability[s, t] / whole
                    totals[s] += probability[s, t] / whole
        probability = defaultdict(float, {(s, t): count / totals[s] for (s, t), count in counts.items()})
    return dict(probability)


@pytest.mark.parametrize("target_size", [10, 1 << 60])
def test_translations_are_those_of_ibm_model_1(target_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{Lexicon.__module__}.AT_ONCE", 4)
    sentences = [([4, 5], [7, 6, 7]), ([5, 6, 4], [8]), ([6], [9, 8]), ([], [4]), ([5], []), ([5, 5], [6])]
    lexicon, kept = Lexicon(*ids_of(*sentences), 10, target_size), [(s, t) for s, t in sentences if s and t]
    sides = [*zip(*(side.tolist() for side in lexicon.sides), strict=True)]
    found = dict(zip(sides, lexicon.probabilities(0).tolist(), strict=True))
    assert found == pytest.approx(plain_model_1(kept))
    back = dict(zip(((t, s) for s, t in sides), lexicon.probabilities(1).tolist(), strict=True))
    assert back == pytest.approx(plain_model_1([(t, s) for s, t in kept]))


def test_of_a_large_corpus_the_pairs_with_rare_words_are_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = ids_of(*[([4, 5], [6])] * 50, ([4, 8], [7]), ([], [7]), *[([4, 5], [6])] * 5, ([9, 5, 5], [6]))
    assert len(choose_pairs(source, target.lengths_N, 10)) == 57
    for cells, chosen in ((30, [*range(10), 50, 57]), (8, [0, 50, 57]), (3, [0])):  # ten times where there is room
        monkeypatch.setattr(lexicon, "MOST_CELLS", cells)
        assert choose_pairs(source, target.lengths_N, 10) == chosen
