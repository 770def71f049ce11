"""The phrasebook speaks correct German and English.

These tests look at its word forms first, then at its word order.
"""

from dataclasses import replace

import pytest

from nmt.data.phrasebook import german
from nmt.data.phrasebook.clauses import (
    INDEFINITE,
    MODALS,
    OBJECT,
    PLACE,
    Clause,
    Piece,
    Tense,
    command,
    inverted,
    main,
    question,
    statement,
    subordinate,
)
from nmt.data.phrasebook.lexicon import Noun, Pair, action, noun
from nmt.data.phrasebook.phrases import (
    HE,
    IT,
    MY,
    SHE,
    THE,
    THEY,
    THIS,
    WE,
    YOU_DU,
    YOU_IHR,
    YOU_SIE,
    A,
    Determiner,
    I,
    name_phrase,
    noun_phrase,
)

MANN, FRAU, KIND = noun("der Mann, Männer", "man"), noun("die Frau, Frauen", "woman"), noun("das Kind, Kinder", "child")
JUNGE, HERR_WEBER = noun("der* Junge, Jungen", "boy"), name_phrase("Weber", False, "Herr")
ALT, PLAIN = ("alt", "old"), ("", "")


# ---------------------------------------------------------------------------------------------------------- morphology


@pytest.mark.parametrize(
    ("determiner", "described", "forms"),
    [
        (THE, (MANN, ALT), "der alte Mann|den alten Mann|dem alten Mann|des alten Mannes"),
        (THE, (FRAU, ALT), "die alte Frau|die alte Frau|der alten Frau|der alten Frau"),
        (THE, (KIND, ALT), "das alte Kind|das alte Kind|dem alten Kind|des alten Kindes"),
        (A, (MANN, ALT), "ein alter Mann|einen alten Mann|einem alten Mann"),
        (MY, (KIND, ALT), "mein altes Kind|mein altes Kind|meinem alten Kind"),
        (THIS, (MANN, ALT), "dieser alte Mann|diesen alten Mann|diesem alten Mann"),
        (THE, (JUNGE, PLAIN), "der Junge|den Jungen|dem Jungen|des Jungen"),
    ],
)
def test_articles_and_adjectives_agree_in_every_case(
    determiner: Determiner, described: tuple[Noun, Pair], forms: str
) -> None:
    phrase = noun_phrase(determiner, *described)
    expected = forms.split("|")
    assert list(phrase.german[: len(expected)]) == expected


@pytest.mark.parametrize(
    ("preposition", "phrase", "joined"),
    [
        ("in", "dem Park", "im Park"),
        ("an", "das Fenster", "ans Fenster"),
        ("zu", "der Post", "zur Post"),
        ("bei", "dem Arzt", "beim Arzt"),
        ("bei", "der Bank", "bei der Bank"),
        ("auf", "das Bett", "auf das Bett"),
    ],
)
def test_prepositions_contract_with_some_articles(preposition: str, phrase: str, joined: str) -> None:
    assert german.with_preposition(preposition, phrase) == joined


@pytest.mark.parametrize(
    ("line", "forms"),
    [
        ("trinken trinkt getrunken = drink", "trinke trinkst trinkt trinken trinkt trinken"),
        ("lesen liest gelesen = read", "lese liest liest lesen lest lesen"),
        ("sammeln sammelt gesammelt = collect", "sammle sammelst sammelt sammeln sammelt sammeln"),
        ("arbeiten arbeitet gearbeitet = work", "arbeite arbeitest arbeitet arbeiten arbeitet arbeiten"),
        ("tanzen tanzt getanzt = dance", "tanze tanzt tanzt tanzen tanzt tanzen"),
        ("halten hält gehalten = hold", "halte hältst hält halten haltet halten"),
        ("feiern feiert gefeiert = celebrate", "feiere feierst feiert feiern feiert feiern"),
        ("sein ist +gewesen = be", "bin bist ist sind seid sind"),
        ("mögen mag gemocht = like", "mag magst mag mögen mögt mögen"),
    ],
)
def test_verbs_in_the_present(line: str, forms: str) -> None:
    assert [german.present(action(*line.split(" = ")).verb, person) for person in range(6)] == forms.split()


# ---------------------------------------------------------------------------------------------------------- word order


def predicate(verb: str, words: str = "", meaning: str = "") -> Clause:
    return Clause(IT, action(*verb.split(" = ")), (Piece(PLACE, words, meaning),) if words else ())


