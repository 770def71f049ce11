"""Items: parts of a text that a translation must keep. A text flows in, its items flow out; two texts are compared.

An item has one of these kinds. Where several kinds match at one place, the first in this list is taken:

- own: what a regular expression of the user matches.
- url: begins with http://, https://, ftp:// or www., and ends before a blank, a quote, a bracket that isn't opened in
  it, or a character of an East or South-East Asian script, which write no space after it; without final punctuation.
- email: Latin letters and digits on both sides of the @, and a dot in its domain.
- tag: `<b>`, `</b>`, `<br/>`, `<a href="x">`, `<1>`, comments, CDATA, `<?= x ?>`, and entities such as `&nbsp;`. An
  opening tag without attributes must be an element of HTML, or be closed somewhere (`<Your name>` is text).
- placeholder: `{name}`, `{0}`, `{ x }`, `{{ x }}`, `{% x %}`, `{#x}`, `${NAME}`, `$NAME`, `__NAME__`, `%name%`,
  `@name@`, `[[x]]`, `$t(x)` of i18next, `@:x` and `@.lower:x` of Vue, printf's `%s`, `%1$s`, `%.2f`, `%(name)s`,
  strftime's `%Y`, Qt's `%1`, `%L1`, `%n`, `%Ln`; `:name` and `:smile:` after a blank, an opening bracket or a quote; a
  whole argument of ICU: `{0, number}`, `{n, plural, one {# file} other {# files}}`.
- emoji: one picture with all that modifies it: skin tones, flags, keycaps, pictures joined into one.
- number: digits of any script with the marks inside them, and the currency, percent sign or unit beside them. A bare
  single digit is no item, as translations may spell it out; nor are digits right after a letter (`B2B`, `A380`).

Source: Unicode Technical Standard 51, section 1.4.9, for the parts of an emoji.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html.entities import html5
from typing import Literal, cast

from nmt.text.edits import apply
from nmt.text.scripts import ASIAN
from nmt.text.sentences import MARKS
from nmt.text.user_items import NO_USER_ITEMS, UserItems

Kind = Literal["own", "url", "email", "tag", "placeholder", "emoji", "number"]

# Elements of HTML (html.spec.whatwg.org, sections 4 and 15.3, with obsolete ones of section 16.2). Blocks end a line of
# text: what stands before and after them is translated apart.
BLOCKS = frozenset(
    """address article aside blockquote body br button caption center col colgroup datalist dd details dialog dir
    div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr
    html iframe legend li link main menu meta nav noframes noscript ol optgroup option p pre script search
    section select source style summary table tbody td template textarea tfoot th thead title tr track ul""".split()  # noqa: SIM905
)
INLINE = frozenset(
    """a abbr acronym applet area audio b base bdi bdo big canvas cite code data del dfn em embed font i img input
    ins kbd label map mark math meter nobr object output param picture progress q rp rt ruby s samp slot
    small span strike strong sub sup svg time tt u var video wbr""".split()  # noqa: SIM905
)
ELEMENTS = BLOCKS | INLINE
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
# Attributes without a value must be of HTML, so that "a <b und c> d" is text.
FLAG_ATTRIBUTE = (
    r"(?i:allowfullscreen|async|autofocus|autoplay|checked|controls|data-[\w-]++|default|defer|disabled|download|hidden"
    r"|inert|ismap|itemscope|loop|multiple|muted|nomodule|noshade|novalidate|nowrap|open|playsinline|readonly|required"
    r"|reversed|selected)(?![\w-])"
)
ATTRIBUTE = rf"(?:[a-zA-Z_:@*#(\[][^\s\"'<>/=]*+\s*+=\s*+(?:\"[^<\"]*+\"|'[^<']*+'|[^\s\"'<>=]++)|{FLAG_ATTRIBUTE})"
TAG = (
    rf"</(?:[a-zA-Z][a-zA-Z0-9_:.-]*+|\d++)\s*+>|<(?:[a-zA-Z][a-zA-Z0-9_:.-]*+|\d++)(?:\s++{ATTRIBUTE})*+\s*+/?>"
    r"|<!--(?>(?:[^<-]|-(?!->)|<(?!!--))*)-->|<!\[CDATA\[(?>(?:[^<\]]|\](?!\]>)|<(?!!\[CDATA\[))*)\]\]>"
    r"|<\?(?>(?:[^<?]|\?(?!>)|<(?!\?))*)\?>|&(?:[a-zA-Z][a-zA-Z0-9]{1,31}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});"
)
# Not after a digit, and not %ig or, after digit and blank, %er: "100%ige Lösung" and "ein 10 %er" are German for
# percentages.
PRINTF_END = r"(?:hh?|ll?|[jzt])?(?:[sduoxXcrfFeEgG@]|i(?!g))"
DATE_PART = rf"[-_^0]?[aAbBdeHIjklmMpSyYzZ](?!{LETTER}{{2}}|\d)"  # of strftime
PRINTF = (
    rf"%(?<!\d%)(?<!%%)(?:(?<!\d{BLANK}%)|(?![a-z]{{2}}))"
    rf"(?:(?:\d++\$|\([^()\s]++\))?(?:[-+0]?\d++)?(?:\.\d++)?{PRINTF_END}|L?[1-9](?![\d.,]*\d)|L?n(?!{LETTER})"
    rf"|{DATE_PART})"
)
# No currency ($US) and no number ($five).
NO_NAME = (
    "(?:US|USD|CA|CAD|AU|AUD|NZ|NZD|HK|HKD|SG|SGD|TW|TWD|MX|MXN|BR|AR|CL|CO|one|two|three|four|five|six|seven|eight|nine"
    "|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundreds?|thousands?|millions?|billions?)"
)
BEFORE_COLON = r"(?<![^\s(\[{\"'„“”‚‘’«»¿¡])"
PLACEHOLDER = (
    r"\{\{[^{}]*+\}\}|\{%[^{}%]*+%\}|\{#[^{}#]*+#\}|\$?\{(?:[a-zA-Z0-9_.,:;@$!?#+*%=<>\[\]-]*+|\s[a-zA-Z_][a-zA-Z0-9_.]*+\s)\}"
    r"|\$t\([^()$]*+\)|@(?<![a-zA-Z0-9_@]@)(?:\.[a-z]++)?:(?:[a-zA-Z0-9_]++(?:[.-][a-zA-Z0-9_]++)*+|\([\w.-]++\))"
    rf"|\$(?<![a-zA-Z0-9_$]\$)(?!{NO_NAME}(?![a-zA-Z0-9_]))[a-zA-Z_][a-zA-Z0-9_]*+"
    r"|__(?<![a-zA-Z0-9_]__)[A-Z][A-Z0-9]*+(?:_[A-Z0-9]++)*__(?![a-zA-Z0-9_])"
    r"|%(?<!\d%)(?<!%%)[a-zA-Z_][a-zA-Z0-9_.-]++%(?![a-zA-Z0-9%$(.])"
    r"|@(?<![a-zA-Z0-9_@]@)[a-zA-Z_][a-zA-Z0-9_.-]*+@(?![a-zA-Z0-9_@])"
    r"|\[\[(?:[^\[\]\s]++|\s[^\[\]\s]++\s)\]\]"
    rf"|{BEFORE_COLON}:(?:[a-z0-9_+-]{{2,}}+:|[a-z][a-z0-9_]++)(?![a-zA-Z0-9_:])"
)
ICU_KIND = "plural|select|selectordinal|choice|number|date|time|spellout|ordinal|duration"
ICU = rf"\{{\s?[a-zA-Z0-9_.]++\s?,\s?(?:{ICU_KIND})\s?+[,}}]"
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
    f"(?P<url>{URL})|(?P<email>{EMAIL})|(?P<tag>{TAG})|(?P<icu>{ICU})|(?P<placeholder>{PLACEHOLDER}|{PRINTF})"
    f"|(?P<emoji>{EMOJI})|(?P<number>{NUMBER})"
)
# Every item contains one of these. Most sentences contain none, and needn't be searched with the slower PATTERN.
CHARACTER_OF_ITEM = re.compile(r"[@<&{$%0-9:_\[\u00a9\u00ae\u0660-\U0010ffff]")  # searched fastest
SIGN_OF_ITEM = re.compile(r"[@<&{$%\d\u00a9\u00ae\u2000-\U0010ffff]|:[/a-z0-9_+-]|(?i:www)\.|__|\[\[")
# Signs of Qt are numbered from 1 on; in Turkish and Basque, %5 is a percentage.
FIRST_SIGN, LATER_SIGN = re.compile(r"%L?1(?!\d)"), re.compile("%L?[2-9]")
TAG_NAME = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9_:.-]*|\d+)")
OPENING_TAG = re.compile(r"<([a-zA-Z][a-zA-Z0-9_:.-]*+)>")
CLOSING_QUOTES = frozenset("\"'“”‘’»«›‹」』״")
TRAILING = f"{MARKS},;:'*،؛([{{"
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


def find_items(text: str, user_items: UserItems = NO_USER_ITEMS) -> list[Item]:
    """The items of a text, in order, without overlaps. Takes linear time."""
    return [item for item in scan(text, user_items) if item.kind != "number" or len(item.text) > 1]


def outside_items(
    text: str, change: Callable[[str], str], user_items: UserItems = NO_USER_ITEMS, *, numbers: bool = False
) -> str:
    """The text with `change` applied to the parts between its items; with `numbers`, to numbers too."""
    result, position = list[str](), 0
    for item in find_items(text, user_items):
        if item.kind != "number" or not numbers:
            result += [change(text[position : item.start]), item.text]
            position = item.end
    return "".join([*result, change(text[position:])])


def prose(text: str, user_items: UserItems = NO_USER_ITEMS) -> str:
    """A text without its items."""
    return apply(text, [(item.start, item.end, " ") for item in find_items(text, user_items)])


def tag_pairs(items: Sequence[Item]) -> list[tuple[int, int]]:
    """Indices (opening, closing) of the pairs of tags among the items of a text."""
    tags = (TAG_NAME.match(item.text) if item.kind == "tag" and item.text[-2:] != "/>" else None for item in items)
    return pair_tags((tag[2], bool(tag[1])) if tag else None for tag in tags)


def pair_tags(tags: Iterable[tuple[str, bool] | None]) -> list[tuple[int, int]]:
    """Indices (opening, closing) of tags that belong together. Pairs may nest, but don't cross: an element ends at the
    latest with the one around it. `tags`: the name of each, and whether it closes; None for what can't be paired."""
    pairs, opened, names = list[tuple[int, int]](), list[tuple[str, int]](), Counter[str]()
    for i, tag in enumerate(tags):
        if tag and not tag[1]:
            opened.append((tag[0], i))
            names[tag[0]] += 1
        while tag and tag[1] and names[tag[0]]:
            name, start = opened.pop()
            names[name] -= 1
            if name == tag[0]:
                pairs.append((start, i))
                break
    return pairs


