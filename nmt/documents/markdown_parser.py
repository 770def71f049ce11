"""markdown-it-py, changed so that each inline token has its place in the text of its block."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby
from typing import Any, Literal

from nmt.extras import package
from nmt.text.sentences import unwrapped

Kind = Literal["words", "opens", "closes", "mark", "break", "html"]
KINDS: dict[str, Kind] = {
    "code_inline": "mark",
    "image": "mark",
    "math": "mark",
    "hardbreak": "break",
    "html_inline": "html",
    "softbreak": "words",
    "text_special": "words",
}
BLANKS = re.compile("[ \t\n]+")
# A formula, nearly as Pandoc reads it: no blank at its inner ends, and no digit after it ($5 and $6).
FORMULA = re.compile(r"(?<![\w$])(?:\$\$[^$]+\$\$|\$(?!\s)[^$]+(?<![\s\\])\$)(?![\w${])")
# The first line of a box or tab of MkDocs, whose text is indented; lines around boxes (:::, ///), and the first one of
# a notice in a quotation ([!NOTE]); with its title.
# Then what is for the program that makes a page: a shortcode of Hugo, a tag of Liquid or Jinja, an included file.
BOX = re.compile(r'(?:(?:!!!|\?\?\?\+?) (?:[a-z]+(?:[ -][a-z]+)*+|[A-Z][a-z]++)|===[+!]?(?= "))(?: "([^"]*)")?[ \t]*')
AROUND = re.compile(
    r":::+[ \t]*(?:[\w-]+\[([^\]]*)\]|(?:info|tip|note|warning|danger|details)[ \t]+([^\s{}](?:[^{}]*[^\s{}])?))?.*"
    r"|///+(?:[ \t]*[\w-]+(?:[ \t]*\|[ \t]*+(\S(?:.*\S)?))?)?[ \t]*"
    r"|\[![\w-]{1,20}\][+-]?(?:[ \t]++(\S(?:.*\S)?)?)?[ \t]*"
)
TEMPLATE = re.compile(r"(?:\{\{[<%][^{}]*[>%]\}\}|\{%[^{}]*%\}|\{!.*!\}|\{\*.*\*\}|-+8<-+.*)[ \t]*$", re.MULTILINE)
CODE = re.compile(r"\{(?:\{[<%]|%-?)[ \t]*(highlight|code-toggle|mermaid)\b")  # whose contents are no text
ENDS = {"alt": ["paragraph", "reference", "blockquote", "list"]}  # what such a line ends
ATTRIBUTES = r"\{:[^{}\n]*\}|\{[ \t]*(?:[#.][\w-]|[\w:-]+=)[^{}\n]*\}"  # of a heading, a link …, in extensions
# The name of a footnote, an abbreviation, the mark of a definition.
DEFINES = re.compile(r"\[\^[^\]\s]{1,99}\]:|\*\[[^\]\n]{1,99}\]:|:(?=[ \t])")
NO_WORDS = re.compile(rf"\[\^[^\]\s]{{1,99}}\]|{ATTRIBUTES}")
AT_END = re.compile(rf"(?<![ \t\n])[ \t\n]++(?:{ATTRIBUTES})\s*\Z")
Rule = Callable[[Any, bool], bool]


@dataclass(frozen=True)
class Piece:
    """Words or a mark of a block."""

    kind: Kind
    text: str
    """What words mean; a mark as it is written on one line."""
    start: int = 0
    """Where it is in the text of its block."""
    end: int = 0
    title: str = ""
    """The title of a link, in its opening mark, or the text of an image: translated too; empty if it has escapes."""


@cache
def make_parser() -> Any:
    """A parser of CommonMark with tables and strikethrough. Raises ValueError if the package is missing."""
    markdown_it = package("markdown_it", "documents")
    parser = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.disable(["text_join", "fragments_join"])
    parser.block.ruler.before("code", "box", box, ENDS)
    parser.block.ruler.before("code", "defines", defines, ENDS)
    links = package("markdown_it.rules_block", "documents").reference
    parser.block.ruler.at("reference", partial(reference, links))
    inline = parser.inline.ruler
    inline.before("escape", "math", formula)
    notes = {"image": note_image, "link": note_link, "emphasis": note_delimiters, "strikethrough": note_delimiters}
    for name, rule in zip(inline.get_active_rules(), inline.getRules(""), strict=True):
        if name != "text":
            inline.at(name, partial(locate, rule, notes.get(name, note_mark)))
    return parser


def box(state: Any, first: int, end: int, silent: bool) -> bool:
    """A block rule: the first line of a box, whose title is an inline token that knows how many characters of the line
    come after it, with the text indented below it; or a line of a template, with its code."""
    if state.is_code_block(first):
        return False
    place = state.bMarks[first] + state.tShift[first], state.eMarks[first]
    is_indented = bool(match := BOX.fullmatch(state.src, *place))
    if match and match[0][-1].isalpha() and any(map(str.isupper, match[0])):  # !!! Attention
        following = next((n for n in range(first + 1, end) if not state.isEmpty(n)), first)
        if state.sCount[following] < state.sCount[first] + 4:
            return False
    match = match or AROUND.fullmatch(state.src, *place) or TEMPLATE.match(state.src, place[0])
    if match and not silent:
        if match.lastindex and (title := match[match.lastindex]):
            token = state.push("inline", "", 0)
            token.content, token.map, token.children = title, [first, first + 1], []
            token.meta = {"after": place[1] - match.end(match.lastindex)}
        last, indent = first + 1 + match[0].count("\n"), state.sCount[first] + 4
        if code := CODE.match(match[0]):
            last = after_end(state, last, end, code[1])
        while is_indented and last < end and (state.isEmpty(last) or state.sCount[last] >= indent):
            last += 1
        if is_indented:
            before, state.blkIndent, state.lineMax = (state.blkIndent, state.lineMax), indent, last
            state.level += 1
            state.md.block.tokenize(state, first + 1, last)
            state.level -= 1
            state.blkIndent, state.lineMax = before
        state.line = min(last, end)
    return bool(match)


def defines(state: Any, first: int, end: int, silent: bool) -> bool:
    """A block rule: a footnote or a definition ends the paragraph before it, and is a paragraph."""
    return silent and is_defined(state, first)


def reference(rule: Callable[..., bool], state: Any, first: int, end: int, silent: bool) -> bool:
    """The block rule for definitions of links, without footnotes: CommonMark reads those of one word as links."""
    return not is_defined(state, first) and rule(state, first, end, silent)


def is_defined(state: Any, line: int) -> bool:
    return bool(DEFINES.match(state.src, state.bMarks[line] + state.tShift[line]))


def after_end(state: Any, first: int, end: int, name: str) -> int:
    """From the line `first`, the line after that which ends the shortcode or tag `name`; else `first`."""
    closing = re.compile(rf"\{{(?:\{{[<%]|%-?)[ \t]*(?:/|end){name}\b")
    without_end = state.env.setdefault("without end", set())  # a later one of the name has none either
    if name not in without_end:
        for n in range(first, end):
            if closing.match(state.src, state.bMarks[n] + state.tShift[n]):
                return n + 1
        without_end.add(name)
    return first


def locate(rule: Rule, note: Callable[[Any, int, list[Any]], None], state: Any, silent: bool) -> bool:
    """Run a rule, and note the places of the tokens that it makes."""
    start, n = state.pos, len(state.tokens)
    found = rule(state, silent)
    if found and not silent:
        note(state, start, state.tokens[n:])
    return found


def formula(state: Any, silent: bool) -> bool:
    found = FORMULA.match(state.src, state.pos)
    if found and not silent:
        state.push("math", "", 0).content = found[0]
    state.pos = found.end() if found else state.pos
    return bool(found)


def note_mark(state: Any, start: int, tokens: list[Any]) -> None:
    """Of an automatic link, the first token has the place."""
    for token in tokens:
        if token.type != "text":
            token.meta = {"span": (start, state.pos)}
            start = state.pos


def note_link(state: Any, start: int, tokens: list[Any]) -> None:
    opening = next(token for token in tokens if token.type == "link_open" and not token.meta)
    label_end = state.md.helpers.parseLinkLabel(state, start, True)
    closing, title = state.src[label_end : state.pos], opening.attrs.get("title", "")
    opening.meta = {"span": (start, start + 1), "title": title if title == closing[slice(*title_span(closing))] else ""}
    tokens[-1].meta = {"span": (label_end, state.pos), "label": state.src[start + 1 : label_end]}


def note_image(state: Any, start: int, tokens: list[Any]) -> None:
    """Its text is translated too, if it is plain."""
    text = tokens[-1].content
    is_plain = not re.search(r"[\\\[\]*_`&<>!~|\n]", text) and state.src.startswith(f"{text}]", start + 2)
    tokens[-1].meta = {"span": (start, state.pos), "title": text if is_plain else ""}


def title_span(closing: str) -> tuple[int, int]:
    """Where the title is in what ends a link, `](url "title")`; (0, 0) if there is none."""
    end = len(closing[:-1].rstrip(" \t\n")) - 1
    opening = {'"': '"', "'": "'", ")": "("}.get(closing[end], "") if closing.startswith("](") and end > 2 else ""
    start = closing.rfind(opening, 0, end) if opening else -1
    return (start + 1, end) if start > 2 and closing[start - 1] in " \t\n" else (0, 0)


def note_delimiters(state: Any, start: int, tokens: list[Any]) -> None:
    end = state.pos
    for token in reversed(tokens):
        if end == start:
            break
        token.meta = {"span": (end - len(token.content), end)}
        end -= len(token.content)


def pieces_of(tokens: Sequence[Any], content: str, start: int = 0) -> list[Piece]:
    """The words and marks of a block, in order, from the character `start`, without attributes at the end; runs of
    blanks are one blank."""
    pieces, position = list[Piece](), start
    content = AT_END.sub("", content)
    for token in tokens:
        piece = piece_of(token, content)
        if piece and position <= piece.start < len(content):
            gap = content[position : piece.start]
            if token.type in ("hardbreak", "softbreak"):
                gap = gap.rstrip(" ")
                piece = replace(piece, start=position + len(gap))
            pieces += [*texts(gap, position), piece]
            position = piece.end
    return joined([*pieces, *texts(content[position:], position)])


def piece_of(token: Any, content: str) -> Piece | None:
    """The piece of a token; None if it is only text, or belongs to the token before it."""
    if token.type == "text" or "span" not in token.meta:
        return None
    (start, end), is_auto = token.meta["span"], token.markup == "autolink"
    kind = KINDS.get(token.type) or ("mark" if is_auto else "opens" if token.nesting > 0 else "closes")
    if token.markup in ("**", "__") and kind in ("opens", "closes"):  # its other character is that of an empty token
        start, end = (start - 1, end) if kind == "opens" else (start, end + 1)
    raw, title = content[start:end].replace("\n", " "), token.meta.get("title", "")
    if title and token.type == "image" and raw in (f"![{title}]", f"![{title}][]"):
        raw = f"![{title}][{title}]"
    if raw in ("]", "][]"):  # the text of the link is its name, too
        raw = f"][{BLANKS.sub(' ', token.meta['label'])}]"
    text = {"softbreak": "\n", "text_special": token.content}.get(token.type, raw)
    return None if is_auto and token.nesting < 0 else Piece(kind, text, start, end, title)


def texts(text: str, start: int) -> Iterator[Piece]:
    """A text, and the footnotes and attributes in it, as pieces."""
    position = 0
    for match in [*NO_WORDS.finditer(text), None]:
        end = match.start() if match else len(text)
        if end > position:
            yield Piece("words", text[position:end], start + position, start + end)
        if match:
            yield Piece("mark", match[0], start + end, start + match.end())
            position = match.end()


def joined(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, with neighbouring words as one, and runs of blanks as one blank."""
    found = list[Piece]()
    for kind, group in groupby(pieces, lambda piece: piece.kind):
        together = [*group]
        if kind == "words":
            text = unwrapped("".join(piece.text for piece in together))
            together = [Piece("words", text, together[0].start, together[-1].end)]
        found += together
    return found
