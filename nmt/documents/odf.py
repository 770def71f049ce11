"""Files of OpenDocument (odt, odp, ods): paragraphs are units, with their spans and links as tags.

Also those of headers, footers, notes, comments, tables and shapes. Deleted text, numbers and formulas stay.
With a target language, it becomes the language of the styles, with its direction. Source: OpenDocument 1.3, part 3.
"""

import re
from collections.abc import Iterator

from nmt.documents.archive import Archive
from nmt.documents.base import Document, Options
from nmt.documents.office import archive_document, xml_document
from nmt.documents.paragraphs import Paragraph, Piece, ruby
from nmt.documents.xml_splice import Edit, Element, Text, Xml
from nmt.fields import require
from nmt.text.languages import font_class, new_direction

TEXTS = frozenset("text:p text:h presentation:footer-decl presentation:header-decl".split())  # noqa: SIM905
AROUND = frozenset("text:span text:a text:meta".split())  # noqa: SIM905
BREAKS = frozenset(("text:tab", "text:line-break"))
CELLS = ("table:table-cell", "table:covered-table-cell")
ORDERED = re.compile(r"text:bookmark.*|text:change.*|text:reference-mark.*|.*-(?:start|end)")
NOT_TEXT = frozenset("float percentage currency date time boolean".split())  # noqa: SIM905
LANGUAGE = {"western": "fo:{}", "asian": "style:{}-asian", "complex": "style:{}-complex"}
ENCRYPTED = "the file is encrypted: save it without a password"


def read(data: bytes, options: Options) -> Document:
    archive = Archive(data, options.zip)
    manifest = "META-INF/manifest.xml"  # it may lack its namespaces, as those of old templates do
    require(manifest not in archive or b":encryption-data" not in archive.read(manifest), ENCRYPTED)
    require("content.xml" in archive, "the file isn't an OpenDocument file: it lacks content.xml")
    parts = dict[str, Document]()
    for name in ("content.xml", "styles.xml"):
        if name in archive:
            xml = archive.xml(name)
            unseen = {style.attributes.get("style:name", "") for style in xml.root.walk() if is_unseen(style)}
            texts = [element for element in xml.root.walk(is_read) if element.name in TEXTS and is_read(element)]
            paragraphs = [Paragraph(xml, joined(xml, list(pieces(text, unseen))), within=text) for text in texts]
            parts[name] = xml_document(xml, paragraphs, changes(xml, options))
    return archive_document(archive, parts)


def is_read(element: Element) -> bool:
    """Whether the texts in an element are translated."""
    is_kept = element.name == "text:tracked-changes" or "table:formula" in element.attributes
    return not is_kept and element.attributes.get("office:value-type") not in NOT_TEXT


def is_unseen(style: Element) -> bool:
    """Whether a style changes nothing: programs make such styles to mark editing sessions."""
    if style.name != "style:style" or style.attributes.get("style:family") != "text":
        return False
    changed = [name for element in style.elements for name in element.attributes if not name.startswith("?:")]
    inherits = "style:parent-style-name" in style.attributes
    return not changed and not inherits and all(element.name == "style:text-properties" for element in style.elements)


def pieces(element: Element, unseen: set[str]) -> Iterator[Piece]:
    for child in element.children:
        span = ((child.start, child.end),)
        if isinstance(child, Text):
            yield Piece("words", span, re.sub(r"[ \t\r\n]+", " ", child.value))
        elif not isinstance(child, Element) or child.name == "text:soft-page-break":
            continue
        elif child.name == "text:s" and child.attributes.get("text:c", "1") == "1":
            yield Piece("words", span, " ")
        elif child.name == "text:span" and child.attributes.get("text:style-name") in unseen:
            yield from pieces(child, unseen)
        elif child.name == "text:ruby" and (base := child.find("text:ruby-base")):
            yield ruby(list(pieces(base, unseen)), span)
        elif child.name in AROUND and child.children:
            yield Piece("opens", ((child.start, child.inner),))
            yield from pieces(child, unseen)
            yield Piece("closes", ((child.inner_end, child.end),))
        elif child.name in BREAKS or child.name == "text:s":
            yield Piece("break", span)
        else:
            yield Piece("mark", span, ordered=bool(ORDERED.fullmatch(child.name)))


def joined(xml: Xml, found: list[Piece]) -> list[Piece]:
    """The pieces with neighbouring spans of one style together."""
    kept, opened, closed = list[Piece](), list[bytes](), b""
    for piece in found:
        tag = b"".join(xml.data[start:end] for start, end in piece.spans)
        if piece.kind == "opens":
            opened.append(tag)
            if kept and kept[-1].kind == "closes" and closed == tag and b"span" in tag:
                kept.pop()
                closed = b""
                continue
        elif piece.kind == "closes":
            closed = opened.pop()
        kept.append(piece)
    return kept


def changes(xml: Xml, options: Options) -> Iterator[Edit]:
    """The styles with a language get another one, and styles turn to another direction. Cells that have their text a
    second time, as a value, lose the value: it would hide the translation."""
    code, *parts = options.target.split("-")
    name, script = LANGUAGE[font_class(options.target)], next((part for part in parts if len(part) == 4), None)
    country = next((part for part in parts if len(part) < 4), "none")
    language = {name.format("language"): code, name.format("script"): script, name.format("country"): country}
    turned = new_direction(options.source, options.target)
    for element in xml.root.walk():
        values = element.attributes
        is_style = element.name == "style:text-properties" and values.get("fo:language", "zxx") not in ("zxx", "none")
        if code and is_style:
            yield xml.attributes(element, language)
        elif turned and (new := turned_style(element, turned)):
            yield xml.attributes(element, new)
        elif element.name in CELLS and "office:string-value" in values and "table:formula" not in values:
            yield xml.attributes(element, {"office:string-value": None})


def turned_style(element: Element, direction: str) -> dict[str, str | None]:
    """The attributes of a style in another direction: the default of paragraphs, and what states one, or a side."""
    values, new = element.attributes, dict[str, str | None]()
    around = element.parent.attributes if element.parent and element.parent.name == "style:default-style" else {}
    is_default = element.name == "style:paragraph-properties" and around.get("style:family") == "paragraph"
    if is_default or values.get("style:writing-mode") in ("lr-tb", "lr", "rl-tb", "rl"):
        new["style:writing-mode"] = "rl-tb" if direction == "rtl" else "lr-tb"
    if values.get("fo:text-align") in ("left", "right"):
        new["fo:text-align"] = "start" if (values["fo:text-align"] == "left") == (direction == "rtl") else "end"
    return new
