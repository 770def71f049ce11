"""Files of python-docx, python-pptx, openpyxl and odfdo come back byte for byte; they open what is translated."""

import io
from collections.abc import Sequence
from typing import Any

import pytest

from nmt.documents.base import Answer, Options, Unit, translate_document
from tests.documents.samples import identity

ENGLISH = {
    "Der Bericht": "The report",
    "Der <1>große</1> Hund <2>läuft</2>.": "The <1>big</1> dog <2>runs</2>.",
    "Erste Zelle": "First cell",
    "Kopf<br/>Seite": "Head<br/>Page",
    "Eine Notiz": "A note",
    "Ein <1>Hund</1> & mehr": "A <1>dog</1> & more",
    "Zeile eins<br/>Zeile zwei": "Line one<br/>Line two",
    "Mit Kommentar": "With comment",
}
GERMAN_TO_ENGLISH = Options(source="de", target="en")


def saved(made: Any) -> bytes:
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def translated(data: bytes, format_name: str) -> io.BytesIO:
    """The file in English; also checks that an unchanged translation changes nothing."""

    def translate(units: Sequence[Unit]) -> list[Answer]:
        return [
            Answer(ENGLISH.get(unit.text.replace("&amp;", "&"), unit.text).replace(" & ", " &amp; ")) for unit in units
        ]

    assert translate_document(data, format_name, identity, GERMAN_TO_ENGLISH) == data
    return io.BytesIO(translate_document(data, format_name, translate, GERMAN_TO_ENGLISH))


def test_word() -> None:
    docx = pytest.importorskip("docx")
    made = docx.Document()
    heading = made.add_heading("Der Bericht", 1)
    made.add_comment(heading.runs[0], "Mit Kommentar", "Autor")
    paragraph = made.add_paragraph("Der ")
    for text, bold, italic in (("gro", True, None), ("ße", True, None), (" Hund ", None, None), ("läuft", None, True)):
        run = paragraph.add_run(text)
        run.bold, run.italic = bold, italic
    paragraph.add_run(".")
    made.add_table(1, 2).cell(0, 1).text = "Erste Zelle"
    made.sections[0].header.paragraphs[0].text = "Kopf\tSeite"
    opened = docx.Document(translated(saved(made), "docx"))
    heading, second = opened.paragraphs
    assert (heading.text, heading.style.name) == ("The report", "Heading 1")
    runs = [(run.text, run.bold, run.italic) for run in second.runs if run.text]
    expected = [("The ", None), ("big", None), (" dog ", None), ("runs", True), (".", None)]
    assert [(text, italic) for text, _, italic in runs] == expected
    assert [text for text, bold, _ in runs if bold] == ["big"]
    assert opened.tables[0].cell(0, 1).text == "First cell"
    assert opened.sections[0].header.paragraphs[0].text == "Head\tPage"
    assert [comment.text for comment in opened.comments] == ["With comment"]
    assert opened.styles.element.xpath("//w:docDefaults//w:lang/@w:val") == ["en"]


def test_powerpoint() -> None:
    pptx = pytest.importorskip("pptx")
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "Der Bericht"
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    for text, bold in (("Der ", None), ("große", True), (" Hund ", None), ("läuft", True), (".", None)):
        run = paragraph.add_run()
        run.text, run.font.bold = text, bold
    slide.shapes.add_table(1, 1, 0, 0, 9, 9).table.cell(0, 0).text = "Erste Zelle"
    slide.notes_slide.notes_text_frame.text = "Eine Notiz"
    opened = pptx.Presentation(translated(saved(made), "pptx")).slides[0]
    assert opened.shapes.title.text == "The report"
    runs = [(run.text, run.font.bold) for run in opened.placeholders[1].text_frame.paragraphs[0].runs]
    assert runs == [("The ", None), ("big", True), (" dog ", None), ("runs", True), (".", None)]
    assert [shape.table.cell(0, 0).text for shape in opened.shapes if shape.has_table] == ["First cell"]
    assert opened.notes_slide.notes_text_frame.text == "A note"


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
    assert [opened[place].value for place in ("A1", "B1", "C1")] == ["Line one\nLine two", 12.5, '=A1&"Der Bericht"']
    assert str(opened["A2"].value) == "A dog & more"
    assert [block.text for block in opened["A2"].value if isinstance(block, TextBlock) and block.font.b] == ["dog"]
    assert opened["A1"].comment.text == "With comment"
    assert opened.title == "Sheet"


def test_open_document() -> None:
    odfdo = pytest.importorskip("odfdo")
    made = odfdo.Document("text")
    made.body.clear()
    made.body.append(odfdo.Header(1, "Der Bericht"))
    paragraph = odfdo.Paragraph("Der ")
    for text, style in (("große", "Strong"), (" Hund ", ""), ("läuft", "Emphasis"), (".", "")):
        paragraph.append(odfdo.Span(text, style=style)) if style else paragraph.append_plain_text(text)
    made.body.append(paragraph)
    opened = odfdo.Document(translated(saved(made), "odt")).body
    assert [header.text for header in opened.headers] == ["The report"]
    assert opened.get_paragraphs()[0].text_recursive == "The big dog runs."
    assert [(span.style, span.text) for span in opened.get_spans()] == [("Strong", "big"), ("Emphasis", "runs")]
    sheets = odfdo.Document("spreadsheet")
    sheets.body.clear()
    table = odfdo.Table("Blatt")
    table.set_value("A1", "Erste Zelle")
    table.set_value("B1", 3)
    sheets.body.append(table)
    again = odfdo.Document(translated(saved(sheets), "ods")).body.get_table(0)
    assert (again.name, again.get_values()) == ("Blatt", [["First cell", 3]])
