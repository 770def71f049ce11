"""Other words for a word: the sentence around it is found, and probabilities are those of the model."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from nmt.decode.engine import Ids
from nmt.server.apis.native.words import Focus, focus, likely_words
from nmt.server.errors import Refused
from nmt.text.words import Words
from nmt.translation.translator import Translator
from nmt.vocabulary import EOS
from tests.tiny import PAIRS, SHORT

TEXT, TRANSLATION = "Wo ist er? Er ist dort.\n\nZwei Männer.", "Where is he? It is there.\n\nTwo men."


@pytest.mark.parametrize(
    ("translation", "word", "expected"),
    [
        (TRANSLATION, 0, Focus("Wo ist er?", "", "", " It is there.\n\nTwo men.")),
        (TRANSLATION, 4, Focus("Er ist dort.", "Where is he? ", "It ", "\n\nTwo men.")),
        (TRANSLATION, 7, Focus("Zwei Männer.", "Where is he? It is there.\n\n", "Two ", "")),
        ("Where? There.", 1, Focus(TEXT, "", "Where? ", "")),
        ("Where is he, there?\n\nTwo.", 3, Focus(TEXT.partition("\n")[0], "", "Where is he, ", "\n\nTwo.")),
    ],
)
def test_a_word_is_seen_in_its_sentence_or_in_all_if_sides_differ(translation: str, word: int, expected: Focus) -> None:
    assert focus(TEXT, translation, word) == expected


class Table:
    """An engine whose next piece depends only on the piece before it."""

    models, device, longest_source = ("a model",), "cpu", None

    def __init__(self, size: int, rows: dict[int, dict[int, float]]) -> None:
        self.probs_VV = torch.full((size, size), 1e-9)
        for last, row in rows.items():
            for piece, probability in row.items():
                self.probs_VV[last, piece] = probability

    def longest_target(self, n_source: int) -> None:
        """No limit."""

    def next_log_probs(self, source: Ids, targets: Sequence[Ids]) -> Tensor:
        self.source = source
        return self.probs_VV[[target[-1] for target in targets]].log()


def test_a_word_is_as_probable_as_all_its_pieces(translator: Translator) -> None:
    tokenizer = translator.tokenizer
    pieces = tokenizer.target_pieces(range(tokenizer.tgt_vocab_size))
    last, small = (ids[-1] for ids in tokenizer.encode_target(["The", "the"]))
    others = [(n, piece) for n, piece in enumerate(pieces) if n not in (last, small)]
    begins = [n for n, piece in others if piece.startswith("▁") and piece[1:].isalpha()]
    first, second, third, ending = *begins[:3], next(n for n, piece in others if piece.isalpha())
    rows = {
        last: {first: 0.5, second: 0.3, ending: 0.11, EOS: 0.05, third: 0.04},
        first: {ending: 0.8, second: 0.2},
        ending: {third: 0.9, EOS: 0.1},
        second: {EOS: 1.0},
        third: {third: 1.0},
    }
    rows[small] = rows[last]
    known = Translator(translator.model, tokenizer.with_words(Words.learn([PAIRS[0][0]])), SHORT)
    known.engine = Table(len(pieces), rows)  # type: ignore[assignment]
    words = dict(likely_words(known, PAIRS[0][0], "The "))
    expected = {pieces[first][1:] + pieces[ending]: 0.4, pieces[second][1:]: 0.3, pieces[third][1:]: 0.04}
    assert {word: words[word] for word in list(words)[:3]} == pytest.approx(expected, rel=1e-3)
    read = known.engine.source  # type: ignore[attr-defined]
    for text, kept, casing in ((f"- {PAIRS[0][0]}", "- The ", str), (PAIRS[0][0].upper(), "THE ", str.upper)):
        again = dict(likely_words(known, text, kept))  # is read as it is translated
        assert known.engine.source == read  # type: ignore[attr-defined]
        assert {word: again[word] for word in list(again)[:3]} == pytest.approx(
            {casing(word): probability for word, probability in expected.items()}, rel=1e-3
        )


@pytest.mark.parametrize("text", ["", "Der <b>kleine</b> Hund läuft.", "Hallo {name}, wo ist der Bahnhof?"])
def test_lines_that_the_model_reads_without_their_items_have_no_other_words(translator: Translator, text: str) -> None:
    assert likely_words(translator, text, "The ") == []


def test_a_long_sentence_is_refused(translator: Translator) -> None:
    with pytest.raises(Refused, match="too long"):
        likely_words(translator, "Hund " * 300, "")
