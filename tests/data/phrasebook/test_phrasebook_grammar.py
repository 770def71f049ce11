"""The phrasebook speaks correct German and English.

These tests look at its word forms first, then at its word order.
"""

from dataclasses import replace

import pytest

from nmt.data.phrasebook import english, german
from nmt.data.phrasebook.clauses import (
    INDEFINITE,
    MODALS,
    OBJECT,
    PLACE,
    Clause,
    Piece,
    Tense,
    command,
    infinitive,
    inverted,
    main,
    question,
    statement,
    subordinate,
    zu_infinitive,
)
from nmt.data.phrasebook.german import ACC, DAT, NOM
from nmt.data.phrasebook.lexicon import ADJECTIVES, Noun, Pair, action, adjective, noun
from nmt.data.phrasebook.phrases import (
    BARE,
    HE,
    HER,
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
    YOUR_IHR,
    A,
    Determiner,
    I,
    Phrase,
    name_phrase,
    noun_phrase,
    numeral,
)

MANN, FRAU, KIND = noun("der Mann, Männer", "man"), noun("die Frau, Frauen", "woman"), noun("das Kind, Kinder", "child")
WEIN, OUR = noun("der Wein, Weine", "wine"), Determiner("unser", "ein", "our")
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
        (A, (FRAU, ALT), "eine alte Frau|eine alte Frau|einer alten Frau"),
        (A, (KIND, ALT), "ein altes Kind|ein altes Kind|einem alten Kind"),
        (MY, (KIND, ALT), "mein altes Kind|mein altes Kind|meinem alten Kind"),
        (THIS, (MANN, ALT), "dieser alte Mann|diesen alten Mann|diesem alten Mann"),
        (THE, (JUNGE, PLAIN), "der Junge|den Jungen|dem Jungen|des Jungen"),
        (BARE, (WEIN, ALT), "alter Wein|alten Wein|altem Wein"),
        (MY, (MANN, PLAIN), "mein Mann|meinen Mann|meinem Mann|meines Mannes"),
        (OUR, (FRAU, PLAIN), "unsere Frau|unsere Frau|unserer Frau|unserer Frau"),
        (YOUR_IHR, (FRAU, PLAIN), "eure Frau|eure Frau"),
        (YOUR_IHR, (MANN, PLAIN), "euer Mann|euren Mann"),
    ],
)
def test_articles_and_adjectives_agree_in_every_case(
    determiner: Determiner, described: tuple[Noun, Pair], forms: str
) -> None:
    phrase = noun_phrase(determiner, *described)
    expected = forms.split("|")
    assert list(phrase.german[: len(expected)]) == expected


def test_plurals_take_n_in_the_dative_but_for_those_in_s() -> None:
    assert noun_phrase(BARE, KIND, ALT, plural=True).german[:3] == ("alte Kinder", "alte Kinder", "alten Kindern")
    men = noun_phrase(THE, MANN, ALT, plural=True)
    assert men.german[:3] == ("die alten Männer", "die alten Männer", "den alten Männern")
    assert noun_phrase(THE, noun("das Auto, Autos", "car"), plural=True).german[DAT] == "den Autos"


def test_herr_is_declined_before_a_surname() -> None:
    assert HERR_WEBER.german == ("Herr Weber", "Herrn Weber", "Herrn Weber", "Herrn Webers")


@pytest.mark.parametrize("line", ["teuer = expensive", "hoch = high", "dunkel = dark"])
def test_some_adjectives_lose_a_letter_before_an_ending(line: str) -> None:
    attribute = adjective(*line.split(" = "))
    inflected = {"teuer": "teures", "hoch": "hohes", "dunkel": "dunkles"}[attribute.german[0]]
    assert noun_phrase(A, KIND, (attribute.german[0], attribute.english[0])).german[NOM] == f"ein {inflected} Kind"


