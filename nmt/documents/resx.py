"""Resources of .NET (resx): texts are units; those of other types, names of forms' parts, and locked ones stay.

Source: learn.microsoft.com, "Create resource files for .NET apps".
"""

from nmt.documents.base import Document, Options
from nmt.documents.office import read_xml, xml_document
from nmt.documents.paragraphs import Paragraph, lines
from nmt.documents.xml_splice import Text

OF_FORMS = ">>"  # names of entries that say how the parts of a form are called


def read(data: bytes, options: Options) -> Document:
    xml = read_xml(data, "resx", "root")
    found = list[Paragraph]()
    for entry in xml.root.elements:
        name, value, comment = entry.attributes.get("name", ""), entry.find("value"), entry.find("comment")
        is_text = entry.name == "data" and not {"type", "mimetype"} & entry.attributes.keys()
        is_locked = comment is not None and "{Locked}" in comment.text
        if value and is_text and not is_locked and not name.startswith(OF_FORMS):
            texts = [child for child in value.children if isinstance(child, Text)]
            pieces = [piece for text in texts for piece in lines(text.value, ((text.start, text.end),))]
            found.append(Paragraph(xml, pieces, f"entry {name}"))
    return xml_document(xml, found)
