"""Patterns for the situations of a journey: clock and calendar, weather, town, hotel, restaurant, shop, doctor, school.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from dataclasses import dataclass, replace
from random import Random

from nmt.data.phrasebook import clauses, english, events, german, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.clauses import PLACE, Clause, Piece, Tense
from nmt.data.phrasebook.german import ACC, DAT, NOM
from nmt.data.phrasebook.phrases import HE, IT, SHE, THE, A, I, counted, noun_phrase
from nmt.data.phrasebook.sentence import Pattern, Sentence, finish, stated
from nmt.data.phrasebook.words import action, nouns, pairs

# ------------------------------------------------------------------------------------------------- clock and calendar

_HOURS = tuple((german.number(hour) if hour > 1 else "eins", english.number(hour)) for hour in range(1, 13))
_MINUTES = (
    ("fünf nach {}", "five past {}"),
    ("zehn nach {}", "ten past {}"),
    ("Viertel nach {}", "a quarter past {}"),
    ("zwanzig nach {}", "twenty past {}"),
    ("zwanzig vor {}", "twenty to {}"),
    ("Viertel vor {}", "a quarter to {}"),
    ("zehn vor {}", "ten to {}"),
    ("fünf vor {}", "five to {}"),
)


def _clock(rng: Random) -> tuple[str, str, tuple[str, ...]]:
    """A time of day; "halb drei" names the hour to come, "half past two" the one gone."""
    place = rng.randrange(12)
    hour, english_hour = _HOURS[place]
    draw = rng.random()
    if draw < 0.2:
        full = "ein" if hour == "eins" else hour
        return f"{full} Uhr", f"{english_hour} o'clock", (f"Uhr+{hour}",)
    if draw < 0.45:
        return f"halb {hour}", f"half past {_HOURS[place - 1][1]}", (f"halb+{hour}",)
    minutes, english_minutes = rng.choice(_MINUTES)
    return minutes.format(hour), english_minutes.format(english_hour), (f"{minutes}+{hour}",)


def what_time_it_is(rng: Random) -> Sentence:
    time, english_time, words = _clock(rng)
    opening, english_opening = rng.choice(
        (("es ist", "it is"), ("jetzt ist es", "now it is"), ("es ist schon", "it is already"))
    )
    return finish(f"{opening} {time}", f"{english_opening} {english_time}", words)


def begins_at(rng: Random) -> Sentence:
    """When something begins or ends."""
    time, english_time, words = _clock(rng)
    noun = rng.choice(lex.EVENTS)
    verb, english_verb = rng.choice((("beginnt", "begins"), ("endet", "ends")))
    event = noun_phrase(THE, noun)
    words = (*words, f"{noun.german}+{verb}")
    if rng.random() < 0.5:
        day, english_day = rng.choice(
            (("heute", "today"), *((f"am {day}", f"on {name}") for day, name in lex.WEEKDAYS))
        )
        return finish(
            f"{event.german[NOM]} {verb} {day} um {time}",
            f"{event.english} {english_verb} at {english_time} {english_day}",
            words,
        )
    return finish(f"{event.german[NOM]} {verb} um {time}", f"{event.english} {english_verb} at {english_time}", words)


def leaves_at(rng: Random) -> Sentence:
    """Departures and arrivals, with separable verbs."""
    time, english_time, words = _clock(rng)
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
    opening, english_opening = rng.choice(_ASKING)
    german_words = f"{opening}, {clauses.subordinate(untimed, 'wann')}"
    return finish(german_words, clauses.statement(untimed, f"{english_opening} when"), combinations[1:], "?")


_ASKING = pairs("""
    wissen Sie = do you know; können Sie mir sagen = can you tell me; Peter, weißt du = Peter, do you know
    Anna, weißt du = Anna, do you know; könnten Sie mir sagen = could you tell me
