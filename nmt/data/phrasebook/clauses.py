"""A clause said in both languages: who does what, when and how, put into the word order that each language asks for.

In flows a `Clause` (subject, verb, tense, complements), out flow its German as a main clause (verb second), a question
(verb first), a subordinate clause (verb last) or an infinitive with zu, and the English of each.
"""

from dataclasses import dataclass, replace
from enum import Enum

from nmt.data.phrasebook import english, german
from nmt.data.phrasebook.lexicon import Action, Pair
from nmt.data.phrasebook.phrases import Phrase

# Where a piece stands between the finite verb and the end of the German clause. "nicht" stands at LATE.
PRONOUN, DATIVE, EARLY_OBJECT, TIME, OBJECT, LATE, INDEFINITE, MANNER, PLACE = range(9)


class Tense(Enum):
    """A tense of German with the English tense that answers it: they differ, so a pair is chosen, not either alone."""

    SIMPLE = ("present", "simple")
    PROGRESSIVE = ("present", "progressive")
    PRESENT_WILL = ("present", "will")
    PAST = ("past", "past")
    PERFECT = ("past", "perfect")
    BEFORE = ("pluperfect", "past perfect")
    SINCE = ("present", "perfect progressive")
    FUTURE = ("future", "will")

    def __init__(self, german: str, english: str) -> None:
        self.german, self.english = german, english


@dataclass(frozen=True)
class Modal:
    """A modal verb; its English is an auxiliary ("can") or a verb phrase that is inflected itself ("have to").

    "like to" has no German verb: German says it with the adverb "gern".
    """

    german: str
    english: str


# Adverbs that stand where "nicht" stands, after definite objects; others stand with the times, before them.
LATE_ADVERBS = frozenset({"schon", "nie", "noch nie", "noch", "nicht gern", "lieber", "schon einmal"})

MODALS = {
    "could": Modal("könnten", "could"),
    "can": Modal("können", "can"),
    "should": Modal("sollten", "should"),
    "must": Modal("müssen", "have to"),
    "want": Modal("wollen", "want to"),
    "allowed": Modal("dürfen", "be allowed to"),
    "may": Modal("dürfen", "may"),
    "would": Modal("möchten", "would like to"),
    "like": Modal("", "like to"),
    "prefer": Modal("", "prefer to"),
}


@dataclass(frozen=True, eq=False)
class Piece:
    """A complement or adverbial in both languages; the negative forms, if any, are those with "kein"."""

    slot: int
    german: str
    english: str
    german_negative: str = ""
    english_negative: str = ""


@dataclass(frozen=True, eq=False)
class Clause:
    """Who does what, not yet in any order."""

    subject: Phrase
    action: Action
    pieces: tuple[Piece, ...] = ()
    """Objects, manner and place in English order; German orders them by their slots."""
    tense: Tense = Tense.SIMPLE
    negated: bool = False
    modal: Modal | None = None
    adverb: Pair | None = None
    """A word like "oft" or "schon" that English puts before its verb."""
    time: Pair | None = None
    """When, said at the end in English."""
    time_first: bool = False
    """True if both languages begin with the time."""


def main(clause: Clause) -> str:
    """A German main clause: "Er steht morgen früh auf" or "Morgen steht er früh auf"."""
    if clause.time and clause.time_first:
        return inverted(without_time(clause), clause.time[0])
    finite, end, _ = verb_forms(clause)
    return spoken(clause.subject.german[german.NOM], finite, *list_pronouns(clause), *order_middle(clause), end)


def inverted(clause: Clause, front: str = "") -> str:
    """A German clause with the subject after the verb: a question, or a statement that begins with something else.

    A pronoun comes before a subject that is a noun: "Gestern hat sich Anna gefreut".
    """
    finite, end, _ = verb_forms(clause)
    subject, pronouns = clause.subject.german[german.NOM], list_pronouns(clause)
    opening = [subject, *pronouns] if clause.subject.is_pronoun else [*pronouns, subject]
    return spoken(front, finite, *opening, *order_middle(clause), end)


