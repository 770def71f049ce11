"""Patterns of two clauses joined without a subordinate one: infinitives with zu, and coordination.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from dataclasses import replace
from random import Random

from nmt.data.phrasebook import clauses, events, modifiers, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.actions import person_piece
from nmt.data.phrasebook.clauses import WANT, Clause, Tense
from nmt.data.phrasebook.compounds import EXCUSES, NO_TIME, of_the_same
from nmt.data.phrasebook.events import predicate
from nmt.data.phrasebook.german import ACC
from nmt.data.phrasebook.sentence import Pattern, Sentence, finish
from nmt.data.phrasebook.words import action

# ---------------------------------------------------------------------------------------------------------- infinitives


def in_order_to(rng: Random) -> Sentence:
    """A journey and its purpose: "…, um ihre Tante zu besuchen"."""
    subject = people.lead(rng)
    city, english_city = rng.choice(lex.CITIES)
    journey = predicate("fahren fährt +gefahren = go", f"nach {city} = to {english_city}", Tense.PROGRESSIVE)
    journey = replace(journey, subject=subject, time=rng.choice(modifiers.SOON_TIMES + modifiers.FUTURE_TIMES))
    whom = people.someone_of(rng, subject, circle="elsewhere")
    purpose = Clause(subject, rng.choice(PURPOSES), (person_piece(whom, ACC),))
    german_words = f"{clauses.straight(journey)}, um {clauses.zu_infinitive(purpose)}"
    english_words = f"{clauses.statement(journey)} to {clauses.infinitive(purpose)}"
    return finish(german_words, english_words, (*journey.combinations, *purpose.combinations))


PURPOSES = (action("besuchen besucht besucht = visit"), action("ab|holen holt abgeholt = pick up"))


def set_on(rng: Random) -> Sentence:
    """Forgetting, trying, promising to do something."""
    subject = people.lead(rng)
    frame, letters = rng.choice(ATTEMPTS)
    task = events.doing(rng, rng.choice(letters), events.always(subject))
    return with_task(replace(frame, subject=subject), task)


ATTEMPTS = (
    (predicate("vergessen vergisst vergessen = forget", tense=Tense.PAST), "j"),
    (predicate("versuchen versucht versucht = try", tense=Tense.PROGRESSIVE), "v"),
    (predicate("versuchen versucht versucht = try", tense=Tense.PAST), "v"),
    (predicate("versprechen verspricht versprochen = promise", tense=Tense.PAST), "m"),
    (predicate("hoffen hofft gehofft = hope", tense=Tense.PROGRESSIVE), "O"),
    (predicate("beschließen beschließt beschlossen = decide", tense=Tense.PAST), "oO"),
    (predicate("vor|haben hat vorgehabt = plan", tense=Tense.PROGRESSIVE), "oO"),
    (NO_TIME, "j"),
    (replace(NO_TIME, tense=Tense.PAST), "j"),
)


def pleasant_to(rng: Random) -> Sentence:
    opening, english_opening, tasks = rng.choice(PLEASANT)
    task = rng.choice(tasks)
    time = rng.choice((None, *modifiers.REGULAR_TIMES[:3]))
    task = replace(task, time=time)
    german_words = f"{opening}, {clauses.zu_infinitive(task)}"
    return finish(german_words, f"{english_opening} to {clauses.infinitive(task)}", task.combinations[1:])


FUN = tuple(predicate("spielen spielt gespielt = play", f"{game} = {name}") for game, name in lex.GAMES)
HARD = tuple(
    predicate("lernen lernt gelernt = learn", f"{language.german} = {language.english}") for language in lex.LANGUAGES
)
HEALTHY = (
    predicate("spazieren_|gehen x x = go for a walk"),
    predicate("schwimmen x x = swim"),
    predicate("essen x x = eat", "Obst = fruit"),
    predicate("essen x x = eat", "Gemüse = vegetables"),
    predicate("gehen x x = walk", "zu Fuß zur Arbeit = to work"),
    predicate("fahren x x = go", "mit dem Fahrrad zur Arbeit = to work by bike"),
    predicate("auf|stehen x x = get up", "früh = early"),
)
PLEASANT = (
    ("es macht Spaß", "it is fun", FUN),
    ("es ist schwer", "it is hard", HARD),
    ("es ist schön", "it is nice", FUN[-5:-1]),
    ("es ist gesund", "it is healthy", HEALTHY),
)


def feel_like(rng: Random) -> Sentence:
    subject = people.you(rng)
    asked = replace(LUST, subject=subject)
    task = events.doing(rng, "l", events.always(subject))
    called, english_called = people.called(rng, subject)
    german_words = f"{called}{clauses.inverted(asked)}, {clauses.zu_infinitive(task)}"
    english_words = f"{english_called}{clauses.question(asked)} {clauses.gerund(task)}"
    return finish(german_words, english_words, task.combinations, "?")


LUST = predicate("haben hat gehabt = feel like", "Lust = ")


def without(rng: Random) -> Sentence:
    """ "…, ohne das Licht auszumachen"."""
    subject = people.subject(rng, "adult")
    left = replace(rng.choice(LEFT), subject=subject)
    undone = replace(rng.choice(UNDONE), subject=subject)
    german_words = f"{clauses.straight(left)}, ohne {clauses.zu_infinitive(undone)}"
    english_words = f"{clauses.statement(left)} without {clauses.gerund(undone)}"
    return finish(german_words, english_words, undone.combinations)


UNDONE = (
    predicate("aus|machen x x = turn off", "das Licht = the light"),
    predicate("aus|machen x x = turn off", "den Fernseher = the television"),
    predicate("schließen x x = close", "die Tür = the door"),
    predicate("schließen x x = close", "das Fenster = the window"),
    predicate("füttern x x = feed", "die Katze = the cat"),
    predicate("gießen x x = water", "die Blumen = the flowers"),
    predicate("aus|machen x x = turn off", "die Heizung = the heating"),
    predicate("spülen x x = wash", "die Teller = the plates"),
)
LEFT = (
    predicate("verlassen verlässt verlassen = leave", "das Haus = the house", Tense.PAST),
    predicate("gehen geht +gegangen = go", "ins Bett = to bed", Tense.PAST),
    predicate("gehen geht +gegangen = go", "zur Arbeit = to work", Tense.PAST),
)

# -------------------------------------------------------------------------------------------------------- coordination


def and_then(rng: Random) -> Sentence:
    """One person did two things; German says "hat" once."""
    subject = people.lead(rng)
    first = events.happened(rng, events.always(subject), also="b")
    second = replace(events.happened(rng, events.always(subject), also="b"), time=None)
    if not share_a_verb(first, second):
        return and_then(rng)
    german_words = f"{clauses.straight(first)} und {clauses.continued(second)}"
    english_words = f"{clauses.statement(replace(first, time=None))} and {clauses.continued_statement(second)}"
    time = f" {first.time[1]}" if first.time else ""
    return finish(german_words, english_words + time, (*first.combinations, *second.combinations))


def and_another(rng: Random) -> Sentence:
    """Two people did a thing each."""
    first = events.happened(rng, lambda draw, age: people.named(draw), timed=False)
    second = events.happened(rng, lambda draw, age: people.named(draw), timed=False)
    if first.subject is second.subject or first.action.word == second.action.word:
        return and_another(rng)
    german_words = f"{clauses.straight(first)} und {clauses.straight(second)}"
    english_words = f"{clauses.statement(first)} and {clauses.statement(second)}"
    return finish(german_words, english_words, (*first.combinations, *second.combinations))


def wanted_but(rng: Random) -> Sentence:
    wanted = replace(events.doing(rng, "b", events.always(people.lead(rng))), modal=WANT, tense=Tense.PAST)
    reason = replace(of_the_same(wanted, rng.choice(EXCUSES)), tense=Tense.PAST)
    german_words = f"{clauses.straight(wanted)}, aber {clauses.straight(reason)}"
    english_words = f"{clauses.statement(wanted)}, but {clauses.statement(reason)}"
    return finish(german_words, english_words, wanted.combinations)


def not_there_but_here(rng: Random) -> Sentence:
    (city, english_city), (other, english_other) = rng.sample(lex.CITIES, 2)
    journey = predicate("fahren fährt +gefahren = go", f"nach {city} = to {english_city}", Tense.PROGRESSIVE)
    journey = replace(journey, subject=people.subject(rng), negated=True)
    german_words = f"{clauses.straight(journey)}, sondern nach {other}"
    english_words = f"{clauses.statement(journey)} but to {english_other}"
    return finish(german_words, english_words, (*journey.combinations, f"fahren+{other}"))


def either_or(rng: Random) -> Sentence:
    (city, english_city), (other, english_other) = rng.sample(lex.CITIES, 2)
    words = f"entweder nach {city} oder nach {other} = either to {english_city} or to {english_other}"
    journey = predicate("fahren fährt +gefahren = go", words, Tense.PROGRESSIVE)
    journey = replace(journey, subject=people.subject(rng), time=rng.choice(modifiers.FUTURE_TIMES))
    combinations = (f"fahren+{city}", f"fahren+{other}")
    return finish(clauses.straight(journey), clauses.statement(journey), combinations)


def languages(rng: Random) -> Sentence:
    """Two languages, joined in one of three ways."""
    first, second = rng.sample(lex.LANGUAGES, 2)
    word, link, english_word, english_link = rng.choice(BOTH)
    words = (
        f"{word} {first.german}{link} {second.german} = {english_word} {first.english}{english_link} {second.english}"
    )
    spoken = replace(predicate("sprechen spricht gesprochen = speak", words), subject=people.subject(rng))
    combinations = (f"sprechen+{first.german}", f"{first.german}+{second.german}")
    return finish(clauses.straight(spoken), clauses.statement(spoken), combinations)


BOTH = (
    ("nicht nur", ", sondern auch", "not only", " but also"),
    ("sowohl", " als auch", "both", " and"),
    ("weder", " noch", "neither", " nor"),
)


# ------------------------------------------------------------------------------------------------------------ joining


def with_task(clause: Clause, task: Clause) -> Sentence:
    german_words = f"{clauses.straight(clause)}, {clauses.zu_infinitive(task)}"
    english_words = f"{clauses.statement(clause)} to {clauses.infinitive(task)}"
    return finish(german_words, english_words, (f"{clause.action.word}+{task.action.word}", *task.combinations))


def share_a_verb(first: Clause, second: Clause) -> bool:
    """True of two different verbs with the same auxiliary in the perfect."""
    verb, other = first.action.verb, second.action.verb
    simple = {"sein", "haben"}.intersection((verb.whole(), other.whole()))
    return verb.whole() != other.whole() and verb.with_sein == other.with_sein and not simple


PATTERNS: tuple[tuple[int, Pattern], ...] = (
    (7, in_order_to),
    (8, set_on),
    (3, pleasant_to),
    (3, feel_like),
    (3, without),
    (9, and_then),
    (8, and_another),
    (5, wanted_but),
    (3, not_there_but_here),
    (3, either_or),
    (3, languages),
)
