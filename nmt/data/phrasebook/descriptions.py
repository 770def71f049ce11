"""Patterns that say what somebody or something is like: adjectives, comparison, possession, place.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from nmt.data.phrasebook import clauses, english, events, german, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.clauses import DATIVE, OBJECT, PLACE, Clause, Piece, Tense
from nmt.data.phrasebook.german import ACC, DAT, GEN, NOM
from nmt.data.phrasebook.phrases import (
    BARE,
    HE,
    MY,
    OUR,
    SHE,
    THE,
    THIS,
    YOU_SIE,
    A,
    I,
    Phrase,
    counted,
    described,
    name_phrase,
    noun_phrase,
    pronoun_for,
)
from nmt.data.phrasebook.sentence import Pattern, Sentence, asked, finish, stated
from nmt.data.phrasebook.words import Adjective, Noun, action

Kind = tuple[Sequence[Noun], Sequence[Adjective]]
"""Things, and the qualities that they may have."""

KINDS: tuple[Kind, ...] = (
    (lex.CLOTHES, lex.FOR_CLOTHES),
    (lex.STORIES, lex.FOR_STORIES),
    (lex.MESSAGES, lex.FOR_MESSAGES),
    (lex.ROOMS, lex.FOR_ROOMS),
    (lex.HOMES, lex.FOR_HOMES),
    (lex.SIGHTS[1:9], lex.FOR_SIGHTS),
    (lex.VALUED, lex.FOR_BELONGINGS),
    (lex.MACHINES, lex.FOR_MACHINES),
    (lex.FURNITURE, lex.FOR_FURNITURE),
    (lex.TASKS, lex.FOR_TASKS),
    (lex.SAVOURY, lex.FOR_SAVOURY),
    (lex.SWEETS, lex.FOR_SWEETS),
    (lex.ANIMALS, lex.FOR_ANIMALS),
)
_COLOURED = lex.WORN + lex.WORN_IN_PAIRS

# ------------------------------------------------------------------------------------------------------ qualities


def thing_is(rng: Random) -> Sentence:
    """ "Die Küche ist sehr hell."."""
    noun, quality = _thing(rng)
    return stated(_in_some_degree(rng, noun_phrase(THE, noun), quality))


def thing_was(rng: Random) -> Sentence:
    noun, quality = _thing(rng)
    return stated(replace(_in_some_degree(rng, noun_phrase(THE, noun), quality), tense=Tense.PAST))


def _in_some_degree(rng: Random, subject: Phrase, quality: Adjective) -> Clause:
    """Somebody or something being very, quite, too or not so."""
    degrees = _DEGREES[
        : 1
        if quality.german in _ABSOLUTE
        else 4
        if quality.german in _TOO_MUCH and _ALIVE.isdisjoint(subject.words)
        else 3
    ]
    degree, english_degree = rng.choice(degrees)
    so = events.quality(subject, degree + quality.german, english_degree + quality.english, quality.german)
    return replace(so, negated=degree in ("", "sehr ") and rng.random() < 0.4)


_DEGREES = (("", ""), ("sehr ", "very "), ("ziemlich ", "quite "), ("zu ", "too "))
_ALIVE = frozenset(noun.german for noun in lex.ANIMALS)
_ABSOLUTE = frozenset(["kaputt", "lecker", "neu", "hungrig", "sauber"])
_TOO_MUCH = frozenset(
    [
        "teuer",
        "groß",
        "klein",
        "laut",
        "dunkel",
        "lang",
        "kurz",
        "schwierig",
        "heiß",
        "kalt",
        "süß",
        "salzig",
        "scharf",
        "schwer",
        "langweilig",
    ]
)


def colour(rng: Random) -> Sentence:
    """Clothes by colour, one or several."""
    noun, shade = rng.choice(_COLOURED), rng.choice(lex.COLOURS)
    determiner = rng.choice((THE, MY, THIS))
    return _says(noun_phrase(determiner, noun, plural=noun in lex.WORN_IN_PAIRS), shade.german, shade.english)


def is_it(rng: Random) -> Sentence:
    noun, quality = _thing(rng)
    thing = noun_phrase(rng.choice((THE, THIS)), noun)
    return asked(events.being(thing, quality))


def what_a_thing(rng: Random) -> Sentence:
    """The adjective before its noun: "Das ist ein spannender Roman."."""
    noun, quality = _thing(rng)
    degree, english_degree = rng.choice((("", ""), ("sehr ", "very ")))
    if quality.german in _ABSOLUTE:
        degree, english_degree = "", ""
    thing = described(A, noun, (degree + quality.german, english_degree + quality.english))
    words = (f"{quality.german}+{noun.german}",)
    return finish(f"das ist {thing.german[NOM]}", f"that is {thing.english}", words)


def what_things(rng: Random) -> Sentence:
    noun, quality = _thing(rng)
    things = noun_phrase(BARE, noun, quality, plural=True)
    return finish(f"das sind {things.german[NOM]}", f"those are {things.english}", things.combinations)


def buys_such_a_thing(rng: Random) -> Sentence:
    """The adjective in the accusative, after "ein" or no article."""
    noun, quality = rng.choice(_COLOURED), rng.choice(lex.COLOURS)
    several = noun in lex.WORN_IN_PAIRS
    thing = noun_phrase(BARE if several else A, noun, quality, plural=several)
    verb, tense = rng.choice(_GETTING)
    return _object(people.subject(rng, "adult"), verb, thing, tense)


_GETTING = (
    ("kaufen kauft gekauft = buy", Tense.PAST),
    ("kaufen kauft gekauft = buy", Tense.FUTURE),
    ("suchen sucht gesucht = look for", Tense.PROGRESSIVE),
    ("bestellen bestellt bestellt = order", Tense.PAST),
)


def gets_that_thing(rng: Random) -> Sentence:
    """The adjective in the accusative, after "der" or a possessive."""
    nouns, qualities, verb = rng.choice(_HANDLED)
    subject = _one_person(rng)
    owned = subject.possessor if not verb.startswith(("lesen", "beantworten")) and rng.random() < 0.5 else None
    thing = noun_phrase(owned or THE, rng.choice(nouns), rng.choice(qualities))
    return _object(subject, verb, thing, Tense.PAST)


_HANDLED: tuple[tuple[Sequence[Noun], Sequence[Adjective], str], ...] = (
    (lex.WASHED, lex.COLOURS, "waschen wäscht gewaschen = wash"),
    (lex.WORN, lex.COLOURS, "verlieren verliert verloren = lose"),
    (lex.PUT_ON, lex.FOR_CLOTHES[:2], "an|ziehen zieht angezogen = put on"),
    (lex.SOLD, lex.FOR_BELONGINGS[:2], "verkaufen verkauft verkauft = sell"),
    (lex.MACHINES, lex.FOR_MACHINES[:2] + lex.FOR_MACHINES[5:6], "reparieren repariert repariert = repair"),
    (lex.BELONGINGS, lex.FOR_BELONGINGS[:2], "vergessen vergisst vergessen = forget"),
    (lex.STORIES[:3], lex.FOR_STORIES[:5], "lesen liest gelesen = read"),
    (lex.TASKS[:1], lex.FOR_TASKS[:5], "beantworten beantwortet beantwortet = answer"),
)


def person_with(rng: Random) -> Sentence:
    """The adjective in the dative: "Der Mann mit dem grauen Hut …"."""
    who = rng.choice(lex.GROWN_UPS[:2] + lex.CHILDREN)
    garment = noun_phrase(THE, rng.choice(lex.WORN), rng.choice(lex.COLOURS))
    relation = rng.choice(_OF_THAT_SEX[who.gender if who.german != "Mädchen" else "f"])
    german_words = (
        f"{noun_phrase(THE, who).german[NOM]} mit {garment.german[DAT]} ist {noun_phrase(MY, relation).german[NOM]}"
    )
    english_words = f"the {who.english} with {garment.english} is my {relation.english}"
    return finish(german_words, english_words, (*garment.combinations, f"{who.german}+{garment.words[-1]}"))


_MALE_RELATIONS = [noun for noun in lex.MEN_OF_THE_FAMILY if noun.german in ("Bruder", "Sohn", "Neffe")]
_FEMALE_RELATIONS = [noun for noun in lex.WOMEN_OF_THE_FAMILY if noun.german in ("Schwester", "Tochter", "Nichte")]
_OF_THAT_SEX = {"m": _MALE_RELATIONS, "f": _FEMALE_RELATIONS, "n": _MALE_RELATIONS[1:] + _FEMALE_RELATIONS[1:]}


def feels(rng: Random) -> Sentence:
    """How somebody feels or felt, and when."""
    felt = events.being(people.subject(rng), rng.choice(lex.FEELINGS))
    draw = rng.random()
    if draw < 0.4:
        return stated(replace(felt, negated=rng.random() < 0.3))
    if draw < 0.8:
        return stated(replace(felt, tense=Tense.PAST, time=rng.choice(lex.RECENT_TIMES)), rng)
    adverb = rng.choice((("oft", "often"), ("immer", "always"), ("nie", "never"), ("selten", "rarely")))
    return stated(replace(felt, adverb=adverb))


def character(rng: Random) -> Sentence:
    subject = rng.choice((HE, SHE)) if rng.random() < 0.25 else people.third_person(rng)
    return stated(_in_some_degree(rng, subject, rng.choice(_CHARACTER)))


def kind_of_person(rng: Random) -> Sentence:
    """ "Unser Nachbar ist ein freundlicher Mann."."""
    subject, sort = rng.choice(_SORTS)
    person = noun_phrase(A, sort, rng.choice(lex.FOR_PEOPLE if subject.words[-1] in lex.SURNAMES else _CHARACTER))
    words = (*person.combinations, f"{subject.words[-1]}+{person.words[0]}")
    return finish(f"{_is(subject)} {person.german[NOM]}", f"{_english_is(subject)} {person.english}", words)


_CHARACTER = lex.FOR_PEOPLE[2:]
_MAN, _WOMAN = lex.GROWN_UPS[:2]
_SORTS = tuple(
    [
        (noun_phrase(MY, noun), _MAN)
        for noun in (*lex.MEN_OF_THE_FAMILY[:1], *lex.MEN_OF_THE_FAMILY[3:5], *lex.ACQUAINTANCES)
    ]
    + [(noun_phrase(MY, noun), _WOMAN) for noun in (*lex.WOMEN_OF_THE_FAMILY[:1], *lex.WOMEN_OF_THE_FAMILY[3:5])]
    + [(name_phrase(name, False, "Herr"), _MAN) for name in lex.SURNAMES]
    + [(name_phrase(name, True, "Frau"), _WOMAN) for name in lex.SURNAMES]
)

# ------------------------------------------------------------------------------------------------------ comparison


def compares_people(rng: Random) -> Sentence:
    quality = rng.choice(lex.COMPARED_PEOPLE)
    one, another = _two_people(rng)
    far, english_far = rng.choice((("", ""), ("viel ", "much "), ("", "")))
    german_words = f"{_is(one)} {far}{quality.german_comparative} als {another.german[NOM]}"
    english_words = f"{_english_is(one)} {english_far}{quality.english_comparative} than {another.english_object}"
    return finish(german_words, english_words, _pairing(one, quality, another))


def as_as(rng: Random) -> Sentence:
    quality = rng.choice(lex.COMPARED_PEOPLE[1:])
    one, another = _two_people(rng)
    link, english_link = rng.choice((("so", "as"), ("so", "as"), ("genauso", "just as")))
    words = f"{link} {quality.german} wie {another.german[NOM]}"
    english_words = f"{english_link} {quality.english} as {another.english_object}"
    equal = replace(events.quality(one, words, english_words), negated=link == "so" and rng.random() < 0.6)
    return finish(clauses.straight(equal), clauses.statement(equal), _pairing(one, quality, another))


def most_of_all(rng: Random) -> Sentence:
    """The superlative with "am": "Meine Tante ist am fleißigsten."."""
    quality = rng.choice(lex.COMPARED_PEOPLE)
    one = people.named(rng) if rng.random() < 0.5 else noun_phrase(rng.choice((MY, OUR)), rng.choice(_YOUNGER))
    german_words = f"{_is(one)} am {quality.german_superlative}en"
    return finish(german_words, f"{_english_is(one)} the {quality.english_superlative}", _pairing(one, quality))


def most_such_thing(rng: Random) -> Sentence:
    """The superlative before its noun: "Das ist das teuerste Kleid im Laden."."""
    nouns, qualities, place, english_place = rng.choice(_SELECTIONS)
    noun, quality = rng.choice(nouns), rng.choice(qualities)
    thing = described(THE, noun, (quality.german_superlative, quality.english_superlative))
    verb = "are" if noun.pair else "is"
    subject = "these" if noun.pair else "this"
    english_words = f"{subject} {verb} {thing.english} {english_place}"
    return finish(f"das ist {thing.german[NOM]} {place}", english_words, (f"{quality.german}+{noun.german}",))


_SELECTIONS: tuple[tuple[Sequence[Noun], Sequence[Adjective], str, str], ...] = (
    (lex.CLOTHES, lex.FOR_CLOTHES[2:7], "im Laden", "in the shop"),
    (lex.FURNITURE, lex.FOR_FURNITURE[:8], "im Haus", "in the house"),
    (lex.SIGHTS[1:9], lex.FOR_SIGHTS, "in der Stadt", "in town"),
    (lex.ANIMALS[-2:-1] + lex.ANIMALS[3:4] + lex.ANIMALS[10:12], lex.FOR_ANIMALS[:4], "im Zoo", "in the zoo"),
    (lex.ROOMS[:5], lex.FOR_ROOMS[:4], "in der Wohnung", "in the flat"),
    (lex.SAVOURY, lex.FOR_BELONGINGS[2:4], "auf der Speisekarte", "on the menu"),
)


def this_or_that(rng: Random) -> Sentence:
    """Two of a kind compared by colour: "Der rote Mantel ist teurer als der blaue."."""
    noun, quality = rng.choice(_COLOURED), rng.choice(lex.FOR_CLOTHES[:7])
    first, second = rng.sample(lex.COLOURS, 2)
    plural = noun in lex.WORN_IN_PAIRS
    one, another = noun_phrase(THE, noun, first, plural), noun_phrase(THE, noun, second, plural)
    left_out = another.german[NOM].rpartition(" ")[0]
    ones = "ones" if one.agreement == "they" else "one"
    german_words = f"{_is(one)} {quality.german_comparative} als {left_out}"
    english_words = f"{_english_is(one)} {quality.english_comparative} than the {second.english} {ones}"
    return finish(german_words, english_words, (*one.combinations, f"{quality.german}+{noun.german}"))


def nice_but(rng: Random) -> Sentence:
    """A thing and its pronoun, whose gender shows in German only."""
    noun, drawback = rng.choice(lex.CLOTHES + lex.FURNITURE), rng.choice(_DRAWBACKS)
    thing = noun_phrase(rng.choice((THE, THIS)), noun)
    pronoun = pronoun_for(thing, is_person=False)
    virtue, english_virtue = rng.choice((("schön", "beautiful"), ("modern", "modern"), ("praktisch", "practical")))
    german_words = f"{_is(thing)} {virtue}, aber {_is(pronoun)} zu {drawback[0]}"
    english_words = f"{_english_is(thing)} {english_virtue}, but {_english_is(pronoun)} too {drawback[1]}"
    return finish(german_words, english_words, (f"{drawback[0]}+{noun.german}", f"{virtue}+{noun.german}"))


_DRAWBACKS = (("teuer", "expensive"), ("groß", "big"), ("klein", "small"))


def more_and_more(rng: Random) -> Sentence:
    """ "Es wird immer kälter."."""
    subject, english_subject, qualities = rng.choice(_CHANGING)
    quality = rng.choice(qualities)
    again = f"{quality.english_comparative} and {quality.english_comparative}"
    if quality.english_comparative.startswith("more "):
        again = f"more and {quality.english_comparative}"
    words = (f"{subject}+{quality.german}",)
    return finish(f"{subject} wird immer {quality.german_comparative}", f"{english_subject} is getting {again}", words)


_CHANGING = (
    ("es", "it", lex.FOR_WEATHER[:3] + lex.FOR_WEATHER[4:5]),
    ("der Film", "the film", lex.FOR_STORIES[:4]),
    ("das Buch", "the book", lex.FOR_STORIES[:4]),
    ("die Prüfung", "the exam", lex.FOR_TASKS[:1]),
    ("die Miete", "the rent", lex.FOR_BELONGINGS[2:3]),
    ("mein Kind", "my child", lex.FOR_PEOPLE[4:6]),
    ("die Stadt", "the town", lex.FOR_HOMES[:1] + lex.FOR_HOMES[-1:]),
)

# ------------------------------------------------------------------------------------------------------ possession


def of_somebody(rng: Random) -> Sentence:
    """The genitive: "Das Auto meines Bruders ist kaputt."."""
    nouns, qualities = rng.choice(_OWNED)
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


_OWNED: tuple[Kind, ...] = (
    (lex.BELONGINGS, lex.FOR_BELONGINGS[:2]),
    (lex.WORN, lex.COLOURS),
    (lex.SOLD, lex.FOR_BELONGINGS[:3]),
    (lex.ROOMS[:4], lex.FOR_ROOMS),
    (lex.HOMES[:2], lex.FOR_HOMES),
    (lex.PETS, lex.FOR_ANIMALS[:4]),
)


def belongs_to(rng: Random) -> Sentence:
    """ "Der Ring gehört meiner Tante."."""
    noun = rng.choice(lex.BELONGINGS + lex.WORN + lex.SOLD + lex.PETS)
    thing = noun_phrase(rng.choice((THE, THIS)), noun)
    owner = people.subject(rng, "adult")
    belongs = Clause(
        thing, action("gehören gehört gehört = belong"), (_person(owner, "to"),), negated=rng.random() < 0.25
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
    verb, english_verb, manner, english_manner = rng.choice(_SUITING)
    noun = rng.choice(lex.WORN + lex.WORN_IN_PAIRS)
    thing = noun_phrase(THE, noun, plural=noun in lex.WORN_IN_PAIRS)
    wearer = _one_person(rng)
    pieces = (_person(wearer), Piece(PLACE, manner, english_manner))
    worn = Clause(thing, action(f"{verb} = {english_verb}"), pieces, negated=rng.random() < 0.3 and not manner)
    return stated(worn)


_SUITING = (
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
    bought = _object(people.subject(rng, "adult"), "kaufen kauft gekauft = buy", things, Tense.PAST)
    return finish(
        bought.german[:-1], bought.english[:-1], (*bought.combinations, f"{german.number(value)}+{things.words[-1]}")
    )


# ------------------------------------------------------------------------------------------------------ place


def stands_somewhere(rng: Random) -> Sentence:
    """Where a thing is: a two-way preposition with the dative."""
    verb, nouns, spots = rng.choice(_POSITIONS)
    thing, landmark, (preposition, english_preposition) = _thing_and_landmark(rng, nouns, spots)
    if rng.random() < 0.5:
        german_words = f"{thing.german[NOM]} {verb} {german.with_preposition(preposition, landmark.german[DAT])}"
        english_words = f"{_english_is(thing)} {english_preposition} {landmark.english}"
        return finish(german_words, english_words, (f"{thing.words[-1]}+{landmark.words[-1]}",))
    german_words = f"{verb} {thing.german[NOM]} {german.with_preposition(preposition, landmark.german[DAT])}"
    is_or_are = "are" if thing.agreement == "they" else "is"
    english_words = f"{is_or_are} {thing.english} {english_preposition} {landmark.english}"
    return finish(german_words, english_words, (f"{thing.words[-1]}+{landmark.words[-1]}",), "?")


def puts_somewhere(rng: Random) -> Sentence:
    """Where a thing is put: the same prepositions with the accusative."""
    verb, nouns, spots = rng.choice(_MOVES)
    thing, landmark, (preposition, english_preposition) = _thing_and_landmark(rng, nouns, spots)
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


_BESIDE = (("neben", "next to"), ("vor", "in front of"), ("hinter", "behind"))
_ON = (("auf", "on"), ("unter", "under"), ("neben", "next to"))
_POSITIONS = (("steht", lex.STANDING, _BESIDE), ("liegt", lex.LYING, _ON))
_MOVES = (("stellen stellt gestellt", lex.STANDING, _BESIDE), ("legen legt gelegt", lex.LYING, _ON))


def _thing_and_landmark(
    rng: Random, nouns: Sequence[Noun], spots: Sequence[tuple[str, str]]
) -> tuple[Phrase, Phrase, tuple[str, str]]:
    """Two different things and how they stand to each other; nothing lies on a fridge or under a shelf."""
    thing, landmark, spot = rng.choice(nouns), rng.choice(lex.LANDMARKS), rng.choice(spots)
    flat = landmark.german in ("Tisch", "Bett", "Sofa", "Schreibtisch", "Stuhl")
    if thing.german == landmark.german or (spot[0] in ("auf", "unter") and not flat):
        return _thing_and_landmark(rng, nouns, spots)
    return noun_phrase(THE, thing), noun_phrase(THE, landmark), spot


def there_is(rng: Random) -> Sentence:
    """es gibt with the accusative."""
    nouns, places = rng.choice(_NEARBY)
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


_SMALL_SIGHTS = frozenset(
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
_NEARBY = (
    (
        [noun for noun in lex.SIGHTS if noun.german in _SMALL_SIGHTS - {"Toilette"}],
        (("in dieser Straße", "in this street"),),
    ),
    ([noun for noun in lex.SIGHTS if noun.german in _SMALL_SIGHTS], (("hier", "here"), ("in der Nähe", "nearby"))),
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
    subject = people.named(rng) if rng.random() < 0.5 else noun_phrase(MY, rng.choice(_YOUNGER if wished else _KIN))
    if rng.random() < 0.15:
        subject = rng.choice((HE, SHE))
    is_woman = subject.gender == "f"
    job, english_job = _of_sex(jobs, is_woman), english.with_article(_of_sex(english_jobs, is_woman))
    words = (f"{subject.english}+{job}",)
    if wished:
        return finish(
            f"{subject.german[NOM]} möchte {job} werden", f"{subject.english} would like to become {english_job}", words
        )
    return finish(f"{_is(subject)} {job}", f"{_english_is(subject)} {english_job}", words)


def _of_sex(words: str, is_woman: bool) -> str:
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
    relation = noun_phrase(MY, rng.choice([noun for noun in family if noun not in _ELDERS]))
    name = rng.choice(lex.FEMALE_NAMES if is_woman else lex.MALE_NAMES)
    shape = rng.choice((("das ist {} {}", "this is {} {}"), ("{} heißt {}", "{}'s name is {}")))
    words = (f"{relation.words[-1]}+{name}",)
    return finish(shape[0].format(relation.german[NOM], name), shape[1].format(relation.english, name), words)


# ------------------------------------------------------------------------------------------------------ parts

_KIN = [noun for noun in lex.FAMILY if noun.german not in ("Mann", "Frau")]
_ELDERS = [noun for noun in lex.FAMILY if noun.german in ("Vater", "Mutter", "Großvater", "Großmutter")]
_YOUNGER = [noun for noun in lex.FAMILY if noun.german in ("Bruder", "Schwester", "Sohn", "Tochter", "Neffe", "Nichte")]
_PEERS = (("Bruder", "Schwester"), ("Onkel", "Tante"), ("Sohn", "Tochter"), ("Vater", "Mutter"), ("Neffe", "Nichte"))


def _one_person(rng: Random) -> Phrase:
    return rng.choice((I, HE, SHE)) if rng.random() < 0.3 else people.third_person(rng)


def _thing(rng: Random) -> tuple[Noun, Adjective]:
    nouns, qualities = rng.choice(KINDS)
    return rng.choice(nouns), rng.choice(qualities)


def _two_people(rng: Random) -> tuple[Phrase, Phrase]:
    """Two of an age to be compared: two names, a name and a pronoun, or brother and sister."""
    draw = rng.random()
    if draw < 0.35:
        peers = rng.choice(_PEERS)
        kin = rng.sample([noun for noun in lex.FAMILY if noun.german in peers], 2)
        return noun_phrase(MY, kin[0]), noun_phrase(MY, kin[1])
    sibling = noun_phrase(rng.choice((MY, OUR)), rng.choice([noun for noun in lex.FAMILY if noun.german in _PEERS[0]]))
    one, another = people.named(rng), people.named(rng)
    if draw < 0.6 and one is not another:
        return one, another
    return (I, one) if draw < 0.7 else (one, I) if draw < 0.8 else (sibling, I) if draw < 0.9 else (one, sibling)


def _pairing(one: Phrase, quality: Adjective, another: Phrase | None = None) -> tuple[str, ...]:
    others = another.head if another else ()
    return tuple(f"{head}+{quality.german}" for head in (*one.head, *others))


def _is(phrase: Phrase) -> str:
    return f"{phrase.german[NOM]} {german.auxiliary('sein', phrase.person)}"


def _english_is(phrase: Phrase) -> str:
    return f"{phrase.english} {'am' if phrase.agreement == 'I' else 'is' if phrase.agreement == 'he' else 'are'}"


def _says(subject: Phrase, words: str, english_words: str, word: str = "") -> Sentence:
    """Somebody or something is so."""
    combinations = tuple(f"{head}+{word or words}" for head in subject.head)
    return finish(f"{_is(subject)} {words}", f"{_english_is(subject)} {english_words}", combinations)


def _object(subject: Phrase, verb: str, thing: Phrase, tense: Tense) -> Sentence:
    """Somebody does something to a thing that is described."""
    piece = Piece(OBJECT, thing.german[ACC], thing.english, words=thing.words[-1:], combinations=thing.combinations)
    return stated(Clause(subject, action(verb), (piece,), tense))


def _person(phrase: Phrase, english_preposition: str = "") -> Piece:
    """A person in the dative."""
    slot = clauses.PRONOUN if phrase.is_pronoun else DATIVE
    return Piece(slot, phrase.german[DAT], f"{english_preposition} {phrase.english_object}".strip(), words=phrase.head)


PATTERNS: tuple[tuple[int, Pattern], ...] = (
    (7, thing_is),
    (4, thing_was),
    (3, colour),
    (4, is_it),
    (7, what_a_thing),
    (4, what_things),
    (6, buys_such_a_thing),
    (7, gets_that_thing),
    (4, person_with),
    (7, feels),
    (5, character),
    (4, kind_of_person),
    (8, compares_people),
    (8, as_as),
    (3, most_of_all),
    (4, most_such_thing),
    (6, this_or_that),
    (4, nice_but),
    (1, more_and_more),
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
