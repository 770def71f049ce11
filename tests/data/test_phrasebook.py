"""The phrasebook is the same everywhere, and keeps its splits apart.

These tests look at the corpus as a whole: its sizes, its splits, the shape of its sentences.
"""

import hashlib
import inspect
import os
import re
import subprocess
import sys
import unicodedata
from random import Random

import pytest

from nmt.data.phrasebook import MOST_SENTENCES, PATTERNS, Drawn, draw, lexicon, phrasebook
from nmt.data.phrasebook.sentence import Sentence
from nmt.data.phrasebook.splits import choose_combinations, sayable, two_splits, words_of


@pytest.fixture(scope="module")
def book() -> Drawn:
    return draw(seed=1, train_pairs=40_000, held_out_pairs=1_000)


@pytest.fixture(scope="module")
def everything(book: Drawn) -> list[Sentence]:
    return [*book.train, *book.val, *book.test]


def test_the_default_corpus_has_forty_thousand_pairs_to_train_on_and_a_thousand_in_each_held_out_split(
    book: Drawn, everything: list[Sentence]
) -> None:
    defaults = [parameter.default for parameter in inspect.signature(phrasebook).parameters.values()]
    assert defaults == [1, 40_000, 1_000]
    assert (len(book.train), len(book.val), len(book.test)) == (40_000, 1_000, 1_000)
    assert len({sentence.german for sentence in everything}) == 42_000


def test_the_pairs_are_german_and_english_in_this_order() -> None:
    made, drawn = phrasebook(7, 300, 20), draw(7, 300, 20)
    assert made.test == [(sentence.german, sentence.english) for sentence in drawn.test]
    assert made.train == [(sentence.german, sentence.english) for sentence in drawn.train]


def test_the_same_seed_gives_the_same_corpus_and_another_seed_another() -> None:
    assert phrasebook(7, 300, 20) == phrasebook(7, 300, 20)
    assert phrasebook(7, 300, 20) != phrasebook(8, 300, 20)


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_the_order_of_hashes_does_not_show(hash_seed: str) -> None:
    code = (
        "import hashlib; from nmt.data.phrasebook import phrasebook; "
        "print(hashlib.sha256(repr(phrasebook(3, 600, 30)).encode()).hexdigest())"
    )
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == hashlib.sha256(repr(phrasebook(3, 600, 30)).encode()).hexdigest()


def test_no_sentence_of_either_language_stands_in_two_splits(book: Drawn) -> None:
    splits = [book.train, book.val, book.test]
    for side in ("german", "english"):
        train, val, test = ({getattr(sentence, side) for sentence in split} for split in splits)
        assert not train & val
        assert not train & test
        assert not val & test


def test_a_german_sentence_has_one_english_translation() -> None:
    rng = Random(5)
    translations: dict[str, str] = {}
    for pattern in [pattern for _, pattern in PATTERNS] * 120:
        sentence = pattern(rng)
        assert translations.setdefault(sentence.german, sentence.english) == sentence.english, sentence.german


def test_held_out_combinations_are_absent_from_training_and_present_in_every_held_out_sentence(book: Drawn) -> None:
    assert all(book.held_out.isdisjoint(sentence.combinations) for sentence in book.train)
    assert all(book.held_out.intersection(sentence.combinations) for sentence in book.val + book.test)


def test_a_held_out_combination_is_held_out_though_both_its_words_are_trained_on(book: Drawn) -> None:
    combinations = {combination for sentence in book.train for combination in sentence.combinations}
    trained = {word for combination in combinations for word in combination.split("+")}
    said = {held for sentence in book.test for held in book.held_out.intersection(sentence.combinations)}
    known = [held for held in said if trained.issuperset(held.split("+"))]
    assert len(known) > 0.9 * len(said)


def test_every_word_form_of_the_held_out_splits_occurs_in_training(book: Drawn) -> None:
    for side in ("german", "english"):
        trained = {word for sentence in book.train for word in words_of(getattr(sentence, side))}
        assert all(trained.issuperset(words_of(getattr(sentence, side))) for sentence in book.val + book.test)


def test_held_out_sentences_are_left_out_for_an_unknown_word_or_a_known_english_side() -> None:
    train = [Sentence("Er trinkt Tee.", "He drinks tea."), Sentence("Sie mag Milch.", "She likes milk.")]
    new = Sentence("Er mag Milch.", "He likes milk.")
    unknown_german = Sentence("Er liebt Milch.", "He likes milk.")
    unknown_english = Sentence("Sie mag Tee.", "She loves tea.")
    known_english = Sentence("Sie mag Tee.", "She likes milk.")
    assert sayable([new, unknown_german, unknown_english, known_english], train) == [new]


def test_validation_and_test_share_no_english_sentence() -> None:
    sentences = [Sentence(f"Hast du {n}?", f"Do you have {n // 2}?") for n in range(40)]
    val, test = two_splits(sentences, 10)
    assert (len(val), len(test)) == (10, 10)
    assert not {sentence.english for sentence in val} & {sentence.english for sentence in test}


def test_a_combination_is_held_out_only_if_both_words_meet_others_too() -> None:
    lonely = [Sentence("", "", ("kauen+Kaugummi",))]
    sociable = [Sentence("", "", (f"{verb}+{thing}",)) for verb in "abcdefghijklmnop" for thing in "ABCDEFGHIJKLMNOP"]
    held_out = choose_combinations(Random(1), lonely + sociable, 100)
    assert held_out
    assert "kauen+Kaugummi" not in held_out


def test_sizes_that_cannot_be_given_are_errors_that_say_so() -> None:
    with pytest.raises(ValueError, match=f"gives only {MOST_SENTENCES:,}"):
        phrasebook(train_pairs=10_000_000)
    with pytest.raises(ValueError, match=r"only .* can be said"):
        phrasebook(train_pairs=20, held_out_pairs=300)
    with pytest.raises(ValueError, match="negative"):
        phrasebook(train_pairs=-1)


def test_sentences_are_one_clean_line_with_a_capital_and_a_final_mark(everything: list[Sentence]) -> None:
    for text in [side for sentence in everything for side in (sentence.german, sentence.english)]:
        assert text == unicodedata.normalize("NFC", text)
        assert re.fullmatch(r"[^\s](?:[^\s]| (?! ))*[.!?]", text), text
        assert text[0].isupper(), text
        assert " ," not in text
        assert ",," not in text


def test_both_sides_end_in_the_same_mark(everything: list[Sentence]) -> None:
    assert all(sentence.german[-1] == sentence.english[-1] for sentence in everything)


def test_sentences_are_mostly_short_and_all_patterns_speak(book: Drawn) -> None:
    lengths = sorted(len(sentence.german.split()) for sentence in book.train)
    assert lengths[len(lengths) // 10] >= 4
    assert lengths[len(lengths) * 9 // 10] <= 14
    assert lengths[-1] <= 24
    assert len(PATTERNS) >= 70


def test_a_noun_has_one_meaning_in_the_whole_lexicon() -> None:
    meanings: dict[str, set[str]] = {}
    for table in vars(lexicon).values():
        for entry in table if isinstance(table, tuple) else ():
            if hasattr(entry, "english_plural"):
                meanings.setdefault(entry.german, set()).add(entry.english)
    # "my wife" is meine Frau and "the woman" die Frau: the possessive tells them apart.
    assert {name for name, senses in meanings.items() if len(senses) > 1} == {"Mann", "Frau"}
