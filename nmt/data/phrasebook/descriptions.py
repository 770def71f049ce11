"""Patterns that say what somebody or something is like: qualities and comparison.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from nmt.data.phrasebook import clauses, events, german, modifiers, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.clauses import OBJECT, Clause, Piece, Tense
from nmt.data.phrasebook.german import ACC, DAT, NOM
from nmt.data.phrasebook.phrases import (
    BARE,
    HE,
    MY,
    OUR,
    SHE,
    THE,
    THIS,
    A,
    I,
    Phrase,
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
    (lex.CLOTHES, modifiers.FOR_CLOTHES),
    (lex.STORIES, modifiers.FOR_STORIES),
    (lex.MESSAGES, modifiers.FOR_MESSAGES),
    (lex.ROOMS, modifiers.FOR_ROOMS),
    (lex.HOMES, modifiers.FOR_HOMES),
    (lex.SIGHTS[1:9], modifiers.FOR_SIGHTS),
    (lex.VALUED, modifiers.FOR_BELONGINGS),
    (lex.MACHINES, modifiers.FOR_MACHINES),
    (lex.FURNITURE, modifiers.FOR_FURNITURE),
    (lex.TASKS, modifiers.FOR_TASKS),
    (lex.SAVOURY, modifiers.FOR_SAVOURY),
    (lex.SWEETS, modifiers.FOR_SWEETS),
    (lex.ANIMALS, modifiers.FOR_ANIMALS),
)
COLOURED = lex.WORN + lex.WORN_IN_PAIRS

# ------------------------------------------------------------------------------------------------------ qualities


def thing_is(rng: Random) -> Sentence:
    """ "Die Küche ist sehr hell."."""
    noun, quality = draw_thing(rng)
    return stated(in_some_degree(rng, noun_phrase(THE, noun), quality))


def thing_was(rng: Random) -> Sentence:
    noun, quality = draw_thing(rng)
    return stated(replace(in_some_degree(rng, noun_phrase(THE, noun), quality), tense=Tense.PAST))


def in_some_degree(rng: Random, subject: Phrase, quality: Adjective) -> Clause:
    """Somebody or something being very, quite, too or not so."""
    degrees = DEGREES[
        : 1
        if quality.german in ABSOLUTE
        else 4
        if quality.german in TOO_MUCH and ALIVE.isdisjoint(subject.words)
        else 3
    ]
    degree, english_degree = rng.choice(degrees)
    so = events.quality(subject, degree + quality.german, english_degree + quality.english, quality.german)
    return replace(so, negated=degree in ("", "sehr ") and rng.random() < 0.4)


DEGREES = (("", ""), ("sehr ", "very "), ("ziemlich ", "quite "), ("zu ", "too "))
ALIVE = frozenset(noun.german for noun in lex.ANIMALS)
ABSOLUTE = frozenset(["kaputt", "lecker", "neu", "hungrig", "sauber"])
TOO_MUCH = frozenset(
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
    noun, shade = rng.choice(COLOURED), rng.choice(modifiers.COLOURS)
    determiner = rng.choice((THE, MY, THIS))
    return make_says(noun_phrase(determiner, noun, plural=noun in lex.WORN_IN_PAIRS), shade.german, shade.english)


def is_it(rng: Random) -> Sentence:
    noun, quality = draw_thing(rng)
    thing = noun_phrase(rng.choice((THE, THIS)), noun)
    return asked(events.being(thing, quality))


def what_a_thing(rng: Random) -> Sentence:
    """The adjective before its noun: "Das ist ein spannender Roman."."""
    noun, quality = draw_thing(rng)
    degree, english_degree = rng.choice((("", ""), ("sehr ", "very ")))
    if quality.german in ABSOLUTE:
        degree, english_degree = "", ""
    thing = described(A, noun, (degree + quality.german, english_degree + quality.english))
    words = (f"{quality.german}+{noun.german}",)
    return finish(f"das ist {thing.german[NOM]}", f"that is {thing.english}", words)


def what_things(rng: Random) -> Sentence:
    noun, quality = draw_thing(rng)
    things = noun_phrase(BARE, noun, quality, plural=True)
    return finish(f"das sind {things.german[NOM]}", f"those are {things.english}", things.combinations)


def buys_such_a_thing(rng: Random) -> Sentence:
    """The adjective in the accusative, after "ein" or no article."""
    noun, quality = rng.choice(COLOURED), rng.choice(modifiers.COLOURS)
    several = noun in lex.WORN_IN_PAIRS
    thing = noun_phrase(BARE if several else A, noun, quality, plural=several)
    verb, tense = rng.choice(GETTING)
    return object(people.subject(rng, "adult"), verb, thing, tense)


GETTING = (
    ("kaufen kauft gekauft = buy", Tense.PAST),
    ("kaufen kauft gekauft = buy", Tense.FUTURE),
    ("suchen sucht gesucht = look for", Tense.PROGRESSIVE),
    ("bestellen bestellt bestellt = order", Tense.PAST),
)


def gets_that_thing(rng: Random) -> Sentence:
    """The adjective in the accusative, after "der" or a possessive."""
    nouns, qualities, verb = rng.choice(HANDLED)
    subject = one_person(rng)
    owned = subject.possessor if not verb.startswith(("lesen", "beantworten")) and rng.random() < 0.5 else None
    thing = noun_phrase(owned or THE, rng.choice(nouns), rng.choice(qualities))
    return object(subject, verb, thing, Tense.PAST)


HANDLED: tuple[tuple[Sequence[Noun], Sequence[Adjective], str], ...] = (
    (lex.WASHED, modifiers.COLOURS, "waschen wäscht gewaschen = wash"),
    (lex.WORN, modifiers.COLOURS, "verlieren verliert verloren = lose"),
    (lex.PUT_ON, modifiers.FOR_CLOTHES[:2], "an|ziehen zieht angezogen = put on"),
    (lex.SOLD, modifiers.FOR_BELONGINGS[:2], "verkaufen verkauft verkauft = sell"),
    (lex.MACHINES, modifiers.FOR_MACHINES[:2] + modifiers.FOR_MACHINES[5:6], "reparieren repariert repariert = repair"),
    (lex.BELONGINGS, modifiers.FOR_BELONGINGS[:2], "vergessen vergisst vergessen = forget"),
    (lex.STORIES[:3], modifiers.FOR_STORIES[:5], "lesen liest gelesen = read"),
    (lex.TASKS[:1], modifiers.FOR_TASKS[:5], "beantworten beantwortet beantwortet = answer"),
)


def person_with(rng: Random) -> Sentence:
    """The adjective in the dative: "Der Mann mit dem grauen Hut …"."""
    who = rng.choice(lex.GROWN_UPS[:2] + lex.CHILDREN)
    garment = noun_phrase(THE, rng.choice(lex.WORN), rng.choice(modifiers.COLOURS))
    relation = rng.choice(OF_THAT_SEX[who.gender if who.german != "Mädchen" else "f"])
    german_words = (
        f"{noun_phrase(THE, who).german[NOM]} mit {garment.german[DAT]} ist {noun_phrase(MY, relation).german[NOM]}"
    )
    english_words = f"the {who.english} with {garment.english} is my {relation.english}"
    return finish(german_words, english_words, (*garment.combinations, f"{who.german}+{garment.words[-1]}"))


MALE_RELATIONS = [noun for noun in lex.MEN_OF_THE_FAMILY if noun.german in ("Bruder", "Sohn", "Neffe")]
FEMALE_RELATIONS = [noun for noun in lex.WOMEN_OF_THE_FAMILY if noun.german in ("Schwester", "Tochter", "Nichte")]
OF_THAT_SEX = {"m": MALE_RELATIONS, "f": FEMALE_RELATIONS, "n": MALE_RELATIONS[1:] + FEMALE_RELATIONS[1:]}


def feels(rng: Random) -> Sentence:
    """How somebody feels or felt, and when."""
    felt = events.being(people.subject(rng), rng.choice(modifiers.FEELINGS))
    draw = rng.random()
    if draw < 0.4:
        return stated(replace(felt, negated=rng.random() < 0.3))
    if draw < 0.8:
        return stated(replace(felt, tense=Tense.PAST, time=rng.choice(modifiers.RECENT_TIMES)), rng)
    adverb = rng.choice((("oft", "often"), ("immer", "always"), ("nie", "never"), ("selten", "rarely")))
    return stated(replace(felt, adverb=adverb))


def character(rng: Random) -> Sentence:
    subject = rng.choice((HE, SHE)) if rng.random() < 0.25 else people.third_person(rng)
    return stated(in_some_degree(rng, subject, rng.choice(CHARACTER)))


def kind_of_person(rng: Random) -> Sentence:
    """ "Unser Nachbar ist ein freundlicher Mann."."""
    subject, sort = rng.choice(SORTS)
    person = noun_phrase(A, sort, rng.choice(modifiers.FOR_PEOPLE if subject.words[-1] in lex.SURNAMES else CHARACTER))
    words = (*person.combinations, f"{subject.words[-1]}+{person.words[0]}")
    return finish(f"{verb_is(subject)} {person.german[NOM]}", f"{english_is(subject)} {person.english}", words)


CHARACTER = modifiers.FOR_PEOPLE[2:]
MAN, WOMAN = lex.GROWN_UPS[:2]
SORTS = tuple(
    [
        (noun_phrase(MY, noun), MAN)
        for noun in (*lex.MEN_OF_THE_FAMILY[:1], *lex.MEN_OF_THE_FAMILY[3:5], *lex.ACQUAINTANCES)
    ]
    + [(noun_phrase(MY, noun), WOMAN) for noun in (*lex.WOMEN_OF_THE_FAMILY[:1], *lex.WOMEN_OF_THE_FAMILY[3:5])]
    + [(name_phrase(name, False, "Herr"), MAN) for name in lex.SURNAMES]
    + [(name_phrase(name, True, "Frau"), WOMAN) for name in lex.SURNAMES]
)

# ------------------------------------------------------------------------------------------------------ comparison


def compares_people(rng: Random) -> Sentence:
    quality = rng.choice(modifiers.COMPARED_PEOPLE)
    one, another = two_people(rng)
    far, english_far = rng.choice((("", ""), ("viel ", "much "), ("", "")))
    german_words = f"{verb_is(one)} {far}{quality.german_comparative} als {another.german[NOM]}"
    english_words = f"{english_is(one)} {english_far}{quality.english_comparative} than {another.english_object}"
    return finish(german_words, english_words, pairing(one, quality, another))


def as_as(rng: Random) -> Sentence:
    quality = rng.choice(modifiers.COMPARED_PEOPLE[1:])
    one, another = two_people(rng)
    link, english_link = rng.choice((("so", "as"), ("so", "as"), ("genauso", "just as")))
    words = f"{link} {quality.german} wie {another.german[NOM]}"
    english_words = f"{english_link} {quality.english} as {another.english_object}"
    equal = replace(events.quality(one, words, english_words), negated=link == "so" and rng.random() < 0.6)
    return finish(clauses.straight(equal), clauses.statement(equal), pairing(one, quality, another))


def most_of_all(rng: Random) -> Sentence:
    """The superlative with "am": "Meine Tante ist am fleißigsten."."""
    quality = rng.choice(modifiers.COMPARED_PEOPLE)
    one = people.named(rng) if rng.random() < 0.5 else noun_phrase(rng.choice((MY, OUR)), rng.choice(YOUNGER))
    german_words = f"{verb_is(one)} am {quality.german_superlative}en"
    return finish(german_words, f"{english_is(one)} the {quality.english_superlative}", pairing(one, quality))


def most_such_thing(rng: Random) -> Sentence:
    """The superlative before its noun: "Das ist das teuerste Kleid im Laden."."""
    nouns, qualities, place, english_place = rng.choice(SELECTIONS)
    noun, quality = rng.choice(nouns), rng.choice(qualities)
    thing = described(THE, noun, (quality.german_superlative, quality.english_superlative))
    verb = "are" if noun.pair else "is"
    subject = "these" if noun.pair else "this"
    english_words = f"{subject} {verb} {thing.english} {english_place}"
    return finish(f"das ist {thing.german[NOM]} {place}", english_words, (f"{quality.german}+{noun.german}",))


SELECTIONS: tuple[tuple[Sequence[Noun], Sequence[Adjective], str, str], ...] = (
    (lex.CLOTHES, modifiers.FOR_CLOTHES[2:7], "im Laden", "in the shop"),
    (lex.FURNITURE, modifiers.FOR_FURNITURE[:8], "im Haus", "in the house"),
    (lex.SIGHTS[1:9], modifiers.FOR_SIGHTS, "in der Stadt", "in town"),
    (lex.ANIMALS[-2:-1] + lex.ANIMALS[3:4] + lex.ANIMALS[10:12], modifiers.FOR_ANIMALS[:4], "im Zoo", "in the zoo"),
    (lex.ROOMS[:5], modifiers.FOR_ROOMS[:4], "in der Wohnung", "in the flat"),
    (lex.SAVOURY, modifiers.FOR_BELONGINGS[2:4], "auf der Speisekarte", "on the menu"),
)


def this_or_that(rng: Random) -> Sentence:
    """Two of a kind compared by colour: "Der rote Mantel ist teurer als der blaue."."""
    noun, quality = rng.choice(COLOURED), rng.choice(modifiers.FOR_CLOTHES[:7])
    first, second = rng.sample(modifiers.COLOURS, 2)
    plural = noun in lex.WORN_IN_PAIRS
    one, another = noun_phrase(THE, noun, first, plural), noun_phrase(THE, noun, second, plural)
    left_out = another.german[NOM].rpartition(" ")[0]
    ones = "ones" if one.agreement == "they" else "one"
    german_words = f"{verb_is(one)} {quality.german_comparative} als {left_out}"
    english_words = f"{english_is(one)} {quality.english_comparative} than the {second.english} {ones}"
    return finish(german_words, english_words, (*one.combinations, f"{quality.german}+{noun.german}"))


def nice_but(rng: Random) -> Sentence:
    """A thing and its pronoun, whose gender shows in German only."""
    noun, drawback = rng.choice(lex.CLOTHES + lex.FURNITURE), rng.choice(DRAWBACKS)
    thing = noun_phrase(rng.choice((THE, THIS)), noun)
    pronoun = pronoun_for(thing, is_person=False)
    virtue, english_virtue = rng.choice((("schön", "beautiful"), ("modern", "modern"), ("praktisch", "practical")))
    german_words = f"{verb_is(thing)} {virtue}, aber {verb_is(pronoun)} zu {drawback[0]}"
    english_words = f"{english_is(thing)} {english_virtue}, but {english_is(pronoun)} too {drawback[1]}"
    return finish(german_words, english_words, (f"{drawback[0]}+{noun.german}", f"{virtue}+{noun.german}"))


DRAWBACKS = (("teuer", "expensive"), ("groß", "big"), ("klein", "small"))


def more_and_more(rng: Random) -> Sentence:
    """ "Es wird immer kälter."."""
    subject, english_subject, qualities = rng.choice(CHANGING)
    quality = rng.choice(qualities)
    again = f"{quality.english_comparative} and {quality.english_comparative}"
    if quality.english_comparative.startswith("more "):
        again = f"more and {quality.english_comparative}"
    words = (f"{subject}+{quality.german}",)
    return finish(f"{subject} wird immer {quality.german_comparative}", f"{english_subject} is getting {again}", words)


CHANGING = (
    ("es", "it", modifiers.FOR_WEATHER[:3] + modifiers.FOR_WEATHER[4:5]),
    ("der Film", "the film", modifiers.FOR_STORIES[:4]),
    ("das Buch", "the book", modifiers.FOR_STORIES[:4]),
    ("die Prüfung", "the exam", modifiers.FOR_TASKS[:1]),
    ("die Miete", "the rent", modifiers.FOR_BELONGINGS[2:3]),
    ("mein Kind", "my child", modifiers.FOR_PEOPLE[4:6]),
    ("die Stadt", "the town", modifiers.FOR_HOMES[:1] + modifiers.FOR_HOMES[-1:]),
)


# ------------------------------------------------------------------------------------------------------ parts

YOUNGER = [noun for noun in lex.FAMILY if noun.german in ("Bruder", "Schwester", "Sohn", "Tochter", "Neffe", "Nichte")]
PEERS = (("Bruder", "Schwester"), ("Onkel", "Tante"), ("Sohn", "Tochter"), ("Vater", "Mutter"), ("Neffe", "Nichte"))


def one_person(rng: Random) -> Phrase:
    return rng.choice((I, HE, SHE)) if rng.random() < 0.3 else people.third_person(rng)


def draw_thing(rng: Random) -> tuple[Noun, Adjective]:
    nouns, qualities = rng.choice(KINDS)
    return rng.choice(nouns), rng.choice(qualities)


def two_people(rng: Random) -> tuple[Phrase, Phrase]:
    """Two of an age to be compared: two names, a name and a pronoun, or brother and sister."""
    draw = rng.random()
    if draw < 0.35:
        peers = rng.choice(PEERS)
        kin = rng.sample([noun for noun in lex.FAMILY if noun.german in peers], 2)
        return noun_phrase(MY, kin[0]), noun_phrase(MY, kin[1])
    sibling = noun_phrase(rng.choice((MY, OUR)), rng.choice([noun for noun in lex.FAMILY if noun.german in PEERS[0]]))
    one, another = people.named(rng), people.named(rng)
    if draw < 0.6 and one is not another:
        return one, another
    return (I, one) if draw < 0.7 else (one, I) if draw < 0.8 else (sibling, I) if draw < 0.9 else (one, sibling)


def pairing(one: Phrase, quality: Adjective, another: Phrase | None = None) -> tuple[str, ...]:
    others = another.head if another else ()
    return tuple(f"{head}+{quality.german}" for head in (*one.head, *others))


def verb_is(phrase: Phrase) -> str:
    return f"{phrase.german[NOM]} {german.auxiliary('sein', phrase.person)}"


def english_is(phrase: Phrase) -> str:
    return f"{phrase.english} {'am' if phrase.agreement == 'I' else 'is' if phrase.agreement == 'he' else 'are'}"


def make_says(subject: Phrase, words: str, english_words: str, word: str = "") -> Sentence:
    """Somebody or something is so."""
    combinations = tuple(f"{head}+{word or words}" for head in subject.head)
    return finish(f"{verb_is(subject)} {words}", f"{english_is(subject)} {english_words}", combinations)


def object(subject: Phrase, verb: str, thing: Phrase, tense: Tense) -> Sentence:
    """Somebody does something to a thing that is described."""
    piece = Piece(OBJECT, thing.german[ACC], thing.english, words=thing.words[-1:], combinations=thing.combinations)
    return stated(Clause(subject, action(verb), (piece,), tense))


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
)
