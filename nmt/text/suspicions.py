"""Whether a translation is plausible: a line and its translation flow in, flags for what looks wrong flow out.

Only the two texts are read; neither the languages nor the model are known. A flag is a reason to check a translation,
or to decode again with other settings, but no proof. Each flag is raised for fewer than 1 in 1,000 human translations:
the thresholds were set on Multi30k and Tatoeba in Czech, English, French and German. In news, whose translators leave
out more, 1 to 10 of 1,000 get one; "numbers" more, where numbers are written as words (into Yorùbá: 61).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal
from unicodedata import normalize

import numpy as np

from nmt.text.items import Item, canonical_number, framed, nesting, prose, scan
from nmt.text.scripts import ASIAN, EAST_ASIAN, WORD
from nmt.text.sentences import CLAUSE_MARK, COLON, LABEL, count_ends, split_clauses
from nmt.text.user_items import NO_USER_ITEMS, UserItems

Flag = Literal[
    "loop", "too_long", "too_short", "copy", "empty", "invented", "unfinished", "items", "sentences", "numbers",
    "unsure", "unknown", "constraints"
]  # fmt: skip

LOOP_WORDS, LOOP_CHARACTERS = 8, 20  # longest phrases that are searched for repetitions
LENGTH_FACTOR, LENGTH_ALLOWANCE = 2.0, 20  # one text may be twice as long, and 20 more: "Ja" / "Yes, that's right"
WIDE_CHARACTER = 2.5  # letters that an East Asian character is worth: Han 3 to 4, kana and Hangul 2
COPIED_WORDS = 4  # a copy of fewer words is not flagged: it may be correct
SHORT = 15  # words of a source whose names a translation seldom repeats; of longer ones, people do in 10 of 1,000
LONGER = 3  # letters: a word with more is no article or preposition
LETTERS_OF_WORD = 2  # count as a word in scripts without spaces; a name seldom has more than three such words

WIDE = re.compile(f"[{EAST_ASIAN}]")
UNSPACED_LETTER = re.compile(rf"(?=[{ASIAN}])[^\W\d_]")
UNMARKED = re.compile(r"[\u0e01-\u0fff]")  # Thai, Lao, Tibetan
LETTER = re.compile(r"[^\W\d_]")
LETTER_OR_DIGIT = re.compile(r"[^\W_]")
LETTERS = re.compile(r"[^\W\d_]{2,}")
SLASH = re.compile("/(?<=[۰-۹]/)(?=[۰-۹])")  # the decimal point of Persian: ۳/۵ is 3.5
MONTHS = frozenset("月월")
# Words that multiply the number before them.
MULTIPLIERS = (
    "(?:[千万萬億亿兆천만억조]|हज़ार|हजार|लाख|लक्ष|करोड़|कोटी|হাজার|লাখ|লক্ষ|কোটি|هزار|ہزار|لاکھ|کروڑ|"
    "ألف|آلاف|مليون|ملايين|லட்சம்|கோடி|లక్ష|కోట్ల|કરોડ|લાખ"
    "|ਲੱਖ|ਕਰੋੜ|ಲಕ್ಷ|ಕೋಟಿ|ലക്ഷം|കോടി|หมื่น|แสน|ล้าน|ໝື່ນ|ແສນ|ລ້ານ|ម៉ឺន|សែន|លាន|သောင်း|သိန်း|သန်း)"
)
MULTIPLIED, JOINED = re.compile(rf"\d\s?{MULTIPLIERS}"), re.compile(rf"(?<=\d){MULTIPLIERS}\s?(?=\d)")
CLOCK = re.compile(r"\d{1,2}[:.]\d\d")  # often written in words: "halb drei" for 2:30
DIGITS = re.compile(r"\d(?:[\d.,-]*\d)?")


def suspicions(
    source: str, translation: str, user_items: UserItems = NO_USER_ITEMS, length_ratio: float = 1.0, *,
    finished: bool = True, sure: bool = True,
) -> list[Flag]:  # fmt: skip
    """What looks wrong with a translation, in the order of `Flag`; empty for a plausible one. Takes linear time.

    - too_long, too_short: one text has more than twice the characters of the other, and 20 more; East Asian characters
      count as 2.5, and those of the source `length_ratio` times. An empty translation is not called too short.
    - empty: no letter or digit, though the source has some.
    - invented: letters, though the source has none; a source with digits ("24.12.2023", "§ 5") may get some, if all
      its numbers are there, no others, and nothing else is wrong.
    - unfinished: the search found no end of the translation; unsure: the model was not confident enough.
    - the others: see the functions for them; unknown and constraints are added by `nmt.translation.repair`.
    """
    length, source_length = width(translation), width(source) * length_ratio
    empty = not LETTER_OR_DIGIT.search(translation) and bool(LETTER_OR_DIGIT.search(source))
    of_source, of_translation = (list(scan(text, user_items)) for text in (source, SLASH.sub("٫", translation)))
    has_items = bool(of_source or of_translation)
    has_letters = [LETTER.search(normalize("NFKC", text)) is not None for text in (source, translation)]
    lost = lost_numbers(source, of_source, of_translation, translation) if has_items else []
    raised: dict[Flag, bool] = {
        "loop": any(repeat(source, translation) for repeat in (loops, repeats_name, repeats_word)),
        "too_long": length > LENGTH_FACTOR * source_length + LENGTH_ALLOWANCE,
        "too_short": source_length > LENGTH_FACTOR * length + LENGTH_ALLOWANCE and not empty,
        "copy": is_copy(source, translation, user_items),
        "empty": empty,
        "invented": has_letters == [False, True],
        "unfinished": not finished,
        "items": has_items and loses_items((source, of_source), (translation, of_translation)),
        "sentences": not empty and loses_sentences(source, translation, length / max(1, source_length)),
        "numbers": (bool(lost) and not empty and wants_number(lost, translation))
        or (not any(has_letters) and not empty and numbers(source, of_source) != numbers(translation, of_translation)),
        "unsure": not sure,
    }
    flags = [flag for flag, is_raised in raised.items() if is_raised]
    if flags == ["invented"] and not lost:  # a source of digits may be spelled out, but gets no more numbers
        return [] if len(digits(source)) >= max(1, len(digits(translation))) else flags
    return flags


def digits(text: str) -> list[str]:
    """The digits of a text that stand together, also those of ½ or ٣."""
    return [canonical_number(run) for run in re.findall(r"\d+", normalize("NFKC", text))]


def numbers(text: str, items: list[Item]) -> list[str]:
    """The numbers of a text: 1,000 is 1000, dates have one order; and its other digits, as those of ½."""
    found, position = list[str](), 0
    for item in (item for item in items if item.kind == "number"):
        found += [*digits(text[position : item.start]), item.canonical]
        position = item.end
    return [*found, *digits(text[position:])]


def loses_items(source: tuple[str, list[Item]], translation: tuple[str, list[Item]]) -> bool:
    """Whether items other than numbers are lost, added, or no longer in their brackets, quotes or tags."""
    (text, items), (other, others) = source, translation
    items, others = ([item for item in side if item.kind != "number"] for side in (items, others))
    counts, found = (Counter((item.kind, item.canonical) for item in each) for each in (items, others))
    if counts != found or framed(items, text) - framed(others, other):
        return True
    return "</" in text and bool(nesting(text) - nesting(other))


def lost_numbers(source: str, items: list[Item], others: list[Item], translation: str) -> list[Item]:
    """The numbers that a translation lacks. Of the three numbers of a date, the month may be a word. Where East Asian
    words for thousands and more stand, zeros and points may differ: 3.5億 is 350 million; 1億2000万 is one number."""
    numbers = [item for item in items if item.kind == "number" and source[item.end : item.end + 1] not in MONTHS]
    known = {item.canonical for item in others} if numbers else set[str]()
    missing = [number for number in numbers if number.canonical not in known]
    if missing and (MULTIPLIED.search(source) or MULTIPLIED.search(translation)):
        known = {figures(item.canonical) for item in others}
        joined = {place for match in JOINED.finditer(source) for place in match.span()}
        missing = [n for n in missing if figures(n.canonical) not in known and joined.isdisjoint((n.start, n.end))]
    runs = re.findall(r"\d+", translation) if missing else []
    groups = {canonical_number(digits).lstrip("0") or "0" for digits in runs}  # int() has a limit of 4,300 digits
    return [n for n in missing if len({*n.canonical.split("-")} - groups) > n.canonical.count("-") // 2]


def figures(number: str) -> str:
    """The digits of a number without the zeros around them."""
    return re.sub(r"\D", "", number).strip("0")


def wants_number(lost: list[Item], translation: str) -> bool:
    """Whether one of the numbers that a translation lacks is likely a mistake: not if it is a single digit or a clock
    time, or the end of a longer number, as 50 of 1950, or if it only got a zero after its decimals, as 2.50."""
    long = [n.canonical for n in lost if sum(map(str.isdigit, n.text)) > 1 and not CLOCK.fullmatch(n.text)]
    runs = DIGITS.findall(translation.replace(",", "."))
    sizes = {len(number) + more for number in long for more in (0, 1)}
    ends = {run[-size:] for run in runs for size in sizes}
    return any(number not in ends and not ("." in number and f"{number}0" in ends) for number in long)


def loops(source: str, translation: str) -> bool:
    """Whether the translation repeats itself more than its source; case, and punctuation between words, don't count.

    A translation may repeat one word 3 times in a row ("very, very, very good"), 2 to 8 words twice, and 1 to 20
    characters 3 times or up to 12 characters in all ("hahahahahaha"). If the source repeats words, or letters inside
    words ("hahaha"), its translation may repeat anything twice as often; if it repeats punctuation, characters only.
    """
    source, translation = source.casefold(), translation.casefold()
    if not repeats_more(translation, 1, 1):
        return False
    words = WORD.findall(source)
    cause = max(character_repeats("".join(words)), *(times for _, times in repeats(words, LOOP_WORDS)))
    return repeats_more(translation, cause, max(cause, character_repeats(source)))


def repeats_name(source: str, translation: str) -> bool:
    """Whether a word with a capital, which is in a short source too, is more often in the translation: "Lena is Lena".
    A model that invents more than the source says often repeats its names; people did so in 8 of 270,000 pairs."""
    if translation[1:].islower() or len(source.split(maxsplit=SHORT)) > SHORT:
        return False
    # "Ninas Hut" is Nina's hat.
    names = Counter(word.removesuffix("s") for word in LETTERS.findall(translation) if word.istitle())
    repeated = {name: times for name, times in names.items() if times > 1}
    known = Counter(word.removesuffix("s") for word in LETTERS.findall(source)) if repeated else {}
    return any(times > known.get(name, times) for name, times in repeated.items())


def repeats_word(source: str, translation: str) -> bool:
    """Whether the translation of one word repeats a longer word: "The chair is a chair"."""
    if len(source.split()) != 1 or len(LETTERS.findall(source)) != 1 or UNSPACED_LETTER.search(source):
        return False
    words = [word.lower() for word in LETTERS.findall(translation) if len(word) > LONGER]
    return len(words) > len(set(words))


def repeats_more(text: str, source_words: int, source_characters: int) -> bool:
    """Whether a text repeats too much, if its source repeats words and characters so many times in a row."""
    words = WORD.findall(text)
    if may_loop(words, 6) and any(times > max(chance(n), 2 * source_words) for n, times in repeats(words, LOOP_WORDS)):
        return True
    # A loop, of 13 characters at least, is inside a part between blanks, or repeats such parts.
    has_room = max(map(len, parts := text.split(" "))) >= 13 or may_loop(parts, 6)
    if not has_room or not may_loop([text[i : i + 4] for i in range(len(text) - 3)], 10):
        return False
    return any(times > max(3, 12 // n, 2 * source_characters) for n, times in repeats(text, LOOP_CHARACTERS))


def may_loop(units: Sequence[str], least: int) -> bool:
    """Whether a unit stands twice in a row, or at least so many occur three times or more, as all units of a loop do:
    this takes less time than to look for loops."""
    repeated = len(units) - len(set(units))  # of n equal units n - 1, two thirds or more
    often = 3 * repeated >= 2 * least and sum(n for n in Counter(units).values() if n > 2) >= least
    return often or any(map(str.__eq__, units, units[1:]))


def character_repeats(text: str) -> int:
    """The most times that any characters stand in a row; 1 if no more often than in "Schifffahrt" or "Mama"."""
    return max((times for n, times in repeats(text, LOOP_CHARACTERS) if times > chance(n)), default=1)


def chance(n: int) -> int:
    """How often n words, or n letters of a word, may stand in a row by chance."""
    return 3 if n == 1 else 2


def repeats(units: Sequence[str], longest: int) -> Iterator[tuple[int, int]]:
    """Each n up to `longest`, with the most times that any n units stand in a row."""
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(unit, len(numbers)) for unit in units], dtype=np.intp)
    for n in range(1, longest + 1):
        # Between these places, units are equal to those n places on.
        ends, size = np.flatnonzero(codes[n:] != codes[:-n]), len(codes) - n
        if len(ends):
            size = max(ends[0], (ends[1:] - ends[:-1]).max(initial=1) - 1, size - 1 - ends[-1])
        yield n, int(size) // n + 1


def loses_sentences(source: str, translation: str, ratio: float) -> bool:
    """Whether the translation lacks the word before a colon with which the source begins ("Anna: Yes."), or has fewer
    sentences or clauses than its source, and a length that fits that; `ratio`: of lengths.

    Translators join sentences, too: only if the translation is also shorter by half of what as many average sentences
    take, one was probably lost.
    """
    label = LABEL.match(source)
    if label and not COLON.search(translation) and label[1].casefold() not in translation.casefold():
        return True
    n_source = len(split_clauses(source))
    lost = n_missing(n_source, translation) if n_source > 1 else 0
    return lost > 0 and ratio < 1 - lost / (2 * n_source)


def n_missing(n_clauses: int, translation: str) -> int:
    """How many of the clauses of its source have no end in a translation. In Thai and its neighbours no mark ends a
    sentence."""
    lost = n_clauses - count_ends(translation) - len(CLAUSE_MARK.findall(translation))
    return 0 if lost <= 0 or UNMARKED.search(translation) else lost


def width(text: str) -> float:
    """The length of a text in letters of an alphabet."""
    return len(text) if text.isascii() else len(text) + (WIDE_CHARACTER - 1) * len(WIDE.findall(text))


def is_copy(source: str, translation: str, user_items: UserItems = NO_USER_ITEMS) -> bool:
    """Whether the translation equals the source, except for case and blanks, and should not.

    Without its items, a text of fewer than 4 words with letters (in scripts without spaces, fewer than 8 letters) may
    stay the same, and so may names: a text whose words are all Capitalised.
    """
    if source.casefold().split() != translation.casefold().split():
        return False
    words = [word for word in WORD.findall(prose(source, user_items)) if any(map(str.isalpha, word))]
    if all(word[0].isupper() and not word.isupper() for word in words):
        return False
    unspaced = len(UNSPACED_LETTER.findall("".join(words)))
    return len(words) >= COPIED_WORDS or unspaced >= COPIED_WORDS * LETTERS_OF_WORD
