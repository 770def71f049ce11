"""Patterns of the clock, the calendar and the weather: when things begin, leave or open, and what it is like outside.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from dataclasses import dataclass, replace
from random import Random

from nmt.data.phrasebook import clauses, english, events, german, modifiers, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.clauses import PLACE, Clause, Piece, Tense
from nmt.data.phrasebook.german import NOM
from nmt.data.phrasebook.phrases import HE, IT, SHE, THE, I, noun_phrase
from nmt.data.phrasebook.sentence import Pattern, Sentence, finish
from nmt.data.phrasebook.words import action, nouns, pairs

# ------------------------------------------------------------------------------------------------- clock and calendar

HOURS = tuple((german.number(hour) if hour > 1 else "eins", english.number(hour)) for hour in range(1, 13))
MINUTES = (
    ("fünf nach {}", "five past {}"),
    ("zehn nach {}", "ten past {}"),
    ("Viertel nach {}", "a quarter past {}"),
    ("zwanzig nach {}", "twenty past {}"),
    ("zwanzig vor {}", "twenty to {}"),
    ("Viertel vor {}", "a quarter to {}"),
    ("zehn vor {}", "ten to {}"),
    ("fünf vor {}", "five to {}"),
)


def draw_clock(rng: Random) -> tuple[str, str, tuple[str, ...]]:
    """A time of day; "halb drei" names the hour to come, "half past two" the one gone."""
    place = rng.randrange(12)
    hour, english_hour = HOURS[place]
    draw = rng.random()
    if draw < 0.2:
        full = "ein" if hour == "eins" else hour
        return f"{full} Uhr", f"{english_hour} o'clock", (f"Uhr+{hour}",)
    if draw < 0.45:
        return f"halb {hour}", f"half past {HOURS[place - 1][1]}", (f"halb+{hour}",)
    minutes, english_minutes = rng.choice(MINUTES)
    return minutes.format(hour), english_minutes.format(english_hour), (f"{minutes}+{hour}",)


def what_time_it_is(rng: Random) -> Sentence:
    time, english_time, words = draw_clock(rng)
    opening, english_opening = rng.choice(
        (("es ist", "it is"), ("jetzt ist es", "now it is"), ("es ist schon", "it is already"))
    )
    return finish(f"{opening} {time}", f"{english_opening} {english_time}", words)


def begins_at(rng: Random) -> Sentence:
    """When something begins or ends."""
    time, english_time, words = draw_clock(rng)
    noun = rng.choice(lex.EVENTS)
    verb, english_verb = rng.choice((("beginnt", "begins"), ("endet", "ends")))
    event = noun_phrase(THE, noun)
    words = (*words, f"{noun.german}+{verb}")
    if rng.random() < 0.5:
        day, english_day = rng.choice(
            (("heute", "today"), *((f"am {day}", f"on {name}") for day, name in modifiers.WEEKDAYS))
        )
        return finish(
            f"{event.german[NOM]} {verb} {day} um {time}",
            f"{event.english} {english_verb} at {english_time} {english_day}",
            words,
        )
    return finish(f"{event.german[NOM]} {verb} um {time}", f"{event.english} {english_verb} at {english_time}", words)


def leaves_at(rng: Random) -> Sentence:
    """Departures and arrivals, with separable verbs."""
    time, english_time, words = draw_clock(rng)
    line, (city, english_city) = rng.choice(lex.LINES[:2]), rng.choice(lex.CITIES)
    leaving = rng.random() < 0.6
    verb = action("ab|fahren fährt +abgefahren = leave") if leaving else action("an|kommen kommt +angekommen = arrive")
    whence, english_whence = ("nach", "to") if leaving else ("aus", "from")
    vehicle = noun_phrase(THE, line)
    route = f"{vehicle.german[NOM]} {whence} {city}"
    subject = replace(vehicle, german=(route, "", "", ""), english=f"{vehicle.english} {english_whence} {english_city}")
    travels = Clause(subject, verb, time=(f"um {time}", f"at {english_time}"))
    combinations = (*words, f"{line.german}+{city}", f"{verb.word}+{city}")
    draw = rng.random()
    if draw < 0.6:
        return finish(clauses.straight(travels), clauses.statement(travels), combinations)
    untimed = replace(travels, time=None)
    if draw < 0.8:
        opening, english_opening = rng.choice((("wann", "when"), ("um wie viel Uhr", "at what time")))
        return finish(
            clauses.inverted(untimed, opening), clauses.question(untimed, english_opening), combinations[1:], "?"
        )
    opening, english_opening = rng.choice(ASKING)
    german_words = f"{opening}, {clauses.subordinate(untimed, 'wann')}"
    return finish(german_words, clauses.statement(untimed, f"{english_opening} when"), combinations[1:], "?")


ASKING = pairs("""
    wissen Sie = do you know; können Sie mir sagen = can you tell me; Peter, weißt du = Peter, do you know
    Anna, weißt du = Anna, do you know; könnten Sie mir sagen = could you tell me
