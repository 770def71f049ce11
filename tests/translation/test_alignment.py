"""Words are linked by the attention of their pieces."""

import torch

from nmt.translation.alignment import n_words, word_links


def test_words_are_linked_by_the_attention_of_their_pieces() -> None:
    source, target = ["▁Der", "▁Hu", "nd", "▁", "▁bellt", "."], ["▁The", "▁do", "g", "▁barks", "."]
    assert n_words(source) == 3
    weights_TS = torch.zeros(5, 6)
    for t, s in ((0, 0), (1, 2), (2, 1), (3, 4), (4, 5)):
        weights_TS[t, s] = 1
    assert word_links(weights_TS, source, target) == [(0, 0), (1, 1), (2, 2)]
