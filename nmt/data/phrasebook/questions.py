"""Patterns of questions: yes or no, and with a question word, to strangers (Sie), friends (du) and children (ihr).

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from dataclasses import replace
from random import Random

from nmt.data.phrasebook import clauses, events, modifiers, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.actions import OWN, Slot, Thing
from nmt.data.phrasebook.clauses import CAN, LIKE_TO, MAY_I, MUST, WANT, Clause, Piece, Tense
from nmt.data.phrasebook.german import ACC, NOM
from nmt.data.phrasebook.phrases import BARE, ER, THE, WHICH, I, Phrase, noun_phrase
from nmt.data.phrasebook.sentence import Pattern, Sentence, asked, finish
from nmt.data.phrasebook.words import Action, Noun, action

# ------------------------------------------------------------------------------------------------------- yes or no


def often(rng: Random) -> Sentence:
    return to_you(rng, replace(events.doing(rng, "h", people.you), adverb=("oft", "often")))


def right_now(rng: Random) -> Sentence:
    return to_you(rng, events.right_now(rng, people.you))


def plan(rng: Random) -> Sentence:
    return to_you(rng, events.plan(rng, people.you))


def happened(rng: Random) -> Sentence:
    return to_you(rng, events.happened(rng, people.you, timed=rng.random() < 0.5))


def already(rng: Random) -> Sentence:
    found = replace(events.doing(rng, "j", people.you), tense=Tense.PERFECT, adverb=("schon", "already"))
    return to_you(rng, found)


def ever(rng: Random) -> Sentence:
    found = replace(events.doing(rng, "e", people.you), tense=Tense.PERFECT, adverb=("schon einmal", "ever"))
    return to_you(rng, found)


def state(rng: Random) -> Sentence:
    return to_you(rng, events.doing(rng, "s", people.you))


def feeling(rng: Random) -> Sentence:
    return to_you(rng, events.being(people.you(rng), rng.choice(modifiers.FEELINGS)))


def can_you(rng: Random) -> Sentence:
    return to_you(rng, events.wished(rng, CAN, "c", people.you))


def would_you_like_to(rng: Random) -> Sentence:
    return to_you(rng, events.wished(rng, LIKE_TO, "w", people.you))


def do_you_want_to(rng: Random) -> Sentence:
    return to_you(rng, events.wished(rng, WANT, "w", people.you))


def do_you_have_to(rng: Random) -> Sentence:
    return to_you(rng, events.wished(rng, MUST, "m", people.you))


def may_i(rng: Random) -> Sentence:
    return asked(replace(events.doing(rng, "a", i), modal=MAY_I))


def about_others(rng: Random) -> Sentence:
    """The same questions, about somebody else."""
    draw = rng.random()
    if draw < 0.35:
        return asked(events.plan(rng, people.other))
    if draw < 0.7:
        return asked(events.happened(rng, people.other, timed=rng.random() < 0.5))
    return asked(events.doing(rng, "s", people.other))


def surprised(rng: Random) -> Sentence:
    """A negative question: "Hast du den Schlüssel nicht gefunden?"."""
    return to_you(rng, replace(events.happened(rng, people.you, timed=False), negated=True))


# --------------------------------------------------------------------------------------------------- question words


def when_will(rng: Random) -> Sentence:
    found = replace(events.plan(rng, people.you), time=None)
    return to_you(rng, found, ("wann", "when"))


def when_did(rng: Random) -> Sentence:
    also = rng.choice("jjo")
    return to_you(rng, events.happened(rng, people.you, timed=False, also=also), ("wann", "when"))


def why_did(rng: Random) -> Sentence:
    who = people.you if rng.random() < 0.6 else people.other
    negated = rng.random() < 0.4
    found = replace(events.happened(rng, who, timed=False, also="d" if negated else "y"), negated=negated)
    return asked_anyone(rng, found, ("warum", "why"))


def why_now(rng: Random) -> Sentence:
    who = people.you if rng.random() < 0.6 else people.other
    found = replace(events.doing(rng, "g", who), tense=Tense.PROGRESSIVE)
    return asked_anyone(rng, found, ("warum", "why"))


def how_often(rng: Random) -> Sentence:
    return to_you(rng, events.doing(rng, "h", people.you), ("wie oft", "how often"))


def how_long(rng: Random) -> Sentence:
    """The German present with "schon" is the English present perfect progressive."""
    who = people.you if rng.random() < 0.6 else people.other
    found = replace(events.doing(rng, "t", who), tense=Tense.SINCE, adverb=("schon", ""))
    return asked_anyone(rng, found, ("wie lange", "how long"))


def who_did(rng: Random) -> Sentence:
    """The question word is the subject, so English needs no "did"."""
    found = events.happened(rng, draw_who, timed=rng.random() < 0.4)
    return finish(clauses.straight(found), clauses.statement(found), found.combinations, "?")


def who_can(rng: Random) -> Sentence:
    found = events.wished(rng, CAN, "c", draw_who)
    return finish(clauses.straight(found), clauses.statement(found), found.combinations, "?")


def what_did(rng: Random) -> Sentence:
    """What somebody ate, bought, ordered …"""
    verb = rng.choice(WITH_WHAT)
    found = Clause(people.you(rng), verb, tense=Tense.PAST, time=rng.choice(modifiers.RECENT_TIMES))
    return to_you(rng, found, ("was", "what"))


def what_now(rng: Random) -> Sentence:
    verb = rng.choice(WITH_WHAT)
    found = Clause(people.you(rng), verb, tense=Tense.PROGRESSIVE, adverb=("gerade", "right now"))
    return to_you(rng, found, ("was", "what"))


def what_would_you_like(rng: Random) -> Sentence:
    time = rng.choice(modifiers.SOON_TIMES) if rng.random() < 0.7 else None
    found = Clause(people.you(rng), rng.choice(WITH_WHAT), modal=rng.choice((LIKE_TO, WANT)), time=time)
    return to_you(rng, found, ("was", "what"))


def whom(rng: Random) -> Sentence:
    """ "Wen" or "wem", as the verb governs."""
    opening, verb = rng.choice(WITH_WHOM)
    subject = people.you(rng) if rng.random() < 0.6 else people.other(rng)
    found = Clause(subject, verb, tense=Tense.PAST, time=rng.choice(modifiers.RECENT_TIMES))
    return asked_anyone(rng, found, (opening, "who"))


def about_what(rng: Random) -> Sentence:
    """A question word joined to a preposition, which English leaves at the end: "Worauf wartest du?"."""
    opening, question_word, verb, english_end = rng.choice(WITH_PREPOSITION)
    subject = people.you(rng) if rng.random() < 0.6 else people.other(rng)
    found = Clause(subject, verb, (Piece(clauses.PLACE, "", english_end),), Tense.PROGRESSIVE)
    if verb.english.startswith("be "):
        found = replace(found, tense=Tense.SIMPLE)
    return asked_anyone(rng, found, (opening, question_word))


def where_to(rng: Random) -> Sentence:
    verb = rng.choice(GOING)
    subject = people.you(rng) if rng.random() < 0.6 else people.other(rng)
    found = Clause(subject, verb, tense=Tense.PROGRESSIVE, time=rng.choice(modifiers.FUTURE_TIMES))
    return asked_anyone(rng, found, ("wohin", "where"))


def where_do(rng: Random) -> Sentence:
    verb = rng.choice(STAYING)
    subject = people.you(rng) if rng.random() < 0.4 else people.other(rng, "adult")
    return asked_anyone(rng, Clause(subject, verb), ("wo", "where"))


def where_did(rng: Random) -> Sentence:
    verb, slot = rng.choice(SOMEWHERE)
    subject = people.you(rng, "adult") if rng.random() < 0.6 else people.other(rng, "adult")
    return asked_anyone(rng, Clause(subject, verb, (slot.piece(rng, subject),), Tense.PAST), ("wo", "where"))


def which(rng: Random) -> Sentence:
    verb, nouns, tense = rng.choice(CHOSEN)
    chosen = noun_phrase(WHICH, rng.choice(nouns))
    subject = people.you(rng) if rng.random() < 0.6 else people.other(rng)
    found = Clause(subject, verb, tense=tense)
    sentence = asked_anyone(rng, found, (chosen.german[ACC], chosen.english))
    return replace(sentence, combinations=(*sentence.combinations, f"{verb.word}+{chosen.words[-1]}"))


def how_many(rng: Random) -> Sentence:
    verb, nouns = rng.choice(COUNTED)
    noun = rng.choice(nouns)
    subject = people.you(rng) if rng.random() < 0.6 else people.other(rng)
    found = Clause(subject, verb, tense=Tense.SIMPLE if verb.english == "have" else Tense.PAST)
    sentence = asked_anyone(rng, found, (f"wie viele {noun.plural}", f"how many {noun.english_plural}"))
    return replace(sentence, combinations=(*sentence.combinations, f"{verb.word}+{noun.german}"))


def whose(rng: Random) -> Sentence:
    """ "Wem gehört die Tasche?"."""
    thing = noun_phrase(THE, rng.choice(lex.BELONGINGS + lex.WORN))
    verb = "do" if thing.agreement == "they" else "does"
    words = (f"gehören+{thing.words[-1]}",)
    return finish(f"wem gehört {thing.german[NOM]}", f"who {verb} {thing.english} belong to", words, "?")


def to_you(rng: Random, clause: Clause, opening: tuple[str, str] = ("", "")) -> Sentence:
    """The clause, whose subject is a "you", as a question; a name may open it."""
    return asked(clause, opening, people.called(rng, clause.subject))


def asked_anyone(rng: Random, clause: Clause, opening: tuple[str, str]) -> Sentence:
    is_you = clause.subject.english == "you"
    return asked(clause, opening, people.called(rng, clause.subject) if is_you else ("", ""))


def i(rng: Random, age: people.Age) -> Phrase:
    return I


WHO = Phrase(("wer", "wen", "wem", "wessen"), "who", ER, "m", "who", "he")


def draw_who(rng: Random, age: people.Age) -> Phrase:
    return WHO


WITH_WHAT = tuple(
    action(line)
    for line in (
        "essen isst gegessen = eat",
        "trinken trinkt getrunken = drink",
        "kaufen kauft gekauft = buy",
        "lesen liest gelesen = read",
        "kochen kocht gekocht = cook",
        "bestellen bestellt bestellt = order",
        "machen macht gemacht = do",
        "schreiben schreibt geschrieben = write",
        "lernen lernt gelernt = learn",
        "spielen spielt gespielt = play",
        "backen backt gebacken = bake",
        "sich_dat an|sehen sieht angesehen = watch",
    )
)
WITH_WHOM = (
    ("wen", action("besuchen besucht besucht = visit")),
    ("wen", action("an|rufen ruft angerufen = call")),
    ("wen", action("treffen trifft getroffen = meet")),
    ("wen", action("ein|laden lädt eingeladen = invite")),
    ("wen", action("ab|holen holt abgeholt = pick up")),
    ("wen", action("fragen fragt gefragt = ask")),
    ("wem", action("helfen hilft geholfen = help")),
    ("wem", action("danken dankt gedankt = thank")),
    ("wem", action("antworten antwortet geantwortet = answer")),
    ("wem", action("gratulieren gratuliert gratuliert = congratulate")),
)
WITH_PREPOSITION = (
    ("worauf", "what", action("warten wartet gewartet = wait"), "for"),
    ("auf wen", "who", action("warten wartet gewartet = wait"), "for"),
    ("worüber", "what", action("sprechen spricht gesprochen = talk"), "about"),
    ("über wen", "who", action("sprechen spricht gesprochen = talk"), "about"),
    ("mit wem", "who", action("sprechen spricht gesprochen = speak"), "to"),
    ("woran", "what", action("denken denkt gedacht = think"), "of"),
    ("an wen", "who", action("denken denkt gedacht = think"), "of"),
    ("worauf", "what", action("sich freuen freut gefreut = look forward"), "to"),
    ("wofür", "what", action("sich interessieren interessiert interessiert = be interested"), "in"),
    ("mit wem", "who", action("telefonieren telefoniert telefoniert = talk on the phone"), "to"),
    ("wonach", "what", action("suchen sucht gesucht = look"), "for"),
    ("wovor", "what", action("Angst_|haben hat Angst_gehabt = be afraid"), "of"),
)
GOING = (
    action("fahren fährt +gefahren = go"),
    action("fliegen fliegt +geflogen = fly"),
    action("reisen reist +gereist = travel"),
)
STAYING = (action("wohnen wohnt gewohnt = live"), action("arbeiten arbeitet gearbeitet = work"))
SOMEWHERE: tuple[tuple[Action, Slot], ...] = (
    (action("kaufen kauft gekauft = buy"), Thing(lex.GIFTS, THE)),
    (action("kaufen kauft gekauft = buy"), Thing(lex.CLOTHES, THE)),
    (action("verlieren verliert verloren = lose"), Thing(lex.BELONGINGS, OWN, each=True)),
    (action("finden findet gefunden = find"), Thing(lex.BELONGINGS, OWN, each=True)),
    (action("lernen lernt gelernt = learn"), Thing(lex.LANGUAGES, BARE)),
)
CHOSEN: tuple[tuple[Action, tuple[Noun, ...], Tense], ...] = (
    (action("lesen liest gelesen = read"), lex.READING, Tense.PAST),
    (action("kaufen kauft gekauft = buy"), lex.CLOTHES + lex.GIFTS, Tense.PAST),
    (action("probieren probiert probiert = try"), lex.DISHES, Tense.PAST),
    (action("sich_dat an|sehen sieht angesehen = watch"), lex.WATCHED, Tense.PAST),
    (action("beantworten beantwortet beantwortet = answer"), lex.ANSWERED, Tense.PAST),
    (action("reparieren repariert repariert = repair"), lex.MACHINES, Tense.PAST),
    (action("nehmen nimmt genommen = take"), lex.LINES[:2], Tense.PROGRESSIVE),
)
COUNTED: tuple[tuple[Action, tuple[Noun, ...]], ...] = (
    (action("haben hat gehabt = have"), lex.COUNTED_FAMILY),
    (action("kaufen kauft gekauft = buy"), lex.COUNTED_FOOD),
    (action("lesen liest gelesen = read"), lex.READING),
    (action("essen isst gegessen = eat"), lex.EATEN),
    (action("schreiben schreibt geschrieben = write"), lex.WRITING),
)

PATTERNS: tuple[tuple[int, Pattern], ...] = (
    (6, often),
    (4, right_now),
    (6, plan),
    (12, happened),
    (6, already),
    (2, ever),
    (6, state),
    (1, feeling),
    (5, can_you),
    (5, would_you_like_to),
    (3, do_you_want_to),
    (4, do_you_have_to),
    (2, may_i),
    (8, about_others),
    (4, surprised),
    (5, when_will),
    (5, when_did),
    (7, why_did),
    (3, why_now),
    (3, how_often),
    (4, how_long),
    (7, who_did),
    (2, who_can),
    (3, what_did),
    (2, what_now),
    (2, what_would_you_like),
    (4, whom),
    (4, about_what),
    (2, where_to),
    (2, where_do),
    (4, where_did),
    (4, which),
    (4, how_many),
    (1, whose),
)