""")


def opens_at(rng: Random) -> Sentence:
    sight = noun_phrase(THE, rng.choice([noun for noun in lex.SIGHTS if noun.german in OPENING]))
    verb, hours = rng.choice(OPENING_HOURS)
    hour = rng.choice(hours)
    time, english_time = rng.choice(
        (
            (f"{HOURS[hour - 1][0]} Uhr", f"{HOURS[hour - 1][1]} o'clock"),
            (f"halb {HOURS[hour][0]}", f"half past {HOURS[hour - 1][1]}"),
        )
    )
    day, english_day = rng.choice((("", ""), *((f"am {day}", f"on {name}") for day, name in modifiers.WEEKDAYS[:5])))
    opening = Clause(sight, verb, time=(f"{day} um {time}".strip(), f"at {english_time} {english_day}".strip()))
    words = (f"{sight.words[-1]}+{verb.word}", f"{sight.words[-1]}+{HOURS[hour][0]}")
    if rng.random() < 0.75:
        return finish(clauses.straight(opening), clauses.statement(opening), words)
    untimed = replace(opening, time=(day, english_day) if day else None)
    return finish(clauses.inverted(untimed, "wann"), clauses.question(untimed, "when"), words[:1], "?")


OPENING = frozenset(["Museum", "Apotheke", "Bank", "Supermarkt", "Schloss", "Rathaus", "Dom"])
OPENING_HOURS = (
    (action("öffnen öffnet geöffnet = open"), (7, 8, 9, 10)),
    (action("schließen schließt geschlossen = close"), (4, 5, 6, 7, 8)),
)


@dataclass(frozen=True)
class Date:
    """A day of a month: "der dritte Mai", "am dritten Mai", "the third of May"."""

    day: int
    month: tuple[str, str]

    def german(self, ending: str) -> str:
        return f"{german.ordinal(self.day)}{ending} {self.month[0]}"

    @property
    def english(self) -> str:
        return f"the {english.ordinal(self.day)} of {self.month[1]}"

    @property
    def word(self) -> str:
        """Its combination of day and month."""
        return f"{german.ordinal(self.day)}+{self.month[0]}"


def draw_date(rng: Random) -> Date:
    return Date(rng.randint(1, 28), rng.choice(modifiers.MONTHS))


def todays_date(rng: Random) -> Sentence:
    date = draw_date(rng)
    day, verb, english_day, english_verb = rng.choice(DAYS)
    return finish(f"{day} {verb} der {date.german('e')}", f"{english_day} {english_verb} {date.english}", (date.word,))


DAYS = (("heute", "ist", "today", "is"), ("morgen", "ist", "tomorrow", "is"), ("gestern", "war", "yesterday", "was"))


def birthday(rng: Random) -> Sentence:
    date = draw_date(rng)
    subject = people.third_person(rng) if rng.random() < 0.85 else I
    has, own = ("habe", "my") if subject is I else ("hat", f"{subject.english}'s")
    words = (date.word, *(f"{head}+{date.month[0]}" for head in subject.head))
    german_words = f"{subject.german[NOM]} {has} am {date.german('en')} Geburtstag"
    return finish(german_words, f"{own} birthday is on {date.english}", words)


def on_that_date(rng: Random) -> Sentence:
    date = draw_date(rng)
    verb, noun = rng.choice(DATED)
    happens = Clause(noun_phrase(THE, noun), verb, time=(f"am {date.german('en')}", f"on {date.english}"))
    return finish(clauses.straight(happens), clauses.statement(happens), (date.word, f"{noun.german}+{date.month[0]}"))


BEGINNING = nouns("""
    pl Ferien = holidays; der Kurs, Kurse = course; die Ausstellung, Ausstellungen = exhibition
    die Messe, Messen = trade fair; das Semester, Semester = term
""")
TAKING_PLACE = nouns("""
    die Hochzeit, Hochzeiten = wedding; das Konzert, Konzerte = concert; die Prüfung, Prüfungen = exam
    das Fest, Feste = celebration; die Besprechung, Besprechungen = meeting; das Spiel, Spiele = game
