"""Patterns of sentences with two clauses: subordinate clauses with a conjunction, infinitives with zu, coordination.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from dataclasses import replace
from random import Random

from nmt.data.phrasebook import clauses, events, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.actions import person_piece
from nmt.data.phrasebook.clauses import INDEFINITE, MUST, WANT, Clause, Piece, Tense
from nmt.data.phrasebook.events import predicate
from nmt.data.phrasebook.german import ACC
from nmt.data.phrasebook.phrases import HE, IT, SHE, THEY
from nmt.data.phrasebook.sentence import Pattern, Sentence, finish
from nmt.data.phrasebook.words import action, pairs

# ------------------------------------------------------------------------------------------------- reasons, concessions

_NO_TIME = Clause(
    IT, action("haben hat gehabt = have"), (Piece(INDEFINITE, "Zeit", "time", "keine Zeit", "time"),), negated=True
)
_EXCUSES = (
    events.quality(IT, "krank", "ill"),
    events.quality(IT, "müde", "tired"),
    _NO_TIME,
    predicate("haben hat gehabt = have", "Kopfschmerzen = a headache"),
    predicate("haben hat gehabt = have", "Fieber = a fever"),
    predicate("arbeiten arbeitet gearbeitet = work", modal=MUST),
    predicate("lernen lernt gelernt = study", modal=MUST),
    predicate("haben hat gehabt = have", "Besuch = visitors"),
)


_VERY_SOON = (("heute", "today"), *lex.SOON_TIMES[:3], lex.SOON_TIMES[4])


def because(rng: Random) -> Sentence:
    """Why a plan comes to nothing."""
    left_out = events.plan(rng, events.always(people.lead(rng)), also="b")
    left_out = replace(left_out, negated=True, time=rng.choice(_VERY_SOON))
    return _joined(left_out, ("weil", "because"), _of_the_same(left_out, rng.choice(_EXCUSES)))


def because_of_that_feeling(rng: Random) -> Sentence:
    feeling, cause = rng.choice(_CAUSES)
    felt = events.being(people.subject(rng, "adult"), _FEELINGS[feeling])
    return _joined(felt, ("weil", "because"), _of_the_same(felt, cause))


_FEELINGS = {adjective.german: adjective for adjective in lex.FEELINGS}
_CAUSES: tuple[tuple[str, Clause], ...] = (
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
    feeling = _FEELINGS[rng.choice(("müde", "krank", "nervös", "traurig"))]
    done = events.happened(rng, events.always(people.lead(rng)), also="b")
    done = replace(done, time=rng.choice(lex.RECENT_TIMES))
    if rng.random() < 0.5:
        return _joined(done, ("obwohl", "although"), events.being(people.same(done.subject), feeling, Tense.PAST))
    felt = events.being(done.subject, feeling, Tense.PAST)
    return _opened(("obwohl", "although"), felt, replace(done, subject=people.same(done.subject)))


def therefore(rng: Random) -> Sentence:
    """A state and what follows from it: "…, deshalb bleibt sie zu Hause"."""
    state = replace(rng.choice(_EXCUSES), subject=people.lead(rng))
    result = events.plan(rng, events.always(people.same(state.subject)), also="b")
    result = replace(result, negated=True, time=rng.choice(_VERY_SOON))
    german_words = f"{clauses.straight(state)}, {clauses.inverted(result, 'deshalb')}"
    english_words = f"{clauses.statement(state)}, {clauses.statement(result, 'so')}"
    return finish(german_words, english_words, (*state.combinations, *result.combinations))


# --------------------------------------------------------------------------------------------- thinking and wondering


def that(rng: Random) -> Sentence:
    """Something thought or said."""
    opening, english_opening = rng.choice(_THINKING)
    told = _anything(rng)
    german_words = f"{opening}, {clauses.subordinate(told, 'dass')}"
    return finish(german_words, clauses.statement(told, f"{english_opening} that"), told.combinations)


_THINKING = pairs("""
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
    opening, english_opening = rng.choice(_WONDERING)
    asked = _anything(rng)
    german_words = f"{opening}, {clauses.subordinate(asked, 'ob')}"
    mark = "?" if "do you" in english_opening else "."
    return finish(german_words, clauses.statement(asked, f"{english_opening} whether"), asked.combinations, mark)


_WONDERING = pairs("""
    ich weiß nicht = I don't know; wissen Sie = do you know; niemand weiß = nobody knows; ich frage mich = I wonder
    er möchte wissen = he would like to know; wir wissen nicht = we don't know; sie fragt = she is asking
    Anna, weißt du = Anna, do you know; Peter, weißt du = Peter, do you know
""")


