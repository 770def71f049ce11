"""The phrasebook is the same everywhere, keeps its splits apart, and speaks correct German and English."""

import hashlib
import inspect
import os
import re
import subprocess
import sys
import unicodedata
from dataclasses import replace
from random import Random

import pytest

from nmt.data.phrasebook import MOST_SENTENCES, PATTERNS, Drawn, draw, english, german, lexicon, phrasebook
from nmt.data.phrasebook.clauses import (
    CAN,
    INDEFINITE,
    LIKE_TO,
    MUST,
    OBJECT,
    WANT,
    Clause,
    Piece,
    Tense,
    command,
    fronted,
    fronted_statement,
    infinitive,
    inverted,
    question,
    statement,
    straight,
    subordinate,
    zu_infinitive,
)
from nmt.data.phrasebook.events import predicate
from nmt.data.phrasebook.german import ACC, DAT, GEN, NOM
from nmt.data.phrasebook.phrases import (
    BARE,
    HE,
    HER,
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
    counted,
    name_phrase,
    noun_phrase,
)
from nmt.data.phrasebook.sentence import Sentence
from nmt.data.phrasebook.splits import choose_combinations, sayable, two_splits, words_of
from nmt.data.phrasebook.words import Adjective, Noun, action, adjective, noun

MANN, FRAU, KIND = noun("der Mann, Männer = man"), noun("die Frau, Frauen = woman"), noun("das Kind, Kinder = child")
JUNGE, HERR_WEBER = noun("der* Junge, Jungen = boy"), name_phrase("Weber", False, "Herr")
ALT = adjective("alt älter ältest = old")


@pytest.fixture(scope="module")
def book() -> Drawn:
    return draw(seed=1, train_pairs=40_000, held_out_pairs=1_000)


@pytest.fixture(scope="module")
def everything(book: Drawn) -> list[Sentence]:
    return [*book.train, *book.val, *book.test]


# ---------------------------------------------------------------------------------------------------------- the corpus


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
        (THE, (JUNGE, None), "der Junge|den Jungen|dem Jungen|des Jungen"),
    ],
)
def test_articles_and_adjectives_agree_in_every_case(
    determiner: Determiner, described: tuple[Noun, Adjective | None], forms: str
) -> None:
    phrase = noun_phrase(determiner, *described)
    expected = forms.split("|")
    assert list(phrase.german[: len(expected)]) == expected


def test_adjectives_without_an_article_are_strong() -> None:
    wine = noun("der Wein, Weine = wine")
    assert noun_phrase(BARE, wine, ALT).german[:3] == ("alter Wein", "alten Wein", "altem Wein")
    assert noun_phrase(BARE, KIND, ALT, plural=True).german[:3] == ("alte Kinder", "alte Kinder", "alten Kindern")


def test_plurals_take_n_in_the_dative_but_for_those_in_s() -> None:
    men = noun_phrase(THE, MANN, ALT, plural=True)
    assert men.german[:3] == ("die alten Männer", "die alten Männer", "den alten Männern")
    assert noun_phrase(THE, noun("das Auto, Autos = car"), plural=True).german[DAT] == "den Autos"


def test_possessives_keep_their_own_stem() -> None:
    assert noun_phrase(YOUR_IHR, FRAU).german[:2] == ("eure Frau", "eure Frau")
    assert noun_phrase(YOUR_IHR, MANN).german[:2] == ("euer Mann", "euren Mann")
    assert noun_phrase(HER, MANN).english == "her man"


def test_herr_is_declined_before_a_surname() -> None:
    assert HERR_WEBER.german == ("Herr Weber", "Herrn Weber", "Herrn Weber", "Herrn Webers")


@pytest.mark.parametrize("line", ["teuer = expensive", "hoch = high", "dunkel = dark"])
def test_some_adjectives_lose_a_letter_before_an_ending(line: str) -> None:
    attribute = adjective(line)
    inflected = {"teuer": "teures", "hoch": "hohes", "dunkel": "dunkles"}[attribute.german]
    assert noun_phrase(A, KIND, attribute).german[NOM] == f"ein {inflected} Kind"


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
    assert [german.present(action(line).verb, person) for person in range(6)] == forms.split()


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
    verb = action(line).verb
    assert (german.imperative(verb, YOU_DU.person), german.imperative(verb, YOU_IHR.person)) == (friend, friends)


