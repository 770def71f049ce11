"""Office files: what comes back stands where it should."""

import io
import re
import zipfile
from collections.abc import Sequence
from functools import partial
from xml.parsers import expat

import pytest
from hypothesis import strategies as st

from nmt.documents import xml_splice
from nmt.documents.base import Answer, Options, Unit, read_document, translate_document
from tests.documents import office_samples as made_of
from tests.documents.office_samples import EPUB, FILES, HEAD, OPTIONS, WORKBOOK, W, docx, epub, odt, office, run, zipped
from tests.documents.samples import read, texts

PARTS = (
    "<1>|</1>|<2/>|<2>|</2>|<3/>|<br/>|<br>|<99>|<b>|</b>|<!--|]]>|&|&amp;|&nbsp;|\\|'|\"|\0|\r\n|\ud800|\uffff| |Wort"
)
PARTS += "|<|ünd|<w:t>|<1|_x0000_|@"
ANSWERS = st.lists(st.sampled_from(PARTS.split("|")), max_size=8).map("".join)


def parsed(data: bytes) -> str:
    """All characters of an XML file."""
    found, parser = list[str](), expat.ParserCreate(namespace_separator=" ")
    parser.CharacterDataHandler = found.append
    parser.Parse(data, True)
    return "".join(found)


def xml_files(data: bytes) -> dict[str, bytes]:
    if not data.startswith(b"PK"):
        return {"": data}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist() if name != "mimetype"}


def shouted(units: Sequence[Unit]) -> list[Answer]:
    """The texts in capitals, and their last words first; tags stay around their words."""

    def shout(text: str) -> str:
        words = [match[0] for match in re.finditer(r"<(\d+)>.*?</\1>|<\d+/>|[^<\s]+", text)]
        return " ".join(word if word.startswith("&") else word.upper() for word in reversed(words))

    return [Answer("<br/>".join(map(shout, unit.text.split("<br/>")))) for unit in units]


def turned(data: bytes, format_name: str, member: str, source: str = "de", target: str = "he") -> str:
    result = translate_document(data, format_name, shouted, Options(source=source, target=target))
    return xml_files(result)[member].decode()


translated = partial(turned, target="en")


def test_bold_words_stay_bold_words_and_split_runs_are_one() -> None:
    text = translated(FILES["docx", "runs"][0], "docx", "word/document.xml")
    plain = ' w:rsidR="00A1"><w:rPr><w:lang w:val="en"/></w:rPr>'
    expected = (
        f'<w:p><w:pPr><w:keepNext/></w:pPr><w:r{plain}<w:t xml:space="preserve">KATZE &amp; HUND </w:t></w:r>'
        '<w:r><w:rPr><w:b/><w:lang w:val="en"/></w:rPr><w:t xml:space="preserve">GROSSE</w:t></w:r>'
        f'<w:r{plain}<w:t xml:space="preserve"> DER</w:t></w:r></w:p>'
    )
    assert expected in text
    assert text.count("<w:p>") == 3


def test_links_fields_and_changes_go_with_their_words() -> None:
    text = translated(FILES["docx", "links"][0], "docx", "word/document.xml")
    link = re.search(r'<w:hyperlink r:id="1">(.*?)</w:hyperlink>', text)
    assert link
    assert parsed(f"<x xmlns:w='w'>{link[1]}</x>".encode()) == "DIESE SEITE"
    parts = re.findall(r'fldCharType="(\w+)"|<w:t[^>]*>([^<]*)<', text)
    assert [role or words for role, words in parts][3:13] == [
        *("SEITE AUF ", "begin", "separate", "HIER", "end", " AUCH ", "begin", "separate", "3", "end")
    ]
    changed = translated(FILES["docx", "changes"][0], "docx", "word/document.xml")
    assert "<w:delText>alter</w:delText>" in changed
    inserted = re.search(r'<w:ins w:id="2">(.*?)</w:ins>', changed)
    assert inserted
    assert parsed(f"<x xmlns:w='w'>{inserted[1]}</x>".encode()) == "NEUER"
    assert changed.index("bookmarkStart") < changed.index("bookmarkEnd")
    assert changed.count("footnoteReference") == 1