def subordinate(clause: Clause) -> str:
    """A German clause with its verb at the end, after a conjunction or a question word: "weil er früh aufsteht"."""
    _, _, cluster = verb_forms(clause)
    return spoken(clause.subject.german[german.NOM], *list_pronouns(clause), *order_middle(clause), cluster)


def continued(clause: Clause) -> str:
    """What "und" can add to a German clause that shares subject and finite verb: "… und die Fenster geputzt"."""
    _, end, _ = verb_forms(clause)
    return spoken(*list_pronouns(clause), *order_middle(clause), end)


def zu_infinitive(clause: Clause) -> str:
    """The German infinitive group without a subject: "morgen früh aufzustehen"."""
    return spoken(*list_pronouns(clause), *order_middle(clause), clause.action.verb.with_zu())


def command(clause: Clause) -> str:
    """A German command to the subject, which is one of the pronouns of address: "Ruf mich an"."""
    verb, subject = clause.action.verb, clause.subject
    formal = subject.german[german.NOM] == "Sie"
    form = f"{verb.infinitive} Sie" if formal else german.imperative(verb, subject.person)
    return spoken(form, *list_pronouns(clause), *order_middle(clause), verb.prefix.strip())


def bare_infinitive(clause: Clause) -> str:
    """The German infinitive group without zu: "ins Kino gehen"."""
    return spoken(*order_middle(clause), clause.action.verb.whole())


def statement(clause: Clause) -> str:
    """The clause as an English statement, also after a conjunction."""
    if clause.time and clause.time_first:
        return f"{clause.time[1]} {statement(without_time(clause))}"
    auxiliary, verb = english_verb(clause, asks=False)
    return spoken(clause.subject.english, auxiliary, before_verb(clause), verb, *after_verb(clause))


def question(clause: Clause) -> str:
    """The clause as an English question, with do-support where it is needed."""
    auxiliary, verb = english_verb(clause, asks=True)
    return spoken(auxiliary, clause.subject.english, before_verb(clause), verb, *after_verb(clause))


def continued_statement(clause: Clause) -> str:
    """What "and" can add to an English clause with the same subject."""
    auxiliary, verb = english_verb(clause, asks=False)
    return spoken(auxiliary, before_verb(clause), verb, *after_verb(clause))


def infinitive(clause: Clause) -> str:
    """The English verb phrase without a subject and without "to": "get up early tomorrow"."""
    return spoken(before_verb(clause), clause.action.english, *after_verb(clause))


def gerund(clause: Clause) -> str:
    """The English verb phrase in -ing: "getting up early"."""
    return spoken(before_verb(clause), english.inflected(clause.action.english, "ing"), *after_verb(clause))


def spoken(*words: str) -> str:
    return " ".join(word for word in words if word)


def without_time(clause: Clause) -> Clause:
    return replace(clause, time=None, time_first=False)


def is_negative(clause: Clause) -> bool:
    """True if English negates the verb; of "nicht gern" the German negation is in the adverb."""
    return clause.negated or (clause.adverb is not None and clause.adverb[0] == "nicht gern")


def verb_forms(clause: Clause) -> tuple[str, str, str]:
    """The German finite verb, what closes the main clause, and the whole cluster that closes a subordinate one."""
    verb, person, is_past = clause.action.verb, clause.subject.person, clause.tense.german == "past"
    if clause.modal and clause.modal.german:
        modal = clause.modal.german
        finite = german.PRETERITE[modal][person] if is_past else german.PRESENT[modal][person]
        return finite, verb.whole(), f"{verb.whole()} {finite}"
    if clause.tense is Tense.FUTURE:
        finite = german.PRESENT["werden"][person]
        return finite, verb.whole(), f"{verb.whole()} {finite}"
    if clause.tense is Tense.PAST and verb.whole() in german.PRETERITE:
        finite = german.PRETERITE[verb.whole()][person]
        return finite, "", finite
    if is_past or clause.tense is Tense.BEFORE:
        forms = german.PRESENT if is_past else german.PRETERITE
        finite = forms["sein" if verb.with_sein else "haben"][person]
        return finite, verb.participle, f"{verb.participle} {finite}"
    finite = german.present(verb, person)
    return finite, verb.prefix.strip(), verb.prefix + finite


