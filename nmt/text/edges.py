"""Edges: marks around the text of a line, which stay as they are in a translation. A line flows in, its parts flow out.

    > 2) Das Rathaus öffnet morgen … [1]   →   "> 2) ", "Das Rathaus öffnet morgen.", " … [1]"

Corpora seldom have such lines, and there a mark can spoil the whole translation. docs/characters.md lists the marks.

A text that ends with a letter, such as a heading, gets a full stop if nearly all training sources end with one: models
that don't see the end of the sentence write its last words twice. The translation loses its own.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from nmt.text.items import EMOJI, find_items
from nmt.text.languages import by_code, language_tag
from nmt.text.scripts import HAN_AND_KANA, ONE_CASE, is_combining
from nmt.text.sentences import MARKS, OWN_MARKS
from nmt.text.user_items import NO_USER_ITEMS, UserItems

Knows = Callable[[str], bool]
"""Whether the vocabulary of the source has a piece for a text, alone or at the start of a word."""

BULLET = r"[-–—•*·‣⁃▪▫●○◦■□◆◇➤➢►▶→✓✔✗✘+]"
LEAD = re.compile(
    rf"[ \u00a0]*+(?:(?:>[ \u00a0]?)++|\#{{1,6}} |{BULLET}[ \u00a0]+|\[[ xX]\] |\(?[a-zA-Z]\) |\(?\d{{1,3}}\) "
    rf"|[・※①-⑳][ \u00a0\u3000]*+|[(（]?\d{{1,3}}[)）.．、]\u3000?(?=[{HAN_AND_KANA}])"
    rf"|(?:(?:{EMOJI})[ \u00a0]*+)++"
    r"|(?P<number>(?:\d{1,3}\.){1,4}|\d{1,3}(?:\.\d{1,3}){1,3}) |\[\d{1,3}\] ?)"
)
DECIMAL = re.compile(r"\d+\.\d+")
FOOTNOTE = r"(?:\[\d{1,3}\])++"
SMILEY = r"(?:[:;=8][-'^o]?[)(\]\[DPpOo3*|/\\]++|[xX]D+|\^_?\^|<3)"
TRAIL = re.compile(rf"[ \u00a0]*+(?:{FOOTNOTE}|(?:{EMOJI}))|[ \u00a0]++{SMILEY}")
# The last dot of "U.S." stays. Marks begin where there is none before them, so that each is looked at once.
LAST_MARKS = re.compile(rf"(?:(?<!\.\w)\s?(?<![{MARKS}])|(?<=\.\w[{MARKS}]))[{MARKS}]++\Z|(?:{OWN_MARKS})\Z")
STOPS = re.compile(r"(?<![.!?…\s])[ \u00a0]*+(?:…|\.{3,}|[!?]{2,})\Z")
# By language, perhaps with its script and region; others have those of English.
QUOTES = by_code(
    "„+“=de/cs/sk/sl/hr/sr/mk/et/lt/bg/is/ka/lb/sq «+»=fr/ru/uk/be/it/es/ca/eu/pt/el/hy/fa/no/nb/nn/am/ky/ps "
    "„+”=pl/hu/ro ”+”=sv/fi 「+」=ja/yue/zh-hant/zh-tw/zh-hk “+”=pt-br"
)
PAIRS = "() [] {} „“ “” ”” «» »« ‹› ›‹ ‚‘ ‘’ 「」 『』 《》 【】 \"\" '' ** __ ~~ ``"
AROUND = {pair[0]: pair[1] for pair in PAIRS.split()}
TYPOGRAPHIC = "„“”«»‹›‚‘「『《"
LONGEST = 40  # characters that are taken off at an end


@dataclass(frozen=True)
class Edges:
    """The parts of a line."""

    lead: str
    text: str
    """What is translated: the line without its edges, perhaps with a full stop in place of `stop`."""
    trail: str
    stop: str | None = None
    """What the last mark of the translation is replaced by; None if it stays."""
    start: int = 0
    """Where the text begins in the line, and `end`: where it ends there, before `trail`."""
    end: int = 0

    def __bool__(self) -> bool:
        return bool(self.lead or self.trail or self.stop is not None)


def quotes_of(language: str) -> tuple[str, str]:
    parts = language_tag(language).lower().split("-")
    codes = ("-".join(parts[:n]) for n in range(len(parts), 0, -1))
    opening, closing = next((QUOTES[code] for code in codes if code in QUOTES), ["“", "”"])
    return opening, closing


def take_off(
    line: str,
    knows: Knows,
    quotes: tuple[str, str] | None = None,
    user_items: UserItems = NO_USER_ITEMS,
    final: str = "",
) -> Edges:
    """The parts of a tidied line. If nothing but edges would be left, the line is its text.

    `quotes`: those of the target language, which replace typographic ones around the text.
    `final`: the mark that a text gets if it has none.
    """
    start, end = 0, len(line)
    while start < LONGEST and (mark := LEAD.match(line, start)) and is_mark(mark, knows):
        start = mark.end()
    window = max(start, end - LONGEST)
    trails = [] if line[-1:] in MARKS else [*TRAIL.finditer(line, window)]
    while trails and trails[-1].end() == end:
        end = trails.pop().start()
    text, stop = line[start:end], None
    around, lead, after = ["", ""], line[:start], line[end:]
    while len(text) > 2 and AROUND.get(text[0]) == text[-1] and is_around(text, user_items):
        left, right = quotes if quotes and text[0] in TYPOGRAPHIC else (text[0], text[-1])
        around = [around[0] + left, right + around[1]]
        text, start, end = text[1:-1], start + 1, end - 1
    has_one_stop = text.endswith(".") and not text.endswith("..")  # as nearly all lines
    found = None if has_one_stop else STOPS.search(text, max(0, len(text) - LONGEST))
    if found and not knows(found[0].strip()):
        stop = found[0]
        text = text[: found.start()] + (stop.strip()[0] if stop.strip()[0] in "!?" else final or ".")
    if not any(map(str.isalpha, text)):
        return Edges("", line, "")
    lacks_mark = final and (text[-1].isalpha() or is_combining(text[-1]))
    if lacks_mark and not any(item.end == len(text) for item in find_items(text, user_items)):
        text, stop = text + final, ""
    return Edges(lead + around[0], text, around[1] + after, stop, start, end)


def is_mark(lead: re.Match[str], knows: Knows) -> bool:
    """Whether this start of a line is a mark. A number before a word in small letters is a part of the text; 2.5
    may be a decimal, except before a word that also exists in lower case."""
    word = re.match(r"[^\W\d_]+", lead.string[lead.end() :]) if lead["number"] else None
    if not word:
        return not lead["number"]
    has_case = word[0][0].lower() != word[0][0].upper() and not ONE_CASE.match(word[0])
    if DECIMAL.fullmatch(lead["number"]):
        return has_case and word[0][0].isupper() and knows(word[0].lower())
    return not has_case or word[0] != word[0].lower()


def is_around(text: str, user_items: UserItems) -> bool:
    """Whether the first and last sign of a text belong together."""
    first, last, inside = text[0], text[-1], text[1:-1]
    is_item = any(item.start == 0 or item.end == len(text) for item in find_items(text, user_items))
    return first not in inside and last not in inside and not is_item