@pytest.mark.parametrize(
    ("preposition", "phrase", "joined"),
    [
        ("in", "dem Park", "im Park"),
        ("in", "das Kino", "ins Kino"),
        ("an", "dem See", "am See"),
        ("an", "das Fenster", "ans Fenster"),
        ("zu", "dem Arzt", "zum Arzt"),
        ("zu", "der Post", "zur Post"),
        ("von", "dem Chef", "vom Chef"),
        ("bei", "dem Arzt", "beim Arzt"),
        ("bei", "der Bank", "bei der Bank"),
        ("in", "den Park", "in den Park"),
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
        ("spielen spielt gespielt = play", "spiele spielst spielt spielen spielt spielen"),
        ("sammeln sammelt gesammelt = collect", "sammle sammelst sammelt sammeln sammelt sammeln"),
        ("fahren fährt +gefahren = go", "fahre fährst fährt fahren fahrt fahren"),
        ("arbeiten arbeitet gearbeitet = work", "arbeite arbeitest arbeitet arbeiten arbeitet arbeiten"),
        ("tanzen tanzt getanzt = dance", "tanze tanzt tanzt tanzen tanzt tanzen"),
        ("halten hält gehalten = hold", "halte hältst hält halten haltet halten"),
        ("öffnen öffnet geöffnet = open", "öffne öffnest öffnet öffnen öffnet öffnen"),
        ("feiern feiert gefeiert = celebrate", "feiere feierst feiert feiern feiert feiern"),
        ("sein ist +gewesen = be", "bin bist ist sind seid sind"),
        ("haben hat gehabt = have", "habe hast hat haben habt haben"),
        ("mögen mag gemocht = like", "mag magst mag mögen mögt mögen"),
    ],
)
def test_verbs_in_the_present(line: str, forms: str) -> None:
    assert [german.present(action(*line.split(" = ")).verb, person) for person in range(6)] == forms.split()


@pytest.mark.parametrize(
    ("line", "friend", "friends"),
    [
        ("lesen liest gelesen = read", "lies", "lest"),
        ("geben gibt gegeben = give", "gib", "gebt"),
        ("vergessen vergisst vergessen = forget", "vergiss", "vergesst"),
        ("waschen wäscht gewaschen = wash", "wasch", "wascht"),
        ("öffnen öffnet geöffnet = open", "öffne", "öffnet"),
        ("kommen kommt +gekommen = come", "komm", "kommt"),
        ("antworten antwortet geantwortet = answer", "antworte", "antwortet"),
    ],
)
def test_commands_to_friends(line: str, friend: str, friends: str) -> None:
    verb = action(*line.split(" = ")).verb
    assert (german.imperative(verb, YOU_DU.person), german.imperative(verb, YOU_IHR.person)) == (friend, friends)


def test_degrees_of_comparison_in_both_languages() -> None:
    degrees = {quality.german[0]: quality for quality in ADJECTIVES}
    assert degrees["alt"].german == ("alt", "älter", "ältest")
    assert degrees["jung"].german == ("jung", "jünger", "jüngst")
    assert (degrees["heiß"].german[2], degrees["heiß"].english[2]) == ("heißest", "hottest")
    assert (degrees["gut"].german[1], degrees["gut"].english[1]) == ("besser", "better")
    assert (degrees["teuer"].german[1], degrees["teuer"].english[1]) == ("teurer", "more expensive")
    assert degrees["freundlich"].english[1] == "friendlier"


def test_numbers_in_words() -> None:
    said = {value: (german.number(value), english.number(value)) for value in (1, 16, 17, 21, 30, 99, 150)}
    assert said[21] == ("einundzwanzig", "twenty-one")
    assert (said[16][0], said[17][0], said[30][0]) == ("sechzehn", "siebzehn", "dreißig")
    assert said[150] == ("einhundertfünfzig", "one hundred and fifty")
    assert [german.ordinal(value) for value in (1, 3, 7, 8, 19, 20, 21)] == [
        "erst", "dritt", "siebt", "acht", "neunzehnt", "zwanzigst", "einundzwanzigst"
    ]  # fmt: skip
    assert [english.ordinal(value) for value in (1, 12, 20, 22, 28)] == [
        "first", "twelfth", "twentieth", "twenty-second", "twenty-eighth"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "third", "past", "ing"),
    [
        ("get up", "gets up", "got up", "getting up"),
        ("try", "tries", "tried", "trying"),
        ("watch", "watches", "watched", "watching"),
        ("go", "goes", "went", "going"),
        ("write", "writes", "wrote", "writing"),
        ("travel", "travels", "travelled", "travelling"),
        ("play", "plays", "played", "playing"),
        ("see", "sees", "saw", "seeing"),
    ],
)
def test_english_verbs(word: str, third: str, past: str, ing: str) -> None:
    forms = english.inflected(word, "third"), english.inflected(word, "past"), english.inflected(word, "ing")
    assert forms == (third, past, ing)


