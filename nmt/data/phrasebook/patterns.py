"""The sentence patterns: rows of patterns.tsv, each a German and an English template that share what they draw.

In flow a pattern and a random generator, out flows a `Sentence`. The head of patterns.tsv explains the notation.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import Any

from nmt.data.phrasebook import actions, clauses, english, german, people, phrases
from nmt.data.phrasebook.actions import Frame, read_slot
from nmt.data.phrasebook.clauses import MODALS, PLACE, Clause, Piece, Tense
from nmt.data.phrasebook.german import ACC, DAT, GEN, NOM
from nmt.data.phrasebook.lemmas import content_words
from nmt.data.phrasebook.lexicon import LISTS, VERBS, Adjective, Noun, adjectives, nouns, rows, verb
from nmt.data.phrasebook.phrases import BARE, DETERMINERS, IT, THE, Determiner, Phrase, noun_phrase

GERMAN, ENGLISH = range(2)
CASES = {"nom": NOM, "acc": ACC, "dat": DAT, "gen": GEN}
TENSES = {tense.name.lower(): tense for tense in Tense}
ClauseForms = dict[str, Callable[[Clause], str]]
GERMAN_FORMS: ClauseForms = {"main": clauses.main, "inverted": clauses.inverted, "last": clauses.subordinate}
GERMAN_FORMS |= {"zu": clauses.zu_infinitive, "bare": clauses.bare_infinitive, "order": clauses.command}
GERMAN_FORMS |= {"rest": clauses.continued}
ENGLISH_FORMS: ClauseForms = {"main": clauses.statement, "ask": clauses.question, "to": clauses.infinitive}
ENGLISH_FORMS |= {"ing": clauses.gerund, "rest": clauses.continued_statement}
ENGLISH_FORMS["untimed"] = lambda clause: clauses.statement(clauses.without_time(clause))
SLOT = re.compile(r"\{(\w+)(\+{0,2})(?::([^}/]*))?(?:/(\w+))?\}")
CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")
HOURS = tuple((german.number(hour) if hour > 1 else "eins", english.number(hour)) for hour in range(1, 13))
THIS_YEAR = 2025


@dataclass(frozen=True)
class Sentence:
    """A German sentence, its English, and the dictionary forms of the German content words, in order."""

    german: str
    english: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pattern:
    """A row of patterns.tsv: how often it is drawn, what it draws, and its two templates."""

    weight: int
    where: str
    german: str
    english: str

    def make(self, rng: Random) -> Sentence:
        """Draw a sentence. One that names the same person or thing twice is drawn anew.

        Raises:
            ValueError: the pattern asks for what the tables don't have, or all of many sentences repeat a word.
        """
        for _ in range(1000):
            try:
                sentence = Draft(rng).fill(self)
            except (LookupError, ValueError) as error:
                raise ValueError(f"patterns.tsv, {self.where} … {self.german}: can't use {error}") from error
            if len(set(sentence.words)) == len(sentence.words):
                return sentence
        raise ValueError(f"every sentence of this pattern repeats a word: {sentence.german}")


@dataclass
class Draft:
    """What has been drawn for one sentence, by name."""

    rng: Random
    values: dict[str, Any] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)

    def fill(self, pattern: Pattern) -> Sentence:
        for binding in filter(None, pattern.where.split("; ")):
            name, _, source = binding.partition("=")
            self.values[name] = self.draw(name, source.split())
        sides = choose(self.rng, pattern.german, pattern.english)
        texts = [self.finished(side, language) for language, side in enumerate(sides)]
        return Sentence(texts[GERMAN], texts[ENGLISH], content_words(texts[GERMAN]))

    def finished(self, side: str, language: int) -> str:
        """The words of a template, with a capital letter and a final mark."""
        text = re.sub(r" +(?=[ ,.?!]|$)", "", SLOT.sub(lambda slot: self.render(slot, language), side)).strip()
        return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")

    # ------------------------------------------------------------------------------------------------------ drawing

    def draw(self, name: str, source: list[str]) -> Any:
        """A value for a name: a clause, a person, a number, an adjective, a determiner, an entry of a list, a noun."""
        kind, *rest = source
        if kind in ("do", "say", "verb", "be"):
            return self.clause(kind, rest)
        if kind in people.DRAWERS:
            return people.DRAWERS[kind](self.rng, "anyone")
        if kind == "adj":
            classes = re.split("[-&]", self.classes[rest[0][1:]])[0] if rest[0].startswith("*") else rest[0]
            return self.rng.choice(adjectives(classes + "".join(rest[1:])))
        if kind in TIMES:
            return TIMES[kind](self.rng)
        if kind in ("years", "born"):
            age = self.rng.randint(*people.age_span(self.values[rest[0]]))
            return age if kind == "years" else THIS_YEAR - age
        if match := re.fullmatch(r"(\d+)\.\.(\d+)(?:/(\d+))?", kind):
            return self.rng.randrange(int(match[1]), int(match[2]) + 1, int(match[3] or 1))
        if kind[0].isdigit():
            return int(self.rng.choice(kind.split(",")))
        return self.draw_word(name, self.classes[kind[1:]] if kind[0] == "*" else self.rng.choice(kind.split("|")))

    def draw_word(self, name: str, source: str) -> Any:
        """A noun of a class or an entry of a list that this sentence has not drawn yet."""
        self.classes[name] = source
        choices = LISTS.get(source) or nouns(source)
        return self.rng.choice([choice for choice in choices if choice not in self.values.values()])

    def value(self, name: str) -> Any:
        """What a name stands for; a name that is not bound is a class or a list itself: {city}, {city2}."""
        if name not in self.values:
            self.values[name] = self.draw(name, [name.rstrip("0123456789")])
        return self.values[name]

    def person(self, name: str) -> people.Who | None:
        """A way to choose the subject of a clause: "=p" is the pronoun for p, "rel:n" the relative pronoun for n."""
        if name in people.DRAWERS:
            return people.DRAWERS[name]
        if name.startswith("rel:"):
            antecedent = noun_phrase(THE, self.value(name[4:]))
            forms = (german.relative_pronoun(antecedent.gender, NOM), "", "", "")
            return people.fixed(replace(antecedent, german=forms, english="who", is_pronoun=True))
        known = self.values.get(name.removeprefix("="))
        subject = known.subject if isinstance(known, Clause) else known
        if not isinstance(subject, Phrase):
            return None
        return people.fixed(people.same(subject) if name.startswith("=") else subject)

    def clause(self, kind: str, words: list[str]) -> Clause:
        """A clause of an action ("do"), of a ready predicate ("say"), of a bare verb ("verb"), or with sein ("be")."""
        given = (word for word in words if not word.endswith("?") or self.rng.random() < 0.5)
        name, *flags = (word.removesuffix("?") for word in given)
        whos = [who for who in map(self.person, flags) if who]
        who = whos[0] if whos else people.fixed(IT) if kind == "say" else people.DRAWERS["subject"]
        frame = None
        if kind == "do":
            frame, clause = actions.draw_action(self.rng, name, who)
        elif kind == "say":
            action, piece, *own_flags = self.rng.choice(predicates(name))
            subject = who(self.rng, "anyone")
            clause = Clause(subject, action, (piece(self.rng, subject),) if piece else ())
            flags = [*own_flags, *flags]
        elif kind == "be":
            quality = self.value(name)
            piece = Piece(PLACE, quality.german[0], quality.english[0])
            clause = Clause(who(self.rng, "anyone"), verb("sein"), (piece,))
        else:
            clause = Clause(who(self.rng, "adults"), verb(self.rng.choice(name.split(","))))
        for flag in flags:
            clause = self.flagged(clause, flag, frame)
        return clause

    def flagged(self, clause: Clause, flag: str, frame: Frame | None) -> Clause:
        """The clause with one of its flags: a tense, "not", "front", "+modal", "~adverb" or "@time"."""
        mark, name = flag[0], flag[1:]
        if flag in TENSES:
            return replace(clause, tense=TENSES[flag])
        if flag == "not":
            return replace(clause, negated=True)
        if flag == "front":
            return replace(clause, time_first=self.rng.random() < 0.5)
        if mark == "+":
            return replace(clause, modal=MODALS[name])
        if mark == "~":
            return replace(clause, adverb=self.rng.choice(LISTS[name]))
        if mark == "@" and frame and name in ("plan", "past", "regular"):
            return replace(clause, time=frame.time(self.rng, name))
        if mark == "@":
            return replace(clause, time=self.value(name) if name in self.values else self.rng.choice(LISTS[name]))
        if self.person(flag) is None:
            raise ValueError(f"{flag}: it is no flag and no person")
        return clause

    # ----------------------------------------------------------------------------------------------------- rendering

    def render(self, slot: re.Match[str], language: int) -> str:
        """The words of {name:options} in a language, or the verb that agrees with it: {name/verb}."""
        value, degree = self.value(slot[1]), len(slot[2])
        options = slot[3].split(",") if slot[3] else []
        if options and options[0] in ("called", "by_name"):
            return self.address(slot[1], options[0])[language]
        if isinstance(value, Noun):
            value = self.noun(value, options, language)
        if slot[4]:
            return agreeing(value, slot[4], language)
        if isinstance(value, Clause):
            return (GERMAN_FORMS, ENGLISH_FORMS)[language][options[0] if options else "main"](value)
        if isinstance(value, Phrase):
            return inflected(value, options, language)
        if isinstance(value, Adjective):
            return (value.german, value.english)[language][degree]
        if isinstance(value, int):
            return number(value, options, language)
        return english.with_article(value[1]) if options == ["a"] else value[language]

    def address(self, name: str, how: str) -> tuple[str, str]:
        """How the person spoken to is addressed: "Anna, ". Both languages use the same name."""
        key = f"{name}:address"
        if key not in self.values:
            subject = self.values[name].subject if isinstance(self.values[name], Clause) else self.values[name]
            self.values[key] = (people.called if how == "called" else people.called_by_name)(self.rng, subject)
        return self.values[key]

    def noun(self, noun: Noun, options: list[str], language: int) -> Phrase:
        """A noun with what its options name: a determiner, an owner, a number, an adjective (+ comparative …), "pl"."""
        determiner, attribute, plural = BARE, ("", ""), "pl" in options
        if "it" in options:
            return phrases.pronoun_for(noun_phrase(THE, noun, plural=plural), is_person=False)
        for option in options:
            known = self.values.get(option.rstrip("+")) or DETERMINERS.get(option)
            if isinstance(known, Phrase | Clause):
                owner = known.subject if isinstance(known, Clause) else known
                determiner = owner.possessor or THE
            elif isinstance(known, int):
                determiner, plural = phrases.numeral(known), known > 1
            elif isinstance(known, Adjective):
                attribute = (known.german[option.count("+")], known.english[option.count("+")])
            elif isinstance(known, Determiner):
                determiner = known
        if "very" in options:
            attribute = (f"sehr {attribute[0]}", f"very {attribute[1]}")
        return noun_phrase(determiner, noun, attribute, plural)


def inflected(phrase: Phrase, options: list[str], language: int) -> str:
    """A phrase in a German case or as relative pronoun ("rel"), an English phrase as object ("obj") or owner ("'s")."""
    case = next((CASES[option] for option in options if option in CASES), NOM)
    if language == GERMAN and "rel" in options:
        return german.relative_pronoun(phrase.gender, case)
    if language == GERMAN:
        words = phrase.german[case].rpartition(" ")[0] if "elided" in options else phrase.german[case]
        return next((german.with_preposition(option, words) for option in options if option in ("zu", "von")), words)
    if "'s" in options:
        of_noun = english.possessive(phrase.english, phrase.agreement == "they")
        return {"I": "my", "he": "his", "she": "her"}.get(phrase.english, of_noun)
    return phrase.english_object if "obj" in options else phrase.english


def agreeing(subject: Phrase | Clause, verb_name: str, language: int) -> str:
    """A verb in the form that its subject needs: {p/haben} – {p/have}."""
    phrase = subject.subject if isinstance(subject, Clause) else subject
    if language == GERMAN:
        infinitive = verb(verb_name).verb if verb_name in VERBS else german.Verb(verb_name, "", "")
        return german.present(infinitive, phrase.person)
    if verb_name in ("be", "was"):
        return english.be(phrase.agreement, verb_name == "was")
    return english.inflected(verb_name, "third") if phrase.agreement == "he" else verb_name


def number(value: int, options: list[str], language: int) -> str:
    """A number in words, as an ordinal ("ord", in German the stem) or in figures ("figures")."""
    words = (german, english)[language]
    return words.ordinal(value) if "ord" in options else str(value) if "figures" in options else words.number(value)


def choose(rng: Random, *sides: str) -> list[str]:
    """Choose from each (a|b|c): the same place in the first group of both sides, in the second, and so on."""
    groups = [[group.split("|") for group in CHOICE.findall(side)] for side in sides]
    chosen = [rng.randrange(len(group)) for group in groups[0]]
    texts = []
    for side, found in zip(sides, groups, strict=True):
        for group, place in zip(found, chosen, strict=True):
            side = CHOICE.sub(group[place].replace("\\", ""), side, count=1)
        texts.append(side)
    return texts


def clock(rng: Random) -> tuple[str, str]:
    """A time of day; "halb drei" names the hour to come, "half past two" the one gone."""
    place, draw = rng.randrange(12), rng.random()
    hour, english_hour = HOURS[place]
    if draw < 0.2:
        return f"{'ein' if place == 0 else hour} Uhr", f"{english_hour} o'clock"
    if draw < 0.45:
        return f"halb {hour}", f"half past {HOURS[place - 1][1]}"
    minutes, english_minutes = rng.choice(LISTS["minutes"])
    after, english_after = rng.choice((("nach", "past"), ("vor", "to")))
    return f"{minutes} {after} {hour}", f"{english_minutes} {english_after} {english_hour}"


def day_and_hour(rng: Random) -> tuple[str, str]:
    """ "am Montag um drei Uhr", which English says the other way round."""
    day, english_day = rng.choice((*LISTS["on_day"], ("morgen", "tomorrow")))
    hour = rng.randrange(12)
    return f"{day} um {german.number(hour + 1) if hour else 'ein'} Uhr", f"at {HOURS[hour][1]} o'clock {english_day}"


def since_long(rng: Random) -> tuple[str, str]:
    number = rng.randint(2, 20)
    unit, english_unit = rng.choice((("Jahren", "years"), ("Monaten", "months"), ("Wochen", "weeks")))
    return f"seit {german.number(number)} {unit}", f"for {english.number(number)} {english_unit}"


TIMES = {"clock": clock, "day_and_hour": day_and_hour, "since_long": since_long}


@cache
def predicates(name: str) -> tuple[tuple[Any, ...], ...]:
    """The ready predicates of a list: verb, what fills the place beside it, and flags."""
    found = [(*row[1:], "", "")[:3] for row in rows("predicates") if name in row[0].split()]
    return tuple((verb(name), read_slot(words) if words else None, *flags.split()) for name, words, flags in found)


PATTERNS = tuple(Pattern(int(row[0]), *row[1:]) for row in rows("patterns"))
