"""Texts of mobile apps: Android (strings.xml), and plurals of iOS and macOS (.stringsdict).

strings.xml: strings, plurals and items of arrays are units. Those with translatable="false", references such as
@string/name, and <xliff:g> stay. Text in CDATA is HTML. .stringsdict: the forms of each variable are units. Forms that
the target language has more are added. Sources: developer.android.com, "String resources", and its rules for escapes
and blanks; developer.apple.com, "Localizing strings that contain plurals".
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from nmt.documents.base import Answer, Document, Options, Unit, has_words, paired, require_text
from nmt.documents.office import Slot, read_xml, xml_document
from nmt.documents.paragraphs import BLANKS, Paragraph, Piece, content, lines
from nmt.documents.plurals import CLASSES, added_forms
from nmt.documents.xml_splice import Element, Text, Xml, escape, escape_cdata

WRITTEN = re.compile(r"\\u(?P<code>[0-9a-fA-F]{4})|\\(?P<escaped>.)|(?P<quote>\")|(?P<blanks>[ \t\r\n]+)", re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t"}
ESCAPES = {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\t": "\\t"}
REFERENCE = re.compile(r"\s*[@?][\w.:+*-]*(?:/[\w.]+)?\s*")
INNER_BLANKS, OUTER_BLANKS = re.compile(" {2,}"), re.compile("^ +| +$| {2,}")  # that Android would take away
LISTS = ("string-array", "plurals")
FORMAT, VARIABLE = "NSStringLocalizedFormatKey", re.compile(r"%(?:\d\$)?#@\w++@")


def read_android(data: bytes, options: Options) -> Document:
    xml = read_xml(data, "a file of Android strings", "resources")
    slots, added = list[Slot | Paragraph](), list[Slot]()
    for element in xml.root.elements:
        if element.attributes.get("translatable") == "false" or element.name not in ("string", *LISTS):
            continue
        items = [item for item in element.elements if item.name == "item"] if element.name in LISTS else [element]
        found = [(item, slot_of(xml, item, f"string {element.attributes.get('name', '')}")) for item in items]
        slots += (slot for _, slot in found)
        if element.name == "plurals":
            texts = ((item, slot) for item, slot in found if isinstance(slot, Paragraph))
            forms = {item.attributes.get("quantity", ""): (item, slot) for item, slot in texts}
            added += added_forms(forms, options.target, '<item quantity="NAME">TEXT</item>')
    return xml_document(xml, [*slots, *added])


def slot_of(xml: Xml, element: Element, place: str) -> Slot | Paragraph:
    parts = [child for child in element.children if not isinstance(child, Text) or child.cdata or child.value.strip()]
    if len(parts) == 1 and isinstance(parts[0], Text) and parts[0].cdata:
        inside = decode(parts[0].value)
        unit = Unit(inside, markup=True, place=place) if any(map(str.isalpha, inside)) else None
        return Slot(parts[0].start, unit, partial(put_cdata, xml, parts[0]))
    found = [] if REFERENCE.fullmatch(element.text) else list(pieces(element))
    if len(found) == 1 and found[0].kind == "words":  # blanks around the text are the layout of the file
        found = [replace(found[0], text=decode(element.text.strip(BLANKS)))]
    return Paragraph(xml, found, place, lambda text: escape(encode(text, is_whole=len(found) == 1)))


def put_cdata(xml: Xml, section: Text, answer: Answer) -> None:
    require_text(Unit(decode(section.value), markup=True), answer.text)
    if answer.text != decode(section.value):
        xml.replace(section.start, section.end, xml.encode(f"<![CDATA[{escape_cdata(encode(answer.text))}]]>"))


def pieces(element: Element) -> Iterator[Piece]:
    for child in element.children:
        span = ((child.start, child.end),)
        if isinstance(child, Text):
            yield from lines(decode(child.value), span)
        elif isinstance(child, Element) and child.name != "x1:g" and child.children:
            yield Piece("opens", ((child.start, child.inner),))
            yield from pieces(child)
            yield Piece("closes", ((child.inner_end, child.end),))
        elif isinstance(child, Element):
            yield Piece("mark", span)


def decode(written: str) -> str:
    """The text that an app shows."""
    found, position, quoted = list[str](), 0, False
    for match in WRITTEN.finditer(written):
        found.append(written[position : match.start()])
        position = match.end()
        if match["quote"]:
            quoted = not quoted
        elif match["blanks"]:
            found.append(match["blanks"] if quoted else " ")
        elif match["code"]:
            found.append(chr(int(match["code"], 16)))
        else:
            found.append(ESCAPED.get(match["escaped"], match["escaped"]))
    return paired("".join([*found, written[position:]]))


def encode(text: str, is_whole: bool = False) -> str:
    """The text as it is written; of several blanks each one is kept, and at the ends of a whole string each blank."""
    text = "".join(ESCAPES.get(character, character) for character in text)
    text = (OUTER_BLANKS if is_whole else INNER_BLANKS).sub(lambda match: r"\u0020" * len(match[0]), text)
    return f"\\{text}" if re.match(r"[@?][\w+*]", text) else text


def read_stringsdict(data: bytes, options: Options) -> Document:
    xml = read_xml(data, "one of Apple's plurals", "plist")
    slots = list[Slot | Paragraph]()
    for parts in (element.elements for element in xml.root.walk() if element.name == "dict"):
        pairs = {key.text: value for key, value in zip(parts[::2], parts[1::2], strict=False) if value.name == "string"}
        found = {name: (value, Paragraph(xml, content(value), f"form {name}")) for name, value in pairs.items()}
        forms = {name: item for name, item in found.items() if name in CLASSES}
        if FORMAT in found and has_words(VARIABLE.sub("", found[FORMAT][0].text)):  # beside the variables
            slots.append(found[FORMAT][1])
        slots += (slot for _, slot in forms.values())
        slots += added_forms(forms, options.target, "<key>NAME</key><string>TEXT</string>")
    return xml_document(xml, slots)
