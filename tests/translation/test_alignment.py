"""Words are linked by the attention of their pieces."""

import torch

from nmt.translation.alignment import n_words, word_links, word_numbers


def test_no_break_spaces_separate_words_too() -> None:
    assert word_numbers(["▁10", "\u00a0", "km", "▁a\u00a0b", "c\u202f", "d"]) == [0, 1, 1, 2, 3, 4]
    assert n_words(["▁a\u00a0b"]) == 2
    weights_TS = torch.tensor([[0.1, 0.9]])
    assert word_links(weights_TS, ["▁a\u00a0b", "c"], ["▁x"]) == [(1, 0)]


def test_words_are_linked_by_the_attention_of_their_pieces() -> None:
    source, target = ["▁Der", "▁Hu", "nd", "▁", "▁bellt", "."], ["▁The", "▁do", "g", "▁barks", "."]
    assert n_words(source) == 3
    weights_TS = torch.zeros(5, 6)
    for t, s in ((0, 0), (1, 2), (2, 1), (3, 4), (4, 5)):
        weights_TS[t, s] = 1
    assert word_links(weights_TS, source, target) == [(0, 0), (1, 1), (2, 2)]
