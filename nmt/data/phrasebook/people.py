"""Who a sentence is about: subjects, people addressed, and people something is done to, so chosen that it makes sense.

In flows a random generator, out flow `Phrase` objects: a boy has parents but no wife, and nobody visits himself.
"""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Literal

from nmt.data.phrasebook import lexicon
from nmt.data.phrasebook.phrases import (
    ER,
    HE,
    HER,
    HIS,
    MY,
    OUR,
    PRONOUNS,
    SHE,
    SIE,
    THE,
    THEY,
    YOU_DU,
    YOU_IHR,
    YOU_SIE,
    YOUR_DU,
    YOUR_SIE,
    Determiner,
    Phrase,
    joined,
    name_phrase,
    noun_phrase,
    pronoun_for,
)
from nmt.data.phrasebook.words import Noun

Age = Literal["any", "adult", "young"]
"""Who does a thing: anyone, grown-ups (renting a flat), or the young (doing homework)."""

Who = Callable[[Random, Age], Phrase]
"""A way to choose who does it, such as `subject` or `you`."""

SPOUSES = ("Mann", "Frau")
YOUNG = frozenset({"Junge", "Mädchen", "Kind", "Kinder"})
RELATIVES = frozenset(noun.german for noun in lexicon.FAMILY + lexicon.FAMILY_PLURAL)
ELDERS = tuple(noun for noun in lexicon.FAMILY if noun.german not in (*SPOUSES, "Sohn", "Tochter", "Neffe", "Nichte"))
FRIENDS = next(noun for noun in lexicon.FAMILY_PLURAL if noun.german == "Freunde")
NEIGHBOUR = next(noun for noun in lexicon.ACQUAINTANCES if noun.german == "Nachbar")
OWN_FAMILY = tuple(noun for noun in lexicon.FAMILY if noun.german not in SPOUSES) + lexicon.FAMILY_PLURAL
YOUNG_RELATIVES = ("Bruder", "Schwester", "Sohn", "Tochter", "Neffe", "Nichte", "Kinder")
RELATIVES_BY_AGE: dict[Age, tuple[Noun, ...]] = {
    "any": lexicon.FAMILY + lexicon.FAMILY_PLURAL,
    "adult": lexicon.FAMILY + tuple(noun for noun in lexicon.FAMILY_PLURAL if noun.german != "Kinder"),
    "young": tuple(noun for noun in lexicon.FAMILY + lexicon.FAMILY_PLURAL if noun.german in YOUNG_RELATIVES),
}
NAMES = tuple((name, True) for name in lexicon.FEMALE_NAMES) + tuple((name, False) for name in lexicon.MALE_NAMES)
TITLED_SURNAMES = tuple((name, title) for name in lexicon.SURNAMES for title in ("Frau", "Herr"))


def subject(rng: Random, age: Age = "any") -> Phrase:
    """Someone who does something: a pronoun, a relative, a name, two names, or a person without a name."""
    draw = rng.random()
    if draw < 0.36:
        return rng.choice(PRONOUNS)
    if draw < 0.60:
        return relative(rng, age)
    if draw < 0.78:
        return named(rng)
    if draw < 0.83:
        return two_names(rng)
    is_adult = age == "adult" or (age == "any" and rng.random() < 0.6)
    return noun_phrase(THE, rng.choice(lexicon.GROWN_UPS if is_adult else lexicon.CHILDREN))


def other(rng: Random, age: Age = "any") -> Phrase:
    """Somebody to ask about: never "I", and of relatives only yours."""
    draw = rng.random()
    if draw < 0.35:
        return rng.choice((HE, SHE, THEY))
    if draw < 0.6:
        return named(rng)
    if draw < 0.75:
        return noun_phrase(THE, rng.choice(lexicon.CHILDREN if age == "young" else lexicon.GROWN_UPS))
    possessor = YOUR_DU if age == "young" or rng.random() < 0.3 else YOUR_SIE
    return noun_phrase(possessor, rng.choice(RELATIVES_BY_AGE[age]))


def third_party(rng: Random, age: Age = "any") -> Phrase:
    """Somebody to tell others about: not "I", and of relatives only mine, whoever is told."""
    person = subject(rng, age)
    return person if person.person in (ER, SIE) else third_party(rng, age)


def third_person(rng: Random) -> Phrase:
    """A subject that is one person with a name or a noun, so that a pronoun can take it up."""
    draw = rng.random()
    if draw < 0.45:
        return noun_phrase(MY, rng.choice(lexicon.FAMILY))
    if draw < 0.85:
        return named(rng)
    return noun_phrase(THE, rng.choice(lexicon.GROWN_UPS))


def lead(rng: Random) -> Phrase:
    """Somebody whom two clauses can speak of, in the second by a pronoun and with things of his own."""
    draw = rng.random()
    if draw < 0.45:
        return rng.choice(PRONOUNS)
    return named(rng) if draw < 0.8 else two_names(rng)


def same(phrase: Phrase) -> Phrase:
    """How a second clause speaks of the subject of the first: by the pronoun."""
    return phrase if phrase.is_pronoun else pronoun_for(phrase)


