"""Is a translation plausible? A line and its translation flow in; what looks wrong about them flows out.

Nothing is known here of the languages or the model: only what the two texts show. A flag is a reason to look, or to
decode anew in another way, and no proof. The thresholds are set so that each flag is raised for fewer than 1 in 1,000
of people's own translations (Multi30k and Tatoeba; Czech, English, French and German).
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nmt.text.items import UNSPACED, breaks_tags, check_items, find_items

Ints = NDArray[np.intp]

Flag = Literal["loop", "too_long", "too_short", "copy", "empty", "invented", "unfinished", "items", "unsure", "demands"]

# Longest unit whose repetition is looked for.
LOOP_WORDS, LOOP_CHARACTERS = 8, 20
# Lengths may differ by the factor, and by the characters besides: "Ja" / "Yes, that's right" is fine.
LENGTH_FACTOR, LENGTH_ALLOWANCE = 2.0, 20
# A character of Chinese, Japanese or Korean says as much as this many of an alphabet: Han 3 to 4, kana and Hangul 2.
WIDE_CHARACTER = 2.5
# Fewer words than this may be the same in both languages.
COPIED_WORDS = 4
# Scripts without spaces: letters that make a word; a name has seldom more than three words of them.
LETTERS_OF_WORD = 2

WORD = re.compile(
    r"[^\s!-/:-@\[-`{-~¡§«¶·»¿،؛؟।\u2010-\u205e\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40"
    r"\uff5b-\uff65]+"
)
WIDE = re.compile(
    r"[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60"
    r"\U00020000-\U0003ffff]"
)
UNSPACED_LETTER = re.compile(rf"(?=[{UNSPACED}])[^\W\d_]")
LETTER = re.compile(r"[^\W\d_]")
LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def suspicions(source: str, translation: str, *, finished: bool = True, sure: bool = True) -> list[Flag]:
    """What is suspicious about a translation, in the order of `Flag`; empty for a plausible one. ("demands", that it
    lacks what was demanded of it, is for `nmt.translation.repair` to say.)

    - loop: see `loops`.
    - too_long, too_short: one text has more than twice the characters of the other, and 20; those of East Asia count as
      2.5. An empty translation is not called too short.
    - copy: see `is_copy`.
    - empty: no letter or digit, though the source has some.
    - invented: letters, though the source has none.
    - unfinished, unsure: as it is said to be.
    - items: URLs, e-mail addresses, tags, placeholders or emoji are missing or added, or pairs of tags are torn; see
      `nmt.text.items`.

    Takes time in proportion to the length of the texts: milliseconds for 10,000 characters.

    Args:
        source: one line.
        translation: of that line.
        finished: whether the search found the translation's end (`Translation.finished`).
        sure: whether the model was as sure of it as it should be (`SearchConfig.least_confidence`).
    """
    length, source_length = width(translation), width(source)
    empty = not LETTER_OR_DIGIT.search(translation) and bool(LETTER_OR_DIGIT.search(source))
    found: dict[Flag, bool] = {
        "loop": loops(source, translation),
        "too_long": length > LENGTH_FACTOR * source_length + LENGTH_ALLOWANCE,
        "too_short": source_length > LENGTH_FACTOR * length + LENGTH_ALLOWANCE and not empty,
        "copy": is_copy(source, translation),
        "empty": empty,
        "invented": bool(LETTER.search(translation)) and not LETTER.search(source),
        "unfinished": not finished,
        "items": loses_items(source, translation),
        "unsure": not sure,
    }
    return [flag for flag, suspected in found.items() if suspected]


def loops(source: str, translation: str) -> bool:
    """Whether the translation repeats itself without cause. Case is ignored, and so is punctuation between words.

    Without cause, one word may stand in a row 3 times ("very, very, very good"); 2 to 8 words twice; and 1 to 20
    characters 3 times, or as often as makes 12 characters in all ("hahahahahaha"). Cause is what the source repeats
    most often, words or letters of its words ("hahaha"): the translation may repeat anything twice as often. That the
    source repeats punctuation is cause only for repeated characters.
    """
    source, translation = source.casefold(), translation.casefold()
    if not repeats_more(translation, 1, 1):
        return False
    words = WORD.findall(source)
    cause = max(word_repeats(words), character_repeats("".join(words)))
    return repeats_more(translation, cause, max(cause, character_repeats(source)))


def repeats_more(text: str, word_cause: int, character_cause: int) -> bool:
    """Whether words or characters stand in a row more often than `loops` allows them with these causes."""
    # Then some word is there three times, or some four characters four times: most texts are done with that.
    if most(WORD.findall(text)) < 3 and most([text[i : i + 4] for i in range(len(text) - 3)]) < 4:
        return False
    words, characters = encode(WORD.findall(text)), encode(text)
    return any(has_row(words, n, max(chance(n), 2 * word_cause)) for n in range(1, LOOP_WORDS + 1)) or any(
        has_row(characters, n, max(3, 12 // n, 2 * character_cause)) for n in range(1, LOOP_CHARACTERS + 1)
    )


def most(units: Sequence[str]) -> int:
    """How often the most frequent unit is there."""
    return max(Counter(units).values(), default=0)


def has_row(codes: Ints, n: int, times: int) -> bool:
    """Whether some n codes stand in a row more than so many times."""
    # Then each but the first n equals the code n before.
    return len(codes) >= n + n * times and b"\1" * (n * times) in (codes[n:] == codes[:-n]).tobytes()


def word_repeats(words: list[str]) -> int:
    """How often any words stand in a row at most; 1 if none is repeated."""
    codes = encode(words)
    return max(repeats(codes, n) for n in range(1, LOOP_WORDS + 1))


def character_repeats(text: str) -> int:
    """How often any characters stand in a row at most; 1 if no more often than in words like "Schifffahrt", "Mama"."""
    codes = encode(text)
    return max((times for n in range(1, LOOP_CHARACTERS + 1) if (times := repeats(codes, n)) > chance(n)), default=1)


def chance(n: int) -> int:
    """How often n words, or letters in a word, may well stand in a row."""
    return 3 if n == 1 else 2


def repeats(codes: Ints, n: int) -> int:
    """How often some n codes stand in a row at most."""
    if len(codes) <= n:
        return 1
    unequal = np.flatnonzero(codes[n:] != codes[:-n])
    row = np.diff(unequal, prepend=-1, append=len(codes) - n).max() - 1
    return int(row) // n + 1


def encode(units: Sequence[str]) -> Ints:
    """A number for each unit, the same for equal ones."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(unit, len(numbers)) for unit in units], dtype=np.intp)