def _anything(rng: Random) -> Clause:
    """Something that others may know or not."""
    draw = rng.random()
    if draw < 0.35:
        return events.plan(rng, people.third_party, also=rng.choice("boO"))
    if draw < 0.75:
        return events.happened(rng, people.third_party, timed=rng.random() < 0.4, also=rng.choice("yyo"))
    return events.doing(rng, "s", people.third_party)


# --------------------------------------------------------------------------------------------------- conditions, times

_TIME = Clause(IT, action("haben hat gehabt = have"), (Piece(INDEFINITE, "Zeit", "time"),))


def if_there_is_time(rng: Random) -> Sentence:
    """What somebody will do with some time; the condition comes first or last."""
    condition = replace(_TIME, subject=people.lead(rng))
    if rng.random() < 0.5:
        condition = replace(condition, time=rng.choice(lex.SOON_TIMES))
    result = events.plan(rng, events.always(people.same(condition.subject)), also="b")
    result = replace(result, tense=Tense.PRESENT_WILL, time=None)
    if rng.random() < 0.6:
        return _opened(("wenn", "if"), condition, result)
    result, condition = replace(result, subject=condition.subject), replace(condition, subject=result.subject)
    return _joined(result, ("wenn", "if"), condition)


def if_it_rains(rng: Random) -> Sentence:
    condition = replace(rng.choice(_BAD_WEATHER), time=rng.choice((None, *lex.SOON_TIMES)), tense=Tense.SIMPLE)
    subject = people.subject(rng)
    result = replace(rng.choice(_INDOORS), subject=subject, tense=Tense.PRESENT_WILL)
    return _opened(("wenn", "if"), condition, result)


def it_rains_so(rng: Random) -> Sentence:
    condition = rng.choice(_BAD_WEATHER)
    result = replace(rng.choice(_INDOORS), subject=people.subject(rng), tense=Tense.PROGRESSIVE)
    german_words = f"{clauses.straight(condition)}, {clauses.inverted(result, 'deshalb')}"
    english_words = f"{clauses.statement(condition)}, {clauses.statement(result, 'so')}"
    return finish(german_words, english_words, result.combinations)


def although_it_rains(rng: Random) -> Sentence:
    done = replace(rng.choice(_OUTDOORS), subject=people.subject(rng), tense=Tense.PROGRESSIVE)
    return _joined(done, ("obwohl", "although"), rng.choice(_BAD_WEATHER))


