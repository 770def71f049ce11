"""Small files of XML and office formats, written by hand: file, and the texts of its units."""

import io
import zipfile
from collections.abc import Mapping

from nmt.documents.base import Options

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'
OOXML = "http://schemas.openxmlformats.org"
W = f'xmlns:w="{OOXML}/wordprocessingml/2006/main"'
R = f'xmlns:r="{OOXML}/officeDocument/2006/relationships"'
A = f'xmlns:a="{OOXML}/drawingml/2006/main"'
X = f'xmlns="{OOXML}/spreadsheetml/2006/main"'
OPEN_DOCUMENT = "urn:oasis:names:tc:opendocument:xmlns"


def zipped(members: Mapping[str, str | bytes], comment: bytes = b"") -> bytes:
    """A zip file; the first member isn't compressed if it is `mimetype`."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            method = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name), text, method)
        archive.comment = comment
    return file.getvalue()


def office(members: dict[str, tuple[str, str]]) -> bytes:
    """An Office Open XML file: for each member its content type, and its text."""
    types = "".join(f'<Override PartName="/{name}" ContentType="application/vnd.{kind}+xml"/>'
                    for name, (kind, _) in members.items())  # fmt: skip
    listed = f'<Types xmlns="{OOXML}/package/2006/content-types">{types}</Types>'
    return zipped({"[Content_Types].xml": listed, **{name: HEAD + text for name, (_, text) in members.items()}})


def run(text: str, formatting: str = "", attributes: str = "") -> str:
    properties = f"<w:rPr>{formatting}</w:rPr>" if formatting else ""
    return f'<w:r{attributes}>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


def docx(*paragraphs: str, **others: str) -> bytes:
    """A Word document with these paragraphs, and with other parts."""
    word = "openxmlformats-officedocument.wordprocessingml."
    body = "".join(f"<w:p><w:pPr><w:keepNext/></w:pPr>{paragraph}</w:p>" for paragraph in paragraphs)
    members = {
        "word/document.xml": (f"{word}document.main", f"<w:document {W} {R}><w:body>{body}</w:body></w:document>")
    }
    for name, text in others.items():
        members[f"word/{name}.xml"] = (f"{word}{name.rstrip('0123456789')}", text)
    return office(members)


BOLD, LINK = "<w:b/>", '<w:rStyle w:val="Hyperlink"/>'
FIELD = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
INSTRUCTION = '<w:r><w:instrText xml:space="preserve"> {} </w:instrText></w:r>'


def word_field(instruction: str, result: str) -> str:
    begin = FIELD.format("begin") + INSTRUCTION.format(instruction) + FIELD.format("separate")
    return begin + result + FIELD.format("end")


TEXT_BOX = f"<w:r><w:pict><w:txbxContent><w:p>{run('Im Kasten')}</w:p></w:txbxContent></w:pict></w:r>"
# What Word does to one sentence: editing sessions, spelling marks, languages, hints for fonts.
SPLIT = (
    run("Der ", '<w:lang w:val="de-DE"/>', ' w:rsidR="00A1"')
    + '<w:proofErr w:type="spellStart"/>'
    + run("gro", f'{BOLD}<w:lang w:val="de-DE"/>')
    + run("ße", BOLD, ' w:rsidR="00B2"')
    + '<w:proofErr w:type="spellEnd"/>'
    + run(" ", BOLD)
    + run("Hund", '<w:rFonts w:hint="eastAsia"/>')
    + run(" &amp; Katze")
)
TABS = "<w:r><w:tab/><w:t>Name</w:t><w:tab/><w:t>Wert</w:t><w:br/><w:t>neu</w:t><w:noBreakHyphen/><w:t>x</w:t></w:r>"
WORD: dict[str, tuple[bytes, list[str]]] = {
    "runs": (docx(SPLIT, run("12,5"), ""), ["Der <1>große</1> Hund &amp; Katze"]),
    "tabs": (docx(TABS), ["Name<br/>Wert<br/>neu\u2011x"]),
    "links": (
        docx(
            f'{run("Siehe ")}<w:hyperlink r:id="1">{run("diese ", LINK)}{run("Seite", LINK)}</w:hyperlink>{run(".")}',
            f"{run('Auch ')}{word_field('HYPERLINK x', run('hier'))}{run(' auf Seite ')}{word_field('PAGE', run('3'))}",
            f'{run("Und ")}<w:fldSimple w:instr=" HYPERLINK x ">{run("da")}</w:fldSimple>'
            f'<w:fldSimple w:instr="PAGE">{run("drei")}</w:fldSimple>',
        ),
        ["Siehe <1>diese Seite</1>.", "Auch <1>hier</1> auf Seite", "Und <1>da</1>"],
    ),
    "changes": (
        docx(
            f'<w:bookmarkStart w:id="1" w:name="a"/>{run("Ein ")}<w:ins w:id="2">{run("neuer")}</w:ins>'
            f'<w:del w:id="3"><w:r><w:delText>alter</w:delText></w:r></w:del>{run(" Satz")}<w:bookmarkEnd w:id="1"/>'
            f'<w:r><w:footnoteReference w:id="2"/></w:r>{run(".")}',
            footnotes=f'<w:footnotes {W}><w:footnote w:id="2"><w:p><w:r><w:footnoteRef/></w:r>{run(" Die Note")}</w:p>'
            "</w:footnote></w:footnotes>",
        ),
        ["Ein <1>neuer</1><2/> Satz<3/><4/>.", "Die Note"],
    ),
    "boxes": (
        docx(
            run("Vor ") + TEXT_BOX + run(" nach"),
            f"<w:sdt><w:sdtPr/><w:sdtContent>{run('Feld')}</w:sdtContent></w:sdt>",
            header1=f"<w:hdr {W}><w:p>{run('Kopf')}</w:p></w:hdr>",
            styles=f'<w:styles {W}><w:docDefaults><w:lang w:val="de-DE" w:eastAsia="ja"/></w:docDefaults></w:styles>',
        ),
        ["Vor <1/> nach", "Im Kasten", "Feld", "Kopf"],
    ),
}
SLIDE = f"""<p:sld xmlns:p="{OOXML}/presentationml/2006/main" {A}><a:p>\
<a:r><a:rPr lang="de-DE" dirty="0"/><a:t>Das ist </a:t></a:r><a:r><a:rPr lang="de-DE" b="1"/><a:t>fett</a:t></a:r>\
<a:br><a:rPr lang="de-DE"/></a:br><a:r><a:rPr lang="en-US"/><a:t>neu</a:t></a:r>\
<a:fld type="slidenum" id="x"><a:t>3</a:t></a:fld><a:endParaRPr lang="de-DE"/></a:p></p:sld>"""
SHEET = f"""<worksheet {X}><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>Hallo Welt</t></is></c>\
<c r="B1"><v>3</v></c><c r="C1" t="str"><f>"Text"&amp;B1</f><v>Text3</v></c>\
<c r="D1" t="inlineStr"><is><t>Preis</t><rPh sb="0" eb="1"><t>x</t></rPh></is></c></row></sheetData></worksheet>"""
STRINGS = f"""<sst {X}><si><t>Erste_x000D_
zweite</t></si><si><r><t xml:space="preserve">Ein kleiner </t></r><r><rPr><b/></rPr><t>Hund</t></r>\
<rPh sb="0" eb="1"><t>x</t></rPh></si><si><t>42</t></si></sst>"""
SPREADSHEET = "openxmlformats-officedocument.spreadsheetml."
WORKBOOK = {
    "xl/workbook.xml": (f"{SPREADSHEET}sheet.main", f'<workbook {X}><sheets><sheet name="Blatt"/></sheets></workbook>'),
    "xl/sharedStrings.xml": (f"{SPREADSHEET}sharedStrings", STRINGS),
    "xl/worksheets/sheet1.xml": (f"{SPREADSHEET}worksheet", SHEET),
    "xl/tables/table1.xml": (f"{SPREADSHEET}table", f'<table {X} name="T"><tableColumn name="Preis"/></table>'),
}
CONTENT = f"""<office:document-content xmlns:office="{OPEN_DOCUMENT}:office:1.0" xmlns:text="{OPEN_DOCUMENT}:text:1.0" \
xmlns:style="{OPEN_DOCUMENT}:style:1.0" xmlns:fo="{OPEN_DOCUMENT}:xsl-fo-compatible:1.0" \
xmlns:table="{OPEN_DOCUMENT}:table:1.0" xmlns:presentation="{OPEN_DOCUMENT}:presentation:1.0" \
xmlns:lo="urn:lo"><office:automatic-styles>\
<style:style style:name="T1" style:family="text"><style:text-properties lo:rsid="1"/></style:style>\
<style:style style:name="P1" style:family="paragraph"><style:text-properties fo:language="de" fo:country="DE"/>\
</style:style></office:automatic-styles><office:body>\
<text:tracked-changes><text:p>Weg damit</text:p></text:tracked-changes>
<presentation:footer-decl presentation:name="f">Unten</presentation:footer-decl>
<text:h>Der <text:span text:style-name="T1">Tit</text:span>el</text:h>\
<text:p>Das ist <text:span text:style-name="T2">fe</text:span><text:span text:style-name="T2">tt</text:span>\
<text:note><text:note-body><text:p>Eine Note</text:p></text:note-body></text:note>\
<text:s text:c="3"/>und<text:line-break/>neu</text:p><table:table-cell office:value-type="float"><text:p>drei</text:p>\
</table:table-cell><table:table-cell office:value-type="string" office:string-value="Wort"><text:p>Wort</text:p>\
</table:table-cell></office:body></office:document-content>"""


def odt(text: str) -> bytes:
    """An OpenDocument text of one paragraph."""
    body = f"<office:body><text:p>{text}</text:p></office:body></office:document-content>"
    return zipped({"mimetype": "x", "content.xml": HEAD + CONTENT.partition("<office:body>")[0] + body})


ODF_TEXTS = ["Unten", "Der Titel", "Das ist <1>fett</1><2/><br/>und<br/>neu", "Eine Note", "Wort"]
XLIFF_1 = """<?xml version='1.0' encoding='utf-8'?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file original="a" source-language="de" datatype="html"><body>
  <trans-unit id="1">
   <source>Der <g id="1">große</g> Hund<x id="2"/>.</source>
  </trans-unit>
  <trans-unit id="2"><source>Fertig</source><target state="final">Done</target></trans-unit>
  <trans-unit id="3"><source>Neu</source><target state="new"/></trans-unit>
  <trans-unit id="4" translate="no"><source>Nicht</source></trans-unit>
  <trans-unit id="5"><source>Ein <bpt id="1">&lt;b></bpt>Satz<ept id="1">&lt;/b></ept>. \
