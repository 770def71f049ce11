"""Patterns for what one asks of others: hotel, restaurant, shop, doctor, school, telephone, and getting acquainted.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from dataclasses import replace
from random import Random

from nmt.data.phrasebook import clauses, english, events, german, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.clauses import PLACE, Clause, Piece, Tense
from nmt.data.phrasebook.german import ACC, DAT, GEN, NOM
from nmt.data.phrasebook.phrases import (
    BARE,
    HE,
    MY,
    OUR,
    SHE,
    THE,
    THEY,
    THIS,
    WE,
    YOU_SIE,
    A,
    I,
    Phrase,
    counted,
    noun_phrase,
)
from nmt.data.phrasebook.sentence import Pattern, Sentence, finish, stated
from nmt.data.phrasebook.words import action, noun, nouns, pairs

# ------------------------------------------------------------------------------------------------- hotel and restaurant


def room_for(rng: Random) -> Sentence:
    """A room for so many people and nights."""
    room = noun_phrase(A, rng.choice(_ROOMS))
    value = rng.randint(1, 14)
    nights = counted(value, _NIGHT)
    extra, english_extra = rng.choice(_EXTRAS[:-1] if room.words[-1] == "Einzelzimmer" else _EXTRAS)
    opening, english_opening = rng.choice(
        (("ich hätte gern", "I would like"), ("wir brauchen", "we need"), ("haben Sie", "do you have"))
    )
    mark = "?" if opening == "haben Sie" else "."
    words = (f"{room.words[-1]}+{german.number(value)}", f"{room.words[-1]}+{extra}")
    german_words = f"{opening} {room.german[ACC]} {extra} für {nights.german[ACC]}"
    return finish(german_words, f"{english_opening} {room.english} {english_extra} for {nights.english}", words, mark)


_NIGHT = noun("die Nacht, Nächte = night")
_ROOMS = nouns("""
    das Einzelzimmer, Einzelzimmer = single room; das Doppelzimmer, Doppelzimmer = double room
    das Zimmer, Zimmer = room; die Ferienwohnung, Ferienwohnungen = holiday flat
""")
_EXTRAS = pairs("""
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
    thing = noun_phrase(THE, rng.choice(_FITTINGS))
    place, english_place = rng.choice(_IN_THE_ROOM)
    verb = action("funktionieren funktioniert funktioniert = work")
    broken = Clause(thing, verb, (Piece(PLACE, place, english_place),), negated=True)
    words = (f"funktionieren+{thing.words[-1]}", f"{place}+{thing.words[-1]}")
    if not place:
        return finish(clauses.straight(broken), clauses.statement(broken), words)
    german_words = f"{thing.german[NOM]} {place} funktioniert nicht"
    return finish(german_words, f"{thing.english} {english_place} doesn't work", words)


_IN_THE_ROOM = (
    ("", ""),
    ("in unserem Zimmer", "in our room"),
    ("in meinem Zimmer", "in my room"),
    ("in Zimmer zwölf", "in room twelve"),
)
_FITTINGS = nouns("""
    die Dusche, Duschen = shower; die Klimaanlage, Klimaanlagen = air conditioning; das Licht, Lichter = light
    das Telefon, Telefone = telephone; das Internet = Internet; der Föhn, Föhne = hairdryer; die Lampe, Lampen = lamp
    der Fernseher, Fernseher = television; die Heizung = heating; das Radio, Radios = radio
""")


def is_missing(rng: Random) -> Sentence:
    """What is missing on the table or in the room."""
    things, place, english_place = rng.choice(_PLACES_SET)
    missing = noun_phrase(A, rng.choice(things))
    words = (f"fehlen+{missing.words[-1]}", f"{place}+{missing.words[-1]}")
    german_words = f"{place} fehlt {missing.german[NOM]}"
    return finish(german_words, f"{missing.english} is missing {english_place}", words)


_LINEN = nouns("""
    das Handtuch, Handtücher = towel; die Decke, Decken = blanket; das Kissen, Kissen = pillow
    die Lampe, Lampen = lamp; der Stuhl, Stühle = chair
""")
_PLACES_SET = (
    (lex.AT_TABLE, "hier", "here"),
    (lex.AT_TABLE, "auf unserem Tisch", "on our table"),
    (_LINEN, "in unserem Zimmer", "in our room"),
    (_LINEN, "in meinem Zimmer", "in my room"),
)