def test_english_nouns_and_articles() -> None:
    singular = ["child", "knife", "potato", "box", "bus", "city map", "glass of water", "key", "strawberry", "sheep"]
    assert [english.plural(word) for word in singular] == [
        "children", "knives", "potatoes", "boxes", "buses", "city maps", "glasses of water", "keys", "strawberries",
        "sheep",
    ]  # fmt: skip
    nouns = ["apple", "university", "umbrella", "hour", "old man", "e-mail", "T-shirt"]
    assert [english.with_article(word).split()[0] for word in nouns] == ["an", "a", "an", "an", "an", "an", "a"]


def test_a_pair_is_singular_in_german_and_plural_in_english() -> None:
    trousers = noun("die Hose, Hosen", "~trousers")
    assert (noun_phrase(THE, trousers).english, noun_phrase(THE, trousers).agreement) == ("the trousers", "they")
    assert noun_phrase(A, trousers, ALT).english == "a pair of old trousers"
    assert noun_phrase(THIS, trousers).english == "these trousers"


def test_possessives_and_counted_things() -> None:
    assert noun_phrase(HER, MANN).english == "her man"
    brother = noun("der Bruder, Brüder", "brother")
    one, three = noun_phrase(numeral(1), brother), noun_phrase(numeral(3), brother, plural=True)
    assert (one.german[ACC], one.english) == ("einen Bruder", "one brother")
    assert (three.german[DAT], three.english) == ("drei Brüdern", "three brothers")


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
        (replace(HURRY, subject=WE, tense=Tense.PAST), "wir haben uns beeilt", "we hurried"),
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
        (replace(DRINK_TEA, negated=True, tense=Tense.PAST), "er hat keinen Tee getrunken", "he didn't drink any tea"),
        (replace(DRINK_TEA, adverb=("nie", "never")), "er trinkt nie Tee", "he never drinks tea"),
        (replace(DRINK_TEA, modal=MODALS["would"]), "er möchte Tee trinken", "he would like to drink tea"),
        (replace(DRINK_TEA, modal=MODALS["can"], negated=True, tense=Tense.PAST),
         "er konnte keinen Tee trinken", "he couldn't drink tea"),
        (replace(GO_HOME, subject=HE, negated=True), "er geht nicht nach Hause", "he doesn't go home"),
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


def test_zu_stands_inside_a_separable_verb() -> None:
    assert zu_infinitive(GET_UP) == "früh aufzustehen"
    assert zu_infinitive(GO_HOME) == "nach Hause zu gehen"
    assert infinitive(GET_UP) == "get up early"


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


def test_the_dative_comes_before_the_time_and_the_accusative() -> None:
    given = Clause(
        I,
        action("schenken schenkt geschenkt", "give"),
        (Piece(1, "meiner Mutter", "my mother"), Piece(INDEFINITE, "ein Buch", "a book", "kein Buch", "a book")),
        time=TOMORROW,
    )
    assert both(given) == ("ich schenke meiner Mutter morgen ein Buch", "I give my mother a book tomorrow")


def test_place_comes_after_manner_in_german_and_before_it_in_english() -> None:
    ride = Clause(
        WE,
        action("fahren fährt +gefahren", "go"),
        (Piece(8, "nach Wien", "to Vienna"), Piece(7, "mit dem Zug", "by train")),
        Tense.PROGRESSIVE,
        time=TOMORROW,
    )
    assert both(ride) == ("wir fahren morgen mit dem Zug nach Wien", "we are going to Vienna by train tomorrow")


def test_a_phrase_agrees_with_its_verb_in_both_languages() -> None:
    phrases: list[Phrase] = [I, HE, WE, THEY, YOU_SIE, noun_phrase(THE, KIND), noun_phrase(THE, KIND, plural=True)]
    said = [both(replace(GO_HOME, subject=phrase)) for phrase in phrases]
    assert [words.split()[-3] for words, _ in said] == ["gehe", "geht", "gehen", "gehen", "gehen", "geht", "gehen"]
    assert [words.split()[-2] for _, words in said] == ["go", "goes", "go", "go", "go", "goes", "go"]
