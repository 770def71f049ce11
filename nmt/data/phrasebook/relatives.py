"""Patterns with relative clauses: the pronoun in the nominative, accusative and dative, and after a preposition.

Each pattern is a function from a random generator to a `Sentence`; `PATTERNS` gives each its weight.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from nmt.data.phrasebook import clauses, english, events, german, modifiers, people
from nmt.data.phrasebook import lexicon as lex
from nmt.data.phrasebook.clauses import PLACE, Clause, Piece, Tense
from nmt.data.phrasebook.german import ACC, DAT, NOM
from nmt.data.phrasebook.phrases import MY, THE, Phrase, described, noun_phrase
from nmt.data.phrasebook.sentence import Pattern, Sentence, finish
from nmt.data.phrasebook.words import Action, Adjective, Noun, action

PEOPLE = lex.GROWN_UPS[:3] + lex.CHILDREN[:2]


def who_did_that(rng: Random) -> Sentence:
    """ "Kennen Sie den Mann, der gestern …?"."""
    noun = rng.choice(PEOPLE)
    person = noun_phrase(THE, noun)
    done = events.happened(rng, events.always(relative_pronoun(person)), timed=rng.random() < 0.5, also="y")
    opening, english_opening, case, mark = rng.choice(KNOWING)
    german_words = f"{opening} {person.german[case]}, {clauses.subordinate(done)}"
    return finish(
        german_words, f"{english_opening} {person.english} {clauses.statement(done)}", content_words(noun, done), mark
    )


KNOWING = (
    ("kennen Sie", "do you know", ACC, "?"),
    ("wo ist", "where is", NOM, "?"),
    ("das ist", "that is", NOM, "."),
    ("wir suchen", "we are looking for", ACC, "."),
)


def who_is_ours(rng: Random) -> Sentence:
    """ "Die Frau, die gerade telefoniert, ist meine Tante."."""
    noun = rng.choice(lex.GROWN_UPS[:2])
    person = noun_phrase(THE, noun)
    doing = replace(events.doing(rng, "u", events.always(relative_pronoun(person))), tense=Tense.PROGRESSIVE)
    doing = replace(doing, adverb=("gerade", ""))
    known = noun_phrase(
        MY, rng.choice(lex.MEN_OF_THE_FAMILY[:-1] if noun.gender == "m" else lex.WOMEN_OF_THE_FAMILY[:-1])
    )
    german_words = f"{person.german[NOM]}, {clauses.subordinate(doing)}, ist {known.german[NOM]}"
    english_words = f"{person.english} {clauses.statement(doing)} is {known.english}"
    return finish(german_words, english_words, (*content_words(noun, doing), f"{noun.german}+{known.words[-1]}"))


def what_was_bought(rng: Random) -> Sentence:
    """ "Das Buch, das ich gestern gekauft habe, ist spannend."; of what is soon gone, like a soup, "war"."""
    things, qualities, verb, tense = rng.choice(USED)
    noun, quality = rng.choice(things), rng.choice(qualities)
    thing = noun_phrase(THE, noun)
    pronoun = german.relative_pronoun(thing.gender, ACC)
    time = rng.choice((None, *modifiers.RECENT_TIMES, *modifiers.LAST_WEEKS))
    used = Clause(people.subject(rng, "adult"), verb, tense=Tense.PAST, time=time)
    is_so, english_is_so = ("war", "was") if tense is Tense.PAST else ("ist", english.be(thing.agreement))
    german_words = f"{thing.german[NOM]}, {clauses.subordinate(used, pronoun)}, {is_so} {quality.german}"
    english_words = f"{thing.english} that {clauses.statement(used)} {english_is_so} {quality.english}"
    return finish(german_words, english_words, (f"{verb.word}+{noun.german}", f"{quality.german}+{noun.german}"))


BUY = action("kaufen kauft gekauft = buy")
READ = action("lesen liest gelesen = read")
ORDER = action("bestellen bestellt bestellt = order")
BAKE = action("backen backt gebacken = bake")
ANSWER = action("beantworten beantwortet beantwortet = answer")
USED: tuple[tuple[Sequence[Noun], Sequence[Adjective], Action, Tense], ...] = (
    (lex.WORN, modifiers.FOR_CLOTHES[2:7], BUY, Tense.SIMPLE),
    (lex.WORN, modifiers.COLOURS, BUY, Tense.SIMPLE),
    (lex.FURNITURE, modifiers.FOR_FURNITURE[2:], BUY, Tense.SIMPLE),
    (lex.STORIES[:3], modifiers.FOR_STORIES, READ, Tense.SIMPLE),
    (lex.MESSAGES[:5], modifiers.FOR_MESSAGES, READ, Tense.SIMPLE),
    (lex.MACHINES, modifiers.FOR_MACHINES[4:], BUY, Tense.SIMPLE),
    (lex.SAVOURY, modifiers.FOR_SAVOURY, ORDER, Tense.PAST),
    (lex.SWEETS, modifiers.FOR_SWEETS[:3], BAKE, Tense.PAST),
    (lex.TASKS[:1], modifiers.FOR_TASKS[:4], ANSWER, Tense.PAST),
)


def where_is_what(rng: Random) -> Sentence:
    """ "Wo ist der Schlüssel, den du gefunden hast?"."""
    verb, things = rng.choice(HAD)
    noun = rng.choice(things)
    thing = noun_phrase(THE, noun)
    pronoun = german.relative_pronoun(thing.gender, ACC)
    had = Clause(people.other(rng), verb, tense=Tense.PAST, time=rng.choice((None, *modifiers.RECENT_TIMES)))
    are = "are" if thing.agreement == "they" else "is"
    german_words = f"wo ist {thing.german[NOM]}, {clauses.subordinate(had, pronoun)}"
    english_words = f"where {are} {thing.english} that {clauses.statement(had)}"
    return finish(german_words, english_words, (f"{verb.word}+{noun.german}",), "?")


HAD: tuple[tuple[Action, Sequence[Noun]], ...] = (
    (BUY, lex.GIFTS),
    (action("mit|bringen bringt mitgebracht = bring"), lex.GIFTS),
    (action("finden findet gefunden = find"), lex.BELONGINGS),
)


def to_whom(rng: Random) -> Sentence:
    """The dative: "Das ist die Frau, der ich geholfen habe."."""
    noun, verb = rng.choice(PEOPLE), rng.choice(DATIVE_VERBS)
    person = noun_phrase(THE, noun)
    done = Clause(people.lead(rng), verb, tense=Tense.PAST, time=rng.choice((None, *modifiers.RECENT_TIMES)))
    opening, english_opening, case, mark = rng.choice(KNOWING)
    pronoun = german.relative_pronoun(person.gender, DAT)
    german_words = f"{opening} {person.german[case]}, {clauses.subordinate(done, pronoun)}"
    english_words = f"{english_opening} {person.english} who {clauses.statement(done)}"
    return finish(german_words, english_words, (f"{verb.word}+{noun.german}", *done.combinations[:1]), mark)


DATIVE_VERBS = (
    action("helfen hilft geholfen = help"),
    action("danken dankt gedankt = thank"),
    action("antworten antwortet geantwortet = answer"),
    action("gratulieren gratuliert gratuliert = congratulate"),
)


def with_whom(rng: Random) -> Sentence:
    """After a preposition, which English leaves at the end."""
    preposition, case, verb, english_end = rng.choice(PREPOSITIONAL)
    noun = rng.choice(PEOPLE)
    person = noun_phrase(THE, noun)
    pronoun = f"{preposition} {german.relative_pronoun(person.gender, case)}"
    done = Clause(people.lead(rng), verb, (Piece(PLACE, "", english_end),), Tense.PAST)
    opening, english_opening, outer_case, mark = rng.choice(KNOWING)
    german_words = f"{opening} {person.german[outer_case]}, {clauses.subordinate(done, pronoun)}"
    english_words = f"{english_opening} {person.english} who {clauses.statement(done)}"
    return finish(german_words, english_words, (f"{verb.word}+{noun.german}", *done.combinations[:1]), mark)


PREPOSITIONAL = (
    ("mit", DAT, action("sprechen spricht gesprochen = speak"), "to"),
    ("mit", DAT, action("tanzen tanzt getanzt = dance"), "with"),
    ("auf", ACC, action("warten wartet gewartet = wait"), "for"),
    ("von", DAT, action("erzählen erzählt erzählt = tell us"), "about"),
)


def that_is_late(rng: Random) -> Sentence:
    """ "Der Zug, auf den wir warten, hat Verspätung."."""
    noun = rng.choice(lex.AWAITED[:2] + lex.AWAITED[5:6])
    thing = noun_phrase(THE, noun)
    pronoun = f"auf {german.relative_pronoun(thing.gender, ACC)}"
    waiting = Clause(
        people.subject(rng), action("warten wartet gewartet = wait"), (Piece(PLACE, "", "for"),), Tense.PROGRESSIVE
    )
    ending, english_ending = rng.choice(
        (("hat Verspätung", "is late"), ("kommt gleich", "is coming soon"), ("kommt nicht", "isn't coming"))
    )
    german_words = f"{thing.german[NOM]}, {clauses.subordinate(waiting, pronoun)}, {ending}"
    english_words = f"{thing.english} that {clauses.statement(waiting)} {english_ending}"
    return finish(german_words, english_words, (f"warten+{noun.german}", *waiting.combinations[:1]))


def where_one_lives(rng: Random) -> Sentence:
    """ "Das Haus, in dem ich wohne, ist alt."."""
    noun, quality = rng.choice(lex.HOMES[:3]), rng.choice(modifiers.FOR_HOMES)
    home = noun_phrase(THE, noun)
    living = Clause(people.subject(rng), action("wohnen wohnt gewohnt = live"), (Piece(PLACE, "", "in"),))
    pronoun = f"in {german.relative_pronoun(home.gender, DAT)}"
    german_words = f"{home.german[NOM]}, {clauses.subordinate(living, pronoun)}, ist {quality.german}"
    english_words = f"{home.english} that {clauses.statement(living)} is {quality.english}"
    return finish(german_words, english_words, (f"{quality.german}+{noun.german}", *living.combinations[:1]))


def best_ever(rng: Random) -> Sentence:
    """ "Das ist der spannendste Film, den ich je gesehen habe."."""
    noun, quality = (
        rng.choice(lex.STORIES),
        rng.choice([story for story in modifiers.FOR_STORIES if story.german != "neu"]),
    )
    seen = noun.german in ("Film", "Serie", "Theaterstück")
    verb = action("sehen sieht gesehen = see") if seen else READ
    story = described(THE, noun, (quality.german_superlative, quality.english_superlative))
    subject = people.subject(rng)
    done = Clause(subject, verb, tense=Tense.PERFECT, adverb=("je", "ever"))
    pronoun = german.relative_pronoun(noun.gender, ACC)
    german_words = f"das ist {story.german[NOM]}, {clauses.subordinate(done, pronoun)}"
    english_words = f"that is {story.english} that {clauses.statement(done)}"
    return finish(german_words, english_words, (f"{quality.german}+{noun.german}", *done.combinations[:1]))


def relative_pronoun(antecedent: Phrase) -> Phrase:
    """The relative pronoun as a subject: "der", "die", "das" – "who"."""
    nominative, accusative, dative = (german.relative_pronoun(antecedent.gender, case) for case in (NOM, ACC, DAT))
    return replace(antecedent, german=(nominative, accusative, dative, ""), english="who", words=(), is_pronoun=True)


def content_words(noun: Noun, clause: Clause) -> tuple[str, ...]:
    return (f"{noun.german}+{clause.action.word}", *clause.combinations)


PATTERNS: tuple[tuple[int, Pattern], ...] = (
    (10, who_did_that),
    (6, who_is_ours),
    (10, what_was_bought),
    (6, where_is_what),
    (6, to_whom),
    (6, with_whom),
    (4, that_is_late),
    (5, where_one_lives),
    (6, best_ever),
)
