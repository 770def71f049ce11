"""Words that a model has learned: the sources of its training flow in; lines spelled with known words flow out.

A word that the training text never had mostly ruins the translation of its line. `Words.respelled` reads it as a known
word that has accents, in a line without any, and in German ä, ö, ü and ß for ae, oe, ue and ss. `Words.recased` reads
lines in CAPITALS, in Title Case and without capitals in the usual case of their words.

A word in the middle of a sentence shows its usual case, at the beginning it doesn't: the two are counted apart.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, product

from nmt.fields import require
from nmt.text.characters import is_unaccented, unaccented
from nmt.text.items import outside_items, prose
from nmt.text.languages import short_code
from nmt.text.scripts import UNSPACED, UNSPACED_CHARACTER, WORD, is_uncased
from nmt.text.sentences import MARKS
from nmt.text.user_items import NO_USER_ITEMS, UserItems

# A sign is usual if so many sources have it, or this share. With Multi30k's 7 quotes in 1,000 captions, a model loses
# them in new sentences; with 65 in 1,000, as in the Cherokee corpus, it translates direct speech best as it is.
USUAL_TEXTS, USUAL_SHARE = 2000, 1 / 50
MOST = 100_000  # words, the most frequent ones
PAIR = re.compile(f"[{UNSPACED}]{{1,2}}")
# The first letter of a word, or after a mark; of words that begin with one without case (ʻ of Hawaiian), the next.
WORD_START = re.compile(r"(?<![\w'’·\u0300-\u036f])[ʻʼꞌǀ-ǃ]*+[^\W\d_]")
BEFORE_WORD = re.escape(" \"'„“‚‘«»([¿¡–—-")  # between a word and the word or mark before it
# At the beginning of a sentence, after a mark; a word after eight signs in a row counts as one there too. This pattern
# and the next one begin with a set of characters: `re` finds such places sooner.
FIRST_WORD = re.compile(
    rf"[{MARKS}:{BEFORE_WORD}](?:(?<=[{MARKS}:])[{BEFORE_WORD}]{{0,7}}+|[{BEFORE_WORD}]{{7}})({WORD.pattern})"
)
SMALL_WORD = re.compile(" [a-z\u00df-\u00f6\u00f8-\u00ff\u03b1-\u03c9\u0430-\u045f]")  # Latin, Greek, Cyrillic
FREE_SIGN = re.compile(r"\s([^\w\s])")  # at the start of a word, or alone, after a blank
# By language: what is written for other letters, which a keyboard may lack.
SPELLINGS = {
    "de": {"ae": "ä", "oe": "ö", "ue": "ü", "ss": "ß", "Ae": "Ä", "Oe": "Ö", "Ue": "Ü"},
    "ru": {"ё": "е", "Ё": "Е"},
}
DOTLESS_SHARE = 1 / 50  # of the words of a language with ı, at least; English news has 3 in 39,000
# In a line without capitals, a word whose rank is so many times that of its form with a capital gets this: it may be an
# error in training text. (Of 5, 20, 100 and none, 5 gave most chrF for Multi30k's model, 1.1 more than none.)
MUCH_RARER = 5
MOST_PLACES = 6  # of a word that are changed: each doubles the number of forms

Spellings = Mapping[str, str]
"""Letters by what is written for them."""


@dataclass
class WordCounts:
    """How often sources have each word and sign. Those of parts of a corpus can be added."""

    texts: int = 0
    anywhere: Counter[str] = field(default_factory=Counter)
    first: Counter[str] = field(default_factory=Counter)
    """Words at the beginning of sentences."""
    signs: Counter[str] = field(default_factory=Counter)
    """The number of texts that have a sign at the start of a word or alone."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> "WordCounts":
        texts, anywhere = list(texts), Counter[str]()
        for part, count in Counter(chain.from_iterable(map(str.split, texts))).items():  # no word has a blank in it
            for word in WORD.findall(part):
                anywhere[word] += count
        first = Counter(chain.from_iterable(FIRST_WORD.findall(f":{text}") for text in texts))
        signs = Counter(chain.from_iterable(set(FREE_SIGN.findall(f" {text}")) for text in texts))
        return cls(len(texts), anywhere, first, signs)

    def add(self, texts: int, **counts: Mapping[str, int]) -> None:
        """Add those of other texts, by the names of the fields."""
        self.texts += texts
        for name, counted in counts.items():
            getattr(self, name).update(counted)


