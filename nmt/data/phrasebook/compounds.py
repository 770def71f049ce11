"""Patterns of a main clause with a subordinate one: reasons, concessions, thoughts, conditions, times.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from dataclasses import replace
from random import Random

from nmt.data.phrasebook import clauses, events, modifiers, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.clauses import INDEFINITE, MUST, Clause, Piece, Tense
from nmt.data.phrasebook.events import predicate
from nmt.data.phrasebook.phrases import HE, IT, SHE, THEY
from nmt.data.phrasebook.sentence import Pattern, Sentence, finish
from nmt.data.phrasebook.words import action, pairs

# ------------------------------------------------------------------------------------------------- reasons, concessions

NO_TIME = Clause(
    IT, action("haben hat gehabt = have"), (Piece(INDEFINITE, "Zeit", "time", "keine Zeit", "time"),), negated=True
)
EXCUSES = (
    events.quality(IT, "krank", "ill"),
    events.quality(IT, "müde", "tired"),
    NO_TIME,
    predicate("haben hat gehabt = have", "Kopfschmerzen = a headache"),
    predicate("haben hat gehabt = have", "Fieber = a fever"),
    predicate("arbeiten arbeitet gearbeitet = work", modal=MUST),
    predicate("lernen lernt gelernt = study", modal=MUST),
    predicate("haben hat gehabt = have", "Besuch = visitors"),
)


VERY_SOON = (("heute", "today"), *modifiers.SOON_TIMES[:3], modifiers.SOON_TIMES[4])


def because(rng: Random) -> Sentence:
    """Why a plan comes to nothing."""
    left_out = events.plan(rng, events.always(people.lead(rng)), also="b")
    left_out = replace(left_out, negated=True, time=rng.choice(VERY_SOON))
    return join_clauses(left_out, ("weil", "because"), of_the_same(left_out, rng.choice(EXCUSES)))


def because_of_that_feeling(rng: Random) -> Sentence:
    feeling, cause = rng.choice(CAUSES)
    felt = events.being(people.subject(rng, "adult"), FEELINGS_BY_GERMAN[feeling])
    return join_clauses(felt, ("weil", "because"), of_the_same(felt, cause))


FEELINGS_BY_GERMAN = {adjective.german: adjective for adjective in modifiers.FEELINGS}
CAUSES: tuple[tuple[str, Clause], ...] = (
    ("müde", predicate("schlafen schläft geschlafen = sleep", "schlecht = badly", Tense.PAST)),
    ("müde", predicate("arbeiten arbeitet gearbeitet = work", "den ganzen Tag = all day", Tense.PAST)),
    ("müde", predicate("auf|stehen steht +aufgestanden = get up", "sehr früh = very early", Tense.PAST)),
    ("glücklich", predicate("bestehen besteht bestanden = pass", "die Prüfung = the exam", Tense.PAST)),
    ("glücklich", predicate("finden findet gefunden = find", "eine Wohnung = a flat", Tense.PAST)),
    ("glücklich", predicate("gewinnen gewinnt gewonnen = win", "das Spiel = the game", Tense.PAST)),
    ("traurig", predicate("verlieren verliert verloren = lose", "das Spiel = the game", Tense.PAST)),
    ("traurig", predicate("fahren fährt +gefahren = go", "nach Hause = home", modal=MUST)),
    ("nervös", predicate("haben hat gehabt = have", "eine Prüfung = an exam", time=("morgen", "tomorrow"))),
    ("nervös", predicate("gehen geht +gegangen = go", "zum Zahnarzt = to the dentist's", modal=MUST)),
    ("wütend", predicate("verpassen verpasst verpasst = miss", "den Bus = the bus", Tense.PAST)),
    ("wütend", predicate("warten wartet gewartet = wait", "lange = for a long time", modal=MUST)),
    ("hungrig", replace(predicate("frühstücken x gefrühstückt = have breakfast", tense=Tense.PAST), negated=True)),
    ("enttäuscht", predicate("verlieren verliert verloren = lose", "das Spiel = the game", Tense.PAST)),
    ("stolz", predicate("gewinnen gewinnt gewonnen = win", "das Spiel = the game", Tense.PAST)),
    ("allein", events.quality(IT, "neu in der Stadt", "new in town", "neu")),
    ("zufrieden", predicate("finden findet gefunden = find", "eine Wohnung = a flat", Tense.PAST)),
)


def although(rng: Random) -> Sentence:
    """Done in spite of a feeling; the concession comes first or last."""
    feeling = FEELINGS_BY_GERMAN[rng.choice(("müde", "krank", "nervös", "traurig"))]
    done = events.happened(rng, events.always(people.lead(rng)), also="b")
    done = replace(done, time=rng.choice(modifiers.RECENT_TIMES))
    if rng.random() < 0.5:
        return join_clauses(done, ("obwohl", "although"), events.being(people.same(done.subject), feeling, Tense.PAST))
    felt = events.being(done.subject, feeling, Tense.PAST)
    return opened(("obwohl", "although"), felt, replace(done, subject=people.same(done.subject)))


def therefore(rng: Random) -> Sentence:
    """A state and what follows from it: "…, deshalb bleibt sie zu Hause"."""
    state = replace(rng.choice(EXCUSES), subject=people.lead(rng))
    result = events.plan(rng, events.always(people.same(state.subject)), also="b")
    result = replace(result, negated=True, time=rng.choice(VERY_SOON))
    german_words = f"{clauses.straight(state)}, {clauses.inverted(result, 'deshalb')}"
    english_words = f"{clauses.statement(state)}, {clauses.statement(result, 'so')}"
    return finish(german_words, english_words, (*state.combinations, *result.combinations))


# --------------------------------------------------------------------------------------------- thinking and wondering


def that(rng: Random) -> Sentence:
    """Something thought or said."""
    opening, english_opening = rng.choice(THINKING)
    told = anything(rng)
    german_words = f"{opening}, {clauses.subordinate(told, 'dass')}"
    return finish(german_words, clauses.statement(told, f"{english_opening} that"), told.combinations)


THINKING = pairs("""
    ich glaube = I think; ich weiß = I know; ich bin sicher = I am sure
    ich habe gehört = I have heard; es ist gut = it is good; es ist schade = it is a pity; alle wissen = everyone knows
    es ist wahr = it is true; meine Mutter sagt = my mother says; er glaubt = he thinks; sie weiß = she knows
    Herr Weber sagt = Mr Weber says; es ist schön = it is nice
