"""E-books (EPUB 2 and 3): chapters are read as HTML; titles of the contents and of the book are units too.

Chapters must stay well-formed XML: an answer that would break one isn't taken, and its text stays as it was. With a
target language, it becomes the language of the book. Source: EPUB 3.3, W3C.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from posixpath import dirname, normpath
from urllib.parse import unquote
from xml.parsers import expat

from nmt.documents import html
from nmt.documents.archive import Archive
from nmt.documents.base import Answer, Document, Options, TextDocument, Unit, splice
from nmt.documents.codes import content
from nmt.documents.office import ArchiveDocument, Change, Part, attributes, read_xml, with_words
from nmt.documents.paragraphs import Paragraph
from nmt.documents.xml_splice import INVALID, Xml, escape
from nmt.fields import require

TITLES = ("dc:title", "dc:description", "dc:subject", "ncx:text")
LANGUAGE = re.compile(r"(\s(?:xml:)?lang\s*=\s*)(\"[^\"]*\"|'[^']*')")


def read(data: bytes, options: Options) -> Document:
    archive = Archive(data, options.zip)
    container = "META-INF/container.xml"
    require(container in archive, f"the file isn't an EPUB: it lacks {container}")
    require_readable(archive)
    elements = read_xml(archive, container).root.walk()
    packages = [element.attributes["full-path"] for element in elements if "full-path" in element.attributes]
    parts: dict[str, Document] = {}
    for package in packages:
        xml = read_xml(archive, package)
        parts[package] = titles(xml, options.target)
        for name, kind in listed(xml, package):
            if name in archive and kind == "application/xhtml+xml":
                parts[name] = Chapter.read(archive.read(name), name, options)
            elif name in archive and kind == "application/x-dtbncx+xml":
                parts[name] = titles(read_xml(archive, name), options.target)
    return ArchiveDocument(archive, parts)


def listed(xml: Xml, package: str) -> Iterator[tuple[str, str]]:
    """The files that a package lists, with their kinds."""
    for element in xml.root.walk():
        if element.name == "opf:item":
            place = normpath(f"{dirname(package)}/{unquote(element.attributes.get('href', ''))}")
            yield place.lstrip("/"), element.attributes.get("media-type", "")


def require_readable(archive: Archive) -> None:
    """Refuse books whose chapters are encrypted; fonts may be."""
    name = "META-INF/encryption.xml"
    elements = read_xml(archive, name).root.walk() if name in archive else ()
    places = [element.attributes.get("URI", "").lower() for element in elements]
    is_protected = any(place.endswith((".xhtml", ".html", ".htm", ".opf", ".ncx", ".xml")) for place in places)
    require(not is_protected, "the book is protected: its chapters are encrypted and can't be read")


def titles(xml: Xml, language: str) -> Part:
    """A package or table of contents: its titles, and the change of its language."""
    elements = list(xml.root.walk())
    paragraphs = with_words(Paragraph(xml, content(xml, one)) for one in elements if one.name in TITLES)
    changes = list[Change]()
    for one in elements if language else ():
        if one.name == "dc:language":
            changes.append((one.start, partial(xml.fill, one, xml.encode(escape(language)))))
        elif "xml:lang" in one.attributes:
            changes.append(attributes(xml, one, {"xml:lang": language}))
    return Part(xml, paragraphs, changes)


@dataclass
class Chapter:
    """A file in XHTML."""

    document: TextDocument
    language: str
    notes: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, data: bytes, name: str, options: Options) -> "Chapter":
        try:
            document = html.read(data, options)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        assert isinstance(document, TextDocument)
        return cls(document, options.target)

    @property
    def units(self) -> Sequence[Unit]:
        return self.document.units

    def join(self, answers: Sequence[Answer]) -> bytes:
        text = self.document.source.text
        has_type = "<!DOCTYPE" in text
        edits = list[tuple[int, int, str]]()
        for slot, answer in zip(self.document.slots, answers, strict=True):
            if answer.text == slot.unit.text:
                continue
            with suppress(ValueError):  # the answer lacks tags of the text
                written = slot.write(INVALID.sub("\ufffd", answer.text))
                if not slot.unit.markup or is_well_formed(written, has_type):
                    edits.append((slot.start, slot.end, written))
        root = re.search(r"<html\b[^>]*>", text)
        for match in LANGUAGE.finditer(text, *root.span()) if root and self.language else ():
            edits.append((*match.span(2), f'"{escape(self.language, quoted=True)}"'))
        return self.document.source.encode(splice(text, edits), self.document.errors)


def is_well_formed(text: str, has_type: bool) -> bool:
    """Whether a part of a file is well-formed XML. `has_type`: the file's document type declares entities of HTML."""
    parser, start = expat.ParserCreate(), '<!DOCTYPE x SYSTEM "x">' if has_type else ""
    try:
        parser.Parse(f"{start}<x>{text}</x>", True)
    except (expat.ExpatError, UnicodeError):
        return False
    return True