@dataclass(frozen=True)
class Words:
    """The words and signs of training sources."""

    signs: frozenset[str]
    """Usual signs at the start of a word or alone, such as an opening quote or a dash between blanks."""
    usual: tuple[str, ...]
    """Words in the middle of a sentence, the most frequent first."""
    first: tuple[str, ...] = ()
    """Words that were only at the beginning of sentences."""

    @classmethod
    def learn(cls, texts: Iterable[str]) -> "Words":
        return cls.counted(WordCounts.of(texts))

    @classmethod
    def counted(cls, counts: WordCounts) -> "Words":
        anywhere, first = (
            Counter({word: n for word, n in words.items() if any(map(str.isalnum, word))})
            for words in (counts.anywhere, counts.first)
        )
        middle = anywhere - first
        kept = [word for word, _ in middle.most_common(MOST)]
        others = [word for word, _ in first.most_common(MOST) if word not in middle]
        usual = (sign for sign, n in counts.signs.items() if n >= min(USUAL_TEXTS, USUAL_SHARE * counts.texts))
        return cls(frozenset(usual), tuple(kept), tuple(others[: MOST - len(kept)]))

    @classmethod
    def parse(cls, text: str) -> "Words":
        """From the contents of a file, as `dump` makes them. ValueError if they are damaged."""
        parts = text.removesuffix("\n").split("\n\n")
        problem = "it doesn't have these parts: signs, words, and words at the beginning"
        require(3 <= len(parts) <= 5, problem)  # older files have names too
        signs, usual, first = (tuple(part.split()) for part in parts[:3])
        return cls(frozenset(signs), usual, first)

    def dump(self) -> str:
        return "\n\n".join("\n".join(part) for part in (sorted(self.signs), self.usual, self.first)) + "\n"

    @cached_property
    def ranks(self) -> dict[str, int]:
        return {word: n for n, word in enumerate((*self.usual, *self.first))}

    @cached_property
    def usual_set(self) -> frozenset[str]:
        return frozenset(self.usual)

    @cached_property
    def unspaced_letters(self) -> frozenset[str]:
        return frozenset(chain.from_iterable(map(UNSPACED_CHARACTER.findall, self.ranks)))

    def knows(self, word: str) -> bool:
        """Whether training had the word, in this case or in small letters, as it is inside a sentence. Of a script
        without spaces, which has whole clauses in place of words, the letters count."""
        known = word in self.ranks or small_letters(word, dotless=self.has_dotless_i) in self.ranks
        return known or bool(UNSPACED_CHARACTER.match(word) and self.unspaced_letters.issuperset(word))

    def unknown(self, text: str) -> tuple[list[str], int]:
        """The words of a text without items that training didn't have, and the number of all its words. Two letters
        of a script without spaces count as a word."""
        words = WORD.findall(PAIR.sub(r" \g<0> ", text) if UNSPACED_CHARACTER.search(text) else text)
        rare = [word for word in words if word not in self.ranks]
        return [word for word in rare if not self.knows(word) and any(map(str.isalnum, word))], len(words)

    def respelled(self, line: str, spellings: Spellings, user_items: UserItems = NO_USER_ITEMS) -> str:
        """The line, where unknown words that are known in another spelling have that."""
        accents = self.accents if is_unaccented(line) else {}
        spelled = {word: self.spelling(word, spellings, accents) for word in set(self.unknown(line)[0])}
        known = {word: form for word, form in spelled.items() if form}
        return with_words(line, known, user_items) if known else line

    def spelling(self, word: str, spellings: Spellings, accents: Mapping[str, str]) -> str | None:
        """The known form of an unknown word: with other letters, or with accents; None if there is none. `accents`:
        words with accents, by their forms without them."""
        small = accents.get(word.lower(), "")
        accented = small.capitalize() if word.istitle() else small
        return self.best(forms_of(word, spellings)) or accents.get(word) or accented or None

    @cached_property
    def accents(self) -> dict[str, str]:
        """The most frequent word with accents, by its form without them."""
        plain = {word: unaccented(word) for word in reversed(self.ranks) if not word.isascii()}
        return {form: word for word, form in plain.items() if form != word}

    def best(self, forms: Iterable[str]) -> str | None:
        """The most frequent of these words; None if none is known."""
        known = [form for form in dict.fromkeys(forms) if form in self.ranks]
        return min(known, key=self.ranks.__getitem__, default=None)

    def recased(self, line: str, spellings: Spellings, user_items: UserItems = NO_USER_ITEMS) -> str:
        """The line in the usual case of its words, if it is in capitals, in Title Case or without capitals, and there
        are words in it whose usual case is another."""
        casing = casing_of(line)
        if casing is None:
            return line
        found = cased_words(line)
        accents = self.accents if is_unaccented(line) else {}
        cased = {word: self.usual_case(word, casing, spellings, accents) for word in set(found)}
        judged = found[casing is str.title :]  # any first word may have a capital
        if all(cased[word] == word or (casing is not str.lower and word in self.usual_set) for word in judged):
            return line
        recased = with_words(line, cased, user_items)
        start = WORD.search(recased)
        assert start
        return recased[: start.start()] + self.capital(recased[start.start() :])

    def capital(self, text: str) -> str:
        return upper(text[:1], "tr" if self.has_dotless_i else "") + text[1:]

    @cached_property
    def has_dotless_i(self) -> bool:
        """Whether the language has ı and i for I and İ, such as Turkish: a few words with ı may be names of another
        one, as in news."""
        return sum("ı" in word for word in self.usual) > DOTLESS_SHARE * len(self.usual)

    @cached_property
    def rare_have_capitals(self) -> bool:
        """Whether most rare words have capitals inside a sentence, as in German."""
        rare = self.usual[len(self.usual) // 2 :]
        return 2 * sum(word[:1].isupper() for word in rare) > len(rare)

    def usual_case(
        self, word: str, casing: Callable[[str], str], spellings: Spellings, accents: Mapping[str, str]
    ) -> str:
        """The most frequent case of a word, or the small one that it has if this isn't MUCH_RARER; that of an unknown
        word in capitals is the case of most rare words."""
        small = small_letters(word, dotless=self.has_dotless_i)
        forms = dict.fromkeys((word, small, self.capital(small)))
        if usual := self.best(form for form in forms if form in self.usual_set):
            may_stay = casing is str.lower and word in self.usual_set
            return word if may_stay and self.ranks[word] < MUCH_RARER * (self.ranks[usual] + 1) else usual
        other = next((known for form in forms if (known := self.spelling(form, spellings, accents))), None)
        if other or casing is not str.upper:
            return other or word
        return word[:1] + small[1:] if self.rare_have_capitals else small


def spellings_of(language: str) -> Spellings:
    return SPELLINGS.get(short_code(language), {})


def with_words(line: str, words: Mapping[str, str], user_items: UserItems) -> str:
    """The line with other words, outside of its items."""
    change = partial(WORD.sub, lambda match: words.get(match[0], match[0]))
    return outside_items(line, change, user_items, numbers=True)


def small_letters(text: str, *, dotless: bool) -> str:
    """The text in small letters; `dotless`: those of I and İ are ı and i, as in Turkish."""
    return (text.replace("I", "ı").replace("İ", "i") if dotless else text).lower()


def upper(text: str, language: str) -> str:
    """The text in capitals, as this language writes them: those of Greek have no accents."""
    language = short_code(language)
    if language in ("az", "crh", "gag", "kk", "tr", "tt"):
        text = text.replace("i", "İ")
    elif language == "hy":
        text = text.replace("և", "ԵՎ")
    elif language == "el":
        text = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).replace("\u0301", ""))
    return text.upper()


