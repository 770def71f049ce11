"""Patterns that say who has what, where things are, and who people are: profession, origin, age, family.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from nmt.data.phrasebook import clauses, english, events, german, modifiers, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.clauses import DATIVE, OBJECT, PLACE, Clause, Piece, Tense
from nmt.data.phrasebook.descriptions import YOUNGER, Kind, english_is, object, one_person, verb_is
from nmt.data.phrasebook.german import ACC, DAT, GEN, NOM
from nmt.data.phrasebook.phrases import HE, MY, SHE, THE, THIS, YOU_SIE, A, Phrase, counted, noun_phrase
from nmt.data.phrasebook.sentence import Pattern, Sentence, asked, finish, stated
from nmt.data.phrasebook.words import Noun, action

# ------------------------------------------------------------------------------------------------------ possession


def of_somebody(rng: Random) -> Sentence:
    """The genitive: "Das Auto meines Bruders ist kaputt."."""
    nouns, qualities = rng.choice(OWNED)
    noun, quality = rng.choice(nouns), rng.choice(qualities)
    if rng.random() < 0.6:
        owner = noun_phrase(MY, rng.choice(lex.FAMILY + lex.ACQUAINTANCES))
        thing = f"{noun_phrase(THE, noun).german[NOM]} {owner.german[GEN]}"
    else:
        owner = people.named(rng)
        thing = f"{owner.german[GEN]} {noun.german}"
    verb = "are" if noun.pair else "is"
    english_words = f"{owner.english}'s {noun.english} {verb} {quality.english}"
    words = (f"{noun.german}+{quality.german}", f"{noun.german}+{owner.words[-1]}")
    return finish(f"{thing} ist {quality.german}", english_words, words)


OWNED: tuple[Kind, ...] = (
    (lex.BELONGINGS, modifiers.FOR_BELONGINGS[:2]),
    (lex.WORN, modifiers.COLOURS),
    (lex.SOLD, modifiers.FOR_BELONGINGS[:3]),
    (lex.ROOMS[:4], modifiers.FOR_ROOMS),
    (lex.HOMES[:2], modifiers.FOR_HOMES),
    (lex.PETS, modifiers.FOR_ANIMALS[:4]),
)


def belongs_to(rng: Random) -> Sentence:
    """ "Der Ring gehört meiner Tante."."""
    noun = rng.choice(lex.BELONGINGS + lex.WORN + lex.SOLD + lex.PETS)
    thing = noun_phrase(rng.choice((THE, THIS)), noun)
    owner = people.subject(rng, "adult")
    belongs = Clause(
        thing, action("gehören gehört gehört = belong"), (person_piece(owner, "to"),), negated=rng.random() < 0.25
    )
    return stated(belongs) if rng.random() < 0.7 else asked(replace(belongs, negated=False))


def pleases(rng: Random) -> Sentence:
    """gefallen: what pleases is the subject in German, who is pleased is the subject in English."""
    nouns, determiner = rng.choice(((lex.CLOTHES, THE), (lex.FURNITURE, THE), (lex.HOMES, THIS), (lex.STORIES, THIS)))
    thing = noun_phrase(determiner, rng.choice(nouns))
    pleased = people.subject(rng, "adult")
    negated = rng.random() < 0.35
    like = Clause(
        pleased, action("gefallen gefällt gefallen = like"), (Piece(OBJECT, "", thing.english),), negated=negated
    )
    nicht = " nicht" if negated else ""
    german_words = f"{thing.german[NOM]} gefällt {pleased.german[DAT]}{nicht}"
    return finish(german_words, clauses.statement(like), (f"gefallen+{thing.words[-1]}",))


def suits(rng: Random) -> Sentence:
    """passen and stehen, with the wearer in the dative."""
    verb, english_verb, manner, english_manner = rng.choice(SUITING)
    noun = rng.choice(lex.WORN + lex.WORN_IN_PAIRS)
    thing = noun_phrase(THE, noun, plural=noun in lex.WORN_IN_PAIRS)
    wearer = one_person(rng)
    pieces = (person_piece(wearer), Piece(PLACE, manner, english_manner))
    worn = Clause(thing, action(f"{verb} = {english_verb}"), pieces, negated=rng.random() < 0.3 and not manner)
    return stated(worn)


SUITING = (
    ("passen passt gepasst", "fit", "", ""),
    ("stehen steht gestanden", "suit", "gut", "well"),
    ("stehen steht gestanden", "suit", "sehr gut", "very well"),
)


def has_how_many(rng: Random) -> Sentence:
    """Counted relatives, animals and things."""
    value = rng.randint(2, 5)
    things = counted(value, rng.choice(lex.COUNTED_FAMILY + lex.PETS))
    subject = people.subject(rng, "adult")
    owned = Clause(subject, events.HAVE, (Piece(OBJECT, things.german[ACC], things.english, words=things.words[-1:]),))
    number = f"{german.number(value)}+{things.words[-1]}"
    sentence = stated(owned)
    return finish(sentence.german[:-1], sentence.english[:-1], (*sentence.combinations, number))


def buys_how_many(rng: Random) -> Sentence:
    value = rng.randint(2, 12)
    things = counted(value, rng.choice(lex.COUNTED_FOOD + lex.AT_TABLE[:6]))
    bought = object(people.subject(rng, "adult"), "kaufen kauft gekauft = buy", things, Tense.PAST)
    return finish(
        bought.german[:-1], bought.english[:-1], (*bought.combinations, f"{german.number(value)}+{things.words[-1]}")
    )


# ------------------------------------------------------------------------------------------------------ place


def stands_somewhere(rng: Random) -> Sentence:
    """Where a thing is: a two-way preposition with the dative."""
    verb, nouns, spots = rng.choice(POSITIONS)
    thing, landmark, (preposition, english_preposition) = thing_and_landmark(rng, nouns, spots)
    if rng.random() < 0.5:
        german_words = f"{thing.german[NOM]} {verb} {german.with_preposition(preposition, landmark.german[DAT])}"
        english_words = f"{english_is(thing)} {english_preposition} {landmark.english}"
        return finish(german_words, english_words, (f"{thing.words[-1]}+{landmark.words[-1]}",))
    german_words = f"{verb} {thing.german[NOM]} {german.with_preposition(preposition, landmark.german[DAT])}"
    is_or_are = "are" if thing.agreement == "they" else "is"
    english_words = f"{is_or_are} {thing.english} {english_preposition} {landmark.english}"
    return finish(german_words, english_words, (f"{thing.words[-1]}+{landmark.words[-1]}",), "?")


def puts_somewhere(rng: Random) -> Sentence:
    """Where a thing is put: the same prepositions with the accusative."""
    verb, nouns, spots = rng.choice(MOVES)
    thing, landmark, (preposition, english_preposition) = thing_and_landmark(rng, nouns, spots)
    target = german.with_preposition(preposition, landmark.german[ACC])
    pieces = (
        Piece(OBJECT, thing.german[ACC], thing.english, words=thing.words[-1:]),
        Piece(PLACE, target, f"{english_preposition} {landmark.english}", words=landmark.words[-1:]),
    )
    put = Clause(people.subject(rng, "adult"), action(f"{verb} = put"), pieces, Tense.PAST)
    draw = rng.random()
    if draw < 0.5:
        return stated(put)
    request = replace(put, subject=YOU_SIE, tense=Tense.SIMPLE, adverb=("bitte", ""))
    if draw < 0.75:
        return finish(clauses.command(request), f"please {clauses.infinitive(request)}", put.combinations)
    who = people.you(rng, "adult")
    return asked(replace(put, subject=who), called=people.called(rng, who))


BESIDE = (("neben", "next to"), ("vor", "in front of"), ("hinter", "behind"))
ON = (("auf", "on"), ("unter", "under"), ("neben", "next to"))
POSITIONS = (("steht", lex.STANDING, BESIDE), ("liegt", lex.LYING, ON))
MOVES = (("stellen stellt gestellt", lex.STANDING, BESIDE), ("legen legt gelegt", lex.LYING, ON))


def thing_and_landmark(
    rng: Random, nouns: Sequence[Noun], spots: Sequence[tuple[str, str]]
) -> tuple[Phrase, Phrase, tuple[str, str]]:
    """Two different things and how they stand to each other; nothing lies on a fridge or under a shelf."""
    thing, landmark, spot = rng.choice(nouns), rng.choice(lex.LANDMARKS), rng.choice(spots)
    flat = landmark.german in ("Tisch", "Bett", "Sofa", "Schreibtisch", "Stuhl")
    if thing.german == landmark.german or (spot[0] in ("auf", "unter") and not flat):
        return thing_and_landmark(rng, nouns, spots)
    return noun_phrase(THE, thing), noun_phrase(THE, landmark), spot


def there_is(rng: Random) -> Sentence:
    """es gibt with the accusative."""
    nouns, places = rng.choice(NEARBY)
    noun, (place, english_place) = rng.choice(nouns), rng.choice(places)
    thing = noun_phrase(A, noun)
    draw = rng.random()
    words = (f"geben+{noun.german}", f"{place}+{noun.german}")
    if draw < 0.35:
        return finish(f"gibt es {place} {thing.german[ACC]}", f"is there {thing.english} {english_place}", words, "?")
    if draw < 0.7:
        return finish(f"{place} gibt es {thing.german[ACC]}", f"there is {thing.english} {english_place}", words)
    missing = f"k{thing.german[ACC]}"
    return finish(f"{place} gibt es {missing}", f"there isn't {thing.english} {english_place}", words)


SMALL_SIGHTS = frozenset(
    [
        "Apotheke",
        "Bank",
        "Supermarkt",
        "Bushaltestelle",
        "Hotel",
        "Parkplatz",
        "Tankstelle",
        "Kirche",
        "Toilette",
        "Museum",
    ]
)
NEARBY = (
    (
        [noun for noun in lex.SIGHTS if noun.german in SMALL_SIGHTS - {"Toilette"}],
        (("in dieser Straße", "in this street"),),
    ),
    ([noun for noun in lex.SIGHTS if noun.german in SMALL_SIGHTS], (("hier", "here"), ("in der Nähe", "nearby"))),
    (
        [noun for noun in lex.SIGHTS if noun.german not in ("Toilette", "Parkplatz", "Bushaltestelle")],
        (("in unserer Stadt", "in our town"),),
    ),
)

# ------------------------------------------------------------------------------------------------------ people


def profession(rng: Random) -> Sentence:
    """German says it without an article."""
    jobs, english_jobs = rng.choice(lex.PROFESSIONS)
    wished = rng.random() < 0.35
    subject = people.named(rng) if rng.random() < 0.5 else noun_phrase(MY, rng.choice(YOUNGER if wished else KIN))
    if rng.random() < 0.15:
        subject = rng.choice((HE, SHE))
    is_woman = subject.gender == "f"
    job, english_job = of_sex(jobs, is_woman), english.with_article(of_sex(english_jobs, is_woman))
    words = (f"{subject.english}+{job}",)
    if wished:
        return finish(
            f"{subject.german[NOM]} möchte {job} werden", f"{subject.english} would like to become {english_job}", words
        )
    return finish(f"{verb_is(subject)} {job}", f"{english_is(subject)} {english_job}", words)


def of_sex(words: str, is_woman: bool) -> str:
    male, _, female = words.partition("/")
    return female if is_woman and female else male


def origin(rng: Random) -> Sentence:
    place, english_place = rng.choice(lex.CITIES + lex.COUNTRIES)
    piece = Piece(PLACE, f"aus {place}", f"from {english_place}", words=(place,))
    come = action("kommen kommt +gekommen = come")
    draw = rng.random()
    if draw < 0.6:
        return stated(Clause(people.subject(rng), come, (piece,), negated=rng.random() < 0.25))
    subject = people.you(rng) if draw < 0.85 else people.other(rng)
    called = people.called(rng, subject) if subject.english == "you" else ("", "")
    return asked(Clause(subject, come, (piece,)), called=called)


def age(rng: Random) -> Sentence:
    """Years in words, as many as become a son or a grandmother."""
    subject = noun_phrase(MY, rng.choice(lex.FAMILY)) if rng.random() < 0.7 else people.named(rng)
    years = rng.randint(*people.age_span(subject))
    time = rng.choice((None, None, ("nächste Woche", "next week"), ("im Mai", "in May"), ("morgen", "tomorrow")))
    number, english_number = german.number(years), english.number(years)
    if time is None:
        return stated(events.quality(subject, f"{number} Jahre alt", f"{english_number} years old", number))
    piece = Piece(PLACE, number, english_number, words=(number,))
    return stated(Clause(subject, action("werden wird +geworden = be"), (piece,), Tense.PRESENT_WILL, time=time), rng)


def introduces(rng: Random) -> Sentence:
    """ "Das ist meine Schwester Anna."."""
    is_woman = rng.random() < 0.5
    family = lex.WOMEN_OF_THE_FAMILY if is_woman else lex.MEN_OF_THE_FAMILY + lex.ACQUAINTANCES[:2]
    relation = noun_phrase(MY, rng.choice([noun for noun in family if noun not in ELDERS]))
    name = rng.choice(lex.FEMALE_NAMES if is_woman else lex.MALE_NAMES)
    shape = rng.choice((("das ist {} {}", "this is {} {}"), ("{} heißt {}", "{}'s name is {}")))
    words = (f"{relation.words[-1]}+{name}",)
    return finish(shape[0].format(relation.german[NOM], name), shape[1].format(relation.english, name), words)


# ------------------------------------------------------------------------------------------------------ parts

KIN = [noun for noun in lex.FAMILY if noun.german not in ("Mann", "Frau")]
ELDERS = [noun for noun in lex.FAMILY if noun.german in ("Vater", "Mutter", "Großvater", "Großmutter")]


def person_piece(phrase: Phrase, english_preposition: str = "") -> Piece:
    """A person in the dative."""
    slot = clauses.PRONOUN if phrase.is_pronoun else DATIVE
    return Piece(slot, phrase.german[DAT], f"{english_preposition} {phrase.english_object}".strip(), words=phrase.head)


PATTERNS: tuple[tuple[int, Pattern], ...] = (
    (7, of_somebody),
    (6, belongs_to),
    (5, pleases),
    (4, suits),
    (3, has_how_many),
    (4, buys_how_many),
    (5, stands_somewhere),
    (7, puts_somewhere),
    (4, there_is),
    (5, profession),
    (5, origin),
    (4, age),
    (3, introduces),
)