@pytest.mark.parametrize(
    ("stated", "new"),
    [
        ("/word/d", "/Word/D"),
        (r'Override PartName="/word/document\.', 'Default Extension="'),
        (r"\bw\b(?=[:=])", "q"),  # any prefix
        ("http://schemas.openxmlformats.org/wordprocessingml/2006/", "http://purl.oclc.org/ooxml/wordprocessingml/"),
    ],
)
def test_parts_and_names_are_found_however_they_are_written(stated: str, new: str) -> None:
    members = {name: re.sub(stated, new, text.decode()) for name, text in xml_files(docx(run("Hund"))).items()}
    assert texts(read(zipped(members), "docx")) == ["Hund"]


def test_text_boxes_in_a_paragraph_are_translated_with_it() -> None:
    file = FILES["docx", "boxes"][0]
    assert parsed(translated(file, "docx", "word/document.xml").encode()) == "NACH KASTEN IM VORFELD"
    styles = translated(file, "docx", "word/styles.xml", source="", target="en-GB")
    assert '<w:lang w:val="en-GB" w:eastAsia="ja"/>' in styles
    assert '<w:lang w:val="de-DE"' in translated(file, "docx", "word/styles.xml", source="", target="")


def test_slides_and_sheets() -> None:
    slide = translated(FILES["pptx", "slide"][0], "pptx", "ppt/s.xml")
    assert '<a:rPr lang="en" b="1"/><a:t>FETT</a:t></a:r><a:r><a:rPr lang="en" dirty="0"/><a:t> IST DAS</a:t>' in slide
    assert slide.endswith('<a:t>3</a:t></a:fld><a:endParaRPr lang="de-DE"/></a:p></p:sld>')
    file = FILES["xlsx", "workbook"][0]
    strings = translated(file, "xlsx", "xl/sharedStrings.xml")
    assert '<si><t xml:space="preserve">ERSTE\nZWEITE</t></si>' in strings
    assert '<rPr><b/></rPr><t xml:space="preserve">HUND</t></r><r><t xml:space="preserve"> KLEINER EIN</t>' in strings
    assert "rPh" not in strings  # readings of words that are gone
    sheet = translated(file, "xlsx", "xl/worksheets/sheet1.xml")
    assert "WELT HALLO" in sheet
    assert '<f>"Text"&amp;B1</f><v>Text3</v>' in sheet
    assert "<t>Preis</t>" in sheet  # the name of a table's column


def test_comments_of_new_workbooks_are_translated_unless_they_name_persons() -> None:
    space = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"
    named = '<threadedComment><text>@Eva ja</text><mentions><mention startIndex="0"/></mentions></threadedComment>'
    plain = "<threadedComment><text>Hallo</text></threadedComment>"
    threads = f'<ThreadedComments xmlns="{space}">{plain}{named}</ThreadedComments>'
    file = office({**WORKBOOK, "t.xml": ("vnd.ms-excel.threadedcomments", threads)})
    assert threads.replace("Hallo", "HALLO") in translated(file, "xlsx", "t.xml")


def test_texts_have_places() -> None:
    document = read_document(FILES["odt", "content"][0], "odt", Options())
    places = [unit.place for unit in document.units]
    assert len({*places}) == len(places) > 1
    document.join([Answer("") for _ in places])
    problem = "the translation is empty, so the text stays as it is"
    assert sorted(document.notes) == sorted(f"{place}: {problem}" for place in places)
    [slide] = read_document(FILES["pptx", "slide"][0], "pptx", Options()).units
    assert slide.place == "s.xml, text 1"


def test_open_document() -> None:
    text = translated(FILES["odt", "content"][0], "odt", "content.xml")
    assert "<text:h>TITEL DER</text:h>" in text
    assert '<text:span text:style-name="T2">FETT</text:span> IST DAS<text:s text:c="3"/>UND<text:line-break/>' in text
    assert "<text:p>NOTE EINE</text:p>" in text
    assert "<text:p>Weg damit</text:p>" in text
    assert 'fo:language="en" fo:country="none"' in text
    assert '<table:table-cell office:value-type="string"><text:p>WORT</text:p>' in text
    assert "<text:p>drei</text:p>" in text
    field = '<text:variable-set office:value-type="string" office:string-value="x">x</text:variable-set>'
    assert f"<text:p>{field} HUND" in translated(odt(f"{field} Hund"), "odt", "content.xml")
    chinese = turned(FILES["odt", "content"][0], "odt", "content.xml", target="zh-Hant")
    assert 'style:language-asian="zh" style:script-asian="Hant" style:country-asian="none"' in chinese