""")


def opens_at(rng: Random) -> Sentence:
    sight = noun_phrase(THE, rng.choice([noun for noun in lex.SIGHTS if noun.german in _OPENING]))
    verb, hours = rng.choice(_OPENING_HOURS)
    hour = rng.choice(hours)
    time, english_time = rng.choice(
        (
            (f"{_HOURS[hour - 1][0]} Uhr", f"{_HOURS[hour - 1][1]} o'clock"),
            (f"halb {_HOURS[hour][0]}", f"half past {_HOURS[hour - 1][1]}"),
        )
    )
    day, english_day = rng.choice((("", ""), *((f"am {day}", f"on {name}") for day, name in lex.WEEKDAYS[:5])))
    opening = Clause(sight, verb, time=(f"{day} um {time}".strip(), f"at {english_time} {english_day}".strip()))
    words = (f"{sight.words[-1]}+{verb.word}", f"{sight.words[-1]}+{_HOURS[hour][0]}")
    if rng.random() < 0.75:
        return finish(clauses.straight(opening), clauses.statement(opening), words)
    untimed = replace(opening, time=(day, english_day) if day else None)
    return finish(clauses.inverted(untimed, "wann"), clauses.question(untimed, "when"), words[:1], "?")


_OPENING = frozenset(["Museum", "Apotheke", "Bank", "Supermarkt", "Schloss", "Rathaus", "Dom"])
_OPENING_HOURS = (
    (action("öffnen öffnet geöffnet = open"), (7, 8, 9, 10)),
    (action("schließen schließt geschlossen = close"), (4, 5, 6, 7, 8)),
)


@dataclass(frozen=True)
class _Date:
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


def _date(rng: Random) -> _Date:
    return _Date(rng.randint(1, 28), rng.choice(lex.MONTHS))


def todays_date(rng: Random) -> Sentence:
    date = _date(rng)
    day, verb, english_day, english_verb = rng.choice(_DAYS)
    return finish(f"{day} {verb} der {date.german('e')}", f"{english_day} {english_verb} {date.english}", (date.word,))


_DAYS = (("heute", "ist", "today", "is"), ("morgen", "ist", "tomorrow", "is"), ("gestern", "war", "yesterday", "was"))


def birthday(rng: Random) -> Sentence:
    date = _date(rng)
    subject = people.third_person(rng) if rng.random() < 0.85 else I
    has, own = ("habe", "my") if subject is I else ("hat", f"{subject.english}'s")
    words = (date.word, *(f"{head}+{date.month[0]}" for head in subject.head))
    german_words = f"{subject.german[NOM]} {has} am {date.german('en')} Geburtstag"
    return finish(german_words, f"{own} birthday is on {date.english}", words)


def on_that_date(rng: Random) -> Sentence:
    date = _date(rng)
    verb, noun = rng.choice(_DATED)
    happens = Clause(noun_phrase(THE, noun), verb, time=(f"am {date.german('en')}", f"on {date.english}"))
    return finish(clauses.straight(happens), clauses.statement(happens), (date.word, f"{noun.german}+{date.month[0]}"))


_BEGINNING = nouns("""
    pl Ferien = holidays; der Kurs, Kurse = course; die Ausstellung, Ausstellungen = exhibition
    die Messe, Messen = trade fair; das Semester, Semester = term
""")
_TAKING_PLACE = nouns("""
    die Hochzeit, Hochzeiten = wedding; das Konzert, Konzerte = concert; die Prüfung, Prüfungen = exam
    das Fest, Feste = celebration; die Besprechung, Besprechungen = meeting; das Spiel, Spiele = game
""")
_DATED = tuple((action("beginnen beginnt begonnen = begin"), noun) for noun in _BEGINNING) + tuple(
    (action("statt|finden findet stattgefunden = take place"), noun) for noun in _TAKING_PLACE
)


def born_in(rng: Random) -> Sentence:
    """A year in figures, a month or a season."""
    subject = rng.choice((I, HE, SHE)) if rng.random() < 0.3 else people.third_person(rng)
    if rng.random() < 0.6:
        least, most = people.age_span(subject)
        year = str(_THIS_YEAR - rng.randint(least, most))
        when, english_when = year, year
    else:
        month, english_when = rng.choice(lex.MONTHS + lex.SEASONS)
        when = f"im {month}"
    finite, english_finite = german.auxiliary("sein", subject.person), english.be(subject.agreement, is_past=True)
    words = tuple(f"{head}+{when}" for head in subject.head)
    german_words = f"{subject.german[NOM]} {finite} {when} geboren"
    return finish(german_words, f"{subject.english} {english_finite} born in {english_when}", words)


_THIS_YEAR = 2025


def weekday_plan(rng: Random) -> Sentence:
    """An appointment with somebody: day, hour, person."""
    day, english_day = rng.choice(lex.WEEKDAYS[:5])
    time, english_time, words = _clock(rng)
    subject = people.lead(rng)
    whom, english_whom = rng.choice(_APPOINTMENTS)
    meeting = events.predicate("haben hat gehabt = have", f"einen Termin {whom} = an appointment {english_whom}")
    meeting = replace(meeting, subject=subject, time=(f"am {day} um {time}", f"at {english_time} on {english_day}"))
    return finish(clauses.straight(meeting), clauses.statement(meeting), (*words, f"{day}+{whom.split()[-1]}"))


_APPOINTMENTS = pairs("""
    beim Arzt = at the doctor's; beim Zahnarzt = at the dentist's; beim Friseur = at the hairdresser's
    bei der Bank = at the bank; im Rathaus = at the town hall; bei der Anwältin = with the lawyer
    mit dem Chef = with the boss
