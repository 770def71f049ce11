"""Quotes that training lacked are taken off inside a line, and put around the translations of their words."""

from dataclasses import replace

import pytest

from nmt.text.words import Words
from nmt.translation.quotes import lift_quotes
from nmt.reading.request import NO_CONSTRAINTS, Constraints, Request
from nmt.translation.translator import Translator
from tests.tiny import PAIRS, SHORT

SOURCES = [source for source, _ in PAIRS]
ENGLISH = ("“", "”")


def text_inside(line: str, translator: Translator, words: Words, constraints: Constraints = NO_CONSTRAINTS) -> str:
    lifted = lift_quotes(Request(line, constraints), translator.tokenizer.with_words(words), ENGLISH)
    return lifted.text if lifted else ""


@pytest.mark.parametrize(
    ("line", "inside"),
    [
        ("Der „kleine“ Hund läuft.", "Der kleine Hund läuft."),
        ('Der "kleine Hund" läuft.', "Der kleine Hund läuft."),
        ("Der («kleine») Hund, der “liest”.", "Der (kleine) Hund, der liest."),
        ('Das Brett ist 5" lang und 3" breit.', ""),
        ('Ein Brett von 5" und "6".', ""),
        ('Der "%s" und „{name}“ laufen.', ""),
        ("Der „kleine Hund läuft.", ""),
        ("Der kleine Hund läuft.", ""),
        ("Der „kleine“\tHund", ""),
    ],
)
def test_only_pairs_of_quotes_around_words_are_taken_off(translator: Translator, line: str, inside: str) -> None:
    assert text_inside(line, translator, Words.learn(SOURCES)) == inside


def test_quotes_of_training_and_lines_with_constraints_stay(translator: Translator) -> None:
    line = "Der „kleine“ Hund läuft."
    assert text_inside(line, translator, Words.learn([*SOURCES, "Der „große“ Hund."])) == ""
    assert text_inside(line, translator, Words.learn(SOURCES), Constraints(prefix="A")) == ""
    assert lift_quotes(Request(line), translator.tokenizer, ENGLISH) is None


def test_a_translation_has_the_quotes_of_its_language_and_the_words_of_the_plain_one(translator: Translator) -> None:
    search = replace(SHORT, max_length_ratio=1.0)
    known = Translator(translator.model, translator.tokenizer.with_words(Words.learn(SOURCES)), search)
    known.quotes = ENGLISH
    plain, quoted, straight = (
        best for best, *_ in known.translate_n_best(["Der Hund läuft.", "Der „Hund“ läuft.", 'Der "Hund" läuft.'])
    )
    assert quoted.text.replace("“", "").replace("”", "").split() == plain.text.split()
    assert (quoted.text.count("“"), quoted.text.count("”")) == (1, 1)
    assert straight.text.count('"') == plain.text.count('"') + 2
