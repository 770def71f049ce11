"""Resources of .NET (resx): texts are units; those of other types, names of forms' parts, and locked ones stay.

The mark of an accelerator (&File) is put back. Source: learn.microsoft.com, "Create resource files for .NET apps".
"""

from functools import partial

from nmt.documents.base import Document, Options, Unit
from nmt.documents.gettext import Message
from nmt.documents.office import Slot, read_xml, xml_document
from nmt.documents.paragraphs import Paragraph, lines
from nmt.documents.qt import put
from nmt.documents.xml_splice import Text

OF_FORMS = ">>"  # names of entries that say how the parts of a form are called


def read(data: bytes, options: Options) -> Document:
    xml = read_xml(data, "resx", "root")
    found = list[Slot | Paragraph]()
    for entry in xml.root.elements:
        name, value, comment = entry.attributes.get("name", ""), entry.find("value"), entry.find("comment")
        is_text = entry.name == "data" and not {"type", "mimetype"} & entry.attributes.keys()
        is_locked = comment is not None and "{Locked}" in comment.text
        if value and is_text and not is_locked and not name.startswith(OF_FORMS):
            texts = [child for child in value.children if isinstance(child, Text)]
            pieces = [piece for text in texts for piece in lines(text.value, ((text.start, text.end),))]
            message, place = Message(value.text), f"entry {name}"
            if message.accelerator and message.accelerator[0] == "&" and any(map(str.isalpha, message.core)):
                unit = Unit(message.core, place=place)
                found.append(Slot(value.start, unit, partial(put, xml, value, message)))
            else:
                found.append(Paragraph(xml, pieces, place))
    return xml_document(xml, found)