def nesting(text: str) -> Counter[tuple[str, str, bool]]:
    """Of each pair of tags: its opening tag, that of the pair around it, and whether it encloses something."""
    items = find_items(text)
    found, around = Counter[tuple[str, str, bool]](), [(len(items), "")]
    for start, end in sorted(tag_pairs(items)):
        while around[-1][0] < start:
            around.pop()
        filled = text[items[start].end : items[end].start].strip() != ""
        found[items[start].text, around[-1][1], filled] += 1
        around.append((end, items[start].text))
    return found


OPENING = dict(zip("([{<\"'„“‚‘«»‹›「『（【*`", ")]}>\"'“”‘’»«›‹」』）】*`", strict=True))
QUOTES = frozenset("\"'„“‚‘«»‹›「『")
ALIKE = dict.fromkeys((*QUOTES, *"”’״"), '"') | {"（": "(", "【": "["}  # Swedish opens quotes with ”, Hebrew with ״


def framed(items: Sequence[Item], text: str) -> Counter[tuple[str, str]]:
    """Each item with a pair of brackets or quotes right beside it, and the opening one (those of ALIKE are one)."""
    found = Counter[tuple[str, str]]()
    for item in items:
        left = text[item.start - 1 : item.start]
        right = text[item.end : item.end + 1]
        kind = ALIKE.get(left, left)
        if right and (right in CLOSING_QUOTES if kind == '"' else right == OPENING.get(left)):
            found[item.canonical, kind] += 1
    return found


