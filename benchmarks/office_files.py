"""Office and translation files, made of lines in which <b>…</b> is around a word; and the translations in them."""

import io
import re
import zipfile
from collections.abc import Mapping, Sequence

from nmt.documents.base import Options

OOXML = "http://schemas.openxmlformats.org"
W, X = f"{OOXML}/wordprocessingml/2006/main", f"{OOXML}/spreadsheetml/2006/main"
A, P = f"{OOXML}/drawingml/2006/main", f"{OOXML}/presentationml/2006/main"
ODF = "urn:oasis:names:tc:opendocument:xmlns"
EPUB = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>',
    "a.opf": '<package xmlns="http://www.idpf.org/2007/opf"><item href="a.xhtml" media-type="application/xhtml+xml"/>'
    "</package>",
}


def zipped(members: Mapping[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return file.getvalue()


def office(kind: str, main: str, members: Mapping[str, tuple[str, str]]) -> bytes:
    """An Office Open XML file: for each member its content type, and its text."""
    parts = {"main.xml": (f"{kind}.main", main), **members}
    types = "".join(f'<Override PartName="/{name}" ContentType="x.{of}+xml"/>' for name, (of, _) in parts.items())
    listed = f'<Types xmlns="{OOXML}/package/2006/content-types">{types}</Types>'
    return zipped({"[Content_Types].xml": listed, **{name: text for name, (_, text) in parts.items()}})


def runs(line: str, form: str) -> str:
    """The line as runs in this form, the bold word with the properties <b/>; as Word does, others are split."""
    parts = re.split("</?b>", line)
    pieces = [(piece, n % 2) for n, part in enumerate(parts) for piece in re.split(r"(?<=,) ?(?= )", part) if piece]
    return "".join(form.replace("TEXT", piece).replace("BOLD", "<w:b/>" * bold) for piece, bold in pieces)


def docx(lines: Sequence[str]) -> bytes:
    form = '<w:r><w:rPr>BOLD</w:rPr><w:t xml:space="preserve">TEXT</w:t></w:r>'
    body = "".join(f"<w:p>{runs(line, form)}</w:p>" for line in lines)
    return office("document", f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>', {})


def pptx(lines: Sequence[str]) -> bytes:
    form = '<a:r><a:rPr lang="de" xmlns:w="x">BOLD</a:rPr><a:t>TEXT</a:t></a:r>'
    body = "".join(f"<a:p>{runs(line, form)}</a:p>" for line in lines)
    slide = f'<p:sld xmlns:p="{P}" xmlns:a="{A}">{body}</p:sld>'
    return office("presentation", "<p/>", {"slide.xml": ("presentationml.slide", slide)})


def xlsx(lines: Sequence[str]) -> bytes:
    form = '<r><rPr xmlns:w="x">BOLD</rPr><t xml:space="preserve">TEXT</t></r>'
    body = "".join(f"<si>{runs(line, form)}</si>" for line in lines)
    return office("sheet", "<a/>", {"strings.xml": ("spreadsheetml.sharedStrings", f'<sst xmlns="{X}">{body}</sst>')})


def odt(lines: Sequence[str]) -> bytes:
    spans = (line.replace("<b>", '<t:span t:style-name="B">').replace("</b>", "</t:span>") for line in lines)
    body = "".join(f"<t:p>{line}</t:p>" for line in spans)
    return zipped({"content.xml": f'<o:d xmlns:o="{ODF}:office:1.0" xmlns:t="{ODF}:text:1.0">{body}</o:d>'})


def epub(lines: Sequence[str]) -> bytes:
    body = "".join(f"<p>{line}</p>" for line in lines)
    return zipped({**EPUB, "a.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'})


def xliff(lines: Sequence[str]) -> bytes:
    codes = (line.replace("<b>", '<g id="1">').replace("</b>", "</g>") for line in lines)
    units = "".join(f'<trans-unit id="{n}"><source>{line}</source></trans-unit>' for n, line in enumerate(codes))
    return f'<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body>{units}</body></file></xliff>'.encode()


def xliff_targets(data: bytes, options: Options) -> list[str]:
    targets = re.findall("<target[^>]*>(.*?)</target>", data.decode())
    return [target.replace('<g id="1">', "<1>").replace("</g>", "</1>") for target in targets]


def tmx(lines: Sequence[str]) -> bytes:
    codes = (line.replace("<b>", '<hi x="1">').replace("</b>", "</hi>") for line in lines)
    units = "".join(f'<tu><tuv xml:lang="de"><seg>{line}</seg></tuv></tu>' for line in codes)
    return f'<tmx><header srclang="de"/><body>{units}</body></tmx>'.encode()


def tmx_targets(data: bytes, options: Options) -> list[str]:
    targets = re.findall(f'<tuv xml:lang="{options.target}">.*?<seg>(.*?)</seg>', data.decode())
    return [target.replace('<hi x="1">', "<1>").replace("</hi>", "</1>") for target in targets]


def android(lines: Sequence[str]) -> bytes:
    strings = "".join(f'<string name="a">{line}</string>' for line in lines)
    return f"<resources>{strings}</resources>".encode()


def resx(lines: Sequence[str]) -> bytes:
    entries = "".join(f'<data name="{n}"><value>{line}</value></data>' for n, line in enumerate(lines))
    return f"<root>{entries}</root>".encode()
