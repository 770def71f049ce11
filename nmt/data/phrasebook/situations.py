"""Patterns for the situations of a journey: asking the way, the length of a journey, tickets and delays.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from random import Random

from nmt.data.phrasebook import clauses, english, german, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.clauses import Clause, Piece, Tense
from nmt.data.phrasebook.german import ACC, DAT, NOM
from nmt.data.phrasebook.phrases import THE, A, counted, noun_phrase
from nmt.data.phrasebook.sentence import Pattern, Sentence, finish, stated
from nmt.data.phrasebook.times_and_weather import ASKING
from nmt.data.phrasebook.words import action

# ------------------------------------------------------------------------------------------------- town


def where_is(rng: Random) -> Sentence:
    sight = noun_phrase(THE, rng.choice(lex.SIGHTS))
    draw = rng.random()
    words: tuple[str, ...] = (f"wo+{sight.words[-1]}",)
    if draw < 0.3:
        return finish(f"wo ist {sight.german[NOM]}", f"where is {sight.english}", words, "?")
    if draw < 0.5:
        near = noun_phrase(A, rng.choice(NEEDED_SIGHTS))
        return finish(
            f"wo finde ich {near.german[ACC]}", f"where can I find {near.english}", (f"finden+{near.words[-1]}",), "?"
        )
    opening, english_opening = rng.choice((*ASKING, ("entschuldigen Sie, wissen Sie", "excuse me, do you know")))
    return finish(f"{opening}, wo {sight.german[NOM]} ist", f"{english_opening} where {sight.english} is", words, "?")


NEEDED = ("Apotheke", "Bank", "Supermarkt", "Bushaltestelle", "Tankstelle", "Toilette", "Hotel", "Parkplatz")
NEEDED_SIGHTS = [noun for noun in lex.SIGHTS if noun.german in NEEDED]


def how_to_get_to(rng: Random) -> Sentence:
    sight = noun_phrase(THE, rng.choice(lex.SIGHTS))
    goal = german.with_preposition("zu", sight.german[DAT])
    words = (f"kommen+{sight.words[-1]}",)
    draw = rng.random()
    if draw < 0.4:
        return finish(f"wie komme ich {goal}", f"how do I get to {sight.english}", words, "?")
    if draw < 0.7:
        opening, english_opening = rng.choice(ASKING)
        return finish(f"{opening}, wie ich {goal} komme", f"{english_opening} how I get to {sight.english}", words, "?")
    return finish(f"ist es weit {goal}", f"is it far to {sight.english}", words, "?")


def directions(rng: Random) -> Sentence:
    first, english_first = rng.choice(WAYS)
    second, english_second = rng.choice(TURNS)
    sight = noun_phrase(THE, rng.choice(SIGNPOSTS))
    draw = rng.random()
    if draw < 0.5:
        goal = f"bis {german.with_preposition('zu', sight.german[DAT])}"
        words = (f"bis+{sight.words[-1]}", f"{second}+{sight.words[-1]}")
        return finish(
            f"gehen Sie {goal} und dann {second}", f"go as far as {sight.english} and then {english_second}", words
        )
    place, english_place = rng.choice(SIDES)
    words = (f"{first}+{sight.words[-1]}", f"{place}+{sight.words[-1]}")
    german_words = f"gehen Sie {first}, dann ist {sight.german[NOM]} {place}"
    return finish(german_words, f"go {english_first}, then {sight.english} is {english_place}", words)


SIGNPOSTS = [noun for noun in lex.SIGHTS if noun.german not in ("Toilette", "Flughafen")]
WAYS = (
    ("geradeaus", "straight on"),
    ("über die Brücke", "across the bridge"),
    ("durch den Park", "through the park"),
    ("die Straße entlang", "along the street"),
    ("um die Ecke", "around the corner"),
    ("am Fluss entlang", "along the river"),
)
TURNS = (("nach links", "to the left"), ("nach rechts", "to the right"), ("geradeaus", "straight on"))
SIDES = (("auf der linken Seite", "on the left"), ("auf der rechten Seite", "on the right"))


OPEN_PLACES = ("Marktplatz", "Brücke", "Hafen", "Flughafen", "Toilette", "Universität")
BUILDINGS = [noun for noun in lex.SIGHTS if noun.german not in OPEN_PLACES]


def location(rng: Random) -> Sentence:
    """One building by another."""
    one, another = rng.sample(BUILDINGS, 2)
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
    (3, where_is),
    (3, how_to_get_to),
    (4, directions),
    (5, location),
    (6, journey_takes),
    (5, ticket),
    (6, delay),
)