def test_degrees_of_comparison_in_both_languages() -> None:
    degrees = {quality.german: quality for quality in lexicon.FOR_PEOPLE + lexicon.FOR_SAVOURY + lexicon.FOR_CLOTHES}
    assert (degrees["alt"].german_comparative, degrees["alt"].german_superlative) == ("älter", "ältest")
    assert (degrees["groß"].german_comparative, degrees["groß"].german_superlative) == ("größer", "größt")
    assert (degrees["heiß"].german_superlative, degrees["heiß"].english_superlative) == ("heißest", "hottest")
    assert (degrees["gut"].german_comparative, degrees["gut"].english_comparative) == ("besser", "better")
    assert (degrees["teuer"].german_comparative, degrees["teuer"].english_comparative) == ("teurer", "more expensive")
    assert degrees["freundlich"].english_comparative == "friendlier"


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
    assert (english.third_person(word), english.past(word), english.ing(word)) == (third, past, ing)


def test_english_nouns_and_articles() -> None:
    singular = ["child", "knife", "potato", "box", "bus", "city map", "glass of water", "key", "strawberry", "sheep"]
    assert [english.plural(word) for word in singular] == [
        "children", "knives", "potatoes", "boxes", "buses", "city maps", "glasses of water", "keys", "strawberries",
        "sheep",
    ]  # fmt: skip
    nouns = ["apple", "university", "umbrella", "hour", "old man", "e-mail", "T-shirt"]
    assert [english.with_article(word).split()[0] for word in nouns] == ["an", "a", "an", "an", "an", "an", "a"]


def test_a_pair_is_singular_in_german_and_plural_in_english() -> None:
    trousers = noun("die Hose, Hosen = ~trousers")
    assert (noun_phrase(THE, trousers).english, noun_phrase(THE, trousers).agreement) == ("the trousers", "they")
    assert noun_phrase(A, trousers, ALT).english == "a pair of old trousers"
    assert noun_phrase(THIS, trousers).english == "these trousers"


def test_counted_things() -> None:
    brother = noun("der Bruder, Brüder = brother")
    assert (counted(1, brother).german[ACC], counted(1, brother).english) == ("einen Bruder", "one brother")
    assert (counted(3, brother).german[DAT], counted(3, brother).english) == ("drei Brüdern", "three brothers")


# ---------------------------------------------------------------------------------------------------------- word order

GET_UP = predicate("auf|stehen steht +aufgestanden = get up", "früh = early")
HURRY = predicate("sich beeilen beeilt beeilt = hurry")
READ_IT = Clause(SHE, action("lesen liest gelesen = read"), (Piece(OBJECT, "das Buch", "the book"),))
DRINK_TEA = Clause(
    HE, action("trinken trinkt getrunken = drink"), (Piece(INDEFINITE, "Tee", "tea", "keinen Tee", "any tea"),)
)
GO_HOME = predicate("gehen geht +gegangen = go", "nach Hause = home")
TOMORROW, YESTERDAY = ("morgen", "tomorrow"), ("gestern", "yesterday")


def both(clause: Clause) -> tuple[str, str]:
    return straight(clause), statement(clause)


