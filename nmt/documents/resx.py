"""Resources of .NET (resx): texts are units; those of other types, names of forms' parts, and locked ones stay.

Source: learn.microsoft.com, "Create resource files for .NET apps".
"""

from collections.abc import Iterator

from nmt.documents.base import Document, Options
from nmt.documents.office import Part, with_words
from nmt.documents.paragraphs import Paragraph, Piece, lines
from nmt.documents.xml_splice import Element, Text, Xml
from nmt.fields import require

OF_FORMS = ">>"  # names of entries that say how the parts of a form are called


def read(data: bytes, options: Options) -> Document:
    xml = Xml(data)
    require(xml.root.name == "root", "the file isn't resx: its first element is not <root>")
    return Part(xml, with_words(Paragraph(xml, pieces(value), f"entry {name}") for name, value in texts(xml.root)))


def texts(root: Element) -> Iterator[tuple[str, Element]]:
    """The names and values of the entries that are texts."""
    for entry in root.elements:
        name, value, comment = entry.attributes.get("name", ""), entry.find("value"), entry.find("comment")
        is_text = entry.name == "data" and not {"type", "mimetype"} & entry.attributes.keys()
        is_locked = comment is not None and "{Locked}" in comment.text
        if value and is_text and not is_locked and not name.startswith(OF_FORMS):
            yield name, value


def pieces(value: Element) -> list[Piece]:
    found = [child for child in value.children if isinstance(child, Text)]
    return [piece for text in found for piece in lines(text.value, ((text.start, text.end),))]
