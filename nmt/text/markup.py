"""Mark-up: a text in HTML or XML flows in; its segments flow out, as lines to translate, and go back into the mark-up.

Nothing is written anew: what isn't translated is copied from the source, byte for byte, also in broken mark-up. Block
elements (`BLOCKS`) end segments. Inline tags are marks of a segment's line (see `nmt.text.restore`). Attributes that
readers see, and CDATA, are segments of their own (`parse_inner`). Entities are characters of the line; &, < and > of a
translation are written as entities, so that text never becomes mark-up. docs/markup.md says all.

Source: the HTML standard, section 13.2.5, in short.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html.entities import html5
from typing import Literal

from nmt.text.edits import Edit, apply
from nmt.text.items import BLOCKS, ELEMENTS, pair_tags, prose
from nmt.text.restore import CLOSES, DEEPEST, OPENS, SINGLE, Flat, Lifted, lift
from nmt.text.sentences import NEAR, joint
from nmt.text.user_items import NO_USER_ITEMS, UserItems

Mode = Literal["auto", "html", "none"]

# Elements without a closing tag.
VOID = frozenset("area base br col embed frame hr img input link meta param source track wbr".split())  # noqa: SIM905
# Those whose contents are no mark-up: they end at the closing tag. The first ones are no text either.
RAW = frozenset("script style iframe noembed noframes xmp".split())  # noqa: SIM905
RAW_TEXT = frozenset(("textarea", "title"))
# Those whose contents are not translated.
UNTRANSLATED = RAW | frozenset("code kbd math pre samp svg template textarea var".split())  # noqa: SIM905
# A quoted value has at most 9,999 characters, so that many quotes without an end take linear time. Atomic groups of
# choices, (?>(?:…)*) and not (?:…)*+: Python 3.11.0 to 3.11.4 match the latter wrongly (gh-106052).
TAG = re.compile(
    r"<!--(?:>|->|(?>(?:[^-]|-(?!-!?>))*)(?:--!?>|\Z))|<!\[CDATA\[(?>(?:[^\]]|\](?!\]>))*)(?:\]\]>|\Z)"
    r"|<[!?][^>]*+(?:>|\Z)"
    r"|<(?P<end>/?)(?P<name>[a-zA-Z][^\s/<>\"'=]*+|\d++)"
    r"(?P<attributes>(?:[\s/](?:[^<>\"']|\"[^\"]{0,9999}+\"|'[^']{0,9999}+')*+)?)>"
)
ATTRIBUTE = re.compile(r"(?P<name>[^\s/<>\"'=]++)\s*+(?:=\s*+(?P<value>\"[^\"]*+\"|'[^']*+'|[^\s\"'<>]++))?")
READ = frozenset(("alt", "aria-label", "placeholder", "title"))  # attributes of HTML elements that are text for readers
# Others that readers see: the label of an option, the value of a button, what search engines and others show of a page.
LABELLED = frozenset(("option", "optgroup", "track"))
QUOTES = {'"': "&quot;", "'": "&#39;"}  # around values
BUTTONS = frozenset(("submit", "button", "reset"))
SHOWN = re.compile("description|(?:og|twitter):(?:title|description|image:alt)")
CDATA, CDATA_END = "<![CDATA[", "]]>"
CHARACTER = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});|[ \t\n\r\f\v]+|.", re.DOTALL)
ENTITY = re.compile("&(?:amp|lt|gt|quot|apos|nbsp|#39|#160);")
SPACES = " \t\n\r\f\v"
BARE_MARKS = re.compile("[\3\ufdd0\ufdd1](?=([a-zA-Z0-9#])?)")
BARE = "\3\ufdd0\ufdd1"  # stand for a bare & until the character after it is known: the first that a segment lacks


@dataclass
class Tag:
    """A tag, a comment, or another part of a text that isn't text."""

    start: int
    end: int
    name: str = ""
    """Of the element, in small letters; empty for a comment and the like."""
    closes: bool = False
    void: bool = True
    kept: bool = False
    """Whether the element is not translated."""
    partner: "Tag | None" = None
    """Its closing or opening tag."""
    depth: int = 0
    """Of an inline element with both tags: the number of such elements around it."""


@dataclass(frozen=True)
class Segment:
    """A part of a text that is translated at once."""

    raw: str
    start: int
    """Where it begins in the text."""
    lifted: Lifted
    """The line to translate, and the tags to put back (`nmt.text.restore.restore`, with `spell`)."""
    spellings: dict[str, str]
    """How the segment writes some characters: as entities, or & and > bare. None in CDATA, which has no entities."""

    @property
    def end(self) -> int:
        return self.start + len(self.raw)

    def spell(self, text: str) -> str:
        """The characters of a translation as they are written in the mark-up; `finish` it when it is whole."""
        return "".join(self.spellings.get(character, character) for character in text)

    def finishes(self, text: str) -> list[Edit]:
        """What is replaced in a whole spelled translation."""
        if not self.spellings:
            return [(match.start(), match.end(), "]]&gt;") for match in re.finditer(re.escape(CDATA_END), text)]
        mark = self.spellings["&"]
        bare = (match for match in BARE_MARKS.finditer(text) if match[0] == mark)
        return [(*match.span(), "&amp;" if match[1] else "&") for match in bare]

    def finish(self, text: str) -> str:
        return apply(text, self.finishes(text))