""")
DATED = tuple((action("beginnen beginnt begonnen = begin"), noun) for noun in BEGINNING) + tuple(
    (action("statt|finden findet stattgefunden = take place"), noun) for noun in TAKING_PLACE
)


def born_in(rng: Random) -> Sentence:
    """A year in figures, a month or a season."""
    subject = rng.choice((I, HE, SHE)) if rng.random() < 0.3 else people.third_person(rng)
    if rng.random() < 0.6:
        least, most = people.age_span(subject)
        year = str(THIS_YEAR - rng.randint(least, most))
        when, english_when = year, year
    else:
        month, english_when = rng.choice(modifiers.MONTHS + modifiers.SEASONS)
        when = f"im {month}"
    finite, english_finite = german.auxiliary("sein", subject.person), english.be(subject.agreement, is_past=True)
    words = tuple(f"{head}+{when}" for head in subject.head)
    german_words = f"{subject.german[NOM]} {finite} {when} geboren"
    return finish(german_words, f"{subject.english} {english_finite} born in {english_when}", words)


THIS_YEAR = 2025


def weekday_plan(rng: Random) -> Sentence:
    """An appointment with somebody: day, hour, person."""
    day, english_day = rng.choice(modifiers.WEEKDAYS[:5])
    time, english_time, words = draw_clock(rng)
    subject = people.lead(rng)
    whom, english_whom = rng.choice(APPOINTMENTS)
    meeting = events.predicate("haben hat gehabt = have", f"einen Termin {whom} = an appointment {english_whom}")
    meeting = replace(meeting, subject=subject, time=(f"am {day} um {time}", f"at {english_time} on {english_day}"))
    return finish(clauses.straight(meeting), clauses.statement(meeting), (*words, f"{day}+{whom.split()[-1]}"))


APPOINTMENTS = pairs("""
    beim Arzt = at the doctor's; beim Zahnarzt = at the dentist's; beim Friseur = at the hairdresser's
    bei der Bank = at the bank; im Rathaus = at the town hall; bei der Anwältin = with the lawyer
    mit dem Chef = with the boss
""")

# ------------------------------------------------------------------------------------------------- weather


def weather(rng: Random) -> Sentence:
    """How it is, was and will be, here and elsewhere."""
    quality = rng.choice(modifiers.FOR_WEATHER)
    degree, english_degree = rng.choice((("", ""), ("sehr ", "very "), ("ziemlich ", "quite ")))
    city, english_city = rng.choice(lex.CITIES)
    it = events.quality(
        IT, f"in {city} {degree}{quality.german}", f"{english_degree}{quality.english} in {english_city}"
    )
    tense, time = rng.choice(WEATHER_TIMES)
    words = (f"{quality.german}+{city}",)
    it = replace(it, tense=tense, time=time)
    if rng.random() < 0.5:
        return finish(clauses.fronted(it), clauses.fronted_statement(it), words)
    return finish(clauses.straight(it), clauses.statement(it), words)


WEATHER_TIMES = (
    (Tense.SIMPLE, ("heute", "today")),
    (Tense.SIMPLE, ("im Moment", "at the moment")),
    (Tense.SIMPLE, ("im Winter", "in winter")),
    (Tense.SIMPLE, ("im Frühling", "in spring")),
    (Tense.PAST, ("gestern", "yesterday")),
    (Tense.PAST, ("letzte Woche", "last week")),
    (Tense.FUTURE, ("morgen", "tomorrow")),
    (Tense.FUTURE, ("am Wochenende", "at the weekend")),
)


def rain(rng: Random) -> Sentence:
    which = rng.choice(events.WEATHER)
    city, english_city = rng.choice(lex.CITIES)
    tense, times = rng.choice(
        (
            (Tense.PAST, modifiers.RECENT_TIMES),
            (Tense.FUTURE, modifiers.SOON_TIMES),
            (Tense.PROGRESSIVE, (("gerade", "right now"),)),
        )
    )
    it = replace(
        events.weather(which, tense), pieces=(Piece(PLACE, f"in {city}", f"in {english_city}"),), time=rng.choice(times)
    )
    words = (f"{which.word}+{city}",)
    if tense is not Tense.PROGRESSIVE and rng.random() < 0.5:
        return finish(clauses.fronted(it), clauses.fronted_statement(it), words)
    return finish(clauses.straight(it), clauses.statement(it), words)


def degrees(rng: Random) -> Sentence:
    value, (city, english_city) = rng.randint(2, 38), rng.choice(lex.CITIES)
    words = (f"{german.number(value)}+{city}",)
    return finish(
        f"in {city} sind es {german.number(value)} Grad",
        f"it is {english.number(value)} degrees in {english_city}",
        words,
    )


PATTERNS: tuple[tuple[int, Pattern], ...] = (
    (3, what_time_it_is),
    (7, begins_at),
    (8, leaves_at),
    (5, opens_at),
    (3, todays_date),
    (5, birthday),
    (5, on_that_date),
    (5, born_in),
    (6, weekday_plan),
    (6, weather),
    (4, rain),
    (3, degrees),
)
