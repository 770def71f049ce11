"""Text documents of Word (Office Open XML): paragraphs flow in as units, and their translations go back.

Read are the text, headers, footers, footnotes, endnotes, comments, text boxes and charts. Deleted text and instructions
of fields stay. With a target language, changed words are marked to be in it, and it becomes the default language.
Source: ECMA-376, part 1, section 17.
"""

from nmt.documents.archive import Archive
from nmt.documents.base import Document, Options
from nmt.documents.office import ArchiveDocument, Part, attributes, names_of_type, read_xml, with_words
from nmt.documents.paragraphs import Paragraph
from nmt.documents.runs import RunReader, written_attribute
from nmt.documents.xml_splice import Xml
from nmt.fields import require

KINDS = ("header", "footer", "footnotes", "endnotes", "comments")
TYPES = (*(f".wordprocessingml.{kind}+xml" for kind in KINDS), ".main+xml", ".drawingml.chart+xml")
STYLES = ".wordprocessingml.styles+xml"


def read(data: bytes, options: Options) -> Document:
    archive = Archive(data, options.zip)
    parts = {name: text_part(read_xml(archive, name), options.target) for name in names_of_type(archive, *TYPES)}
    require(any(part.xml.root.name == "w:document" for part in parts.values()), "the file isn't a Word document")
    for name in names_of_type(archive, STYLES) if options.target else ():
        parts[name] = style_part(read_xml(archive, name), options.target)
    return ArchiveDocument(archive, parts)


def text_part(xml: Xml, language: str) -> Part:
    """A file with paragraphs of Word or of drawings."""
    reader = RunReader(xml, language)
    found = [element for element in xml.root.walk() if element.name in ("w:p", "a:p")]
    return Part(xml, with_words(Paragraph(xml, reader.pieces(element)) for element in found))


def style_part(xml: Xml, language: str) -> Part:
    """The file of styles, whose languages become another."""
    found = [element for element in xml.root.walk() if element.name == "w:lang" and "w:val" in element.attributes]
    return Part(xml, [], [attributes(xml, one, {written_attribute(xml, one, "val"): language}) for one in found])