_BAD_WEATHER = (
    *(events.weather(which) for which in events.WEATHER),
    events.quality(IT, "sehr kalt", "very cold", "kalt"),
)
_INDOORS = (
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
_OUTDOORS = (
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
    return _opened(("als", "when"), replace(then, tense=Tense.PAST), used_to)


def when_in_town(rng: Random) -> Sentence:
    subject = people.lead(rng)
    city, english_city = rng.choice(lex.CITIES)
    there = replace(events.quality(subject, f"in {city}", f"in {english_city}", city), tense=Tense.PAST)
    done = replace(rng.choice(_SEEING_TOWN), subject=people.same(subject), tense=Tense.PAST)
    return _opened(("als", "when"), there, done)


_SEEING_TOWN = (
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
    event, routine = rng.choice(_ROUTINES)
    done = replace(rng.choice(routine), subject=people.same(subject))
    return _opened(("bevor", "before"), replace(event, subject=subject), done)


_TO_BED = predicate("gehen geht +gegangen = go", "ins Bett = to bed")
_TO_WORK = predicate("gehen geht +gegangen = go", "zur Arbeit = to work")
_EVENING = (
    predicate("lesen liest gelesen = read", "ein Buch = a book"),
    predicate("trinken trinkt getrunken = drink", "ein Glas Milch = a glass of milk"),
    predicate("aus|machen macht ausgemacht = turn off", "das Licht = the light"),
    predicate("hören hört gehört = listen to", "Musik = music"),
    predicate("schließen schließt geschlossen = close", "die Tür = the door"),
    predicate("duschen duscht geduscht = have a shower"),
)
_MORNING = (
    predicate("lesen liest gelesen = read", "die Zeitung = the newspaper"),
    predicate("trinken trinkt getrunken = drink", "eine Tasse Kaffee = a cup of coffee"),
    predicate("füttern füttert gefüttert = feed", "die Katze = the cat"),
    predicate("schließen schließt geschlossen = close", "das Fenster = the window"),
    predicate("gießen gießt gegossen = water", "die Blumen = the flowers"),
    predicate("duschen duscht geduscht = have a shower"),
)
_ROUTINES = ((_TO_BED, _EVENING), (_TO_WORK, _MORNING))


def after(rng: Random) -> Sentence:
    """The pluperfect: "Nachdem sie gefrühstückt hatte, …"."""
    subject = people.lead(rng)
    first = replace(rng.choice(_FIRST), subject=subject)
    then = events.happened(rng, events.always(people.same(subject)), timed=False, also="b")
    return _opened(("nachdem", "after"), first, then)


_FIRST = (
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
    return _opened(("während", "while"), one, another)


# ---------------------------------------------------------------------------------------------------------- infinitives


def in_order_to(rng: Random) -> Sentence:
    """A journey and its purpose: "…, um ihre Tante zu besuchen"."""
    subject = people.lead(rng)
    city, english_city = rng.choice(lex.CITIES)
    journey = predicate("fahren fährt +gefahren = go", f"nach {city} = to {english_city}", Tense.PROGRESSIVE)
    journey = replace(journey, subject=subject, time=rng.choice(lex.SOON_TIMES + lex.FUTURE_TIMES))
    whom = people.someone_of(rng, subject, circle="elsewhere")
    purpose = Clause(subject, rng.choice(_PURPOSES), (person_piece(whom, ACC),))
    german_words = f"{clauses.straight(journey)}, um {clauses.zu_infinitive(purpose)}"
    english_words = f"{clauses.statement(journey)} to {clauses.infinitive(purpose)}"
    return finish(german_words, english_words, (*journey.combinations, *purpose.combinations))


_PURPOSES = (action("besuchen besucht besucht = visit"), action("ab|holen holt abgeholt = pick up"))


def set_on(rng: Random) -> Sentence:
    """Forgetting, trying, promising to do something."""
    subject = people.lead(rng)
    frame, letters = rng.choice(_ATTEMPTS)
    task = events.doing(rng, rng.choice(letters), events.always(subject))
    return _with_task(replace(frame, subject=subject), task)


_ATTEMPTS = (
    (predicate("vergessen vergisst vergessen = forget", tense=Tense.PAST), "j"),
    (predicate("versuchen versucht versucht = try", tense=Tense.PROGRESSIVE), "v"),
    (predicate("versuchen versucht versucht = try", tense=Tense.PAST), "v"),
    (predicate("versprechen verspricht versprochen = promise", tense=Tense.PAST), "m"),
    (predicate("hoffen hofft gehofft = hope", tense=Tense.PROGRESSIVE), "O"),
    (predicate("beschließen beschließt beschlossen = decide", tense=Tense.PAST), "oO"),
    (predicate("vor|haben hat vorgehabt = plan", tense=Tense.PROGRESSIVE), "oO"),
    (_NO_TIME, "j"),
    (replace(_NO_TIME, tense=Tense.PAST), "j"),
)


def pleasant_to(rng: Random) -> Sentence:
    opening, english_opening, tasks = rng.choice(_PLEASANT)
    task = rng.choice(tasks)
    time = rng.choice((None, *lex.REGULAR_TIMES[:3]))
    task = replace(task, time=time)
    german_words = f"{opening}, {clauses.zu_infinitive(task)}"
    return finish(german_words, f"{english_opening} to {clauses.infinitive(task)}", task.combinations[1:])


_FUN = tuple(predicate("spielen spielt gespielt = play", f"{game} = {name}") for game, name in lex.GAMES)
_HARD = tuple(
    predicate("lernen lernt gelernt = learn", f"{language.german} = {language.english}") for language in lex.LANGUAGES
)
_HEALTHY = (
    predicate("spazieren_|gehen x x = go for a walk"),
    predicate("schwimmen x x = swim"),
    predicate("essen x x = eat", "Obst = fruit"),
    predicate("essen x x = eat", "Gemüse = vegetables"),
    predicate("gehen x x = walk", "zu Fuß zur Arbeit = to work"),
    predicate("fahren x x = go", "mit dem Fahrrad zur Arbeit = to work by bike"),
    predicate("auf|stehen x x = get up", "früh = early"),
)
_PLEASANT = (
    ("es macht Spaß", "it is fun", _FUN),
    ("es ist schwer", "it is hard", _HARD),
    ("es ist schön", "it is nice", _FUN[-5:-1]),
    ("es ist gesund", "it is healthy", _HEALTHY),
)


def feel_like(rng: Random) -> Sentence:
    subject = people.you(rng)
    asked = replace(_LUST, subject=subject)
    task = events.doing(rng, "l", events.always(subject))
    called, english_called = people.called(rng, subject)
    german_words = f"{called}{clauses.inverted(asked)}, {clauses.zu_infinitive(task)}"
    english_words = f"{english_called}{clauses.question(asked)} {clauses.gerund(task)}"
    return finish(german_words, english_words, task.combinations, "?")


_LUST = predicate("haben hat gehabt = feel like", "Lust = ")


def without(rng: Random) -> Sentence:
    """ "…, ohne das Licht auszumachen"."""
    subject = people.subject(rng, "adult")
    left = replace(rng.choice(_LEFT), subject=subject)
    undone = replace(rng.choice(_UNDONE), subject=subject)
    german_words = f"{clauses.straight(left)}, ohne {clauses.zu_infinitive(undone)}"
    english_words = f"{clauses.statement(left)} without {clauses.gerund(undone)}"
    return finish(german_words, english_words, undone.combinations)


_UNDONE = (
    predicate("aus|machen x x = turn off", "das Licht = the light"),
    predicate("aus|machen x x = turn off", "den Fernseher = the television"),
    predicate("schließen x x = close", "die Tür = the door"),
    predicate("schließen x x = close", "das Fenster = the window"),
    predicate("füttern x x = feed", "die Katze = the cat"),
    predicate("gießen x x = water", "die Blumen = the flowers"),
    predicate("aus|machen x x = turn off", "die Heizung = the heating"),
    predicate("spülen x x = wash", "die Teller = the plates"),
)
_LEFT = (
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
    if not _share_a_verb(first, second):
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
    reason = replace(_of_the_same(wanted, rng.choice(_EXCUSES)), tense=Tense.PAST)
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
    journey = replace(journey, subject=people.subject(rng), time=rng.choice(lex.FUTURE_TIMES))
    combinations = (f"fahren+{city}", f"fahren+{other}")
    return finish(clauses.straight(journey), clauses.statement(journey), combinations)


def languages(rng: Random) -> Sentence:
    """Two languages, joined in one of three ways."""
    first, second = rng.sample(lex.LANGUAGES, 2)
    word, link, english_word, english_link = rng.choice(_BOTH)
    words = (
        f"{word} {first.german}{link} {second.german} = {english_word} {first.english}{english_link} {second.english}"
    )
    spoken = replace(predicate("sprechen spricht gesprochen = speak", words), subject=people.subject(rng))
    combinations = (f"sprechen+{first.german}", f"{first.german}+{second.german}")
    return finish(clauses.straight(spoken), clauses.statement(spoken), combinations)


_BOTH = (
    ("nicht nur", ", sondern auch", "not only", " but also"),
    ("sowohl", " als auch", "both", " and"),
    ("weder", " noch", "neither", " nor"),
)

# ------------------------------------------------------------------------------------------------------------ joining


def _of_the_same(first: Clause, second: Clause) -> Clause:
    """The second clause, said of the first one's subject."""
    return replace(second, subject=people.same(first.subject))


def _joined(main: Clause, conjunction: tuple[str, str], side: Clause) -> Sentence:
    """Main clause first, then the subordinate one, which only German sets off with a comma."""
    german_words = f"{clauses.straight(main)}, {clauses.subordinate(side, conjunction[0])}"
    english_words = f"{clauses.statement(main)} {clauses.statement(side, conjunction[1])}"
    return finish(german_words, english_words, (*main.combinations, *_own(side)))


def _opened(conjunction: tuple[str, str], side: Clause, main: Clause) -> Sentence:
    """Subordinate clause first; it takes the first place of the main clause, whose subject follows the verb."""
    german_words = f"{clauses.subordinate(side, conjunction[0])}, {clauses.inverted(main)}"
    english_words = f"{clauses.statement(side, conjunction[1])}, {clauses.statement(main)}"
    return finish(german_words, english_words, (*_own(side), *main.combinations))


def _with_task(clause: Clause, task: Clause) -> Sentence:
    german_words = f"{clauses.straight(clause)}, {clauses.zu_infinitive(task)}"
    english_words = f"{clauses.statement(clause)} to {clauses.infinitive(task)}"
    return finish(german_words, english_words, (f"{clause.action.word}+{task.action.word}", *task.combinations))


def _own(clause: Clause) -> tuple[str, ...]:
    """The combinations of a clause; those with the weather's "es" say nothing."""
    return () if clause.subject is IT else clause.combinations


def _share_a_verb(first: Clause, second: Clause) -> bool:
    """True of two different verbs with the same auxiliary in the perfect."""
    verb, other = first.action.verb, second.action.verb
    simple = {"sein", "haben"}.intersection((verb.whole(), other.whole()))
    return verb.whole() != other.whole() and verb.with_sein == other.with_sein and not simple


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
