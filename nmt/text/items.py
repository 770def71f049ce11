"""What must survive translation unchanged: text flows in, the items found in it flow out; or what a translation lost.

An item is one of these kinds. Where several could begin at a place, the first of this list does:

- url: http://, https://, ftp:// or www., up to a blank, a quote or a bracket that nothing opened; without the
  punctuation that ends it. As those scripts write no space after it, it also ends at a character of East or
  South-East Asian script.
- email: Latin letters and digits on both sides of the @, and a dot in its domain.
- tag: `<b>`, `</b>`, `<br/>`, `<a href="x">`, `<1>`, and entities such as `&nbsp;` or `&#160;`.
- placeholder: `{name}`, `{0}`, `{{ x }}`, `${NAME}`, `$NAME`, `__NAME__`, printf's `%s`, `%1$s`, `%.2f`, `%(name)s`.
- emoji: one picture with all that modifies it: skin tone, flags, keycaps, pictures joined to one.
- number: digits of any script with the marks inside them, and the currency, percent sign or unit beside them. A bare
  single digit is none, as languages like to spell it out; nor are digits right after a letter (`B2B`, `A380`).

Source: Unicode Technical Standard 51, section 1.4.9, for the parts of an emoji.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

Kind = Literal["url", "email", "tag", "placeholder", "emoji", "number"]

# Thai, Lao, Tibetan, Burmese, Hangul, Khmer, Han and kana with their punctuation and full width: no space (in Korean,
# before particles) parts a word from the item beside it.
UNSPACED = (
    r"\u0e00-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f"
    r"\uff00-\uffef\U00020000-\U0003ffff"
)
LETTER = rf"[^\W\d_{UNSPACED}]"
PICTURE = r"\u2600-\u2757\u2763-\u2767\u2794-\u27bf\U0001f000-\U0001f1e5\U0001f200-\U0001faff"
ATOM, LABEL = r"[a-zA-Z0-9_\u00c0-\u024f+-]", r"[a-zA-Z0-9\u00c0-\u024f-]"
BLANK = r"[ \u00a0\u2009\u202f]"

# Time is linear in the length of the text, whatever the text is: a pattern stops where it could begin anew, and what
# can repeat without bound gives nothing back, or is followed by a character that it doesn't contain. Looking ahead for
# the first character costs less than looking back, and so comes first.
URL = rf"(?=[hHfFwW])(?<!{LETTER})(?<!\d)(?:(?i:https?|ftp)://|(?i:www)\.)(?=[^\W_{UNSPACED}])"
URL_PART = re.compile(rf"[^\s<>\"`\\^|()\[\]{{}}«»\u2000-\u206f\ufe0f{PICTURE}{UNSPACED}]+|[()\[\]{{}}]")
EMAIL = (
    rf"(?<!{ATOM})(?<!{ATOM}\.){ATOM}++(?:\.{ATOM}++)*@{LABEL}++(?:\.{LABEL}++)*\.[a-zA-Z\u00c0-\u024f]{{2,}}+"
    r"(?![\d@_])"
)
TAG = (
    r"</?(?:[a-zA-Z][a-zA-Z0-9_:.-]*+|\d++)(?:\s[^<>\"']*+(?:(?:\"[^<\"]*+\"|'[^<']*+')[^<>\"']*+)*)?/?>"
    r"|&(?:[a-zA-Z][a-zA-Z0-9]{1,31}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});"
)
# Neither a digit before printf's % nor %ig: "100%ige Lösung" and "100 %ige Lösung" are German for a percentage.
PRINTF = (
    r"%(?<!\d%)(?<!%%)(?:\d++\$|\([^()\s]++\))?(?:[-+0]?\d++)?(?:\.\d++)?(?:hh?|ll?|[jzt])?"
    r"(?:[sduoxXcrfFeEgG@]|i(?!g))"
)
PLACEHOLDER = (
    r"\{\{[^{}]*+\}\}|\$?\{[a-zA-Z0-9_.,:;@$!?+*%=<>\[\]-]*+\}"
    r"|\$(?<![a-zA-Z0-9_$]\$)[a-zA-Z_][a-zA-Z0-9_]*+"
    r"|__(?<![a-zA-Z0-9_]__)[A-Z][A-Z0-9]*+(?:_[A-Z0-9]++)*__(?![a-zA-Z0-9_])"
    rf"|{PRINTF}"
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
    f"(?P<url>{URL})|(?P<email>{EMAIL})|(?P<tag>{TAG})|(?P<placeholder>{PLACEHOLDER})|(?P<emoji>{EMOJI})"
    f"|(?P<number>{NUMBER})"
)
# Each item has one of these: what has none, as most sentences, is read once instead of searched.
SIGN_OF_ITEM = re.compile(r"[@<&{$%\d\u00a9\u00ae\u2000-\U0010ffff]|://|(?i:www)\.|__")
TAG_NAME = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9_:.-]*|\d+)")
TRAILING = ".,;:!?'*،؛؟([{"
CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Item:
    """A stretch of a text, `text[start:end]`."""

    kind: Kind
    start: int
    end: int
    text: str

    @property
    def canonical(self) -> str:
        """What a translation must have in common with its source.

        Of numbers, that is the digits, in ASCII; currency, percent sign and unit may be put in words. Languages swap
        point and comma, so marks are read alike: one kind of mark before threes of digits groups them and is left out
        (1,000 is 1.000 is 1 000, even where 1.000 is meant as a fraction); else the last mark is a decimal point (3,5
        is 3.5; also 12:30 is 12.30), and zeros before the number are left out. The three numbers of a date stand in
        falling order: 2024-01-31 is 31.1.2024, but the 1st of February is also the 2nd of January.

        Of emoji, it is the text without variation selectors; of other kinds, the text.
        """
        if self.kind == "number":
            return canonical_number(self.text)
        return self.text.replace("\ufe0e", "").replace("\ufe0f", "") if self.kind == "emoji" else self.text


@dataclass(frozen=True)
class ItemCheck:
    """How the items of a translation differ from those of its source."""

    missing: list[Item]
    """Of the source, not in the translation."""

    added: list[Item]
    """Of the translation, not in the source."""

    @property
    def ok(self) -> bool:
        return not self.missing and not self.added


def find_items(text: str) -> list[Item]:
    """The items of a text, in order; none overlap. Takes time in proportion to the length of the text."""
    return [item for item in scan(text) if not is_bare_digit(item)]


def check_items(source: str, translation: str) -> ItemCheck:
    """Whether a translation has the items of its source, each as often, by kind and canonical form.

    Bare single digits need no counterpart, but can be one: "5 km" may become "5 Kilometer".
    """
    in_source, in_translation = list(scan(source)), list(scan(translation))
    return ItemCheck(missing=unmatched(in_source, in_translation), added=unmatched(in_translation, in_source))


def recase(text: str, change: Callable[[str], str]) -> str:
    """The text with what stands between its items changed."""
    result, position = "", 0
    for item in find_items(text):
        result, position = result + change(text[position : item.start]) + item.text, item.end
    return result + change(text[position:])


def tag_pairs(items: Sequence[Item]) -> list[tuple[int, int]]:
    """The places, among the items of a text, of tags that open and close the same; pairs nest and don't cross."""
    pairs: list[tuple[int, int]] = []
    opened: list[tuple[str, int]] = []
    names = Counter[str]()
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
    """Whether fewer tags are paired in a translation than in its source, or fewer have something between them."""
    if "</" not in source:
        return False
    pairs, others = (
        Counter(text[items[i].end : items[j].start].strip() != "" for i, j in tag_pairs(items))
        for text, items in ((source, find_items(source)), (translation, find_items(translation)))
    )
    return pairs.total() > others.total() or pairs[True] > others[True]