""")


def hope(rng: Random) -> Sentence:
    """What is hoped for, English puts into the future."""
    opening, english_opening = rng.choice((("ich hoffe", "I hope"), ("wir hoffen", "we hope")))
    hoped = replace(events.plan(rng, people.third_party, also="b"), tense=Tense.PRESENT_WILL)
    german_words = f"{opening}, {clauses.subordinate(hoped, 'dass')}"
    return finish(german_words, clauses.statement(hoped, f"{english_opening} that"), hoped.combinations)


def whether(rng: Random) -> Sentence:
    opening, english_opening = rng.choice(WONDERING)
    asked = anything(rng)
    german_words = f"{opening}, {clauses.subordinate(asked, 'ob')}"
    mark = "?" if "do you" in english_opening else "."
    return finish(german_words, clauses.statement(asked, f"{english_opening} whether"), asked.combinations, mark)


WONDERING = pairs("""
    ich weiß nicht = I don't know; wissen Sie = do you know; niemand weiß = nobody knows; ich frage mich = I wonder
    er möchte wissen = he would like to know; wir wissen nicht = we don't know; sie fragt = she is asking
    Anna, weißt du = Anna, do you know; Peter, weißt du = Peter, do you know
""")


def anything(rng: Random) -> Clause:
    """Something that others may know or not."""
    draw = rng.random()
    if draw < 0.35:
        return events.plan(rng, people.third_party, also=rng.choice("boO"))
    if draw < 0.75:
        return events.happened(rng, people.third_party, timed=rng.random() < 0.4, also=rng.choice("yyo"))
    return events.doing(rng, "s", people.third_party)


# --------------------------------------------------------------------------------------------------- conditions, times

TIME = Clause(IT, action("haben hat gehabt = have"), (Piece(INDEFINITE, "Zeit", "time"),))


def if_there_is_time(rng: Random) -> Sentence:
    """What somebody will do with some time; the condition comes first or last."""
    condition = replace(TIME, subject=people.lead(rng))
    if rng.random() < 0.5:
        condition = replace(condition, time=rng.choice(modifiers.SOON_TIMES))
    result = events.plan(rng, events.always(people.same(condition.subject)), also="b")
    result = replace(result, tense=Tense.PRESENT_WILL, time=None)
    if rng.random() < 0.6:
        return opened(("wenn", "if"), condition, result)
    result, condition = replace(result, subject=condition.subject), replace(condition, subject=result.subject)
    return join_clauses(result, ("wenn", "if"), condition)


def if_it_rains(rng: Random) -> Sentence:
    condition = replace(rng.choice(BAD_WEATHER), time=rng.choice((None, *modifiers.SOON_TIMES)), tense=Tense.SIMPLE)
    subject = people.subject(rng)
    result = replace(rng.choice(INDOORS), subject=subject, tense=Tense.PRESENT_WILL)
    return opened(("wenn", "if"), condition, result)


def it_rains_so(rng: Random) -> Sentence:
    condition = rng.choice(BAD_WEATHER)
    result = replace(rng.choice(INDOORS), subject=people.subject(rng), tense=Tense.PROGRESSIVE)
    german_words = f"{clauses.straight(condition)}, {clauses.inverted(result, 'deshalb')}"
    english_words = f"{clauses.statement(condition)}, {clauses.statement(result, 'so')}"
    return finish(german_words, english_words, result.combinations)


def although_it_rains(rng: Random) -> Sentence:
    done = replace(rng.choice(OUTDOORS), subject=people.subject(rng), tense=Tense.PROGRESSIVE)
    return join_clauses(done, ("obwohl", "although"), rng.choice(BAD_WEATHER))


BAD_WEATHER = (
    *(events.weather(which) for which in events.WEATHER),
    events.quality(IT, "sehr kalt", "very cold", "kalt"),
)
INDOORS = (
    predicate("bleiben bleibt +geblieben = stay", "zu Hause = at home"),
    predicate("gehen geht +gegangen = go", "ins Kino = to the cinema"),
    predicate("gehen geht +gegangen = go", "ins Museum = to the museum"),
    predicate("gehen geht +gegangen = go", "in die Bibliothek = to the library"),
    predicate("fahren fährt +gefahren = go", "mit dem Bus = by bus"),
    predicate("spielen spielt gespielt = play", "Karten = cards"),
    predicate("spielen spielt gespielt = play", "Schach = chess"),
    predicate("kochen kocht gekocht = cook", "Suppe = soup"),
    predicate("lesen liest gelesen = read", "ein Buch = a book"),
)
OUTDOORS = (
    predicate("spazieren_|gehen geht +spazieren_gegangen = go for a walk"),
    predicate("spielen spielt gespielt = play", "Fußball = football"),
    predicate("gehen geht +gegangen = go", "in den Park = to the park"),
    predicate("gehen geht +gegangen = go", "an den Strand = to the beach"),
    predicate("fahren fährt +gefahren = go", "mit dem Fahrrad = by bike"),
    predicate("gehen geht +gegangen = go", "in den Zoo = to the zoo"),
    predicate("gehen geht +gegangen = go", "auf den Markt = to the market"),
)


def when_young(rng: Random) -> Sentence:
    """ "Als sie jung war, hat sie oft getanzt."."""
    subject = people.subject(rng, "adult")
    then = events.quality(subject, *rng.choice((("jung", "young"), ("klein", "little"))))
    used_to = events.doing(rng, "l", events.always(people.same(subject)))
    used_to = replace(used_to, adverb=("oft", "often"), tense=Tense.PAST)
    return opened(("als", "when"), replace(then, tense=Tense.PAST), used_to)


def when_in_town(rng: Random) -> Sentence:
    subject = people.lead(rng)
    city, english_city = rng.choice(lex.CITIES)
    there = replace(events.quality(subject, f"in {city}", f"in {english_city}", city), tense=Tense.PAST)
    done = replace(rng.choice(SEEING_TOWN), subject=people.same(subject), tense=Tense.PAST)
    return opened(("als", "when"), there, done)


SEEING_TOWN = (
    predicate("besuchen besucht besucht = visit", "den Dom = the cathedral"),
    predicate("besuchen besucht besucht = visit", "das Museum = the museum"),
    predicate("besuchen besucht besucht = visit", "den Zoo = the zoo"),
    predicate("wohnen wohnt gewohnt = stay", "in einem Hotel = at a hotel"),
    predicate("kaufen kauft gekauft = buy", "einen Mantel = a coat"),
    predicate("verlieren verliert verloren = lose", "einen Handschuh = a glove"),
    predicate("mieten mietet gemietet = rent", "ein Fahrrad = a bike"),
    predicate("treffen trifft getroffen = meet", "einen Schauspieler = an actor"),
)


def before_bed(rng: Random) -> Sentence:
    """What somebody does every night before going to bed, or in the morning before leaving."""
    subject = people.lead(rng)
    event, routine = rng.choice(ROUTINES)
    done = replace(rng.choice(routine), subject=people.same(subject))
    return opened(("bevor", "before"), replace(event, subject=subject), done)


TO_BED = predicate("gehen geht +gegangen = go", "ins Bett = to bed")
TO_WORK = predicate("gehen geht +gegangen = go", "zur Arbeit = to work")
EVENING = (
    predicate("lesen liest gelesen = read", "ein Buch = a book"),
    predicate("trinken trinkt getrunken = drink", "ein Glas Milch = a glass of milk"),
    predicate("aus|machen macht ausgemacht = turn off", "das Licht = the light"),
    predicate("hören hört gehört = listen to", "Musik = music"),
    predicate("schließen schließt geschlossen = close", "die Tür = the door"),
    predicate("duschen duscht geduscht = have a shower"),
)
MORNING = (
    predicate("lesen liest gelesen = read", "die Zeitung = the newspaper"),
    predicate("trinken trinkt getrunken = drink", "eine Tasse Kaffee = a cup of coffee"),
    predicate("füttern füttert gefüttert = feed", "die Katze = the cat"),
    predicate("schließen schließt geschlossen = close", "das Fenster = the window"),
    predicate("gießen gießt gegossen = water", "die Blumen = the flowers"),
    predicate("duschen duscht geduscht = have a shower"),
)
ROUTINES = ((TO_BED, EVENING), (TO_WORK, MORNING))


def after(rng: Random) -> Sentence:
    """The pluperfect: "Nachdem sie gefrühstückt hatte, …"."""
    subject = people.lead(rng)
    first = replace(rng.choice(FIRST), subject=subject)
    then = events.happened(rng, events.always(people.same(subject)), timed=False, also="b")
    return opened(("nachdem", "after"), first, then)


FIRST = (
    predicate("essen isst gegessen = eat", tense=Tense.BEFORE),
    predicate("duschen x geduscht = have a shower", tense=Tense.BEFORE),
    predicate("kommen kommt +gekommen = come", "nach Hause = home", Tense.BEFORE),
    predicate("auf|stehen steht +aufgestanden = get up", tense=Tense.BEFORE),
    predicate("packen packt gepackt = pack", "den Koffer = the suitcase", Tense.BEFORE),
    predicate("auf|räumen räumt aufgeräumt = tidy up", "die Küche = the kitchen", Tense.BEFORE),
    predicate("schreiben schreibt geschrieben = write", "den Brief = the letter", Tense.BEFORE),
    predicate("lesen liest gelesen = read", "die Zeitung = the newspaper", Tense.BEFORE),
)


def during(rng: Random) -> Sentence:
    """Two people, each at his own work."""
    one = replace(events.doing(rng, "u"), tense=Tense.PROGRESSIVE)
    another = replace(events.doing(rng, "u"), tense=Tense.PROGRESSIVE)
    unclear = another.subject in (HE, SHE, THEY) or one.subject is another.subject
    couple = set(one.subject.head + another.subject.head) == {"Mann", "Frau"}
    if unclear or couple or one.action.word == another.action.word:
        return during(rng)
    return opened(("während", "while"), one, another)


# ------------------------------------------------------------------------------------------------------------ joining


def of_the_same(first: Clause, second: Clause) -> Clause:
    """The second clause, said of the first one's subject."""
    return replace(second, subject=people.same(first.subject))


