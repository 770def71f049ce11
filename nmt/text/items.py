"""Items: parts of a text that a translation must keep. A text flows in, its items flow out; two texts are compared.

An item has one of these kinds. Where several kinds match at one place, the first in this list is taken:

- url: begins with http://, https://, ftp:// or www., and ends before a blank, a quote, a bracket that isn't opened in
  it, or a character of an East or South-East Asian script, which write no space after it; without final punctuation.
- email: Latin letters and digits on both sides of the @, and a dot in its domain.
- tag: `<b>`, `</b>`, `<br/>`, `<a href="x">`, `<1>`, and entities such as `&nbsp;` or `&#160;`.
- placeholder: `{name}`, `{0}`, `{{ x }}`, `${NAME}`, `$NAME`, `__NAME__`, printf's `%s`, `%1$s`, `%.2f`, `%(name)s`.
- emoji: one picture with all that modifies it: skin tones, flags, keycaps, pictures joined into one.
- number: digits of any script with the marks inside them, and the currency, percent sign or unit beside them. A bare
  single digit is no item, as translations may spell it out; nor are digits right after a letter (`B2B`, `A380`).

Source: Unicode Technical Standard 51, section 1.4.9, for the parts of an emoji.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from nmt.text.scripts import ASIAN

Kind = Literal["url", "email", "tag", "placeholder", "emoji", "number"]

LETTER = rf"[^\W\d_{ASIAN}]"
PICTURE = r"\u2600-\u2757\u2763-\u2767\u2794-\u27bf\U0001f000-\U0001f1e5\U0001f200-\U0001faff"
LATIN, ATOM, LABEL = r"[a-zA-Z\u00c0-\u024f]", r"[a-zA-Z0-9_\u00c0-\u024f+-]", r"[a-zA-Z0-9\u00c0-\u024f-]"
BLANK = r"[ \u00a0\u2009\u202f]"

# Searching takes linear time for any text: a pattern stops where it could begin again, and what repeats without bound
# is possessive, or is followed by a character that it doesn't contain. Looking ahead for the first character costs less
# than looking back, and so comes first.
URL = rf"(?=[hHfFwW])(?<!{LETTER})(?<!\d)(?:(?i:https?|ftp)://|(?i:www)\.)(?=[^\W_{ASIAN}])"
URL_PART = re.compile(rf"[^\s<>\"`\\^|()\[\]{{}}«»\u2000-\u206f\ufe0f{PICTURE}{ASIAN}]+|[()\[\]{{}}]")
EMAIL = rf"(?<!{ATOM})(?<!{ATOM}\.){ATOM}++(?:\.{ATOM}++)*@{LABEL}++(?:\.{LABEL}++)*\.{LATIN}{{2,}}+(?![\d@_])"
TAG = (
    r"</?(?:[a-zA-Z][a-zA-Z0-9_:.-]*+|\d++)(?:\s[^<>\"']*+(?:(?:\"[^<\"]*+\"|'[^<']*+')[^<>\"']*+)*)?/?>"
    r"|&(?:[a-zA-Z][a-zA-Z0-9]{1,31}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});"
)
# Not after a digit, and not %ig: "100%ige Lösung" and "100 %ige Lösung" are German for a percentage.
PRINTF_END = r"(?:hh?|ll?|[jzt])?(?:[sduoxXcrfFeEgG@]|i(?!g))"
PRINTF = rf"%(?<!\d%)(?<!%%)(?:\d++\$|\([^()\s]++\))?(?:[-+0]?\d++)?(?:\.\d++)?{PRINTF_END}"
PLACEHOLDER = (
    r"\{\{[^{}]*+\}\}|\$?\{[a-zA-Z0-9_.,:;@$!?+*%=<>\[\]-]*+\}"
    r"|\$(?<![a-zA-Z0-9_$]\$)[a-zA-Z_][a-zA-Z0-9_]*+"
    r"|__(?<![a-zA-Z0-9_]__)[A-Z][A-Z0-9]*+(?:_[A-Z0-9]++)*__(?![a-zA-Z0-9_])"
)
PICTURE_PART = (
    rf"(?:[{PICTURE}]|[©®\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u25ff\u2900-\u297f"
    r"\u2b00-\u2bff\u3030\u303d\u3297\u3299](?=\ufe0f)|[\u231a\u231b\u23e9-\u23f3\u2b1b\u2b1c\u2b50\u2b55])"
    r"[\ufe0e\ufe0f]?+[\U0001f3fb-\U0001f3ff]?+\u20e3?+[\U000e0020-\U000e007f]*+"
)
EMOJI = rf"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3|{PICTURE_PART}(?:\u200d{PICTURE_PART})*+"
SIGN, CODE = r"[$¢£¥฿\u20a0-\u20cf]", "(?:EUR|USD|GBP|CHF|JPY)"
UNIT = (
    r"(?:[%‰]|°[CF]?|km/h|mph|m/s|[kcmµn]?m[²³]?|kg|mg|g|lb|oz|t|[mc]?l|L|h|min|m?s|[kMG]?Hz|[kMG]?Wh?|k?V|[kMGT]B"
    r"|px|ft|k?J|kcal|dB)"
)
DATE = r"\d{1,4}(?:-\d{1,2}-|/\d{1,2}/)\d{1,4}(?!\d)"
GROUPED = rf"\d{{1,3}}(?:(?:{BLANK}|['’])\d{{3}}(?!\d))+(?:[.,]\d++)?"
NUMBER = (
    rf"(?=[\d$¢£¥฿\u20a0-\u20cfEUGCJ])(?:{SIGN}{BLANK}?|(?<!{LETTER})(?:{CODE}{BLANK}?|(?<![\d_])))"
    rf"(?:{DATE}|{GROUPED}|\d++(?:[.,:٫٬]\d++)*)"
    rf"(?:{BLANK}?(?:{SIGN}|{CODE}|{UNIT})(?!{LETTER}|[\d_@({{'’]|[.+-]{LETTER}))?"
)

PATTERN = re.compile(
    f"(?P<url>{URL})|(?P<email>{EMAIL})|(?P<tag>{TAG})|(?P<placeholder>{PLACEHOLDER}|{PRINTF})"
    f"|(?P<emoji>{EMOJI})|(?P<number>{NUMBER})"
)
# Every item contains one of these. Most sentences contain none, and needn't be searched with the slower PATTERN.
SIGN_OF_ITEM = re.compile(r"[@<&{$%\d\u00a9\u00ae\u2000-\U0010ffff]|://|(?i:www)\.|__")
TAG_NAME = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9_:.-]*|\d+)")
TRAILING = ".,;:!?'*،؛؟([{"
CLOSING = {"(": ")", "[": "]", "{": "}"}
THOUSANDS = re.compile("[1-9][0-9]{0,2}(?:,[0-9]{2,3})*,[0-9]{3}")  # also the Indian way: 1,00,000


@dataclass(frozen=True, slots=True)
class Item:
    """The part `text[start:end]` of a text."""

    kind: Kind
    start: int
    end: int
    text: str

    @property
    def canonical(self) -> str:
        """The form that source and translation must share: the text, without variation selectors of emoji, and with
        numbers in the form of `canonical_number`."""
        if self.kind == "number":
            return canonical_number(self.text)
        return self.text.replace("\ufe0e", "").replace("\ufe0f", "") if self.kind == "emoji" else self.text

    @property
    def is_bare_digit(self) -> bool:
        return self.kind == "number" and len(self.text) == 1


def find_items(text: str) -> list[Item]:
    """The items of a text, in order, without overlaps. Takes linear time."""
    return [item for item in scan(text) if not item.is_bare_digit]


def compare_items(source: str, translation: str) -> tuple[list[Item], list[Item]]:
    """The items that only the source has, and those that only the translation has, by kind and canonical form.

    A bare single digit needs no counterpart, but can be one: "5 km" may become "5 Kilometer".
    """
    of_source, of_translation = list(scan(source)), list(scan(translation))
    return unmatched(of_source, of_translation), unmatched(of_translation, of_source)


def recase(text: str, change: Callable[[str], str]) -> str:
    """The text with `change` applied to the parts between its items."""
    result, position = "", 0
    for item in find_items(text):
        result, position = result + change(text[position : item.start]) + item.text, item.end
    return result + change(text[position:])


def tag_pairs(items: Sequence[Item]) -> list[tuple[int, int]]:
    """Indices (opening, closing) of the pairs of tags among the items of a text. Pairs may nest, but don't cross."""
    pairs, opened, names = list[tuple[int, int]](), list[tuple[str, int]](), Counter[str]()
    for i, item in enumerate(items):
        tag = TAG_NAME.match(item.text) if item.kind == "tag" and not item.text.endswith("/>") else None
        if tag and not tag[1]:
            opened.append((tag[2], i))
            names[tag[2]] += 1
        while tag and tag[1] and names[tag[2]]:
            name, start = opened.pop()
            names[name] -= 1
            if name == tag[2]:
                pairs.append((start, i))
                break
    return pairs