def parse(text: str, user_items: UserItems = NO_USER_ITEMS) -> list[Segment]:
    """The segments of a text with mark-up, in order. Takes linear time."""
    return with_letters((make_segment(text, *part, user_items) for part in cut(text, read_tags(text))), user_items)


def with_letters(segments: Iterable[Segment], user_items: UserItems) -> list[Segment]:
    return [s for s in segments if any(map(str.isalpha, prose(s.lifted.text, user_items)))]


def parse_inner(text: str, user_items: UserItems = NO_USER_ITEMS) -> list[Segment]:
    """The segments inside the tags of a text: attributes that readers see, and CDATA. Other segments stay the same when
    these are translated, since each tag is one mark to them."""
    return with_letters(inner_segments(text, user_items), user_items)


def inner_segments(text: str, user_items: UserItems) -> Iterator[Segment]:
    for tag, _ in outermost(read_tags(text)):
        raw = text[tag.start : tag.end]
        if raw.startswith(CDATA) and raw.endswith(CDATA_END):
            yield from cdata_segments(text, tag.start + len(CDATA), tag.end - len(CDATA_END), user_items)
        elif (tag.name in ELEMENTS or tag.name.isdecimal()) and not tag.closes and not is_protected(raw):
            names = read_names(tag.name, raw)
            for match in ATTRIBUTE.finditer(text, tag.start + 1 + len(tag.name), tag.end):
                (start, end), quote = match.span("value"), (match["value"] or "?")[0]
                if quote in QUOTES and match["name"].lower() in names:
                    segment = make_segment(text, start + 1, end - 1, [], user_items)
                    yield replace(segment, spellings={quote: QUOTES[quote]} | segment.spellings)


def read_names(name: str, raw: str) -> frozenset[str]:
    """The attributes of a tag that readers see."""
    if name in LABELLED:
        return READ | {"label"}
    values = values_of(raw) if name in ("input", "meta") else {}
    if name == "input":
        return READ | {"value"} if values.get("type") in BUTTONS else READ
    is_shown = any(SHOWN.fullmatch(values.get(key, "")) for key in ("name", "property"))
    return READ | {"content"} if is_shown else READ


def values_of(raw: str) -> dict[str, str]:
    found = ((match["name"], match["value"] or "") for match in ATTRIBUTE.finditer(raw))
    return {name.lower(): value.strip("\"'").lower() for name, value in found}


def is_protected(raw: str) -> bool:
    """Whether the attributes of a tag say that its element isn't translated."""
    values = values_of(raw) if "translate" in raw.lower() else {}
    return values.get("translate") == "no" or "notranslate" in values.get("class", "").split()


def cdata_segments(text: str, start: int, end: int, user_items: UserItems) -> Iterator[Segment]:
    """The segments of a CDATA section: its text may be mark-up again, else it has no entities."""
    inside = text[start:end]
    if is_markup(inside, "auto"):
        for segment in parse(inside, user_items):
            yield replace(segment, start=start + segment.start)
        return
    raw = inside.strip(SPACES)
    flat = Flat(raw, re.sub("[\0-\3]", "\ufffd", raw), [*range(len(raw) + 1)])
    yield Segment(raw, start + inside.find(raw), lift(flat, user_items), {})


def is_markup(text: str, mode: Mode) -> bool:
    """Whether a text is read as mark-up: in `auto` mode if it has tags, each of them matches, and all "<" are tags; or
    if it has no "<", and each "&" begins an entity that any text may have."""
    if mode != "auto":
        return mode == "html"
    if "&" in text and "<" not in text:
        return len(ENTITY.findall(text)) == text.count("&")
    if "<" not in text or ">" not in text:
        return False
    tags = read_tags(text)
    named = [tag for tag in tags if tag.name]
    matches = all(tag.partner or (tag.void and (tag.name in VOID or text[tag.end - 2] == "/")) for tag in named)
    return bool(named) and matches and "<" not in without(text, tags)


def mode_of(line: str, mode: Mode) -> Mode:
    """How a line is read. Its translation is read in the same way, whatever its words look like."""
    return "html" if is_markup(line, mode) else "none"


def visible(text: str, mode: Mode) -> str:
    """The text without mark-up, with a line for each segment."""
    if not is_markup(text, mode):
        return text
    return "\n".join(segment.lifted.text for segment in parse(text) + parse_inner(text))


def without(text: str, tags: Sequence[Tag]) -> str:
    """The text without these tags."""
    return apply(text, [(tag.start, tag.end, "") for tag in tags])


