"""Lines are translated in words that the model knows, and translations get the case of their lines."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from nmt.text.words import Words
from nmt.translation.known_words import translate_known
from nmt.reading.request import Constraints, Request, Translation
from nmt.translation.translator import Translator
from tests.tiny import PAIRS, SHORT

WORDS = Words.learn([f"{source} Und {source[0].lower()}{source[1:]}" for source, _ in PAIRS])


def echo(requests: Sequence[Request]) -> list[list[Translation]]:
    return [[Translation(request.text, 0.0, ())] for request in requests]


@pytest.mark.parametrize(
    ("line", "translation"),
    [
        ("DER KLEINE HUND LÄUFT.", "DER KLEINE HUND LÄUFT."),
        ("Der Kleine Hund Laeuft", "Der Kleine Hund Läuft"),
        ("der kleine hund läuft {name}", "Der kleine Hund läuft {name}"),
        ("Der k1eine Hund laeuft {NAME}", "Der kleine Hund läuft {NAME}"),
        ("DER KLEINE HUND {name} IST WEG", "DER KLEINE HUND {name} IST WEG"),
        ("Der kleine Hund läuft.", "Der kleine Hund läuft."),
        ("Der kleine\tHund laeuft.", "Der kleine\tHund laeuft."),
    ],
)
def test_a_line_is_read_in_known_words_and_its_translation_gets_its_case(line: str, translation: str) -> None:
    assert translate_known([Request(line)], WORDS, echo)[0][0].text == translation


def test_a_line_with_constraints_keeps_its_case() -> None:
    seen = list[str]()

    def look(requests: Sequence[Request]) -> list[list[Translation]]:
        seen.extend(request.text for request in requests)
        return echo(requests)

    translate_known([Request("DER KLEINE HUND", Constraints(prefix="THE"))], WORDS, look)
    translate_known([Request("DER KLEINE HUND")], WORDS, look)
    assert seen == ["DER KLEINE HUND", "Der kleine Hund"]


@pytest.mark.parametrize(("formal", "flags"), [("you", ("items", "unsure")), ("she", ("items",))])
def test_two_readings_with_different_translations_are_flagged(formal: str, flags: tuple[str, ...]) -> None:
    words = Words.learn(["Heute hat sie Sie gesehen, und Sie haben sie gesehen, die sie kennt."])

    def translate(requests: Sequence[Request]) -> list[list[Translation]]:
        texts = [formal if "Sie" in request.text else "she" for request in requests]
        return [[Translation(text, 0.0, (), flags=("items",))] for text in texts]

    assert translate_known([Request("HEUTE HAT SIE GESEHEN")], words, translate)[0][0].flags == flags


def test_the_translator_reads_a_changed_line_like_the_plain_one(translator: Translator) -> None:
    known = Translator(translator.model, translator.tokenizer.with_words(WORDS), SHORT)
    plain, *others = known.translate(
        ["Zwei Männer sitzen am Tisch", "Zwei Maenner sit- zen am Tisch", "ZWEI MÄNNER SITZEN AM TISCH"]
    )
    assert others == [plain, plain.upper()]


def test_words_of_a_line_whose_parts_were_joined_keep_their_numbers(translator: Translator) -> None:
    known = Translator(translator.model, translator.tokenizer.with_words(WORDS), replace(SHORT, max_length_ratio=1.0))
    line = "Zwei Männer sit- zen am Tisch"
    plain, divided = (best for best, *_ in known.translate_n_best([line.replace("- ", ""), line]))
    shifted = [(i + (i > 2), j) for i, j in known.align(line.replace("- ", ""), plain)]
    assert known.align(line, divided) == shifted
    assert shifted


def test_a_word_that_training_lacked_is_flagged_unless_it_is_copied(translator: Translator) -> None:
    tokenizer = translator.tokenizer.with_words(WORDS)
    assert tokenizer.spelling("Der Hund Xyqw läuft", "The dog runs") < 2
    assert tokenizer.spelling("Der Hund Xyqw läuft {Abcd}", "The dog XYQW runs") == float("inf")
    facts = replace(translator.facts, least_spelling=2.0)
    known = Translator(translator.model, tokenizer, replace(SHORT, guard=True), facts=facts)
    unknown, plain = (best for best, *_ in known.translate_n_best(["Der Hund Xyqw läuft", "Der kleine Hund läuft"]))
    assert "unknown" in unknown.flags
    assert "unknown" not in plain.flags