def width(text: str) -> float:
    """The characters of a text, as if all were of an alphabet."""
    return len(text) if text.isascii() else len(text) + (WIDE_CHARACTER - 1) * len(WIDE.findall(text))


def is_copy(source: str, translation: str) -> bool:
    """Whether the translation is the source, but for case and blanks, and that is no accident.

    Accidents are texts of fewer than 4 words with letters (in scripts without spaces, of fewer than 8 letters), URLs
    and the like aside; and texts of Capitalised Words only, which are names.
    """
    if source.casefold().split() != translation.casefold().split():
        return False
    words = [word for word in WORD.findall(prose(source)) if any(map(str.isalpha, word))]
    if all(word[0].isupper() and not word.isupper() for word in words):
        return False
    unspaced = len(UNSPACED_LETTER.findall("".join(words)))
    return len(words) >= COPIED_WORDS or unspaced >= COPIED_WORDS * LETTERS_OF_WORD


def prose(text: str) -> str:
    """What is left of a text without its items."""
    items = find_items(text)
    starts, ends = [item.start for item in items], [item.end for item in items]
    return " ".join(text[start:end] for start, end in zip([0, *ends], [*starts, len(text)], strict=True))


def loses_items(source: str, translation: str) -> bool:
    """Whether items are missing, added or torn. Numbers don't count: they may be written out, or be in other units."""
    check = check_items(source, translation)
    return any(item.kind != "number" for item in (*check.missing, *check.added)) or breaks_tags(source, translation)