@pytest.mark.parametrize(
    ("clause", "in_german", "in_english"),
    [
        (replace(GET_UP, subject=SHE), "sie steht früh auf", "she gets up early"),
        (replace(GET_UP, subject=THEY, modal=MUST), "sie müssen früh aufstehen", "they have to get up early"),
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
        (replace(DRINK_TEA, modal=LIKE_TO), "er möchte Tee trinken", "he would like to drink tea"),
        (replace(DRINK_TEA, modal=CAN, negated=True, tense=Tense.PAST),
         "er konnte keinen Tee trinken", "he couldn't drink tea"),
        (replace(GO_HOME, subject=HE, negated=True), "er geht nicht nach Hause", "he doesn't go home"),
        (replace(GO_HOME, subject=I, tense=Tense.FUTURE, time=TOMORROW),
         "ich werde morgen nach Hause gehen", "I will go home tomorrow"),
        (predicate("haben hat gehabt = have", "Fieber = a fever", Tense.PAST, time=YESTERDAY),
         "es hatte gestern Fieber", "it had a fever yesterday"),
    ],
)  # fmt: skip
def test_main_clauses(clause: Clause, in_german: str, in_english: str) -> None:
    assert both(clause) == (in_german, in_english)


def test_the_verb_stays_second_when_the_time_comes_first() -> None:
    clause = replace(GET_UP, subject=WE, time=TOMORROW)
    assert (fronted(clause), fronted_statement(clause)) == ("morgen stehen wir früh auf", "tomorrow we get up early")


def test_the_verb_is_last_in_a_subordinate_clause() -> None:
    assert subordinate(replace(GET_UP, subject=SHE), "weil") == "weil sie früh aufsteht"
    assert subordinate(replace(GET_UP, subject=SHE, modal=WANT), "dass") == "dass sie früh aufstehen will"
    assert subordinate(replace(GET_UP, subject=SHE, tense=Tense.PAST), "ob") == "ob sie früh aufgestanden ist"
    assert subordinate(replace(HURRY, subject=I), "wenn") == "wenn ich mich beeile"


def test_zu_stands_inside_a_separable_verb() -> None:
    assert zu_infinitive(GET_UP) == "früh aufzustehen"
    assert zu_infinitive(GO_HOME) == "nach Hause zu gehen"
    assert infinitive(GET_UP) == "get up early"


def test_questions_put_the_verb_first_and_use_do() -> None:
    assert inverted(replace(GET_UP, subject=YOU_DU)) == "stehst du früh auf"
    assert question(replace(GET_UP, subject=HE)) == "does he get up early"
    assert inverted(replace(GO_HOME, subject=YOU_SIE, tense=Tense.PAST), "wann") == "wann sind Sie nach Hause gegangen"
    assert question(replace(GO_HOME, subject=YOU_SIE, tense=Tense.PAST), "when") == "when did you go home"


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
        action("schenken schenkt geschenkt = give"),
        (Piece(1, "meiner Mutter", "my mother"), Piece(INDEFINITE, "ein Buch", "a book", "kein Buch", "a book")),
        time=TOMORROW,
    )
    assert both(given) == ("ich schenke meiner Mutter morgen ein Buch", "I give my mother a book tomorrow")


def test_place_comes_after_manner_in_german_and_before_it_in_english() -> None:
    ride = Clause(
        WE,
        action("fahren fährt +gefahren = go"),
        (Piece(8, "nach Wien", "to Vienna"), Piece(7, "mit dem Zug", "by train")),
        Tense.PROGRESSIVE,
        time=TOMORROW,
    )
    assert both(ride) == ("wir fahren morgen mit dem Zug nach Wien", "we are going to Vienna by train tomorrow")


def test_every_determiner_has_its_genitive() -> None:
    assert noun_phrase(MY, MANN).german[GEN] == "meines Mannes"
    assert noun_phrase(Determiner("unser", "ein", "our"), FRAU).german[GEN] == "unserer Frau"


def test_a_phrase_agrees_with_its_verb_in_both_languages() -> None:
    phrases: list[Phrase] = [I, HE, WE, THEY, YOU_SIE, noun_phrase(THE, KIND), noun_phrase(THE, KIND, plural=True)]
    said = [both(replace(GO_HOME, subject=phrase)) for phrase in phrases]
    assert [words.split()[-3] for words, _ in said] == ["gehe", "geht", "gehen", "gehen", "gehen", "geht", "gehen"]
    assert [words.split()[-2] for _, words in said] == ["go", "goes", "go", "go", "go", "goes", "go"]
