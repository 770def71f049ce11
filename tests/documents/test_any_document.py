"""Any document, with any answers, gives a well-formed file; what its units don't hold is kept."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.documents.base import Answer, read_document
from nmt.documents.office import still_xml, xml_document
from nmt.documents.xml_splice import Xml
from tests.documents import office_samples as made_of
from tests.documents.office_samples import BOLD, FIELD, FILES, INSTRUCTION, LINK, OPTIONS, TEXT_BOX, docx, odt, run
from tests.documents.test_office import ANSWERS, parsed, xml_files

WORDS = st.sampled_from(["Wort", "zwei Wörter", " ", "x &amp; y", "1 &lt; 2", "", ".", "\n", "日本", "Ende."])
Strings = st.SearchStrategy[str]


def inline(leaves: Strings, *around: str) -> Strings:
    """Any nesting of these leaves in these elements; "{}" is where their contents are."""

    def wrapped(inner: Strings) -> Strings:
        shapes, parts = st.sampled_from(around), st.lists(inner, max_size=4)
        return st.builds(lambda shape, within: shape.replace("{}", "".join(within)), shapes, parts)

    return st.lists(st.recursive(leaves, wrapped, max_leaves=8), max_size=5).map("".join)


def runs(*others: str) -> Strings:
    some = st.builds(run, WORDS, st.sampled_from(["", BOLD, LINK, '<w:lang w:val="de"/>']))
    return some | st.sampled_from(others)


NOTE = "<text:note><text:note-body><text:p>Note {}</text:p></text:note-body></text:note>"
ODF_MARKS = (
    '<text:s text:c="3"/>|<text:s/>|<text:tab/>|<text:line-break/>|<text:soft-page-break/>|<!-- c -->|<text:span/>|'
    f'<text:bookmark-start text:name="a"/>|{NOTE.format("x")}|<text:page-number>3</text:page-number>'
)
ODF = inline(
    WORDS | st.sampled_from(ODF_MARKS.split("|")),
    *(f'<text:span text:style-name="T{n}">{{}}</text:span>' for n in (1, 2, 3)),
    *('<text:a href="x">{}</text:a>', NOTE, "<text:meta>{}</text:meta>"),
)
WORD = inline(
    runs(
        *('<w:bookmarkStart w:id="1"/>', '<w:r><w:footnoteReference w:id="2"/></w:r>', TEXT_BOX, "<w:proofErr/>"),
        *(FIELD.format(kind) for kind in ("begin", "separate", "end")),
        INSTRUCTION.format('HYPERLINK "x"'),
        "<w:r><w:tab/><w:t>a</w:t><w:br/><w:t>b</w:t></w:r>",
        "<w:del><w:r><w:delText>x</w:delText></w:r></w:del>",
    ),
    *('<w:hyperlink r:id="1">{}</w:hyperlink>', "<w:ins>{}</w:ins>"),
    "<w:sdt><w:sdtPr/><w:sdtContent>{}</w:sdtContent></w:sdt>",
)
SLIDES = st.lists(
    st.builds('<a:r><a:rPr lang="de"{}/><a:t>{}</a:t></a:r>'.format, st.sampled_from(["", ' b="1"']), WORDS)
    | st.sampled_from(["<a:br/>", '<a:fld type="slidenum"><a:t>3</a:t></a:fld>', "<a:r><a:t>x</a:t></a:r>"]),
    max_size=6,
).map("".join)
CODES_ALONE = '<x id="1"/>|<bpt id="1">&lt;b></bpt>|<ept id="1"/>|<bpt id="1"/>|<ept id="2"/>|<!-- c -->'
CODES = inline(
    WORDS | st.sampled_from(CODES_ALONE.split("|")),
    *('<g id="3">{}</g>', '<mrk mtype="seg" mid="1">{}</mrk>', '<mrk mtype="protected">{}</mrk>', '<ph id="4">{}</ph>'),
)
ESCAPES = r"""\'|\n|\u00fc|\ud83d\ude00|"  "|@|<![CDATA[<b>x</b> y]]>|<br/>|%1$s"""
ANDROID = inline(WORDS | st.sampled_from(ESCAPES.split("|")), "<b>{}</b>", '<a href="x">{}</a>', "<g>{}</g>")
XHTML = inline(
    WORDS | st.sampled_from(["<br/>", '<img src="x" alt="Bild"/>', "<code>a b</code>", "&#160;", "<!-- c -->"]),
    *("<b>{}</b>", "<p>{}</p>", '<a title="Titel" href="x">{}</a>', '<span class="notranslate">{}</span>'),
)


MADE = {
    "odt": st.builds(odt, ODF),
    "docx": st.builds(docx, WORD, WORD),
    "pptx": st.builds(made_of.pptx, SLIDES),
    "xlsx": st.builds(made_of.xlsx, SLIDES),
    "xliff": st.builds(made_of.xliff, CODES) | st.just(FILES["xliff", "1.2"][0]) | st.just(FILES["xliff", "2.0"][0]),
    "tmx": st.builds(made_of.tmx, CODES),
    "android": st.builds(lambda text: f'<resources><string name="a">{text}</string></resources>'.encode(), ANDROID),
    "resx": st.builds(lambda text: f'<root><data name="a"><value>{text}</value></data></root>'.encode(), WORDS),
    "epub": st.builds(made_of.epub, XHTML),
    "qt": st.just(FILES["qt", "messages"][0]),
    "stringsdict": st.just(FILES["stringsdict", "plurals"][0]),
}


@pytest.mark.parametrize("name", MADE)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_document_with_any_answers_is_well_formed(name: str, data: st.DataObject) -> None:
    made = data.draw(MADE[name])
    document = read_document(made, name, OPTIONS)
    units = document.units
    assert document.join([Answer(unit.text) for unit in units]) == made
    shouted = [Answer(unit.text if "<" in unit.text else unit.text.replace("&amp;", "und").upper()) for unit in units]
    for answers in (shouted, [Answer(data.draw(ANSWERS)) for _ in units]):
        result = document.join(answers)
        for member in xml_files(result).values():
            parsed(member)
        assert len(read_document(result, name, OPTIONS).units) <= len(units)
    if not any("<" in unit.text or "&" in unit.text for unit in units) and name in ("odt", "docx", "pptx"):
        again = [unit.text for unit in read_document(document.join(shouted), name, OPTIONS).units]
        assert [*map(str.split, again)] == [answer.text.split() for answer in shouted]


def test_a_file_that_would_be_broken_is_refused() -> None:
    xml = Xml(b"<a>b</a>", "content.xml")
    document = xml_document(xml, (), [(3, 4, b"</c>")])
    with pytest.raises(ValueError, match=r"content\.xml would not be well-formed XML .*mismatched tag.*nothing is"):
        document.write([])
    assert still_xml(b"<a>", b"<b>", "x.html") == b"<b>"  # it was no XML before
