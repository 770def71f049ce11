"""Patterns of plain statements: habits, plans, what happened, wishes and duties, states, and their negations.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from dataclasses import replace
from random import Random

from nmt.data.phrasebook import clauses, english, events, german, modifiers, people
from nmt.data.phrasebook.clauses import CAN, LIKE_TO, MAY, MUST, SHOULD, WANT, Tense
from nmt.data.phrasebook.phrases import Phrase
from nmt.data.phrasebook.sentence import Pattern, Sentence, finish, stated
from nmt.data.phrasebook.words import Action


def every_day(rng: Random) -> Sentence:
    return stated(events.habit(rng), rng)


def often(rng: Random) -> Sentence:
    return stated(events.often(rng))


def never(rng: Random) -> Sentence:
    return stated(replace(events.doing(rng, "h"), adverb=("nie", "never")))


def right_now(rng: Random) -> Sentence:
    return stated(events.right_now(rng))


def under_way(rng: Random) -> Sentence:
    """Actions that German states barely and English in the progressive: "Wir warten auf den Bus."."""
    return stated(replace(events.doing(rng, "g"), tense=Tense.PROGRESSIVE))


def plan(rng: Random) -> Sentence:
    return stated(events.plan(rng), rng)


def no_plan(rng: Random) -> Sentence:
    return stated(replace(events.plan(rng, also="h"), negated=True))


def at_an_hour(rng: Random) -> Sentence:
    """A plan with weekday or "morgen" and an hour, which German and English order differently."""
    (hour, english_hour), (day, english_day) = rng.choice(HOURS), rng.choice(DAYS)
    found = events.plan(rng, also="h")
    if found.action.word == "bleiben":
        return at_an_hour(rng)
    return stated(replace(found, time=(f"{day} um {hour} Uhr", f"at {english_hour} o'clock {english_day}")))


def happened(rng: Random) -> Sentence:
    return stated(events.happened(rng), rng)


def happened_some_time(rng: Random) -> Sentence:
    return stated(events.happened(rng, timed=False))


def did_not_happen(rng: Random) -> Sentence:
    """With a time only where the thing might well have happened then."""
    if rng.random() < 0.5:
        return stated(replace(events.happened(rng, also="h"), negated=True))
    return stated(replace(events.happened(rng, timed=False), negated=True))


def already(rng: Random) -> Sentence:
    return stated(replace(events.doing(rng, "j"), tense=Tense.PERFECT, adverb=("schon", "already")))


def not_yet(rng: Random) -> Sentence:
    return stated(replace(events.doing(rng, "j"), tense=Tense.PERFECT, adverb=("noch", "yet"), negated=True))


def never_before(rng: Random) -> Sentence:
    return stated(replace(events.doing(rng, "e"), tense=Tense.PERFECT, adverb=("noch nie", "never")))


def state(rng: Random) -> Sentence:
    return stated(events.doing(rng, "s"))


def no_state(rng: Random) -> Sentence:
    return stated(replace(events.doing(rng, "s"), negated=True))


def promise(rng: Random) -> Sentence:
    """The future with werden."""
    return stated(replace(events.plan(rng), tense=Tense.FUTURE))


def must(rng: Random) -> Sentence:
    return stated(events.wished(rng, MUST, "m"), rng)


def should(rng: Random) -> Sentence:
    return stated(events.wished(rng, SHOULD, "m"))


def need_not(rng: Random) -> Sentence:
    return stated(replace(events.wished(rng, MUST, "m"), negated=True))


def wants_to(rng: Random) -> Sentence:
    return stated(events.wished(rng, WANT, "w"), rng)


def would_like_to(rng: Random) -> Sentence:
    return stated(events.wished(rng, LIKE_TO, "w"))


def does_not_want_to(rng: Random) -> Sentence:
    return stated(replace(events.wished(rng, WANT, "w"), negated=True))


def can(rng: Random) -> Sentence:
    return stated(events.wished(rng, CAN, "c"))


def cannot(rng: Random) -> Sentence:
    return stated(replace(events.wished(rng, CAN, "c"), negated=True))


def is_allowed_to(rng: Random) -> Sentence:
    return stated(replace(events.wished(rng, MAY, "l", someone_young), negated=rng.random() < 0.5))


def someone_young(rng: Random, age: people.Age) -> Phrase:
    return people.subject(rng, "young")


def could_not(rng: Random) -> Sentence:
    """The preterite of a modal: "Er konnte gestern nicht kommen."."""
    return stated(replace(events.happened(rng, also="b"), modal=CAN, negated=True), rng)


def had_to(rng: Random) -> Sentence:
    return stated(replace(events.happened(rng, also="m"), modal=MUST), rng)


def wanted_to(rng: Random) -> Sentence:
    return stated(replace(events.doing(rng, "w"), modal=WANT, tense=Tense.PAST))


def likes_to(rng: Random) -> Sentence:
    """German says it with an adverb, English with a verb: "Er trinkt gern Tee." – "He likes to drink tea."."""
    return with_liking(rng, "gern", "like to")


def does_not_like_to(rng: Random) -> Sentence:
    return with_liking(rng, "nicht gern", "like to", negated=True)


def prefers_to(rng: Random) -> Sentence:
    return with_liking(rng, "lieber", "prefer to")


def with_liking(rng: Random, adverb: str, verb: str, negated: bool = False) -> Sentence:
    found = events.doing(rng, "l")
    in_german = replace(found, adverb=(adverb, ""))
    in_english = replace(found, action=Action(found.action.verb, f"{verb} {found.action.english}"), negated=negated)
    return finish(clauses.straight(in_german), clauses.statement(in_english), found.combinations)


HOURS = tuple((german.number(hour) if hour > 1 else "ein", english.number(hour)) for hour in range(1, 13))
DAYS = (("morgen", "tomorrow"), *((f"am {day}", f"on {name}") for day, name in modifiers.WEEKDAYS))

PATTERNS: tuple[tuple[int, Pattern], ...] = (
    (12, every_day),
    (6, often),
    (4, never),
    (12, right_now),
    (4, under_way),
    (16, plan),
    (5, no_plan),
    (8, at_an_hour),
    (22, happened),
    (10, happened_some_time),
    (10, did_not_happen),
    (7, already),
    (7, not_yet),
    (3, never_before),
    (9, state),
    (6, no_state),
    (7, promise),
    (7, must),
    (4, should),
    (3, need_not),
    (7, wants_to),
    (5, would_like_to),
    (4, does_not_want_to),
    (4, can),
    (4, cannot),
    (4, is_allowed_to),
    (4, could_not),
    (5, had_to),
    (4, wanted_to),
    (4, likes_to),
    (2, does_not_like_to),
    (3, prefers_to),
)
