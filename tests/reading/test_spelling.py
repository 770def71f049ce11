"""Lines are read in words and characters that the model knows, and translations get the spelling of their lines."""

import re
from dataclasses import replace

import pytest
from hypothesis import given

from nmt.data.tokenizer import Tokenizer
from nmt.reading.loop import Reading
from nmt.reading.request import Constraints, Request, Term
from nmt.reading.spelling import inside, known_words, readable, tidied
from nmt.text.edges import quotes_of
from nmt.text.user_items import UserItems
from nmt.text.words import Words, spellings_of
from nmt.translation.translator import Translator
from tests.reading.pretended import Pretended, asked_of, context_of, text_of
from tests.text.test_edges import lines, many
from tests.tiny import PAIRS, SHORT

WORDS = Words.learn([f"{source} Und {source[0].lower()}{source[1:]}" for source, _ in PAIRS])


@pytest.mark.parametrize(
    ("line", "read", "translation"),
    [
        ("DER KLEINE HUND LÄUFT.", "Der kleine Hund läuft.", "DER KLEINE HUND LÄUFT."),
        ("Der Kleine Hund Laeuft", "Der kleine Hund läuft", "Der Kleine Hund Läuft"),
        ("der kleine hund läuft {name}", "Der kleine Hund läuft {name}", "Der kleine Hund läuft {name}"),
        ("Der kleine Hund laeuft {NAME}", "Der kleine Hund läuft {NAME}", "Der kleine Hund läuft {NAME}"),
        ("DER KLEINE HUND {name} IST WEG", "Der kleine Hund {name} ist weg", "DER KLEINE HUND {name} IST WEG"),
    ],
)
def test_a_line_is_read_in_known_words_and_cased(tokenizer: Tokenizer, line: str, read: str, translation: str) -> None:
    model, context = Pretended(), context_of(tokenizer.with_words(WORDS), spellings=spellings_of("de"))
    assert text_of(line, [known_words], context, model).text == translation
    assert model.asked == [read]
    assert read in asked_of(line, translation, [known_words], context)
    assert text_of(line, [known_words], context_of(tokenizer)).text == line


def test_a_translation_into_a_script_of_one_case_gets_no_capitals(tokenizer: Tokenizer) -> None:
    """Georgian has capitals in Unicode, which nearly nobody writes."""
    context = context_of(tokenizer.with_words(WORDS), spellings=spellings_of("de"))
    for answer, expected in {"პატარა ძაღლი": "პატარა ძაღლი", "a small dog": "A SMALL DOG"}.items():
        known = Pretended({"Der kleine Hund": answer}.__getitem__)
        assert text_of("DER KLEINE HUND", [known_words], context, known).text == expected


@pytest.mark.parametrize(
    ("must", "must_not", "targets", "banned"),
    [
        (("DOG", "hound"), ("CAT",), ["dog", "Dog", "DOG", "hound"], {"CAT", "Cat", "cat"}),
        (("IT", "him"), ("it",), ["It", "IT", "him"], {"it"}),
        (("Station",), ("STATION",), ["Station"], {"STATION", "station"}),
        (("A DOG",), ("a",), ["A dog", "A DOG"], {"a"}),
    ],
)
def test_constraints_in_capitals_are_met_by_words_that_get_capitals_and_other_cases_contradict_nothing(
    tokenizer: Tokenizer, must: tuple[str, ...], must_not: tuple[str, ...], targets: list[str], banned: set[str]
) -> None:
    constraints = Constraints("THE", (Term(must),), must_not)
    taken = known_words(Reading.of(Request("DER KLEINE HUND", constraints)), context_of(tokenizer.with_words(WORDS)))
    assert taken
    inner = taken.readings[0].constraints
    assert (inner.prefix, [*inner.must[0].targets], set(inner.must_not)) == ("the", targets, banned)


def test_phrases_in_another_case_than_the_line_keep_it(tokenizer: Tokenizer) -> None:
    context = context_of(tokenizer.with_words(WORDS))
    constraints = Constraints("Der", (Term(("hund",)), Term(("KLEINE",))))
    model = Pretended({"Der kleine Hund": "Der kleine hund hundert"}.__getitem__)
    assert text_of(Request("DER KLEINE HUND", constraints), [known_words], context, model).text == (
        "Der KLEINE hund hundERT"
    )


def test_the_source_of_a_term_is_read_as_the_line_is(tokenizer: Tokenizer) -> None:
    context = context_of(tokenizer.with_words(WORDS), spellings=spellings_of("de"))
    constraints = Constraints(must=(Term(("runs",), "laeuft"),))
    taken = known_words(Reading.of(Request("Der kleine Hund laeuft", constraints)), context)
    assert taken
    assert taken.readings[0].constraints.must[0].source == "läuft"


def test_words_in_items_of_the_user_stay(tokenizer: Tokenizer) -> None:
    context = context_of(tokenizer.with_words(WORDS), spellings=spellings_of("de"))
    items = UserItems.parse(["LAEUFT-[0-9]", "Łódź"])
    request = Request("DER HUND LAEUFT-9 Łódź laeuft", user_items=items)
    model = Pretended()
    assert "LAEUFT-9 Łódź" in text_of(request, [known_words, readable], context, model).text
    assert model.asked == ["DER HUND LAEUFT-9 Łódź läuft"]


@pytest.mark.parametrize(
    "line", ["Der\u00a0 Hund", " u\u0308ber  den\u00adHund ", "x \xad \u200b y", "\ufeffa\u202f b\t c "]
)
def test_each_word_knows_its_place_in_the_line_as_written(tokenizer: Tokenizer, line: str) -> None:
    best = text_of(line, [tidied, readable], context_of(tokenizer))
    for part in best.parts:
        for character, place in zip(part.read, part.source_places, strict=True):
            assert character.isspace() or line[place] in (character, "u"), (character, place)


