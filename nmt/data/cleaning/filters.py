"""Filters of training pairs by what their text shows: a pair flows in; whether it is bad flows out.

Each filter is a function of the two sides alone; `make_filters` chooses them by `CleaningConfig`. A text without a
translation has an empty source, and is judged by itself. `Cleaner` and `HeldOut` remember other pairs.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b

from nmt.config import CleaningConfig
from nmt.extras import install
from nmt.text.items import find_items
from nmt.text.languages import Identifier, identifier, scripts_of, share_in
from nmt.text.scripts import UNSPACED_CHARACTER, without_ascii_signs, without_signs
from nmt.text.suspicions import MULTIPLIED, is_copy, loops

IsBad = Callable[[str, str], bool]  # of a source and a target
WINDOW = 13  # words in a row that training text must not share with val and test (Brown et al. 2020, appendix C)
LANGUAGE_LETTERS = 12  # a shorter text is in no language for sure

DIGIT, NUMBER = re.compile(r"\d"), re.compile(r"\d+")
# Also of two digits, as in India: 1,00,000.
THOUSANDS = re.compile(r"(?<=\d)(?:[.'’\u00a0\u202f ](?=\d{3}(?!\d))|[,٬](?=(?:\d\d[,٬]){0,3}\d{3}(?!\d)))")
ADDRESS = re.compile(r"@|://|www\.", re.IGNORECASE)


def letters(text: str) -> str:
    """The letters of a text, in small letters."""
    return DIGIT.sub("", without_signs(text)).casefold()


def unpunctuated(text: str) -> str:
    """A text without case, punctuation and blanks. One without letters and digits stays as it is."""
    return without_signs(text).casefold() or text


def alike(text: str) -> str:
    """The same, with 0 for each digit."""
    return DIGIT.sub("0", unpunctuated(text))


def few_letters(text: str, least: float) -> bool:
    n = sum(not character.isspace() for character in text)
    return len(letters(text)) < least * n


def numbers(text: str) -> Counter[str]:
    """The numbers of two digits or more (of any script), without marks of thousands, divided at decimal marks."""
    text = text if text.isascii() else DIGIT.sub(lambda digit: str(int(digit[0])), text)
    return Counter(number for number in NUMBER.findall(THOUSANDS.sub("", text)) if len(number) > 1)


def numbers_differ(source: str, target: str, least: float) -> bool:
    """Whether less than this share of the numbers are on both sides. Unknown if a word multiplies one, as in 15万."""
    if not (NUMBER.search(source) or NUMBER.search(target)) or MULTIPLIED.search(source) or MULTIPLIED.search(target):
        return False
    first, second = numbers(source), numbers(target)
    if least < 1 and not (first and second) and all(len(number) < 3 for number in first + second):
        return False  # "dreißig" may be 30
    return 2 * (first & second).total() < least * (first.total() + second.total())


def addresses_differ(source: str, target: str) -> bool:
    if not (ADDRESS.search(source) or ADDRESS.search(target)):
        return False
    first, second = (
        Counter(item.text.casefold() for item in find_items(text) if item.kind in ("url", "email"))
        for text in (source, target)
    )
    return first != second


def longest_word(text: str) -> int:
    """The characters of the longest word that is no item, such as an address; 0 in scripts without blanks."""
    longest = max(map(len, text.split()), default=0)
    if longest < 20 or UNSPACED_CHARACTER.search(text):  # find_items takes its time
        return 0 if longest >= 20 else longest
    items = {item.text for item in find_items(text)}
    return max((len(word) for word in text.split() if not any(item in word for item in items)), default=0)


def language_identifier() -> Identifier:
    """The identifier of languages that is installed. Raises ValueError if there is none."""
    if found := identifier():
        return found
    problem = "cleaning.language needs the package eldc or py3langid, and neither can be imported"
    raise ValueError(f"{problem}: {install('langid')}, or set it to false")


def in_other_language(text: str, language: str) -> bool:
    """Whether a text is surely in another language than this one. False if it is short, or the language unknown."""
    return len(letters(text)) >= LANGUAGE_LETTERS and language_identifier().in_other(text, language)


def make_filters(config: CleaningConfig, languages: Sequence[str]) -> dict[str, IsBad]:
    """The filters that are on, by the cause that the ledger counts, in the order in which they are asked.

    `languages`: of source and target, or the one of texts without translations; empty if these have several. Raises
    ValueError if a filter needs a package that is missing.
    """
    on = config.values
    sides = (languages[0], languages[-1]) if languages else ("", "")
    filters: dict[str, IsBad] = {}
    if most := on.get("words"):
        filters[f"more than {most:,} words"] = lambda a, b: len(a.split()) > most or len(b.split()) > most
    if longest := on.get("word_characters"):
        filters[f"a word of more than {longest:,} characters"] = lambda a, b: max(map(longest_word, (a, b))) > longest
    if least := on.get("letters"):
        filters[f"letters below {least:g}"] = lambda a, b: few_letters(a, least) or few_letters(b, least)
    if on.get("copies") == "all":
        filters["the sides have the same letters"] = lambda a, b: bool(a) and letters(a) == letters(b)
    elif on.get("copies"):
        filters["a copy"] = is_copy
    if (share := on.get("script")) and languages:
        first, second = map(scripts_of, sides)
        filters["another script"] = lambda a, b: share_in(a, first) < share or share_in(b, second) < share
    if on.get("language") and languages:
        language_identifier()
        filters["another language"] = lambda a, b: in_other_language(a, sides[0]) or in_other_language(b, sides[1])
    if equal_share := on.get("numbers"):  # these compare the two sides: a text without a translation passes
        filters["other numbers"] = lambda a, b: bool(a) and numbers_differ(a, b, equal_share)
    if on.get("addresses"):
        filters["other addresses"] = lambda a, b: bool(a) and addresses_differ(a, b)
    if on.get("repetition"):
        filters["repetition"] = lambda a, b: loops(a, b) or (bool(a) and loops(b, a))
    return filters


def known_by(pair: Sequence[str]) -> str:
    """The sentence by which a pair is recognised in held-out text: its source, or its text if it has no source."""
    return pair[0] or pair[1]


def digest(text: str) -> bytes:
    """Eight bytes that stand for a text: among 10⁹ texts, about 0.03 pairs are expected to have the same ones."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def alike_key(pair: Sequence[str]) -> bytes:
    """A hash that pairs share whose sides are `alike`."""
    return digest(f"{alike(pair[0])}\n{alike(pair[1])}")


