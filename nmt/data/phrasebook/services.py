"""Patterns for what one asks of others in a hotel, in a restaurant and in a shop.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from dataclasses import replace
from random import Random

from nmt.data.phrasebook import clauses, english, events, german, modifiers, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.clauses import PLACE, Clause, Piece, Tense
from nmt.data.phrasebook.german import ACC, NOM
from nmt.data.phrasebook.phrases import MY, THE, THIS, YOU_SIE, A, I, counted, noun_phrase
from nmt.data.phrasebook.sentence import Pattern, Sentence, finish
from nmt.data.phrasebook.words import action, noun, nouns, pairs

# ------------------------------------------------------------------------------------------------- hotel and restaurant


def room_for(rng: Random) -> Sentence:
    """A room for so many people and nights."""
    room = noun_phrase(A, rng.choice(ROOMS))
    value = rng.randint(1, 14)
    nights = counted(value, NIGHT)
    extra, english_extra = rng.choice(EXTRAS[:-1] if room.words[-1] == "Einzelzimmer" else EXTRAS)
    opening, english_opening = rng.choice(
        (("ich hätte gern", "I would like"), ("wir brauchen", "we need"), ("haben Sie", "do you have"))
    )
    mark = "?" if opening == "haben Sie" else "."
    words = (f"{room.words[-1]}+{german.number(value)}", f"{room.words[-1]}+{extra}")
    german_words = f"{opening} {room.german[ACC]} {extra} für {nights.german[ACC]}"
    return finish(german_words, f"{english_opening} {room.english} {english_extra} for {nights.english}", words, mark)


NIGHT = noun("die Nacht, Nächte = night")
ROOMS = nouns("""
    das Einzelzimmer, Einzelzimmer = single room; das Doppelzimmer, Doppelzimmer = double room
    das Zimmer, Zimmer = room; die Ferienwohnung, Ferienwohnungen = holiday flat
""")
EXTRAS = pairs("""
    mit Balkon = with a balcony; mit Bad = with a bathroom; mit Dusche = with a shower; mit Frühstück = with breakfast
    mit Blick aufs Meer = with a sea view; mit Küche = with a kitchen; für zwei Personen = for two people
""")


def room_number(rng: Random) -> Sentence:
    number, floor = rng.randint(1, 99), rng.randint(1, 9)
    words = (f"Zimmer+{german.number(number)}", f"Stock+{german.ordinal(floor)}")
    german_words = f"Zimmer {german.number(number)} ist im {german.ordinal(floor)}en Stock"
    return finish(german_words, f"room {english.number(number)} is on the {english.ordinal(floor)} floor", words)


def does_not_work(rng: Random) -> Sentence:
    """What is out of order, and where."""
    thing = noun_phrase(THE, rng.choice(FITTINGS))
    place, english_place = rng.choice(IN_THE_ROOM)
    verb = action("funktionieren funktioniert funktioniert = work")
    broken = Clause(thing, verb, (Piece(PLACE, place, english_place),), negated=True)
    words = (f"funktionieren+{thing.words[-1]}", f"{place}+{thing.words[-1]}")
    if not place:
        return finish(clauses.straight(broken), clauses.statement(broken), words)
    german_words = f"{thing.german[NOM]} {place} funktioniert nicht"
    return finish(german_words, f"{thing.english} {english_place} doesn't work", words)


IN_THE_ROOM = (
    ("", ""),
    ("in unserem Zimmer", "in our room"),
    ("in meinem Zimmer", "in my room"),
    ("in Zimmer zwölf", "in room twelve"),
)
FITTINGS = nouns("""
    die Dusche, Duschen = shower; die Klimaanlage, Klimaanlagen = air conditioning; das Licht, Lichter = light
    das Telefon, Telefone = telephone; das Internet = Internet; der Föhn, Föhne = hairdryer; die Lampe, Lampen = lamp
    der Fernseher, Fernseher = television; die Heizung = heating; das Radio, Radios = radio
