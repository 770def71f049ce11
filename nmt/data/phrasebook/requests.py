"""Patterns of requests, commands and suggestions.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from dataclasses import replace
from random import Random

from nmt.data.phrasebook import clauses, events, modifiers, people
from nmt.data.phrasebook.clauses import COULD
from nmt.data.phrasebook.phrases import WE, YOU_SIE, Phrase
from nmt.data.phrasebook.sentence import Pattern, Sentence, asked, finish


def please(rng: Random) -> Sentence:
    """To a stranger, without a name."""
    request = replace(events.doing(rng, "i", events.always(YOU_SIE)), adverb=("bitte", ""))
    return finish(clauses.command(request), f"please {clauses.infinitive(request)}", request.combinations)


def please_by_name(rng: Random) -> Sentence:
    request = replace(events.doing(rng, "i", people.you), adverb=("bitte", ""))
    called, english_called = people.called_by_name(rng, request.subject)
    english_words = f"{english_called}please {clauses.infinitive(request)}"
    return finish(called + clauses.command(request), english_words, request.combinations)


def command(rng: Random) -> Sentence:
    """To friends and children, without "bitte"."""
    order = events.doing(rng, "i", people.familiar)
    called, english_called = draw_name(rng, order.subject)
    return finish(called + clauses.command(order), english_called + clauses.infinitive(order), order.combinations, "!")


def do_not(rng: Random) -> Sentence:
    order = replace(events.doing(rng, "x", people.familiar), negated=True)
    called, english_called = draw_name(rng, order.subject)
    english_words = f"{english_called}don't {clauses.infinitive(order)}"
    return finish(called + clauses.command(order), english_words, order.combinations, "!")


def please_do_not(rng: Random) -> Sentence:
    order = replace(events.doing(rng, "x", events.always(YOU_SIE)), adverb=("bitte", ""), negated=True)
    return finish(clauses.command(order), f"please don't {clauses.infinitive(order)}", order.combinations)


def could_you(rng: Random) -> Sentence:
    request = replace(events.doing(rng, "i", people.you), modal=COULD, adverb=("bitte", "please"))
    return asked(request, called=draw_name(rng, request.subject))


def let_us(rng: Random) -> Sentence:
    idea = events.doing(rng, "z", events.always(WE))
    idea = replace(idea, time=rng.choice(modifiers.SOON_TIMES) if rng.random() < 0.5 else None)
    return finish(
        f"lass uns {clauses.bare_infinitive(idea)}", f"let's {clauses.infinitive(idea)}", idea.combinations, "!"
    )


def shall_we(rng: Random) -> Sentence:
    """A suggestion with wollen: "Wollen wir heute ins Kino gehen?"."""
    idea = events.doing(rng, "z", events.always(WE))
    idea = replace(idea, time=rng.choice(modifiers.SOON_TIMES) if rng.random() < 0.7 else None)
    german_words = f"wollen wir {clauses.bare_infinitive(idea)}"
    return finish(german_words, f"shall we {clauses.infinitive(idea)}", idea.combinations, "?")


def draw_name(rng: Random, pronoun: Phrase) -> tuple[str, str]:
    """A name that shows in English too which "you" is meant; strangers may go without."""
    return people.called(rng, pronoun) if pronoun is YOU_SIE else people.called_by_name(rng, pronoun)


PATTERNS: tuple[tuple[int, Pattern], ...] = (
    (8, please),
    (6, please_by_name),
    (6, command),
    (4, do_not),
    (3, please_do_not),
    (7, could_you),
    (4, let_us),
    (4, shall_we),
)
