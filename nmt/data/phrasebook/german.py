"""German word forms: declension of articles, adjectives and nouns; conjugation; contractions; numbers.

In flow dictionary forms ("Junge", "lesen", "alt"), out flow the forms of a sentence ("Jungen", "liest", "älteren").
"""

from dataclasses import dataclass
from typing import Literal

Gender = Literal["m", "f", "n", "p"]
"""Masculine, feminine, neuter; the plural, where gender no longer shows, is treated as a fourth."""

Forms = tuple[str, str, str, str]
"""A word or phrase in the four cases, indexed by NOM, ACC, DAT, GEN."""

NOM, ACC, DAT, GEN = range(4)

COLUMN = {"m": 0, "f": 1, "n": 2, "p": 3}
# One row a case, one column a gender: masculine, feminine, neuter, plural.
DEFINITE = ("der die das die", "den die das die", "dem der dem den", "des der des der")
DIESER = ("er e es e", "en e es e", "em er em en", "es er es er")
EIN = ("- e - e", "en e - e", "em er em en", "es er es er")
WEAK = ("e e e en", "en e e en", "en en en en", "en en en en")
MIXED = ("er e es en", "en e es en", "en en en en", "en en en en")
STRONG = ("er e es e", "en e es e", "em er em en", "en er en er")

Declension = Literal["der", "dieser", "ein", "none"]
"""How a determiner is declined; "none" has no endings (numerals) or no determiner at all."""

DETERMINER_ENDINGS = {"der": DEFINITE, "dieser": DIESER, "ein": EIN}
ADJECTIVE_ENDINGS = {"der": WEAK, "dieser": WEAK, "ein": MIXED, "none": STRONG}
LONG_GENITIVES = frozenset({"Arzt", "Hund", "Kind", "Mann", "Sohn"})
CONTRACTIONS = {
    "in dem": "im",
    "in das": "ins",
    "an dem": "am",
    "an das": "ans",
    "zu dem": "zum",
    "zu der": "zur",
    "von dem": "vom",
    "bei dem": "beim",
}
ATTRIBUTIVE_STEMS = {"hoch": "hoh", "teuer": "teur", "dunkel": "dunkl", "sauer": "saur"}
NUMBERS = """
null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn
achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig
"""
ONES, TENS = NUMBERS.split()[:20], NUMBERS.split()[20:]
ORDINALS = {1: "erst", 3: "dritt", 7: "siebt", 8: "acht"}
RELATIVE = {"m": "der den dem", "f": "die die der", "n": "das das dem", "p": "die die denen"}


def determiner(stem: str, declension: Declension, case: int, gender: Gender) -> str:
    """A declined determiner: ("mein", "ein", DAT, "f") → "meiner"."""
    if declension == "none":
        return stem
    ending = DETERMINER_ENDINGS[declension][case].split()[COLUMN[gender]].strip("-")
    if declension == "der":
        return ending
    return ("eur" if stem == "euer" and ending else stem) + ending


def adjective(stem: str, declension: Declension, case: int, gender: Gender) -> str:
    """A declined adjective, "sehr" before it allowed, after a determiner of this declension: strong, weak or mixed."""
    ending = ADJECTIVE_ENDINGS[declension][case].split()[COLUMN[gender]]
    degree, space, last = stem.rpartition(" ")
    last = ATTRIBUTIVE_STEMS.get(last, last)
    return degree + space + last + (ending[1:] if last.endswith("e") else ending)


def noun_forms(singular: str, gender: Gender, weak: bool) -> Forms:
    """The singular in four cases; a weak noun (der Junge, den Jungen) takes -(e)n everywhere but in the nominative."""
    if weak:
        oblique = singular + ("n" if singular.endswith(("e", "r")) else "en")
        return singular, oblique, oblique, oblique
    genitive = singular
    if gender in ("m", "n"):
        genitive += "es" if singular.endswith(("s", "ß", "z", "sch")) or singular in LONG_GENITIVES else "s"
    return singular, singular, singular, genitive


def plural_forms(plural: str) -> Forms:
    """The plural in four cases: the dative takes -n unless it ends in -n or -s already."""
    dative = plural if plural.endswith(("n", "s")) else plural + "n"
    return plural, plural, dative, plural


def with_preposition(preposition: str, phrase: str) -> str:
    """Joins a preposition to a phrase already in its case, contracting "in dem" to "im" and the like."""
    first, space, rest = phrase.partition(" ")
    contracted = CONTRACTIONS.get(f"{preposition} {first}")
    return contracted + space + rest if contracted and space else f"{preposition} {phrase}"


def relative_pronoun(gender: Gender, case: int) -> str:
    """The relative pronoun in the nominative, accusative or dative."""
    return RELATIVE[gender].split()[case]


def comparative(positive: str) -> str:
    """The regular comparative; umlauts (älter) stand in the lexicon."""
    return ATTRIBUTIVE_STEMS.get(positive, positive) + ("r" if positive.endswith("e") else "er")


def superlative(positive: str) -> str:
    """The regular superlative stem, to which endings are added: "schönst", "neuest"."""
    return positive + ("est" if positive.endswith(("d", "t", "s", "ß", "z", "sch", "eu")) else "st")


