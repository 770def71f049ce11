"""Plurals of iOS and macOS programs, .stringsdict: the forms of each variable are units, and those that the target
language has more are added. Source: developer.apple.com, "Localizing strings that contain plurals"."""

import re
from collections.abc import Iterator

from nmt.documents.base import Document, Options, has_words
from nmt.documents.codes import content
from nmt.documents.office import Slot, read_xml, xml_document
from nmt.documents.paragraphs import Paragraph
from nmt.documents.plurals import CLASSES, added_forms
from nmt.documents.xml_splice import Element, Xml

FORMAT, VARIABLE = "NSStringLocalizedFormatKey", re.compile(r"%(?:\d\$)?#@\w++@")


def read(data: bytes, options: Options) -> Document:
    xml = read_xml(data, "one of Apple's plurals", "plist")
    dicts = (element for element in xml.root.walk() if element.name == "dict")
    return xml_document(xml, [slot for element in dicts for slot in slots(xml, element, options)])


def is_text(key: str, text: str) -> bool:
    """Whether a text with variables (%#@name@) has words beside them."""
    return key == FORMAT and has_words(VARIABLE.sub("", text))


def slots(xml: Xml, element: Element, options: Options) -> Iterator[Slot | Paragraph]:
    parts = element.elements
    pairs = {key.text: value for key, value in zip(parts[::2], parts[1::2], strict=False) if value.name == "string"}
    found = {name: (value, Paragraph(xml, content(value), f"form {name}")) for name, value in pairs.items()}
    yield from (slot for name, (value, slot) in found.items() if name in CLASSES or is_text(name, value.text))
    forms = {name: item for name, item in found.items() if name in CLASSES}
    yield from added_forms(forms, options.target, "<key>NAME</key><string>TEXT</string>")
