"""Translations of Qt programs (.ts): messages without a translation are units; those that look right are finished.

Forms for numbers (%n) are translated with a number of each, and stay unfinished. Source: the Qt Linguist manual.
"""

from collections.abc import Iterator
from functools import partial

from nmt.documents.base import Answer, Document, Options
from nmt.documents.gettext import plural_rule, samples
from nmt.documents.office import Slot, attributes, read_xml, xml_document
from nmt.documents.paragraphs import Paragraph, Piece
from nmt.documents.plurals import Leaf, leaf
from nmt.documents.xml_splice import Element, Text, Xml, escape

SHOWN = 40  # characters of a message that name it in remarks


def read(data: bytes, options: Options) -> Document:
    xml = read_xml(data, "one of Qt Linguist", "TS")
    messages = (element for element in xml.root.walk() if element.name == "message")
    slots = [slot for message in messages for slot in slots_of(xml, message, options)]
    values: dict[str, str | None] = {"language": options.target.replace("-", "_")}
    return xml_document(xml, slots, [attributes(xml, xml.root, values)] if options.target else ())


def slots_of(xml: Xml, message: Element, options: Options) -> Iterator[Slot]:
    source, target = message.find("source"), message.find("translation")
    kind = target.attributes.get("type", "") if target else ""
    if not source or not target or kind in ("vanished", "obsolete"):
        return
    if target.text.strip() and not options.all_entries and (kind != "unfinished" or message.attributes.get("numerus")):
        return
    spans = ((source.inner, source.inner_end),)
    texts = [child.value for child in source.children if isinstance(child, Text)]
    paragraph = Paragraph(xml, [Piece("words", spans, "".join(texts))])
    forms = [child for child in target.elements if child.name == "numerusform"]
    if not paragraph.unit or len(source.elements):
        return
    numbers = samples(plural_rule(options.target)) if options.target else []
    for n, element in enumerate(forms or [target]):
        sample = numbers[n] if len(numbers) == len(forms) else None
        form = leaf(paragraph.unit.text, sample, "%n" if forms else "")
        place = f"message {paragraph.unit.text[:SHOWN]!r}"
        unit = Paragraph(xml, [Piece("words", spans, form.text)], place).unit
        yield Slot(element.start, unit, partial(put, xml, element, form))


def put(xml: Xml, element: Element, form: Leaf, answer: Answer) -> None:
    """Fill a translation or a form; ValueError if its number is lost."""
    text = form.write(answer.text)
    is_finished = element.name == "translation" and not answer.flags
    if answer.text != form.text:
        xml.fill(element, xml.encode(escape(text)), {"type": None} if is_finished else {})