def number(value: int) -> str:
    """A number from 0 to 999 in words: 21 → "einundzwanzig"."""
    if value < 20:
        return ONES[value]
    if value < 100:
        ones = "ein" if value % 10 == 1 else ONES[value % 10]
        tens = TENS[value // 10 - 2]
        return f"{ones}und{tens}" if value % 10 else tens
    hundreds = ("ein" if value // 100 == 1 else ONES[value // 100]) + "hundert"
    return hundreds + (number(value % 100) if value % 100 else "")


def ordinal(value: int) -> str:
    """The stem of an ordinal from 1 to 99: 3 → "dritt", 20 → "zwanzigst"."""
    return ORDINALS.get(value) or number(value) + ("t" if value < 20 else "st")


@dataclass(frozen=True)
class Verb:
    """A verb as the dictionary gives it: infinitive without prefix, third person, participle, auxiliary."""

    infinitive: str
    third: str
    participle: str
    prefix: str = ""
    with_sein: bool = False
    reflexive: Literal["", "acc", "dat"] = ""

    @property
    def stem(self) -> str:
        return self.infinitive[:-2] if self.infinitive.endswith("en") else self.infinitive[:-1]

    @property
    def changes_vowel(self) -> bool:
        """True of lesen (liest) and fahren (fährt), whose second and third person have another vowel."""
        return not self.third.startswith(self.stem)

    def whole(self) -> str:
        return self.prefix + self.infinitive

    def with_zu(self) -> str:
        """The infinitive with zu: "zu lesen", "aufzustehen", "spazieren zu gehen"."""
        joined = self.prefix and not self.prefix.endswith(" ")
        return f"{self.prefix}zu{self.infinitive}" if joined else f"{self.prefix}zu {self.infinitive}"

    def present(self) -> tuple[str, str, str, str, str, str]:
        """The finite forms for ich, du, er, wir, ihr, sie, without the prefix."""
        first = self.stem[:-2] + "le" if self.infinitive.endswith("eln") else self.stem + "e"
        second_plural = self.stem + ("et" if self.needs_e() else "t")
        return first, self.second_singular(), self.third, self.infinitive, second_plural, self.infinitive

    def imperative(self) -> str:
        """The command to one friend: "lies", "komm", "warte"."""
        if self.changes_vowel and not any(umlaut in self.third for umlaut in "äöü"):
            return self.third[:-1] if not self.third.endswith("tt") else self.third
        return self.stem + ("e" if self.needs_e() else "")

    def second_singular(self) -> str:
        base = self.third[:-1]
        if self.stem.endswith("t") and not self.third.endswith("et"):
            return self.third + "st"
        return base + ("t" if base.endswith(("s", "ß", "z", "x")) else "st")

    def needs_e(self) -> bool:
        """True where a stem in -t, -d or consonant + n (öffnen) needs an e before the ending."""
        return self.stem.endswith(("t", "d", "ffn", "chn", "gn"))


IRREGULAR_PRESENT = {
    "sein": "bin bist ist sind seid sind",
    "haben": "habe hast hat haben habt haben",
    "werden": "werde wirst wird werden werdet werden",
    "wissen": "weiß weißt weiß wissen wisst wissen",
    "können": "kann kannst kann können könnt können",
    "müssen": "muss musst muss müssen müsst müssen",
    "wollen": "will willst will wollen wollt wollen",
    "dürfen": "darf darfst darf dürfen dürft dürfen",
    "sollen": "soll sollst soll sollen sollt sollen",
    "mögen": "mag magst mag mögen mögt mögen",
    "möchten": "möchte möchtest möchte möchten möchtet möchten",
    "könnten": "könnte könntest könnte könnten könntet könnten",
    "sollten": "sollte solltest sollte sollten solltet sollten",
}
PRETERITE_STEMS = {
    "haben": "hatte",
    "können": "konnte",
    "müssen": "musste",
    "wollen": "wollte",
    "dürfen": "durfte",
    "sollen": "sollte",
    "wissen": "wusste",
}
PRESENT = {infinitive: tuple(forms.split()) for infinitive, forms in IRREGULAR_PRESENT.items()}
PRETERITE = {
    infinitive: (stem, stem + "st", stem, stem + "n", stem + "t", stem + "n")
    for infinitive, stem in PRETERITE_STEMS.items()
}
PRETERITE["sein"] = ("war", "warst", "war", "waren", "wart", "waren")


def present(verb: Verb, person: int) -> str:
    """The present tense; person counts ich, du, er, wir, ihr, sie from 0 to 5."""
    return PRESENT[verb.infinitive][person] if verb.infinitive in PRESENT else verb.present()[person]


def imperative(verb: Verb, person: int) -> str:
    """The command to one friend (person 1) or to several (person 4)."""
    return verb.imperative() if person == 1 else present(verb, person)


REFLEXIVE_MARKS: dict[str, Literal["", "acc", "dat"]] = {"": "", "sich": "acc", "sich dat": "dat"}
"""How a table of verbs marks a reflexive pronoun, and the case that the mark stands for."""

REFLEXIVE = {
    "acc": ["mich", "dich", "sich", "uns", "euch", "sich"],
    "dat": ["mir", "dir", "sich", "uns", "euch", "sich"],
}
