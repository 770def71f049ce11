"""Files of Word, PowerPoint and Excel (Office Open XML): paragraphs are units, with their formatting as tags.

With a target language, changed words are marked to be in it, and the file turns to its direction.
Source: ECMA-376, part 1, sections 17 to 21.
"""

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from nmt.documents import direction
from nmt.documents.archive import Archive
from nmt.documents.base import Document, Options
from nmt.documents.office import archive_document, xml_document
from nmt.documents.paragraphs import Paragraph, content
from nmt.documents.runs import LANG, LINE_BREAK, RunReader, written_attribute
from nmt.documents.xml_splice import Element, Xml
from nmt.fields import require
from nmt.text.languages import font_class, new_direction

TEXTS = frozenset(("w:p", "a:p", "x:si", "x:is", "x:text"))
CHART = ".drawingml.chart+xml"
WORD_KINDS = ("header", "footer", "footnotes", "endnotes", "comments")
WORD = (*(f".wordprocessingml.{kind}+xml" for kind in WORD_KINDS), ".main+xml", CHART)
WORD_STYLES = ".wordprocessingml.styles+xml"
# Not masters and layouts, whose texts are hints for authors.
SLIDES = (
    *(".presentationml.slide+xml", ".presentationml.notesSlide+xml"),
    *(".drawingml.diagramData+xml", ".drawingml.diagramDrawing+xml", CHART),
)
MASTERS = (".presentationml.slideMaster+xml", ".presentationml.slideLayout+xml", ".presentationml.notesMaster+xml")
PRESENTATIONS = (".presentation.main+xml", "show.main+xml", "template.main+xml")
WORKBOOKS = ("sheet.main+xml", "Enabled.main+xml", "template.main+xml")
CELLS = (".sharedStrings+xml", ".comments+xml", ".drawing+xml", CHART)
SHEETS = ".worksheet+xml"
THREADS = ".threadedcomments+xml"
INLINE = re.compile(b"inlineStr|\0")
CELLS_OF_SHEET = re.compile(rb"<((?:[\w.-]+:)?)sheetData\b")
COLUMNS = (".spreadsheetml.table+xml", ".pivotCacheDefinition+xml")


def read_docx(data: bytes, options: Options) -> Document:
    """Text, headers, footers, footnotes, endnotes, comments, text boxes and charts; deleted text and instructions of
    fields stay. The target language becomes the default."""
    archive = Archive(data, options.zip)
    files = {name: archive.xml(name) for name in names_of_type(archive, *WORD)}
    require(any(xml.root.name == "w:document" for xml in files.values()), "the file isn't a Word document")
    parts = {name: text_part(xml, options) for name, xml in files.items()}
    for name in names_of_type(archive, WORD_STYLES) if options.target else ():
        xml = archive.xml(name)
        found = [element for element in xml.root.walk() if element.name == "w:lang" and element.attributes]
        kind = LANG[font_class(options.target)]
        values = [{written_attribute(xml, element, kind): options.target} for element in found]
        languages = [xml.attributes(*pair) for pair in zip(found, values, strict=True)]
        turned = direction.of_styles(xml, new_direction(options.source, options.target))
        parts[name] = xml_document(xml, (), [*languages, *turned])
    return archive_document(archive, parts)


def read_pptx(data: bytes, options: Options) -> Document:
    """Slides, notes, tables, diagrams and titles of charts."""
    archive = Archive(data, options.zip)
    require(bool(names_of_type(archive, *PRESENTATIONS)), "the file isn't a presentation")
    parts = {name: text_part(archive.xml(name), options) for name in names_of_type(archive, *SLIDES)}
    turned = new_direction(options.source, options.target)
    for name in names_of_type(archive, *MASTERS, *PRESENTATIONS) if turned else ():
        xml = archive.xml(name)
        parts[name] = xml_document(xml, (), direction.changes(xml, turned))
    return archive_document(archive, parts)