def test_spans_of_open_document_in_spans_of_the_same_style_keep_their_ends() -> None:
    first = '<text:span text:style-name="T3"><text:a href="x">Zwei</text:a></text:span>'
    second = '<text:span text:style-name="T3"><text:span text:style-name="T3">Hunde</text:span></text:span>'
    assert parsed(translated(odt(first + second), "odt", "content.xml").encode()) == "HUNDE ZWEI"


def test_the_base_of_ruby_is_text_and_its_reading_goes_with_a_new_text() -> None:
    reading = f"<w:rt>{run('Lesung')}</w:rt>"
    inside = f"<w:r><w:ruby><w:rubyPr/>{reading}<w:rubyBase>{run('Hunde')}</w:rubyBase></w:ruby></w:r>"
    word = docx(run("Zwei ") + inside + run(" bellen"))
    text = "Zwei <text:ruby><text:ruby-base>Hunde</text:ruby-base><text:ruby-text>Lesung</text:ruby-text></text:ruby>"
    for name, data, member in (("docx", word, "word/document.xml"), ("odt", odt(f"{text} bellen"), "content.xml")):
        [unit] = read_document(data, name, OPTIONS).units
        assert (unit.text, unit.markup) == ("Zwei Hunde bellen", False)
        assert parsed(translated(data, name, member).encode()) == "BELLEN HUNDE ZWEI"
        same = translate_document(data, name, lambda units: [Answer(unit.text) for unit in units], OPTIONS)
        assert b"Lesung" in xml_files(same)[member]
    linked = docx(run("Zwei ") + inside.replace(run("Hunde"), f"<w:hyperlink>{run('Hunde')}</w:hyperlink>"))
    assert "Lesung" in translated(linked, "docx", "word/document.xml")


def test_books_change_their_language_and_keep_the_first_member() -> None:
    result = translate_document(FILES["epub", "book"][0], "epub", shouted, Options(target="en"))
    assert result[:58] == FILES["epub", "book"][0][:58]
    files = xml_files(result)
    assert b"<dc:title>BUCH DAS</dc:title><dc:language>en</dc:language>" in files["O/p.opf"]
    assert b'xml:lang="en"><text>KAPITEL ERSTES</text>' in files["O/t.ncx"]
    assert b'lang="en" xml:lang="en"' in files["O/a b.xhtml"]
    assert b'alt="BILD EIN"' in files["O/a b.xhtml"]
    empty = translate_document(FILES["epub", "book"][0], "epub", lambda units: [Answer("")] * len(units), OPTIONS)
    assert b'alt="Ein Bild"' in xml_files(empty)["O/a b.xhtml"]


def test_elements_of_a_book_go_on_over_line_breaks() -> None:
    text = '<p><i class="a"><b>eins<br/>zwei</b> drei</i></p>'
    book = epub(text)

    def answered(found: str, new: str) -> bytes:
        answers = [Answer(unit.text.replace(found, new)) for unit in read_document(book, "epub", OPTIONS).units]
        return xml_files(read_document(book, "epub", OPTIONS).join(answers))["O/a b.xhtml"]

    assert text.replace("zwei", "2").encode() in answered("zwei", "2")
    assert text.encode() in answered("zwei</b>", "</b>zwei</b><b>")
    assert text.encode() in answered("zwei</b> drei</i>", "zwei</i> drei</b>")


