"""HTML: the paragraphs, cells, headings … of `nmt.text.markup` are units; so is text in attributes that readers see."""

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from html import escape

from nmt.documents.base import Document, Options, Slot, Unit, decode, text_document
from nmt.fields import require
from nmt.text.edits import Edit
from nmt.text.languages import is_from_right
from nmt.text.markup import ATTRIBUTE, Segment, Tag, parse, parse_inner, read_names, read_tags, without

# Where the encoding stands, by the standard: in the first 1,024 bytes, outside of comments.
CHARSET = re.compile(
    rb"<!--(?:.*?-->|.*)|"
    rb"<(?:meta\b[^>]{0,500}?\bcharset|\?xml\b[^>]{0,500}?\bencoding)\s*=\s*[\"']?\s*([\w:.-]{1,40})",
    re.IGNORECASE | re.DOTALL,
)

ROOT = re.compile(r"<!--(?:.*?-->|.*)|(<html\b[^<>]*>)", re.IGNORECASE | re.DOTALL)  # not one in a comment, for old IE
# Encodings that have more characters, in which browsers read pages that name these (WHATWG, Encoding, section 4.2).
WIDER = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "gb2312": "gbk"}
WIDER |= {"shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs", "tis-620": "cp874", "iso8859-11": "cp874"}
# Names that Python lacks, of the same standard.
LABELS = {"x-sjis": "cp932", "windows-31j": "cp932", "x-euc-jp": "euc_jp", "x-gbk": "gbk", "windows-949": "cp949"}
LABELS |= {"windows-874": "cp874", "iso-8859-8-i": "iso8859-8", "x-cp1251": "cp1251", "x-cp1252": "cp1252"}
REFERENCES = "xmlcharrefreplace"  # what characters become that the encoding lacks
CONTROLS = re.compile("[\x80-\x9f]")  # as references, browsers read them as other characters


def read(data: bytes, options: Options) -> Document:
    source = replace(decode(data, options.encoding or declared(data), options.source), errors=REFERENCES)
    return text_document(source, [*slots(source.text)], language_edits(source.text, options.target))


def language_edits(text: str, language: str) -> list[Edit]:
    """The file states another language, if it states one, and the direction, if it is or was from the right."""
    root = next((match for match in ROOT.finditer(text) if match[1]), None) if language else None
    if not root:
        return []
    start, code = root.start() + len("<html"), f'"{escape(language.replace("_", "-"))}"'
    matches = (match for match in ATTRIBUTE.finditer(text, start, root.end()) if match["value"])
    found = [(match["name"].lower(), match.span("value")) for match in matches]
    edits = [(*span, code) for name, span in found if name in ("lang", "xml:lang")]
    span, value = dict(found).get("dir"), '"rtl"' if is_from_right(language) else '"ltr"'
    if span or is_from_right(language):
        edits.append((*span, value) if span else (start, start, f" dir={value}"))
    return edits


def declared(data: bytes) -> str:
    """The encoding that the file says it has, as browsers understand it; as it says, if Python's differs from theirs so
    that it can't write the file again."""
    match = next((match for match in CHARSET.finditer(data[:1024]) if match[1]), None)
    name = match[1].decode("ascii").lower() if match else ""
    name = LABELS.get(name, name)
    if name.startswith("utf-16"):  # then the declaration couldn't be read so
        return "utf-8"
    try:
        wider = WIDER.get(codecs.lookup(name).name, name)
        return wider if wider == name or data.decode(wider).encode(wider) == data else name
    except (LookupError, UnicodeError):
        return name


def slots(text: str, start: int = 0, line: int = 1) -> Iterator[Slot]:
    """The slots of a text in HTML. `start`, `line`: where it begins in the file."""
    found = [*((segment, True) for segment in parse(text))]
    # An inner segment is mark-up if it is of a CDATA section; an attribute spells its quote first.
    found += ((segment, next(iter(segment.spellings), "") == "&") for segment in parse_inner(text))
    position = end = 0
    for segment, is_markup in sorted(found, key=lambda item: item[0].start):
        if segment.start < end:  # attributes inside a segment are translated with it
            continue
        line += text.count("\n", position, segment.start)
        position, end, place = segment.start, segment.end, f"line {line}"
        unit = Unit(segment.raw if is_markup else segment.lifted.text, is_markup, place)
        write = partial(same_tags, segment.raw) if is_markup else partial(attribute, segment)
        yield Slot(start + position, start + end, unit, write)


def attribute(segment: Segment, answer: str) -> str:
    """An answer as it is written in an attribute, or in CDATA that isn't mark-up."""
    return segment.finish(segment.spell(CONTROLS.sub(" ", answer)))


def same_tags(source: str, answer: str) -> str:
    """The answer, if it has the tags of its source, and as many pairs of them; else ValueError."""
    (tags, pairs), (others, other_pairs) = skeleton(source), skeleton(answer)
    require(tags == others and pairs == other_pairs, "the translation hasn't the tags of the text")
    return CONTROLS.sub(" ", answer)


def skeleton(text: str) -> tuple[Counter[str], int]:
    """The tags of a text without the attributes that are translated, and the number of pairs. A "<" that begins no tag
    counts as a tag."""
    tags = read_tags(text)
    found = Counter(unread(tag, text[tag.start : tag.end]) for tag in tags)
    return found + Counter({"<": without(text, tags).count("<")}), sum(bool(tag.partner) for tag in tags)


def unread(tag: Tag, raw: str) -> str:
    """A tag without what is translated in it."""
    names = read_names(tag.name, raw)
    return ATTRIBUTE.sub(lambda found: found["name"] if found["name"].lower() in names else found[0], raw)
