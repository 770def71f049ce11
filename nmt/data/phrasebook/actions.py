"""What people do: the rows of actions.tsv, each a verb with open places, its uses, and the times that suit it.

In flow a random generator and a subject, out flows a `Clause` such as "meine Mutter – eine Suppe kochen".
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import cast

from nmt.data.phrasebook import german, people
from nmt.data.phrasebook.clauses import DATIVE, INDEFINITE, MANNER, OBJECT, PLACE, Clause, Piece
from nmt.data.phrasebook.german import ACC, DAT
from nmt.data.phrasebook.lexicon import LISTS, Action, Noun, Pair, nouns, pairs, rows, verb
from nmt.data.phrasebook.phrases import BARE, DETERMINERS, NO, THE, YOU_IHR, A, Determiner, Phrase, noun_phrase

Slot = Callable[[Random, Phrase], Piece]
"""An open place beside a verb: a function that fills the place with something that suits the subject."""

OWNER = "~"
"""Stands in ready English words for the possessive: "brush ~ teeth"."""

TIMES: dict[tuple[str, str], tuple[str, ...]] = {
    ("plan", "soon"): ("soon", "soon", "on_day"),
    ("plan", "weeks"): ("soon", "soon", "on_day", "next_weeks", "next_weeks"),
    ("plan", "far"): ("next_months",),
    ("plan", "mornings"): ("mornings", "on_day"),
    ("past", "soon"): ("recent",),
    ("past", "weeks"): ("recent", "recent", "recent", "last_weeks", "last_weeks"),
    ("past", "far"): ("last_months",),
    ("past", "mornings"): ("recent_days",),
    ("regular", "mornings"): ("every_day",),
}
"""Lists of times, common ones repeated, that suit an action: (plan or past, what actions.tsv says of "when")."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A verb with its open places, who does it, what it can be used for, and when it happens."""

    action: Action
    age: people.Age
    uses: frozenset[str]
    when: str
    slots: tuple[Slot, ...]
    is_owned: bool
    """True if English says "her teeth" for "die Zähne"; of a child it would have to guess."""

    def suits(self, subject: Phrase) -> bool:
        """False where the pair would be odd: a girl who rents a flat, a waiter who works in a pharmacy."""
        is_young = subject.noun in people.YOUNG or subject is YOU_IHR  # "ihr" mostly speaks to children
        if (self.is_owned and subject.possessor is None) or (self.age == "adults" and is_young):
            return False
        return self.action.verb.whole() != "arbeiten" or subject.noun not in people.TRADES

    def clause(self, rng: Random, subject: Phrase) -> Clause:
        return Clause(subject, self.action, tuple(slot(rng, subject) for slot in self.slots))

    def time(self, rng: Random, kind: str) -> Pair | None:
        """A time for a plan, the past or a habit ("regular"); None if no such time suits the action."""
        lists = TIMES.get((kind, self.when), ())
        if kind == "regular" and not lists:
            lists = tuple(name for name in ("daily", "weekly") if name in self.uses)
        return rng.choice(LISTS[rng.choice(lists)]) if lists else None


@dataclass(frozen=True)
class NounSlot:
    """An open place for a noun of a class or for a person, in a case or behind a preposition."""

    classes: str
    options: tuple[str, ...]
    prepositions: Pair

    def __call__(self, rng: Random, subject: Phrase) -> Piece:
        if self.classes in ("person", "elsewhere", "stranger"):
            whom = people.someone_of(rng, subject, cast(people.Circle, self.classes))
            return self.person_piece(whom)
        noun, plural = rng.choice(nouns(self.classes)), "pl" in self.options
        if self.prepositions[0] in ("at", "to"):
            return place_piece(noun, self.prepositions[0] == "to")
        determiner = DETERMINERS[self.options[0]] if self.options[0] in ("der", "ein") else BARE
        if "own" in self.options:
            determiner, plural = subject.possessor or THE, plural or ("each" in self.options and subject.gender == "p")
        return self.thing_piece(noun, determiner, plural)

    @property
    def case(self) -> int:
        return DAT if "dat" in self.options else ACC

    def person_piece(self, phrase: Phrase) -> Piece:
        preposition, words = self.prepositions[0], phrase.german[self.case]
        text = f"{self.prepositions[1]} {phrase.english_object}".strip()
        if preposition:
            return Piece(PLACE, german.with_preposition(preposition, words), text)
        return Piece(DATIVE if self.case == DAT else OBJECT, words, text)

    def thing_piece(self, noun: Noun, determiner: Determiner, plural: bool) -> Piece:
        phrase = noun_phrase(determiner, noun, plural=plural)
        words, text = phrase.german[self.case], f"{self.prepositions[1]} {phrase.english}".strip()
        if self.prepositions[0]:
            # Not contracted: "an das Gespräch", where a place would have "ans".
            return Piece(PLACE, f"{self.prepositions[0]} {words}", text)
        if determiner not in (A, BARE) or self.case == DAT:
            return Piece(DATIVE if self.case == DAT else OBJECT, words, text)
        negative = noun_phrase(NO, noun, plural=plural).german[ACC]
        return Piece(INDEFINITE, words, text, negative, f"any {text}" if determiner is BARE else text)