Und <mrk mtype="protected">fest</mrk> noch.</source></trans-unit>
  <trans-unit id="6"><source>A. B.</source><seg-source>\
<mrk mtype="seg" mid="1">Eins.</mrk> <mrk mtype="seg" mid="2">Zwei.</mrk></seg-source></trans-unit>
 </body></file>
</xliff>
"""
XLIFF_2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="de">
 <file id="f"><unit id="u"><segment id="s">
  <source>Der <pc id="1">große</pc> <sc id="2"/>Hund<ec startRef="2"/><ph id="3"/></source>
 </segment><segment state="final"><source>Gut</source><target>Good</target></segment></unit></file></xliff>
"""
TMX = """<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="de-DE"/><body>
 <tu tuid="a">
  <tuv xml:lang="de-DE"><seg>Der <bpt i="1">&lt;b></bpt>Hund<ept i="1">&lt;/b></ept> bellt</seg></tuv>
 </tu>
 <tu><tuv xml:lang="de"><seg>Gut</seg></tuv><tuv xml:lang="en-US"><seg>Good</seg></tuv></tu>
 <tu><tuv xml:lang="fr"><seg>Bon</seg></tuv></tu>
</body></tmx>"""
ANDROID = r"""<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
  <!-- Texte --><string name="a">Geht\'s <b>gut</b>, <xliff:g id="n">%1$s</xliff:g>?\nJa</string>
  <string name="b" translatable="false">Nicht</string><string name="c">@string/a</string>
  <string name="d"><![CDATA[<a href=\"x\">Hier</a> & da]]></string>
  <plurals name="e"><item quantity="one">Ein Hund</item><item quantity="other">%d Hunde</item></plurals>
  <string-array name="f"><item>"  Zwei  Wörter"</item><item>1</item></string-array>
</resources>"""
RESX = """<?xml version="1.0" encoding="utf-8"?>
<root><data name="a" xml:space="preserve"><value>Guten Tag
{0}!</value><comment>Gruß</comment></data><data name="b" type="System.Drawing.Size"><value>Eins</value></data>
<data name="&gt;&gt;c.Name"><value>knopf</value></data><data name="d"><value>Fest</value><comment>{Locked}</comment>\
</data></root>"""
EPUB = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<container><rootfiles><rootfile full-path="O/p.opf"/></rootfiles></container>',
    "O/p.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
    "<dc:title>Das Buch</dc:title><dc:language>de</dc:language></metadata><manifest>"
    '<item href="a%20b.xhtml" media-type="application/xhtml+xml"/>'
    '<item href="t.ncx" media-type="application/x-dtbncx+xml"/>'
    "</manifest></package>",
    "O/t.ncx": '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" xml:lang="de"><text>Erstes Kapitel</text></ncx>',
    "O/a b.xhtml": '<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml" lang="de" '
    'xml:lang="de"><body><p>Der <b>große</b> Hund<br/>bellt &amp; läuft.</p><img src="x" alt="Ein Bild"/></body>'
    "</html>",
}  # fmt: skip
QT = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en_GB"><context><name>Main</name>
<message><source>Die Datei &amp;öffnen</source><translation type="unfinished"></translation></message>
<message numerus="yes"><source>%n Hunde</source><translation type="unfinished"><numerusform></numerusform>\
<numerusform></numerusform></translation></message>
<message><source>Fertig</source><translation>Done</translation></message>
<message><source>Alt</source><translation type="vanished">Old</translation></message></context></TS>
"""
STRINGSDICT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict><key>dogs</key><dict><key>NSStringLocalizedFormatKey</key><string>%#@n@</string><key>n</key>
<dict><key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>
  <key>one</key><string>Ein Hund</string>
  <key>other</key><string>%d Hunde</string></dict></dict></dict></plist>
"""
POWERPOINT = "openxmlformats-officedocument.presentationml."
FILES: dict[tuple[str, str], tuple[bytes, list[str]]] = {
    **{("docx", name): made for name, made in WORD.items()},
    ("pptx", "slide"): (
        office({"ppt/p.xml": (f"{POWERPOINT}presentation.main", "<p/>"), "ppt/s.xml": (f"{POWERPOINT}slide", SLIDE)}),
        ["Das ist <1>fett</1><br/>neu"],
    ),
    ("xlsx", "workbook"): (office(WORKBOOK), ["Erste<br/>zweite", "Ein kleiner <1>Hund</1>", "Hallo Welt"]),
    **{
        (name, "content"): (zipped({"mimetype": "application/x", "content.xml": HEAD + CONTENT}), ODF_TEXTS)
        for name in ("odt", "odp", "ods")
    },
    ("xliff", "1.2"): (
        XLIFF_1.encode(),
        ["Der <1>große</1> Hund<2/>.", "Neu", "Ein <1>Satz</1>. Und <2/> noch.", "<1>Eins.</1> <2>Zwei.</2>"],
    ),
    ("xliff", "2.0"): (XLIFF_2.encode("utf-16"), ["Der <1>große</1> <2>Hund</2>"]),
    ("tmx", "memory"): (TMX.encode(), ["Der <1>Hund</1> bellt"]),
    ("android", "strings"): (
        ANDROID.encode(),
        ["Geht's <1>gut</1>, <2/>?<br/>Ja", '<a href="x">Hier</a> & da', "Ein Hund", "%d Hunde", "Zwei  Wörter"],
    ),
    ("qt", "messages"): (QT.encode(), ["Die Datei öffnen", "1 Hunde", "2 Hunde"]),
    ("stringsdict", "plurals"): (STRINGSDICT.encode(), ["Ein Hund", "%d Hunde"]),
    ("resx", "resources"): (RESX.encode("utf-8-sig"), ["Guten Tag<br/>{0}!"]),
    ("epub", "book"): (
        zipped(EPUB),
        ["Das Buch", "Der <b>große</b> Hund", "bellt &amp; läuft.", "Ein Bild", "Erstes Kapitel"],
    ),
}


OPTIONS = Options(source="de", target="en")


# Files with any text in them.
def pptx(text: str) -> bytes:
    slide = f"<p:sld xmlns:p='p' {A}><a:p>{text}<a:endParaRPr/></a:p></p:sld>"
    return office({"ppt/p.xml": (f"{POWERPOINT}presentation.main", "<p/>"), "s.xml": (f"{POWERPOINT}slide", slide)})


def xlsx(text: str) -> bytes:
    cells = text.replace("a:", "").replace("<br/>", "")
    return office({**WORKBOOK, "s.xml": (f"{SPREADSHEET}sharedStrings", f"<sst {X}><si>{cells}</si></sst>")})


def xliff(text: str) -> bytes:
    unit = f'<trans-unit id="1"><source>{text}</source></trans-unit>'
    return f'<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body>{unit}</body></file></xliff>'.encode()


def tmx(text: str) -> bytes:
    return f'<tmx><body><tu><tuv xml:lang="de"><seg>{text}</seg></tuv></tu></body></tmx>'.encode()


def epub(text: str) -> bytes:
    return zipped({**EPUB, "O/a b.xhtml": f"<html><body>{text}</body></html>"})
