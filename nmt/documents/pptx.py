"""Presentations (Office Open XML): paragraphs of slides, notes, tables, diagrams and titles of charts are units.

Masters and layouts, whose texts are hints for authors, stay. With a target language, changed words are marked as such.
Source: ECMA-376, part 1, sections 19 and 21.
"""

from nmt.documents.archive import Archive
from nmt.documents.base import Document, Options
from nmt.documents.docx import text_part
from nmt.documents.office import ArchiveDocument, names_of_type, read_xml
from nmt.fields import require

TYPES = (
    ".presentationml.slide+xml",
    ".presentationml.notesSlide+xml",
    ".drawingml.chart+xml",
    ".drawingml.diagramData+xml",
    ".drawingml.diagramDrawing+xml",
)


def read(data: bytes, options: Options) -> Document:
    archive = Archive(data, options.zip)
    names = names_of_type(archive, *TYPES)
    require(bool(names_of_type(archive, ".presentation.main+xml", "show.main+xml", "template.main+xml")),
            "the file isn't a presentation")  # fmt: skip
    return ArchiveDocument(archive, {name: text_part(read_xml(archive, name), options.target) for name in names})