def closing_braces(text: str) -> dict[int, int]:
    """For each opening brace that is closed, the end of its closing brace."""
    opened, ends = list[int](), dict[int, int]()
    for brace in re.finditer("[{}]", text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            ends[opened.pop()] = brace.end()
    return ends


class Reader:
    """What is known of a whole text, for items that depend on more than their own characters."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def closed(self) -> set[str]:
        """The names of all closing tags."""
        return set(re.findall(r"</([a-zA-Z][a-zA-Z0-9_:.-]*+)", self.text))

    @cached_property
    def braces(self) -> dict[int, int]:
        return closing_braces(self.text)

    @cached_property
    def has_first_sign(self) -> bool:
        return bool(FIRST_SIGN.search(self.text))

    def end_of(self, match: re.Match[str]) -> int:
        """Where the item ends that PATTERN has found; 0 if it is none."""
        if match.lastgroup == "url":
            return url_end(self.text, match.end())
        if match.lastgroup == "icu":
            return self.braces.get(match.start(), 0)
        if LATER_SIGN.fullmatch(match[0]) and not self.has_first_sign:
            return 0
        if match[0][0] == "&":
            return match.end() if match[0][1] == "#" or match[0][1:] in html5 else 0
        opening = OPENING_TAG.fullmatch(match[0]) if match.lastgroup == "tag" else None
        known = not opening or opening[1].lower() in ELEMENTS or ":" in opening[1] or opening[1] in self.closed
        return match.end() if known else 0


def scan(text: str, user_items: UserItems = NO_USER_ITEMS) -> Iterator[Item]:
    """Yield the items of a text, including bare single digits."""
    may_match = CHARACTER_OF_ITEM.search(text) or "w." in text or "W." in text  # of www.
    match = PATTERN.search(text) if may_match and SIGN_OF_ITEM.search(text) else None
    position, found = 0, user_items.find(text)[::-1] if user_items.patterns else []
    if not (match or found):
        return
    reader = Reader(text)
    while match or found:
        if found and (not match or found[-1][0] <= match.start()):
            start, end = found.pop()
            if start >= position:
                position = end
                yield Item("own", start, end, text[start:end])
        elif match:
            start, end = match.start(), reader.end_of(match) if match.start() >= position else 0
            if end:
                kind = "placeholder" if match.lastgroup == "icu" else match.lastgroup
                yield Item(cast(Kind, kind), start, end, text[start:end])
            position = max(position, end)
            match = PATTERN.search(text, max(position, start + 1))


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
    lengths = [len(group) for group in groups]
    is_date = len(lengths) == 3 and max(lengths[1], min(lengths)) <= 2 and max(lengths) in (2, 4)  # in any usual order
    if alike and marks[0] != ":" and is_date:
        return "-".join(sorted((str(int(group)) for group in groups), key=int, reverse=True))
    if alike and marks[0] != ":" and THOUSANDS.fullmatch(",".join(groups)):
        return "".join(groups)
    whole, parts = (groups[0], groups[1:]) if alike else ("".join(groups[:-1]), groups[-1:])
    return ".".join([whole.lstrip("0") or "0", *parts]) if marks else groups[0]