class HeldOut:
    """Text of val and test, and what repeats it. Its tables, which take seconds, serve all cleaners of a process."""

    def __init__(self, splits: Mapping[str, Sequence[Sequence[str]]], chosen: Collection[str] = ()) -> None:
        """`splits`: pairs (or texts) by the names of their sets; `chosen`: those that nmt took from training text."""
        self.splits, self.chosen = splits, chosen

    @cached_property
    def known(self) -> dict[str, str]:
        """The sentences by which pairs are known, with the first split that has each."""
        return {known_by(pair): split for split, pair in self.last_first()}

    @cached_property
    def sentences(self) -> dict[str, str]:
        """All sentences of both sides, with the first split that has each."""
        return {side: split for split, pair in self.last_first() for side in pair}

    def last_first(self) -> Iterator[tuple[str, Sequence[str]]]:
        return ((split, pair) for split in reversed([*self.splits]) for pair in reversed(self.splits[split]))

    @cached_property
    def all(self) -> "Repeats":
        """What repeats any held-out text, without case, punctuation and digits."""
        return Repeats(self.splits, numbers=False)

    @cached_property
    def repeats(self) -> "Repeats":
        """What repeats text that nmt has held out, without case and punctuation. Numbers count: lines of one kind that
        differ in a number are in no test set of the user's, and most of a corpus may be such lines."""
        return Repeats({name: pairs for name, pairs in self.splits.items() if name in self.chosen}, numbers=True)


class Repeats:
    """Finds text that repeats other text."""

    def __init__(self, splits: Mapping[str, Iterable[Sequence[str]]], *, numbers: bool) -> None:
        """`splits`: pairs (or texts) by set; `numbers`: whether texts that differ in a number don't repeat."""
        self.numbers = numbers
        self.whole: dict[str, str] = {}
        self.windows: dict[bytes, str] = {}
        self.marks = set[tuple[str, str, str]]()
        """Words of windows (see `window_marks`): most texts have none of them, which is seen sooner."""
        for split, pairs in splits.items():
            for text in filter(None, (side for pair in pairs for side in pair)):
                whole, words = self.plain(text)
                self.whole.setdefault(whole, split)
                self.marks.update(window_marks(words))
                for window in windows(words):
                    self.windows.setdefault(window, split)

    def find(self, sides: Collection[str]) -> str:
        """Why a training pair must not be learned; empty for a clean one."""
        for text in filter(None, sides if self.whole else ()):
            whole, words = self.plain(text)
            if split := self.whole.get(whole):
                return f"nearly in {split}"
            if self.marks.isdisjoint(window_marks(words)):
                continue
            starts = (n for n, mark in enumerate(window_marks(words)) if mark in self.marks)
            if split := next((self.windows[w] for w in windows(words, starts) if w in self.windows), ""):
                return f"{WINDOW} words of {split}"
        return ""

    def plain(self, text: str) -> tuple[str, list[str]]:
        """A text without case, punctuation and blanks (`unpunctuated` or `alike`); and its words, without case and
        punctuation, or none if it is too short for a window."""
        if text.count(" ") < WINDOW - 1:
            whole, words = unpunctuated(text), []
        else:
            words = without_ascii_signs(text.casefold(), blanks=True).split()
            whole = "".join(words)
            if not whole.isalnum():
                words = [plain for word in words if (plain := word if word.isalnum() else without_signs(word))]
                whole = "".join(words) or text
        return whole if self.numbers else DIGIT.sub("0", whole), words


def window_marks(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """The first, the middle and the last word of each WINDOW words in a row."""
    return zip(words, words[WINDOW // 2 :], words[WINDOW - 1 :], strict=False)


def windows(words: Sequence[str], starts: Iterable[int] | None = None) -> Iterator[bytes]:
    """Each WINDOW words in a row, as digests; `starts`: those that begin at these words."""
    for start in range(len(words) - WINDOW + 1) if starts is None else starts:
        yield digest(" ".join(words[start : start + WINDOW]))
