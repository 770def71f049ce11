"""markdown-it-py, changed so that each inline token has its place in the text of its block."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from nmt.documents.inline import Kind
from nmt.extras import package

KINDS: dict[str, Kind] = {
    "code_inline": "single",
    "image": "single",
    "hardbreak": "break",
    "html_inline": "html",
    "softbreak": "text",
    "text_special": "text",
}
FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,99}\]")
# What ends a link with a title.
TITLED = re.compile(r"""(\]\(.*[ \t\n])(?:"(.*)"|'(.*)'|\((.*)\))([ \t\n]*\))""", re.DOTALL)
Rule = Callable[[Any, bool], bool]


@dataclass(frozen=True)
class Place:
    """A text or mark, and where it is in the text of its block."""

    kind: Kind
    start: int
    end: int
    text: str
    """What a text means; a mark as it is written on one line."""
    title: str = ""
    """The title of a link whose opening mark this is; empty if the title has escapes."""


@cache
def make_parser() -> Any:
    """A parser of CommonMark with tables and strikethrough. Raises ValueError if the package is missing."""
    markdown_it = package("markdown_it", "documents")
    rules = package("markdown_it.rules_inline", "documents")
    parser = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.disable(["text_join", "fragments_join"])
    for name in ("newline", "escape", "entity", "image", "html_inline", "autolink"):
        parser.inline.ruler.at(name, partial(locate, getattr(rules, name)))
    parser.inline.ruler.at("backticks", partial(locate, rules.backtick))
    parser.inline.ruler.at("link", partial(locate_link, rules.link))
    for name in ("emphasis", "strikethrough"):
        parser.inline.ruler.at(name, partial(locate_delimiters, getattr(rules, name).tokenize))
    return parser


def locate(rule: Rule, state: Any, silent: bool) -> bool:
    """Run a rule, and note the place of the token that it makes; of an automatic link, of its first one."""
    start, n = state.pos, len(state.tokens)
    found = rule(state, silent)
    if found and not silent:
        for token in state.tokens[n:]:
            if token.type == "text":
                continue
            token.meta = {"span": (start, state.pos)}
            start = state.pos  # the closing tag of a link has no place of its own
    return found


def locate_link(rule: Rule, state: Any, silent: bool) -> bool:
    start, n = state.pos, len(state.tokens)
    found = rule(state, silent)
    if found and not silent:
        opening = next(token for token in state.tokens[n:] if token.type == "link_open" and not token.meta)
        label_end = state.md.helpers.parseLinkLabel(state, start, True)
        titled, title = TITLED.fullmatch(state.src, label_end, state.pos), opening.attrs.get("title", "")
        opening.meta = {"span": (start, start + 1), "title": title if titled and title in titled.groups()[1:4] else ""}
        state.tokens[-1].meta = {"span": (label_end, state.pos), "label": state.src[start + 1 : label_end]}
    return found


def locate_delimiters(rule: Rule, state: Any, silent: bool) -> bool:
    start, n = state.pos, len(state.tokens)
    found = rule(state, silent)
    if found and not silent:
        end = state.pos
        for token in reversed(state.tokens[n:]):
            if end == start:
                break
            token.meta = {"span": (end - len(token.content), end)}
            end -= len(token.content)
    return found


def places_of(tokens: Sequence[Any], content: str, start: int = 0) -> list[Place]:
    """The texts and marks of a block, in order, from the character `start`."""
    places, position = list[Place](), start
    for token in tokens:
        place = place_of(token, content)
        if place and place.start >= position:
            gap = content[position : place.start]
            if token.type in ("hardbreak", "softbreak"):
                gap = gap.rstrip(" ")
                place = replace(place, start=position + len(gap))
            places += [*texts(gap, position), place]
            position = place.end
    return merged([*places, *texts(content[position:], position)])


def place_of(token: Any, content: str) -> Place | None:
    """The place of a token; None if it is only text, or belongs to the token before it."""
    if token.type == "text" or "span" not in token.meta:
        return None
    (start, end), is_auto = token.meta["span"], token.markup == "autolink"
    kind = KINDS.get(token.type) or ("single" if is_auto else "open" if token.nesting > 0 else "close")
    if token.markup in ("**", "__") and kind in ("open", "close"):  # its other character is that of an empty token
        start, end = (start - 1, end) if kind == "open" else (start, end + 1)
    raw = content[start:end].replace("\n", " ")
    if raw in ("]", "][]"):  # the text of the link is its name, too
        raw = f"][{token.meta['label']}]"
    text = {"softbreak": " ", "text_special": token.content}.get(token.type, raw)
    title = token.meta.get("title", "")
    return None if is_auto and token.nesting < 0 else Place(kind, start, end, text, title)


def texts(text: str, start: int) -> Iterator[Place]:
    """A text, and the footnotes in it, as places."""
    position = 0
    for match in [*FOOTNOTE.finditer(text), None]:
        end = match.start() if match else len(text)
        if end > position:
            yield Place("text", start + position, start + end, text[position:end])
        if match:
            yield Place("single", start + end, start + match.end(), match[0])
            position = match.end()


def merged(places: Sequence[Place]) -> list[Place]:
    """The places, with neighbouring texts as one, and runs of blanks as one blank."""
    found = list[Place]()
    for place in places:
        if found and found[-1].kind == place.kind == "text":
            found[-1] = replace(found[-1], end=place.end, text=found[-1].text + place.text)
        else:
            found.append(place)
    return [replace(one, text=re.sub("[ \t\n]+", " ", one.text)) if one.kind == "text" else one for one in found]
