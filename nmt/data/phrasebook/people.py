"""Who a sentence is about: subjects, people addressed, and people something is done to, so chosen that it makes sense.

In flows a random generator, out flow `Phrase` objects: a boy has parents but no wife, and nobody visits himself.
"""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Literal, cast

from nmt.data.phrasebook import phrases
from nmt.data.phrasebook.german import Forms
from nmt.data.phrasebook.lexicon import LISTS, Noun, nouns
from nmt.data.phrasebook.phrases import ER, MY, OUR, PRONOUNS, SIE, THE, YOU_DU, YOU_IHR, YOU_SIE, Determiner, Phrase

Age = Literal["anyone", "adults", "young"]
"""Who does a thing: anyone, adults (renting a flat), or the young (doing homework)."""

Who = Callable[[Random, Age], Phrase]
"""A way to choose who does it, such as `subject` or `you`."""

RELATIVES: dict[Age, tuple[Noun, ...]] = {
    "anyone": nouns("relative") + nouns("relatives"),
    "adults": nouns("relative") + nouns("relatives-cared_for"),
    "young": nouns("younger") + nouns("relatives&cared_for"),
}
RELATIVE_NAMES = frozenset(noun.german for noun in RELATIVES["anyone"])
YOUNG = frozenset(noun.german for noun in nouns("young") + nouns("relatives&cared_for"))
TRADES = frozenset(noun.german for noun in nouns("trade"))
GRANDPARENTS = frozenset(noun.german for noun in nouns("grandparent"))
MINORS = YOUNG | {noun.german for noun in nouns("minor")}
FRIENDS = nouns("relatives&friends")
NAMES = tuple((name, True) for name, _ in LISTS["female"]) + tuple((name, False) for name, _ in LISTS["male"])
WHO = Phrase(("wer", "wen", "wem", "wessen"), "who", ER, "m", "who", "he")


def subject(rng: Random, age: Age = "anyone") -> Phrase:
    """Someone who does something: a pronoun, a relative, a name, two names, or a person without a name."""
    draw = rng.random()
    if draw < 0.36:
        return rng.choice(PRONOUNS)
    if draw < 0.60:
        choice = rng.choice(RELATIVES[age])
        return phrases.noun_phrase(MY if "spouse" in choice.classes or rng.random() < 0.7 else OUR, choice)
    if draw < 0.78:
        return named(rng)
    if draw < 0.83:
        return two_names(rng)
    is_adult = age == "adults" or (age == "anyone" and rng.random() < 0.6)
    return phrases.noun_phrase(THE, rng.choice(nouns("grown_up" if is_adult else "young")))


def other(rng: Random, age: Age = "anyone") -> Phrase:
    """Somebody to ask about: never "I", and of relatives only those of the person who is asked."""
    draw = rng.random()
    if draw < 0.35:
        return rng.choice((phrases.HE, phrases.SHE, phrases.THEY))
    if draw < 0.6:
        return named(rng)
    if draw < 0.75:
        return phrases.noun_phrase(THE, rng.choice(nouns("young" if age == "young" else "grown_up")))
    possessor = phrases.YOUR_DU if age == "young" or rng.random() < 0.3 else phrases.YOUR_SIE
    return phrases.noun_phrase(possessor, rng.choice(RELATIVES[age]))


def third(rng: Random, age: Age = "anyone") -> Phrase:
    """Somebody to tell others about: not "I", and of relatives only mine, whoever is told."""
    person = subject(rng, age)
    return person if person.person in (ER, SIE) else third(rng, age)


def somebody(rng: Random, age: Age = "anyone") -> Phrase:
    """As `third`, but no pronoun: in "he would like to know whether …" another "he" would be unclear."""
    person = third(rng, age)
    return somebody(rng, age) if person.is_pronoun else person


def one(rng: Random, age: Age = "anyone") -> Phrase:
    """One person with a name or a noun, so that a pronoun can refer to the person."""
    draw = rng.random()
    if draw < 0.45:
        return phrases.noun_phrase(MY, rng.choice(nouns("relative")))
    if draw < 0.85:
        return named(rng)
    return phrases.noun_phrase(THE, rng.choice(nouns("grown_up")))


def one_or_pronoun(rng: Random, age: Age = "anyone") -> Phrase:
    return rng.choice((phrases.I, phrases.HE, phrases.SHE)) if rng.random() < 0.3 else one(rng)


def lead(rng: Random, age: Age = "anyone") -> Phrase:
    """Somebody whom two clauses can speak of, in the second by a pronoun and with things of his own."""
    draw = rng.random()
    if draw < 0.45:
        return rng.choice(PRONOUNS)
    return named(rng) if draw < 0.8 else two_names(rng)


def same(phrase: Phrase) -> Phrase:
    """How a second clause speaks of the subject of the first: by the pronoun."""
    return phrase if phrase.is_pronoun else phrases.pronoun_for(phrase)


def named(rng: Random, age: Age = "anyone") -> Phrase:
    return phrases.name_phrase(*rng.choice(NAMES))


def two_names(rng: Random, age: Age = "anyone") -> Phrase:
    return pair_of_names(*rng.sample(NAMES, 2))


