"""Workbooks (Office Open XML): texts of cells, comments, shapes and titles of charts are units.

Numbers, formulas and names of sheets stay. So do cells whose text is the name of a table's or a pivot table's column:
programs refuse files in which the two differ. Source: ECMA-376, part 1, section 18.
"""

from collections.abc import Collection

from nmt.documents.archive import Archive
from nmt.documents.base import Document, Options
from nmt.documents.office import ArchiveDocument, Part, names_of_type, read_xml, with_words
from nmt.documents.paragraphs import Paragraph
from nmt.documents.runs import LINE_BREAK, RunReader
from nmt.documents.xml_splice import Xml
from nmt.fields import require

TYPES = (".sharedStrings+xml", ".comments+xml", ".drawing+xml", ".drawingml.chart+xml")
COLUMNS = (".spreadsheetml.table+xml", ".pivotCacheDefinition+xml")
SHEETS = ".worksheet+xml"
TEXTS = ("x:si", "x:is", "x:text", "a:p")


def read(data: bytes, options: Options) -> Document:
    archive = Archive(data, options.zip)
    require(bool(names_of_type(archive, "sheet.main+xml", "Enabled.main+xml", "template.main+xml")),
            "the file isn't a workbook")  # fmt: skip
    columns = set[str]()
    for name in names_of_type(archive, *COLUMNS):
        elements = read_xml(archive, name).root.walk()
        columns |= {tidied(one.attributes["name"]) for one in elements if "name" in one.attributes}
    sheets = [name for name in names_of_type(archive, SHEETS) if has_texts(archive.read(name))]
    names = [*names_of_type(archive, *TYPES), *sheets]
    return ArchiveDocument(archive, {name: text_part(read_xml(archive, name), options, columns) for name in names})


def has_texts(sheet: bytes) -> bool:
    """Whether a sheet may have texts of its own, which are not among the shared ones; most are large and have none."""
    return b"inlineStr" in sheet or b"\0" in sheet


def text_part(xml: Xml, options: Options, columns: Collection[str]) -> Part:
    reader = RunReader(xml, options.target)
    found = [one for one in xml.root.walk() if one.name in TEXTS and tidied(one.text) not in columns]
    return Part(xml, with_words(Paragraph(xml, reader.pieces(element)) for element in found))


def tidied(text: str) -> str:
    """A text with blanks for line breaks, which names write in another way."""
    return " ".join(LINE_BREAK.sub(" ", text.replace("_x000a_", "\n").replace("_x000d_", "")).split())