def place_piece(noun: Noun, is_goal: bool) -> Piece:
    """A place to be at ("im Park" – "in the park") or to go to ("in den Park" – "to the park")."""
    phrase = noun_phrase(THE, noun)
    where, whither, english_where = noun.where
    words = phrase.german[ACC if is_goal and whither != "zu" else DAT]
    preposition, english_preposition = (whither, "to") if is_goal else (where, english_where)
    return Piece(PLACE, german.with_preposition(preposition, words), f"{english_preposition} {phrase.english}")


def ready(choices: tuple[Pair, ...], prepositions: Pair = ("", "")) -> Slot:
    """Words that come ready in both languages, perhaps each with a preposition; / comes before the form with "kein"."""

    def fill(rng: Random, subject: Phrase) -> Piece:
        words, text = rng.choice(choices)
        owner = subject.possessor.english if subject.possessor else "the"
        slot = OBJECT if OWNER in text else MANNER if prepositions[0] == "mit" else PLACE
        text = f"{prepositions[1]} {text.replace(OWNER, owner)}".strip()
        words, _, negative = f"{prepositions[0]} {words}".strip().partition(" / ")
        return Piece(INDEFINITE if negative else slot, words, text, negative, text)

    return fill


SLOT = re.compile(r"(?:(\w+) )?\{([^:}]*):?([^}]*)\}")


def read_slot(words: str) -> Slot:
    """Read an open place as actions.tsv writes it: "auf {awaited:der} = for", "to {town}", "nach city = to"."""
    left, _, right = (side.strip() for side in words.partition("="))
    if match := SLOT.fullmatch(left):
        return NounSlot(match[2], tuple(match[3].split(",")), (match[1] or "", right))
    preposition, _, name = left.rpartition(" ")
    if name in LISTS:
        return ready(LISTS[name], (preposition, right))
    return ready(pairs(words if "=" in words else f"{words} ="))


def read_frame(name: str, age: str, uses: str, when: str, slots: str = "") -> Frame:
    action = verb(name)
    fills = tuple(read_slot(slot) for slot in slots.split(" + ")) if slots else ()
    auxiliary = "with_sein" if action.verb.with_sein else "with_haben"
    return Frame(action, cast(people.Age, age), frozenset([*uses.split(), auxiliary]), when, fills, OWNER in slots)


FRAMES = tuple(read_frame(name, *cells) for names, *cells in rows("actions") for name in names.split(","))


@cache
def frames(uses: str) -> tuple[Frame, ...]:
    """The frames that have all of these uses: "plan&free"; "regular" is daily or weekly."""
    found = FRAMES
    for use in uses.split("&"):
        names = {"daily", "weekly"} if use == "regular" else {use}
        found = tuple(frame for frame in found if not names.isdisjoint(frame.uses))
    if not found:
        raise ValueError(f"no action has the uses {uses}: see the third column of actions.tsv")
    return found


def draw_action(rng: Random, uses: str, who: people.Who) -> tuple[Frame, Clause]:
    """A frame and a clause about somebody whom it suits."""
    frame = rng.choice(frames(uses))
    subject = who(rng, frame.age)
    return (frame, frame.clause(rng, subject)) if frame.suits(subject) else draw_action(rng, uses, who)