def read_tags(text: str) -> list[Tag]:
    """The tags, comments … of a text, in order, with their partners. The contents of elements such as `<script>` belong
    to their tag."""
    tags, position = list[Tag](), 0
    while match := TAG.search(text, position):
        position = match.end()
        tag = Tag(match.start(), position, (match["name"] or "").lower(), bool(match["end"]))
        tag.void = not tag.name or tag.name in VOID or (match["attributes"].endswith("/") and tag.name not in BLOCKS)
        tag.kept = tag.name in UNTRANSLATED or is_protected(match["attributes"] or "")
        tags.append(tag)
        if tag.name in RAW | RAW_TEXT and not tag.closes and not text.startswith(CDATA, position):  # <title> of XML
            following = re.compile(rf"<(/?){tag.name}(?=[\s/>])", re.IGNORECASE).search(text, position)
            is_closed = following and following[1]
            if not is_closed and text.startswith("/>", position - 2):  # <script src="x"/> of XML
                continue
            end = re.compile(rf"</{tag.name}(?=[\s/>])", re.IGNORECASE).search(text, position)
            position = end.start() if end else len(text)
            if not end and tag.name in RAW:
                tag.end = position
    match_tags(tags)
    return tags


def match_tags(tags: list[Tag]) -> None:
    """Find the closing tag of each element that has one, and how deep elements are in others."""
    for i, j in pair_tags(None if tag.void else (tag.name, tag.closes) for tag in tags):
        tags[i].partner, tags[j].partner = tags[j], tags[i]
    depth = 0
    for tag in (tag for tag in tags if tag.partner and tag.name not in BLOCKS):
        depth -= tag.closes
        tag.depth = depth
        depth += not tag.closes


def outermost(tags: list[Tag]) -> Iterator[tuple[Tag, int]]:
    """The tags that are in no untranslated element, and where they end; that of such an element ends with it."""
    end = 0
    for tag in tags:
        if tag.start >= end:
            end = tag.partner.end if tag.kept and not tag.closes and tag.partner else tag.end
            yield tag, end


def cut(text: str, tags: list[Tag]) -> Iterator[tuple[int, int, list[Tag]]]:
    """Start, end and inline tags of the parts between block tags. An element that isn't translated is one tag."""
    start, inside = 0, list[Tag]()
    for tag, end in outermost(tags):
        if tag.name in BLOCKS:
            yield start, tag.start, inside
            start, inside = end, []
        else:
            inside.append(Tag(tag.start, end) if tag.kept and not tag.closes else tag)
    yield start, len(text), inside


def make_segment(text: str, start: int, end: int, inside: list[Tag], user_items: UserItems) -> Segment:
    """The segment `text[start:end]`, without its outer blanks."""
    first, last = (inside[0].start, inside[-1].end) if inside else (end, start)
    start += len(text[start:first]) - len(text[start:first].lstrip(SPACES))
    end -= len(text[max(start, last) : end]) - len(text[max(start, last) : end].rstrip(SPACES))
    characters, places, spellings = list[str](), list[int](), {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    position, raw = start, text[start:end]
    as_in_source = {"&": next((mark for mark in BARE if mark not in raw), "&amp;"), ">": ">"}
    for tag in [*inside, Tag(end, end)]:
        for match in CHARACTER.finditer(text, position, tag.start):
            decoded = decode(match[0])
            if "\n" in match[0]:
                place = tag.end if match.end() == tag.start else match.end()
                before = re.sub("[\0-\3]", "", "".join(characters[-NEAR:]))
                if not joint(before, text[place : place + NEAR], " ", amid=False):
                    continue  # between lines of Chinese or Japanese
            characters.append(decoded)
            if decoded == match[0]:
                places += range(match.start() - start, match.end() - start)
            else:
                places += [match.start() - start, *[match.end() - start] * (len(decoded) - 1)]
            if match[0][0] == "&" and decoded != match[0] and len(decoded) == 1 and decoded != " ":
                spellings[decoded] = match[0]
            elif decoded[0] in as_in_source:
                spellings[decoded[0]] = as_in_source[decoded[0]]
        if tag.end > tag.start:
            is_single = tag.void or not tag.partner or tag.depth >= DEEPEST
            characters.append(SINGLE if is_single else CLOSES if tag.closes else OPENS)
            places.append(tag.start - start)
        position = tag.end
    flat = Flat(raw, "".join(characters), [*places, len(raw)], rendered=True)
    return Segment(raw, start, lift(flat, user_items), spellings)


def decode(written: str) -> str:
    """The characters that a character or entity means; a space for a run of blanks."""
    if written[0] in SPACES:
        return " "
    if len(written) == 1 and written > "\3":  # nearly all
        return written
    is_entity = len(written) > 1 and (written[1] == "#" or written[1:] in html5)
    decoded = (html.unescape(written) or "\ufffd") if is_entity else written
    return re.sub("[\0-\3]", "\ufffd", re.sub(f"[{SPACES}]", " ", decoded))