def read_xlsx(data: bytes, options: Options) -> Document:
    """Cells, comments, shapes and titles of charts; numbers, formulas and names of sheets stay. So do cells whose text
    is the name of a table's or a pivot table's column: programs refuse files in which the two differ."""
    archive = Archive(data, options.zip)
    require(bool(names_of_type(archive, *WORKBOOKS)), "the file isn't a workbook")
    elements = (element for name in names_of_type(archive, *COLUMNS) for element in archive.xml(name).root.walk())
    columns = {tidied(element.attributes["name"]) for element in elements if "name" in element.attributes}
    # Sheets may have texts that are not among the shared ones; most are large and have none.
    sheets = names_of_type(archive, SHEETS)
    names = [*names_of_type(archive, *CELLS), *(name for name in sheets if INLINE.search(archive.read(name)))]
    parts = {name: text_part(archive.xml(name), options, columns) for name in names}
    turned = new_direction(options.source, options.target)
    parts |= {name: view(archive.read(name), name, turned) for name in sheets if turned and name not in parts}
    parts |= {name: thread(archive.xml(name)) for name in names_of_type(archive, THREADS)}
    return archive_document(archive, parts)


def view(data: bytes, name: str, turned: str) -> Document:
    """A sheet without texts: only what stands before its cells is read."""
    cells = CELLS_OF_SHEET.search(data)
    start, end = (cells.start(), b"</%bworksheet>" % cells[1]) if cells else (len(data), b"")
    xml = Xml(data[:start] + end, name)
    head = xml_document(xml, (), direction.changes(xml, turned))
    return Document(data, [], lambda answers: head.write(answers).removesuffix(end) + data[start:])


def thread(xml: Xml) -> Document:
    """Comments that can be answered; those stay that name persons, by the places of their names in the text."""
    comments = (element for element in xml.root.elements if not element.find("tc:mentions"))
    texts = (text for comment in comments if (text := comment.find("tc:text")))
    return xml_document(xml, [Paragraph(xml, content(text)) for text in texts])


def names_of_type(archive: Archive, *types: str) -> list[str]:
    """The members whose content type ends with one of these, in the order of the file. Source: ECMA-376, part 2."""
    require("[Content_Types].xml" in archive, "the file isn't an Office Open XML file: it lacks [Content_Types].xml")
    listed = [element.attributes for element in archive.xml("[Content_Types].xml").root.elements]
    # Of parts, whose names may be in other letters; of other members with an ending, which begins with a dot.
    keys = [values.get("PartName", f".{values.get('Extension', '')}").lstrip("/").lower() for values in listed]
    found = {key: values.get("ContentType", "") for key, values in zip(keys, listed, strict=True)}
    named = ((name, name.lower()) for name in archive.members)
    return [name for name, key in named if found.get(key, found.get(PurePosixPath(key).suffix, "")).endswith(types)]


def text_part(xml: Xml, options: Options, kept: Collection[str] = ()) -> Document:
    """A file with paragraphs of Word or of drawings, or with texts of cells; those in `kept` stay."""
    turned = new_direction(options.source, options.target)
    reader = RunReader(xml, options.target, turned)
    found = [element for element in xml.root.walk() if element.name in TEXTS]
    texts = [element for element in found if not kept or tidied(shown(element)) not in kept]
    # Readings in cells (x:rPh) are dropped.
    pairs = ((text, text if text.name.startswith("x:") else None) for text in texts)
    paragraphs = [Paragraph(xml, reader.pieces(text), within=cell) for text, cell in pairs]
    return xml_document(xml, paragraphs, direction.changes(xml, turned) if turned else ())


def shown(element: Element) -> str:
    """The text of a cell without the readings of its words."""
    parts = element.walk(lambda part: part.name != "x:rPh")
    return "".join(part.text for part in parts if part.name.endswith(":t"))


def tidied(text: str) -> str:
    """A text with blanks for line breaks, which names write in another way."""
    return " ".join(LINE_BREAK.sub(" ", text.replace("_x000a_", "\n").replace("_x000d_", "")).split())