""")

# ------------------------------------------------------------------------------------------------- weather


def weather(rng: Random) -> Sentence:
    """How it is, was and will be, here and elsewhere."""
    quality = rng.choice(lex.FOR_WEATHER)
    degree, english_degree = rng.choice((("", ""), ("sehr ", "very "), ("ziemlich ", "quite ")))
    city, english_city = rng.choice(lex.CITIES)
    it = events.quality(
        IT, f"in {city} {degree}{quality.german}", f"{english_degree}{quality.english} in {english_city}"
    )
    tense, time = rng.choice(_WEATHER_TIMES)
    words = (f"{quality.german}+{city}",)
    it = replace(it, tense=tense, time=time)
    if rng.random() < 0.5:
        return finish(clauses.fronted(it), clauses.fronted_statement(it), words)
    return finish(clauses.straight(it), clauses.statement(it), words)


_WEATHER_TIMES = (
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
            (Tense.PAST, lex.RECENT_TIMES),
            (Tense.FUTURE, lex.SOON_TIMES),
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


# ------------------------------------------------------------------------------------------------- town


def where_is(rng: Random) -> Sentence:
    sight = noun_phrase(THE, rng.choice(lex.SIGHTS))
    draw = rng.random()
    words: tuple[str, ...] = (f"wo+{sight.words[-1]}",)
    if draw < 0.3:
        return finish(f"wo ist {sight.german[NOM]}", f"where is {sight.english}", words, "?")
    if draw < 0.5:
        near = noun_phrase(A, rng.choice(_NEEDED_SIGHTS))
        return finish(
            f"wo finde ich {near.german[ACC]}", f"where can I find {near.english}", (f"finden+{near.words[-1]}",), "?"
        )
    opening, english_opening = rng.choice((*_ASKING, ("entschuldigen Sie, wissen Sie", "excuse me, do you know")))
    return finish(f"{opening}, wo {sight.german[NOM]} ist", f"{english_opening} where {sight.english} is", words, "?")


_NEEDED = ("Apotheke", "Bank", "Supermarkt", "Bushaltestelle", "Tankstelle", "Toilette", "Hotel", "Parkplatz")
_NEEDED_SIGHTS = [noun for noun in lex.SIGHTS if noun.german in _NEEDED]


def how_to_get_to(rng: Random) -> Sentence:
    sight = noun_phrase(THE, rng.choice(lex.SIGHTS))
    goal = german.with_preposition("zu", sight.german[DAT])
    words = (f"kommen+{sight.words[-1]}",)
    draw = rng.random()
    if draw < 0.4:
        return finish(f"wie komme ich {goal}", f"how do I get to {sight.english}", words, "?")
    if draw < 0.7:
        opening, english_opening = rng.choice(_ASKING)
        return finish(f"{opening}, wie ich {goal} komme", f"{english_opening} how I get to {sight.english}", words, "?")
    return finish(f"ist es weit {goal}", f"is it far to {sight.english}", words, "?")


def directions(rng: Random) -> Sentence:
    first, english_first = rng.choice(_WAYS)
    second, english_second = rng.choice(_TURNS)
    sight = noun_phrase(THE, rng.choice(_SIGNPOSTS))
    draw = rng.random()
    if draw < 0.5:
        goal = f"bis {german.with_preposition('zu', sight.german[DAT])}"
        words = (f"bis+{sight.words[-1]}", f"{second}+{sight.words[-1]}")
        return finish(
            f"gehen Sie {goal} und dann {second}", f"go as far as {sight.english} and then {english_second}", words
        )
    place, english_place = rng.choice(_SIDES)
    words = (f"{first}+{sight.words[-1]}", f"{place}+{sight.words[-1]}")
    german_words = f"gehen Sie {first}, dann ist {sight.german[NOM]} {place}"
    return finish(german_words, f"go {english_first}, then {sight.english} is {english_place}", words)


_SIGNPOSTS = [noun for noun in lex.SIGHTS if noun.german not in ("Toilette", "Flughafen")]
_WAYS = (
    ("geradeaus", "straight on"),
    ("über die Brücke", "across the bridge"),
    ("durch den Park", "through the park"),
    ("die Straße entlang", "along the street"),
    ("um die Ecke", "around the corner"),
    ("am Fluss entlang", "along the river"),
)
_TURNS = (("nach links", "to the left"), ("nach rechts", "to the right"), ("geradeaus", "straight on"))
_SIDES = (("auf der linken Seite", "on the left"), ("auf der rechten Seite", "on the right"))


_OPEN_PLACES = ("Marktplatz", "Brücke", "Hafen", "Flughafen", "Toilette", "Universität")
_BUILDINGS = [noun for noun in lex.SIGHTS if noun.german not in _OPEN_PLACES]


def location(rng: Random) -> Sentence:
    """One building by another."""
    one, another = rng.sample(_BUILDINGS, 2)
    thing, landmark = noun_phrase(THE, one), noun_phrase(THE, another)
    preposition, english_preposition = rng.choice(
        (("neben", "next to"), ("hinter", "behind"), ("vor", "in front of"), ("gegenüber von", "opposite"))
    )
    spot = (
        f"{preposition} {landmark.german[DAT]}"
        if " " not in preposition
        else f"gegenüber {german.with_preposition('von', landmark.german[DAT])}"
    )
    words = (f"{one.german}+{another.german}",)
    return finish(
        f"{thing.german[NOM]} ist {spot}", f"{thing.english} is {english_preposition} {landmark.english}", words
    )


def journey_takes(rng: Random) -> Sentence:
    (start, english_start), (goal, english_goal) = rng.sample(lex.CITIES, 2)
    route, english_route = f"von {start} nach {goal}", f"from {english_start} to {english_goal}"
    draw = rng.random()
    if draw < 0.25:
        words = (f"{start}+{goal}",)
        return finish(
            f"wie lange dauert die Fahrt {route}", f"how long does the journey {english_route} take", words, "?"
        )
    if draw < 0.5:
        return finish(f"wie weit ist es {route}", f"how far is it {english_route}", (f"{start}+{goal}",), "?")
    vehicle, english_vehicle = rng.choice(lex.LONG_DISTANCE)
    hours = rng.randint(2, 14)
    german_words = f"mit {vehicle} dauert die Fahrt nach {goal} {german.number(hours)} Stunden"
    english_words = f"by {english_vehicle} the journey to {english_goal} takes {english.number(hours)} hours"
    return finish(german_words, english_words, (f"dauern+{goal}", f"{german.number(hours)}+Stunde"))


def ticket(rng: Random) -> Sentence:
    city, english_city = rng.choice(lex.CITIES)
    draw = rng.random()
    words: tuple[str, ...] = (f"Fahrkarte+{city}",)
    if draw < 0.3:
        return finish(f"was kostet eine Fahrkarte nach {city}", f"how much is a ticket to {english_city}", words, "?")
    if draw < 0.7:
        number = rng.randint(1, 6)
        tickets = counted(number, lex.PAID[2])
        words = (*words, f"{german.number(number)}+Fahrkarte")
        german_words = f"ich hätte gern {tickets.german[ACC]} nach {city}"
        return finish(german_words, f"I would like {tickets.english} to {english_city}", words)
    platform = rng.randint(1, 20)
    line = rng.choice(("nach", "aus"))
    verb, english_verb, english_line = (
        ("fährt", "leaves from", "to") if line == "nach" else ("hält", "stops at", "from")
    )
    german_words = f"der Zug {line} {city} {verb} auf Gleis {german.number(platform)}"
    if line == "nach":
        german_words = f"der Zug nach {city} fährt von Gleis {german.number(platform)} ab"
    words = (f"Gleis+{german.number(platform)}", f"Zug+{city}")
    english_words = f"the train {english_line} {english_city} {english_verb} platform {english.number(platform)}"
    return finish(german_words, english_words, words)


def delay(rng: Random) -> Sentence:
    """Late and missed trains and buses."""
    line, (city, english_city) = rng.choice(lex.LINES[:2]), rng.choice(lex.CITIES)
    vehicle = noun_phrase(THE, line)
    minutes = rng.choice((5, 10, 15, 20, 25, 30, 40, 45, 50))
    words = (f"{line.german}+{city}", f"Verspätung+{german.number(minutes)}")
    route, english_route = f"{vehicle.german[NOM]} nach {city}", f"{vehicle.english} to {english_city}"
    if rng.random() < 0.6:
        german_words = f"{route} hat {german.number(minutes)} Minuten Verspätung"
        return finish(german_words, f"{english_route} is {english.number(minutes)} minutes late", words)
    missed = action("verpassen verpasst verpasst = miss")
    piece = Piece(clauses.OBJECT, f"{vehicle.german[ACC]} nach {city}", english_route, words=(line.german,))
    return stated(Clause(people.subject(rng, "adult"), missed, (piece,), Tense.PAST))


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
    (3, where_is),
    (3, how_to_get_to),
    (4, directions),
    (5, location),
    (6, journey_takes),
    (5, ticket),
    (6, delay),
)