def relative(rng: Random, age: Age = "any") -> Phrase:
    """One's own: "meine Schwester", "unsere Eltern", but never "unsere Frau"."""
    choice = rng.choice(RELATIVES_BY_AGE[age])
    return noun_phrase(MY if choice.german in SPOUSES or rng.random() < 0.7 else OUR, choice)


def named(rng: Random) -> Phrase:
    name, is_female = rng.choice(NAMES)
    return name_phrase(name, is_female)


def two_names(rng: Random) -> Phrase:
    first, second = rng.sample(NAMES, 2)
    return pair_of_names(first, second)


@cache
def pair_of_names(first: tuple[str, bool], second: tuple[str, bool]) -> Phrase:
    return joined((name_phrase(*first), name_phrase(*second)))


def surnamed(rng: Random) -> Phrase:
    """ "Frau Weber" or "Herr Klein"."""
    surname, title = rng.choice(TITLED_SURNAMES)
    return name_phrase(surname, title == "Frau", title)


def you(rng: Random, age: Age = "any") -> Phrase:
    """Whoever is spoken to: mostly a stranger (Sie), else a friend (du) or several children or friends (ihr)."""
    draw = rng.random()
    if age == "young":
        return YOU_DU if draw < 0.7 else YOU_IHR
    if draw < 0.55:
        return YOU_SIE
    return YOU_DU if draw < 0.88 or age == "adult" else YOU_IHR


def familiar(rng: Random, age: Age = "any") -> Phrase:
    """A friend or several."""
    return YOU_DU if age == "adult" or rng.random() < 0.7 else YOU_IHR


def called(rng: Random, pronoun: Phrase) -> tuple[str, str]:
    """How somebody is called at the beginning of a sentence, with the comma; often not at all.

    A first name goes with du and a surname with Sie, so that English mostly shows which "you" is meant; a bare "you" is
    Sie more often than not.
    """
    draw = rng.random()
    if pronoun is YOU_SIE:
        if draw > 0.25:
            return "", ""
        person = surnamed(rng)
        return f"{person.german[0]}, ", f"{person.english}, "
    if draw > 0.78:
        return "", ""
    if pronoun is YOU_DU:
        name = rng.choice(NAMES)[0]
        return f"{name}, ", f"{name}, "
    if draw < 0.4:
        return "Kinder, ", "Children, "
    pair = two_names(rng)
    return f"{pair.german[0]}, ", f"{pair.english}, "


def called_by_name(rng: Random, pronoun: Phrase) -> tuple[str, str]:
    """As `called`, but always by name: in a statement or a command nothing else shows which "you" is meant."""
    name = called(rng, pronoun)
    return name if name[0] else called_by_name(rng, pronoun)


Circle = Literal["own", "elsewhere", "strangers"]
"""Whom an action is done to: one's own people, those of them who live elsewhere, or people known by name only."""


def someone_of(rng: Random, subject: Phrase, circle: Circle = "own") -> Phrase:
    """Somebody in the subject's life: "seine Schwester", "ihren Chef"; or, for anyone, a person with a name."""
    possessor = subject.possessor
    draw = rng.random()
    if possessor is None or draw < 0.2:
        return somebody_else(rng, subject)
    if draw < 0.3 or circle == "strangers":
        return surnamed(rng)
    return noun_phrase(possessor, rng.choice(circle_nouns(subject.head, possessor, circle)))


def somebody_else(rng: Random, subject: Phrase) -> Phrase:
    other = named(rng)
    while other.words[0] in subject.german[0]:
        other = named(rng)
    return other


@cache
def circle_nouns(head: tuple[str, ...], possessor: Determiner, circle: Circle) -> tuple[Noun, ...]:
    """The people whom a subject can call its own."""
    if RELATIVES.intersection(head):
        return NEIGHBOUR, FRIENDS
    if YOUNG.intersection(head):
        return (*ELDERS, FRIENDS, *(noun for noun in lexicon.ACQUAINTANCES if noun.german == "Lehrer"))
    spouse = {HIS: ("Frau",), HER: ("Mann",), MY: SPOUSES}.get(possessor, ())
    at_home = tuple(noun for noun in lexicon.FAMILY if noun.german in spouse)
    return OWN_FAMILY + lexicon.ACQUAINTANCES + (at_home if circle == "own" else ())


def is_named_by_trade(person: Phrase) -> bool:
    """True of "der Kellner" and the like."""
    return bool(TRADES.intersection(person.head))


TRADES = frozenset(noun.german for noun in lexicon.GROWN_UPS[2:])


def age_span(person: Phrase) -> tuple[int, int]:
    """The years of age that a son or a grandmother may have."""
    return SPANS.get(person.words[-1] if person.words else "", (24, 59))


_OLD, _CHILD = (64, 94), (2, 17)
SPANS = {
    **dict.fromkeys(("Großvater", "Großmutter"), _OLD),
    **dict.fromkeys(("Sohn", "Tochter", "Neffe", "Nichte", "Junge", "Mädchen", "Kind"), _CHILD),
}
