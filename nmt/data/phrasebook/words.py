"""Nouns, adjectives and verbs in both languages, and the readers that make them from lines of a table.

In flow lines such as "der Apfel, Äpfel = apple", out flow `Noun`, `Adjective` and `Action` objects.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from nmt.data.phrasebook import english, german
from nmt.data.phrasebook.german import Forms, Gender, Verb

GENDERS: dict[str, Gender] = {"der": "m", "die": "f", "das": "n"}


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun in both languages; an empty `plural` marks a mass noun (Kaffee)."""

    german: str
    gender: Gender
    plural: str
    english: str
    english_plural: str
    weak: bool = False
    pair: bool = False
    """True of trousers and glasses: one thing in German, a plural in English."""

    def forms(self, plural: bool) -> Forms:
        return german.plural_forms(self.plural) if plural else german.noun_forms(self.german, self.gender, self.weak)


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective with its degrees of comparison in both languages."""

    german: str
    german_comparative: str
    german_superlative: str
    english: str
    english_comparative: str
    english_superlative: str


@dataclass(frozen=True, eq=False)
class Action:
    """A verb in both languages: "auf|stehen" and "get up"."""

    verb: Verb
    english: str

    @property
    def word(self) -> str:
        return self.verb.whole()


@dataclass(frozen=True, eq=False)
class Place:
    """Somewhere to be and to go: "im Kino" (at the cinema), "ins Kino" (to the cinema)."""

    noun: Noun
    where: str
    whither: str
    english_where: str


def noun(line: str) -> Noun:
    """Reads "der Apfel, Äpfel = apple".

    "der* Junge, Jungen = boy" is a weak noun, "die Hose, Hosen = ~trousers" a pair, "pl Eltern = parents" a plural.
    """
    left, right = sides(line)
    article, _, names = left.partition(" ")
    singular, _, plural = (name.strip() for name in names.partition(","))
    meaning, _, meanings = (name.strip() for name in right.partition(","))
    pair = meaning.startswith("~")
    meaning = meaning.removeprefix("~")
    if article == "pl":
        return Noun(singular, "p", singular, meaning, meaning)
    gender = GENDERS[article.removesuffix("*")]
    meanings = meaning if pair else meanings or english.plural(meaning)
    return Noun(singular, gender, plural, meaning, meanings, weak=article.endswith("*"), pair=pair)


def adjective(line: str) -> Adjective:
    """Reads "schön = beautiful", or "alt älter ältest = old" where the degrees are irregular."""
    left, right = sides(line)
    positive, *degrees = left.split()
    higher, highest = degrees or [german.comparative(positive), german.superlative(positive)]
    return Adjective(positive, higher, highest, right, english.comparative(right), english.superlative(right))


def action(line: str) -> Action:
    """Reads "auf|stehen steht +aufgestanden = get up".

    | ends the prefix, + marks a perfect with sein, sich or sich_dat a reflexive verb, and _ a space within a word.
    """
    left, right = sides(line)
    *reflexive, infinitive, third, participle = (form.replace("_", " ") for form in left.split())
    prefix, _, stem = infinitive.rpartition("|")
    case = german.REFLEXIVE_MARKS[" ".join(reflexive)]
    verb = Verb(stem, third, participle.removeprefix("+"), prefix, participle.startswith("+"), case)
    return Action(verb, right)


def nouns(table: str) -> tuple[Noun, ...]:
    return tuple(noun(line) for line in table_lines(table))


def adjectives(table: str) -> tuple[Adjective, ...]:
    return tuple(adjective(line) for line in table_lines(table))


def places(table: str) -> tuple[Place, ...]:
    """Reads "in in at: das Kino, Kinos = cinema": the prepositions of place and direction, the English one of place."""
    entries = (line.split(":") for line in table_lines(table))
    return tuple(Place(noun(name), *prepositions.split()) for prepositions, name in entries)


def pairs(table: str) -> tuple[tuple[str, str], ...]:
    """Reads lines "German = English" that need no grammar."""
    return tuple(sides(line) for line in table_lines(table))


def table_lines(table: str) -> Iterator[str]:
    """The entries of a table: one a line, or several with semicolons between."""
    return (line for line in table.replace("\n", ";").split(";") if line.strip())


def sides(line: str) -> tuple[str, str]:
    left, right = line.split("=")
    return left.strip(), right.strip()