def breaks_tags(source: str, translation: str) -> bool:
    """Whether a translation has fewer pairs of tags than its source, or fewer pairs that enclose something."""
    if "</" not in source:
        return False
    of_source, of_translation = (
        Counter(text[items[i].end : items[j].start].strip() != "" for i, j in tag_pairs(items))
        for text, items in ((source, find_items(source)), (translation, find_items(translation)))
    )
    return of_source.total() > of_translation.total() or of_source[True] > of_translation[True]


def scan(text: str) -> Iterator[Item]:
    """Yield the items of a text, including bare single digits."""
    position = 0 if SIGN_OF_ITEM.search(text) else len(text)
    while match := PATTERN.search(text, position):
        start, position = match.span()
        if match.lastgroup == "url":
            position = url_end(text, position)
        yield Item(cast(Kind, match.lastgroup), start, position, text[start:position])


def unmatched(items: list[Item], counterparts: list[Item]) -> list[Item]:
    """The items without a counterpart, except bare digits. Of equal items, the first ones get the counterparts."""
    left = Counter((item.kind, item.canonical) for item in counterparts)
    lone = []
    for item in items:
        if not item.is_bare_digit:
            left[item.kind, item.canonical] -= 1
            if left[item.kind, item.canonical] < 0:
                lone.append(item)
    return lone


