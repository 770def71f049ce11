"""Texts of desktop programs: Qt (.ts) and .NET (.resx). The mark of an accelerator (&File) is put back.

.ts: messages without a translation are units; those that look right are finished. Forms for numbers (%n) are translated
with a number of each, and stay unfinished. .resx: texts are units; those of other types, names of forms' parts, and
locked ones stay. Sources: the Qt Linguist manual; learn.microsoft.com, "Create resource files for .NET apps".
"""

from functools import partial

from nmt.documents.base import Answer, Document, Options, Unit
from nmt.documents.gettext import Message, plural_rule, require_language, samples
from nmt.documents.office import Slot, read_xml, xml_document
from nmt.documents.paragraphs import Paragraph, lines
from nmt.documents.xml_splice import Element, Text, Xml, escape
from nmt.fields import require
from nmt.text.languages import same_language

UNUSED = ("vanished", "obsolete")
SHOWN = 40  # characters of a message that name it in remarks
OF_FORMS = ">>"  # names of entries that say how the parts of a form are called


def read_qt(data: bytes, options: Options) -> Document:
    xml = read_xml(data, "one of Qt Linguist", "TS")
    messages = [element for element in xml.root.walk() if element.name == "message"]
    is_kept = not options.all_entries and any(is_filled(message) for message in messages)
    slots, stated = list[Slot](), xml.root.attributes.get("language", "")
    require_language(stated if is_kept else "", options.target)
    for message in messages:
        source, target = message.find("source"), message.find("translation")
        if not source or source.elements or not target or target.attributes.get("type", "") in UNUSED:
            continue
        if is_filled(message) and not options.all_entries:
            continue
        forms = [child for child in target.elements if child.name == "numerusform"]
        numbers = samples(plural_rule(options.target)) if options.target and forms else []
        if same_language(stated, options.target) and len(numbers) != len(forms):
            numbers = []  # Qt counts the forms of this language in another way
        missing = range(len(numbers) - 1, len(forms) - 1, -1)
        for n in (*range(len(forms)), *missing) or (0,):
            found = Message(source.text, numbers[min(n, len(numbers) - 1)] if numbers else None)
            unit = unit_of(found, f"message {source.text.strip()[:SHOWN]!r}")
            if n in missing:
                slots.append(Slot(forms[-1].end, unit, partial(add, xml, forms[-1], found)))
            else:
                element = forms[n] if forms else target
                slots.append(Slot(element.start, unit, partial(put, xml, element, found)))
    # It may say more than the target, as pt_BR by a model into pt, but no less: zh is no zh_Hant.
    is_stated = same_language(stated, options.target) and len(stated) >= len(options.target)
    changes = {"language": options.target.replace("-", "_")} if options.target and not is_stated else {}
    return xml_document(xml, slots, [xml.attributes(xml.root, changes)] if changes else ())


def is_filled(message: Element) -> bool:
    target = message.find("translation")
    return bool(target and target.attributes.get("type", "") not in UNUSED and target.text.strip())


def unit_of(message: Message, place: str) -> Unit | None:
    """The unit of a message; None if it has no letters."""
    return Unit(message.core, place=place) if any(map(str.isalpha, message.core)) else None


def add(xml: Xml, last: Element, message: Message, answer: Answer) -> None:
    """Add a form after the last one: an empty one if it isn't translated, or its number is lost, since forms are known
    by their order."""
    text = ""
    try:
        text = message.restore(answer.text) if answer.text != message.core else ""
    finally:
        xml.insert_after(last, xml.encode(f"<numerusform>{escape(text)}</numerusform>"))


def put(xml: Xml, element: Element, message: Message, answer: Answer) -> None:
    """Fill a translation, a form or a value; ValueError if it is empty, or its number is lost."""
    around, unsure = element.parent, {"type": "unfinished"}
    try:
        require(bool(answer.text.strip()), "the translation is empty")
        text, state = escape(message.restore(answer.text)), unsure if answer.flags else {"type": None}
        if around and around.attributes.get("numerus") == "yes":  # Qt reads no text outside its forms
            text, state = f"<numerusform>{text}</numerusform>", unsure
        if answer.text != message.core:
            values = state if element.name == "translation" else {}
            xml.replace(*xml.filled(element, xml.encode(text), values))
    finally:  # the first form is the last to be written
        is_first = around and around.name == "translation" and element is around.find("numerusform")
        if around and is_first and xml.edits and xml.edits[-1][0] < around.end:
            xml.replace(*xml.attributes(around, unsure))


def read_resx(data: bytes, options: Options) -> Document:
    xml = read_xml(data, "resx", "root")
    slots = list[Slot | Paragraph]()
    for entry in xml.root.elements:
        name, value, comment = entry.attributes.get("name", ""), entry.find("value"), entry.find("comment")
        is_text = entry.name == "data" and not {"type", "mimetype"} & entry.attributes.keys()
        is_locked = comment is not None and "{Locked}" in comment.text
        if not value or not is_text or is_locked or name.startswith(OF_FORMS):
            continue
        message, place = Message(value.text), f"entry {name}"
        if message.accelerator and message.accelerator[0] == "&":
            slots.append(Slot(value.start, unit_of(message, place), partial(put, xml, value, message)))
        else:
            texts = [child for child in value.children if isinstance(child, Text)]
            pieces = [piece for text in texts for piece in lines(text.value, ((text.start, text.end),))]
            slots.append(Paragraph(xml, pieces, place))
    return xml_document(xml, slots)