def scan(text: str) -> Iterator[Item]:
    """The items of a text, bare single digits among them."""
    position = 0 if SIGN_OF_ITEM.search(text) else len(text)
    while match := PATTERN.search(text, position):
        start, position = match.span()
        if match.lastgroup == "url":
            position = url_end(text, position)
        yield Item(cast(Kind, match.lastgroup), start, position, text[start:position])


def is_bare_digit(item: Item) -> bool:
    return item.kind == "number" and len(item.text) == 1


def unmatched(items: list[Item], others: list[Item]) -> list[Item]:
    """The items without a counterpart among the others; of equal ones, the last. Bare digits are left out."""
    left = Counter((item.kind, item.canonical) for item in others)
    lone = []
    for item in items:
        key = item.kind, item.canonical
        if is_bare_digit(item):
            continue
        if left[key]:
            left[key] -= 1
        else:
            lone.append(item)
    return lone


def url_end(text: str, end: int) -> int:
    """Where a URL ends whose scheme ends at `end`."""
    expected = []
    while part := URL_PART.match(text, end):
        if part[0] in CLOSING:
            expected.append(CLOSING[part[0]])
        elif part[0] in ")]}" and (not expected or expected.pop() != part[0]):
            break
        end = part.end()
    # A letter or digit follows the scheme, so that this ends.
    while text[end - 1] in TRAILING:
        end -= 1
    return end


def canonical_number(text: str) -> str:
    """The digits of a number, as `Item.canonical` describes them."""
    if text.isascii() and text.isdigit():
        return text
    text = "".join(str(unicodedata.decimal(character, character)) for character in text)
    groups = re.findall("[0-9]+", text)
    marks = re.findall("(?<=[0-9])[^0-9](?=[0-9])", text)
    lengths = [len(group) for group in groups]
    if len(set(marks)) == 1 and marks[0] != ":" and is_date(lengths):
        return "-".join(sorted((str(int(group)) for group in groups), key=int, reverse=True))
    if len(set(marks)) == 1 and marks[0] != ":" and groups_thousands(groups, lengths):
        return "".join(groups)
    if len(set(marks)) == 1:
        whole, *parts = groups
    else:
        whole, parts = "".join(groups[:-1]), groups[-1:]
    return ".".join([whole.lstrip("0") or "0", *parts]) if marks else groups[0]


def is_date(lengths: list[int]) -> bool:
    """Whether numbers of these lengths can be day, month and year, in any usual order."""
    return len(lengths) == 3 and max(lengths[1], min(lengths)) <= 2 and max(lengths) in (2, 4)


def groups_thousands(groups: list[str], lengths: list[int]) -> bool:
    """Whether a mark between these groups of digits parts thousands, in the Indian way (1,00,000) too."""
    return (
        groups[0][0] != "0"
        and lengths[0] <= 3
        and lengths[-1] == 3
        and all(length in (2, 3) for length in lengths[1:-1])
    )
