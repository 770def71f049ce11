"""Copies with typos: what is changed, how many there are, and always the same."""

from pathlib import Path
from random import Random

import pytest

from nmt.config import DataConfig
from nmt.data.copies.typos import make_typos, with_typos
from nmt.text.words import Words
from tests.data.corpus_files import prepared_of, write_corpus

PAIRS = [(f"Der Hund {n} läuft.", f"The dog {n} runs.") for n in range(100)]


@pytest.mark.parametrize("text", ["Zwei junge Männer sind im Freien.", "Дети играют во дворе", "Esszimmer", "ᎠᏂᏴᏫᏯ"])
def test_typos_change_words_and_nothing_else(text: str) -> None:
    found = {with_typos(text, Random(seed)) for seed in range(50)}
    assert len(found) > 5
    for changed in found:
        words = list(zip(text.split(), changed.split(), strict=True))
        assert any(a != b for a, b in words)
        for word, now in words:
            assert word == now or len(word) > 3
            assert word[0] == now[0]
            assert abs(len(word) - len(now)) <= 1
            assert {*now} <= {*word}


@pytest.mark.parametrize("text", ["", "a b cde 1234 x12345", "狗在跑得很快。", "www.a.org/help me@a.org", "\ue000"])
def test_text_without_words_of_four_letters_has_no_typos(text: str) -> None:
    assert {with_typos(text, Random(seed), 1.0) for seed in range(20)} == {text}
    assert make_typos([(text, "target")], 1.0) == []


def test_a_share_of_the_pairs_has_a_copy_with_typos_in_the_source() -> None:
    copies = make_typos(PAIRS, 0.1)
    assert len(copies) == 10
    assert copies == make_typos(PAIRS, 0.1)
    source_of = {target: source for source, target in PAIRS}
    assert all(source != source_of[target] for source, target in copies)
    assert make_typos(PAIRS, 0.0) == []


def test_prepared_text_has_the_copies_in_training_only(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "dogs", train=PAIRS[:80], val=PAIRS[80:90], test=PAIRS[90:])
    data = DataConfig(corpus=str(corpus), typos=0.1)
    prepared = prepared_of(data, tmp_path / "run", 320)
    assert {*PAIRS[:80]} < {*prepared.train}
    assert len(prepared.train) == 80 + 8
    assert prepared.val == PAIRS[80:90]
    words = Words.parse((tmp_path / "run" / "data" / "words.txt").read_text())
    assert {*words.usual, *words.first} == {"Der", "Hund", "läuft", *map(str, range(80))}, "not those of copies"
    assert prepared_of(data, tmp_path / "run", 320).train == prepared.train
