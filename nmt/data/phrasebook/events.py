"""Clauses ready to be said: an action with its subject, in a tense, at a time that suits it.

In flow a random generator and perhaps a subject, out flow `Clause` objects: a habit, a plan, something that happened.
"""

from dataclasses import replace
from functools import cache
from random import Random

from nmt.data.phrasebook import modifiers, people
from nmt.data.phrasebook.actions import FRAMES, Frame
from nmt.data.phrasebook.clauses import PLACE, Clause, Modal, Piece, Tense
from nmt.data.phrasebook.people import Who
from nmt.data.phrasebook.phrases import IT, Phrase
from nmt.data.phrasebook.words import Action, Adjective, action, pairs

BE = action("sein ist +gewesen = be")
HAVE = action("haben hat gehabt = have")
BY_USE = {use: tuple(frame for frame in FRAMES if use in frame.uses) for use in "hngpdjswmceilrtyoObuvaxz"}


def doing(rng: Random, use: str, who: Who = people.subject) -> Clause:
    """Someone doing something, in the simple present until told otherwise."""
    return drawn(rng, BY_USE[use], who)[1]


def habit(rng: Random, who: Who = people.subject) -> Clause:
    """ "jeden Tag", with the English simple present."""
    return replace(doing(rng, "r" if rng.random() < 0.04 else "h", who), time=rng.choice(modifiers.REGULAR_TIMES))


def often(rng: Random, who: Who = people.subject) -> Clause:
    """ "oft", "selten", with the English simple present."""
    return replace(doing(rng, "h", who), adverb=rng.choice(modifiers.OFTEN))


def right_now(rng: Random, who: Who = people.subject) -> Clause:
    """ "gerade", with the English progressive."""
    return replace(doing(rng, "n", who), adverb=("gerade", "right now"), tense=Tense.PROGRESSIVE)


def plan(rng: Random, who: Who = people.subject, also: str = "p") -> Clause:
    """ "morgen", with the English progressive; `also` narrows it to verbs with a second use."""
    frame, found = drawn(rng, with_two_uses("p", also), who)
    return replace(found, time=future(rng, frame), tense=Tense.PROGRESSIVE)


def happened(rng: Random, who: Who = people.subject, timed: bool = True, also: str = "d") -> Clause:
    """ "gestern": the German perfect, the English simple past; `also` narrows it as for a plan."""
    frame, found = drawn(rng, with_two_uses("d", also), who)
    return replace(found, time=past_tense(rng, frame) if timed else None, tense=Tense.PAST)


def wished(rng: Random, modal: Modal, use: str, who: Who = people.subject) -> Clause:
    """An action under a modal verb, sometimes with a time."""
    frame, found = drawn(rng, BY_USE[use], who)
    return replace(found, modal=modal, time=future(rng, frame) if rng.random() < 0.4 else None)


def being(subject: Phrase, quality: Adjective, tense: Tense = Tense.SIMPLE) -> Clause:
    """ "sie ist müde"."""
    return Clause(subject, BE, (Piece(PLACE, quality.german, quality.english, words=(quality.german,)),), tense)


def quality(subject: Phrase, german: str, english: str, word: str = "") -> Clause:
    """ "sie ist zu Hause": to be something that is said in ready words."""
    return Clause(subject, BE, (Piece(PLACE, german, english, words=(word or german,)),))


WEATHER = (action("regnen regnet geregnet = rain"), action("schneien schneit geschneit = snow"))


def weather(which: Action, tense: Tense = Tense.PROGRESSIVE) -> Clause:
    """ "es regnet"."""
    return Clause(IT, which, tense=tense)


@cache
def with_two_uses(use: str, also: str) -> tuple[Frame, ...]:
    return tuple(frame for frame in BY_USE[use] if also in frame.uses)


def drawn(rng: Random, frames: tuple[Frame, ...], who: Who) -> tuple[Frame, Clause]:
    """A verb and somebody whom it suits."""
    frame = rng.choice(frames)
    subject = who(rng, frame.age)
    if not frame.suits(subject):
        return drawn(rng, frames, who)
    return frame, frame.clause(rng, subject)


def future(rng: Random, frame: Frame) -> tuple[str, str]:
    """When it will be: soon, on a weekday, or for what takes preparation, in weeks."""
    if "O" in frame.uses:
        return rng.choice(modifiers.FUTURE_TIMES)
    if "o" in frame.uses and rng.random() < 0.4:
        return rng.choice(modifiers.NEXT_WEEKS)
    if rng.random() < 0.3:
        day, english_day = rng.choice(modifiers.WEEKDAYS)
        return f"am {day}", f"on {english_day}"
    return rng.choice(modifiers.SOON_TIMES)


def past_tense(rng: Random, frame: Frame) -> tuple[str, str]:
    if "O" in frame.uses:
        return rng.choice(modifiers.PAST_TIMES)
    return rng.choice(modifiers.LAST_WEEKS if "o" in frame.uses and rng.random() < 0.4 else modifiers.RECENT_TIMES)


def always(subject: Phrase) -> Who:
    """A way to choose who does it that leaves no choice."""
    return lambda rng, age: subject


def predicate(
    verb: str,
    words: str = "",
    tense: Tense = Tense.SIMPLE,
    modal: Modal | None = None,
    time: tuple[str, str] | None = None,
) -> Clause:
    """A clause of a table: a verb and ready words, to be said of any subject."""
    pieces = tuple(Piece(PLACE, left, right, words=(left,)) for left, right in pairs(words))
    return Clause(IT, action(verb), pieces, tense, modal=modal, time=time)
