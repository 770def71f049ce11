"""Files of python-docx, python-pptx, openpyxl and odfdo come back byte for byte; they open what is translated."""

import io
import re
from collections.abc import Sequence
from typing import Any

import pytest

from nmt.documents.base import Answer, Options, Unit, translate_document
from tests.documents.samples import identity

GERMAN_TO_ENGLISH = Options(source="de", target="en")
WORDS = (("Der ", None), ("große", True), (" Hund ", None), ("läuft", True), (".", None))  # and whether they are bold
SHOUTED = [(text.upper(), is_bold) for text, is_bold in WORDS]


def saved(made: Any) -> bytes:
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def shouted(units: Sequence[Unit]) -> list[Answer]:
    """The texts in capitals, without entities."""
    return [Answer(re.sub("[^<>&]+(?![^<>]*>)(?!;)", lambda match: match[0].upper(), unit.text)) for unit in units]


def translated(data: bytes, format_name: str) -> io.BytesIO:
    """The file in capitals; also checks that an unchanged translation changes nothing."""
    assert translate_document(data, format_name, identity, GERMAN_TO_ENGLISH) == data
    return io.BytesIO(translate_document(data, format_name, shouted, GERMAN_TO_ENGLISH))


def test_word() -> None:
    docx = pytest.importorskip("docx")
    made = docx.Document()
    heading = made.add_heading("Der Bericht", 1)
    made.add_comment(heading.runs[0], "Mit Kommentar", "Autor")
    paragraph = made.add_paragraph()
    for text, is_bold in WORDS:
        paragraph.add_run(text).bold = is_bold
    made.add_table(1, 2).cell(0, 1).text = "Erste Zelle"
    made.sections[0].header.paragraphs[0].text = "Kopf\tSeite"
    opened = docx.Document(translated(saved(made), "docx"))
    heading, second = opened.paragraphs
    assert (heading.text, heading.style.name) == ("DER BERICHT", "Heading 1")
    assert [(run.text, run.bold) for run in second.runs if run.text] == SHOUTED
    assert opened.tables[0].cell(0, 1).text == "ERSTE ZELLE"
    assert opened.sections[0].header.paragraphs[0].text == "KOPF\tSEITE"
    assert [comment.text for comment in opened.comments] == ["MIT KOMMENTAR"]
    assert opened.styles.element.xpath("//w:docDefaults//w:lang/@w:val") == ["en"]


def test_powerpoint() -> None:
    pptx = pytest.importorskip("pptx")
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "Der Bericht"
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    for text, is_bold in WORDS:
        run = paragraph.add_run()
        run.text, run.font.bold = text, is_bold
    slide.shapes.add_table(1, 1, 0, 0, 9, 9).table.cell(0, 0).text = "Erste Zelle"
    slide.notes_slide.notes_text_frame.text = "Eine Notiz"
    opened = pptx.Presentation(translated(saved(made), "pptx")).slides[0]
    assert opened.shapes.title.text == "DER BERICHT"
    runs = opened.placeholders[1].text_frame.paragraphs[0].runs
    assert [(run.text, run.font.bold) for run in runs] == SHOUTED
    assert [shape.table.cell(0, 0).text for shape in opened.shapes if shape.has_table] == ["ERSTE ZELLE"]
    assert opened.notes_slide.notes_text_frame.text == "EINE NOTIZ"


def test_excel() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont
    from openpyxl.comments import Comment

    made = openpyxl.Workbook()
    sheet = made.active
    sheet["A1"], sheet["B1"], sheet["C1"] = "Zeile eins\nZeile zwei", 12.5, '=A1&"Der Bericht"'
    sheet["A2"] = CellRichText("Ein ", TextBlock(InlineFont(b=True), "Hund"), " & mehr")
    sheet["A1"].comment = Comment("Mit Kommentar", "Autor")
    opened = openpyxl.load_workbook(translated(saved(made), "xlsx"), rich_text=True).active
    values = ["ZEILE EINS\nZEILE ZWEI", 12.5, '=A1&"Der Bericht"']
    assert [opened[place].value for place in ("A1", "B1", "C1")] == values
    assert str(opened["A2"].value) == "EIN HUND & MEHR"
    assert [block.text for block in opened["A2"].value if isinstance(block, TextBlock) and block.font.b] == ["HUND"]
    assert opened["A1"].comment.text == "MIT KOMMENTAR"
    assert opened.title == "Sheet"


def test_open_document() -> None:
    odfdo = pytest.importorskip("odfdo")
    made = odfdo.Document("text")
    made.body.clear()
    made.body.append(odfdo.Header(1, "Der Bericht"))
    paragraph = odfdo.Paragraph("Der ")
    for text, is_bold in WORDS[1:]:
        paragraph.append(odfdo.Span(text, style="Strong")) if is_bold else paragraph.append_plain_text(text)
    made.body.append(paragraph)
    opened = odfdo.Document(translated(saved(made), "odt")).body
    assert [header.text for header in opened.headers] == ["DER BERICHT"]
    assert opened.get_paragraphs()[0].text_recursive == "DER GROSSE HUND LÄUFT."
    assert [(span.style, span.text) for span in opened.get_spans()] == [("Strong", "GROSSE"), ("Strong", "LÄUFT")]
    sheets = odfdo.Document("spreadsheet")
    sheets.body.clear()
    table = odfdo.Table("Blatt")
    table.set_value("A1", "Erste Zelle")
    table.set_value("B1", 3)
    sheets.body.append(table)
    again = odfdo.Document(translated(saved(sheets), "ods")).body.get_table(0)
    assert (again.name, again.get_values()) == ("Blatt", [["ERSTE ZELLE", 3]])
