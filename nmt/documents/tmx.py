"""TMX: units of a translation memory that lack the target language get it. Source: TMX 1.4b, the LISA/GALA standard."""

from functools import partial

from nmt.documents.base import Answer, Document, Options
from nmt.documents.codes import content, insert_after, written
from nmt.documents.office import Slot, read_xml, xml_document
from nmt.documents.paragraphs import Paragraph
from nmt.documents.xml_splice import Element, Xml, escape
from nmt.fields import require
from nmt.text.languages import nearest


def read(data: bytes, options: Options) -> Document:
    xml = read_xml(data, "TMX", "tmx")
    require(bool(options.target), "name the target language: a TMX file doesn't say into which one to translate")
    entries = (element for element in xml.root.walk() if element.name == "tu")
    return xml_document(xml, [slot for entry in entries if (slot := slot_of(xml, entry, options))])


def slot_of(xml: Xml, entry: Element, options: Options) -> Slot | None:
    """The slot of an entry whose translation is missing."""
    found = [(language, language.find("seg")) for language in entry.elements if language.name == "tuv"]
    variants = [(language, segment) for language, segment in found if segment]
    source = segment_in(variants, options.source or stated_source(xml, entry))
    target = segment_in(variants, options.target)
    if not source or source is target or (target and target.text.strip() and not options.all_entries):
        return None
    paragraph = Paragraph(xml, content(source), f"entry {entry.attributes.get('tuid', '')}".strip())
    last = variants[-1][0]
    return Slot(last.start, paragraph.unit, partial(put, paragraph, last, target, options.target))


def stated_source(xml: Xml, entry: Element) -> str:
    """The code of the source language that the file states; empty for entries that have none, but go both ways."""
    header = xml.root.find("header")
    stated = entry.attributes.get("srclang") or (header.attributes.get("srclang", "") if header else "")
    return "" if stated == "*all*" else stated


def segment_in(variants: list[tuple[Element, Element]], language: str) -> Element | None:
    """The segment of a language, rather one of the same region. `variants`: the elements of an entry's languages, and
    their segments."""
    codes = ((of.attributes.get("xml:lang", of.attributes.get("lang", "")), segment) for of, segment in variants)
    found = nearest(codes, language)
    return found and found[1]


def put(paragraph: Paragraph, last: Element, target: Element | None, language: str, answer: Answer) -> None:
    """Fill the segment of the target language, or add the language after the last one; with the flags before it."""
    xml, inside = paragraph.xml, paragraph.render(answer.text)
    flags = xml.encode(escape(" ".join(answer.flags)))
    prop = written(xml, last, "prop", {"type": "x-flags"}, flags) if flags else b""
    if not target or not target.parent:
        segment = written(xml, last, "seg", {}, inside)
        insert_after(xml, last, written(xml, last, "tuv", {"xml:lang": language}, prop + segment))
        return
    xml.fill(target, inside)
    for other in reversed(target.parent.elements):
        if other.start < target.start and other.attributes.get("type") == "x-flags":
            xml.replace(other.start, other.end, b"")
    xml.replace(target.parent.inner, target.parent.inner, prop)
