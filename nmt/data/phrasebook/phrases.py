"""Noun phrases in both languages: "der alte Mann" with "the old man", pronouns, names and possessors.

In flow words of the lexicon, out flow `Phrase` objects that know their German cases, their agreement and their pronoun.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import cast

from nmt.data.phrasebook import english, german
from nmt.data.phrasebook.english import Agreement
from nmt.data.phrasebook.german import Declension, Forms, Gender
from nmt.data.phrasebook.lexicon import Noun, Pair

ICH, DU, ER, WIR, IHR, SIE = range(6)
"""The grammatical persons, as German verbs number them."""


@dataclass(frozen=True)
class Determiner:
    """What stands before a noun; an empty English word stands for none."""

    german: str
    declension: Declension
    english: str
    english_plural: str = ""


THE = Determiner("der", "der", "the")
A = Determiner("ein", "ein", "a")
BARE = Determiner("", "none", "")
NO = Determiner("kein", "ein", "a", "any")
THIS = Determiner("dies", "dieser", "this", "these")
WHICH = Determiner("welch", "dieser", "which")
MY = Determiner("mein", "ein", "my")
YOUR_DU = Determiner("dein", "ein", "your")
HIS = Determiner("sein", "ein", "his")
HER = Determiner("ihr", "ein", "her")
OUR = Determiner("unser", "ein", "our")
YOUR_IHR = Determiner("euer", "ein", "your")
THEIR = Determiner("ihr", "ein", "their")
YOUR_SIE = Determiner("Ihr", "ein", "your")
DETERMINERS = {"der": THE, "the": THE, "ein": A, "a": A, "kein": NO, "mein": MY, "my": MY, "unser": OUR, "our": OUR}
DETERMINERS |= {"dies": THIS, "this": THIS, "welch": WHICH, "which": WHICH}
"""How tables name determiners, in both languages."""


@dataclass(frozen=True, eq=False)
class Phrase:
    """A noun phrase: its German in four cases, its English as subject and as object, and what agrees with it."""

    german: Forms
    english: str
    person: int
    gender: Gender
    english_object: str
    agreement: Agreement
    noun: str = ""
    """The German noun or name at its head; a pronoun has none."""
    is_pronoun: bool = False
    possessor: Determiner | None = None
    """The possessive that refers back to it: "seine" after "der Mann"; none where English would have to guess."""


def make_pronoun(forms: str, words: str, person: int, gender: Gender, possessor: Determiner | None) -> Phrase:
    agreement: Agreement = "I" if person == ICH else "he" if person == ER else "they"
    (nominative, accusative, dative), (subject, obj) = forms.split(), words.split()
    cases = (nominative, accusative, dative, "")
    return Phrase(cases, subject, person, gender, obj, agreement, is_pronoun=True, possessor=possessor)


I = make_pronoun("ich mich mir", "I me", ICH, "m", MY)  # noqa: E741
YOU_DU = make_pronoun("du dich dir", "you you", DU, "m", YOUR_DU)
HE = make_pronoun("er ihn ihm", "he him", ER, "m", HIS)
SHE = make_pronoun("sie sie ihr", "she her", ER, "f", HER)
IT = make_pronoun("es es ihm", "it it", ER, "n", None)
WE = make_pronoun("wir uns uns", "we us", WIR, "p", OUR)
YOU_IHR = make_pronoun("ihr euch euch", "you you", IHR, "p", YOUR_IHR)
THEY = make_pronoun("sie sie ihnen", "they them", SIE, "p", THEIR)
YOU_SIE = make_pronoun("Sie Sie Ihnen", "you you", SIE, "m", YOUR_SIE)
PRONOUNS = (I, HE, SHE, WE, THEY)
POSSESSORS = {"m": HIS, "f": HER, "n": None, "p": THEIR}


@cache
def noun_phrase(determiner: Determiner, noun: Noun, attribute: Pair = ("", ""), plural: bool = False) -> Phrase:
    """Decline determiner, attribute and noun together. The attribute has no ending yet: "alt", "älter", "sehr alt"."""
    plural = plural or noun.gender == "p"
    gender: Gender = "p" if plural else noun.gender
    cases = (declined(determiner, attribute[0], form, case, gender) for case, form in enumerate(noun.forms(plural)))
    english_plural = plural or noun.pair
    name = noun.english_plural if plural else noun.english
    text = with_determiner(determiner, f"{attribute[1]} {name}".strip(), english_plural, noun.pair)
    agreement: Agreement = "they" if english_plural else "he"
    person, possessor = (SIE if plural else ER), POSSESSORS[gender]
    return Phrase(cast(Forms, (*cases,)), text, person, gender, text, agreement, noun.german, possessor=possessor)


@cache
def numeral(value: int) -> Determiner:
    """A number before a noun: "zwei" (Äpfel), "ein" (Apfel)."""
    if value == 1:
        return Determiner("ein", "ein", "one")
    return Determiner(german.number(value), "none", english.number(value))


@cache
def name_phrase(name: str, is_female: bool, title: str = "") -> Phrase:
    """A person's name, with "Frau" or "Herr" before a surname: the one title that German declines (Herrn Weber)."""
    if title:
        oblique = "Herrn" if title == "Herr" else title
        cases: Forms = (f"{title} {name}", f"{oblique} {name}", f"{oblique} {name}", f"{oblique} {name}s")
        text = f"{'Mr' if title == 'Herr' else 'Ms'} {name}"
    else:
        cases, text = (name, name, name, f"{name}s"), name
    gender: Gender = "f" if is_female else "m"
    return Phrase(cases, text, ER, gender, text, "he", name, possessor=POSSESSORS[gender])


def pronoun_for(phrase: Phrase, is_person: bool = True) -> Phrase:
    """The third-person pronoun that takes up a phrase; of a thing it is English "it", whatever its German gender."""
    if phrase.agreement == "they":
        return replace(THEY, person=phrase.person, german={"m": HE, "f": SHE, "n": IT, "p": THEY}[phrase.gender].german)
    pronoun = {"m": HE, "f": SHE, "n": IT, "p": THEY}[phrase.gender]
    return pronoun if is_person else replace(pronoun, english="it", english_object="it")


def declined(determiner: Determiner, attribute: str, noun: str, case: int, gender: Gender) -> str:
    parts = [german.determiner(determiner.german, determiner.declension, case, gender)]
    if attribute:
        parts.append(german.adjective(attribute, determiner.declension, case, gender))
    return " ".join(part for part in [*parts, noun] if part)


def with_determiner(determiner: Determiner, words: str, plural: bool, pair: bool) -> str:
    if determiner in (A, NO) and pair:
        return f"a pair of {words}"
    if determiner is A or (determiner is NO and not plural):
        return english.with_article(words)
    article = (plural and determiner.english_plural) or determiner.english
    return f"{article} {words}" if article else words