def test_the_translator_reads_a_changed_line_like_the_plain_one(translator: Translator) -> None:
    known = Translator(translator.model, translator.tokenizer.with_words(WORDS), SHORT)
    known.spellings = spellings_of("de")
    plain, *others = known.translate(
        ["Zwei Männer sitzen am Tisch", "Zwei Maenner sitzen am Tisch", "ZWEI MÄNNER SITZEN AM TISCH"]
    )
    assert others == [plain, plain.upper()]


def test_a_word_that_training_lacked_is_flagged_unless_it_is_copied(translator: Translator) -> None:
    tokenizer = translator.tokenizer.with_words(WORDS)
    fewest, share = tokenizer.familiar("Der Hund Xyqw läuft", "The dog runs")
    assert (fewest < 2, share) == (True, 0.75)
    assert tokenizer.familiar("Der Hund Xyqw läuft {Abcd}", "The dog XYQW runs") == (float("inf"), 1)
    facts = replace(translator.facts, least_spelling=2.0)
    known = Translator(translator.model, tokenizer, replace(SHORT, guard=True), facts=facts)
    unknown, plain = (best for best, *_ in known.translate_n_best(["Der Hund Xyqw läuft", "Der kleine Hund läuft"]))
    assert "unknown" in unknown.flags
    assert "unknown" not in plain.flags


def test_text_in_another_language_is_flagged(translator: Translator) -> None:
    facts = replace(translator.facts, least_known=0.5)
    known = Translator(
        translator.model, translator.tokenizer.with_words(WORDS), replace(SHORT, guard=True), facts=facts
    )
    lines = ["The small dog runs.", "Der kleine Dackel läuft.", "Dackel Waldi"]
    assert ["unknown" in best.flags for best, *_ in known.translate_n_best(lines)] == [True, False, False]


@pytest.mark.parametrize(
    ("trained", "line", "share"),
    [
        (["誰が行く。", "私が来る。"], "私が行く、誰が来る。", 1),
        (["誰が行く。", "私が来る。"], "The dog is here", 0),
        (["The dog is here"], "誰が一番に行くか。", 0),
        (["ฉันรักคุณ"], "คุณรักฉันไหม", 2 / 3),
        (["나는 집에 간다"], "나는 학교에 간다", 2 / 3),
    ],
)
def test_without_spaces_the_letters_count(tokenizer: Tokenizer, trained: list[str], line: str, share: float) -> None:
    assert tokenizer.with_words(Words.learn(trained)).familiar(line, "")[1] == pytest.approx(share)


@pytest.mark.parametrize(
    ("line", "final", "read", "translation", "expected"),
    [
        ("Das Haus…", "", "Das Haus.", "The house.", "The house…"),
        ("Ja!!!", "", "Ja!", "Yes!", "Yes!!!"),
        ("(Was?!)", "", "Was?", "What？", "(What?!)"),
        ("Das Haus", ".", "Das Haus.", "The house.", "The house"),
        ("# Das Haus", ".", "Das Haus.", "The house", "# The house"),
        ("Die USA", ".", "Die USA.", "The U.S.", "The U.S."),
        ("Das Haus [1]", ".", "Das Haus.", "家。", "家 [1]"),
        ("Das Haus", ".", "Das Haus.", "ቤት፡፡", "ቤት"),
        ("Das Haus", ".", "Das Haus.", "", ""),
        ("Das Haus 12", ".", "Das Haus 12", "The house 12.", "The house 12."),
        ("Das Haus von https://x.org", ".", "Das Haus von https://x.org", "The house.", "The house."),
        ("„Das Haus.“", "", "Das Haus.", "La maison.", "«La maison.»"),
        ('"Das Haus."', "", "Das Haus.", "La maison.", '"La maison."'),
    ],
)
def test_the_model_reads_the_text_and_users_the_marks_around_it(
    tokenizer: Tokenizer, line: str, final: str, read: str, translation: str, expected: str
) -> None:
    model, context = Pretended(lambda _: translation), context_of(tokenizer, final_mark=final, quotes=quotes_of("fr"))
    assert text_of(line, [inside], context, model).text == expected
    assert model.asked == [read]
    assert not translation or translation in asked_of(line, expected, [inside], context) or translation[-1] in "？。፡"


@many
@given(lines)
def test_an_unchanged_text_gives_the_line(tokenizer: Tokenizer, line: str) -> None:
    for final in ("", *([] if re.search(r"\.\w\Z", line) else ["."])):  # a last dot as of "U.S." stays
        assert text_of(line, [inside], context_of(tokenizer, final_mark=final)).text == line


@pytest.mark.parametrize(
    ("constraints", "prefix", "must"),
    [
        (Constraints("- The"), "The", 0),
        (Constraints("The"), None, 0),
        (Constraints(must_not=("[1]",)), None, 0),
        (Constraints(must_not=("dog",), must=(Term(("[1]",)), Term(("house",)))), "", 1),
    ],
)
def test_edges_meet_constraints(tokenizer: Tokenizer, constraints: Constraints, prefix: str | None, must: int) -> None:
    taken = inside(Reading.of(Request("- Das Haus [1]", constraints)), context_of(tokenizer))
    assert (taken and taken.readings[0].constraints.prefix) == prefix
    assert taken is None or len(taken.readings[0].constraints.must) == must


def test_a_long_line_takes_no_longer(tokenizer: Tokenizer) -> None:
    for line in ("> " * 50_000 + "a", "a" + " :)" * 50_000, "(" * 50_000 + "a" + ")" * 50_000, "a" + "!" * 100_000):
        assert text_of(line, [inside], context_of(tokenizer)).text == line