def table_for(rng: Random) -> Sentence:
    guests, hour = rng.randint(2, 12), rng.randint(5, 10)
    time, english_time = rng.choice(_EVENINGS)
    when, english_when = f"{time} um {german.number(hour)} Uhr", f"at {english.number(hour)} o'clock {english_time}"
    words = (f"Person+{german.number(guests)}", f"Uhr+{german.number(hour)}")
    german_words = f"ich möchte {when} einen Tisch für {german.number(guests)} Personen reservieren"
    english_words = f"I would like to book a table for {english.number(guests)} people {english_when}"
    return finish(german_words, english_words, words)


_EVENINGS = lex.SOON_TIMES[:2] + tuple((f"am {day}", f"on {name}") for day, name in lex.WEEKDAYS)


def order(rng: Random) -> Sentence:
    """ "Ich hätte gern eine Pizza und ein Glas Wein."."""
    drink, dish = rng.choice(_DRINK_PORTIONS), rng.choice(_MENU)
    one, another = noun_phrase(A, drink), noun_phrase(A, dish)
    who, english_who = rng.choice((("ich hätte", "I would like"), ("wir hätten", "we would like")))
    german_words = f"{who} gern {another.german[ACC]} und {one.german[ACC]}"
    words = (f"bestellen+{dish.german}", f"{drink.german}+{dish.german}")
    return finish(german_words, f"{english_who} {another.english} and {one.english}", words)


def order_for(rng: Random) -> Sentence:
    """ "Für meine Frau eine Suppe, bitte."."""
    wanted = noun_phrase(A, rng.choice(_DRINK_PORTIONS + _MENU))
    guest = I if rng.random() < 0.3 else noun_phrase(MY, rng.choice(lex.FAMILY))
    german_words = f"für {guest.german[ACC]} {wanted.german[ACC]}, bitte"
    words = tuple(f"{word}+{wanted.words[-1]}" for word in ("bestellen", *guest.head))
    return finish(german_words, f"{wanted.english} for {guest.english_object}, please", words)


def offers(rng: Random) -> Sentence:
    """ "Möchten Sie einen Tee oder einen Kaffee?": two things of a kind."""
    first, second = rng.sample(rng.choice((_DRINK_PORTIONS, _MENU)), 2)
    one, another = noun_phrase(A, first), noun_phrase(A, second)
    subject = people.you(rng)
    called, english_called = people.called_by_name(rng, subject) if subject is not YOU_SIE else ("", "")
    german_words = f"{called}{german.auxiliary('möchten', subject.person)} {subject.german[NOM]} {one.german[ACC]}"
    english_words = f"{english_called}would you like {one.english} or {another.english}"
    return finish(
        f"{german_words} oder {another.german[ACC]}", english_words, (f"{first.german}+{second.german}",), "?"
    )


_MENU = lex.DISHES[:2] + lex.DISHES[3:9]
_DRINK_PORTIONS = tuple(noun for noun in lex.PORTIONS if noun.german.startswith(("Tasse", "Glas", "Flasche")))


def without_it(rng: Random) -> Sentence:
    """How the food or the drink is wanted."""
    dish, extra = rng.choice(_SERVED)
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