""")


def is_missing(rng: Random) -> Sentence:
    """What is missing on the table or in the room."""
    things, place, english_place = rng.choice(PLACES_SET)
    missing = noun_phrase(A, rng.choice(things))
    words = (f"fehlen+{missing.words[-1]}", f"{place}+{missing.words[-1]}")
    german_words = f"{place} fehlt {missing.german[NOM]}"
    return finish(german_words, f"{missing.english} is missing {english_place}", words)


LINEN = nouns("""
    das Handtuch, Handtücher = towel; die Decke, Decken = blanket; das Kissen, Kissen = pillow
    die Lampe, Lampen = lamp; der Stuhl, Stühle = chair
""")
PLACES_SET = (
    (lex.AT_TABLE, "hier", "here"),
    (lex.AT_TABLE, "auf unserem Tisch", "on our table"),
    (LINEN, "in unserem Zimmer", "in our room"),
    (LINEN, "in meinem Zimmer", "in my room"),
)


def table_for(rng: Random) -> Sentence:
    guests, hour = rng.randint(2, 12), rng.randint(5, 10)
    time, english_time = rng.choice(EVENINGS)
    when, english_when = f"{time} um {german.number(hour)} Uhr", f"at {english.number(hour)} o'clock {english_time}"
    words = (f"Person+{german.number(guests)}", f"Uhr+{german.number(hour)}")
    german_words = f"ich möchte {when} einen Tisch für {german.number(guests)} Personen reservieren"
    english_words = f"I would like to book a table for {english.number(guests)} people {english_when}"
    return finish(german_words, english_words, words)


EVENINGS = modifiers.SOON_TIMES[:2] + tuple((f"am {day}", f"on {name}") for day, name in modifiers.WEEKDAYS)


def order(rng: Random) -> Sentence:
    """ "Ich hätte gern eine Pizza und ein Glas Wein."."""
    drink, dish = rng.choice(DRINK_PORTIONS), rng.choice(MENU)
    one, another = noun_phrase(A, drink), noun_phrase(A, dish)
    who, english_who = rng.choice((("ich hätte", "I would like"), ("wir hätten", "we would like")))
    german_words = f"{who} gern {another.german[ACC]} und {one.german[ACC]}"
    words = (f"bestellen+{dish.german}", f"{drink.german}+{dish.german}")
    return finish(german_words, f"{english_who} {another.english} and {one.english}", words)


def order_for(rng: Random) -> Sentence:
    """ "Für meine Frau eine Suppe, bitte."."""
    wanted = noun_phrase(A, rng.choice(DRINK_PORTIONS + MENU))
    guest = I if rng.random() < 0.3 else noun_phrase(MY, rng.choice(lex.FAMILY))
    german_words = f"für {guest.german[ACC]} {wanted.german[ACC]}, bitte"
    words = tuple(f"{word}+{wanted.words[-1]}" for word in ("bestellen", *guest.head))
    return finish(german_words, f"{wanted.english} for {guest.english_object}, please", words)


def offers(rng: Random) -> Sentence:
    """ "Möchten Sie einen Tee oder einen Kaffee?": two things of a kind."""
    first, second = rng.sample(rng.choice((DRINK_PORTIONS, MENU)), 2)
    one, another = noun_phrase(A, first), noun_phrase(A, second)
    subject = people.you(rng)
    called, english_called = people.called_by_name(rng, subject) if subject is not YOU_SIE else ("", "")
    german_words = f"{called}{german.auxiliary('möchten', subject.person)} {subject.german[NOM]} {one.german[ACC]}"
    english_words = f"{english_called}would you like {one.english} or {another.english}"
    return finish(
        f"{german_words} oder {another.german[ACC]}", english_words, (f"{first.german}+{second.german}",), "?"
    )


MENU = lex.DISHES[:2] + lex.DISHES[3:9]
DRINK_PORTIONS = tuple(noun for noun in lex.PORTIONS if noun.german.startswith(("Tasse", "Glas", "Flasche")))


def without_it(rng: Random) -> Sentence:
    """How the food or the drink is wanted."""
    dish, extra = rng.choice(SERVED)
    thing = noun_phrase(A, dish)
    side, english_side = rng.choice(extra)
    link, english_link = rng.choice((("mit", "with"), ("ohne", "without")))
    opening, english_opening = rng.choice(
        (("ich nehme", "I'll have"), ("wir möchten", "we would like"), ("ich möchte", "I would like"))
    )
    words = (f"{dish.german}+{side}", f"{link}+{side}")
    return finish(
        f"{opening} {thing.german[ACC]} {link} {side}",
        f"{english_opening} {thing.english} {english_link} {english_side}",
        words,
    )


SERVED = (
    *((dish, pairs("Pommes = chips; Salat = salad; Reis = rice; Kartoffeln = potatoes")) for dish in lex.SAVOURY[1:3]),
    *(
        (dish, pairs("Käse = cheese; Zwiebeln = onions; Schinken = ham; Tomaten = tomatoes"))
        for dish in lex.SAVOURY[5:]
    ),
    *((dish, pairs("Brot = bread; Fleisch = meat; Gemüse = vegetables")) for dish in (lex.SAVOURY[0], lex.SAVOURY[3])),
    *((drink, pairs("Milch = milk; Zucker = sugar; Honig = honey")) for drink in lex.PORTIONS[:2]),
    *((sweet, pairs("Sahne = cream; Eis = ice cream")) for sweet in lex.SWEETS),
)


def tastes(rng: Random) -> Sentence:
    dish = noun_phrase(rng.choice((THE, THIS)), rng.choice(lex.SAVOURY + lex.SWEETS))
    words = (f"schmecken+{dish.words[-1]}",)
    if rng.random() < 0.25:
        return finish(f"wie schmeckt Ihnen {dish.german[NOM]}", f"how do you like {dish.english}", words, "?")
    how, english_how = rng.choice((("gut", "good"), ("sehr gut", "very good"), ("wunderbar", "wonderful")))
    tasting = events.predicate("schmecken schmeckt geschmeckt = taste", f"{how} = {english_how}")
    tense = rng.choice((Tense.SIMPLE, Tense.PAST))
    tasting = replace(tasting, subject=dish, tense=tense, negated=how == "gut" and rng.random() < 0.5)
    return finish(clauses.straight(tasting), clauses.statement(tasting), (*words, f"{how}+{dish.words[-1]}"))


def pass_me(rng: Random) -> Sentence:
    """Asking at table."""
    thing = (
        noun_phrase(rng.choice((THE, A)), rng.choice(lex.AT_TABLE))
        if rng.random() < 0.6
        else noun_phrase(THE, rng.choice(CONDIMENTS))
    )
    words = (f"geben+{thing.words[-1]}",)
    draw = rng.random()
    if draw < 0.5:
        verb, english_verb = rng.choice((("geben", "give"), ("bringen", "bring")))
        words = (f"{verb}+{thing.words[-1]}",)
        return finish(
            f"könnten Sie mir bitte {thing.german[ACC]} {verb}",
            f"could you please {english_verb} me {thing.english}",
            words,
            "?",
        )
    name = rng.choice(lex.FEMALE_NAMES + lex.MALE_NAMES)
    return finish(f"{name}, gib mir bitte {thing.german[ACC]}", f"{name}, please give me {thing.english}", words)


CONDIMENTS = nouns("das Salz = salt; der Pfeffer = pepper; der Zucker = sugar; die Butter = butter; das Brot = bread")

# ------------------------------------------------------------------------------------------------- shop


def price(rng: Random) -> Sentence:
    """What a thing costs, in euros and, of small prices, sometimes cents."""
    things, euros = rng.choice(PRICED)
    thing = noun_phrase(rng.choice((THE, THIS)), rng.choice(things))
    value = rng.choice(euros)
    cents = rng.choice((0, 0, 20, 50, 80)) if value < 20 else 0
    amount, english_amount = f"{german.number(value)} Euro", f"{english.number(value)} euros"
    if cents:
        amount, english_amount = f"{amount} {german.number(cents)}", f"{english_amount} {english.number(cents)}"
    verb = "cost" if thing.agreement == "they" else "costs"
    words = (f"{thing.words[-1]}+{german.number(value)}", f"kosten+{thing.words[-1]}")
    return finish(f"{thing.german[NOM]} kostet {amount}", f"{thing.english} {verb} {english_amount}", words)


PRICED = (
    (lex.CLOTHES, range(15, 100)),
    (lex.FURNITURE, range(150, 1000, 50)),
    (lex.STORIES[:2] + lex.GIFTS[1:3], range(4, 30)),
    (lex.SAVOURY + lex.SWEETS, range(3, 20)),
    (lex.GIFTS[4:8], range(12, 100)),
)


def how_much(rng: Random) -> Sentence:
    thing_sold = rng.choice(lex.CLOTHES + lex.GIFTS + lex.FURNITURE + lex.WORN_IN_PAIRS + lex.COUNTED_FOOD)
    plural = thing_sold in lex.WORN_IN_PAIRS + lex.COUNTED_FOOD
    thing = noun_phrase(rng.choice((THE, THIS)), thing_sold, plural=plural)
    verb, english_verb = ("kosten" if plural else "kostet"), ("are" if thing.agreement == "they" else "is")
    return finish(
        f"was {verb} {thing.german[NOM]}",
        f"how much {english_verb} {thing.english}",
        (f"kosten+{thing.words[-1]}",),
        "?",
    )


def shopping_for(rng: Random) -> Sentence:
    """A present for somebody."""
    thing, whom = rng.choice(lex.GIFTS), noun_phrase(MY, rng.choice(lex.FAMILY))
    wanted = noun_phrase(A, thing)
    german_words = f"ich suche {wanted.german[ACC]} für {whom.german[ACC]}"
    words = (f"suchen+{thing.german}", f"{thing.german}+{whom.words[-1]}")
    return finish(german_words, f"I am looking for {wanted.english} for {whom.english}", words)


def in_another(rng: Random) -> Sentence:
    """Asking for another colour or a size."""
    garment = rng.choice(SIZED)
    this = noun_phrase(THIS, garment)
    if rng.random() < 0.5:
        shade = rng.choice(modifiers.COLOURS)
        german_words = f"haben Sie {this.german[ACC]} auch in {colour_name(shade.german)}"
        english_words = f"do you also have {this.english} in {shade.english}"
        return finish(german_words, english_words, (f"{garment.german}+{shade.german}",), "?")
    size = rng.randrange(34, 54, 2)
    german_words = f"haben Sie {this.german[ACC]} in Größe {german.number(size)}"
    english_words = f"do you have {this.english} in size {english.number(size)}"
    return finish(german_words, english_words, (f"{garment.german}+{german.number(size)}",), "?")


SIZED = [garment for garment in lex.CLOTHES if garment.german not in ("Hut", "Mütze", "Schal", "Krawatte")]


def colour_name(shade: str) -> str:
    """ "in Rot": the colour as a noun."""
    return shade[0].upper() + shade[1:]


def weighs(rng: Random) -> Sentence:
    """Buying by weight and number."""
    measure, english_measure = rng.choice(
        (
            ("ein Kilo", "a kilo of"),
            ("ein Pfund", "a pound of"),
            ("zwei Kilo", "two kilos of"),
            ("drei Kilo", "three kilos of"),
        )
    )
    food = rng.choice(lex.COUNTED_FOOD[:6] + lex.COUNTED_FOOD[8:11] + lex.COUNTED_FOOD[13:])
    opening, english_opening = rng.choice(
        (("ich hätte gern", "I would like"), ("geben Sie mir bitte", "please give me"), ("wir brauchen", "we need"))
    )
    words = (f"{measure}+{food.german}", f"{opening}+{food.german}")
    return finish(
        f"{opening} {measure} {food.plural}", f"{english_opening} {english_measure} {food.english_plural}", words
    )


PATTERNS: tuple[tuple[int, Pattern], ...] = (
    (4, room_for),
    (2, room_number),
    (2, does_not_work),
    (2, is_missing),
    (3, table_for),
    (3, order),
    (2, order_for),
    (2, offers),
    (4, without_it),
    (3, tastes),
    (3, pass_me),
    (6, price),
    (4, how_much),
    (3, shopping_for),
    (3, in_another),
    (2, weighs),
)
