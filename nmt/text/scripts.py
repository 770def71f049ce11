"""Scripts and words: which characters form words, and where a phrase that a user wrote occurs in a text.

A word is a run of letters (`is_letter`). The scripts of UNSPACED put no spaces between words, so that a phrase in them
may begin and end anywhere. Three questions need another definition:

- Where do URLs, numbers and other items end (`nmt.text.items`)? ASIAN: Korean puts spaces between words, but none
  between an item and the particle that follows it; nor is there one between an item and East Asian punctuation.
- How much does a character say (`nmt.text.suspicions`)? EAST_ASIAN: much in Han, kana and Hangul; Thai is an alphabet.
- Which words are repeated (`nmt.text.suspicions`)? WORD: all that stands between blanks and punctuation, with symbols,
  emoji and whole clauses of scripts without spaces.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from nmt.fields import require
from nmt.text.normalise import SOUTH_EAST_ASIAN, tidy

# Ranges of a regular expression's character class, like SOUTH_EAST_ASIAN. Here with their punctuation, bopomofo, and
# half-width kana (U+FF66 to U+FF9F).
HAN_AND_KANA = r"\u2e80-\u312f\u3190-\u9fff\uf900-\ufaff\uff66-\uff9f\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
UNSPACED = SOUTH_EAST_ASIAN + HAN_AND_KANA
UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")
# Hangul, Yi, vertical punctuation, and full-width and half-width forms.
EAST_ASIAN = (
    HAN_AND_KANA + r"\u1100-\u11ff\u3130-\u318f\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7ff\ufe30-\ufe4f\uff00-\uffef"
)
ASIAN = SOUTH_EAST_ASIAN + EAST_ASIAN

# Scripts whose letters have two forms for Unicode, but are usually written in one: Cherokee in capitals, Georgian in
# small letters. A line in one of them isn't written in capitals, nor without them.
ONE_CASE = re.compile("[\u10a0-\u10ff\u1c90-\u1cbf\u13a0-\u13ff\u2d00-\u2d2f\uab70-\uabbf]")
NOT_LATIN = re.compile("[\u0295-\U0010ffff]")  # before these, all letters but ª, º, ʔ and clicks have two cases
STACKING = "\u1039\u17d2\u1a60\u1b44\ua9c0"  # the next consonant stands below the last: Burmese, Khmer and others
JOINERS = "_\u00ad\u200c\u200d"  # in words, though no letters: low line, soft hyphen, zero-width non-joiner, joiner
NOT_LETTER = re.compile(rf"[{UNSPACED}\ufe00-\ufe0f]")  # variation selectors are marks, but follow emoji
LETTERS_END = 0x40000  # from here on, planes are unassigned or private, except for tags and variation selectors
WORD = re.compile(
    r"[^\s!-/:-@\[-`{-~¡§«¶·»¿։،؛؟۔߸߹।॥၊။།༎፡-፨᙮។៕᠀-᠅᱾᱿꯫\u2010-\u205e\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40"
    r"\uff5b-\uff65]+"
)


SIGNS = re.compile(r"[\W_]+")
ASCII_SIGNS = bytes(byte for byte in range(128) if not chr(byte).isalnum())
WORD_SIGNS = bytes(byte for byte in ASCII_SIGNS if not chr(byte).isspace())


def without_signs(text: str) -> str:
    """The letters, combining marks and digits of a text. Such marks, as the vowel signs of Hindi, Tamil and Thai and
    the accents of Yorùbá, are no letters for `re` and `str.isalpha`."""
    text = text if text.isalnum() else without_ascii_signs(text)
    if text.isascii() or text.isalnum():
        return text
    return SIGNS.sub(lambda run: "".join(filter(is_combining, run[0])), text)


def without_ascii_signs(text: str, *, blanks: bool = False) -> str:
    """The text without ASCII's signs, in a fifth of the time that a regular expression takes. `blanks`: blanks stay."""
    signs = WORD_SIGNS if blanks else ASCII_SIGNS
    return text.encode("utf-8", "surrogatepass").translate(None, signs).decode("utf-8", "surrogatepass")


def is_uncased(text: str) -> bool:
    """Whether a text has letters of a script without capitals, or of one of ONE_CASE. "ª" and "º" are Spanish."""
    others = NOT_LATIN.findall(text)
    return bool(others) and (bool(ONE_CASE.search(text)) or any(unicodedata.category(c) == "Lo" for c in others))


def is_combining(character: str) -> bool:
    """Whether a character belongs to the letter before it."""
    return unicodedata.category(character) in ("Mn", "Mc") and not "\ufe00" <= character <= "\ufe0f"


def is_letter(character: str) -> bool:
    """Whether a character continues a word: a letter, mark, number or joiner that isn't of an UNSPACED script."""
    if ord(character) >= LETTERS_END or NOT_LETTER.match(character):
        return False
    return unicodedata.category(character)[0] in "LMN" or character in JOINERS


@dataclass(frozen=True)
class Phrase:
    """A phrase to find in texts, as whole words: no letter may touch its first or last letter from outside."""

    written: str
    """As the user wrote it: `house`, `New York`, `hous*` (with any ending), `*haus` (with any beginning)."""
    text: str
    """What is searched for: tidied, with single spaces."""
    left: bool
    """Whether no letter may stand before it; `right`: after it."""
    right: bool
    any_case: bool = False
    """Whether `find` ignores upper and lower case."""

    @classmethod
    def parse(cls, written: str, any_case: bool = False) -> "Phrase":
        """Raises ValueError if nothing is left to search for, or the phrase has a lone surrogate."""
        text, core = phrase_text(written), written.strip()
        problem = f"the phrase {written!r} is empty: write a character other than blanks and the * at its ends"
        require(text != "", problem)
        surrogate = any("\ud800" <= character <= "\udfff" for character in written)
        require(not surrogate, f"the phrase {written!r} has half a surrogate pair, which is no text")
        left = not core.startswith("*") and is_letter(text[0])
        return cls(written, text, left, not core.endswith("*") and is_letter(text[-1]), any_case)

    @cached_property
    def utf8(self) -> bytes:
        return self.text.encode()

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.text).replace(r"\ ", " +"), re.IGNORECASE if self.any_case else 0)

    def find(self, text: str, place: int = 0) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each occurrence from a place on, overlapping ones too. A run of spaces counts as
        one."""
        match = self.pattern.search(text, place)
        while match:
            start, end = match.span()
            before = text[max(start - 1, 0) : start] if self.left else ""
            after = text[end : end + 1] if self.right else ""
            if not any(map(is_letter, before + after)):
                yield start, end
            match = self.pattern.search(text, start + 1)


def phrase_text(written: str) -> str:
    """What to search for, given a phrase as written: without * at its ends, tidied, with single spaces."""
    return " ".join(tidy(written.strip().strip("*")).split())