_SERVED = (
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
        else noun_phrase(THE, rng.choice(_CONDIMENTS))
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


_CONDIMENTS = nouns("das Salz = salt; der Pfeffer = pepper; der Zucker = sugar; die Butter = butter; das Brot = bread")

# ------------------------------------------------------------------------------------------------- shop


def price(rng: Random) -> Sentence:
    """What a thing costs, in euros and, of small prices, sometimes cents."""
    things, euros = rng.choice(_PRICED)
    thing = noun_phrase(rng.choice((THE, THIS)), rng.choice(things))
    value = rng.choice(euros)
    cents = rng.choice((0, 0, 20, 50, 80)) if value < 20 else 0
    amount, english_amount = f"{german.number(value)} Euro", f"{english.number(value)} euros"
    if cents:
        amount, english_amount = f"{amount} {german.number(cents)}", f"{english_amount} {english.number(cents)}"
    verb = "cost" if thing.agreement == "they" else "costs"
    words = (f"{thing.words[-1]}+{german.number(value)}", f"kosten+{thing.words[-1]}")
    return finish(f"{thing.german[NOM]} kostet {amount}", f"{thing.english} {verb} {english_amount}", words)


_PRICED = (
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
    garment = rng.choice(_SIZED)
    this = noun_phrase(THIS, garment)
    if rng.random() < 0.5:
        shade = rng.choice(lex.COLOURS)
        german_words = f"haben Sie {this.german[ACC]} auch in {_colour_name(shade.german)}"
        english_words = f"do you also have {this.english} in {shade.english}"
        return finish(german_words, english_words, (f"{garment.german}+{shade.german}",), "?")
    size = rng.randrange(34, 54, 2)
    german_words = f"haben Sie {this.german[ACC]} in Größe {german.number(size)}"
    english_words = f"do you have {this.english} in size {english.number(size)}"
    return finish(german_words, english_words, (f"{garment.german}+{german.number(size)}",), "?")


_SIZED = [garment for garment in lex.CLOTHES if garment.german not in ("Hut", "Mütze", "Schal", "Krawatte")]


def _colour_name(shade: str) -> str:
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


# ------------------------------------------------------------------------------------------------- doctor


def hurts(rng: Random) -> Sentence:
    """The part of the body is the subject; whose it is stands in the dative."""
    part = rng.choice(_BODY)
    plural = part.german in _PAIRED and rng.random() < 0.5
    sufferer = rng.choice((I, HE, SHE)) if rng.random() < 0.6 else people.third_person(rng)
    own = _OWN.get(sufferer.english) or english.possessive(sufferer.english)
    since, english_since = rng.choice(
        (("", ""), ("seit gestern", "since yesterday"), ("seit drei Tagen", "for three days"))
    )
    body = noun_phrase(BARE, part, plural=plural)
    sore = replace(body, german=noun_phrase(THE, part, plural=plural).german, english=f"{own} {body.english}")
    pain = Clause(sore, action("weh|tun tut wehgetan = hurt"), time=(since, english_since))
    english_words = clauses.statement(replace(pain, tense=Tense.SINCE) if since else pain)
    finite = "tun" if plural else "tut"
    german_words = " ".join(word for word in (sufferer.german[DAT], finite, since, sore.german[NOM], "weh") if word)
    return finish(german_words, english_words, tuple(f"{head}+{part.german}" for head in (*sufferer.head, "wehtun")))


_PAIRED = frozenset(["Auge", "Ohr", "Bein", "Fuß", "Arm", "Schulter", "Hand", "Knie", "Zahn"])
_OWN = {"I": "my", "he": "his", "she": "her"}
_BODY = nouns("""
    der Kopf, Köpfe = head; der Rücken = back; der Hals, Hälse = throat; der Arm, Arme = arm; das Bein, Beine = leg
    das Knie, Knie = knee; die Hand, Hände = hand; der Fuß, Füße = foot, feet; der Finger, Finger = finger
    das Auge, Augen = eye; das Ohr, Ohren = ear; die Schulter, Schultern = shoulder; der Bauch, Bäuche = stomach
    der Zahn, Zähne = tooth, teeth
""")


def symptom(rng: Random) -> Sentence:
    """Illness, and since when: the German present is the English perfect."""
    illness, english_illness = rng.choice(_SYMPTOMS)
    subject = people.subject(rng)
    has = replace(events.predicate("haben hat gehabt = have", f"{illness} = {english_illness}"), subject=subject)
    draw = rng.random()
    if draw < 0.4:
        return stated(has)
    if draw < 0.65:
        return stated(replace(has, tense=Tense.PAST, time=rng.choice(lex.RECENT_TIMES)), rng)
    since, english_since = rng.choice(_SINCE)
    german_words = clauses.straight(replace(has, time=(since, "")))
    english_words = clauses.statement(replace(has, tense=Tense.PERFECT, time=("", english_since)))
    return finish(german_words, english_words, (*has.combinations, f"{since}+{illness}"))


_SYMPTOMS = pairs("""
    Fieber = a fever; Husten = a cough; Schnupfen = a cold; Kopfschmerzen = a headache; Zahnschmerzen = toothache
    Bauchschmerzen = a stomach ache; Halsschmerzen = a sore throat; Rückenschmerzen = back pain; die Grippe = the flu
""")
_SINCE = pairs("""
    seit gestern = since yesterday; seit Montag = since Monday; seit drei Tagen = for three days
    seit heute Morgen = since this morning; seit einer Woche = for a week; seit Freitag = since Friday
    seit zwei Tagen = for two days; seit Sonntag = since Sunday
""")


def advice(rng: Random) -> Sentence:
    """What the doctor says."""
    subject = people.you(rng, "adult") if rng.random() < 0.6 else people.subject(rng, "adult")
    told = replace(rng.choice(_ADVICE), subject=subject, modal=rng.choice((clauses.SHOULD, clauses.MUST)))
    called, english_called = people.called_by_name(rng, subject) if subject.english == "you" else ("", "")
    return finish(called + clauses.straight(told), english_called + clauses.statement(told), told.combinations)


_ADVICE = (
    events.predicate("bleiben bleibt +geblieben = stay", "im Bett = in bed"),
    events.predicate("trinken trinkt getrunken = drink", "viel Wasser = a lot of water"),
    events.predicate("trinken trinkt getrunken = drink", "weniger Kaffee = less coffee"),
    events.predicate("essen isst gegessen = eat", "mehr Obst = more fruit"),
    events.predicate("essen isst gegessen = eat", "weniger Fleisch = less meat"),
    events.predicate("nehmen nimmt genommen = take", "diese Tabletten = these tablets"),
    events.predicate("schlafen schläft geschlafen = sleep", "mehr = more"),
    events.predicate("arbeiten arbeitet gearbeitet = work", "weniger = less"),
    events.predicate("gehen geht +gegangen = go", "zum Arzt = to the doctor's"),
    events.predicate("machen macht gemacht = take", "eine Pause = a break"),
    events.predicate("sich bewegen bewegt bewegt = exercise", "mehr = more"),
)

# ------------------------------------------------------------------------------------------------- work and school


def since_when(rng: Random) -> Sentence:
    """The German present with seit is the English perfect progressive."""
    years = rng.randint(2, 20)
    unit, english_unit = rng.choice((("Jahren", "years"), ("Monaten", "months"), ("Wochen", "weeks")))
    since = (f"seit {german.number(years)} {unit}", f"for {english.number(years)} {english_unit}")
    done = events.doing(rng, "t")
    while done.action.english == "wait":
        done = events.doing(rng, "t")
    done = replace(done, tense=Tense.SINCE, time=since)
    sentence = stated(done)
    return replace(sentence, combinations=(*sentence.combinations, f"{german.number(years)}+{unit}"))


def waits_since(rng: Random) -> Sentence:
    minutes = rng.choice((5, 10, 15, 20, 30, 40, 45))
    since = (f"seit {german.number(minutes)} Minuten", f"for {english.number(minutes)} minutes")
    what = noun_phrase(THE, rng.choice(lex.AWAITED[:3] + lex.AWAITED[5:6]))
    pieces = (Piece(PLACE, f"auf {what.german[ACC]}", f"for {what.english}", words=what.words),)
    waiting = Clause(people.subject(rng), action("warten wartet gewartet = wait"), pieces, Tense.SINCE, time=since)
    return stated(waiting)


def lessons(rng: Random) -> Sentence:
    """Which lessons there are on which day."""
    taught, (day, english_day) = rng.choice(_TAUGHT), rng.choice(lex.WEEKDAYS[:5])
    pupil = rng.choice((I, HE, SHE, WE, THEY)) if rng.random() < 0.5 else _pupil(rng)
    piece = Piece(PLACE, taught.german, taught.english, words=(taught.german,))
    lesson = Clause(pupil, events.HAVE, (piece,), time=(f"am {day}", f"on {english_day}"))
    return replace(stated(lesson, rng), combinations=(f"{day}+{taught.german}",))


def favourite_subject(rng: Random) -> Sentence:
    taught, pupil = rng.choice(_TAUGHT), _pupil(rng)
    german_words = f"das Lieblingsfach {pupil.german[GEN]} ist {taught.german}"
    words = (f"{pupil.words[-1]}+{taught.german}",)
    return finish(german_words, f"{english.possessive(pupil.english)} favourite subject is {taught.english}", words)


def teaches(rng: Random) -> Sentence:
    taught, teacher = rng.choice(_TAUGHT), people.surnamed(rng)
    words = (f"unterrichten+{taught.german}", f"{teacher.words[-1]}+{taught.german}")
    return finish(
        f"{teacher.german[NOM]} unterrichtet {taught.german}", f"{teacher.english} teaches {taught.english}", words
    )


_TAUGHT = lex.SCHOOL_SUBJECTS + lex.LANGUAGES[:4]


def _pupil(rng: Random) -> Phrase:
    return noun_phrase(rng.choice((MY, OUR)), rng.choice(lex.COUNTED_FAMILY[:3] + lex.COUNTED_FAMILY[4:5]))


def speaks(rng: Random) -> Sentence:
    """How well somebody speaks a language."""
    language = rng.choice(lex.LANGUAGES)
    level, english_level = rng.choice(lex.LANGUAGE_LEVELS)
    words = f"{level} {language.german} = {english_level.format(language.english)}"
    speaking = events.predicate("sprechen spricht gesprochen = speak", words)
    combinations = (f"sprechen+{language.german}", f"{language.german}+{level}")
    subject = people.subject(rng)
    speaking = replace(speaking, subject=subject)
    if rng.random() < 0.7:
        return finish(clauses.straight(speaking), clauses.statement(speaking), combinations)
    subject = people.you(rng)
    called, english_called = people.called(rng, subject)
    plain = replace(
        events.predicate("sprechen spricht gesprochen = speak", f"{language.german} = {language.english}"),
        subject=subject,
    )
    return finish(called + clauses.inverted(plain), english_called + clauses.question(plain), combinations[:1], "?")


# ------------------------------------------------------------------------------------------------- getting acquainted


def my_name_is(rng: Random) -> Sentence:
    name = rng.choice(lex.FEMALE_NAMES + lex.MALE_NAMES)
    surname = rng.choice(lex.SURNAMES)
    opening, english_opening = rng.choice(
        (("ich heiße", "my name is"), ("ich bin", "I am"), ("guten Tag, ich heiße", "hello, my name is"))
    )
    return finish(f"{opening} {name} {surname}", f"{english_opening} {name} {surname}", (f"{name}+{surname}",))


def looking_for_somebody(rng: Random) -> Sentence:
    person = people.surnamed(rng)
    opening, english_opening = rng.choice(
        (
            ("kann ich bitte mit {} sprechen", "can I please speak to {}"),
            ("ist {} zu Hause", "is {} at home"),
            ("ist {} heute im Büro", "is {} in the office today"),
            ("kennen Sie {}", "do you know {}"),
            ("wo wohnt {}", "where does {} live"),
            ("wie geht es {}", "how is {}"),
        )
    )
    case = ACC if "kennen" in opening else DAT if "mit" in opening or "geht" in opening else NOM
    german_words = opening.format(person.german[case])
    return finish(
        german_words, english_opening.format(person.english), (f"{person.words[-1]}+{opening.split()[-1]}",), "?"
    )


def how_somebody_is(rng: Random) -> Sentence:
    """ "Meiner Mutter geht es gut."."""
    person, (how, english_how) = people.subject(rng, "adult"), rng.choice(_HOW)
    words = tuple(f"{head}+{how}" for head in person.head)
    is_or_not = english.be(person.agreement)
    if how == "nicht gut":
        is_or_not = english.negated(is_or_not)
    return finish(f"{person.german[DAT]} geht es {how}", f"{person.english} {is_or_not} {english_how}", words)


_HOW = (
    ("gut", "well"),
    ("sehr gut", "very well"),
    ("nicht gut", "well"),
    ("besser", "better"),
    ("viel besser", "much better"),
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
    (4, hurts),
    (5, symptom),
    (3, advice),
    (5, since_when),
    (3, waits_since),
    (2, lessons),
    (1, favourite_subject),
    (2, teaches),
    (5, speaks),
    (3, my_name_is),
    (2, looking_for_somebody),
    (3, how_somebody_is),
)
