"""Patterns about people's days: illness and advice, work and school, languages, and getting acquainted.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from dataclasses import replace
from random import Random

from nmt.data.phrasebook import clauses, english, events, german, modifiers, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.clauses import PLACE, Clause, Piece, Tense
from nmt.data.phrasebook.german import ACC, DAT, GEN, NOM
from nmt.data.phrasebook.phrases import BARE, HE, MY, OUR, SHE, THE, THEY, WE, I, Phrase, noun_phrase
from nmt.data.phrasebook.sentence import Pattern, Sentence, finish, stated
from nmt.data.phrasebook.words import action, nouns, pairs

# ------------------------------------------------------------------------------------------------- doctor


def hurts(rng: Random) -> Sentence:
    """The part of the body is the subject; whose it is stands in the dative."""
    part = rng.choice(BODY)
    plural = part.german in PAIRED and rng.random() < 0.5
    sufferer = rng.choice((I, HE, SHE)) if rng.random() < 0.6 else people.third_person(rng)
    own = OWN.get(sufferer.english) or english.possessive(sufferer.english)
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


PAIRED = frozenset(["Auge", "Ohr", "Bein", "Fuß", "Arm", "Schulter", "Hand", "Knie", "Zahn"])
OWN = {"I": "my", "he": "his", "she": "her"}
BODY = nouns("""
    der Kopf, Köpfe = head; der Rücken = back; der Hals, Hälse = throat; der Arm, Arme = arm; das Bein, Beine = leg
    das Knie, Knie = knee; die Hand, Hände = hand; der Fuß, Füße = foot, feet; der Finger, Finger = finger
    das Auge, Augen = eye; das Ohr, Ohren = ear; die Schulter, Schultern = shoulder; der Bauch, Bäuche = stomach
    der Zahn, Zähne = tooth, teeth
""")


def symptom(rng: Random) -> Sentence:
    """Illness, and since when: the German present is the English perfect."""
    illness, english_illness = rng.choice(SYMPTOMS)
    subject = people.subject(rng)
    has = replace(events.predicate("haben hat gehabt = have", f"{illness} = {english_illness}"), subject=subject)
    draw = rng.random()
    if draw < 0.4:
        return stated(has)
    if draw < 0.65:
        return stated(replace(has, tense=Tense.PAST, time=rng.choice(modifiers.RECENT_TIMES)), rng)
    since, english_since = rng.choice(SINCE_WHEN)
    german_words = clauses.straight(replace(has, time=(since, "")))
    english_words = clauses.statement(replace(has, tense=Tense.PERFECT, time=("", english_since)))
    return finish(german_words, english_words, (*has.combinations, f"{since}+{illness}"))


SYMPTOMS = pairs("""
    Fieber = a fever; Husten = a cough; Schnupfen = a cold; Kopfschmerzen = a headache; Zahnschmerzen = toothache
    Bauchschmerzen = a stomach ache; Halsschmerzen = a sore throat; Rückenschmerzen = back pain; die Grippe = the flu
""")
SINCE_WHEN = pairs("""
    seit gestern = since yesterday; seit Montag = since Monday; seit drei Tagen = for three days
    seit heute Morgen = since this morning; seit einer Woche = for a week; seit Freitag = since Friday
    seit zwei Tagen = for two days; seit Sonntag = since Sunday
""")


def advice(rng: Random) -> Sentence:
    """What the doctor says."""
    subject = people.you(rng, "adult") if rng.random() < 0.6 else people.subject(rng, "adult")
    told = replace(rng.choice(ADVICE), subject=subject, modal=rng.choice((clauses.SHOULD, clauses.MUST)))
    called, english_called = people.called_by_name(rng, subject) if subject.english == "you" else ("", "")
    return finish(called + clauses.straight(told), english_called + clauses.statement(told), told.combinations)


ADVICE = (
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
    taught, (day, english_day) = rng.choice(TAUGHT), rng.choice(modifiers.WEEKDAYS[:5])
    pupil = rng.choice((I, HE, SHE, WE, THEY)) if rng.random() < 0.5 else draw_pupil(rng)
    piece = Piece(PLACE, taught.german, taught.english, words=(taught.german,))
    lesson = Clause(pupil, events.HAVE, (piece,), time=(f"am {day}", f"on {english_day}"))
    return replace(stated(lesson, rng), combinations=(f"{day}+{taught.german}",))


def favourite_subject(rng: Random) -> Sentence:
    taught, pupil = rng.choice(TAUGHT), draw_pupil(rng)
    german_words = f"das Lieblingsfach {pupil.german[GEN]} ist {taught.german}"
    words = (f"{pupil.words[-1]}+{taught.german}",)
    return finish(german_words, f"{english.possessive(pupil.english)} favourite subject is {taught.english}", words)


def teaches(rng: Random) -> Sentence:
    taught, teacher = rng.choice(TAUGHT), people.surnamed(rng)
    words = (f"unterrichten+{taught.german}", f"{teacher.words[-1]}+{taught.german}")
    return finish(
        f"{teacher.german[NOM]} unterrichtet {taught.german}", f"{teacher.english} teaches {taught.english}", words
    )


TAUGHT = lex.SCHOOL_SUBJECTS + lex.LANGUAGES[:4]


def draw_pupil(rng: Random) -> Phrase:
    return noun_phrase(rng.choice((MY, OUR)), rng.choice(lex.COUNTED_FAMILY[:3] + lex.COUNTED_FAMILY[4:5]))


def speaks(rng: Random) -> Sentence:
    """How well somebody speaks a language."""
    language = rng.choice(lex.LANGUAGES)
    level, english_level = rng.choice(modifiers.LANGUAGE_LEVELS)
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
    person, (how, english_how) = people.subject(rng, "adult"), rng.choice(HOW)
    words = tuple(f"{head}+{how}" for head in person.head)
    is_or_not = english.be(person.agreement)
    if how == "nicht gut":
        is_or_not = english.negated(is_or_not)
    return finish(f"{person.german[DAT]} geht es {how}", f"{person.english} {is_or_not} {english_how}", words)


HOW = (
    ("gut", "well"),
    ("sehr gut", "very well"),
    ("nicht gut", "well"),
    ("besser", "better"),
    ("viel besser", "much better"),
)


PATTERNS: tuple[tuple[int, Pattern], ...] = (
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