def join_clauses(main: Clause, conjunction: tuple[str, str], side: Clause) -> Sentence:
    """Main clause first, then the subordinate one, which only German sets off with a comma."""
    german_words = f"{clauses.straight(main)}, {clauses.subordinate(side, conjunction[0])}"
    english_words = f"{clauses.statement(main)} {clauses.statement(side, conjunction[1])}"
    return finish(german_words, english_words, (*main.combinations, *own_words(side)))


def opened(conjunction: tuple[str, str], side: Clause, main: Clause) -> Sentence:
    """Subordinate clause first; it takes the first place of the main clause, whose subject follows the verb."""
    german_words = f"{clauses.subordinate(side, conjunction[0])}, {clauses.inverted(main)}"
    english_words = f"{clauses.statement(side, conjunction[1])}, {clauses.statement(main)}"
    return finish(german_words, english_words, (*own_words(side), *main.combinations))


def own_words(clause: Clause) -> tuple[str, ...]:
    """The combinations of a clause; those with the weather's "es" say nothing."""
    return () if clause.subject is IT else clause.combinations


PATTERNS: tuple[tuple[int, Pattern], ...] = (
    (10, because),
    (6, because_of_that_feeling),
    (6, although),
    (4, therefore),
    (14, that),
    (3, hope),
    (10, whether),
    (8, if_there_is_time),
    (6, if_it_rains),
    (3, it_rains_so),
    (3, although_it_rains),
    (5, when_young),
    (4, when_in_town),
    (3, before_bed),
    (7, after),
    (7, during),
)