def list_pronouns(clause: Clause) -> list[str]:
    """The unstressed pronouns, which come first after the verb or the conjunction's subject."""
    found = [piece.german for piece in clause.pieces if piece.slot == PRONOUN]
    reflexive = clause.action.verb.reflexive
    return [*found, german.REFLEXIVE[reflexive][clause.subject.person]] if reflexive else found


def order_middle(clause: Clause) -> list[str]:
    """The German middle field after the pronouns: dative, time, object, nicht, manner, place."""
    with_kein = clause.negated and any(piece.german_negative for piece in clause.pieces)
    is_late = clause.negated or (clause.adverb is not None and clause.adverb[0] in LATE_ADVERBS)
    placed: list[tuple[int, str]] = []
    for piece in clause.pieces:
        slot = EARLY_OBJECT if piece.slot == OBJECT and is_late else piece.slot
        if slot != PRONOUN:
            placed.append((slot, piece.german_negative if with_kein and piece.german_negative else piece.german))
    if clause.time:
        placed.append((TIME, clause.time[0]))
    if clause.adverb:
        slot = LATE if clause.adverb[0] in LATE_ADVERBS else PRONOUN if clause.adverb[0] == "bitte" else TIME
        placed.append((slot, clause.adverb[0]))
    if clause.negated and not with_kein:
        placed.append((LATE, "nicht"))
    return [words for _, words in sorted(placed, key=lambda item: item[0])]


def english_verb(clause: Clause, asks: bool) -> tuple[str, str]:
    """The English auxiliary, negated if the clause is, and the rest of the verb."""
    auxiliary, verb = english_auxiliary(clause, asks or is_negative(clause))
    return english.negated(auxiliary) if is_negative(clause) else auxiliary, verb


def english_auxiliary(clause: Clause, needs_auxiliary: bool) -> tuple[str, str]:
    """The English auxiliary, if there is one, and the rest of the verb."""
    agreement, tense, verb = clause.subject.agreement, clause.tense.english, clause.action.english
    if clause.modal:
        if clause.modal.english in ("can", "could", "should", "may"):
            past = {"can": "could"}.get(clause.modal.english, "")
            return past if tense == "past" else clause.modal.english, verb
        verb = f"{clause.modal.english} {verb}"
    head, _, rest = verb.partition(" ")
    if head == "would" or tense == "will":
        return ("would", rest) if head == "would" else ("will", verb)
    if tense == "past perfect":
        return "had", english.inflected(verb, "participle")
    if tense.startswith("perfect"):
        done = english.inflected(verb, "participle") if tense == "perfect" else f"been {english.inflected(verb, 'ing')}"
        return "has" if agreement == "he" else "have", done
    if tense == "progressive":
        return english.be(agreement), english.inflected(verb, "ing")
    if head == "be":
        return english.be(agreement, tense == "past"), rest
    if needs_auxiliary:
        return "did" if tense == "past" else "does" if agreement == "he" else "do", verb
    if tense == "past":
        return "", english.inflected(verb, "past")
    return "", english.inflected(verb, "third") if agreement == "he" else verb


def before_verb(clause: Clause) -> str:
    """The adverb that English puts before the verb; "yet" goes to the end instead."""
    return clause.adverb[1] if clause.adverb and clause.adverb[1] not in AT_THE_END else ""


def after_verb(clause: Clause) -> list[str]:
    """What follows the English verb: complements, a closing adverb, the time."""
    # "She doesn't drink coffee" is a habit; of one occasion English says "any coffee".
    with_any = clause.negated and clause.tense is not Tense.SIMPLE and clause.modal is None
    words = [(with_any and piece.english_negative) or piece.english for piece in clause.pieces]
    if clause.adverb and clause.adverb[1] in AT_THE_END:
        words.append(clause.adverb[1])
    return [*words, clause.time[1]] if clause.time else words


AT_THE_END = frozenset({"yet", "right now"})
