"""The words of the phrasebook, read from the tables beside this file: nouns, adjectives, verbs and lists of phrases.

In flow entries such as "der Apfel, Äpfel = apple" with classes, out flow `Noun`, `Adjective` and `Action` objects,
which patterns ask for by class: `nouns("counted_food-ingredient")`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from nmt.data.phrasebook import english, german
from nmt.data.phrasebook.german import Forms, Gender

GENDERS: dict[str, Gender] = {"der": "m", "die": "f", "das": "n", "pl": "p"}
Pair = tuple[str, str]
"""Words that need no grammar: (German, English)."""


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun in both languages. An empty `plural` marks a mass noun (Kaffee)."""

    german: str
    gender: Gender
    plural: str
    english: str
    english_plural: str
    weak: bool = False
    pair: bool = False
    """True for trousers and glasses: one thing in German, a plural in English."""
    classes: frozenset[str] = frozenset()
    where: tuple[str, ...] = ()
    """Of a place, the prepositions of being there and of going there, and the English one of being there."""

    def forms(self, plural: bool) -> Forms:
        return german.plural_forms(self.plural) if plural else german.noun_forms(self.german, self.gender, self.weak)


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective in both languages, each as (positive, comparative, superlative)."""

    german: tuple[str, str, str]
    english: tuple[str, str, str]
    classes: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Action:
    """A verb in both languages: "auf|stehen" and "get up"."""

    verb: german.Verb
    english: str


def noun(words: str, meaning: str, classes: str = "") -> Noun:
    """Read ("der Apfel, Äpfel", "apple").

    "der* Junge, Jungen" is a weak noun, "~trousers" a pair, "pl Eltern" a noun without a singular. An irregular English
    plural follows a comma: "series, series".
    """
    article, _, names = words.partition(" ")
    singular, _, plural = (name.strip() for name in names.partition(","))
    of_one, _, of_several = (name.strip() for name in meaning.removeprefix("~").partition(","))
    gender, is_pair = GENDERS[article.removesuffix("*")], meaning.startswith("~")
    of_several = of_one if is_pair or gender == "p" else of_several or english.plural(of_one)
    tags = frozenset([*classes.split(), gender, *(["pair"] if is_pair else [])])
    where = next((tuple(tag.split("/")) for tag in tags if "/" in tag), ())
    plural = singular if gender == "p" else plural
    return Noun(singular, gender, plural, of_one, of_several, "*" in article, is_pair, tags, where)


def adjective(words: str, meaning: str, classes: str = "") -> Adjective:
    """Read ("schön", "beautiful"), or ("alt älter ältest", "old") where the degrees are irregular."""
    positive, *degrees = words.split()
    higher, highest = degrees or [german.comparative(positive), german.superlative(positive)]
    return Adjective((positive, higher, highest), (meaning, *english.comparison(meaning)), frozenset(classes.split()))


def action(words: str, meaning: str) -> Action:
    """Read ("auf|stehen steht +aufgestanden", "get up").

    | ends the prefix, + marks a perfect with sein, sich (accusative) or sich_dat a reflexive verb, _ a space in a word.
    """
    *reflexive, infinitive, third, participle = (form.replace("_", " ") for form in words.split())
    prefix, _, stem = infinitive.rpartition("|")
    case = german.REFLEXIVE_MARKS[" ".join(reflexive)]
    return Action(
        german.Verb(stem, third, participle.removeprefix("+"), prefix, participle.startswith("+"), case), meaning
    )


def rows(table: str) -> Iterator[list[str]]:
    """The rows of a table in this folder as lists of cells, without blank lines and comments (#)."""
    for line in (Path(__file__).parent / f"{table}.tsv").read_text(encoding="utf8").splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


def pairs(cell: str) -> tuple[Pair, ...]:
    """Read "Berlin; Wien = Vienna": without =, both languages have the same word."""
    entries = (entry.partition("=") for entry in cell.split(";") if entry.strip())
    return tuple((left.strip(), right.strip() if equals else left.strip()) for left, equals, right in entries)


NOUNS = tuple(noun(*entry, classes) for classes, cell in rows("nouns") for entry in pairs(cell))
ADJECTIVES = tuple(adjective(*entry, classes) for classes, cell in rows("adjectives") for entry in pairs(cell))
VERBS = {"_".join(forms.split()[:-2]): (forms, meaning) for [cell] in rows("verbs") for forms, meaning in pairs(cell)}
LISTS: dict[str, tuple[Pair, ...]] = {}
for name, cell in rows("lists"):
    LISTS[name] = LISTS.get(name, ()) + pairs(cell)


def verb(name: str) -> Action:
    """A verb of verbs.tsv by its infinitive there: "auf|stehen", "sich_freuen"; "kochen=make" has another English."""
    infinitive, _, meaning = name.partition("=")
    forms, usual = VERBS[infinitive]
    return action(forms, meaning.replace("_", " ") or usual)


Word = TypeVar("Word", Noun, Adjective)


@cache
def nouns(classes: str) -> tuple[Noun, ...]:
    """The nouns of an expression over classes: "food-spread&n" is food that is no spread and neuter.

    Raises:
        ValueError: no noun is in it.
    """
    return members(NOUNS, classes)


@cache
def adjectives(classes: str) -> tuple[Adjective, ...]:
    """The adjectives of an expression over classes, as `nouns`."""
    return members(ADJECTIVES, classes)


def members(words: tuple[Word, ...], classes: str) -> tuple[Word, ...]:
    parts = [part.split("-") for part in classes.split("&")]
    fitting = (word for word in words if all(first in word.classes for first, *_ in parts))
    found = tuple(word for word in fitting if all(word.classes.isdisjoint(without) for _, *without in parts))
    if not found:
        raise ValueError(f"no word is in the class {classes}: see the first column of nouns.tsv and adjectives.tsv")
    return found
