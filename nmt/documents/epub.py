"""E-books (EPUB 2 and 3): chapters are read as HTML; titles of the contents and of the book are units too.

Chapters must stay well-formed XML: an answer that would break one isn't taken, and its text stays as it was. With a
target language, it becomes the language of the book. Source: EPUB 3.3, W3C.
"""

import re
from dataclasses import replace
from functools import partial
from posixpath import dirname, normpath
from urllib.parse import unquote
from xml.parsers import expat

from nmt.documents import html
from nmt.documents.archive import Archive
from nmt.documents.base import Document, Options, Slot, decode, text_document
from nmt.documents.office import archive_document, still_xml, xml_document
from nmt.documents.paragraphs import Paragraph, content
from nmt.documents.xml_splice import INVALID, Edit, Xml, escape
from nmt.fields import require
from nmt.text.languages import new_direction
from nmt.text.markup import read_tags

NAME = re.compile(r"[^\s<>/]+")
CHAPTERS = (".xhtml", ".html", ".htm", ".opf", ".ncx", ".xml")  # what mustn't be encrypted; fonts may be
TITLES = ("dc:title", "dc:description", "dc:subject", "ncx:text")


def read(data: bytes, options: Options) -> Document:
    archive = Archive(data, options.zip)
    container = "META-INF/container.xml"
    require(container in archive, f"the file isn't an EPUB: it lacks {container}")
    name = "META-INF/encryption.xml"
    encrypted = archive.xml(name).root.walk() if name in archive else ()
    places = [element.attributes.get("URI", "").lower() for element in encrypted]
    is_protected = any(place.endswith(CHAPTERS) for place in places)
    require(not is_protected, "the book is protected: its chapters are encrypted and can't be read")
    elements = archive.xml(container).root.walk()
    packages = [element.attributes["full-path"] for element in elements if "full-path" in element.attributes]
    parts = dict[str, Document]()
    for package in packages:
        xml = archive.xml(package)
        parts[package] = titles(xml, options)
        for item in (element.attributes for element in xml.root.walk() if element.name == "opf:item"):
            name = normpath(f"{dirname(package)}/{unquote(item.get('href', ''))}").lstrip("/")
            kind = item.get("media-type")
            if name in archive and kind == "application/xhtml+xml":
                parts[name] = chapter(archive.read(name), name, options)
            elif name in archive and kind == "application/x-dtbncx+xml":
                parts[name] = titles(archive.xml(name), options)
    return archive_document(archive, parts)


def titles(xml: Xml, options: Options) -> Document:
    """A package or table of contents: its titles, and the change of its language and direction."""
    elements, language = list(xml.root.walk()), options.target
    changes = list[Edit]()
    turned = new_direction(options.source, options.target)
    for element in elements if language else ():
        if element.name == "dc:language":
            changes.append(xml.filled(element, xml.encode(escape(language))))
        elif "xml:lang" in element.attributes:
            changes.append(xml.attributes(element, {"xml:lang": language}))
        elif element.name == "opf:spine" and turned:
            changes.append(xml.attributes(element, {"page-progression-direction": turned}))
    return xml_document(xml, [Paragraph(xml, content(found)) for found in elements if found.name in TITLES], changes)


def chapter(data: bytes, name: str, options: Options) -> Document:
    """A file in XHTML."""
    try:
        source = replace(decode(data, options.encoding or html.declared(data)), errors=html.REFERENCES)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    has_type = "<!DOCTYPE" in source.text
    slots = [replace(slot, write=partial(write, slot, has_type)) for slot in html.slots(source.text)]
    document = text_document(source, slots, html.language_edits(source.text, options.target))
    return replace(document, write=lambda answers: still_xml(data, document.write(answers), name))


def write(slot: Slot, has_type: bool, text: str) -> str:
    """An answer as it is written, if it is well-formed XML; else ValueError. `has_type`: whether the file has a
    document type, which declares entities of HTML."""
    written = slot.write(INVALID.sub("\ufffd", text))
    start = '<!DOCTYPE x SYSTEM "x">' if has_type else ""
    before = after = ""  # tags that the text lacks: elements may go on over a line break, where it ends
    for tag in reversed(read_tags(slot.unit.text)) if slot.unit.markup else ():
        if not (tag.void or tag.partner):
            [name] = NAME.findall(slot.unit.text, tag.start, tag.end)[:1]
            before, after = (f"{before}<{name}>", after) if tag.closes else (before, f"{after}</{name}>")
    try:
        expat.ParserCreate().Parse(f"{start}<x>{before}{written if slot.unit.markup else ''}{after}</x>", True)
    except (expat.ExpatError, UnicodeError):
        raise ValueError("the translation isn't well-formed XML") from None
    return written