def initials(text: str, language: str) -> str:
    """The text with a capital at the start of each word."""
    return WORD_START.sub(lambda start: start[0][:-1] + upper(start[0][-1], language), text)


def cased_words(line: str) -> list[str]:
    """The words that have a case; none of a line that also has letters without one."""
    text = prose(line)
    return [word for word in WORD.findall(text) if word.upper() != word.lower()] if not is_uncased(text) else []


def casing_of(line: str) -> Callable[[str], str] | None:
    """How words are written: all in capitals, all in small letters, or three or more with a capital; else None."""
    text = prose(line)
    if text[:1].isupper() and SMALL_WORD.search(text):
        return None  # as nearly all lines: the rest takes its time
    words = cased_words(line)
    if len(words) < 2:
        return None
    if all(word.isupper() for word in words) and any(len(word) > 1 for word in words):
        return str.upper
    if all(word.islower() for word in words):
        return str.lower
    is_title = len(words) > 2 and all(word[0].isupper() for word in words)
    return str.title if is_title else None


def forms_of(word: str, spellings: Spellings) -> Iterator[str]:
    """A word, where letters are read as what they may stand for, in all combinations."""
    parts = re.split(f"({'|'.join(spellings)})", word, maxsplit=MOST_PLACES) if spellings else [word]
    options = [(part, spellings[part]) if n % 2 else (part,) for n, part in enumerate(parts)]
    return map("".join, product(*options) if len(parts) > 1 else ())