GET_UP = predicate("auf|stehen steht +aufgestanden = get up", "früh", "early")
HURRY = predicate("sich beeilen beeilt beeilt = hurry")
READ_IT = Clause(SHE, action("lesen liest gelesen", "read"), (Piece(OBJECT, "das Buch", "the book"),))
DRINK_TEA = Clause(
    HE, action("trinken trinkt getrunken", "drink"), (Piece(INDEFINITE, "Tee", "tea", "keinen Tee", "any tea"),)
)
GO_HOME = predicate("gehen geht +gegangen = go", "nach Hause", "home")
TOMORROW, YESTERDAY = ("morgen", "tomorrow"), ("gestern", "yesterday")


def both(clause: Clause) -> tuple[str, str]:
    return main(clause), statement(clause)


@pytest.mark.parametrize(
    ("clause", "in_german", "in_english"),
    [
        (replace(GET_UP, subject=SHE), "sie steht früh auf", "she gets up early"),
        (replace(GET_UP, subject=THEY, modal=MODALS["must"]), "sie müssen früh aufstehen", "they have to get up early"),
        (replace(GET_UP, subject=I, tense=Tense.PAST), "ich bin früh aufgestanden", "I got up early"),
        (replace(READ_IT, negated=True), "sie liest das Buch nicht", "she doesn't read the book"),
        (replace(READ_IT, negated=True, time=YESTERDAY, tense=Tense.PAST),
         "sie hat das Buch gestern nicht gelesen", "she didn't read the book yesterday"),
        (replace(READ_IT, tense=Tense.PERFECT, adverb=("schon", "already")),
         "sie hat das Buch schon gelesen", "she has already read the book"),
        (replace(READ_IT, tense=Tense.PERFECT, adverb=("noch", "yet"), negated=True),
         "sie hat das Buch noch nicht gelesen", "she hasn't read the book yet"),
        (replace(READ_IT, tense=Tense.PROGRESSIVE, adverb=("gerade", "right now")),
         "sie liest gerade das Buch", "she is reading the book right now"),
        (replace(DRINK_TEA, negated=True), "er trinkt keinen Tee", "he doesn't drink tea"),
        (replace(DRINK_TEA, adverb=("nie", "never")), "er trinkt nie Tee", "he never drinks tea"),
        (replace(DRINK_TEA, modal=MODALS["would"]), "er möchte Tee trinken", "he would like to drink tea"),
        (replace(DRINK_TEA, modal=MODALS["can"], negated=True, tense=Tense.PAST),
         "er konnte keinen Tee trinken", "he couldn't drink tea"),
        (replace(GO_HOME, subject=I, tense=Tense.FUTURE, time=TOMORROW),
         "ich werde morgen nach Hause gehen", "I will go home tomorrow"),
        (replace(predicate("haben hat gehabt = have", "Fieber", "a fever"), tense=Tense.PAST, time=YESTERDAY),
         "es hatte gestern Fieber", "it had a fever yesterday"),
    ],
)  # fmt: skip
def test_main_clauses(clause: Clause, in_german: str, in_english: str) -> None:
    assert both(clause) == (in_german, in_english)


def test_the_verb_stays_second_when_the_time_comes_first() -> None:
    clause = replace(GET_UP, subject=WE, time=TOMORROW, time_first=True)
    assert both(clause) == ("morgen stehen wir früh auf", "tomorrow we get up early")


def test_the_verb_is_last_in_a_subordinate_clause() -> None:
    assert subordinate(replace(GET_UP, subject=SHE)) == "sie früh aufsteht"
    assert subordinate(replace(GET_UP, subject=SHE, modal=MODALS["want"])) == "sie früh aufstehen will"
    assert subordinate(replace(GET_UP, subject=SHE, tense=Tense.PAST)) == "sie früh aufgestanden ist"
    assert subordinate(replace(HURRY, subject=I)) == "ich mich beeile"


def test_questions_put_the_verb_first_and_use_do() -> None:
    assert inverted(replace(GET_UP, subject=YOU_DU)) == "stehst du früh auf"
    assert question(replace(GET_UP, subject=HE)) == "does he get up early"
    assert inverted(replace(GO_HOME, subject=YOU_SIE, tense=Tense.PAST), "wann") == "wann sind Sie nach Hause gegangen"
    assert question(replace(GO_HOME, subject=YOU_SIE, tense=Tense.PAST)) == "did you go home"


def test_a_reflexive_pronoun_comes_before_a_noun_but_after_a_pronoun() -> None:
    clause = replace(HURRY, tense=Tense.PAST)
    assert inverted(replace(clause, subject=noun_phrase(THE, MANN)), "gestern") == "gestern hat sich der Mann beeilt"
    assert inverted(replace(clause, subject=YOU_IHR)) == "habt ihr euch beeilt"


def test_commands_to_a_stranger_a_friend_and_several() -> None:
    orders = [command(replace(GET_UP, subject=subject)) for subject in (YOU_SIE, YOU_DU, YOU_IHR)]
    assert orders == ["stehen Sie früh auf", "steh früh auf", "steht früh auf"]