def url_end(text: str, end: int) -> int:
    """Where the URL ends whose scheme ends at `end`."""
    expected = []
    while part := URL_PART.match(text, end):
        if part[0] in CLOSING:
            expected.append(CLOSING[part[0]])
        elif part[0] in ")]}" and (not expected or expected.pop() != part[0]):
            break
        end = part.end()
    # This loop ends, since a letter or digit follows the scheme.
    while text[end - 1] in TRAILING:
        end -= 1
    return end


def canonical_number(text: str) -> str:
    """The digits of a number, in ASCII, without currency, percent sign or unit, which may become words.

    Languages swap point and comma, so both are read alike: marks of one kind before groups of three digits separate
    thousands and are left out (1,000 is 1.000 is 1 000, even where 1.000 is meant as a fraction); otherwise the last
    mark is a decimal point (3,5 is 3.5; also 12:30 is 12.30), and zeros before the number are left out. The three
    numbers of a date are sorted: 2024-01-31 is 31.1.2024, but the 1st of February is also the 2nd of January.
    """
    if text.isascii() and text.isdigit():
        return text
    text = "".join(str(unicodedata.decimal(character, character)) for character in text)
    groups = re.findall("[0-9]+", text)
    marks = re.findall("(?<=[0-9])[^0-9](?=[0-9])", text)
    alike = len(set(marks)) == 1
    if alike and marks[0] != ":" and is_date([len(group) for group in groups]):
        return "-".join(sorted((str(int(group)) for group in groups), key=int, reverse=True))
    if alike and marks[0] != ":" and THOUSANDS.fullmatch(",".join(groups)):
        return "".join(groups)
    whole, parts = (groups[0], groups[1:]) if alike else ("".join(groups[:-1]), groups[-1:])
    return ".".join([whole.lstrip("0") or "0", *parts]) if marks else groups[0]


def is_date(lengths: list[int]) -> bool:
    """Whether numbers of these lengths can be day, month and year, in any usual order."""
    return len(lengths) == 3 and max(lengths[1], min(lengths)) <= 2 and max(lengths) in (2, 4)
