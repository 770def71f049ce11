"""Other words for a word: the sentence around it is found, and probabilities are those of the model."""

import copy
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from nmt.decode.engine import Ids
from nmt.server.apis.native.words import Focus, focus, likely_words
from nmt.server.errors import Refused
from nmt.translation.translator import Translator
from nmt.vocabulary import EOS
from tests.tiny import PAIRS

TEXT, TRANSLATION = "Wo ist er? Er ist dort.\n\nZwei Männer.", "Where is he? It is there.\n\nTwo men."


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (0, Focus("Wo ist er?", "", "", " It is there.\n\nTwo men.")),
        (4, Focus("Er ist dort.", "Where is he? ", "It ", "\n\nTwo men.")),
        (7, Focus("Zwei Männer.", "Where is he? It is there.\n\n", "Two ", "")),
    ],
)
def test_a_word_is_seen_in_its_sentence(word: int, expected: Focus) -> None:
    assert focus(TEXT, TRANSLATION, word) == expected


def test_where_sides_differ_they_are_taken_as_wholes() -> None:
    assert focus(TEXT, "Where? There.", 1) == Focus(TEXT, "", "Where? ", "")
    assert focus("Wo ist er? Er ist dort.", "Where is he, there?", 3) == Focus(
        "Wo ist er? Er ist dort.", "", "Where is he, ", ""
    )
    with pytest.raises(Refused, match="8 words"):
        focus(TEXT, TRANSLATION, 8)


class Table:
    """An engine whose next piece depends only on the piece before it."""

    models, device = ("a model",), "cpu"

    def __init__(self, size: int, rows: dict[int, dict[int, float]]) -> None:
        self.probs_VV = torch.full((size, size), 1e-9)
        for last, row in rows.items():
            for piece, probability in row.items():
                self.probs_VV[last, piece] = probability

    def fits(self, source: Ids, target: Ids) -> bool:
        return bool(source and target)

    def next_log_probs(self, source: Ids, targets: Sequence[Ids]) -> Tensor:
        return self.probs_VV[[target[-1] for target in targets]].log()


def test_a_word_is_as_probable_as_all_its_pieces(translator: Translator) -> None:
    tokenizer = translator.tokenizer
    pieces = tokenizer.target_pieces(range(tokenizer.tgt_vocab_size))
    *_, last = tokenizer.encode_target(["The"])[0]
    begins = [n for n, piece in enumerate(pieces) if piece.startswith("▁") and piece[1:].isalpha() and n != last]
    first, second, third, ending = *begins[:3], next(n for n, p in enumerate(pieces) if p.isalpha() and n != last)
    rows = {
        last: {first: 0.5, second: 0.3, ending: 0.11, EOS: 0.05, third: 0.04},
        first: {ending: 0.8, second: 0.2},
        ending: {third: 0.9, EOS: 0.1},
        second: {EOS: 1.0},
        third: {third: 1.0},
    }
    known = copy.copy(translator)
    known.engine = Table(len(pieces), rows)  # type: ignore[assignment]
    words = dict(likely_words(known, PAIRS[0][0], "The "))
    expected = {pieces[first][1:] + pieces[ending]: 0.4, pieces[second][1:]: 0.3, pieces[third][1:]: 0.04}
    assert {word: words[word] for word in list(words)[:3]} == pytest.approx(expected, rel=1e-3)


def test_a_long_sentence_is_refused(translator: Translator) -> None:
    with pytest.raises(Refused, match="too long"):
        likely_words(translator, "\N{GRINNING FACE}" * 300, "")
