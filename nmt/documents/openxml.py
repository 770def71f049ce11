"""Files of Word, PowerPoint and Excel (Office Open XML): paragraphs are units, with their formatting as tags.

With a target language, changed words are marked to be in it. Paragraphs, words, tables, sheets and styles turn to its
direction only if that isn't the one of the source. Source: ECMA-376, part 1, sections 17 to 21.
"""

import re
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from nmt.documents.archive import Archive
from nmt.documents.base import Document, Options
from nmt.documents.office import archive_document, xml_document
from nmt.documents.paragraphs import Paragraph, content
from nmt.documents.runs import HOLDERS, LANG, LINE_BREAK, RunReader, fields, properties_with, written_attribute
from nmt.documents.xml_splice import Edit, Element, Xml
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
STYLE = re.compile("a:(?:lvl[1-9]|def)pPr", re.IGNORECASE)
MIRRORED = {"l": "r", "r": "l"}
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
        kind, changes = LANG[font_class(options.target)], list[Edit]()
        is_from_left = new_direction(options.source, options.target) == "ltr"
        for element in xml.root.walk():
            if element.name == "w:lang" and element.attributes:
                changes.append(xml.attributes(element, {written_attribute(xml, element, kind): options.target}))
            elif is_from_left and element.name in HOLDERS:
                # Paragraphs from left to right don't say so, so no style may say otherwise.
                changes.append((element.start, element.end, b""))
        parts[name] = xml_document(xml, (), changes)
    return archive_document(archive, parts)


def read_pptx(data: bytes, options: Options) -> Document:
    """Slides, notes, tables, diagrams and titles of charts."""
    archive = Archive(data, options.zip)
    require(bool(names_of_type(archive, *PRESENTATIONS)), "the file isn't a presentation")
    parts = {name: text_part(archive.xml(name), options) for name in names_of_type(archive, *SLIDES)}
    turned = new_direction(options.source, options.target)
    for name in names_of_type(archive, *MASTERS, *PRESENTATIONS) if turned else ():
        xml = archive.xml(name)
        parts[name] = xml_document(xml, (), turned_elements(xml, turned))
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
    for name in names_of_type(archive, THREADS):  # of comments; those stay that name persons, by places in the text
        xml = archive.xml(name)
        texts = (comment.find("tc:text") for comment in xml.root.elements if not comment.find("tc:mentions"))
        parts[name] = xml_document(xml, [Paragraph(xml, content(text)) for text in texts if text])
    return archive_document(archive, parts)


def view(data: bytes, name: str, turned: str) -> Document:
    """A sheet without texts: only what stands before its cells is read."""
    cells = CELLS_OF_SHEET.search(data)
    start, end = (cells.start(), b"</%bworksheet>" % cells[1]) if cells else (len(data), b"")
    xml = Xml(data[:start] + end, name)
    head = xml_document(xml, (), turned_elements(xml, turned))
    return Document(data, [], lambda answers: head.write(answers).removesuffix(end) + data[start:])


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
    pairs = ((text, text if text.name.startswith("x:") else None) for text in texts)  # readings (x:rPh) are dropped
    paragraphs = [Paragraph(xml, fields([*reader.inner(text)]), within=cell) for text, cell in pairs]
    return xml_document(xml, paragraphs, turned_elements(xml, turned) if turned else ())


def shown(element: Element) -> str:
    """The text of a cell without the readings of its words."""
    parts = element.walk(lambda part: part.name != "x:rPh")
    return "".join(part.text for part in parts if part.name.endswith(":t"))


def tidied(text: str) -> str:
    """A text with blanks for line breaks, which names write in another way."""
    return " ".join(LINE_BREAK.sub(" ", text.replace("_x000a_", "\n").replace("_x000d_", "")).split())


def turned_elements(xml: Xml, direction: str) -> Iterator[Edit]:
    """The changes of a file's paragraphs, tables and sheets to a direction (rtl or ltr). Source: ECMA-376, part 1,
    sections 17.3.1.6, 17.4.1, 18.3.1.87 and 21.1.2.2.7."""
    is_from_right = direction == "rtl"
    value = "1" if is_from_right else None
    for element in xml.root.walk():
        if element.name == "w:p":
            yield from of_properties(xml, element, "w:bidi", is_from_right)
        elif element.name == "w:tbl":
            yield from of_properties(xml, element, "w:bidiVisual", is_from_right)
        elif element.name == "a:p" or STYLE.fullmatch(element.name):
            yield from of_drawn(xml, element, is_from_right)
        elif element.name == "a:tblPr":
            yield xml.attributes(element, {"rtl": value})
        elif element.name == "x:sheetView":
            yield xml.attributes(element, {"rightToLeft": value})


def of_properties(xml: Xml, element: Element, switch: str, is_on: bool) -> Iterator[Edit]:
    """The change of the properties of a paragraph or table, which may have none yet."""
    found = element.find(HOLDERS[switch])
    before = found.find(switch) if found else None
    if element.inner < element.end and is_true(before.attributes.get("w:val", "1") if before else "0") != is_on:
        start, end = (found.start, found.end) if found else (element.inner, element.inner)
        yield start, end, properties_with(xml, element, switch, is_on)


def is_true(value: str) -> bool:
    """Whether a switch of Office Open XML is on."""
    return value in ("1", "true", "on")


def of_drawn(xml: Xml, element: Element, is_from_right: bool) -> Iterator[Edit]:
    """The change of a paragraph of a slide, chart or shape, or of a style: its alignment, if stated, is mirrored."""
    found = element.find("a:pPr") if element.name == "a:p" else element
    before = found.attributes if found else {}
    if is_true(before.get("rtl", "0")) == is_from_right or (not found and element.inner == element.end):
        return
    values = {name: MIRRORED.get(value, value) for name, value in before.items() if name == "algn"}
    values |= {"rtl": "1" if is_from_right else "0"}
    if found:
        yield xml.attributes(found, values)
    else:
        new = xml.encode(f'<{xml.written_name(element)}Pr rtl="{values["rtl"]}"/>')
        yield element.inner, element.inner, new