@cache
def pair_of_names(first: tuple[str, bool], second: tuple[str, bool]) -> Phrase:
    """Two names with "und" between them: one plural subject or object."""
    names = phrases.name_phrase(*first), phrases.name_phrase(*second)
    cases = map(" und ".join, zip(*(name.german for name in names), strict=True))
    text = " and ".join(name.english for name in names)
    return Phrase(cast(Forms, (*cases,)), text, SIE, "p", text, "they", possessor=phrases.THEIR)


def surnamed(rng: Random, age: Age = "anyone") -> Phrase:
    """ "Frau Weber" or "Herr Klein"."""
    title = rng.choice(("Frau", "Herr"))
    return phrases.name_phrase(rng.choice(LISTS["surname"])[0], title == "Frau", title)


def you(rng: Random, age: Age = "anyone") -> Phrase:
    """Whoever is spoken to: mostly a stranger (Sie), else a friend (du) or several children or friends (ihr)."""
    draw = rng.random()
    if age == "young":
        return YOU_DU if draw < 0.7 else YOU_IHR
    if draw < 0.55:
        return YOU_SIE
    return YOU_DU if draw < 0.88 or age == "adults" else YOU_IHR


def familiar(rng: Random, age: Age = "anyone") -> Phrase:
    return YOU_DU if age == "adults" or rng.random() < 0.7 else YOU_IHR


def fixed(phrase: Phrase) -> Who:
    """A way to choose who does it that leaves no choice."""
    return lambda rng, age: phrase


DRAWN = (subject, other, third, somebody, one, one_or_pronoun, lead, named, surnamed, you, familiar)
FIXED = {"who": WHO, "I": phrases.I, "we": phrases.WE, "Sie": YOU_SIE}
DRAWERS: dict[str, Who] = {who.__name__: who for who in DRAWN} | {name: fixed(FIXED[name]) for name in FIXED}
DRAWERS["adult"] = lambda rng, age: subject(rng, "adults")
DRAWERS["child"] = lambda rng, age: subject(rng, "young")
DRAWERS["adult_you"] = lambda rng, age: you(rng, "adults")
"""The people that a pattern can name."""


def called(rng: Random, pronoun: Phrase) -> tuple[str, str]:
    """How somebody is addressed at the beginning of a sentence, with the comma; often not at all.

    A first name goes with du and a surname with Sie, so that English mostly shows which "you" is meant; a bare "you" is
    Sie more often than not.
    """
    draw = rng.random()
    if pronoun is YOU_SIE:
        if draw > 0.25:
            return "", ""
        person = surnamed(rng)
    elif pronoun not in (YOU_DU, YOU_IHR) or draw > 0.78:
        return "", ""
    elif pronoun is YOU_IHR and draw < 0.4:
        return "Kinder, ", "Children, "
    else:
        person = named(rng) if pronoun is YOU_DU else two_names(rng)
    return f"{person.german[0]}, ", f"{person.english}, "


def called_by_name(rng: Random, pronoun: Phrase) -> tuple[str, str]:
    """As `called`, but always by name: in a statement or a command nothing else shows which "you" is meant."""
    if pronoun not in (YOU_SIE, YOU_DU, YOU_IHR):
        return "", ""
    name = called(rng, pronoun)
    return name if name[0] else called_by_name(rng, pronoun)


Circle = Literal["person", "elsewhere", "stranger"]
"""Whom an action is done to: one's own people, those of them who live elsewhere, or people known by name only."""


def someone_of(rng: Random, subject: Phrase, circle: Circle) -> Phrase:
    """Somebody in the subject's life: "seine Schwester", "ihren Chef"; or, for anyone, a person with a name."""
    possessor = subject.possessor
    draw = rng.random()
    if possessor is None or draw < 0.2:
        return named(rng)
    if draw < 0.3 or circle == "stranger":
        return surnamed(rng)
    return phrases.noun_phrase(possessor, rng.choice(people_of(subject.noun or subject.german[0], possessor, circle)))


@cache
def people_of(name: str, possessor: Determiner, circle: Circle) -> tuple[Noun, ...]:
    """The people whom a subject can call its own."""
    if name in RELATIVE_NAMES:
        return nouns("acquaintance&neighbour") + FRIENDS
    if name in YOUNG or possessor is phrases.YOUR_IHR:  # "ihr" are mostly children
        return nouns("relative-younger-spouse") + FRIENDS + nouns("acquaintance&teacher")
    if " und " in name:
        return nouns("elder") + FRIENDS + nouns("acquaintance")
    at_home = {phrases.HIS: "f", phrases.HER: "m"}.get(possessor, "")
    spouse = nouns(f"spouse&{at_home}") if at_home else nouns("spouse") if possessor is MY else ()
    others = nouns("relative-spouse") + nouns("relatives") + nouns("acquaintance")
    return others + (spouse if circle == "person" else ())


def age_span(person: Phrase) -> tuple[int, int]:
    """The years of age that a son or a grandmother may have."""
    return (64, 94) if person.noun in GRANDPARENTS else (2, 17) if person.noun in MINORS else (24, 59)