@pytest.mark.parametrize(
    ("format_name", "data", "message"),
    [
        ("docx", zipped({"a": ""}), "lacks .Content_Types"),
        ("docx", FILES["xlsx", "workbook"][0], "isn't a Word document"),
        ("docx", office({"word/document.xml": ("x.document.main", "<w:")}), "word/document.xml isn't well-formed"),
        ("docx", docx("", header1=f'<!DOCTYPE a [<!ENTITY b "c">]><w:hdr {W}/>'), "word/header1.xml has declarations"),
        ("pptx", docx(run("a")), "isn't a presentation"),
        ("xlsx", docx(run("a")), "isn't a workbook"),
        ("odt", docx(run("a")), "lacks content.xml"),
        ("odt", zipped({"META-INF/manifest.xml": "<m:encryption-data/>"}), "the file is encrypted"),
        ("epub", docx(run("a")), "lacks META-INF/container.xml"),
        ("xliff", b"<a/>", "isn't XLIFF .*: its first element is not <xliff>"),
        ("xliff", b"<xliff/>", 'its <xliff> lacks the namespace, such as xmlns="urn:oasis:.*:xliff:document:1.2"'),
        ("tmx", b"<a/>", "isn't TMX"),
        ("resx", b"<a/>", "isn't resx"),
        ("android", b"<a/>", "isn't a file of Android strings"),
    ],
)
def test_other_files_get_a_sentence(format_name: str, data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_document(data, format_name, Options(target="en"))


def test_word_files_turn_to_the_direction_of_the_translation_and_back() -> None:
    properties = '<w:pPr><w:keepNext/>{}<w:jc w:val="left"/></w:pPr>'
    texts = [run("fett", '<w:b/><w:sz w:val="24"/><w:lang w:val="de"/>'), run(" und "), run("12", "<w:cs/>")]
    table = '<w:tbl><w:tblPr><w:tblStyle w:val="T"/>{}<w:tblW w:w="0"/></w:tblPr><w:p><w:r><w:t>Zelle</w:t></w:r></w:p>'
    body = f"<w:p>{properties.format('')}{''.join(texts)}</w:p><w:p/>{table.format('')}</w:tbl>"
    file = docx("", header1=f"<w:hdr {W}>{body}</w:hdr>", styles=f'<w:styles {W}><w:lang w:val="de"/></w:styles>')
    there = turned(file, "docx", "word/header1.xml")
    assert properties.format("<w:bidi/>") in there
    bold = '<w:b/><w:bCs/><w:sz w:val="24"/><w:szCs w:val="24"/><w:rtl/><w:lang w:val="de" w:bidi="he"/>'
    assert f'<w:r><w:rPr>{bold}</w:rPr><w:t xml:space="preserve">FETT</w:t></w:r>' in there
    assert '<w:r><w:rPr><w:rtl/></w:rPr><w:t xml:space="preserve">12 UND </w:t></w:r>' in there
    before, *_ = table.format("<w:bidiVisual/>").partition("<w:p>")
    assert f"{before}<w:p><w:pPr><w:bidi/></w:pPr><w:r><w:rPr><w:rtl/>" in there
    assert "<w:p/>" in there
    whole = translate_document(file, "docx", shouted, Options(source="de", target="he"))
    assert b'<w:lang w:val="de" w:bidi="he"/>' in xml_files(whole)["word/styles.xml"]
    back = turned(whole, "docx", "word/header1.xml", "he", "de")
    assert not re.search("w:bidi/|w:bidiVisual", back)
    assert back.count("w:rtl") == 1  # of the cell, whose text is the same in both languages
    assert properties.format("") in back
    assert "rtl" not in turned(file, "docx", "word/header1.xml", target="ja")
    assert 'w:eastAsia="ja"' in turned(file, "docx", "word/header1.xml", target="ja")
    assert "w:bidi/" not in turned(file, "docx", "word/header1.xml", "he", "ar")


def test_sheets_turn_also_with_many_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    kind, sheet = WORKBOOK["xl/worksheets/sheet1.xml"]
    head, _, tail = sheet.partition("<sheetData>")
    head += '<sheetViews><sheetView workbookViewId="0"/></sheetViews>'
    rest = f"<sheetData>{100 * '<row><c><v>1</v></c></row>'}</sheetData>{tail.partition('</sheetData>')[2]}"
    book = office({**WORKBOOK, "xl/worksheets/sheet1.xml": (kind, head + rest)})
    monkeypatch.setattr(xml_splice, "NODES", 100)
    there = turned(book, "xlsx", "xl/worksheets/sheet1.xml")
    assert there == HEAD + head.replace('"0"/>', '"0" rightToLeft="1"/>') + rest
    few = office({**WORKBOOK, "xl/worksheets/sheet1.xml": (kind, head + f"<sheetData>{tail}")})
    monkeypatch.undo()
    assert '<sheetView workbookViewId="0" rightToLeft="1"/>' in turned(few, "xlsx", "xl/worksheets/sheet1.xml")


def test_styles_of_word_that_are_from_right_to_left_turn() -> None:
    style = "<w:style><w:pPr><w:keepNext/>{}</w:pPr><w:rPr><w:b/>{}</w:rPr><w:tblPr>{}</w:tblPr></w:style>"
    switches = ("<w:bidi/>", '<w:rtl w:val="1"/>', "<w:bidiVisual/>")
    file = docx(run("da"), styles=f"<w:styles {W}>{style.format(*switches)}</w:styles>")
    assert style.format("", "", "") in turned(file, "docx", "word/styles.xml", "he", "de")
    assert style.format(*switches) in turned(file, "docx", "word/styles.xml", "he", "ar")


def test_properties_keep_their_namespaces() -> None:
    properties = '<w:pPr xmlns:q="urn:q"><q:x/>{}</w:pPr><w:r><w:rPr xmlns:q="urn:q"><q:x/>{}</w:rPr>'
    words = f"<w:hdr {W}><w:p>{properties.format('', '')}<w:t>da</w:t></w:r></w:p></w:hdr>"
    assert properties.format("<w:bidi/>", "<w:rtl/>") in turned(docx("", header1=words), "docx", "word/header1.xml")


def test_slides_texts_and_books_turn_to_the_direction_of_the_translation() -> None:
    slide = made_of.SLIDE.replace("</p:sld>", '<a:p><a:pPr algn="l"/><a:r><a:t>Ja</a:t></a:r></a:p></p:sld>')
    kind = "openxmlformats-officedocument.presentationml."
    styles = f'<x {made_of.A}><a:lvl1pPr algn="l" rtl="0"/><a:lvl2pPr algn="ctr"/><a:defPPr/></x>'
    shows = {"p.xml": (f"{kind}presentation.main", styles), "s.xml": (f"{kind}slide", slide)}
    there = turned(office(shows), "pptx", "s.xml")
    assert '<a:p><a:pPr rtl="1"/><a:r><a:rPr lang="he"' in there
    assert '<a:pPr algn="r" rtl="1"/><a:r><a:t>JA' in there
    levels = '<a:lvl1pPr algn="r" rtl="1"/><a:lvl2pPr algn="ctr" rtl="1"/><a:defPPr rtl="1"/>'
    assert levels in turned(office(shows), "pptx", "p.xml")
    back = turned(office({**shows, "s.xml": (f"{kind}slide", there.removeprefix(HEAD))}), "pptx", "s.xml", "he", "de")
    assert '<a:pPr algn="l" rtl="0"/>' in back
    assert 'rtl="1"' not in back
    assert "rtl" not in turned(office(shows), "pptx", "s.xml", target="en")

    default = '<style:default-style style:family="paragraph"><style:paragraph-properties fo:text-align="left"/>'
    style = f'{default}<style:text-properties fo:language="de" fo:country="DE"/></style:default-style>'
    text = made_of.CONTENT.replace("<office:automatic-styles>", f"<office:automatic-styles>{style}")
    there = turned(zipped({"content.xml": text}), "odt", "content.xml")
    assert '<style:paragraph-properties fo:text-align="start" style:writing-mode="rl-tb"/>' in there
    assert 'style:language-complex="he" style:country-complex="none"' in there
    back = turned(zipped({"content.xml": there}), "odt", "content.xml", "he", "de")
    assert '<style:paragraph-properties fo:text-align="start" style:writing-mode="lr-tb"/>' in back

    package = EPUB["O/p.opf"].replace("</package>", "<spine/></package>")
    unstated = EPUB["O/a b.xhtml"].replace('lang="de" xml:lang="de"', "")
    book = zipped({**EPUB, "O/p.opf": package, "O/a b.xhtml": unstated})
    assert '<spine page-progression-direction="rtl"/>' in turned(book, "epub", "O/p.opf")
    assert '<html dir="rtl"' in turned(book, "epub", "O/a b.xhtml")


def test_formatting_that_would_be_repeated_without_end_is_refused() -> None:
    """Each of the texts of a run gets the formatting of the run: 1 KB of a zip file became 400 MB."""
    texts = "<w:t>a</w:t><w:br/>" * 2000
    with pytest.raises(ValueError, match=r"word/document\.xml has runs of too many texts"):
        read_document(docx(f"<w:r><w:rPr>{'<w:b/>' * 2000}</w:rPr>{texts}</w:r>"), "docx", Options())
    assert read_document(docx(f"<w:r><w:rPr><w:b/></w:rPr>{texts}</w:r>"), "docx", Options()).units
